/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes and versions in memory never say anything else than the table does: random changes, seen through the memory, through lists that look at
 * the table, and through a database that was opened anew. */
#include "index-support.h"

#define PATHS 12u

static const char *const paths[PATHS] = { "a", "b", "d/a", "d/b", "d/e/x", "d/e/y", "f/1", "f/2", "f/3", "g", "g/h", "d/e" };

typedef struct
{
  Fixture f;
  GRand *random;
  guint64 counter;
  GArray *versions;              /* gint64 rows that were made, some are gone again */
} Run;

static void
dump_vector (GString *out, const SkVector *vector)
{
  g_autoptr(GBytes) bytes = vector != NULL ? sk_vector_encode (vector) : NULL;

  for (gsize i = 0; bytes != NULL && i < g_bytes_get_size (bytes); i++)
    g_string_append_printf (out, "%02x", ((const guint8 *) g_bytes_get_data (bytes, NULL))[i]);
}

static void
dump_node (GString *out, const SkNode *n)
{
  g_string_append_printf (out, "node %" G_GINT64_FORMAT " in %" G_GINT64_FORMAT "/%" G_GINT64_FORMAT " %s generation %u live %" G_GINT64_FORMAT
                          " dirty %d hold %u base %u %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %o %" G_GINT64_FORMAT " %" G_GUINT64_FORMAT " %d ",
                          n->row, n->folder, n->parent, n->name, n->generation, n->live_children, n->dirty, n->hold, n->base.kind, n->base.version,
                          n->base.content, n->base.mode, n->base.mtime, n->base.ino, n->base.unproven);
  dump_vector (out, n->base.vector);
  g_string_append_printf (out, " target %u %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GUINT64_FORMAT " %o %" G_GINT64_FORMAT, n->target.kind,
                          n->target.version, n->target.content, n->target.size, n->target.mode, n->target.mtime);
  for (int i = 0; i < 2; i++)
    g_string_append_printf (out, " stamp %d %" G_GUINT64_FORMAT " %o %d", n->mode_stamp[i].set, n->mode_stamp[i].lamport, n->mode_stamp[i].mode,
                            n->mode_stamp[i].writer.bytes[15]);
  g_string_append_c (out, '\n');
}

static void
dump_version (GString *out, const SkVersion *v)
{
  g_string_append_printf (out, "  version %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " %s kind %u flags %u lamport %" G_GUINT64_FORMAT " meta %"
                          G_GUINT64_FORMAT " %o content %" G_GINT64_FORMAT " size %" G_GUINT64_FORMAT " maximal %d virtual %d %" G_GINT64_FORMAT
                          " log %d %" G_GUINT64_FORMAT " ", v->row, v->node, v->entry->path, v->entry->kind, v->entry->flags, v->entry->lamport,
                          v->entry->meta_lamport, v->entry->mode, v->content, v->entry->size, v->maximal, v->is_virtual, v->origin,
                          v->log_writer.bytes[15], v->log_seq);
  dump_vector (out, v->entry->vector);
  g_string_append_c (out, '\n');
}

static void
dump_versions_of (GString *out, Run *run, gint64 node)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) maximal = sk_index_versions (run->f.index, node, TRUE, &error);
  g_autoptr(GPtrArray) virtuals = NULL;

  g_assert_no_error (error);
  virtuals = sk_index_virtuals_of (run->f.index, node, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < maximal->len; i++)
    {
      const SkVersion *v = maximal->pdata[i];

      dump_version (out, v);
      g_string_append_printf (out, "  found %" G_GINT64_FORMAT " %" G_GINT64_FORMAT "\n",
                              sk_index_version_find (run->f.index, node, v->entry->vector, &v->entry->content, &error),
                              sk_index_version_with_content (run->f.index, node, &v->entry->content, &error));
      g_assert_no_error (error);
    }
  for (guint i = 0; i < virtuals->len; i++)
    dump_version (out, virtuals->pdata[i]);
}

static char *
dump (Run *run)
{
  GString *out = g_string_new (NULL);
  g_autoptr(GError) error = NULL;

  for (guint i = 0; i < PATHS; i++)
    {
      g_autoptr(SkNode) node = sk_index_node (run->f.index, run->f.folder, paths[i], &error);

      g_assert_no_error (error);
      if (node == NULL)
        continue;
      dump_node (out, node);
      dump_versions_of (out, run, node->row);
    }
  for (guint i = 0; i < run->versions->len; i++)
    {
      g_autoptr(SkVersion) version = sk_index_version (run->f.index, g_array_index (run->versions, gint64, i), &error);

      g_assert_no_error (error);
      if (version != NULL)
        dump_version (out, version);
    }
  return g_string_free (out, FALSE);
}

/* Lists look at the table, by row looks at the memory. */
static void
check_lists (Run *run, gint64 parent)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) children = sk_index_children (run->f.index, run->f.folder, parent, FALSE, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < children->len; i++)
    {
      SkNode *listed = children->pdata[i];
      g_autoptr(SkNode) node = get_node (&run->f, listed->row);
      g_autoptr(GString) a = g_string_new (NULL), b = g_string_new (NULL);

      dump_node (a, listed);
      dump_node (b, node);
      g_assert_cmpstr (a->str, ==, b->str);
      check_lists (run, listed->row);
    }
}

