/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report for a person who helps. It tells numbers and states and never what somebody has: no names of files, folders, storages, devices or
 * hosts, no paths, no addresses, no ids of content, no keys. So sentences of errors, which name things, stand in it as their kinds only. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "config.h"
#include "sk-live.h"
#include "sk-command.h"
#include "sk-issues.h"

typedef struct
{
  GString *text;
  SkConfig *config;
} Diagnosis;

static void
add_kinds (GString *text, const char *title, GHashTable *kinds)
{
  g_autoptr(GList) keys = g_list_sort (g_hash_table_get_keys (kinds), (GCompareFunc) strcmp);

  g_string_append_printf (text, "\n%s\n", title);
  for (GList *l = keys; l != NULL; l = l->next)
    g_string_append_printf (text, "  %s: %u\n", (const char *) l->data, GPOINTER_TO_UINT (g_hash_table_lookup (kinds, l->data)));
  if (keys == NULL)
    g_string_append (text, "  none\n");
}

static void
count_kind (GHashTable *kinds, const char *kind)
{
  g_hash_table_replace (kinds, g_strdup (kind), GUINT_TO_POINTER (GPOINTER_TO_UINT (g_hash_table_lookup (kinds, kind)) + 1));
}

/* Index thread. */
static gboolean
add_lists (SkSession *session, GString *text, GError **error)
{
  g_autoptr(GPtrArray) issues = sk_issues_list (session, error);
  g_autoptr(GPtrArray) activity = issues != NULL ? sk_index_activity (session->index, 1000, error) : NULL;
  g_autoptr(GHashTable) open = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr(GHashTable) happened = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  if (activity == NULL)
    return FALSE;
  for (guint i = 0; i < issues->len; i++)
    count_kind (open, ((SkIssueRow *) issues->pdata[i])->kind);
  for (guint i = 0; i < activity->len; i++)
    count_kind (happened, ((SkActivityRow *) activity->pdata[i])->kind);
  add_kinds (text, "Open issues", open);
  add_kinds (text, "What happened", happened);
  return TRUE;
}

static void
add_root (GString *text, const SkFlowFolder *folder)
{
  const SkRootAbilities *can;

  if (folder == NULL || folder->root == NULL)
    {
      g_string_append (text, folder == NULL ? "    not attached here\n" : "    attached, not available\n");
      return;
    }
  can = sk_root_abilities (folder->root);
  g_string_append_printf (text, "    disk: exchange %d, noreplace %d, reflink %d, xattr %d, symlinks %d, modes %d, birth time %d, folds case %d, "
                          "normalises %d, network %d; free %" G_GINT64_FORMAT "\n", can->rename_exchange, can->rename_noreplace, can->reflink, can->xattr,
                          can->symlinks, can->modes, can->birth_time, can->case_folding, can->normalising, can->network, sk_root_space (folder->root));
}

/* Index thread. */
static gboolean
add_folders (SkSession *session, Diagnosis *diagnosis, GError **error)
{
  static const char *const modes[] = { "both", "send", "receive" };
  g_autoptr(GPtrArray) folders = sk_index_folders (session->index);
  guint n = 0;

  g_string_append (diagnosis->text, "\nFolders\n");
  for (guint i = 0; i < folders->len; i++)
    {
      const SkFolderRow *row = folders->pdata[i];
      SkFolderCounts counts;

      if (row->deleted)
        continue;
      if (!sk_index_folder_counts (session->index, row->row, &counts, error))
        return FALSE;
      g_string_append_printf (diagnosis->text, "  folder %u: mode %s, first contact %d, files %" G_GINT64_FORMAT ", dirs %" G_GINT64_FORMAT ", links %"
                              G_GINT64_FORMAT ", tombstones %" G_GINT64_FORMAT ", bytes %" G_GUINT64_FORMAT ", dirty %" G_GINT64_FORMAT "\n", ++n,
                              modes[row->mode], row->first_contact, counts.files, counts.dirs, counts.links, counts.tombstones, counts.bytes,
                              counts.dirty_nodes);
      add_root (diagnosis->text, sk_config_folder (diagnosis->config, row->row));
    }
  return TRUE;
}

/* Index thread. */
static gboolean
add_packs (SkSession *session, Diagnosis *diagnosis, GError **error)
{
  g_string_append (diagnosis->text, "\nStorages\n");
  for (guint i = 0; i < diagnosis->config->storages->len; i++)
    {
      const SkFlowStorage *storage = diagnosis->config->storages->pdata[i];
      g_autoptr(GArray) packs = sk_index_packs (session->index, storage->row, error);
      g_autofree char *scheme = g_uri_parse_scheme (sk_store_uri (storage->store));
      SkStoreCounters c;
      guint64 bytes = 0;

      if (packs == NULL)
        return FALSE;
      for (guint k = 0; k < packs->len; k++)
        bytes += g_array_index (packs, SkPackInfo, k).size;
      sk_store_counters (storage->store, &c);
      g_string_append_printf (diagnosis->text, "  storage %u: %s, level %d, packs %u, bytes %" G_GUINT64_FORMAT "; puts %" G_GUINT64_FORMAT ", gets %"
                              G_GUINT64_FORMAT ", lists %" G_GUINT64_FORMAT ", removes %" G_GUINT64_FORMAT ", errors %" G_GUINT64_FORMAT ", up %"
                              G_GUINT64_FORMAT ", down %" G_GUINT64_FORMAT "\n", i + 1, scheme != NULL ? scheme : "path", storage->level, packs->len, bytes,
                              c.puts, c.gets, c.lists, c.removes, c.errors, c.bytes_up, c.bytes_down);
    }
  return TRUE;
}

