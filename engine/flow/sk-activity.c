/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-activity.h"

#include <string.h>

#define UNDO_SLOTS 64
#define UNDO_MAX 10000u
#define CONFLICTS_MAX 100u               /* rows of one pass; the rest is a number */

/* Lists stand in settings whose names repeat, so that old ones are overwritten: 8 bytes activity row, then the list. Numbers of this machine:
 * the database is not carried to others. */
static char *
slot_key (gint64 row)
{
  return g_strdup_printf ("undo:%d", (int) (row % UNDO_SLOTS));
}

static gboolean
keep_undo (SkSession *session, const GArray *undo, GError **error)
{
  g_autoptr(GPtrArray) newest = sk_index_activity (session->index, 1, error);
  g_autoptr(GByteArray) bytes = g_byte_array_new ();
  g_autofree char *key = NULL;
  gint64 row;

  if (newest == NULL || newest->len == 0)
    return newest != NULL;
  row = ((SkActivityRow *) newest->pdata[0])->row;
  g_byte_array_append (bytes, (const guint8 *) &row, sizeof row);
  g_byte_array_append (bytes, (const guint8 *) undo->data, (guint) (undo->len * sizeof (SkUndo)));
  key = slot_key (row);
  return sk_index_set (session->index, key, bytes->data, bytes->len, error);
}

/* Index thread, in a transaction. @path NULL: of the folder. @undo (SkUndo) NULL or empty: it cannot be undone. Undo lists of the last 64 rows that
 * have one are kept, of at most 10 000 paths each. */
static gboolean
add_row (SkSession *session, gint64 folder, const char *kind, const char *path, const char *detail, const GArray *undo, GError **error)
{
  return sk_index_activity_add (session->index, sk_session_wall (session), kind, folder, path != NULL ? path : "", detail, error)
         && (undo == NULL || undo->len == 0 || keep_undo (session, undo, error));
}

GArray *
sk_activity_undo (SkSession *session, gint64 row)
{
  g_autofree char *key = slot_key (row);
  g_autoptr(GBytes) bytes = sk_index_get (session->index, key);
  gsize len = 0;
  const guint8 *data = bytes != NULL ? g_bytes_get_data (bytes, &len) : NULL;
  GArray *undo;
  gint64 of;

  if (len < sizeof of + sizeof (SkUndo) || (len - sizeof of) % sizeof (SkUndo) != 0)
    return NULL;
  memcpy (&of, data, sizeof of);
  if (of != row)
    return NULL;
  undo = g_array_new (FALSE, FALSE, sizeof (SkUndo));
  g_array_set_size (undo, (guint) ((len - sizeof of) / sizeof (SkUndo)));
  memcpy (undo->data, data + sizeof of, len - sizeof of);
  return undo;
}

gboolean
sk_activity_undone (SkSession *session, gint64 row, GError **error)
{
  g_autofree char *key = slot_key (row);

  return sk_index_set (session->index, key, "", 0, error);
}

typedef struct
{
  gint64 folder;
  const char *kind, *path;
  char *detail;
} Note;

static gboolean
write_note (SkSession *session, gpointer data, GError **error)
{
  Note *note = data;

  return add_row (session, note->folder, note->kind, note->path, note->detail, NULL, error);
}

void
sk_activity_note (SkSession *session, gint64 folder, const char *kind, const char *path, const char *format, ...)
{
  Note note = { .folder = folder, .kind = kind, .path = path };
  g_autoptr(GError) error = NULL;
  va_list args;

  va_start (args, format);
  note.detail = g_strdup_vprintf (format, args);
  va_end (args);
  if (!sk_session_transact (session, write_note, &note, &error))
    g_message ("the list of what happened was not written: %s", error->message);
  g_free (note.detail);
}

/* --- a pass --- */

typedef struct
{
  guint n;
  guint64 bytes;
  char *path;                    /* of the first */
  GArray *undo;                  /* SkUndo; NULL: cannot be undone */
} Tally;

