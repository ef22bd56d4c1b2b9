/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replies about vault, storages, folders, devices and invitations, for people. */
#include "ska-cli.h"

#include <string.h>

#define LABEL_WIDTH 14

/* "Label:        text", left out when @text is empty. */
static void
line (SkaCli *cli, const char *label, const char *text)
{
  g_autofree char *shown = ska_escape (text);
  g_autofree char *colon = g_strconcat (label, ":", NULL);

  if (*shown != '\0')
    fprintf (cli->out, "%-*s %s\n", LABEL_WIDTH, colon, shown);
}

static void
line_take (SkaCli *cli, const char *label, char *text)
{
  line (cli, label, text);
  g_free (text);
}

static void
named (SkaCli *cli, const char *label, GVariant *reply, const char *name, const char *id)
{
  line_take (cli, label, g_strdup_printf ("%s (%s)", ska_get (reply, name), ska_get (reply, id)));
}

static void
warning (SkaCli *cli, GVariant *reply)
{
  ska_print_note (cli, ska_get (reply, "warning"));
}

/* A sentence of the engine, which may or may not bring its full stop. */
void
ska_print_note (SkaCli *cli, const char *text)
{
  g_autofree char *shown = ska_escape (text);

  if (*shown != '\0')
    fprintf (cli->out, "Note: %s%s\n", shown, g_str_has_suffix (shown, ".") ? "" : ".");
}

void
ska_print_nothing (SkaCli *cli, GVariant *reply)
{
}

static const char *
keys_text (const char *keys)
{
  if (strcmp (keys, "keyring") == 0)
    return "in the keyring of the session";
  if (strcmp (keys, "passphrase") == 0)
    return "sealed with a passphrase";
  if (strcmp (keys, "plain") == 0)
    return "in a plain file, not protected";
  return keys;
}

/* Numbered, for paper, on a terminal; one line otherwise, for a file. Both are read back. */
static void
write_phrase (SkaCli *cli, const char *phrase)
{
  g_auto(GStrv) words = g_strsplit (phrase, " ", 0);

  if (!ska_is_terminal (cli->out))
    {
      fprintf (cli->out, "%s\n", phrase);
      return;
    }
  for (guint i = 0; words[i] != NULL; i++)
    fprintf (cli->out, "  %2u %-10s%s", i + 1, words[i],
             i % 4 == 3 || words[i + 1] == NULL ? "\n" : "");
}

void
ska_print_vault_new (SkaCli *cli, GVariant *reply)
{
  const char *phrase = ska_get (reply, "phrase");

  named (cli, "Vault", reply, "vault-name", "vault");
  named (cli, "This device", reply, "device-name", "device");
  line (cli, "Keys", keys_text (ska_get (reply, "keys")));
  warning (cli, reply);
  if (*phrase == '\0')
    return;
  fputs ("\nRecovery phrase: write these 24 words on paper. They open the vault when every device "
         "is lost.\n\n",
         cli->out);
  write_phrase (cli, phrase);
  fputs ("\nCheck what you wrote with “skerryctl vault recovery --check”.\n", cli->out);
}

void
ska_print_vault (SkaCli *cli, GVariant *reply)
{
  named (cli, "Vault", reply, "vault-name", "vault");
  named (cli, "This device", reply, "device-name", "device");
  line (cli, "Home", ska_get (reply, "home"));
  line (cli, "Keys", keys_text (ska_get (reply, "keys")));
  line (cli, "Key file", ska_get (reply, "key-file"));
  warning (cli, reply);
  line (cli, "Recovery",
        ska_get_flag (reply, "phrase-kept") ? "not yet checked, see “skerryctl vault recovery”"
                                            : "the phrase is not kept on this device");
  line (cli, "Epoch", ska_get (reply, "epoch"));
  if (ska_get_number (reply, "epochs") > 0)
    line_take (cli, "Epochs",
               g_strdup_printf ("%" G_GUINT64_FORMAT, ska_get_number (reply, "epochs")));
  line_take (cli, "Devices",
             g_strdup_printf ("%" G_GUINT64_FORMAT, ska_get_number (reply, "devices")));
  line_take (cli, "Folders",
             g_strdup_printf ("%" G_GUINT64_FORMAT, ska_get_number (reply, "folders")));
  line_take (cli, "Storages",
             g_strdup_printf ("%" G_GUINT64_FORMAT, ska_get_number (reply, "storages")));
}

void
ska_print_phrase (SkaCli *cli, GVariant *reply)
{
  if (*ska_get (reply, "phrase") != '\0')
    write_phrase (cli, ska_get (reply, "phrase"));
  else
    fputs ("The phrase is right. It is no longer kept on this device.\n", cli->out);
}

