/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reaching the place: mounting, the marker, what errors mean; and reading. */
#include "sk-store-gio.h"

#include "sk-limits.h"
#include "sk-memory.h"

#define TEMP_AGE_MAX (24 * 60 * 60) /* seconds; no put takes a day */

/* --- errors --- */

static SkErrorCode
sk_store_gio_code (const GError *error)
{
  if (error->domain != G_IO_ERROR)
    return SK_ERROR_OFFLINE; /* of the bus or the resolver */
  switch (error->code)
    {
    case G_IO_ERROR_NO_SPACE:
      return SK_ERROR_NO_SPACE;
    case G_IO_ERROR_PERMISSION_DENIED:
    case G_IO_ERROR_READ_ONLY:
      return SK_ERROR_PERMISSION;
    case G_IO_ERROR_NOT_SUPPORTED:
      return SK_ERROR_UNSUPPORTED;
    case G_IO_ERROR_CANCELLED:
      return SK_ERROR_CANCELLED;
    case G_IO_ERROR_NOT_MOUNTED:
    case G_IO_ERROR_HOST_NOT_FOUND:
    case G_IO_ERROR_HOST_UNREACHABLE:
    case G_IO_ERROR_NETWORK_UNREACHABLE:
    case G_IO_ERROR_CONNECTION_REFUSED:
    case G_IO_ERROR_CONNECTION_CLOSED:
    case G_IO_ERROR_NOT_CONNECTED:
    case G_IO_ERROR_TIMED_OUT:
    case G_IO_ERROR_CLOSED:
    case G_IO_ERROR_DBUS_ERROR:
    case G_IO_ERROR_FAILED_HANDLED:
      return SK_ERROR_OFFLINE;
    default:
      return SK_ERROR_IO;
    }
}

static const char *
sk_store_gio_advice (SkErrorCode code)
{
  switch (code)
    {
    case SK_ERROR_NO_SPACE:
      return "free some space there or add another storage";
    case SK_ERROR_UNSUPPORTED:
      return "this needs gvfs with a backend for such addresses";
    case SK_ERROR_PERMISSION:
      return "check who may write there";
    default:
      return "check the network and the server";
    }
}

/* Takes @reason. Errors of our own domain pass. */
static gboolean
sk_store_gio_fail (SkStoreGio *self, const char *what, const char *name, GError *reason,
                   GError **error)
{
  g_autoptr(GError) owned = reason;
  SkErrorCode code;

  if (owned->domain == SK_ERROR)
    {
      g_propagate_error (error, g_steal_pointer (&owned));
      return FALSE;
    }
  code = sk_store_gio_code (owned);
  return sk_fail (error, code, "Storage “%s”: cannot %s “%s”: %s; %s",
                  sk_store_place (SK_STORE (self)), what, name, owned->message,
                  sk_store_gio_advice (code));
}

static gboolean
sk_store_gio_no_marker (SkStoreGio *self, GError **error)
{
  return sk_fail (error, SK_ERROR_OFFLINE,
                  "“%s” is not the storage: its " SK_STORE_MARKER
                  " is missing; check the address and the server",
                  sk_store_place (SK_STORE (self)));
}

/* --- reading --- */

GFile *
sk_store_gio_file (SkStoreGio *self, const char *name)
{
  return g_file_resolve_relative_path (self->root, name);
}

