/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-restore.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sk-limits.h"
#include "sk-pack.h"
#include "sk-split.h"
#include "sk-target.h"
#include "sk-xattr.h"

#define GROUP_CHUNKS 256u                /* looked up at once */
#define RANGE_GAP (64u << 10)            /* fetched along rather than asked for separately */
#define RANGE_MAX (16u << 20)

/* Where one chunk may be had. */
typedef struct
{
  SkRoot *root;                  /* NULL: not on this disk */
  char *path;
  guint64 offset;
  GArray *places;                /* SkChunkPlace; NULL for a zero run */
} Source;

struct _SkRestore
{
  SkSession *session;
  SkConfig *config;
  GCancellable *cancellable;
  SkRoot *root;                  /* the directory that is written into */
  SkCompressor *z;
  /* The last bytes that were got; small files lie in a pack one after the other. */
  GBytes *range;
  SkHash range_pack;
  gint64 range_storage;
  guint64 range_offset;
};

static void
source_clear (gpointer data)
{
  Source *self = data;

  g_clear_pointer (&self->root, sk_root_unref);
  g_clear_pointer (&self->path, g_free);
  g_clear_pointer (&self->places, g_array_unref);
}

SkRestore *
sk_restore_new (SkSession *session, const char *dir, GCancellable *cancellable, GError **error)
{
  g_autoptr(SkRoot) root = NULL;
  SkRestore *self;

  if (!g_path_is_absolute (dir))
    {
      sk_fail (error, SK_ERROR_USAGE, "“%s” is not an absolute path", dir);
      return NULL;
    }
  if (g_mkdir_with_parents (dir, 0700) != 0)
    {
      sk_fail (error, errno == ENOSPC ? SK_ERROR_NO_SPACE : SK_ERROR_PERMISSION, "“%s” cannot be made: %s", dir, g_strerror (errno));
      return NULL;
    }
  root = sk_root_open (dir, error);
  if (root == NULL)
    return NULL;
  self = g_new0 (SkRestore, 1);
  self->session = session;
  self->config = sk_session_config (session);
  self->cancellable = cancellable;
  self->root = g_steal_pointer (&root);
  self->z = sk_session_take_compressor (session);
  return self;
}

void
sk_restore_free (SkRestore *self)
{
  if (self == NULL)
    return;
  sk_session_give_compressor (self->session, self->z);
  g_clear_pointer (&self->range, g_bytes_unref);
  sk_root_unref (self->root);
  sk_config_unref (self->config);
  g_free (self);
}

/* --- looking up; index thread --- */

typedef struct
{
  SkRestore *restore;
  gint64 version;
  SkVersion *found;
  guint from, to;
  GArray *sources;               /* Source, of chunks @from to @to */
} Lookup;

static gboolean
load_version (SkSession *session, gpointer data, GError **error)
{
  Lookup *lookup = data;

  lookup->found = sk_index_version (session->index, lookup->version, error);
  if (lookup->found == NULL)
    return (error != NULL && *error != NULL) ? FALSE : sk_fail (error, SK_ERROR_NOT_FOUND, "this version is not kept any more");
  if (lookup->found->entry->kind == SK_KIND_FILE && lookup->found->entry->chunks == NULL)
    lookup->found->entry->chunks = sk_index_content_chunks (session->index, lookup->found->content, error);
  return lookup->found->entry->kind != SK_KIND_FILE || lookup->found->entry->chunks != NULL;
}

static gboolean
find_on_disk (SkSession *session, SkConfig *config, const SkHash *id, Source *out, GError **error)
{
  gint64 content = 0;
  g_autoptr(GPtrArray) nodes = NULL;
  SkFlowFolder *folder;
  SkNode *node;

  if (sk_index_chunk_local (session->index, id, &content, &out->offset, error) == 0)
    return error == NULL || *error == NULL;
  nodes = sk_index_nodes_by_content (session->index, content, 1, error);
  if (nodes == NULL)
    return FALSE;
  if (nodes->len == 0)
    return TRUE;
  node = nodes->pdata[0];
  folder = sk_config_folder (config, node->folder);
  if (folder == NULL || folder->root == NULL)
    return TRUE;
  out->path = sk_index_node_path (session->index, node->row, error);
  if (out->path == NULL)
    return FALSE;
  out->root = sk_root_ref (folder->root);
  return TRUE;
}

