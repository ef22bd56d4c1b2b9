/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "ska-window-actions.h"

#include <glib/gi18n.h>
#include <string.h>

#include "sk-item.h"
#include "ska-chooser.h"
#include "ska-deed.h"
#include "ska-invite-window.h"
#include "ska-recovery-window.h"
#include "ska-storage-window.h"
#include "ska-words.h"

/* --- what is there --- */

/* (transfer full) NULL when it has gone meanwhile. */
static SkItem *
find_item (GListModel *list, const char *property, const char *value)
{
  guint n = g_list_model_get_n_items (list);

  for (guint i = 0; i < n; i++)
    {
      g_autoptr(SkItem) item = g_list_model_get_item (list, i);

      if (g_strcmp0 (sk_item_get_string (item, property), value) == 0)
        return g_steal_pointer (&item);
    }
  return NULL;
}

static SkItem *
find_folder (SkaWindow *self, GVariant *id)
{
  return find_item (sk_engine_get_folders (ska_window_get_engine (self)), "id", g_variant_get_string (id, NULL));
}

static SkItem *
find_storage (SkaWindow *self, GVariant *id)
{
  return find_item (sk_engine_get_storages (ska_window_get_engine (self)), "id", g_variant_get_string (id, NULL));
}

/* @name, or with a number when the vault has a folder of that name. (transfer full) */
static char *
free_name (SkaWindow *self, const char *name)
{
  GListModel *folders = sk_engine_get_folders (ska_window_get_engine (self));
  g_autofree char *candidate = g_strdup (name);

  for (guint number = 2;; number++)
    {
      g_autoptr(SkItem) taken = find_item (folders, "name", candidate);

      if (taken == NULL)
        return g_steal_pointer (&candidate);
      g_free (candidate);
      candidate = g_strdup_printf ("%s %u", name, number);
    }
}

/* --- folders --- */

typedef struct
{
  SkaWindow *window;
  char *path;                    /* exact bytes */
  char *id;                      /* of the folder, where there is one */
} Place;

static Place *
place_new (SkaWindow *window, const char *path, const char *id)
{
  Place *place = g_new0 (Place, 1);

  place->window = g_object_ref (window);
  place->path = g_strdup (path);
  place->id = g_strdup (id);
  return place;
}

static void
place_free (gpointer data)
{
  Place *place = data;

  g_object_unref (place->window);
  g_free (place->path);
  g_free (place->id);
  g_free (place);
}

static void
add_folder (SkaWindow *self, const char *path)
{
  g_autofree char *base = g_path_get_basename (path);
  g_autofree char *display = g_filename_display_name (base);
  g_autofree char *name = free_name (self, display);
  g_autofree char *failed = g_strdup_printf (_("“%s” Could Not Be Added"), name);
  g_autofree char *done = g_strdup_printf (_("“%s” was added"), name);
  SkaDeed deed = { .failed = failed, .done = done };
  g_auto(GVariantDict) args = G_VARIANT_DICT_INIT (NULL);

  g_variant_dict_insert (&args, "name", "s", name);
  g_variant_dict_insert_value (&args, "path", g_variant_new_bytestring (path));
  ska_deed_start (self, "folder.add", g_variant_dict_end (&args), &deed);
}

static void
attach_folder (SkaWindow *self, SkItem *folder, const char *path)
{
  const char *name = sk_item_get_string (folder, "name");
  g_autofree char *failed = g_strdup_printf (_("“%s” Could Not Be Set Up Here"), name);
  g_autofree char *done = g_strdup_printf (_("“%s” is now on this device"), name);
  SkaDeed deed = { .failed = failed, .done = done };
  g_auto(GVariantDict) args = G_VARIANT_DICT_INIT (NULL);

  g_variant_dict_insert (&args, "name", "s", sk_item_get_string (folder, "id"));
  g_variant_dict_insert_value (&args, "path", g_variant_new_bytestring (path));
  ska_deed_start (self, "folder.attach", g_variant_dict_end (&args), &deed);
}

static void
on_same_or_new (AdwMessageDialog *dialog, const char *response, gpointer data)
{
  Place *place = data;
  g_autoptr(SkItem) folder = find_item (sk_engine_get_folders (ska_window_get_engine (place->window)), "id", place->id);

  if (g_str_equal (response, "same") && folder != NULL)
    attach_folder (place->window, folder, place->path);
  else if (g_str_equal (response, "new"))
    add_folder (place->window, place->path);
}

