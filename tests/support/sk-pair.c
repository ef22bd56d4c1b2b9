/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-pair.h"

#include <ftw.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int
remove_one (const char *path, const struct stat *st, int type, struct FTW *ftw)
{
  if (type == FTW_DP || type == FTW_D || type == FTW_DNR)
    chmod (path, 0700);
  return remove (path);
}

static void
remove_tree (const char *path)
{

  nftw (path, remove_one, 32, FTW_DEPTH | FTW_PHYS);
}

char *
sk_fleet_home (SkFleet *self, guint i)
{
  return g_strdup_printf ("%s/%u/home", self->base, i);
}

char *
sk_fleet_path (SkFleet *self, guint i, const char *name)
{
  char *path = g_strdup_printf ("%s/%u/%s", self->base, i, name);

  g_assert_cmpint (g_mkdir_with_parents (path, 0755), ==, 0);
  return path;
}

void
sk_fleet_open (SkFleet *self, guint i)
{
  g_autofree char *home = sk_fleet_home (self, i);
  SkSessionOptions options = { .home = home, .clock = self->clock, .watch = self->watch };
  g_autoptr(GError) error = NULL;

  self->devices[i] = sk_session_open (&options, &error);
  g_assert_no_error (error);
}

void
sk_fleet_close (SkFleet *self, guint i)
{
  g_clear_pointer (&self->devices[i], sk_session_close);
}

void
sk_fleet_restart (SkFleet *self, guint i)
{
  sk_fleet_close (self, i);
  sk_fleet_open (self, i);
}

GVariant *
sk_fleet_run (SkFleet *self, guint i, const char *command, const char *format, ...)
{
  g_autoptr(GError) error = NULL;
  GVariant *args = NULL, *reply;
  va_list list;

  if (format != NULL)
    {
      va_start (list, format);
      args = g_variant_new_parsed_va (format, &list);
      va_end (list);
    }
  reply = sk_session_command (self->devices[i], command, args, NULL, NULL, NULL, &error);
  if (error != NULL)
    g_error ("%s on device %u: %s", command, i, error->message);
  return reply;
}

typedef struct
{
  GPtrArray *members, *storages;
  const char *uri;
} Seed;

static gboolean
read_seed (SkSession *session, gpointer data, GError **error)
{
  Seed *seed = data;

  seed->members = sk_index_members (session->index, error);
  seed->storages = sk_index_storages (session->index);
  return seed->members != NULL;
}

static gboolean
write_seed (SkSession *session, gpointer data, GError **error)
{
  Seed *seed = data;

  for (guint i = 0; i < seed->members->len; i++)
    if (!sk_index_member_add (session->index, seed->members->pdata[i], error))
      return FALSE;
  for (guint i = 0; i < seed->storages->len; i++)
    {
      SkStorageRow *row = seed->storages->pdata[i];
      SkStorageDef def = { .id = row->id, .name = row->name, .uri = row->uri, .lamport = row->lamport, .writer = row->writer };
      gboolean changed;

      if (!sk_index_storage_define (session->index, &def, &changed, error)
          || !sk_index_storage_attach (session->index, sk_index_storage_row (session->index, &row->id), seed->uri, error))
        return FALSE;
    }
  return TRUE;
}

/* Device @i gets the keys and records of device 0. */
static void
enrol (SkFleet *self, guint i)
{
  SkSession *first = self->devices[0];
  g_autofree char *home_path = sk_fleet_home (self, i);
  g_autoptr(SkIdentity) identity = sk_identity_new_random ();
  g_autoptr(SkConfig) config = sk_session_config (first);
  g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_record_free);
  SkHomeConfig who = { .vault = first->who.vault, .recovery_sign = first->who.recovery_sign, .recovery_box = first->who.recovery_box };
  SkCommand command = { .session = first };
  Seed seed = { .uri = self->storage };
  g_autoptr(GError) error = NULL;
  SkHome *home;

  sk_device_id_random (&who.device);
  sk_id_new_writer (&who.device, &who.writer);
  who.vault_name = g_strdup (first->who.vault_name);
  who.device_name = g_strdup_printf ("device-%u", i);
  g_ptr_array_add (records, sk_record_new_member (sk_member_build_add (&who.vault, &who.device, who.device_name, sk_identity_sign_key (identity),
                                                                       sk_identity_box_key (identity), &first->who.device, first->identity,
                                                                       sk_session_wall (first))));
  sk_command_append (&command, records, NULL, NULL, &error);
  g_assert_no_error (error);
  sk_command_reload (&command, &error);
  g_assert_no_error (error);
  home = sk_home_open (home_path, &error);
  g_assert_no_error (error);
  sk_home_save_secrets (home, SK_KEEP_PLAIN, NULL, identity, config->keys, &error);
  g_assert_no_error (error);
  sk_home_save_config (home, &who, &error);
  g_assert_no_error (error);
  sk_home_close (home);
  sk_home_config_clear (&who);
  sk_fleet_open (self, i);
  sk_session_index (first, read_seed, &seed, &error);
  g_assert_no_error (error);
  sk_session_transact (self->devices[i], write_seed, &seed, &error);
  g_assert_no_error (error);
  command.session = self->devices[i];
  sk_command_reload (&command, &error);
  g_assert_no_error (error);
  g_ptr_array_unref (seed.members);
  g_ptr_array_unref (seed.storages);
}