static gboolean
find_sources (SkSession *session, gpointer data, GError **error)
{
  Lookup *lookup = data;

  for (guint i = lookup->from; i < lookup->to; i++)
    {
      SkChunkRef *ref = &g_array_index (lookup->found->entry->chunks, SkChunkRef, i);
      Source source = { NULL };
      gboolean ok = TRUE;

      if (!sk_chunk_ref_is_zero (ref))
        {
          source.places = sk_index_chunk_places (session->index, &ref->id, error);
          ok = source.places != NULL && find_on_disk (session, lookup->restore->config, &ref->id, &source, error);
        }
      g_array_append_val (lookup->sources, source);
      if (!ok)
        return FALSE;
    }
  return TRUE;
}

/* --- one chunk --- */

static gboolean
in_range (SkRestore *self, const SkChunkPlace *place)
{
  return self->range != NULL && self->range_storage == place->storage && sk_hash_equal (&self->range_pack, &place->pack)
         && place->row.offset >= self->range_offset
         && place->row.offset - self->range_offset + place->row.stored_len <= g_bytes_get_size (self->range);
}

/* How far one request reaches from @place on: over what the next chunks want from the same pack. */
static guint64
range_end (const SkChunkPlace *place, const GArray *sources, guint next)
{
  guint64 end = place->row.offset + place->row.stored_len;

  for (; next < sources->len; next++)
    {
      const Source *source = &g_array_index (sources, Source, next);
      const SkChunkPlace *other;

      if (source->places == NULL)
        continue;
      if (source->places->len == 0 || source->root != NULL)
        break;
      other = &g_array_index (source->places, SkChunkPlace, 0);
      if (other->storage != place->storage || !sk_hash_equal (&other->pack, &place->pack) || other->row.offset < end
          || other->row.offset > end + RANGE_GAP || other->row.offset + other->row.stored_len - place->row.offset > RANGE_MAX)
        break;
      end = other->row.offset + other->row.stored_len;
    }
  return end;
}

/* A pack that is asked for again is got as a whole: a folder of small files is then a few requests. */
static gboolean
get_range (SkRestore *self, const SkChunkPlace *place, const GArray *sources, guint next, GError **error)
{
  SkFlowStorage *storage = sk_config_storage (self->config, place->storage);
  g_autofree char *name = sk_pack_object_name (&place->pack);
  gboolean again = self->range != NULL && self->range_storage == place->storage && sk_hash_equal (&self->range_pack, &place->pack);
  SkCounters add = { 0 };

  if (storage == NULL)
    return sk_fail (error, SK_ERROR_NOT_FOUND, "it is kept in a storage that is not attached here");
  g_clear_pointer (&self->range, g_bytes_unref);
  if (again)
    self->range = sk_store_get_sync (storage->store, name, SK_PACK_SIZE_MAX, self->cancellable, error);
  else
    self->range = sk_store_get_range_sync (storage->store, name, place->row.offset, range_end (place, sources, next) - place->row.offset,
                                           self->cancellable, error);
  if (self->range == NULL)
    return FALSE;
  self->range_storage = place->storage;
  self->range_pack = place->pack;
  self->range_offset = again ? 0 : place->row.offset;
  add.wire_down = g_bytes_get_size (self->range);
  sk_session_count (self->session, &add);
  return TRUE;
}

static GBytes *
open_at_place (SkRestore *self, const SkChunkPlace *place, const SkChunkRef *ref, const GArray *sources, guint next, GError **error)
{
  SkPackRow row = place->row;

  if (!in_range (self, place) && !get_range (self, place, sources, next, error))
    return NULL;
  if (!in_range (self, place))
    {
      sk_fail (error, SK_ERROR_CORRUPT, "a pack is shorter than its table says");
      return NULL;
    }
  row.id = ref->id;
  return sk_pack_open_chunk (&row, (const guint8 *) g_bytes_get_data (self->range, NULL) + (place->row.offset - self->range_offset), row.stored_len,
                             &self->session->who.vault, &place->epoch, self->config->keys, self->z, error);
}

