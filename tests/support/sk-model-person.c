/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a person does on one device: random, from what is there. */
#include "sk-model-private.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAMES 12u                /* few, so that devices choose the same ones */
#define DIR_FILES_MAX 6u         /* no directory with more is removed: that would be a mass change, which has a test of its own */

/* --- books --- */

static void
note (SkModel *self, guint i, const char *path, gboolean written)
{
  SkModelLast *last = g_new0 (SkModelLast, 1);
  SkModelContent *content = written ? sk_model_content_at (self, i, path) : NULL;

  last->written = written;
  last->key = content != NULL ? content->key : NULL;
  last->operation = self->operation;
  last->device = i;
  last->moment = ++self->moment;
  g_hash_table_replace (self->last, g_strdup (path), last);
  if (!written)
    g_hash_table_replace (self->removed, g_strdup_printf ("%u %s", i, path), GUINT_TO_POINTER (last->moment));
}

void
sk_model_note_written (SkModel *self, guint i, const char *path)
{
  note (self, i, path, TRUE);
}

static void
let_go (SkModel *self, guint i, const char *path)
{
  SkModelContent *content = sk_model_content_at (self, i, path);

  if (content != NULL)
    content->let_go = TRUE;
}

/* Before @path and all below it are removed. */
static void
note_gone (SkModel *self, guint i, const char *path)
{
  g_autofree char *full = g_build_filename (self->roots[i], path, NULL);
  g_autoptr(GPtrArray) below = sk_model_list (full);

  for (guint k = 0; k < below->len; k++)
    {
      g_autofree char *inner = g_strdup_printf ("%s/%s", path, ((SkModelItem *) below->pdata[k])->path);

      let_go (self, i, inner);
      note (self, i, inner, FALSE);
    }
  let_go (self, i, path);
  note (self, i, path, FALSE);
}

/* After @from became @to. */
static void
note_moved (SkModel *self, guint i, const char *from, const char *to)
{
  g_autofree char *full = g_build_filename (self->roots[i], to, NULL);
  g_autoptr(GPtrArray) below = sk_model_list (full);

  for (guint k = 0; k < below->len; k++)
    {
      const char *inner = ((SkModelItem *) below->pdata[k])->path;
      g_autofree char *old = g_strdup_printf ("%s/%s", from, inner), *new = g_strdup_printf ("%s/%s", to, inner);

      note (self, i, old, FALSE);
      note (self, i, new, TRUE);
    }
  note (self, i, from, FALSE);
  note (self, i, to, TRUE);
}

/* --- choices --- */

static guint
up_to (SkModel *self, guint n)
{
  return (guint) g_rand_int_range (self->rand, 0, (gint32) n);
}

/* A path of one of @kinds, or NULL. */
static char *
pick (SkModel *self, guint i, const char *kinds)
{
  g_autoptr(GPtrArray) items = sk_model_list (self->roots[i]);
  g_autoptr(GPtrArray) fitting = g_ptr_array_new ();

  for (guint k = 0; k < items->len; k++)
    {
      SkModelItem *item = items->pdata[k];

      if (strchr (kinds, item->kind) != NULL && (self->forced == NULL || g_str_equal (self->forced, item->path)))
        g_ptr_array_add (fitting, item->path);
    }
  return fitting->len > 0 ? g_strdup (fitting->pdata[up_to (self, fitting->len)]) : NULL;
}

/* "" or a directory. */
static char *
pick_parent (SkModel *self, guint i)
{
  const char *forced = g_steal_pointer (&self->forced);
  char *dir = up_to (self, 3) > 0 ? pick (self, i, "d") : NULL;

  self->forced = forced;
  return dir != NULL ? dir : g_strdup ("");
}

/* A name below @parent that nothing has here, or NULL. */
static char *
free_path (SkModel *self, guint i, const char *parent)
{
  for (guint tries = 0; tries < 4; tries++)
    {
      guint n = up_to (self, NAMES);
      g_autofree char *path = g_strdup_printf ("%s%sn%u%s", parent, *parent != '\0' ? "/" : "", n, n % 3 == 0 ? ".txt" : n % 3 == 1 ? ".jpg" : "");
      g_autofree char *full = g_build_filename (self->roots[i], path, NULL);

      if (!g_file_test (full, G_FILE_TEST_EXISTS) && !g_file_test (full, G_FILE_TEST_IS_SYMLINK))
        return g_steal_pointer (&path);
    }
  return NULL;
}