/* --- storages --- */

void
ska_print_storage_new (SkaCli *cli, GVariant *reply)
{
  named (cli, "Storage", reply, "name", "storage");
  line (cli, "Location", ska_get (reply, "uri"));
  fputs (ska_get_flag (reply, "new") ? "The storage is new and empty.\n"
                                     : "The storage holds data of this vault already.\n",
         cli->out);
  warning (cli, reply);
}

static void
storage_row (SkaGrid *grid, GVariant *storage)
{
  ska_grid_cell (grid, ska_get (storage, "name"));
  ska_grid_cell (grid, ska_get (storage, "state"));
  ska_grid_cell (grid, ska_get (storage, "uri"));
  ska_grid_cell (grid, ska_get (storage, "message"));
}

void
ska_print_storages (SkaCli *cli, GVariant *reply)
{
  g_autoptr(GVariant) storages = ska_get_list (reply, "storages");
  SkaGrid *grid = ska_grid_new ("llll");

  if (g_variant_n_children (storages) == 0)
    fputs ("No storages. Add one with “skerryctl storage add NAME URI”.\n", cli->out);
  for (gsize i = 0; i < g_variant_n_children (storages); i++)
    {
      g_autoptr(GVariant) storage = g_variant_get_child_value (storages, i);

      storage_row (grid, storage);
    }
  ska_grid_end (grid, cli->out);
}

static void
write_settings (SkaCli *cli, GVariant *reply)
{
  g_autoptr(GVariant) settings
      = g_variant_lookup_value (reply, "settings", G_VARIANT_TYPE ("a{ss}"));
  GVariantIter iter;
  const char *key;
  const char *value;

  if (settings == NULL)
    return;
  g_variant_iter_init (&iter, settings);
  while (g_variant_iter_next (&iter, "{&s&s}", &key, &value))
    {
      g_autofree char *shown = ska_escape (value);

      fprintf (cli->out, "  %s=%s\n", key, shown);
    }
}

static void
names_line (SkaCli *cli, const char *label, GVariant *reply, const char *key)
{
  g_autofree const char **names = NULL;

  if (!g_variant_lookup (reply, key, "^a&s", &names) || names[0] == NULL)
    return;
  line_take (cli, label, g_strjoinv (", ", (char **) names));
}

static char *
up_and_down (GVariant *dictionary, const char *up, const char *down)
{
  g_autofree char *sent = ska_size (ska_get_number (dictionary, up));
  g_autofree char *got = ska_size (ska_get_number (dictionary, down));

  return g_strdup_printf ("%s up, %s down", sent, got);
}

void
ska_print_storage (SkaCli *cli, GVariant *reply)
{
  named (cli, "Storage", reply, "name", "id");
  line (cli, "Location", ska_get (reply, "uri"));
  line (cli, "State", ska_get (reply, "state"));
  line (cli, "", ska_get (reply, "message"));
  line_take (cli, "Last seen", ska_ago ((gint64) ska_get_number (reply, "last-seen")));
  names_line (cli, "Folders", reply, "folders");
  line_take (cli, "Packs", g_strdup_printf ("%" G_GUINT64_FORMAT, ska_get_number (reply, "packs")));
  line_take (cli, "Stored", ska_size (ska_get_number (reply, "packs-bytes")));
  line_take (cli, "Verified", ska_size (ska_get_number (reply, "verified-bytes")));
  line_take (cli, "Moved", up_and_down (reply, "bytes-up", "bytes-down"));
  line_take (cli, "Requests",
             g_strdup_printf ("%" G_GUINT64_FORMAT " puts, %" G_GUINT64_FORMAT
                              " gets, %" G_GUINT64_FORMAT " lists, %" G_GUINT64_FORMAT
                              " removes, %" G_GUINT64_FORMAT " errors",
                              ska_get_number (reply, "puts"), ska_get_number (reply, "gets"),
                              ska_get_number (reply, "lists"), ska_get_number (reply, "removes"),
                              ska_get_number (reply, "errors")));
  fputs ("Settings:\n", cli->out);
  write_settings (cli, reply);
}

void
ska_print_storage_removed (SkaCli *cli, GVariant *reply)
{
  fputs ("The storage is no longer used.\n", cli->out);
  names_line (cli, "Folders", reply, "folders");
  warning (cli, reply);
}

