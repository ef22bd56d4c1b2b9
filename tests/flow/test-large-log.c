/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A device joins a vault whose largest log object is over 12 MiB and whose snapshot is over 64 MiB: links with long random targets make
 * logs large quickly. Long; started by tests/shows/01-11. */
#include "sk-pair.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define LINKS 24000u
#define PER_SEGMENT 6000u
#define TARGET 4000u

typedef struct
{
  guint from, to;
  const SkId *folder;
  GRand *rand;
} Batch;

static void
random_target (GRand *rand, char *out)
{
  static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";

  for (guint i = 0; i < TARGET; i++)
    out[i] = digits[g_rand_int_range (rand, 0, 64)];
  out[TARGET] = '\0';
}

/* Index thread, in a transaction: one segment of many links, as if they had been found on this disk. */
static gboolean
write_batch (SkSession *session, gpointer data, GError **error)
{
  Batch *batch = data;
  g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_record_free);
  guint64 seq;
  SkHash prev;

  if (!sk_log_next (session, &seq, &prev, error))
    return FALSE;
  for (guint i = batch->from; i < batch->to; i++)
    {
      g_autofree char *path = g_strdup_printf ("d%u/link%u", i % 100, i);
      g_autoptr(SkEntry) found = sk_entry_new (batch->folder, path, SK_KIND_SYMLINK);
      SkLocalChange change = { .folder = sk_index_folder_row (session->index, batch->folder), .path = path, .kind = SK_KIND_SYMLINK, .found = found,
                               .wall = 1700000000 };
      SkTreeOutcome outcome;

      found->symlink = g_malloc (TARGET + 1);
      random_target (batch->rand, found->symlink);
      sk_entry_seal_content (found);
      change.disk.mode = 0777;
      if (!sk_tree_local (session->tree, &change, &session->who.writer, seq, records, &outcome, error))
        return FALSE;
      g_assert_cmpint (outcome, ==, SK_TREE_WRITTEN);
    }
  return sk_log_append (session, records, error);
}

static guint64 largest, total;

static void
measure (const char *path)
{
  g_autoptr(GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *below = g_build_filename (path, name, NULL);
      GStatBuf st;

      if (g_file_test (below, G_FILE_TEST_IS_DIR))
        measure (below);
      else if (g_stat (below, &st) == 0)
        {
          largest = MAX (largest, (guint64) st.st_size);
          total += (guint64) st.st_size;
        }
    }
}

/* Device @i joins while @hidden, a directory of the storage, is at @away, so that it reads the other one. Returns how many links it has then. */
static guint
links_without (SkFleet *fleet, guint i, const char *hidden, const char *away)
{
  g_autofree char *folder = sk_fleet_path (fleet, i, "f");
  g_autoptr(GVariant) first = NULL, attached = NULL, second = NULL;
  guint n = 0;

  g_assert_cmpint (g_rename (hidden, away), ==, 0);
  first = sk_fleet_sync (fleet, i);
  attached = sk_fleet_run (fleet, i, "folder.attach", "{'name': <'f'>, 'path': <%^ay>}", folder);
  second = sk_fleet_sync (fleet, i);
  for (guint k = 0; k < LINKS; k++)
    {
      g_autofree char *path = g_strdup_printf ("%s/d%u/link%u", folder, k % 100, k);
      g_autofree char *target = g_file_read_link (path, NULL);

      n += target != NULL && strlen (target) == TARGET;
    }
  return n;
}

static void
test_join (void)
{
  g_autoptr(SkFleet) fleet = sk_fleet_new (3, FALSE);
  g_autofree char *a = sk_fleet_path (fleet, 0, "f");
  g_autoptr(GRand) rand = g_rand_new_with_seed (5);
  g_autoptr(GDir) dir = g_dir_open (fleet->storage, 0, NULL);
  g_autofree char *vault = g_build_filename (fleet->storage, g_dir_read_name (dir), NULL);
  g_autofree char *log = g_build_filename (vault, "log", NULL), *snap = g_build_filename (vault, "snap", NULL);
  g_autofree char *parts = g_build_filename (snap, "parts", NULL), *away = g_build_filename (fleet->base, "away", NULL);
  g_autoptr(GVariant) folder = sk_fleet_run (fleet, 0, "folder.add", "{'name': <'f'>, 'path': <%^ay>}", a);
  g_autoptr(GError) error = NULL;
  const char *hex;
  guint by_snapshot, by_log;
  SkUpResult result;
  const gint64 none = -1;
  SkId id;

  g_variant_lookup (folder, "folder", "&s", &hex);
  g_assert_true (sk_id_parse (hex, &id, NULL));
  for (guint at = 0; at < LINKS; at += PER_SEGMENT)
    {
      Batch batch = { .from = at, .to = at + PER_SEGMENT, .folder = &id, .rand = rand };

      sk_session_transact (fleet->devices[0], write_batch, &batch, &error);
      g_assert_no_error (error);
    }
  /* Published, and a snapshot with it; the folder itself is not scanned: what it lacks would be a removal. */
  g_assert_true (sk_down_pull (fleet->devices[0]->down, NULL, &error));
  g_assert_true (sk_up_sync (fleet->devices[0]->up, &none, 1, &result, NULL, &error));
  g_assert_true (result.ok);
  sk_up_result_clear (&result);
  measure (log);
  g_print ("# largest log object: %.1f MiB\n", (double) largest / (1 << 20));
  g_assert_cmpuint (largest, >, 12u << 20);
  largest = total = 0;
  measure (parts);
  g_print ("# snapshot: %.1f MiB\n", (double) total / (1 << 20));
  g_assert_cmpuint (total, >, 64u << 20);
  by_snapshot = links_without (fleet, 1, log, away);
  g_print ("# links on the device that joined by the snapshot: %u of %u\n", by_snapshot, LINKS);
  g_assert_cmpint (g_rename (away, log), ==, 0);
  by_log = links_without (fleet, 2, snap, away);
  g_print ("# links on the device that joined by the log: %u of %u\n", by_log, LINKS);
  g_assert_cmpuint (by_snapshot, ==, LINKS);
  g_assert_cmpuint (by_log, ==, LINKS);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_setenv ("SKERRY_TEST_SNAPSHOT_TAIL", "1", TRUE);
  g_test_add_func ("/large-log/join", test_join);
  return g_test_run ();
}