static GBytes *
sk_store_gio_read_stream (SkStoreGio *self, GFileInputStream *stream, const char *name,
                          guint64 offset, guint64 len, guint64 max_size, GCancellable *cancellable,
                          GError **error)
{
  g_autoptr(GFileInfo) info = NULL;
  g_autoptr(GBytes) bytes = NULL;
  guint64 size;
  gsize n_read;

  info
      = g_file_input_stream_query_info (stream, G_FILE_ATTRIBUTE_STANDARD_SIZE, cancellable, error);
  if (info == NULL)
    return NULL;
  size = (guint64) MAX (g_file_info_get_size (info), 0);
  if (offset > size)
    return sk_fail (error, SK_ERROR_CORRUPT,
                    "The stored object “%s” has only %" G_GUINT64_FORMAT " bytes", name, size),
           NULL;
  size = MIN (len, size - offset);
  if (size > max_size)
    return sk_fail (error, SK_ERROR_LIMIT,
                    "The stored object “%s” has %" G_GUINT64_FORMAT
                    " bytes, more than the %" G_GUINT64_FORMAT " that it may have",
                    name, size, max_size),
           NULL;
  if (offset > 0
      && !g_seekable_seek (G_SEEKABLE (stream), (goffset) offset, G_SEEK_SET, cancellable, error))
    return NULL;

  bytes = sk_memory_block (size);
  if (!g_input_stream_read_all (G_INPUT_STREAM (stream), (gpointer) g_bytes_get_data (bytes, NULL), size, &n_read, cancellable, error))
    return NULL;
  if (n_read < size)
    return sk_fail (error, SK_ERROR_CORRUPT, "Storage “%s”: “%s” was cut while it was read",
                    sk_store_place (SK_STORE (self)), name),
           NULL;
  return g_steal_pointer (&bytes);
}

GBytes *
sk_store_gio_read (SkStoreGio *self, const char *name, guint64 offset, guint64 len,
                   guint64 max_size, GCancellable *cancellable, GError **error)
{
  g_autoptr(GFile) file = sk_store_gio_file (self, name);
  g_autoptr(GFileInputStream) stream = g_file_read (file, cancellable, error);
  GBytes *data;

  if (stream == NULL)
    return NULL;
  data = sk_store_gio_read_stream (self, stream, name, offset, len, max_size, cancellable, error);
  g_input_stream_close (G_INPUT_STREAM (stream), NULL, NULL);
  return data;
}

/* --- being there --- */

gboolean
sk_store_gio_is_absent (const GError *error)
{
  return g_error_matches (error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND)
         || g_error_matches (error, G_IO_ERROR, G_IO_ERROR_NOT_DIRECTORY);
}

static void
sk_store_gio_set_state (SkStoreGio *self, gboolean checked, gboolean unmarked)
{
  g_mutex_lock (&self->lock);
  self->checked = checked;
  self->unmarked = unmarked;
  g_mutex_unlock (&self->lock);
}

static void
sk_store_gio_get_state (SkStoreGio *self, gboolean *checked, gboolean *unmarked)
{
  g_mutex_lock (&self->lock);
  *checked = self->checked;
  *unmarked = self->unmarked;
  g_mutex_unlock (&self->lock);
}

gboolean
sk_store_gio_confirm (SkStoreGio *self, GCancellable *cancellable, GError **error)
{
  g_autoptr(GError) reason = NULL;
  g_autoptr(GBytes) data = NULL;
  gboolean checked;
  gboolean unmarked;

  sk_store_gio_get_state (self, &checked, &unmarked);
  if (unmarked || sk_store_vault (SK_STORE (self)) == NULL)
    return TRUE;

  data = sk_store_gio_read (self, SK_STORE_MARKER, 0, G_MAXUINT64, SK_SMALL_OBJECT_MAX, cancellable,
                            &reason);
  if (data != NULL)
    return sk_store_accept_marker (SK_STORE (self), data, error);
  /* Not GIO's "not found", which callers take for the object's. */
  if (sk_store_gio_is_absent (reason))
    return sk_store_gio_no_marker (self, error);
  g_propagate_error (error, g_steal_pointer (&reason));
  return FALSE;
}

typedef struct
{
  GAsyncResult *result;
} SkMountWait;

static void
sk_store_gio_mounted (GObject *object, GAsyncResult *result, gpointer user_data)
{
  SkMountWait *wait = user_data;

  wait->result = g_object_ref (result);
}