GBytes *
sk_model_bytes (SkModel *self)
{
  guint kind = up_to (self, 100);
  gsize len = kind < 60 ? up_to (self, 400) : kind < 94 ? up_to (self, 20000) : kind < 99 ? 250000 + up_to (self, 600000) : 4300000 + up_to (self, 200000);
  GString *text = g_string_sized_new (len + 64);

  g_string_append_printf (text, "%" G_GUINT64_FORMAT " operation %u %08x\n", self->seed, self->operation, g_rand_int (self->rand));
  while (text->len < len)
    {
      guint32 word = g_rand_int (self->rand);

      g_string_append_len (text, (const char *) &word, sizeof word);
    }
  return g_string_free_to_bytes (text);
}

/* The clock of file systems ticks every few milliseconds, in which one process acts on several devices. Real devices do not write in the same
 * nanosecond. */
static void
stamp (int fd)
{
  struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };

  clock_gettime (CLOCK_REALTIME, &times[1]);
  futimens (fd, times);
}

static gboolean
write_all (int fd, GBytes *bytes)
{
  gsize len;
  const char *data = g_bytes_get_data (bytes, &len);
  gssize n = fd >= 0 ? write (fd, data, len) : -1;

  if (fd >= 0)
    {
      stamp (fd);
      close (fd);
    }
  return n == (gssize) len;
}

gboolean
sk_model_write (const char *root, const char *path, GBytes *bytes, gboolean in_place)
{
  g_autofree char *full = g_build_filename (root, path, NULL);
  /* Beside the folder: a half written file has no place in the model. */
  g_autofree char *temporary = g_strconcat (root, ".saving", NULL);

  if (in_place)
    return write_all (open (full, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644), bytes);
  if (!write_all (open (temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644), bytes))
    return FALSE;
  if (rename (temporary, full) == 0)
    return TRUE;
  unlink (temporary);
  return FALSE;
}

/* --- what a person does --- */

static gboolean
create_file (SkModel *self, guint i)
{
  g_autofree char *parent = pick_parent (self, i), *path = free_path (self, i, parent);
  g_autoptr(GBytes) bytes = sk_model_bytes (self);

  if (path == NULL || !sk_model_write (self->roots[i], path, bytes, TRUE))
    return FALSE;
  sk_model_trace (self, "create %s (%zu)", path, g_bytes_get_size (bytes));
  note (self, i, path, TRUE);
  return TRUE;
}

static gboolean
rewrite (SkModel *self, guint i)
{
  g_autofree char *path = pick (self, i, "f");
  g_autoptr(GBytes) bytes = sk_model_bytes (self);
  gboolean in_place = up_to (self, 2) == 0;

  if (path == NULL)
    return FALSE;
  let_go (self, i, path);
  if (!sk_model_write (self->roots[i], path, bytes, in_place))
    return FALSE;
  sk_model_trace (self, "%s %s (%zu)", in_place ? "write" : "save", path, g_bytes_get_size (bytes));
  note (self, i, path, TRUE);
  return TRUE;
}

/* append, truncate or overwrite in the middle */
static gboolean
edit_part (SkModel *self, guint i)
{
  g_autofree char *path = pick (self, i, "f"), *full = path != NULL ? g_build_filename (self->roots[i], path, NULL) : NULL;
  g_autofree char *mark = g_strdup_printf ("<%u>", self->operation);
  int fd = full != NULL ? open (full, O_RDWR | O_NOFOLLOW | O_CLOEXEC) : -1;
  guint what = up_to (self, 3);
  struct stat st;
  gboolean ok;

  if (fd < 0)
    return FALSE;
  let_go (self, i, path);
  ok = fstat (fd, &st) == 0;
  if (what == 0)
    ok = ok && pwrite (fd, mark, strlen (mark), st.st_size) > 0;
  else if (what == 1)
    ok = ok && st.st_size > 0 && ftruncate (fd, up_to (self, (guint) st.st_size)) == 0;
  else
    ok = ok && st.st_size > 16 && pwrite (fd, mark, strlen (mark), up_to (self, (guint) st.st_size - 8)) > 0;
  stamp (fd);
  close (fd);
  if (!ok)
    return FALSE;
  sk_model_trace (self, "%s %s", what == 0 ? "append to" : what == 1 ? "truncate" : "write into", path);
  note (self, i, path, TRUE);
  return TRUE;
}