struct _SkActivityPass
{
  SkSession *session;
  gint64 folder;
  Tally tallies[4];              /* by SkDid */
  GPtrArray *conflicts;          /* char*: at most CONFLICTS_MAX */
  guint n_conflicts;
};

static const struct { const char *kind, *done; } words[] = {
  [SK_DID_RECEIVE] = { "received", "received" },
  [SK_DID_MOVE] = { "moved", "moved as on another device" },
  [SK_DID_REPLACE] = { "replaced", "replaced by a newer version from another device" },
  [SK_DID_REMOVE] = { "removed", "removed by another device" },
};

SkActivityPass *
sk_activity_pass_new (SkSession *session, gint64 folder)
{
  SkActivityPass *self = g_new0 (SkActivityPass, 1);

  self->session = session;
  self->folder = folder;
  self->conflicts = g_ptr_array_new_with_free_func (g_free);
  self->tallies[SK_DID_REPLACE].undo = g_array_new (FALSE, FALSE, sizeof (SkUndo));
  self->tallies[SK_DID_REMOVE].undo = g_array_new (FALSE, FALSE, sizeof (SkUndo));
  return self;
}

void
sk_activity_pass_add (SkActivityPass *self, SkDid did, const SkNode *node, const char *path)
{
  Tally *tally = &self->tallies[did];
  SkUndo undo = { .node = node->row, .before = node->base.version, .after = node->target.version };

  tally->n++;
  tally->bytes += did == SK_DID_REMOVE ? node->base.size : node->target.size;
  if (tally->path == NULL)
    tally->path = g_strdup (path);
  if (tally->undo != NULL && undo.before != 0 && tally->undo->len < UNDO_MAX)
    g_array_append_val (tally->undo, undo);
}

void
sk_activity_pass_conflict (SkActivityPass *self, const char *path)
{
  if (self->n_conflicts++ < CONFLICTS_MAX)
    g_ptr_array_add (self->conflicts, g_strdup (path));
}

static gboolean
write_tally (SkActivityPass *self, SkDid did, GError **error)
{
  Tally *tally = &self->tallies[did];
  g_autofree char *size = g_format_size_full (tally->bytes, G_FORMAT_SIZE_IEC_UNITS);
  g_autofree char *detail = NULL;

  if (tally->n == 0)
    return TRUE;
  detail = tally->n == 1 ? g_strdup_printf ("%s (%s)", words[did].done, size)
                         : g_strdup_printf ("%u files %s (%s)", tally->n, words[did].done, size);
  return add_row (self->session, self->folder, words[did].kind, tally->n == 1 ? tally->path : NULL, detail, tally->undo, error);
}

static gboolean
write_pass (SkSession *session, gpointer data, GError **error)
{
  SkActivityPass *self = data;

  for (guint i = 0; i < G_N_ELEMENTS (self->tallies); i++)
    if (!write_tally (self, (SkDid) i, error))
      return FALSE;
  for (guint i = 0; i < self->conflicts->len; i++)
    if (!add_row (session, self->folder, "conflict", self->conflicts->pdata[i], "a version that lost against another one is kept under this name", NULL, error))
      return FALSE;
  if (self->n_conflicts > self->conflicts->len)
    {
      g_autofree char *detail = g_strdup_printf ("and %u more conflict copies", self->n_conflicts - self->conflicts->len);

      return add_row (session, self->folder, "conflict", NULL, detail, NULL, error);
    }
  return TRUE;
}

void
sk_activity_pass_end (SkActivityPass *self)
{
  gboolean any = self->n_conflicts > 0;
  g_autoptr(GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (self->tallies); i++)
    any |= self->tallies[i].n > 0;
  if (any && !sk_session_transact (self->session, write_pass, self, &error))
    g_message ("the list of what happened was not written: %s", error->message);
  for (guint i = 0; i < G_N_ELEMENTS (self->tallies); i++)
    {
      g_free (self->tallies[i].path);
      g_clear_pointer (&self->tallies[i].undo, g_array_unref);
    }
  g_ptr_array_unref (self->conflicts);
  g_free (self);
}
