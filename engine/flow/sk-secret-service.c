/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-secret-service.h"

#include <string.h>

#include <libsecret/secret.h>

#include "config.h"
#include "sk-keys.h"

#define LIMIT_MS 10000
/* A cancelled call answers at once; this is for a library that does not. */
#define GRACE_MS 2000
#define SECRET_MAX 65536u

static const SecretSchema schema = {
  SK_APP_ID ".Home",
  SECRET_SCHEMA_NONE,
  { { "home", SECRET_SCHEMA_ATTRIBUTE_STRING },
    { "what", SECRET_SCHEMA_ATTRIBUTE_STRING },
    { NULL, 0 } },
};

static guint limit_ms = LIMIT_MS;

#if SK_TEST_HOOKS
void
sk_secret_service_test_limit (guint ms)
{
  limit_ms = ms;
}
#endif

/* One operation. Counted, so that an answer that comes after everybody left finds its memory. */
typedef struct
{
  gatomicrefcount refs;
  GMainContext *context;
  GCancellable *cancellable;
  gboolean done;
  gboolean timed_out;
  GError *error;
  GDBusConnection *bus;
  SecretValue *value;
} Wait;

static void
wait_unref (Wait *self)
{
  if (!g_atomic_ref_count_dec (&self->refs))
    return;
  g_clear_error (&self->error);
  g_clear_object (&self->bus);
  g_clear_pointer (&self->value, secret_value_unref);
  g_object_unref (self->cancellable);
  g_main_context_unref (self->context);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Wait, wait_unref)

static Wait *
wait_new (void)
{
  Wait *self = g_new0 (Wait, 1);

  g_atomic_ref_count_init (&self->refs);
  self->context = g_main_context_new ();
  self->cancellable = g_cancellable_new ();
  return self;
}

static Wait *
wait_ref (Wait *self)
{
  g_atomic_ref_count_inc (&self->refs);
  return self;
}

static gboolean
on_limit (gpointer data)
{
  Wait *self = data;

  self->timed_out = TRUE;
  g_cancellable_cancel (self->cancellable);
  return G_SOURCE_REMOVE;
}

static gboolean
on_grace (gpointer data)
{
  gboolean *over = data;

  *over = TRUE;
  return G_SOURCE_REMOVE;
}

static GSource *
add_timer (Wait *self, guint ms, GSourceFunc func, gpointer data)
{
  GSource *source = g_timeout_source_new (ms);

  g_source_set_callback (source, func, data, NULL);
  g_source_attach (source, self->context);
  return source;
}

/* Iterates until the answer or the limit. FALSE with @error set from what the operation said. */
static gboolean
wait_run (Wait *self, GError **error)
{
  GSource *limit = add_timer (self, limit_ms, on_limit, self);
  gboolean over = FALSE;
  GSource *grace = NULL;

  while (!self->done && !over)
    {
      g_main_context_iteration (self->context, TRUE);
      if (self->timed_out && grace == NULL)
        grace = add_timer (self, GRACE_MS, on_grace, &over);
    }
  g_source_destroy (limit);
  g_source_unref (limit);
  if (grace != NULL)
    {
      g_source_destroy (grace);
      g_source_unref (grace);
    }
  if (self->timed_out)
    return sk_fail (error, SK_ERROR_OFFLINE, "The keyring did not answer in time; is it locked?");
  if (self->error != NULL)
    return sk_fail (error, SK_ERROR_OFFLINE, "The keyring of this session cannot be used: %s",
                    self->error->message);
  return TRUE;
}

static void
on_bus (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr(Wait) self = data;

  self->bus = g_bus_get_finish (result, &self->error);
  self->done = TRUE;
}

static void
on_stored (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr(Wait) self = data;

  secret_password_store_finish (result, &self->error);
  self->done = TRUE;
}

static void
on_found (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr(Wait) self = data;

  self->value = secret_password_lookup_binary_finish (result, &self->error);
  self->done = TRUE;
}

static void
on_cleared (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr(Wait) self = data;

  secret_password_clear_finish (result, &self->error);
  self->done = TRUE;
}