/* Without a mount operation, so nobody is asked anything: what would need an answer fails. Mounting
 * has no blocking form; this turns a context of its own. */
static gboolean
sk_store_gio_mount_wait (SkStoreGio *self, GCancellable *cancellable, GError **error)
{
  g_autoptr(GMainContext) context = g_main_context_new ();
  SkMountWait wait = { NULL };
  gboolean ok;

  g_main_context_push_thread_default (context);
  g_file_mount_enclosing_volume (self->location, G_MOUNT_MOUNT_NONE, NULL, cancellable,
                                 sk_store_gio_mounted, &wait);
  while (wait.result == NULL)
    g_main_context_iteration (context, TRUE);
  ok = g_file_mount_enclosing_volume_finish (self->location, wait.result, error);
  g_object_unref (wait.result);
  /* What the bus still has to clean up here. */
  while (g_main_context_iteration (context, FALSE))
    continue;
  g_main_context_pop_thread_default (context);
  return ok;
}

static gboolean
sk_store_gio_mount (SkStoreGio *self, GCancellable *cancellable, GError **error)
{
  g_autoptr(GError) reason = NULL;
  gboolean ok;

  g_mutex_lock (&self->mount_lock);
  ok = sk_store_gio_mount_wait (self, cancellable, &reason);
  g_mutex_unlock (&self->mount_lock);

  if (ok || g_error_matches (reason, G_IO_ERROR, G_IO_ERROR_ALREADY_MOUNTED))
    return TRUE;
  if (g_error_matches (reason, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    {
      g_propagate_error (error, g_steal_pointer (&reason));
      return FALSE;
    }
  if (g_error_matches (reason, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED))
    return sk_fail (
        error, SK_ERROR_UNSUPPORTED,
        "Storage “%s” cannot be reached: this computer has no gvfs backend for such addresses",
        sk_store_place (SK_STORE (self)));
  return sk_fail (error, SK_ERROR_OFFLINE,
                  "Storage “%s” cannot be reached without asking a person: %s. Check the server; "
                  "open the address once "
                  "in the file manager and let it remember the password, or set up a key",
                  sk_store_place (SK_STORE (self)), reason->message);
}

static void
sk_store_gio_sweep (SkStoreGio *self, GCancellable *cancellable)
{
  g_autoptr(GFile) dir = g_file_get_child (self->root, SK_STORE_TEMP);
  g_autoptr(GFileEnumerator) children = NULL;
  GFileInfo *info;
  GFile *child;

  children = g_file_enumerate_children (
      dir, G_FILE_ATTRIBUTE_STANDARD_NAME "," G_FILE_ATTRIBUTE_TIME_MODIFIED,
      G_FILE_QUERY_INFO_NOFOLLOW_SYMLINKS, cancellable, NULL);
  while (children != NULL && g_file_enumerator_iterate (children, &info, &child, cancellable, NULL)
         && info != NULL)
    {
      gint64 modified
          = (gint64) g_file_info_get_attribute_uint64 (info, G_FILE_ATTRIBUTE_TIME_MODIFIED);

      if (modified > 0 && modified < g_get_real_time () / G_USEC_PER_SEC - TEMP_AGE_MAX)
        g_file_delete (child, cancellable, NULL);
    }
}

/* Only whether there is a mount; what else may be wrong with the place is seen later. */
static gboolean
sk_store_gio_is_mounted (SkStoreGio *self, GCancellable *cancellable)
{
  g_autoptr(GError) reason = NULL;
  g_autoptr(GFileInfo) info = g_file_query_info (self->location, G_FILE_ATTRIBUTE_STANDARD_TYPE,
                                                  G_FILE_QUERY_INFO_NONE, cancellable, &reason);

  return info != NULL || !g_error_matches (reason, G_IO_ERROR, G_IO_ERROR_NOT_MOUNTED);
}

/* Once, and again after the mount was lost. */
static gboolean
sk_store_gio_ensure (SkStoreGio *self, GCancellable *cancellable, GError **error)
{
  gboolean checked;
  gboolean unmarked;

  sk_store_gio_get_state (self, &checked, &unmarked);
  if (checked)
    return TRUE;
  if (!sk_store_gio_is_mounted (self, cancellable)
      && !sk_store_gio_mount (self, cancellable, error))
    return FALSE;
  if (!sk_store_gio_confirm (self, cancellable, error))
    return FALSE;

  g_mutex_lock (&self->lock);
  self->checked = TRUE;
  g_mutex_unlock (&self->lock);
  if (sk_store_vault (SK_STORE (self)) != NULL)
    sk_store_gio_sweep (self, cancellable);
  return TRUE;
}

gboolean
sk_store_gio_run (SkStoreJob *job, SkStoreJobFunc work, const char *what, GCancellable *cancellable,
                  GError **error)
{
  SkStoreGio *self = SK_STORE_GIO (sk_store_job_store (job));
  g_autoptr(GError) reason = NULL;

  for (guint attempt = 0; attempt < 2; attempt++)
    {
      g_clear_error (&reason);
      if (sk_store_gio_ensure (self, cancellable, &reason) && work (job, cancellable, &reason))
        return TRUE;
      if (!g_error_matches (reason, G_IO_ERROR, G_IO_ERROR_NOT_MOUNTED)
          && !g_error_matches (reason, G_IO_ERROR, G_IO_ERROR_CLOSED))
        break;
      g_mutex_lock (&self->lock);
      self->checked = FALSE;
      g_mutex_unlock (&self->lock);
    }
  return sk_store_gio_fail (self, what, job->name != NULL ? job->name : "objects",
                            g_steal_pointer (&reason), error);
}

void
sk_store_gio_marked (SkStoreGio *self)
{
  g_mutex_lock (&self->lock);
  self->unmarked = FALSE;
  g_mutex_unlock (&self->lock);
}

/* --- a new storage --- */

gboolean
sk_store_gio_make (GFile *dir, GCancellable *cancellable, GError **error)
{
  g_autoptr(GError) reason = NULL;

  if (g_file_make_directory_with_parents (dir, cancellable, &reason)
      || g_error_matches (reason, G_IO_ERROR, G_IO_ERROR_EXISTS))
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&reason));
  return FALSE;
}

