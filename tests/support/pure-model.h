/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Devices that share a folder, without disks, storages or threads: only the rules of sk-merge.h between a person's
 * changes and the trees that come out. Header of one test program. */
#pragma once
#include "sk-merge.h"
#include "sk-path.h"

#include <string.h>

#define N_DEVICES 3

/* What is at a path; contents are numbers. */
typedef struct { SkKind kind; guint token; guint32 mode; gint64 mtime; } Thing;

typedef struct
{
  char *path;
  GPtrArray *entries;      /* every entry seen, dominated ones included */
  GPtrArray *virtuals;     /* conflict copies that nobody has appended yet */
  GPtrArray *maximal;      /* of both */
  SkVisible visible;       /* indices into @maximal */
  guint live_children;

  Thing base;
  SkEntry *base_entry;     /* NULL for none and for an implied directory */
  SkVector *base_vector;   /* NULL when nothing of ours ever was here */
  Thing target;
  SkEntry *target_entry;
} Node;

typedef struct
{
  char name;
  SkId writer;
  guint64 counter, lamport;
  gboolean first_contact;
  gboolean stale;          /* targets have to be computed again */
  GHashTable *nodes;       /* path -> Node */
  GHashTable *disk;        /* path -> Thing */
  GHashTable *seen;        /* entries */
} Device;

typedef struct
{
  GRand *rand;
  Device devices[N_DEVICES];
  GPtrArray *pool;         /* owns every entry */
  GPtrArray *log;          /* published entries of all devices */
  GHashTable *copies;      /* loser -> its copy */
  GArray *superseded;      /* by token: a person replaced or deleted it somewhere */
  GArray *written;         /* by token: a scan has taken it in */
  guint64 clock;
  guint incarnations;
  GString *trace;
} Model;

static SkEntry *
pooled (Model *m, SkEntry *entry)
{
  g_ptr_array_add (m->pool, entry);
  return entry;
}

static void
free_node (gpointer data)
{
  Node *node = data;

  g_free (node->path);
  g_ptr_array_unref (node->entries);
  g_ptr_array_unref (node->virtuals);
  g_ptr_array_unref (node->maximal);
  g_clear_pointer (&node->base_vector, sk_vector_unref);
  g_free (node);
}

static void
new_incarnation (Model *m, Device *d)
{
  memset (&d->writer, 0, sizeof d->writer);
  d->writer.bytes[0] = (guint8) d->name;
  d->writer.bytes[15] = (guint8) ++m->incarnations;
  d->counter = 0;
}

static void
forget_everything (Model *m, Device *d)
{
  g_hash_table_remove_all (d->nodes);
  g_hash_table_remove_all (d->seen);
  d->first_contact = TRUE;
  d->lamport = 0;
  d->stale = TRUE;
  new_incarnation (m, d);
}

static Model *
model_new (guint32 seed)
{
  Model *m = g_new0 (Model, 1);

  m->rand = g_rand_new_with_seed (seed);
  m->pool = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_entry_free);
  m->log = g_ptr_array_new ();
  m->copies = g_hash_table_new (NULL, NULL);
  m->superseded = g_array_new (FALSE, TRUE, sizeof (gboolean));
  m->written = g_array_new (FALSE, TRUE, sizeof (gboolean));
  m->trace = g_string_new (NULL);
  for (guint i = 0; i < N_DEVICES; i++)
    {
      Device *d = &m->devices[i];

      d->name = (char) ('A' + i);
      d->nodes = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, free_node);
      d->disk = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
      d->seen = g_hash_table_new (NULL, NULL);
      new_incarnation (m, d);
    }
  return m;
}

static void
model_free (Model *m)
{
  for (guint i = 0; i < N_DEVICES; i++)
    {
      g_hash_table_unref (m->devices[i].nodes);
      g_hash_table_unref (m->devices[i].disk);
      g_hash_table_unref (m->devices[i].seen);
    }
  g_ptr_array_unref (m->pool);
  g_ptr_array_unref (m->log);
  g_hash_table_unref (m->copies);
  g_array_unref (m->superseded);
  g_array_unref (m->written);
  g_string_free (m->trace, TRUE);
  g_rand_free (m->rand);
  g_free (m);
}

static Node *
node_at (Device *d, const char *path)
{
  Node *node = g_hash_table_lookup (d->nodes, path);

  if (node != NULL)
    return node;
  node = g_new0 (Node, 1);
  node->path = g_strdup (path);
  node->visible.winner = node->visible.meta = -1;    /* nothing */
  node->entries = g_ptr_array_new ();
  node->virtuals = g_ptr_array_new ();
  node->maximal = g_ptr_array_new ();
  g_hash_table_insert (d->nodes, node->path, node);
  if (strchr (path, '/') != NULL)
    {
      g_autofree char *parent = sk_path_parent (path);

      node_at (d, parent);
    }
  return node;
}