static void
change_versions (Run *run, gint64 node, const char *path, guint what)
{
  g_autoptr(GError) error = NULL;
  gint64 row = run->versions->len > 0
                 ? g_array_index (run->versions, gint64, g_rand_int_range (run->random, 0, (gint32) run->versions->len)) : 0;
  g_autoptr(SkVersion) known = row != 0 ? sk_index_version (run->f.index, row, &error) : NULL;
  SkId log = make_id (55);

  g_assert_no_error (error);
  if (what == 0 || known == NULL)
    {
      SkKind kind = (SkKind) g_rand_int_range (run->random, SK_KIND_FILE, SK_KIND_TOMBSTONE + 1);
      g_autoptr(SkEntry) entry = make_entry (&run->f, path, kind, ++run->counter, g_rand_int_range (run->random, 0, 4), kind == SK_KIND_FILE);
      gboolean is_virtual = known != NULL && g_rand_boolean (run->random);

      row = sk_index_version_add (run->f.index, node, entry, is_virtual, is_virtual ? known->row : 0, is_virtual ? NULL : &log, is_virtual ? 0 : 3, &error);
      g_array_append_val (run->versions, row);
    }
  else if (what == 1)
    sk_index_version_set_maximal (run->f.index, row, g_rand_boolean (run->random), &error);
  else if (what == 2 && known->is_virtual)
    sk_index_version_publish (run->f.index, row, &log, 9, &error);
  else if (what == 3)
    sk_index_version_set_meta (run->f.index, row, ++run->counter, &run->f.writer, 0600, 5, &error);
  else
    sk_index_version_remove (run->f.index, row, &error);
  g_assert_no_error (error);
}

static void
change (Run *run)
{
  const char *path = paths[g_rand_int_range (run->random, 0, PATHS)];
  gint64 node = ensure_node (&run->f, path);
  guint what = (guint) g_rand_int_range (run->random, 0, 10);
  g_autoptr(SkVector) vector = sk_vector_new (&(SkVectorItem) { run->f.writer, ++run->counter }, 1);
  g_autoptr(GError) error = NULL;
  SkKind kind = (SkKind) g_rand_int_range (run->random, SK_KIND_NONE, SK_KIND_SYMLINK + 1);

  if (what < 5)
    change_versions (run, node, path, what);
  else if (what == 5)
    set_base (&run->f, node, &(SkBase) { .kind = kind, .version = 3, .vector = g_rand_boolean (run->random) ? vector : NULL, .content = 2, .mode = 0640,
                                         .mtime = 7, .size = 1000, .ino = run->counter, .unproven = g_rand_boolean (run->random) });
  else if (what == 6)
    set_target (&run->f, node, &(SkTarget) { .kind = kind, .version = 3, .content = 2, .size = 1000, .mode = 0640, .mtime = 7 });
  else if (what == 7)
    sk_index_set_hold (run->f.index, node, (guint32) g_rand_int_range (run->random, 0, 3), &error);
  else if (what == 8)
    sk_index_set_mode_stamp (run->f.index, node, g_rand_int_range (run->random, 0, 2), &(SkModeStamp) { run->counter, run->f.writer, 0750, TRUE }, &error);
  else
    sk_index_add_live_children (run->f.index, node, 1, &error);
  g_assert_no_error (error);
}

static void
check_counts (Run *run)
{
  g_autoptr(GError) error = NULL;
  SkFolderCounts kept, walked;

  g_assert_true (sk_index_folder_counts (run->f.index, run->f.folder, &kept, &error));
  fixture_reopen (&run->f);
  g_assert_true (sk_index_folder_counts (run->f.index, run->f.folder, &walked, &error));
  g_assert_no_error (error);
  g_assert_cmpmem (&kept, sizeof kept, &walked, sizeof walked);
}

static void
test_same_as_table (void)
{
  guint32 seed = g_test_rand_int ();

  g_test_message ("seed %u", seed);
  for (guint n = 0; n < 6; n++)
    {
      Run run = { .random = g_rand_new_with_seed (seed + n), .versions = g_array_new (FALSE, FALSE, sizeof (gint64)) };

      fixture_open (&run.f);
      for (guint round = 0; round < 25; round++)
        {
          g_autofree char *before = dump (&run), *in_memory = NULL, *in_table = NULL;
          gboolean keep = g_rand_int_range (run.random, 0, 4) > 0;
          guint n_versions = run.versions->len;

          begin (run.f.index);
          for (guint i = 0; i < 15; i++)
            change (&run);
          if (g_rand_boolean (run.random))
            check_lists (&run, 0);
          if (keep)
            commit (run.f.index);
          else
            {
              sk_index_rollback (run.f.index);
              g_array_set_size (run.versions, n_versions);
            }
          in_memory = dump (&run);
          check_counts (&run);
          in_table = dump (&run);
          g_assert_cmpstr (in_memory, ==, in_table);
          if (!keep)
            g_assert_cmpstr (in_memory, ==, before);
        }
      g_array_unref (run.versions);
      g_rand_free (run.random);
      fixture_close (&run.f);
    }
}

/* More nodes in one transaction than are kept in memory. */
static void
test_more_than_fit (void)
{
  Fixture f = { 0 };

  fixture_open (&f);
  begin (f.index);
  for (guint i = 0; i < 40000; i++)
    {
      g_autofree char *path = g_strdup_printf ("d%u/%u", i / 500, i);

      set_target (&f, ensure_node (&f, path), &(SkTarget) { .kind = SK_KIND_DIR, .mode = i & 0777 });
    }
  commit (f.index);
  fixture_reopen (&f);
  for (guint i = 0; i < 40000; i += 97)
    {
      g_autofree char *path = g_strdup_printf ("d%u/%u", i / 500, i);
      g_autoptr(SkNode) node = sk_index_node (f.index, f.folder, path, NULL);

      g_assert_nonnull (node);
      g_assert_cmpuint (node->target.mode, ==, i & 0777);
    }
  fixture_close (&f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cache/same-as-table", test_same_as_table);
  g_test_add_func ("/cache/more-than-fit", test_more_than_fit);
  return g_test_run ();
}
