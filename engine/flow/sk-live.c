/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-live.h"

#include "sk-rate.h"

typedef struct
{
  gint64 row;                    /* of the folder or storage */
  gint64 queued, queued_bytes;
  SkRate up, down;
  guint64 moved_down;
  gint64 wall;                   /* last scan, or last answer */
} Thing;

struct _SkLive
{
  GMutex lock;
  GHashTable *folders, *storages;    /* &row -> Thing */
};

SkLive *
sk_live_new (void)
{
  SkLive *self = g_new0 (SkLive, 1);

  g_mutex_init (&self->lock);
  self->folders = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, g_free);
  self->storages = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, g_free);
  return self;
}

void
sk_live_free (SkLive *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->folders);
  g_hash_table_unref (self->storages);
  g_mutex_clear (&self->lock);
  g_free (self);
}

/* Under the lock. */
static Thing *
thing_of (GHashTable *things, gint64 row)
{
  Thing *thing = g_hash_table_lookup (things, &row);

  if (thing != NULL)
    return thing;
  thing = g_new0 (Thing, 1);
  thing->row = row;
  g_hash_table_insert (things, &thing->row, thing);
  return thing;
}

static void
queue (SkLive *self, GHashTable *things, gint64 row, gint64 n, gint64 bytes)
{
  Thing *thing;

  g_mutex_lock (&self->lock);
  thing = thing_of (things, row);
  thing->queued += n;
  thing->queued_bytes += bytes;
  g_mutex_unlock (&self->lock);
}

static void
moved (SkLive *self, GHashTable *things, gint64 row, guint64 up, guint64 down, gint64 now)
{
  Thing *thing;

  g_mutex_lock (&self->lock);
  thing = thing_of (things, row);
  if (up > 0)
    sk_rate_add (&thing->up, up, now);
  if (down > 0)
    sk_rate_add (&thing->down, down, now);
  thing->moved_down += down;
  g_mutex_unlock (&self->lock);
}

static void
seen (SkLive *self, GHashTable *things, gint64 row, gint64 wall)
{
  g_mutex_lock (&self->lock);
  thing_of (things, row)->wall = wall;
  g_mutex_unlock (&self->lock);
}

void
sk_live_queue (SkLive *self, gint64 folder, gint64 files, gint64 bytes)
{
  queue (self, self->folders, folder, files, bytes);
}

void
sk_live_moved (SkLive *self, gint64 folder, guint64 up, guint64 down, gint64 now)
{
  moved (self, self->folders, folder, up, down, now);
}

void
sk_live_scanned (SkLive *self, gint64 folder, gint64 wall)
{
  seen (self, self->folders, folder, wall);
}

void
sk_live_storage_queue (SkLive *self, gint64 storage, gint64 bytes)
{
  queue (self, self->storages, storage, 0, bytes);
}

void
sk_live_storage_moved (SkLive *self, gint64 storage, guint64 up, guint64 down, gint64 now)
{
  moved (self, self->storages, storage, up, down, now);
}

void
sk_live_storage_seen (SkLive *self, gint64 storage, gint64 wall)
{
  seen (self, self->storages, storage, wall);
}

static void
add_folder (const Thing *thing, gint64 now, SkLiveFolder *out)
{
  out->queued += (guint64) MAX (thing->queued, 0);
  out->queued_bytes += (guint64) MAX (thing->queued_bytes, 0);
  out->up_rate += sk_rate_get (&thing->up, now);
  out->down_rate += sk_rate_get (&thing->down, now);
  out->moved_down += thing->moved_down;
  out->last_scan = MAX (out->last_scan, thing->wall);
}

void
sk_live_folder (SkLive *self, gint64 folder, gint64 now, SkLiveFolder *out)
{
  GHashTableIter iter;
  gpointer value;

  *out = (SkLiveFolder) { 0 };
  g_mutex_lock (&self->lock);
  g_hash_table_iter_init (&iter, self->folders);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (folder == 0 || ((Thing *) value)->row == folder)
      add_folder (value, now, out);
  g_mutex_unlock (&self->lock);
}

void
sk_live_storage (SkLive *self, gint64 storage, gint64 now, SkLiveStorage *out)
{
  const Thing *thing;

  *out = (SkLiveStorage) { 0 };
  g_mutex_lock (&self->lock);
  thing = g_hash_table_lookup (self->storages, &storage);
  if (thing != NULL)
    *out = (SkLiveStorage) { .queued_bytes = (guint64) MAX (thing->queued_bytes, 0), .up_rate = sk_rate_get (&thing->up, now),
                             .down_rate = sk_rate_get (&thing->down, now), .last_seen = thing->wall };
  g_mutex_unlock (&self->lock);
}
