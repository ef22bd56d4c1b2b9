/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For the tests of what changes the tree: a prepared root, one batch of the trash, and a person who
 * does something between two steps. */
#pragma once
#include "local-support.h"
#include "sk-write-private.h"

#define BATCH "20260102T030405Z-00ff"

static const SkMeta plain_meta = { 0644, G_GINT64_CONSTANT (1700000000123456789), NULL };

static inline void
tree_prepare (Tree *tree)
{
  static const SkId folder = { { 7 } };
  g_autoptr(GError) error = NULL;

  g_assert_true (sk_root_prepare (tree->root, &folder, &error));
  g_assert_no_error (error);
}

static inline Tree *
tree_new_prepared (void)
{
  Tree *tree = tree_new ();

  sk_write_hooks = (SkWriteHooks) { 0 };
  tree_prepare (tree);
  return tree;
}

static inline SkStat
tree_stat (Tree *tree, const char *path)
{
  g_autoptr(GError) error = NULL;
  SkStat stat;

  g_assert_true (sk_root_stat (tree->root, path, &stat, &error));
  g_assert_no_error (error);
  return stat;
}

/* Also the mode. */
static inline void
assert_same (const SkStat *a, const SkStat *b)
{
  g_assert_true (sk_stat_same (a, b));
  g_assert_cmpuint (a->mode, ==, b->mode);
}

static inline char *
tree_read (Tree *tree, const char *path)
{
  g_autofree char *full = tree_path (tree, path);
  char *text = NULL;

  if (!g_file_get_contents (full, &text, NULL, NULL))
    return g_strdup ("(nothing)");
  return text;
}

#define assert_text(tree, path, text)                                                              \
  G_STMT_START                                                                                     \
  {                                                                                                \
    g_autofree char *text_ = tree_read (tree, path);                                               \
    g_assert_cmpstr (text_, ==, text);                                                             \
  }                                                                                                \
  G_STMT_END
#define assert_trash(tree, path, text) assert_text (tree, SK_OWN_TRASH "/" BATCH "/" path, text)
#define assert_code(error, code_, part)                                                            \
  G_STMT_START                                                                                     \
  {                                                                                                \
    g_assert_error (error, SK_ERROR, code_);                                                       \
    g_assert_nonnull (strstr ((error)->message, part));                                            \
    g_clear_error (&(error));                                                                      \
  }                                                                                                \
  G_STMT_END

/* Files in @path; CACHEDIR.TAG and directories do not count. */
static inline guint
tree_count (Tree *tree, const char *path)
{
  g_autofree char *full = tree_path (tree, path);
  g_autoptr(GDir) dir = g_dir_open (full, 0, NULL);
  guint count = 0;
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *child = g_build_filename (full, name, NULL);

      if (strcmp (name, "CACHEDIR.TAG") != 0 && !g_file_test (child, G_FILE_TEST_IS_DIR))
        count++;
    }
  return count;
}
#define assert_tmp_empty(tree) g_assert_cmpuint (tree_count (tree, SK_OWN_TMP), ==, 0)

/* To the user who be_ordinary() becomes. */
static inline void
tree_give_away (Tree *tree, const char *path)
{
  g_autofree char *full = tree_path (tree, path);

  if (getuid () == 0)
    g_assert_cmpint (lchown (full, 65534, 65534), ==, 0);
}

/* As an editor does it: a new file renamed over the old one. */
static inline void
person_saves (Tree *tree, const char *path, const char *text)
{
  g_autofree char *from = tree_path (tree, "person-saving");
  g_autofree char *to = tree_path (tree, path);

  tree_text (tree, "person-saving", text);
  g_assert_cmpint (rename (from, to), ==, 0);
}

static inline void
person_removes (Tree *tree, const char *path)
{
  g_autofree char *full = tree_path (tree, path);

  g_assert_cmpint (unlink (full), ==, 0);
}

static inline gboolean
write_small (Tree *tree, const char *path, const char *text, const SkStat *expected, SkStat *out,
             GError **error)
{
  return sk_target_write_small (tree->root, path, (const guint8 *) text, strlen (text), expected,
                                &plain_meta, TRUE, BATCH, out, error);
}

/* Puts a file there as the engine does. */
static inline SkStat
given (Tree *tree, const char *path, const char *text)
{
  g_autoptr(GError) error = NULL;
  SkStat stat;

  g_assert_true (write_small (tree, path, text, NULL, &stat, &error));
  g_assert_no_error (error);
  return stat;
}

static inline void
chunk_of (const SkKey *key, const void *data, gsize len, SkChunkRef *out)
{
  out->size = len;
  sk_chunk_id (key, data, len, &out->id);
}
