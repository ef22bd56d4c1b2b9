/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replies about what moves and what wants the person, for people. */
#include "ska-cli.h"

#include <string.h>

/* --- sync --- */

#define FAILED_SHOWN 10u

static void
write_failed (SkaCli *cli, GVariant *failed, guint64 n)
{
  for (gsize i = 0; i < g_variant_n_children (failed) && i < FAILED_SHOWN; i++)
    {
      g_autoptr(GVariant) item = g_variant_get_child_value (failed, i);
      g_autofree char *path = ska_escape (ska_get (item, "path"));
      g_autofree char *why = ska_escape (ska_get (item, "why"));

      fprintf (cli->out, "  %s: %s\n", path, why);
    }
  if (n > FAILED_SHOWN)
    fprintf (cli->out, "  and %" G_GUINT64_FORMAT " more\n", n - FAILED_SHOWN);
}

static void
write_sources (SkaCli *cli, GVariant *sources)
{
  SkaGrid *grid = ska_grid_new ("llrrr");

  for (gsize i = 0; i < g_variant_n_children (sources); i++)
    {
      g_autoptr(GVariant) source = g_variant_get_child_value (sources, i);

      ska_grid_cell (grid, ska_get (source, "name"));
      ska_grid_cell (grid, *ska_get (source, "path") != '\0' ? ska_get (source, "path")
                                                             : ska_get (source, "kind"));
      ska_grid_take (grid, ska_count (ska_get_number (source, "chunks"), "chunk", "chunks"));
      ska_grid_take (grid, ska_size (ska_get_number (source, "wire_bytes")));
      ska_grid_take (grid, ska_count (ska_get_number (source, "requests"), "request", "requests"));
    }
  ska_grid_end (grid, cli->out);
}

/* Stored bytes that came from anywhere. */
static guint64
fetched_bytes (GVariant *sources)
{
  guint64 sum = 0;

  for (gsize i = 0; i < g_variant_n_children (sources); i++)
    {
      g_autoptr(GVariant) source = g_variant_get_child_value (sources, i);

      sum += ska_get_number (source, "wire_bytes");
    }
  return sum;
}

void
ska_print_sync (SkaCli *cli, GVariant *reply)
{
  g_autoptr(GVariant) sent = ska_get_dictionary (reply, "sent");
  g_autoptr(GVariant) sources = ska_get_list (reply, "sources");
  g_autoptr(GVariant) failed = ska_get_list (reply, "failed");
  g_autofree char *in = ska_count (ska_get_number (reply, "files"), "file", "files");
  g_autofree char *in_bytes = ska_size (ska_get_number (reply, "bytes"));
  g_autofree char *out = ska_count (ska_get_number (sent, "files"), "file", "files");
  g_autofree char *out_bytes = ska_size (ska_get_number (sent, "bytes"));
  g_autofree char *in_wire = ska_size (fetched_bytes (sources));
  g_autofree char *out_wire = ska_size (ska_get_number (sent, "wire_bytes"));

  fprintf (cli->out, "Received %s (%s; %s fetched), sent %s (%s; %s stored), in %.1f s.\n", in, in_bytes, in_wire, out, out_bytes, out_wire,
           ska_get_double (reply, "seconds"));
  write_sources (cli, sources);
  if (g_variant_n_children (failed) > 0)
    {
      fputs ("Not done:\n", cli->out);
      write_failed (cli, failed, MAX (ska_get_number (reply, "n-failed"), g_variant_n_children (failed)));
    }
  if (ska_get_flag (reply, "attention"))
    fputs ("Something wants you: see “skerryctl issues”.\n", cli->out);
}

/* --- status --- */

