/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-guests.h"

#include <ftw.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

static int
remove_one (const char *path, const struct stat *st, int type, struct FTW *ftw)
{
  if (type == FTW_DP || type == FTW_D || type == FTW_DNR)
    chmod (path, 0700);
  return remove (path);
}

SkGuests *
sk_guests_new (guint n)
{
  SkGuests *self = g_new0 (SkGuests, 1);

  g_assert_cmpuint (n, <=, GUESTS_MAX);
  self->base = g_dir_make_tmp ("skerry-XXXXXX", NULL);
  self->storage = g_strdup_printf ("%s/storage", self->base);
  g_assert_cmpint (g_mkdir (self->storage, 0755), ==, 0);
  for (guint i = 0; i < n; i++)
    {
      g_free (sk_guests_path (self, i, ""));
      sk_guests_open (self, i, NULL, FALSE);
    }
  return self;
}

void
sk_guests_free (SkGuests *self)
{
  for (guint i = 0; i < GUESTS_MAX; i++)
    sk_guests_close (self, i);
  nftw (self->base, remove_one, 32, FTW_DEPTH | FTW_PHYS);
  g_free (self->base);
  g_free (self->storage);
  g_free (self);
}

char *
sk_guests_home (SkGuests *self, guint i)
{
  return g_strdup_printf ("%s/%u/home", self->base, i);
}

char *
sk_guests_path (SkGuests *self, guint i, const char *name)
{
  char *path = g_strdup_printf ("%s/%u/%s", self->base, i, name);

  g_assert_cmpint (g_mkdir_with_parents (path, 0755), ==, 0);
  return path;
}

void
sk_guests_open (SkGuests *self, guint i, SkClock *clock, gboolean watch)
{
  g_autofree char *home = sk_guests_home (self, i);
  SkSessionOptions options = { .home = home, .clock = clock, .watch = watch };
  g_autoptr(GError) error = NULL;

  self->sessions[i] = sk_session_open (&options, &error);
  g_assert_no_error (error);
}

void
sk_guests_close (SkGuests *self, guint i)
{
  g_clear_pointer (&self->sessions[i], sk_session_close);
}

GVariant *
sk_guests_run (SkGuests *self, guint i, const char *command, const char *format, ...)
{
  g_autoptr(GError) error = NULL;
  GVariant *args = NULL, *reply;
  va_list list;

  if (format != NULL)
    {
      va_start (list, format);
      args = g_variant_new_parsed_va (format, &list);
      va_end (list);
    }
  reply = sk_session_command (self->sessions[i], command, args, NULL, NULL, NULL, &error);
  if (error != NULL)
    g_error ("%s on device %u: %s", command, i, error->message);
  return reply;
}

void
sk_guests_fail (SkGuests *self, guint i, int code, const char *command, const char *format, ...)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GVariant) reply = NULL;
  GVariant *args = NULL;
  va_list list;

  if (format != NULL)
    {
      va_start (list, format);
      args = g_variant_new_parsed_va (format, &list);
      va_end (list);
    }
  reply = sk_session_command (self->sessions[i], command, args, NULL, NULL, NULL, &error);
  g_assert_null (reply);
  g_test_message ("%s: %s", command, error->message);
  g_assert_error (error, SK_ERROR, code);
}

char *
sk_guests_text (GVariant *reply, const char *key)
{
  char *text = NULL;

  if (!g_variant_lookup (reply, key, "s", &text))
    g_error ("the reply has no “%s”: %s", key, g_variant_print (reply, FALSE));
  return text;
}

char *
sk_guests_found (SkGuests *self)
{
  g_autoptr(GVariant) made = sk_guests_run (self, 0, "vault.create", "{'name': <'home'>, 'device-name': <'first'>, 'no-passphrase': <true>}");

  g_variant_unref (sk_guests_run (self, 0, "storage.add", "{'name': <'main'>, 'uri': <%s>}", self->storage));
  return sk_guests_text (made, "phrase");
}

/* --- joining --- */

static void
on_progress (GVariant *progress, gpointer data)
{
  SkJoiner *self = data;
  const char *words;

  if (!g_variant_lookup (progress, "words", "&s", &words))
    return;
  g_mutex_lock (&self->lock);
  g_free (self->words);
  self->words = g_strdup (words);
  g_mutex_unlock (&self->lock);
}

static gpointer
run_joiner (gpointer data)
{
  SkJoiner *self = data;
  GVariantDict args;

  g_variant_dict_init (&args, NULL);
  g_variant_dict_insert (&args, "code", "s", self->code);
  g_variant_dict_insert (&args, "device-name", "s", self->name);
  g_variant_dict_insert (&args, "wait", "u", self->wait);
  g_variant_dict_insert (&args, "no-passphrase", "b", TRUE);
  if (self->storage != NULL)
    g_variant_dict_insert (&args, "storage", "s", self->storage);
  self->reply = sk_session_command (self->guests->sessions[self->i], "vault.join", g_variant_dict_end (&args), on_progress, self,
                                    self->cancellable, &self->error);
  return NULL;
}

