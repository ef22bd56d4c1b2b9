/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replies about versions and the care of what is stored, for people. */
#include "ska-cli.h"

#include <string.h>

void
ska_print_versions (SkaCli *cli, GVariant *reply)
{
  g_autoptr(GVariant) versions = ska_get_list (reply, "versions");
  SkaGrid *grid = ska_grid_new ("lllrll");

  if (g_variant_n_children (versions) == 0)
    fputs ("No versions.\n", cli->out);
  for (gsize i = 0; i < g_variant_n_children (versions); i++)
    {
      g_autoptr(GVariant) item = g_variant_get_child_value (versions, i);
      gboolean file = strcmp (ska_get (item, "kind"), "file") == 0;

      ska_grid_cell (grid, ska_get (item, "version"));
      ska_grid_take (grid, ska_time ((gint64) ska_get_number (item, "time")));
      ska_grid_cell (grid, ska_get (item, "kind"));
      ska_grid_take (grid, file ? ska_size (ska_get_number (item, "size")) : g_strdup (""));
      ska_grid_cell (grid, ska_get (item, "device-name"));
      ska_grid_cell (grid, ska_get_flag (item, "current") ? "current" : "");
    }
  ska_grid_end (grid, cli->out);
}

void
ska_print_restore (SkaCli *cli, GVariant *reply)
{
  g_autoptr(GVariant) failed = ska_get_list (reply, "failed");
  g_autofree char *files = ska_count (ska_get_number (reply, "files"), "file", "files");
  g_autofree char *bytes = ska_size (ska_get_number (reply, "bytes"));
  g_autofree char *to = ska_escape (ska_get (reply, "to"));

  fprintf (cli->out, "Restored %s (%s)%s%s.\n", files, bytes, *to != '\0' ? " to " : "", to);
  for (gsize i = 0; i < g_variant_n_children (failed); i++)
    {
      g_autoptr(GVariant) item = g_variant_get_child_value (failed, i);
      g_autofree char *path = ska_escape (ska_get (item, "path"));
      g_autofree char *why = ska_escape (ska_get (item, "why"));

      fprintf (cli->out, "  not done: %s: %s\n", path, why);
    }
}

void
ska_print_verify (SkaCli *cli, GVariant *reply)
{
  g_autoptr(GVariant) bad = ska_get_list (reply, "bad");
  g_autofree char *objects = ska_count (ska_get_number (reply, "objects"), "object", "objects");
  g_autofree char *bytes = ska_size (ska_get_number (reply, "bytes"));
  guint64 repaired = ska_get_number (reply, "repaired");

  fprintf (cli->out,
           "Read %s (%s) in %.1f s; %" G_GSIZE_FORMAT " bad, %" G_GUINT64_FORMAT " repaired.\n",
           objects, bytes, ska_get_double (reply, "seconds"), g_variant_n_children (bad), repaired);
  for (gsize i = 0; i < g_variant_n_children (bad); i++)
    {
      g_autoptr(GVariant) item = g_variant_get_child_value (bad, i);
      g_autofree char *storage = ska_escape (ska_get (item, "storage"));
      g_autofree char *name = ska_escape (ska_get (item, "name"));
      g_autofree char *why = ska_escape (ska_get (item, "why"));

      fprintf (cli->out, "  %s: %s: %s\n", storage, name, why);
    }
}

void
ska_print_fsck (SkaCli *cli, GVariant *reply)
{
  g_autoptr(GVariant) problems = ska_get_list (reply, "problems");
  g_autofree char *checked = ska_count (ska_get_number (reply, "checked"), "thing", "things");

  for (gsize i = 0; i < g_variant_n_children (problems); i++)
    {
      g_autoptr(GVariant) item = g_variant_get_child_value (problems, i);
      g_autofree char *path = ska_escape (ska_get (item, "path"));
      g_autofree char *text = ska_escape (ska_get (item, "text"));

      fprintf (cli->out, "  %s%s%s%s\n", path, *path != '\0' ? ": " : "", text,
               ska_get_flag (item, "repaired") ? " (repaired)" : "");
    }
  if (g_variant_n_children (problems) == 0)
    fprintf (cli->out, "Checked %s in %.1f s; all is well.\n", checked,
             ska_get_double (reply, "seconds"));
  else
    fprintf (cli->out, "Checked %s in %.1f s; %" G_GSIZE_FORMAT " %s.\n", checked,
             ska_get_double (reply, "seconds"), g_variant_n_children (problems),
             g_variant_n_children (problems) == 1 ? "problem" : "problems");
}

void
ska_print_gc (SkaCli *cli, GVariant *reply)
{
  g_autoptr(GVariant) storages = ska_get_list (reply, "storages");

  for (gsize i = 0; i < g_variant_n_children (storages); i++)
    {
      g_autoptr(GVariant) item = g_variant_get_child_value (storages, i);
      g_autofree char *name = ska_escape (ska_get (item, "name"));
      g_autofree char *skipped = ska_escape (ska_get (item, "skipped"));
      g_autofree char *condemned = ska_size (ska_get_number (item, "condemned-bytes"));
      g_autofree char *removed = ska_size (ska_get_number (item, "removed-bytes"));

      if (*skipped != '\0')
        fprintf (cli->out, "  %s: nothing done, %s\n", name, skipped);
      else
        fprintf (cli->out,
                 "  %s: %" G_GUINT64_FORMAT " packs, %" G_GUINT64_FORMAT
                 " condemned (%s), %" G_GUINT64_FORMAT " removed (%s)\n",
                 name, ska_get_number (item, "packs"), ska_get_number (item, "condemned"),
                 condemned, ska_get_number (item, "removed"), removed);
    }
  if (g_variant_n_children (storages) == 0)
    fputs ("No storages.\n", cli->out);
}

void
ska_print_diagnostics (SkaCli *cli, GVariant *reply)
{
  g_autofree char *file = ska_escape (ska_get (reply, "file"));
  g_autofree char *bytes = ska_size (ska_get_number (reply, "bytes"));

  fprintf (cli->out, "Wrote %s (%s).\n", file, bytes);
}