static int
compare_paths (gconstpointer a, gconstpointer b)
{
  const char *x = *(const char *const *) a, *y = *(const char *const *) b;
  guint depth_x = 0, depth_y = 0;

  for (const char *p = x; *p != '\0'; p++)
    depth_x += *p == '/';
  for (const char *p = y; *p != '\0'; p++)
    depth_y += *p == '/';
  return depth_x != depth_y ? (depth_x < depth_y ? 1 : -1) : strcmp (x, y);
}

/* Deepest first. (transfer container) */
static GPtrArray *
sorted_paths (GHashTable *table)
{
  GPtrArray *paths = g_ptr_array_sized_new (g_hash_table_size (table));
  GHashTableIter iter;
  gpointer path;

  g_hash_table_iter_init (&iter, table);
  while (g_hash_table_iter_next (&iter, &path, NULL))
    g_ptr_array_add (paths, path);
  g_ptr_array_sort (paths, compare_paths);
  return paths;
}

/* --- contents as numbers --- */

static guint
token_of (const SkEntry *entry)
{
  guint token = 0;

  if (entry->kind == SK_KIND_FILE)
    memcpy (&token, g_array_index (entry->chunks, SkChunkRef, 0).id.bytes, sizeof token);
  if (entry->kind == SK_KIND_SYMLINK)
    token = (guint) g_ascii_strtoull (entry->symlink, NULL, 10);
  return token;
}

static SkEntry *
entry_for (const Device *d, const char *path, const Thing *thing)
{
  static const SkId folder = { { 4 } };
  SkEntry *entry = sk_entry_new (&folder, path, thing->kind);

  if (thing->kind == SK_KIND_FILE)
    {
      SkChunkRef chunk = { .size = 1 };

      memcpy (chunk.id.bytes, &thing->token, sizeof thing->token);
      g_array_append_val (entry->chunks, chunk);
      entry->size = 1;
    }
  if (thing->kind == SK_KIND_SYMLINK)
    {
      g_free (entry->symlink);
      entry->symlink = g_strdup_printf ("%u", thing->token);
    }
  g_free (entry->device_name);
  entry->device_name = g_strdup_printf ("%c", d->name);
  entry->mode = thing->mode;
  entry->mtime = thing->kind == SK_KIND_DIR ? 0 : thing->mtime;
  sk_entry_seal_content (entry);
  return entry;
}

static gboolean
same_content (const Thing *a, const Thing *b)
{
  return a->kind == b->kind && (a->kind == SK_KIND_DIR || a->token == b->token);
}

static gboolean
same_meta (const Thing *a, const Thing *b)
{
  return a->kind == SK_KIND_SYMLINK || (a->mode == b->mode && (a->kind == SK_KIND_DIR || a->mtime == b->mtime));
}

/* --- from entries to targets --- */

static SkEntry *
copy_of (Model *m, SkEntry *loser)
{
  SkEntry *copy = g_hash_table_lookup (m->copies, loser);

  if (copy == NULL)
    {
      copy = pooled (m, sk_conflict_entry (loser));
      g_hash_table_insert (m->copies, loser, copy);
    }
  return copy;
}

static void
look_at_node (Device *d, Node *node)
{
  g_autoptr(GPtrArray) all = g_ptr_array_copy (node->entries, NULL, NULL);
  g_autofree gboolean *maximal = NULL;

  g_ptr_array_extend (all, node->virtuals, NULL, NULL);
  maximal = g_new (gboolean, all->len + 1);
  sk_merge_maximal ((SkEntry *const *) all->pdata, all->len, maximal);
  g_ptr_array_set_size (node->maximal, 0);
  for (guint i = 0; i < all->len; i++)
    if (maximal[i])
      g_ptr_array_add (node->maximal, all->pdata[i]);
  sk_merge_visible ((SkEntry *const *) node->maximal->pdata, node->maximal->len, node->live_children > 0, &node->visible);

  if (node->visible.kind != SK_KIND_NONE && strchr (node->path, '/') != NULL)
    {
      g_autofree char *parent = sk_path_parent (node->path);

      node_at (d, parent)->live_children++;
    }
}