/* Every place is tried before the chunk is given up. */
static GBytes *
read_chunk (SkRestore *self, const SkChunkRef *ref, const GArray *sources, guint i, GError **error)
{
  const Source *source = &g_array_index (sources, Source, i);
  g_autoptr(GError) why = NULL;
  GBytes *bytes = NULL;

  if (source->root != NULL)
    bytes = sk_local_read_chunk (source->root, source->path, source->offset, ref, &self->session->id_key, NULL);
  for (guint p = 0; bytes == NULL && p < source->places->len; p++)
    {
      g_clear_error (&why);
      bytes = open_at_place (self, &g_array_index (source->places, SkChunkPlace, p), ref, sources, i + 1, &why);
      if (bytes == NULL && g_cancellable_set_error_if_cancelled (self->cancellable, error))
        return NULL;
    }
  if (bytes != NULL && g_bytes_get_size (bytes) != ref->size)
    {
      g_clear_pointer (&bytes, g_bytes_unref);
      sk_fail (error, SK_ERROR_CORRUPT, "a part of it has another length than its entry says");
      return NULL;
    }
  if (bytes == NULL && why != NULL)
    g_propagate_error (error, g_steal_pointer (&why));
  else if (bytes == NULL)
    sk_fail (error, SK_ERROR_NOT_FOUND, "a part of it is kept neither on this disk nor in a storage");
  return bytes;
}

/* --- one file --- */

static gboolean
fail_errno (GError **error, int number, const char *verb, const char *path)
{
  g_autofree char *shown = sk_path_display (path);
  SkErrorCode code = number == EEXIST ? SK_ERROR_EXISTS : number == ENOSPC || number == EDQUOT ? SK_ERROR_NO_SPACE
                     : number == EACCES || number == EPERM || number == EROFS ? SK_ERROR_PERMISSION : SK_ERROR_IO;

  if (number == EEXIST)
    return sk_fail (error, code, "“%s” is there already; nothing is overwritten", shown);
  return sk_fail (error, code, "“%s” cannot be %s: %s", shown, verb, g_strerror (number));
}

static gboolean
write_all (int fd, guint64 offset, GBytes *bytes, const char *path, GError **error)
{
  gsize len;
  const guint8 *data = g_bytes_get_data (bytes, &len);

  while (len > 0)
    {
      gssize n = pwrite (fd, data, len, (off_t) offset);

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return fail_errno (error, n < 0 ? errno : EIO, "written", path);
      data += n;
      len -= (gsize) n;
      offset += (guint64) n;
    }
  return TRUE;
}

static gboolean
write_group (SkRestore *self, Lookup *lookup, int fd, guint64 *offset, const char *path, GError **error)
{
  for (guint i = lookup->from; i < lookup->to; i++)
    {
      SkChunkRef *ref = &g_array_index (lookup->found->entry->chunks, SkChunkRef, i);
      g_autoptr(GBytes) bytes = NULL;

      if (g_cancellable_set_error_if_cancelled (self->cancellable, error))
        return FALSE;
      if (!sk_chunk_ref_is_zero (ref))
        {
          bytes = read_chunk (self, ref, lookup->sources, i - lookup->from, error);
          if (bytes == NULL || !write_all (fd, *offset, bytes, path, error))
            return FALSE;
        }
      *offset += ref->size;
    }
  return TRUE;
}

static gboolean
write_content (SkRestore *self, Lookup *lookup, int fd, const char *path, GError **error)
{
  const SkEntry *entry = lookup->found->entry;
  struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
                               { .tv_sec = entry->mtime / 1000000000, .tv_nsec = entry->mtime % 1000000000 } };
  guint64 offset = 0;

  if (times[1].tv_nsec < 0)
    {
      times[1].tv_nsec += 1000000000;
      times[1].tv_sec--;
    }
  while (lookup->to < entry->chunks->len)
    {
      gboolean ok;

      lookup->from = lookup->to;
      lookup->to = MIN (lookup->from + GROUP_CHUNKS, entry->chunks->len);
      lookup->sources = g_array_new (FALSE, FALSE, sizeof (Source));
      g_array_set_clear_func (lookup->sources, source_clear);
      ok = sk_session_index (self->session, find_sources, lookup, error) && write_group (self, lookup, fd, &offset, path, error);
      g_clear_pointer (&lookup->sources, g_array_unref);
      if (!ok)
        return FALSE;
    }
  /* Runs of zeros are holes, also at the end. */
  if (ftruncate (fd, (off_t) entry->size) != 0)
    return fail_errno (error, errno, "written", path);
  /* Attributes, modes and times are a courtesy of file systems that have them; who runs as another user is not made able to by a copy. */
  if (entry->xattrs != NULL)
    (void) sk_xattr_write (fd, entry->xattrs);
  (void) fchmod (fd, entry->mode & 0777);
  (void) futimens (fd, times);
  return fsync (fd) == 0 || fail_errno (error, errno, "made durable", path);
}

