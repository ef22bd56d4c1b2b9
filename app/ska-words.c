/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-words.h"

#include <glib/gi18n.h>
#include <string.h>

typedef struct
{
  const char *name;              /* as the report says it */
  const char *icon;
  const char *style;
  const char *word;
} Row;

typedef struct
{
  const char *name;
  const char *word;
} Word;

static const Row folder_rows[] = {
  { "up-to-date", "emblem-ok-symbolic", "success", N_("Up to date") },
  { "scanning", "emblem-synchronizing-symbolic", "accent", N_("Looking through the files") },
  { "syncing", "emblem-synchronizing-symbolic", "accent", N_("Syncing") },
  { "waiting", "content-loading-symbolic", "dim-label", N_("Waiting for the other devices") },
  { "needs-you", "dialog-warning-symbolic", "warning", N_("Needs you") },
  { "paused", "media-playback-pause-symbolic", "dim-label", N_("Paused") },
  { "unavailable", "dialog-error-symbolic", "error", N_("Cannot be reached") },
  { "detached", "", "dim-label", N_("Not on this device") },
};

static const Row storage_rows[] = {
  { "online", "emblem-ok-symbolic", "success", N_("Ready") },
  { "offline", "network-offline-symbolic", "error", N_("Cannot be reached") },
  { "behind", "emblem-synchronizing-symbolic", "accent", N_("Not everything is there yet") },
  { "full", "dialog-error-symbolic", "error", N_("Full") },
  { "unknown", "content-loading-symbolic", "dim-label", N_("Not tried yet") },
  { "detached", "", "dim-label", N_("Not set up on this device") },
};

static const Row device_rows[] = {
  { "this", "", "dim-label", N_("This device") },
  { "online", "network-transmit-receive-symbolic", "success", N_("Connected") },
  { "away", "", "dim-label", N_("Away") },
  { "revoked", "action-unavailable-symbolic", "error", N_("Removed from the vault") },
};

static const Row engine_rows[] = {
  [SK_STATE_STARTING] = { "", "content-loading-symbolic", "dim-label", N_("Starting") },
  [SK_STATE_NO_VAULT] = { "", "", "dim-label", N_("No vault yet") },
  [SK_STATE_LOCKED] = { "", "channel-secure-symbolic", "dim-label", N_("Locked") },
  [SK_STATE_UP_TO_DATE] = { "", "emblem-ok-symbolic", "success", N_("Up to date") },
  [SK_STATE_SYNCING] = { "", "emblem-synchronizing-symbolic", "accent", N_("Syncing") },
  [SK_STATE_NEEDS_YOU] = { "", "dialog-warning-symbolic", "warning", N_("Needs you") },
  [SK_STATE_PAUSED] = { "", "media-playback-pause-symbolic", "dim-label", N_("Paused") },
  [SK_STATE_OFFLINE] = { "", "network-offline-symbolic", "error", N_("Offline") },
  [SK_STATE_STOPPED] = { "", "", "dim-label", N_("Stopped") },
  [SK_STATE_FAILED] = { "", "dialog-error-symbolic", "error", N_("Cannot start") },
};

static const Word vias[] = {
  { "lan", N_("Connected on the local network") },
  { "direct", N_("Connected directly") },
  { "punched", N_("Connected through the routers") },
  { "relay", N_("Connected through another device") },
  { "storage", N_("Meets this device in the storage") },
};

static const Word issues[] = {
  { "conflict", N_("Changed in two places") },
  { "failed-item", N_("A file is left behind") },
  { "folder-copy", N_("A folder is there twice") },
  { "folder-missing", N_("A folder is not where it was") },
  { "home", N_("The state of this device was damaged") },
  { "ignore-rules", N_("The rules of a folder cannot be read") },
  { "local-changes", N_("Changed here although it only receives") },
  { "mass-change", N_("A great many files changed at once") },
  { "newcomer", N_("A new device asks to join") },
  { "not-synced", N_("Cannot be synced") },
  { "restored", N_("This device was set back") },
  { "storage", N_("Trouble with a storage") },
  { "storage-log", N_("Something in a storage is damaged") },
  { "unavailable", N_("A place cannot be reached") },
  { "watch-limit", N_("Changes are noticed late") },
};

static const Word choices[] = {
  { "accept", N_("Accept") },
  { "keep-both", N_("Keep Both") },
  { "keep-mine", N_("Keep Mine") },
  { "keep-theirs", N_("Keep Theirs") },
  { "locate", N_("Show Where It Is…") },
  { "merge", N_("Merge") },
  { "refuse", N_("Refuse") },
  { "retry", N_("Try Again") },
};

/* --- tables --- */

static SkaLook
look_of (const Row *row)
{
  return (SkaLook){ .icon = row->icon, .style = row->style, .word = _(row->word) };
}

