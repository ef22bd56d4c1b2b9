/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For the tests of the local layer: a temporary tree with a root, files in it, and the rights of an ordinary user. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sk-root.h"

typedef struct { char *top; SkRoot *root; } Tree;

/* rm walks trees deeper than PATH_MAX. */
static inline void
tree_remove (const char *path)
{
  const char *argv[] = { "rm", "-rf", "--", path, NULL };

  g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
}

static inline Tree *
tree_new (void)
{
  Tree *self = g_new0 (Tree, 1);
  g_autoptr(GError) error = NULL;

  self->top = g_dir_make_tmp ("skerry-local-XXXXXX", &error);
  g_assert_no_error (error);
  self->root = sk_root_open (self->top, &error);
  g_assert_no_error (error);
  return self;
}

static inline void
tree_free (Tree *self)
{
  sk_root_unref (self->root);
  tree_remove (self->top);
  g_free (self->top);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Tree, tree_free)

/* Below the tree's top; (transfer full). */
static inline char *
tree_path (Tree *self, const char *path)
{
  return g_build_filename (self->top, path, NULL);
}

static inline void
tree_write (Tree *self, const char *path, const void *data, gsize len)
{
  g_autofree char *full = tree_path (self, path);
  FILE *file = fopen (full, "we");

  g_assert_nonnull (file);
  g_assert_cmpuint (fwrite (data, 1, len, file), ==, len);
  g_assert_cmpint (fclose (file), ==, 0);
}

static inline void
tree_text (Tree *self, const char *path, const char *text)
{
  tree_write (self, path, text, strlen (text));
}

static inline void
tree_mkdir (Tree *self, const char *path)
{
  g_autofree char *full = tree_path (self, path);

  g_assert_cmpint (g_mkdir_with_parents (full, 0755), ==, 0);
}

static inline void
tree_link (Tree *self, const char *to, const char *path)
{
  g_autofree char *full = tree_path (self, path);

  g_assert_cmpint (symlink (to, full), ==, 0);
}

static inline gboolean
tree_has (Tree *self, const char *path)
{
  g_autofree char *full = tree_path (self, path);
  struct stat st;

  return lstat (full, &st) == 0;
}

/* Root may read everything: for tests of missing rights become nobody, who then owns the tree. */
static inline void
be_ordinary (Tree *self, const char *path)
{
  g_autofree char *full = tree_path (self, path);

  if (getuid () != 0)
    return;
  g_assert_cmpint (chown (self->top, 65534, 65534), ==, 0);
  g_assert_cmpint (chown (full, 65534, 65534), ==, 0);
  g_assert_cmpint (seteuid (65534), ==, 0);
}

static inline void
be_oneself (void)
{
  if (getuid () == 0)
    g_assert_cmpint (seteuid (0), ==, 0);
}

/* An empty tmpfs over a directory; FALSE where that is not allowed (the test is skipped). */
static inline gboolean
tree_mount (Tree *self, const char *path)
{
  g_autofree char *full = tree_path (self, path);

  if (mount ("skerry-test", full, "tmpfs", 0, "size=1m") == 0)
    return TRUE;
  g_test_skip ("mounting is not allowed here");
  return FALSE;
}

static inline void
tree_unmount (Tree *self, const char *path)
{
  g_autofree char *full = tree_path (self, path);

  g_assert_cmpint (umount2 (full, MNT_DETACH), ==, 0);
}