/* Index thread. */
static gboolean
diagnose (SkSession *session, gpointer data, GError **error)
{
  Diagnosis *diagnosis = data;
  g_autoptr(GPtrArray) problems = sk_index_check (session->index, NULL, NULL, error);
  g_autoptr(GArray) positions = problems != NULL ? sk_index_positions (session->index, error) : NULL;

  if (positions == NULL)
    return FALSE;
  g_string_append_printf (diagnosis->text, "\nDatabase\n  problems %u, transactions %" G_GUINT64_FORMAT ", logs %u, lamport %" G_GUINT64_FORMAT "\n",
                          problems->len, sk_index_transactions (session->index), positions->len, sk_tree_lamport (session->tree));
  return add_folders (session, diagnosis, error) && add_packs (session, diagnosis, error) && add_lists (session, diagnosis->text, error);
}

static void
add_program (SkSession *session, const SkConfig *config, GString *text)
{
  struct utsname system = { 0 };
  GPtrArray *devices = sk_members_devices (config->members);
  SkLiveFolder queue;
  SkCounters c;
  guint n_devices = 0;

  (void) uname (&system);
  sk_live_folder (session->live, 0, sk_clock_now (session->clock), &queue);
  for (guint i = 0; i < devices->len; i++)
    n_devices += !((SkDevice *) devices->pdata[i])->revoked;
  g_mutex_lock (&session->lock);
  c = session->counters;
  g_mutex_unlock (&session->lock);
  g_string_append_printf (text, "Skerry %s\nGLib %u.%u.%u; %s %s %s\nkeys: %s; devices %u, storages %u, folders here %u; watching %d, paused %d\n", SK_VERSION,
                          glib_major_version, glib_minor_version, glib_micro_version, system.sysname, system.release, system.machine,
                          sk_keep_name (session->keep), n_devices, config->storages->len, config->folders->len, session->watch,
                          g_atomic_int_get (&session->paused) != 0);
  g_string_append_printf (text, "\nSince the start\n  up: files %" G_GUINT64_FORMAT ", bytes %" G_GUINT64_FORMAT ", chunks new %" G_GUINT64_FORMAT ", known %"
                          G_GUINT64_FORMAT ", packs %" G_GUINT64_FORMAT ", stored bytes %" G_GUINT64_FORMAT "; looked at %"
                          G_GUINT64_FORMAT ", waiting %u\n  down: files %" G_GUINT64_FORMAT
                          ", bytes %" G_GUINT64_FORMAT ", chunks local %" G_GUINT64_FORMAT ", from storages %" G_GUINT64_FORMAT ", stored bytes %"
                          G_GUINT64_FORMAT "\n", c.files_up, c.bytes_up, c.chunks_new, c.chunks_known, c.packs_up, c.wire_up, c.looked,
                          (guint) queue.queued, c.files_down, c.bytes_down, c.chunks_local, c.chunks_storage, c.wire_down);
}

static gboolean
fail_file (GError **error, const char *path, int number)
{
  g_autofree char *shown = sk_path_display (path);

  if (number == EEXIST)
    return sk_fail (error, SK_ERROR_EXISTS, "“%s” is there already; nothing is overwritten", shown);
  return sk_fail (error, number == ENOSPC ? SK_ERROR_NO_SPACE : number == EACCES || number == EPERM || number == EROFS ? SK_ERROR_PERMISSION : SK_ERROR_IO,
                  "“%s” cannot be written: %s", shown, g_strerror (number));
}

static gboolean
write_new (const char *path, const GString *text, GError **error)
{
  int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  gsize done = 0;
  int number = 0;

  if (fd < 0)
    return fail_file (error, path, errno);
  while (done < text->len && number == 0)
    {
      gssize n = write (fd, text->str + done, text->len - done);

      if (n >= 0)
        done += (gsize) n;
      else if (errno != EINTR)
        number = errno;
    }
  if (number == 0 && fsync (fd) != 0)
    number = errno;
  (void) close (fd);
  if (number == 0)
    return TRUE;
  (void) unlink (path);
  return fail_file (error, path, number);
}

GVariant *
sk_cmd_diagnostics (SkCommand *self, GError **error)
{
  const char *path = sk_args_bytes (self->args, "file", "");
  g_autoptr(GString) text = g_string_new (NULL);
  g_autoptr(SkConfig) config = sk_session_config (self->session);
  Diagnosis diagnosis = { .text = text, .config = config };
  GVariantBuilder builder;

  if (!g_path_is_absolute (path))
    {
      sk_fail (error, SK_ERROR_USAGE, "the file needs an absolute path");
      return NULL;
    }
  add_program (self->session, config, text);
  if (!sk_session_index (self->session, diagnose, &diagnosis, error) || !write_new (path, text, error))
    return NULL;
  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&builder, "{sv}", "file", g_variant_new_bytestring (path));
  g_variant_builder_add (&builder, "{sv}", "bytes", g_variant_new_uint64 (text->len));
  return g_variant_builder_end (&builder);
}