/* One look at every node, children first; then the copies that the losers ask for. TRUE when those are what was there. */
static gboolean
look_at_all (Model *m, Device *d)
{
  g_autoptr(GPtrArray) paths = sorted_paths (d->nodes);
  g_autoptr(GHashTable) wanted = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify) g_ptr_array_unref);
  g_autoptr(GPtrArray) none = g_ptr_array_new ();
  gboolean settled = TRUE;

  for (guint i = 0; i < paths->len; i++)
    node_at (d, paths->pdata[i])->live_children = 0;
  for (guint i = 0; i < paths->len; i++)
    look_at_node (d, node_at (d, paths->pdata[i]));

  for (guint i = 0; i < paths->len; i++)
    {
      Node *node = node_at (d, paths->pdata[i]);

      for (guint k = 0; k < node->visible.n_losers; k++)
        {
          SkEntry *copy = copy_of (m, node->maximal->pdata[node->visible.losers[k]]);
          GPtrArray *list = g_hash_table_lookup (wanted, copy->path);

          if (list == NULL)
            {
              list = g_ptr_array_new ();
              g_hash_table_insert (wanted, copy->path, list);
              node_at (d, copy->path);
            }
          g_ptr_array_add (list, copy);
        }
    }
  g_ptr_array_unref (paths);
  paths = sorted_paths (d->nodes);
  for (guint i = 0; i < paths->len; i++)
    {
      Node *node = node_at (d, paths->pdata[i]);
      GPtrArray *list = g_hash_table_lookup (wanted, node->path);

      if (list == NULL)
        list = none;
      if (list->len == node->virtuals->len
          && (list->len == 0 || memcmp (list->pdata, node->virtuals->pdata, list->len * sizeof (gpointer)) == 0))
        continue;
      settled = FALSE;
      g_ptr_array_set_size (node->virtuals, 0);
      g_ptr_array_extend (node->virtuals, list, NULL, NULL);
    }
  return settled;
}

/* The mode of the newest stamp among all entries of one class, dominated ones included (A8); virtual copies count only
 * while they are there. */
static const SkEntry *
mode_stamp (const Node *node, gboolean of_directories)
{
  const SkEntry *best = NULL;

  for (guint i = 0; i < node->entries->len + node->virtuals->len; i++)
    {
      const SkEntry *e = i < node->entries->len ? node->entries->pdata[i] : node->virtuals->pdata[i - node->entries->len];
      gboolean is_directory = e->kind == SK_KIND_DIR || (e->flags & SK_ENTRY_WAS_DIR) != 0;

      if (e->kind != SK_KIND_SYMLINK && is_directory == of_directories && (best == NULL || sk_entry_meta_rank (e, best) > 0))
        best = e;
    }
  return best;
}

static void
set_vector (Node *node, const SkVector *a, const SkVector *b)
{
  SkVector *joined = sk_vector_join (a, b);

  g_clear_pointer (&node->base_vector, sk_vector_unref);
  node->base_vector = joined;
}

static void
set_target (Node *node)
{
  const SkVisible *v = &node->visible;
  SkEntry *winner = v->winner >= 0 ? node->maximal->pdata[v->winner] : NULL;
  const SkEntry *stamp = v->kind == SK_KIND_NONE || v->kind == SK_KIND_SYMLINK ? NULL : mode_stamp (node, v->kind == SK_KIND_DIR);

  node->target = (Thing) { .kind = v->kind, .mode = stamp != NULL ? stamp->mode : v->mode, .mtime = v->mtime };
  node->target_entry = winner;
  if (winner != NULL)
    node->target.token = token_of (winner);
  /* The same bytes here and there: the base stands for both histories. */
  if (winner != NULL && node->base.kind != SK_KIND_NONE && same_content (&node->base, &node->target))
    {
      set_vector (node, node->base_vector, winner->vector);
      node->base_entry = winner;
    }
}

static void
recompute (Model *m, Device *d)
{
  g_autoptr(GPtrArray) paths = NULL;
  guint rounds = 0;

  if (!d->stale)
    return;
  while (!look_at_all (m, d))
    g_assert_cmpuint (++rounds, <, 40);    /* conflict copies that chase each other */
  paths = sorted_paths (d->nodes);
  for (guint i = 0; i < paths->len; i++)
    set_target (node_at (d, paths->pdata[i]));
  d->stale = FALSE;
}

/* --- entries come and go --- */

static void
take_in (Device *d, SkEntry *entry)
{
  if (!g_hash_table_add (d->seen, entry))
    return;
  d->lamport = MAX (d->lamport, MAX (entry->lamport, entry->meta_lamport));
  g_ptr_array_add (node_at (d, entry->path)->entries, entry);
  d->stale = TRUE;
}

static void
publish (Model *m, Device *d, SkEntry *entry)
{
  g_autoptr(GError) error = NULL;

  sk_entry_check (entry, &error);
  g_assert_no_error (error);
  g_ptr_array_add (m->log, entry);
  take_in (d, entry);
}
