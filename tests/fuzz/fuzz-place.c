/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The address of a storage, as a person types it or as it came in an invitation. Nothing is looked at or made; what is refused says why without
 * repeating a password, and what is accepted holds none. */
#include "sk-store.h"

#include <string.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
assert_no_password (const char *uri)
{
  g_autofree char *password = NULL, *user = NULL;

  /* An address that GLib cannot split is none that GIO would log in with. */
  if (g_uri_split_with_user (uri, G_URI_FLAGS_HAS_PASSWORD, NULL, &user, &password, NULL, NULL, NULL, NULL, NULL, NULL, NULL))
    g_assert_null (password);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const SkId vault = { { 7 } };
  g_autofree char *uri = g_strndup ((const char *) data, size);
  g_autoptr(GError) error = NULL;
  g_autoptr(SkStore) store = sk_store_new (uri, &vault, NULL, &error);

  if (store == NULL)
    {
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
      return 0;
    }
  g_assert_no_error (error);
  g_assert_cmpstr (sk_store_uri (store), ==, uri);
  if (uri[0] != '/')
    assert_no_password (uri);
  return 0;
}