static void
ask_same_or_new (SkaWindow *self, const char *path, SkItem *folder)
{
  const char *name = sk_item_get_string (folder, "name");
  GtkWidget *dialog = adw_message_dialog_new (GTK_WINDOW (self), _("The Same Folder?"), NULL);

  adw_message_dialog_format_body (ADW_MESSAGE_DIALOG (dialog),
                                  _("Your vault already has a folder “%s” that is not on this device yet. Are these the same files?"), name);
  adw_message_dialog_add_responses (ADW_MESSAGE_DIALOG (dialog), "cancel", _("Cancel"), "new", _("Another Folder"), "same", _("The Same"), NULL);
  adw_message_dialog_set_response_appearance (ADW_MESSAGE_DIALOG (dialog), "same", ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_close_response (ADW_MESSAGE_DIALOG (dialog), "cancel");
  g_signal_connect_data (dialog, "response", G_CALLBACK (on_same_or_new), place_new (self, path, sk_item_get_id (folder)),
                         (GClosureNotify) (GCallback) place_free, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

void
ska_window_actions_take_directory (SkaWindow *self, const char *path)
{
  g_autofree char *base = g_path_get_basename (path);
  g_autofree char *display = g_filename_display_name (base);
  g_autoptr(SkItem) known = find_item (sk_engine_get_folders (ska_window_get_engine (self)), "name", display);

  if (known != NULL && g_str_equal (sk_item_get_string (known, "state"), "detached"))
    ask_same_or_new (self, path, known);
  else
    add_folder (self, path);
}

static void
on_directory_chosen (GFile *directory, gpointer data)
{
  Place *place = data;
  const char *path = g_file_peek_path (directory);
  g_autoptr(SkItem) folder = find_item (sk_engine_get_folders (ska_window_get_engine (place->window)), "id", place->id);

  if (path == NULL)
    ska_say (GTK_WIDGET (place->window), _("This Cannot Be Added"), _("That place is not on this computer. Choose a folder of a disk."));
  else if (place->id == NULL)
    ska_window_actions_take_directory (place->window, path);
  else if (folder != NULL)
    attach_folder (place->window, folder, path);
}

static void
on_add_folder (GtkWidget *widget, const char *name, GVariant *parameter)
{
  ska_choose_directory (GTK_WINDOW (widget), _("Choose a Folder"), _("Add"), on_directory_chosen, place_new (SKA_WINDOW (widget), NULL, NULL), place_free);
}

static void
on_attach_folder (GtkWidget *widget, const char *name, GVariant *parameter)
{
  SkaWindow *self = SKA_WINDOW (widget);
  g_autoptr(SkItem) folder = find_folder (self, parameter);
  g_autofree char *title = NULL;

  if (folder == NULL)
    return;
  title = g_strdup_printf (_("Where Shall “%s” Lie?"), sk_item_get_string (folder, "name"));
  ska_choose_directory (GTK_WINDOW (self), title, _("Use This Folder"), on_directory_chosen, place_new (self, NULL, sk_item_get_id (folder)), place_free);
}

static void
on_open_folder (GtkWidget *widget, const char *name, GVariant *parameter)
{
  g_autoptr(SkItem) folder = find_folder (SKA_WINDOW (widget), parameter);
  g_autofree char *uri = folder != NULL ? g_filename_to_uri (sk_item_get_string (folder, "path"), NULL, NULL) : NULL;

  if (uri != NULL)
    gtk_show_uri (GTK_WINDOW (widget), uri, GDK_CURRENT_TIME);
}

/* --- questions before something ends --- */

typedef struct
{
  SkaWindow *window;
  char *command, *id, *failed, *done;
} Ending;

static void
ending_free (gpointer data)
{
  Ending *ending = data;

  g_object_unref (ending->window);
  g_free (ending->command);
  g_free (ending->id);
  g_free (ending->failed);
  g_free (ending->done);
  g_free (ending);
}

static void
on_ending_answer (AdwMessageDialog *dialog, const char *response, gpointer data)
{
  Ending *ending = data;
  SkaDeed deed = { .failed = ending->failed, .done = ending->done };
  g_auto(GVariantDict) args = G_VARIANT_DICT_INIT (NULL);

  if (!g_str_equal (response, "do"))
    return;
  g_variant_dict_insert (&args, "name", "s", ending->id);
  ska_deed_start (ending->window, ending->command, g_variant_dict_end (&args), &deed);
}

/* Takes over @failed and @done. */
static Ending *
ending_new (GtkWidget *widget, const char *command, SkItem *item, char *failed, char *done)
{
  Ending *ending = g_new0 (Ending, 1);

  ending->window = g_object_ref (SKA_WINDOW (widget));
  ending->command = g_strdup (command);
  ending->id = g_strdup (sk_item_get_id (item));
  ending->failed = failed;
  ending->done = done;
  return ending;
}

/* Takes over @ending. */
static void
ask_before_ending (Ending *ending, const char *heading, const char *body, const char *action)
{
  GtkWidget *dialog = adw_message_dialog_new (GTK_WINDOW (ending->window), heading, body);

  adw_message_dialog_add_responses (ADW_MESSAGE_DIALOG (dialog), "cancel", _("Cancel"), "do", action, NULL);
  adw_message_dialog_set_response_appearance (ADW_MESSAGE_DIALOG (dialog), "do", ADW_RESPONSE_DESTRUCTIVE);
  adw_message_dialog_set_close_response (ADW_MESSAGE_DIALOG (dialog), "cancel");
  g_signal_connect_data (dialog, "response", G_CALLBACK (on_ending_answer), ending, (GClosureNotify) (GCallback) ending_free, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
on_detach_folder (GtkWidget *widget, const char *name, GVariant *parameter)
{
  g_autoptr(SkItem) folder = find_folder (SKA_WINDOW (widget), parameter);
  g_autofree char *heading = NULL;
  const char *shown;
  Ending *ending;

  if (folder == NULL)
    return;
  shown = sk_item_get_string (folder, "name");
  ending = ending_new (widget, "folder.detach", folder, g_strdup_printf (_("“%s” Is Still Synced Here"), shown),
                       g_strdup_printf (_("“%s” is no longer synced on this device"), shown));
  heading = g_strdup_printf (_("Stop Syncing “%s” Here?"), shown);
  ask_before_ending (ending, heading, _("The files stay where they are, on this device and on the others. They are just not kept the same any more."),
                     _("Stop Syncing"));
}

static void
on_remove_storage (GtkWidget *widget, const char *name, GVariant *parameter)
{
  g_autoptr(SkItem) storage = find_storage (SKA_WINDOW (widget), parameter);
  g_autofree char *heading = NULL;
  const char *shown;
  Ending *ending;

  if (storage == NULL)
    return;
  shown = sk_item_get_string (storage, "name");
  ending = ending_new (widget, "storage.remove", storage, g_strdup_printf (_("“%s” Could Not Be Removed"), shown),
                       g_strdup_printf (_("“%s” is no longer used"), shown));
  heading = g_strdup_printf (_("Stop Using “%s”?"), shown);
  ask_before_ending (ending, heading, _("No device will use this storage any more. What lies there is not deleted; without the keys of this vault nobody can read it."),
                     _("Stop Using"));
}

/* --- storages, devices --- */

static void
on_add_storage (GtkWidget *widget, const char *name, GVariant *parameter)
{
  gtk_window_present (GTK_WINDOW (ska_storage_window_new (SKA_WINDOW (widget), NULL)));
}

static void
on_attach_storage (GtkWidget *widget, const char *name, GVariant *parameter)
{
  g_autoptr(SkItem) storage = find_storage (SKA_WINDOW (widget), parameter);

  if (storage != NULL)
    gtk_window_present (GTK_WINDOW (ska_storage_window_new (SKA_WINDOW (widget), sk_item_get_string (storage, "name"))));
}

static void
on_invite (GtkWidget *widget, const char *name, GVariant *parameter)
{
  GListModel *storages = sk_engine_get_storages (ska_window_get_engine (SKA_WINDOW (widget)));

  if (g_list_model_get_n_items (storages) == 0)
    {
      ska_say (widget, _("First a Storage"), _("Devices meet in a storage. Add one that the new device can reach as well, then invite it."));
      return;
    }
  gtk_window_present (GTK_WINDOW (ska_invite_window_new (SKA_WINDOW (widget))));
}

static void
on_recovery (GtkWidget *widget, const char *name, GVariant *parameter)
{
  gtk_window_present (GTK_WINDOW (ska_recovery_window_new (SKA_WINDOW (widget))));
}

/* --- moving --- */

static void
after_sync (SkaWindow *self, GVariant *reply, gpointer user_data)
{
  guint64 files = 0;
  gboolean attention = FALSE;
  g_autofree char *number = NULL;
  g_autofree char *text = NULL;

  g_variant_lookup (reply, "files", "t", &files);
  /* What it is stands among the things that need the person. */
  if (g_variant_lookup (reply, "attention", "b", &attention) && attention)
    {
      ska_window_toast (self, _("Not everything could be synced"));
      return;
    }
  number = ska_words_number (files);
  text = files > 0 ? g_strdup_printf (ngettext ("Synced: %s file came in", "Synced: %s files came in", (gulong) MIN (files, G_MAXULONG)), number)
                   : g_strdup (_("Synced: nothing new came in"));
  ska_window_toast (self, text);
}

static void
on_sync (GtkWidget *widget, const char *name, GVariant *parameter)
{
  SkaDeed deed = { .failed = _("Syncing Did Not Work"), .reply = after_sync };

  ska_deed_start (SKA_WINDOW (widget), "sync", NULL, &deed);
}

static void
on_pause (GtkWidget *widget, const char *name, GVariant *parameter)
{
  SkaDeed deed = { .failed = _("Syncing Could Not Be Paused") };

  ska_deed_start (SKA_WINDOW (widget), "pause", NULL, &deed);
}

static void
on_resume (GtkWidget *widget, const char *name, GVariant *parameter)
{
  SkaDeed deed = { .failed = _("Syncing Could Not Go On") };

  ska_deed_start (SKA_WINDOW (widget), "resume", NULL, &deed);
}

/* --- issues --- */

typedef struct
{
  SkaWindow *window;
  guint64 issue;
} Locating;

static void
locating_free (gpointer data)
{
  Locating *locating = data;

  g_object_unref (locating->window);
  g_free (locating);
}

static void
resolve (SkaWindow *self, guint64 issue, const char *choice, const char *path)
{
  SkaDeed deed = { .failed = _("That Did Not Work") };
  g_auto(GVariantDict) args = G_VARIANT_DICT_INIT (NULL);

  g_variant_dict_insert (&args, "issue", "t", issue);
  g_variant_dict_insert (&args, "choice", "s", choice);
  if (path != NULL)
    g_variant_dict_insert_value (&args, "path", g_variant_new_bytestring (path));
  ska_deed_start (self, "resolve", g_variant_dict_end (&args), &deed);
}

static void
on_located (GFile *directory, gpointer data)
{
  Locating *locating = data;

  if (g_file_peek_path (directory) != NULL)
    resolve (locating->window, locating->issue, "locate", g_file_peek_path (directory));
}

static void
on_resolve (GtkWidget *widget, const char *name, GVariant *parameter)
{
  const char *choice;
  guint64 issue;

  g_variant_get (parameter, "(t&s)", &issue, &choice);
  if (g_str_equal (choice, "locate"))
    {
      Locating *locating = g_new0 (Locating, 1);

      locating->window = g_object_ref (SKA_WINDOW (widget));
      locating->issue = issue;
      ska_choose_directory (GTK_WINDOW (widget), _("Where Is the Folder Now?"), _("It Is Here"), on_located, locating, locating_free);
      return;
    }
  resolve (SKA_WINDOW (widget), issue, choice, NULL);
}

/* --- table --- */

static const struct { const char *name, *type; GtkWidgetActionActivateFunc activate; } actions[] = {
  { "win.add-folder", NULL, on_add_folder },
  { "win.attach-folder", "s", on_attach_folder },
  { "win.open-folder", "s", on_open_folder },
  { "win.detach-folder", "s", on_detach_folder },
  { "win.add-storage", NULL, on_add_storage },
  { "win.attach-storage", "s", on_attach_storage },
  { "win.remove-storage", "s", on_remove_storage },
  { "win.invite", NULL, on_invite },
  { "win.sync", NULL, on_sync },
  { "win.pause", NULL, on_pause },
  { "win.resume", NULL, on_resume },
  { "win.resolve", "(ts)", on_resolve },
  { "win.recovery", NULL, on_recovery },
};

void
ska_window_actions_install (GtkWidgetClass *class)
{
  for (guint i = 0; i < G_N_ELEMENTS (actions); i++)
    gtk_widget_class_install_action (class, actions[i].name, actions[i].type, actions[i].activate);
}

void
ska_window_actions_update (SkaWindow *self, SkEngineState state)
{
  gboolean open = state == SK_STATE_UP_TO_DATE || state == SK_STATE_SYNCING || state == SK_STATE_NEEDS_YOU || state == SK_STATE_PAUSED
                  || state == SK_STATE_OFFLINE;

  for (guint i = 0; i < G_N_ELEMENTS (actions); i++)
    gtk_widget_action_set_enabled (GTK_WIDGET (self), actions[i].name, open);
}