void
ska_print_settings (SkaCli *cli, GVariant *reply)
{
  g_autofree const char **changed = NULL;

  write_settings (cli, reply);
  if (!g_variant_lookup (reply, "changed", "^a&s", &changed))
    return;
  for (guint i = 0; changed[i] != NULL; i++)
    ska_print_note (cli, changed[i]);
}

/* --- folders --- */

void
ska_print_folder_new (SkaCli *cli, GVariant *reply)
{
  named (cli, "Folder", reply, "name", "folder");
  line (cli, "Path", ska_get (reply, "path"));
  warning (cli, reply);
}

void
ska_print_folder_detached (SkaCli *cli, GVariant *reply)
{
  g_autofree char *name = ska_escape (ska_get (reply, "name"));
  g_autofree char *path = ska_escape (ska_get (reply, "path"));

  fprintf (cli->out, "The folder “%s” is no longer kept on this device. The files stay in %s.\n",
           name, path);
}

void
ska_print_folders (SkaCli *cli, GVariant *reply)
{
  g_autoptr(GVariant) folders = ska_get_list (reply, "folders");
  SkaGrid *grid = ska_grid_new ("lllrrl");

  if (g_variant_n_children (folders) == 0)
    fputs ("No folders. Add one with “skerryctl folder add NAME PATH”.\n", cli->out);
  for (gsize i = 0; i < g_variant_n_children (folders); i++)
    {
      g_autoptr(GVariant) folder = g_variant_get_child_value (folders, i);

      ska_grid_cell (grid, ska_get (folder, "name"));
      ska_grid_cell (grid, ska_get (folder, "state"));
      ska_grid_cell (grid, ska_get (folder, "mode"));
      ska_grid_take (grid, ska_count (ska_get_number (folder, "files"), "file", "files"));
      ska_grid_take (grid, ska_size (ska_get_number (folder, "bytes")));
      ska_grid_cell (grid, *ska_get (folder, "path") != '\0' ? ska_get (folder, "path")
                                                             : "not on this device");
    }
  ska_grid_end (grid, cli->out);
}

/* --- devices --- */

void
ska_print_devices (SkaCli *cli, GVariant *reply)
{
  g_autoptr(GVariant) devices = ska_get_list (reply, "devices");
  SkaGrid *grid = ska_grid_new ("llll");

  for (gsize i = 0; i < g_variant_n_children (devices); i++)
    {
      g_autoptr(GVariant) device = g_variant_get_child_value (devices, i);

      ska_grid_cell (grid, ska_get (device, "name"));
      ska_grid_cell (grid, ska_get (device, "state"));
      ska_grid_cell (grid, ska_get (device, "id"));
      ska_grid_take (grid, ska_get_flag (device, "self")
                               ? g_strdup ("")
                               : ska_ago ((gint64) ska_get_number (device, "last-seen")));
    }
  ska_grid_end (grid, cli->out);
}

void
ska_print_device (SkaCli *cli, GVariant *reply)
{
  named (cli, "Device", reply, "name", "id");
  line (cli, "State", ska_get (reply, "state"));
  line (cli, "By way of", ska_get (reply, "via"));
  if (!ska_get_flag (reply, "self"))
    line_take (cli, "Last seen", ska_ago ((gint64) ska_get_number (reply, "last-seen")));
  line_take (cli, "Added", ska_time ((gint64) ska_get_number (reply, "added")));
  line (cli, "Added by", ska_get (reply, "added-by"));
  line_take (
      cli, "Log",
      g_strdup_printf ("%" G_GUINT64_FORMAT " segments merged, %" G_GUINT64_FORMAT " to come",
                       ska_get_number (reply, "position"), ska_get_number (reply, "behind")));
  line (cli, "Fingerprint", ska_get (reply, "fingerprint"));
}

void
ska_print_invites (SkaCli *cli, GVariant *reply)
{
  g_autoptr(GVariant) invites = ska_get_list (reply, "invites");
  SkaGrid *grid = ska_grid_new ("lllll");

  if (g_variant_n_children (invites) == 0)
    fputs ("No invitations.\n", cli->out);
  for (gsize i = 0; i < g_variant_n_children (invites); i++)
    {
      g_autoptr(GVariant) invite = g_variant_get_child_value (invites, i);

      ska_grid_cell (grid, ska_get (invite, "invite"));
      ska_grid_cell (grid, ska_get (invite, "state"));
      ska_grid_take (grid, ska_time ((gint64) ska_get_number (invite, "expires")));
      ska_grid_cell (grid, ska_get (invite, "device-name"));
      ska_grid_cell (grid, ska_get (invite, "words"));
    }
  ska_grid_end (grid, cli->out);
}
