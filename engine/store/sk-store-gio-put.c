/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A put: under a temporary name, then moved, then its size looked at. Where the protocol cannot
 * move over a file, gvfs removes the old one first, so an object that is overwritten may be absent
 * for a moment; readers ask twice. */
#include "sk-store-gio.h"

#include <string.h>

#include "sk-id.h"

static gboolean
sk_gio_put_write (SkStoreJob *job, GFile *temp, GCancellable *cancellable, GError **error)
{
  g_autoptr(GFileOutputStream) stream
      = g_file_create (temp, G_FILE_CREATE_NONE, cancellable, error);
  gsize size;
  const guint8 *bytes = g_bytes_get_data (job->data, &size);

  /* Closing is part of it: many services say only then that they are full. */
  return stream != NULL
         && g_output_stream_write_all (G_OUTPUT_STREAM (stream), bytes, size, NULL, cancellable,
                                       error)
         && g_output_stream_close (G_OUTPUT_STREAM (stream), cancellable, error);
}

/* Whether the server has as many bytes as were sent. */
static gboolean
sk_gio_put_check (SkStoreJob *job, GFile *file, GCancellable *cancellable, GError **error)
{
  g_autoptr(GFileInfo) info = NULL;
  gsize size = g_bytes_get_size (job->data);

  info = g_file_query_info (file, G_FILE_ATTRIBUTE_STANDARD_SIZE,
                            G_FILE_QUERY_INFO_NOFOLLOW_SYMLINKS, cancellable, error);
  if (info == NULL)
    return FALSE;
  if ((guint64) g_file_info_get_size (info) == size)
    return TRUE;
  return sk_fail (error, SK_ERROR_IO,
                  "Storage “%s” kept %" G_GOFFSET_FORMAT " of the %" G_GSIZE_FORMAT
                  " bytes of “%s”; check the server",
                  sk_store_place (sk_store_job_store (job)), g_file_info_get_size (info), size,
                  job->name);
}

static gboolean
sk_gio_put_is_same (SkStoreJob *job, GCancellable *cancellable)
{
  SkStoreGio *self = SK_STORE_GIO (sk_store_job_store (job));
  gsize size = g_bytes_get_size (job->data);
  g_autoptr(GBytes) there
      = sk_store_gio_read (self, job->name, 0, G_MAXUINT64, size, cancellable, NULL);

  return there != NULL && g_bytes_equal (there, job->data);
}

/* There is an object of that name already. */
static gboolean
sk_gio_put_meet (SkStoreJob *job, GFile *temp, GFile *file, GCancellable *cancellable,
                 GError **error)
{
  if (sk_gio_put_is_same (job, cancellable))
    return g_file_delete (temp, cancellable, error);
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return FALSE;
  if (!sk_store_name_is_content (job->name))
    return sk_fail (error, SK_ERROR_EXISTS, "Storage “%s” has another “%s” already",
                    sk_store_place (sk_store_job_store (job)), job->name);
  /* What is there is damaged, unless it is ours that is. */
  return sk_store_verify (job->name, job->data, error)
         && g_file_move (temp, file, G_FILE_COPY_OVERWRITE | G_FILE_COPY_NO_FALLBACK_FOR_MOVE,
                         cancellable, NULL, NULL, error);
}

/* Makes the object's directory. TRUE when it is there now, also when another put was quicker. */
static gboolean
sk_gio_put_make_parent (GFile *file, GCancellable *cancellable)
{
  g_autoptr(GFile) parent = g_file_get_parent (file);

  return sk_store_gio_make (parent, cancellable, NULL);
}

static gboolean
sk_gio_put_place (SkStoreJob *job, GFile *temp, GCancellable *cancellable, GError **error)
{
  SkStoreGio *self = SK_STORE_GIO (sk_store_job_store (job));
  g_autoptr(GFile) file = sk_store_gio_file (self, job->name);
  g_autoptr(GError) reason = NULL;
  GFileCopyFlags flags = G_FILE_COPY_NO_FALLBACK_FOR_MOVE;
  gboolean ok;

  if ((job->flags & SK_PUT_OVERWRITE) != 0)
    flags |= G_FILE_COPY_OVERWRITE;
  ok = g_file_move (temp, file, flags, cancellable, NULL, NULL, &reason);
  /* Servers differ in how they say that the directory is missing, so it is made on any error. */
  if (!ok && !g_error_matches (reason, G_IO_ERROR, G_IO_ERROR_EXISTS)
      && sk_gio_put_make_parent (file, cancellable))
    {
      g_clear_error (&reason);
      ok = g_file_move (temp, file, flags, cancellable, NULL, NULL, &reason);
    }
  if (!ok && g_error_matches (reason, G_IO_ERROR, G_IO_ERROR_EXISTS))
    {
      g_clear_error (&reason);
      ok = sk_gio_put_meet (job, temp, file, cancellable, &reason);
    }
  if (ok)
    return sk_gio_put_check (job, file, cancellable, error);
  g_propagate_error (error, g_steal_pointer (&reason));
  return FALSE;
}

static gboolean
sk_gio_put (SkStoreJob *job, GCancellable *cancellable, GError **error)
{
  SkStoreGio *self = SK_STORE_GIO (sk_store_job_store (job));
  g_autofree char *temp_name = NULL;
  g_autoptr(GFile) temp = NULL;
  g_autoptr(GError) reason = NULL;
  char hex[SK_ID_HEX_SIZE];
  gboolean ok;
  SkId random;

  sk_id_random (&random);
  sk_id_format (&random, hex);
  temp_name = g_strdup_printf (SK_STORE_TEMP "/%s", hex);
  temp = sk_store_gio_file (self, temp_name);

  ok = sk_gio_put_write (job, temp, cancellable, &reason);
  if (!ok && sk_store_gio_is_absent (reason))
    {
      /* The directory is made again only where the marker still is. */
      if (!sk_store_gio_confirm (self, cancellable, error))
        return FALSE;
      g_clear_error (&reason);
      sk_gio_put_make_parent (temp, cancellable);
      ok = sk_gio_put_write (job, temp, cancellable, &reason);
    }
  if (ok && sk_gio_put_place (job, temp, cancellable, &reason))
    return TRUE;
  /* Also when the put was cancelled. */
  g_file_delete (temp, NULL, NULL);
  g_propagate_error (error, g_steal_pointer (&reason));
  return FALSE;
}

gboolean
sk_store_gio_put_run (SkStoreJob *job, GCancellable *cancellable, GError **error)
{
  if (!sk_store_gio_run (job, sk_gio_put, "write", cancellable, error))
    return FALSE;
  if (strcmp (job->name, SK_STORE_MARKER) == 0)
    sk_store_gio_marked (SK_STORE_GIO (sk_store_job_store (job)));
  return TRUE;
}
