/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-attributes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_AT_ONCE 2000u
#define ROOM_FOR_SOME (G_GINT64_CONSTANT (1) << 20)    /* with this much space it is not the space that is missing */

void
sk_attributes_hash (GBytes *value, SkHash *out)
{
  gsize len;
  const guint8 *data;

  *out = (SkHash) { 0 };
  if (value == NULL)
    return;
  data = g_bytes_get_data (value, &len);
  sk_sha256 (data, len, out);
}

/* --- marks --- */

static char *
prefix_of (gint64 folder)
{
  return g_strdup_printf ("xattrs:%" G_GINT64_FORMAT ":", folder);
}

static char *
key_of (gint64 folder, gint64 node)
{
  return g_strdup_printf ("xattrs:%" G_GINT64_FORMAT ":%" G_GINT64_FORMAT, folder, node);
}

static gboolean
read_mark (SkSession *session, const char *key, SkAttributesMark *out)
{
  g_autoptr(GBytes) bytes = sk_index_get (session->index, key);
  gsize len;
  const guint8 *data = bytes != NULL ? g_bytes_get_data (bytes, &len) : NULL;

  if (data == NULL || len != 1 + sizeof out->here)
    return FALSE;
  out->why = data[0];
  memcpy (&out->here, data + 1, sizeof out->here);
  return TRUE;
}

gboolean
sk_attributes_mark (SkSession *session, gint64 folder, gint64 node, SkAttributesMark *out)
{
  g_autofree char *key = key_of (folder, node);

  return read_mark (session, key, out);
}

gboolean
sk_attributes_set_mark (SkSession *session, gint64 folder, gint64 node, const SkAttributesMark *mark, GError **error)
{
  g_autofree char *key = key_of (folder, node);
  guint8 bytes[1 + sizeof mark->here] = { mark->why };

  memcpy (bytes + 1, &mark->here, sizeof mark->here);
  return sk_index_set (session->index, key, bytes, sizeof bytes, error);
}

gboolean
sk_attributes_clear_mark (SkSession *session, gint64 folder, gint64 node, GError **error)
{
  g_autofree char *key = key_of (folder, node);

  return sk_index_unset (session->index, key, error);
}

/* --- turning it on --- */

typedef struct { gint64 folder, after; gboolean more; } BeginCall;

/* What the base has and the disk may have lost while nobody looked is no removal. */
static gboolean
begin_with (SkSession *session, SkNode *node, GError **error)
{
  const SkAttributesMark unlike = { .why = SK_ATTRIBUTES_UNLIKE };
  g_autoptr(GBytes) value = NULL;
  SkAttributesMark known;

  if (!sk_index_content_xattrs (session->index, node->base.content, &value, error))
    return FALSE;
  if (value != NULL && !sk_attributes_mark (session, node->folder, node->row, &known)
      && !sk_attributes_set_mark (session, node->folder, node->row, &unlike, error))
    return FALSE;
  node->base.unproven = TRUE;
  return sk_index_set_base (session->index, node->row, &node->base, error);
}

/* Index thread, in a transaction. */
static gboolean
begin_some (SkSession *session, gpointer data, GError **error)
{
  BeginCall *call = data;
  g_autoptr(GArray) rows = sk_index_node_rows (session->index, call->after, ROWS_AT_ONCE, error);

  if (rows == NULL)
    return FALSE;
  call->more = rows->len > 0;
  for (guint i = 0; i < rows->len; i++)
    {
      g_autoptr(SkNode) node = sk_index_node_by_row (session->index, g_array_index (rows, gint64, i), error);

      if (node == NULL)
        return FALSE;
      call->after = node->row;
      if (node->folder == call->folder && node->base.kind == SK_KIND_FILE && !begin_with (session, node, error))
        return FALSE;
    }
  return TRUE;
}

gboolean
sk_attributes_begin (SkSession *session, gint64 folder, GError **error)
{
  BeginCall call = { .folder = folder };

  do
    if (!sk_session_transact (session, begin_some, &call, error))
      return FALSE;
  while (call.more);
  return TRUE;
}