/* Gives a complete file its name, but never to the cost of another. */
static gboolean
give_name (int dir, const char *temporary, const char *name, const char *path, GError **error)
{
  if (renameat2 (dir, temporary, dir, name, RENAME_NOREPLACE) == 0)
    return TRUE;
  if (errno == EINVAL || errno == ENOSYS)
    {
      if (linkat (dir, temporary, dir, name, 0) != 0)
        return fail_errno (error, errno, "named", path);
      (void) unlinkat (dir, temporary, 0);
      return TRUE;
    }
  return fail_errno (error, errno, "named", path);
}

static gboolean
restore_file (SkRestore *self, Lookup *lookup, int dir, const char *name, const char *path, GError **error)
{
  g_autofree char *temporary = g_strdup_printf (".skerry-restore-%08x%08x", g_random_int (), g_random_int ());
  struct stat st;
  gboolean ok;
  int fd;

  if (fstatat (dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
    return fail_errno (error, EEXIST, "named", path);
  if ((gint64) lookup->found->entry->size > sk_root_space (self->root))
    return sk_fail (error, SK_ERROR_NO_SPACE, "there is no room for it in “%s”", sk_root_path (self->root));
  fd = openat (dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0)
    return fail_errno (error, errno, "made", path);
  ok = write_content (self, lookup, fd, path, error);
  (void) close (fd);
  ok = ok && give_name (dir, temporary, name, path, error);
  if (!ok)
    (void) unlinkat (dir, temporary, 0);
  else
    (void) fsync (dir);
  return ok;
}

static gboolean
make_parents (SkRestore *self, const char *path, GError **error)
{
  g_autofree char *parent = sk_path_parent (path);
  SkStat stat;

  if (*parent == '\0')
    return TRUE;
  if (sk_root_stat (self->root, parent, &stat, NULL) && stat.kind == SK_KIND_DIR)
    return TRUE;
  return make_parents (self, parent, error) && sk_target_mkdir (self->root, parent, 0755, &stat, error);
}

static gboolean
restore_entry (SkRestore *self, Lookup *lookup, const char *path, GError **error)
{
  const SkEntry *entry = lookup->found->entry;
  const char *name;
  gboolean ok;
  int dir;
  SkStat stat;

  if (!make_parents (self, path, error))
    return FALSE;
  if (entry->kind == SK_KIND_DIR)
    return sk_target_mkdir (self->root, path, (entry->mode & 0777) | 0700, &stat, error);
  if (entry->kind != SK_KIND_FILE && entry->kind != SK_KIND_SYMLINK)
    return sk_fail (error, SK_ERROR_NOT_FOUND, "this version is a removal: there is nothing to restore");
  dir = sk_root_open_parent (self->root, path, &name, error);
  if (dir < 0)
    return FALSE;
  if (entry->kind == SK_KIND_SYMLINK)
    ok = symlinkat (entry->symlink, dir, name) == 0 || fail_errno (error, errno, "made", path);
  else
    ok = restore_file (self, lookup, dir, name, path, error);
  (void) close (dir);
  return ok;
}

gboolean
sk_restore_version (SkRestore *self, gint64 version, const char *path, guint64 *bytes, GError **error)
{
  Lookup lookup = { .restore = self, .version = version };
  gboolean ok;

  *bytes = 0;
  if (!sk_path_check (path, strlen (path), error))
    return FALSE;
  ok = sk_session_index (self->session, load_version, &lookup, error) && restore_entry (self, &lookup, path, error);
  if (ok && lookup.found->entry->kind == SK_KIND_FILE)
    *bytes = lookup.found->entry->size;
  g_clear_pointer (&lookup.found, sk_version_free);
  return ok;
}