/* Without an address GIO would start a bus of its own, which has no keyring and outlives us. */
static gboolean
has_bus_address (void)
{
  g_autofree char *path = NULL;
  const char *address = g_getenv ("DBUS_SESSION_BUS_ADDRESS");

  if (address != NULL && *address != '\0')
    return TRUE;
  path = g_build_filename (g_get_user_runtime_dir (), "bus", NULL);
  return g_file_test (path, G_FILE_TEST_EXISTS);
}

static gboolean
have_bus (GError **error)
{
  g_autoptr(Wait) self = NULL;

  if (!has_bus_address ())
    return sk_fail (error, SK_ERROR_OFFLINE, "There is no session bus here, so no keyring");
  self = wait_new ();
  g_main_context_push_thread_default (self->context);
  g_bus_get (G_BUS_TYPE_SESSION, self->cancellable, on_bus, wait_ref (self));
  wait_run (self, error);
  g_main_context_pop_thread_default (self->context);
  if (self->bus == NULL)
    return FALSE;
  /* The engine must survive the end of the session's bus. */
  g_dbus_connection_set_exit_on_close (self->bus, FALSE);
  return TRUE;
}

gboolean
sk_secret_service_store (const char *home, const char *what, const char *label, GBytes *secret,
                         GError **error)
{
  g_autoptr(Wait) self = NULL;
  char *text;
  gboolean done;

  if (!have_bus (error))
    return FALSE;
  self = wait_new ();
  /* As text: not every keyring keeps bytes. */
  text = g_base64_encode (g_bytes_get_data (secret, NULL), g_bytes_get_size (secret));
  g_main_context_push_thread_default (self->context);
  secret_password_store (&schema, SECRET_COLLECTION_DEFAULT, label, text, self->cancellable,
                         on_stored, wait_ref (self), "home", home, "what", what, NULL);
  done = wait_run (self, error);
  g_main_context_pop_thread_default (self->context);
  secret_password_free (text);
  return done;
}

GBytes *
sk_secret_service_lookup (const char *home, const char *what, GError **error)
{
  g_autoptr(Wait) self = NULL;
  gsize len;
  const char *text;
  char *copy;
  guchar *plain;
  gsize plain_len;
  GBytes *bytes;
  gboolean done;

  if (!have_bus (error))
    return NULL;
  self = wait_new ();
  g_main_context_push_thread_default (self->context);
  secret_password_lookup (&schema, self->cancellable, on_found, wait_ref (self), "home", home,
                          "what", what, NULL);
  done = wait_run (self, error);
  g_main_context_pop_thread_default (self->context);
  if (!done)
    return NULL;
  if (self->value == NULL)
    {
      sk_fail (error, SK_ERROR_NOT_FOUND, "The keyring has no keys for this home");
      return NULL;
    }
  text = secret_value_get (self->value, &len);
  if (len == 0 || len > SECRET_MAX || memchr (text, 0, len) != NULL)
    {
      sk_fail (error, SK_ERROR_CORRUPT, "What the keyring has for this home is damaged");
      return NULL;
    }
  copy = g_strndup (text, len);
  plain = g_base64_decode (copy, &plain_len);
  secret_password_free (copy);
  bytes = sk_secret_bytes (plain, plain_len);
  explicit_bzero (plain, plain_len);
  g_free (plain);
  return bytes;
}

gboolean
sk_secret_service_clear (const char *home, const char *what, GError **error)
{
  g_autoptr(Wait) self = NULL;
  gboolean done;

  if (!have_bus (error))
    return FALSE;
  self = wait_new ();
  g_main_context_push_thread_default (self->context);
  secret_password_clear (&schema, self->cancellable, on_cleared, wait_ref (self), "home", home,
                         "what", what, NULL);
  done = wait_run (self, error);
  g_main_context_pop_thread_default (self->context);
  return done;
}

gboolean
sk_secret_service_probe (GError **error)
{
  g_autoptr(GBytes) trial = g_bytes_new_static ("trial", 5);
  g_autofree char *home = g_uuid_string_random ();

  if (!sk_secret_service_store (home, "trial", "Skerry: trial of the keyring", trial, error))
    return FALSE;
  return sk_secret_service_clear (home, "trial", error);
}