static gboolean
rename_to (SkModel *self, guint i, const char *from, const char *to, const char *said)
{
  g_autofree char *a = g_build_filename (self->roots[i], from, NULL), *b = g_build_filename (self->roots[i], to, NULL);

  if (g_rename (a, b) != 0)
    return FALSE;
  sk_model_trace (self, "%s %s -> %s", said, from, to);
  note_moved (self, i, from, to);
  return TRUE;
}

static gboolean
move (SkModel *self, guint i)
{
  g_autofree char *from = pick (self, i, up_to (self, 4) == 0 ? "d" : "fl"), *parent = NULL, *to = NULL;

  if (from == NULL)
    return FALSE;
  parent = up_to (self, 2) == 0 ? pick_parent (self, i) : g_path_get_dirname (from);
  to = free_path (self, i, g_str_equal (parent, ".") ? "" : parent);
  return to != NULL && !g_str_has_prefix (to, from) && rename_to (self, i, from, to, "move");
}

static gboolean
move_over (SkModel *self, guint i)
{
  g_autofree char *from = pick (self, i, "f"), *to = NULL;

  self->forced = NULL;
  to = pick (self, i, "f");
  if (from == NULL || to == NULL || g_str_equal (from, to))
    return FALSE;
  let_go (self, i, to);
  return rename_to (self, i, from, to, "move over");
}

/* Two names exchange their files. */
static gboolean
exchange (SkModel *self, guint i)
{
  g_autofree char *a = pick (self, i, "f"), *b = NULL, *full = NULL, *other = NULL, *aside = NULL;

  self->forced = NULL;
  b = pick (self, i, "f");
  if (a == NULL || b == NULL || g_str_equal (a, b))
    return FALSE;
  full = g_build_filename (self->roots[i], a, NULL);
  other = g_build_filename (self->roots[i], b, NULL);
  aside = g_strconcat (full, ".aside", NULL);
  if (g_rename (full, aside) != 0 || g_rename (other, full) != 0 || g_rename (aside, other) != 0)
    return FALSE;
  sk_model_trace (self, "exchange %s and %s", a, b);
  note (self, i, a, TRUE);
  note (self, i, b, TRUE);
  return TRUE;
}

static gboolean
copy (SkModel *self, guint i)
{
  g_autofree char *from = pick (self, i, "f"), *parent = pick_parent (self, i), *to = free_path (self, i, parent);
  SkModelContent *content = from != NULL ? sk_model_content_at (self, i, from) : NULL;

  if (content == NULL || to == NULL || !sk_model_write (self->roots[i], to, content->data, TRUE))
    return FALSE;
  sk_model_trace (self, "copy %s -> %s", from, to);
  note (self, i, to, TRUE);
  return TRUE;
}

static gboolean
is_small (SkModel *self, guint i, const char *path)
{
  g_autofree char *full = g_build_filename (self->roots[i], path, NULL);
  g_autoptr(GPtrArray) below = sk_model_list (full);

  return below->len <= DIR_FILES_MAX;
}

static gboolean
take_away (SkModel *self, guint i, const char *path)
{
  g_autofree char *full = g_build_filename (self->roots[i], path, NULL);

  if (!is_small (self, i, path))
    return FALSE;
  note_gone (self, i, path);
  sk_model_remove_tree (full);
  return TRUE;
}

static gboolean
delete (SkModel *self, guint i)
{
  g_autofree char *path = pick (self, i, up_to (self, 4) == 0 ? "d" : "fl");

  if (path == NULL || !take_away (self, i, path))
    return FALSE;
  sk_model_trace (self, "delete %s", path);
  return TRUE;
}

static char *
link_target (SkModel *self)
{
  return g_strdup_printf ("n%u-%u", up_to (self, NAMES), self->operation);
}

static gboolean
make_link (SkModel *self, guint i, const char *path)
{
  g_autofree char *target = link_target (self), *full = g_build_filename (self->roots[i], path, NULL);

  if (symlink (target, full) != 0)
    return FALSE;
  note (self, i, path, TRUE);
  return TRUE;
}

static gboolean
create_link (SkModel *self, guint i)
{
  g_autofree char *parent = pick_parent (self, i), *path = free_path (self, i, parent);

  if (path == NULL || !make_link (self, i, path))
    return FALSE;
  sk_model_trace (self, "link %s", path);
  return TRUE;
}

static gboolean
create_dir (SkModel *self, guint i)
{
  g_autofree char *parent = pick_parent (self, i), *path = free_path (self, i, parent), *full = NULL;

  if (path == NULL)
    return FALSE;
  full = g_build_filename (self->roots[i], path, NULL);
  if (g_mkdir (full, 0755) != 0)
    return FALSE;
  sk_model_trace (self, "mkdir %s", path);
  note (self, i, path, TRUE);
  return TRUE;
}