/* A state that this version does not know looks like the waiting one, under its own name. */
static SkaLook
find_look (const Row *rows, guint n_rows, const char *name)
{
  for (guint i = 0; i < n_rows; i++)
    if (g_strcmp0 (rows[i].name, name) == 0)
      return look_of (&rows[i]);
  return (SkaLook){ .icon = "content-loading-symbolic", .style = "dim-label", .word = name != NULL ? name : "" };
}

static const char *
find_word (const Word *words, guint n_words, const char *name)
{
  for (guint i = 0; i < n_words; i++)
    if (g_strcmp0 (words[i].name, name) == 0)
      return _(words[i].word);
  return NULL;
}

SkaLook
ska_words_engine_look (SkEngineState state)
{
  return look_of (&engine_rows[MIN ((guint) state, G_N_ELEMENTS (engine_rows) - 1)]);
}

SkaLook
ska_words_folder_look (const char *state)
{
  return find_look (folder_rows, G_N_ELEMENTS (folder_rows), state);
}

SkaLook
ska_words_storage_look (const char *state)
{
  return find_look (storage_rows, G_N_ELEMENTS (storage_rows), state);
}

SkaLook
ska_words_device_look (const char *state)
{
  return find_look (device_rows, G_N_ELEMENTS (device_rows), state);
}

const char *
ska_words_issue (const char *kind)
{
  const char *word = find_word (issues, G_N_ELEMENTS (issues), kind);

  return word != NULL ? word : _("Something needs you");
}

const char *
ska_words_choice (const char *choice)
{
  const char *word = find_word (choices, G_N_ELEMENTS (choices), choice);

  return word != NULL ? word : choice;
}

/* --- numbers and times --- */

char *
ska_words_number (guint64 number)
{
  return g_strdup_printf ("%'" G_GUINT64_FORMAT, number);
}

static char *
count_files (guint64 files)
{
  g_autofree char *number = ska_words_number (files);

  /* Translators: %s is a number of files with its digits grouped. */
  return g_strdup_printf (ngettext ("%s file", "%s files", (gulong) MIN (files, G_MAXULONG)), number);
}

char *
ska_words_to_come (guint64 files, guint64 bytes)
{
  g_autofree char *count = count_files (files);
  g_autofree char *size = g_format_size (bytes);

  /* Translators: "12 files (3 MB) to come": what other devices changed and this one does not have yet. */
  return files > 0 ? g_strdup_printf (_("%s (%s) to come"), count, size) : g_strdup ("");
}

char *
ska_words_rate (guint64 bytes_per_second)
{
  g_autofree char *size = g_format_size (bytes_per_second);

  /* Translators: an amount of data per second, as in "3 MB/s". */
  return g_strdup_printf (_("%s/s"), size);
}

char *
ska_words_left (guint64 seconds)
{
  guint64 minutes = (seconds + 30) / 60;
  guint64 hours = (minutes + 30) / 60;

  if (seconds == 0)
    return g_strdup ("");
  if (minutes < 1)
    return g_strdup (_("less than a minute left"));
  if (minutes < 90)
    return g_strdup_printf (ngettext ("about %d minute left", "about %d minutes left", (gulong) minutes), (int) minutes);
  hours = MIN (hours, G_MAXINT);
  return g_strdup_printf (ngettext ("about %d hour left", "about %d hours left", (gulong) hours), (int) hours);
}

char *
ska_words_ago (gint64 when, gint64 now)
{
  gint64 minutes = MAX (now - when, 0) / 60;
  int days = (int) MIN (minutes / (24 * 60), G_MAXINT);

  if (when == 0)
    return NULL;
  if (minutes < 1)
    return g_strdup (_("just now"));
  if (minutes < 60)
    return g_strdup_printf (ngettext ("%d minute ago", "%d minutes ago", (gulong) minutes), (int) minutes);
  if (minutes < 48 * 60)
    return g_strdup_printf (ngettext ("%d hour ago", "%d hours ago", (gulong) minutes / 60), (int) (minutes / 60));
  return g_strdup_printf (ngettext ("%d day ago", "%d days ago", (gulong) days), days);
}

char *
ska_words_join (const char *first, ...)
{
  GString *out = g_string_new (NULL);
  va_list list;

  va_start (list, first);
  for (const char *part = first; part != NULL; part = va_arg (list, const char *))
    {
      if (*part == '\0')
        continue;
      if (out->len > 0)
        g_string_append (out, " · ");
      g_string_append (out, part);
    }
  va_end (list);
  return g_string_free (out, FALSE);
}

char *
ska_words_sentence (const char *text)
{
  GString *out = g_string_new (NULL);

  if (text == NULL || *text == '\0')
    return g_string_free (out, FALSE);
  g_string_append_unichar (out, g_unichar_toupper (g_utf8_get_char (text)));
  g_string_append (out, g_utf8_next_char (text));
  if (strchr (".!?…", out->str[out->len - 1]) == NULL)
    g_string_append_c (out, '.');
  return g_string_free (out, FALSE);
}

