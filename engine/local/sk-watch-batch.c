/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-watch-batch.h"

static void
report_free (gpointer data)
{
  SkWatchReport *self = data;

  g_free (self->path);
  g_free (self->other);
  g_free (self);
}

void
sk_watch_batch_init (SkWatchBatch *self)
{
  self->reports = g_ptr_array_new_with_free_func (report_free);
  self->latest = g_hash_table_new (g_str_hash, g_str_equal);
}

void
sk_watch_batch_clear (SkWatchBatch *self)
{
  g_clear_pointer (&self->latest, g_hash_table_destroy);
  g_clear_pointer (&self->reports, g_ptr_array_unref);
}

void
sk_watch_batch_add (SkWatchBatch *self, SkWatchEvent event, char *path, char *other)
{
  gboolean simple = event == SK_WATCH_DIRTY || event == SK_WATCH_WRITING;
  SkWatchReport *report = simple ? g_hash_table_lookup (self->latest, path) : NULL;

  if (report != NULL)
    {
      report->event = event;
      g_free (path);
      g_free (other);
      return;
    }
  report = g_new (SkWatchReport, 1);
  *report = (SkWatchReport) { .event = event, .path = path, .other = other };
  g_ptr_array_add (self->reports, report);
  if (simple)
    g_hash_table_insert (self->latest, report->path, report);
  else if (event == SK_WATCH_MOVED)
    g_hash_table_remove_all (self->latest);
}