static const char *
state_text (const char *state)
{
  static const struct
  {
    const char *state, *text;
  } texts[] = {
    { "up-to-date", "Up to date" },
    { "syncing", "Syncing" },
    { "needs-you", "Needs you" },
    { "paused", "Paused" },
    { "offline", "Offline" },
    { "", "Starting" },
    { "no-vault", "No vault yet: “skerryctl vault create NAME” or “skerryctl vault join CODE”" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      if (strcmp (texts[i].state, state) == 0)
        return texts[i].text;
    }
  return state;
}

static char *
folder_detail (GVariant *folder)
{
  guint64 down = ska_get_number (folder, "dirty-files");
  guint64 up = ska_get_number (folder, "up-queue");
  guint64 issues = ska_get_number (folder, "issues");
  GString *text = g_string_new (ska_get (folder, "message"));

  if (down > 0)
    g_string_append_printf (text, "%s%" G_GUINT64_FORMAT " to receive", text->len > 0 ? ", " : "",
                            down);
  if (up > 0)
    g_string_append_printf (text, "%s%" G_GUINT64_FORMAT " to send", text->len > 0 ? ", " : "", up);
  if (issues > 0)
    g_string_append_printf (text, "%s%" G_GUINT64_FORMAT " %s", text->len > 0 ? ", " : "", issues,
                            issues == 1 ? "issue" : "issues");
  return g_string_free (text, FALSE);
}

static void
write_folders (SkaCli *cli, GVariant *reply)
{
  g_autoptr(GVariant) folders = ska_get_list (reply, "folders");
  SkaGrid *grid = ska_grid_new ("llrrll");

  if (g_variant_n_children (folders) > 0)
    fputs ("\nFolders\n", cli->out);
  for (gsize i = 0; i < g_variant_n_children (folders); i++)
    {
      g_autoptr(GVariant) folder = g_variant_get_child_value (folders, i);
      g_autofree char *detail = folder_detail (folder);

      ska_grid_cell (grid, ska_get (folder, "name"));
      ska_grid_cell (grid, ska_get (folder, "state"));
      ska_grid_take (grid, ska_count (ska_get_number (folder, "files"), "file", "files"));
      ska_grid_take (grid, ska_size (ska_get_number (folder, "bytes")));
      ska_grid_cell (grid, *ska_get (folder, "path") != '\0' ? ska_get (folder, "path")
                                                             : "not on this device");
      ska_grid_cell (grid, detail);
    }
  ska_grid_end (grid, cli->out);
}

static void
write_others (SkaCli *cli, GVariant *reply)
{
  g_autoptr(GVariant) storages = ska_get_list (reply, "storages");
  g_autoptr(GVariant) devices = ska_get_list (reply, "devices");

  if (g_variant_n_children (storages) > 0)
    {
      fputs ("\nStorages\n", cli->out);
      ska_print_storages (cli, reply);
    }
  if (g_variant_n_children (devices) > 0)
    {
      fputs ("\nDevices\n", cli->out);
      ska_print_devices (cli, reply);
    }
}

static void
write_amounts (SkaCli *cli, GVariant *reply)
{
  g_autoptr(GVariant) left = ska_get_dictionary (reply, "left");
  g_autoptr(GVariant) rates = ska_get_dictionary (reply, "rates");
  guint64 files = ska_get_number (left, "files");
  guint64 seconds = ska_get_number (left, "seconds");
  g_autofree char *bytes = ska_size (ska_get_number (left, "bytes"));
  g_autofree char *up = ska_size (ska_get_number (rates, "up"));
  g_autofree char *down = ska_size (ska_get_number (rates, "down"));
  g_autofree char *time = ska_duration (seconds);

  if (files > 0 || ska_get_number (left, "bytes") > 0)
    fprintf (cli->out, "To do: %" G_GUINT64_FORMAT " %s, %s%s%s\n", files,
             files == 1 ? "file" : "files", bytes, seconds > 0 ? ", about " : "",
             seconds > 0 ? time : "");
  if (ska_get_number (rates, "up") > 0 || ska_get_number (rates, "down") > 0)
    fprintf (cli->out, "Now: %s/s up, %s/s down\n", up, down);
}

void
ska_print_status (SkaCli *cli, GVariant *reply)
{
  g_autoptr(GVariant) vault = ska_get_dictionary (reply, "vault");
  g_autoptr(GVariant) device = ska_get_dictionary (reply, "device");
  g_autofree char *message = ska_escape (ska_get (reply, "message"));
  g_autofree char *vault_name = ska_escape (ska_get (vault, "name"));
  g_autofree char *device_name = ska_escape (ska_get (device, "name"));
  guint64 issues = ska_get_number (reply, "n-issues");

  fprintf (cli->out, "%s%s%s\n", state_text (ska_get (reply, "state")),
           *message != '\0' ? ": " : "", message);
  if (ska_get_number (reply, "paused-until") > 0)
    {
      g_autofree char *until = ska_time ((gint64) ska_get_number (reply, "paused-until"));

      fprintf (cli->out, "Paused until %s\n", until);
    }
  if (*vault_name != '\0')
    fprintf (cli->out, "Vault “%s”, device “%s”%s\n", vault_name, device_name,
             ska_get_flag (reply, "running") ? "" : ", no engine runs");
  ska_print_note (cli, ska_get (vault, "warning"));
  write_amounts (cli, reply);
  write_folders (cli, reply);
  write_others (cli, reply);
  if (issues > 0)
    fprintf (cli->out, "\n%" G_GUINT64_FORMAT " %s: see “skerryctl issues”.\n", issues,
             issues == 1 ? "issue" : "issues");
}

/* --- transfers and traffic --- */

/* "Folder: path", whichever of the two there is. */
static char *
place_of (GVariant *item)
{
  const char *folder = ska_get (item, "folder");
  const char *path = ska_get (item, "path");

  return g_strconcat (folder, *folder != '\0' && *path != '\0' ? ": " : "", path, NULL);
}

void
ska_print_transfers (SkaCli *cli, GVariant *reply)
{
  g_autoptr(GVariant) transfers = ska_get_list (reply, "transfers");
  SkaGrid *grid = ska_grid_new ("lllrrl");

  if (g_variant_n_children (transfers) == 0)
    fputs ("Nothing is being moved.\n", cli->out);
  for (gsize i = 0; i < g_variant_n_children (transfers); i++)
    {
      g_autoptr(GVariant) item = g_variant_get_child_value (transfers, i);
      g_autofree char *rate = ska_size (ska_get_number (item, "rate"));
      g_autofree char *place = place_of (item);
      guint64 bytes = ska_get_number (item, "bytes");
      guint64 done = MIN (ska_get_number (item, "done"), bytes);

      ska_grid_cell (grid, ska_get (item, "direction"));
      ska_grid_cell (grid, ska_get (item, "state"));
      ska_grid_cell (grid, ska_get (item, "via"));
      ska_grid_take (
          grid, g_strdup_printf ("%u %%",
                                 bytes > 0 ? (guint) ((double) done / (double) bytes * 100) : 0));
      ska_grid_take (grid, g_strconcat (rate, "/s", NULL));
      ska_grid_cell (grid, place);
    }
  ska_grid_end (grid, cli->out);
}

static void
write_amounts_of (SkaCli *cli, GVariant *list, const char *title)
{
  SkaGrid *grid = ska_grid_new ("llrr");

  if (g_variant_n_children (list) > 0)
    fprintf (cli->out, "\n%s\n", title);
  for (gsize i = 0; i < g_variant_n_children (list); i++)
    {
      g_autoptr(GVariant) item = g_variant_get_child_value (list, i);
      g_autofree char *up = ska_size (ska_get_number (item, "up"));
      g_autofree char *down = ska_size (ska_get_number (item, "down"));

      ska_grid_cell (grid, ska_get (item, "name"));
      ska_grid_cell (grid, ska_get (item, "path"));
      ska_grid_take (grid, g_strconcat (up, " up", NULL));
      ska_grid_take (grid, g_strconcat (down, " down", NULL));
    }
  ska_grid_end (grid, cli->out);
}

void
ska_print_traffic (SkaCli *cli, GVariant *reply)
{
  g_autoptr(GVariant) devices = ska_get_list (reply, "devices");
  g_autoptr(GVariant) storages = ska_get_list (reply, "storages");
  g_autofree char *up = ska_size (ska_get_number (reply, "up"));
  g_autofree char *down = ska_size (ska_get_number (reply, "down"));
  g_autofree char *since = ska_time ((gint64) ska_get_number (reply, "since"));

  fprintf (cli->out, "%s up, %s down%s%s\n", up, down,
           ska_get_number (reply, "since") > 0 ? " since " : "",
           ska_get_number (reply, "since") > 0 ? since : "");
  write_amounts_of (cli, devices, "Devices");
  write_amounts_of (cli, storages, "Storages");
}

/* --- issues and activity --- */

void
ska_print_issues (SkaCli *cli, GVariant *reply)
{
  g_autoptr(GVariant) issues = ska_get_list (reply, "issues");

  if (g_variant_n_children (issues) == 0)
    fputs ("Nothing wants you.\n", cli->out);
  for (gsize i = 0; i < g_variant_n_children (issues); i++)
    {
      g_autoptr(GVariant) issue = g_variant_get_child_value (issues, i);
      g_autofree char *place = place_of (issue);
      g_autofree char *shown = ska_escape (place);
      g_autofree char *text = ska_escape (ska_get (issue, "text"));
      g_autofree char *since = ska_ago ((gint64) ska_get_number (issue, "since"));
      g_autofree const char **choices = NULL;
      g_autofree char *joined = NULL;

      fprintf (cli->out, "%" G_GUINT64_FORMAT "  %s%s%s (%s)\n", ska_get_number (issue, "id"),
               shown, *shown != '\0' ? ": " : "", text, since);
      if (!g_variant_lookup (issue, "choices", "^a&s", &choices) || choices[0] == NULL)
        continue;
      joined = g_strjoinv (" | ", (char **) choices);
      fprintf (cli->out, "    skerryctl resolve %" G_GUINT64_FORMAT " %s\n",
               ska_get_number (issue, "id"), joined);
    }
}

void
ska_print_activity (SkaCli *cli, GVariant *reply)
{
  g_autoptr(GVariant) activity = ska_get_list (reply, "activity");
  SkaGrid *grid = ska_grid_new ("rllll");

  if (g_variant_n_children (activity) == 0)
    fputs ("Nothing happened yet.\n", cli->out);
  for (gsize i = 0; i < g_variant_n_children (activity); i++)
    {
      g_autoptr(GVariant) item = g_variant_get_child_value (activity, i);
      g_autofree char *place = place_of (item);

      ska_grid_take (grid, g_strdup_printf ("%" G_GUINT64_FORMAT, ska_get_number (item, "id")));
      ska_grid_take (grid, ska_time ((gint64) ska_get_number (item, "time")));
      ska_grid_cell (grid, ska_get (item, "kind"));
      ska_grid_cell (grid, place);
      ska_grid_cell (grid, ska_get (item, "detail"));
    }
  ska_grid_end (grid, cli->out);
}

void
ska_print_pause (SkaCli *cli, GVariant *reply)
{
  g_autofree char *until = ska_time ((gint64) ska_get_number (reply, "until"));

  if (ska_get_number (reply, "until") > 0)
    fprintf (cli->out, "Paused until %s.\n", until);
  else
    fputs ("Paused until “skerryctl resume”.\n", cli->out);
}

void
ska_print_resolved (SkaCli *cli, GVariant *reply)
{
  guint64 left = ska_get_number (reply, "left");

  if (left == 0)
    fputs ("Done. Nothing else wants you.\n", cli->out);
  else
    fprintf (cli->out, "Done. %" G_GUINT64_FORMAT " %s left.\n", left,
             left == 1 ? "issue is" : "issues are");
}

void
ska_print_undo (SkaCli *cli, GVariant *reply)
{
  g_autofree char *text = ska_escape (ska_get (reply, "text"));
  g_autofree char *files = ska_count (ska_get_number (reply, "files"), "file", "files");

  fprintf (cli->out, "%s%s%s.\n", text, *text != '\0' ? ": " : "", files);
}