/* --- the issue --- */

static char *
issue_key (const SkFlowFolder *folder)
{
  return g_strdup_printf ("xattrs:%" G_GINT64_FORMAT, folder->row);
}

static char *
reason (const SkFlowFolder *folder, int errnum)
{
  switch (errnum)
    {
    case EOPNOTSUPP:
    case ENOSYS:
      return g_strdup ("its disk cannot hold any");
    case ENOSPC:
    case EDQUOT:
      if (folder->root == NULL || sk_root_space (folder->root) < ROOM_FOR_SOME)
        return g_strdup ("its disk is full");
      return g_strdup ("they are larger than its disk allows for one file");
    case E2BIG:
    case ERANGE:
      return g_strdup ("they are larger than its disk allows for one file");
    default:
      return g_strdup (g_strerror (errnum));
    }
}

void
sk_attributes_tell (SkSession *session, const SkFlowFolder *folder, const char *path, guint more, SkAttributesWhy why, int errnum)
{
  g_autofree char *key = issue_key (folder), *shown = sk_path_display (path), *because = reason (folder, errnum);
  g_autofree char *others = more > 0 ? g_strdup_printf (" and %u more", more) : g_strdup ("");

  if (why == SK_ATTRIBUTES_TOO_LARGE)
    sk_session_raise (session, key, "not-synced", folder->row, NULL,
                      "The extended attributes of “%s” in “%s” have more than %u KiB: they stay on this device; the file itself is synced", shown,
                      folder->name, SK_XATTR_MAX / 1024);
  else
    sk_session_raise (session, key, "not-synced", folder->row, NULL,
                      "Extended attributes of “%s”%s could not be kept in “%s”: %s. The files are there without them, and the other devices keep them",
                      shown, others, folder->name, because);
}

typedef struct { gint64 folder; gboolean open; } OpenCall;

/* Is anything of the file still left out? */
static gboolean
stands (SkSession *session, gint64 row, const SkAttributesMark *mark)
{
  g_autoptr(SkNode) node = sk_index_node_by_row (session->index, row, NULL);
  g_autoptr(GBytes) value = NULL;

  if (node == NULL || node->base.kind != SK_KIND_FILE || mark->why == SK_ATTRIBUTES_UNLIKE)
    return FALSE;
  return mark->why == SK_ATTRIBUTES_TOO_LARGE
         || (sk_index_content_xattrs (session->index, node->base.content, &value, NULL) && value != NULL);
}

/* Index thread. */
static gboolean
look_for_marks (SkSession *session, gpointer data, GError **error)
{
  OpenCall *call = data;
  g_autofree char *prefix = prefix_of (call->folder), *after = NULL;

  while (!call->open)
    {
      g_autoptr(GPtrArray) keys = sk_index_keys (session->index, prefix, after, ROWS_AT_ONCE, error);

      if (keys == NULL || keys->len == 0)
        return keys != NULL;
      for (guint i = 0; i < keys->len && !call->open; i++)
        {
          const char *key = keys->pdata[i];
          SkAttributesMark mark;

          call->open = read_mark (session, key, &mark) && stands (session, g_ascii_strtoll (key + strlen (prefix), NULL, 10), &mark);
        }
      g_free (after);
      after = g_strdup (keys->pdata[keys->len - 1]);
    }
  return TRUE;
}

void
sk_attributes_settle (SkSession *session, const SkFlowFolder *folder)
{
  g_autofree char *key = issue_key (folder);
  OpenCall call = { .folder = folder->row };
  gboolean raised;

  g_mutex_lock (&session->lock);
  raised = g_hash_table_contains (session->open_issues, key);
  g_mutex_unlock (&session->lock);
  if (raised && sk_session_index (session, look_for_marks, &call, NULL) && !call.open)
    sk_session_settle_issue (session, key);
}