static char *
path_with_tilde (const char *path)
{
  const char *home = g_get_home_dir ();
  gsize len = strlen (home);

  if (len > 1 && strncmp (path, home, len) == 0 && (path[len] == '/' || path[len] == '\0'))
    return g_strconcat ("~", path + len, NULL);
  return g_strdup (path);
}

/* --- lines --- */

static char *
rates_of (SkItem *item)
{
  guint64 down = sk_item_get_number (item, "down-rate");
  guint64 up = sk_item_get_number (item, "up-rate");
  g_autofree char *down_text = down > 0 ? ska_words_rate (down) : NULL;
  g_autofree char *up_text = up > 0 ? ska_words_rate (up) : NULL;
  g_autofree char *down_part = down_text != NULL ? g_strconcat ("↓ ", down_text, NULL) : g_strdup ("");
  g_autofree char *up_part = up_text != NULL ? g_strconcat ("↑ ", up_text, NULL) : g_strdup ("");

  return ska_words_join (down_part, up_part, NULL);
}

static char *
moving_of (SkItem *folder)
{
  guint64 waiting = sk_item_get_number (folder, "up-queue");
  g_autofree char *come = ska_words_to_come (sk_item_get_number (folder, "dirty-files"), sk_item_get_number (folder, "dirty-bytes"));
  g_autofree char *number = ska_words_number (waiting);
  g_autofree char *go = waiting > 0 ? g_strdup_printf (ngettext ("%s change to send", "%s changes to send", (gulong) waiting), number) : g_strdup ("");
  g_autofree char *rates = rates_of (folder);

  return ska_words_join (come, go, rates, NULL);
}

char *
ska_words_folder (SkItem *folder)
{
  const char *state = sk_item_get_string (folder, "state");
  const char *message = sk_item_get_string (folder, "message");
  SkaLook look = ska_words_folder_look (state);
  g_autofree char *moving = NULL;

  if (*message != '\0')
    {
      g_autofree char *sentence = ska_words_sentence (message);

      return ska_words_join (look.word, sentence, NULL);
    }
  if (!g_str_equal (state, "syncing") && !g_str_equal (state, "scanning"))
    return g_strdup (look.word);
  moving = moving_of (folder);
  return ska_words_join (look.word, moving, NULL);
}

char *
ska_words_folder_detail (SkItem *folder)
{
  g_autofree char *path = path_with_tilde (sk_item_get_string (folder, "display-path"));
  g_autofree char *files = count_files (sk_item_get_number (folder, "files"));
  g_autofree char *size = g_format_size (sk_item_get_number (folder, "bytes"));

  return ska_words_join (files, size, path, NULL);
}

char *
ska_words_storage (SkItem *storage)
{
  SkaLook look = ska_words_storage_look (sk_item_get_string (storage, "state"));
  g_autofree char *message = ska_words_sentence (sk_item_get_string (storage, "message"));
  guint64 queue = sk_item_get_number (storage, "up-queue");
  g_autofree char *size = g_format_size (queue);
  g_autofree char *waiting = queue > 0 ? g_strdup_printf (_("%s to send"), size) : g_strdup ("");

  return ska_words_join (look.word, message, waiting, NULL);
}

char *
ska_words_storage_detail (SkItem *storage)
{
  const char *uri = sk_item_get_string (storage, "uri");
  g_autofree char *local = g_str_has_prefix (uri, "file:") ? g_filename_from_uri (uri, NULL, NULL) : NULL;
  g_autofree char *shown = local != NULL ? g_filename_display_name (local) : g_strdup (uri);
  g_autofree char *path = path_with_tilde (shown);
  guint64 up = sk_item_get_number (storage, "bytes-up");
  guint64 down = sk_item_get_number (storage, "bytes-down");
  g_autofree char *up_size = g_format_size (up);
  g_autofree char *down_size = g_format_size (down);
  g_autofree char *sent = up > 0 ? g_strdup_printf (_("%s sent"), up_size) : g_strdup ("");
  g_autofree char *received = down > 0 ? g_strdup_printf (_("%s received"), down_size) : g_strdup ("");

  return ska_words_join (sent, received, path, NULL);
}

char *
ska_words_device (SkItem *device)
{
  const char *state = sk_item_get_string (device, "state");
  const char *via = find_word (vias, G_N_ELEMENTS (vias), sk_item_get_string (device, "via"));
  SkaLook look = ska_words_device_look (state);
  g_autofree char *ago = ska_words_ago (sk_item_get_time (device, "last-seen"), g_get_real_time () / G_USEC_PER_SEC);
  g_autofree char *seen = ago != NULL && g_str_equal (state, "away") ? g_strdup_printf (_("last seen %s"), ago) : g_strdup ("");
  g_autofree char *rates = rates_of (device);
  gboolean known_way = via != NULL && (g_str_equal (state, "online") || g_str_equal (state, "away"));

  return ska_words_join (known_way ? via : look.word, seen, rates, NULL);
}