static gboolean
sk_store_gio_prepare (SkStoreJob *job, GCancellable *cancellable, GError **error)
{
  SkStoreGio *self = SK_STORE_GIO (sk_store_job_store (job));
  g_autoptr(GFile) temp = sk_store_gio_file (self, SK_STORE_TEMP);
  g_autoptr(GError) reason = NULL;
  g_autoptr(GBytes) marker = NULL;

  marker = sk_store_gio_read (self, SK_STORE_MARKER, 0, G_MAXUINT64, SK_SMALL_OBJECT_MAX,
                              cancellable, &reason);
  if (marker != NULL)
    {
      sk_store_gio_set_state (self, FALSE, FALSE);
      return sk_fail (error, SK_ERROR_EXISTS, "“%s” is a storage of this vault already",
                      sk_store_place (SK_STORE (self)));
    }
  if (!sk_store_gio_is_absent (reason))
    {
      g_propagate_error (error, g_steal_pointer (&reason));
      return FALSE;
    }
  return sk_store_gio_make (temp, cancellable, error);
}

gboolean
sk_store_gio_prepare_run (SkStoreJob *job, GCancellable *cancellable, GError **error)
{
  SkStoreGio *self = SK_STORE_GIO (sk_store_job_store (job));

  /* So that being there does not mean having a marker. */
  sk_store_gio_set_state (self, FALSE, TRUE);
  if (sk_store_gio_run (job, sk_store_gio_prepare, "set up", cancellable, error))
    return TRUE;
  sk_store_gio_set_state (self, FALSE, FALSE);
  return FALSE;
}