SkJoiner *
sk_joiner_start (SkGuests *guests, guint i, const char *code, const char *name, const char *storage, guint wait)
{
  SkJoiner *self = g_new0 (SkJoiner, 1);

  self->guests = guests;
  self->i = i;
  self->code = g_strdup (code);
  self->name = g_strdup (name);
  self->storage = g_strdup (storage);
  self->wait = wait;
  self->cancellable = g_cancellable_new ();
  g_mutex_init (&self->lock);
  self->thread = g_thread_new ("join", run_joiner, self);
  return self;
}

char *
sk_joiner_words (SkJoiner *self)
{
  char *words = NULL;

  sk_guests_until ((g_mutex_lock (&self->lock), words = g_strdup (self->words), g_mutex_unlock (&self->lock), words != NULL));
  return words;
}

void
sk_joiner_end (SkJoiner *self)
{
  if (self->thread != NULL)
    g_thread_join (g_steal_pointer (&self->thread));
}

void
sk_joiner_free (SkJoiner *self)
{
  sk_joiner_end (self);
  g_clear_pointer (&self->reply, g_variant_unref);
  g_clear_error (&self->error);
  g_object_unref (self->cancellable);
  g_mutex_clear (&self->lock);
  g_free (self->words);
  g_free (self->code);
  g_free (self->name);
  g_free (self->storage);
  g_free (self);
}

char *
sk_guests_invite (SkGuests *self, guint i, gboolean yes, char **invite)
{
  g_autoptr(GVariant) reply = sk_guests_run (self, i, "invite", "{'yes': <%b>}", yes);

  if (invite != NULL)
    *invite = sk_guests_text (reply, "invite");
  return sk_guests_text (reply, "code");
}

GVariant *
sk_guests_await (SkGuests *self, guint i, const char *invite, const char *state)
{
  g_autofree char *seen = g_strdup ("open");

  for (;;)
    {
      g_autoptr(GVariant) reply = sk_guests_run (self, i, "invite.wait", "{'invite': <%s>, 'state': <%s>, 'timeout': <uint32 10>}", invite, seen);
      g_autofree char *now = sk_guests_text (reply, "state");

      if (g_str_equal (now, state))
        return g_steal_pointer (&reply);
      if (g_str_equal (now, seen))
        g_error ("the invitation stays “%s”", now);
      g_free (seen);
      seen = g_steal_pointer (&now);
    }
}

void
sk_guests_let_in (SkGuests *self, guint i, const char *name)
{
  g_autofree char *code = sk_guests_invite (self, 0, TRUE, NULL);
  g_autoptr(SkJoiner) joiner = sk_joiner_start (self, i, code, name, NULL, 10);

  sk_joiner_end (joiner);
  g_assert_no_error (joiner->error);
}

/* --- the storage --- */

static void
collect (const char *path, GPtrArray *out)
{
  g_autoptr(GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  if (dir == NULL)
    {
      if (g_file_test (path, G_FILE_TEST_IS_REGULAR))
        g_ptr_array_add (out, g_strdup (path));
      return;
    }
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *inner = g_build_filename (path, name, NULL);

      collect (inner, out);
    }
}

static int
by_text (gconstpointer a, gconstpointer b)
{
  return strcmp (*(char *const *) a, *(char *const *) b);
}

GPtrArray *
sk_guests_objects (SkGuests *self, const char *prefix)
{
  GPtrArray *found = g_ptr_array_new_with_free_func (g_free);
  char vault[SK_ID_HEX_SIZE];
  g_autofree char *path = NULL;

  sk_id_format (&self->sessions[0]->who.vault, vault);
  path = g_build_filename (self->storage, vault, prefix, NULL);
  collect (path, found);
  g_ptr_array_sort (found, by_text);
  return found;
}

/* --- looking --- */

void
sk_guests_sync (SkGuests *self, guint i)
{
  g_variant_unref (sk_guests_run (self, i, "sync", NULL));
}

guint
sk_guests_count_devices (SkGuests *self, guint i)
{
  g_autoptr(GVariant) reply = sk_guests_run (self, i, "device.list", NULL);
  g_autoptr(GVariant) list = g_variant_lookup_value (reply, "devices", G_VARIANT_TYPE ("aa{sv}"));

  return (guint) g_variant_n_children (list);
}

guint
sk_guests_count_objects (SkGuests *self, const char *prefix)
{
  g_autoptr(GPtrArray) objects = sk_guests_objects (self, prefix);

  return objects->len;
}

char *
sk_guests_state (SkGuests *self, guint i, const char *invite)
{
  g_autoptr(GVariant) reply = sk_guests_run (self, i, "invite.wait", "{'invite': <%s>, 'timeout': <uint32 0>}", invite);

  return sk_guests_text (reply, "state");
}