SkFleet *
sk_fleet_new (guint n, gboolean watch)
{
  SkFleet *self = g_new0 (SkFleet, 1);

  g_assert (n <= G_N_ELEMENTS (self->devices));
  self->base = g_dir_make_tmp ("skerry-XXXXXX", NULL);
  self->storage = g_strdup_printf ("%s/storage", self->base);
  self->watch = watch;
  self->n = n;
  g_assert_cmpint (g_mkdir (self->storage, 0755), ==, 0);
  for (guint i = 0; i < n; i++)
    g_free (sk_fleet_path (self, i, ""));
  sk_fleet_open (self, 0);
  g_variant_unref (sk_fleet_run (self, 0, "vault.create", "{'name': <'test'>, 'device-name': <'device-0'>, 'no-passphrase': <true>}"));
  g_variant_unref (sk_fleet_run (self, 0, "storage.add", "{'name': <'main'>, 'uri': <%s>}", self->storage));
  for (guint i = 1; i < n; i++)
    enrol (self, i);
  return self;
}

void
sk_fleet_free (SkFleet *self)
{
  for (guint i = 0; i < self->n; i++)
    sk_fleet_close (self, i);
  if (g_getenv ("SK_TEST_KEEP") == NULL)
    remove_tree (self->base);
  else
    g_test_message ("kept %s", self->base);
  g_free (self->base);
  g_free (self->storage);
  g_free (self);
}

GVariant *
sk_fleet_sync (SkFleet *self, guint i)
{
  return sk_fleet_run (self, i, "sync", NULL);
}

void
sk_fleet_share (SkFleet *self, const char *name)
{
  g_autofree char *first = sk_fleet_path (self, 0, name);

  g_variant_unref (sk_fleet_run (self, 0, "folder.add", "{'name': <%s>, 'path': <%^ay>}", name, first));
  g_variant_unref (sk_fleet_sync (self, 0));
  for (guint i = 1; i < self->n; i++)
    {
      g_autofree char *path = sk_fleet_path (self, i, name);

      g_variant_unref (sk_fleet_sync (self, i));
      g_variant_unref (sk_fleet_run (self, i, "folder.attach", "{'name': <%s>, 'path': <%^ay>}", name, path));
      g_variant_unref (sk_fleet_sync (self, i));
    }
}

static gboolean
moved_something (GVariant *report)
{
  g_autoptr(GVariant) sent = g_variant_lookup_value (report, "sent", G_VARIANT_TYPE_VARDICT);
  guint64 files = 0, sent_files = 0;

  g_variant_lookup (report, "files", "t", &files);
  g_variant_lookup (sent, "files", "t", &sent_files);
  return files + sent_files > 0;
}

void
sk_fleet_settle (SkFleet *self, guint rounds)
{
  guint quiet = 0;

  for (guint round = 0; round < rounds && quiet < 2; round++)
    {
      gboolean moved = FALSE;

      for (guint i = 0; i < self->n; i++)
        {
          g_autoptr(GVariant) report = sk_fleet_sync (self, i);

          moved |= moved_something (report);
        }
      quiet = moved ? 0 : quiet + 1;
    }
  g_assert_cmpuint (quiet, ==, 2);
}

static GPtrArray *listing;
static gsize listing_prefix;

static int
list_one (const char *path, const struct stat *st, int type, struct FTW *ftw)
{
  const char *relative = path + listing_prefix;
  g_autofree char *content = NULL;
  g_autofree char *shown = NULL;

  if (*relative == '/')
    relative++;
  if (*relative == '\0' || g_str_has_prefix (relative, ".skerry/") || g_str_equal (relative, ".skerry"))
    return 0;
  shown = sk_path_display (relative);
  if (S_ISLNK (st->st_mode))
    content = g_file_read_link (path, NULL);
  else if (S_ISREG (st->st_mode))
    {
      g_autofree char *data = NULL;
      gsize len = 0;

      if (g_file_get_contents (path, &data, &len, NULL))
        content = g_compute_checksum_for_data (G_CHECKSUM_SHA256, (const guchar *) data, len);
      else
        content = g_strdup ("unreadable");
    }
  g_ptr_array_add (listing, g_strdup_printf ("%s %c %04o %" G_GINT64_FORMAT ".%09ld %s", shown, S_ISDIR (st->st_mode) ? 'd' : S_ISLNK (st->st_mode) ? 'l' : 'f',
                                             S_ISLNK (st->st_mode) ? 0 : st->st_mode & 07777,
                                             S_ISREG (st->st_mode) ? (gint64) st->st_mtim.tv_sec : 0,
                                             S_ISREG (st->st_mode) ? st->st_mtim.tv_nsec : 0L, content != NULL ? content : ""));
  return 0;
}

static int
by_text (gconstpointer a, gconstpointer b)
{
  return strcmp (*(char *const *) a, *(char *const *) b);
}

char *
sk_tree_listing (const char *path)
{
  char *text;

  listing = g_ptr_array_new_with_free_func (g_free);
  listing_prefix = strlen (path);
  nftw (path, list_one, 32, FTW_PHYS);
  g_ptr_array_sort (listing, by_text);
  g_ptr_array_add (listing, NULL);
  text = g_strjoinv ("\n", (char **) listing->pdata);
  g_ptr_array_unref (listing);
  return text;
}

void
sk_put_file (const char *dir, const char *path, const char *data, gssize len)
{
  g_autofree char *full = g_build_filename (dir, path, NULL);
  g_autofree char *parent = g_path_get_dirname (full);
  FILE *file;
  gsize size = len < 0 ? strlen (data) : (gsize) len;

  g_assert_cmpint (g_mkdir_with_parents (parent, 0755), ==, 0);
  file = fopen (full, "w");
  g_assert_nonnull (file);
  g_assert_cmpuint (fwrite (data, 1, size, file), ==, size);
  fclose (file);
}

char *
sk_get_file (const char *dir, const char *path)
{
  g_autofree char *full = g_build_filename (dir, path, NULL);
  char *data = NULL;

  return g_file_get_contents (full, &data, NULL, NULL) ? data : NULL;
}