/* What is there becomes something of another kind, under the same name. */
static gboolean
change_kind (SkModel *self, guint i)
{
  g_autofree char *path = pick (self, i, "fld"), *full = NULL, *inner = NULL;
  g_autoptr(GBytes) bytes = sk_model_bytes (self);
  gboolean was_dir;

  if (path == NULL)
    return FALSE;
  full = g_build_filename (self->roots[i], path, NULL);
  was_dir = g_file_test (full, G_FILE_TEST_IS_DIR) && !g_file_test (full, G_FILE_TEST_IS_SYMLINK);
  if (!take_away (self, i, path))
    return FALSE;
  if (!was_dir && up_to (self, 2) == 0)
    {
      inner = g_strdup_printf ("%s/n%u", path, up_to (self, NAMES));
      sk_model_trace (self, "directory instead of %s, with %s", path, inner);
      if (g_mkdir (full, 0755) != 0 || !sk_model_write (self->roots[i], inner, bytes, TRUE))
        return FALSE;
      note (self, i, inner, TRUE);
    }
  else if (up_to (self, 2) == 0)
    {
      sk_model_trace (self, "link instead of %s", path);
      return make_link (self, i, path);
    }
  else
    {
      sk_model_trace (self, "file instead of %s", path);
      if (!sk_model_write (self->roots[i], path, bytes, TRUE))
        return FALSE;
    }
  note (self, i, path, TRUE);
  return TRUE;
}

static gboolean
change_mode (SkModel *self, guint i)
{
  const mode_t file_modes[] = { 0644, 0600, 0755, 0640, 0444 }, dir_modes[] = { 0755, 0700, 0750, 0775 };
  g_autofree char *path = pick (self, i, "fd"), *full = NULL;
  mode_t mode;

  if (path == NULL)
    return FALSE;
  full = g_build_filename (self->roots[i], path, NULL);
  mode = g_file_test (full, G_FILE_TEST_IS_DIR) ? dir_modes[up_to (self, G_N_ELEMENTS (dir_modes))]
                                                : file_modes[up_to (self, G_N_ELEMENTS (file_modes))];
  if (chmod (full, mode) != 0)
    return FALSE;
  sk_model_trace (self, "chmod %04o %s", mode, path);
  return TRUE;
}

static gboolean
touch (SkModel *self, guint i)
{
  g_autofree char *path = pick (self, i, "fl"), *full = path != NULL ? g_build_filename (self->roots[i], path, NULL) : NULL;
  struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
                               { .tv_sec = 1600000000 + (time_t) up_to (self, 100000000), .tv_nsec = (long) up_to (self, 1000000000) } };

  if (full == NULL || utimensat (AT_FDCWD, full, times, AT_SYMLINK_NOFOLLOW) != 0)
    return FALSE;
  sk_model_trace (self, "touch %s", path);
  return TRUE;
}

typedef struct
{
  gboolean (*act) (SkModel *self, guint i);
  guint weight;
} Deed;

static const Deed deeds[] = {
  { create_file, 14 }, { rewrite, 16 }, { edit_part, 14 }, { move, 14 }, { move_over, 4 }, { exchange, 3 }, { copy, 4 },
  { delete, 9 }, { create_link, 3 }, { create_dir, 5 }, { change_kind, 7 }, { change_mode, 8 }, { touch, 7 },
};

gboolean
sk_model_act (SkModel *self, guint i)
{
  guint total = 0, at;

  for (guint k = 0; k < G_N_ELEMENTS (deeds); k++)
    total += deeds[k].weight;
  self->operation++;
  self->acting = i;
  for (guint tries = 0; tries < 20; tries++)
    {
      guint k = 0;

      for (at = up_to (self, total); at >= deeds[k].weight; k++)
        at -= deeds[k].weight;
      if (deeds[k].act (self, i))
        {
          self->counts->operations++;
          return TRUE;
        }
    }
  return FALSE;
}

void
sk_model_begin (SkModel *self, guint files)
{
  const char *const dirs[] = { "d1", "d2", "d1/e" };

  for (guint i = 0; i < G_N_ELEMENTS (dirs); i++)
    {
      g_autofree char *full = g_build_filename (self->roots[0], dirs[i], NULL);

      g_mkdir (full, 0755);
      note (self, 0, dirs[i], TRUE);
    }
  for (guint i = 0; i < files; i++)
    {
      self->operation++;
      create_file (self, 0);
    }
}
