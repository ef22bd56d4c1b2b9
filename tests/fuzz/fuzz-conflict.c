/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Input: 8 bytes of time, a device name, a zero byte, a path. */
#include "sk-limits.h"
#include "sk-merge.h"
#include "sk-path.h"

#include <string.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static SkEntry *
make_loser (const char *path, const char *device, gint64 wall)
{
  static const SkId folder = { { 7 } };
  SkEntry *entry = sk_entry_new (&folder, path, SK_KIND_FILE);

  g_free (entry->device_name);
  entry->device_name = g_strdup (device);
  entry->wall = wall;
  return entry;
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  const guint8 *zero;
  g_autofree char *device = NULL;
  g_autofree char *path = NULL;
  g_autofree char *once = NULL;
  g_autofree char *twice = NULL;
  g_autoptr(SkEntry) loser = NULL;
  g_autoptr(SkEntry) again = NULL;
  gint64 wall;

  if (size < sizeof wall)
    return 0;
  memcpy (&wall, data, sizeof wall);
  data += sizeof wall;
  size -= sizeof wall;
  zero = memchr (data, 0, size);
  if (zero == NULL)
    return 0;
  device = g_strndup ((const char *) data, (gsize) (zero - data));
  path = g_strndup ((const char *) zero + 1, size - (gsize) (zero - data) - 1);
  sk_is_conflict_name (sk_path_name (path));
  if (!sk_path_check (path, strlen (path), NULL) || strlen (path) + SK_NAME_MAX > SK_PATH_MAX)
    return 0;

  loser = make_loser (path, device, wall);
  once = sk_conflict_path (loser);
  g_assert_true (sk_path_check (once, strlen (once), NULL));
  g_assert_cmpstr (once, !=, path);
  g_assert_true (sk_is_conflict_name (sk_path_name (once)));

  again = make_loser (once, device, wall);
  twice = sk_conflict_path (again);
  g_assert_true (sk_path_check (twice, strlen (twice), NULL));
  g_assert_cmpstr (twice, !=, once);
  return 0;
}
