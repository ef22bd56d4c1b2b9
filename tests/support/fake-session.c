/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fake-session.h"

#include <string.h>

#include "sk-home.h"

typedef struct
{
  GVariant *reply;
  GError *error;
  GVariant *progress;
  gboolean block;
  char *args;
} Script;

struct _SkSession
{
  SkHome *home;
  SkReportFunc func;
  gpointer func_data;
};

static GMutex lock;
static GCond changed;
static GHashTable *scripts;
static GVariant *report;
static char *wanted_passphrase;
static SkSession *current;
static guint open_sessions;
static guint opened;
static guint waiting;
static gboolean watching;

static void
script_free (gpointer data)
{
  Script *script = data;

  g_clear_pointer (&script->reply, g_variant_unref);
  g_clear_pointer (&script->progress, g_variant_unref);
  g_clear_error (&script->error);
  g_free (script->args);
  g_free (script);
}

/* Under the lock. */
static Script *
script_of (const char *command)
{
  Script *script;

  if (scripts == NULL)
    scripts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, script_free);
  script = g_hash_table_lookup (scripts, command);
  if (script == NULL)
    {
      script = g_new0 (Script, 1);
      g_hash_table_insert (scripts, g_strdup (command), script);
    }
  return script;
}

static GVariant *
parse (const char *text)
{
  g_autoptr(GError) error = NULL;
  GVariant *value = g_variant_parse (G_VARIANT_TYPE_VARDICT, text, NULL, NULL, &error);

  g_assert_no_error (error);
  return value;
}

void
fake_reply (const char *command, const char *text)
{
  Script *script;

  g_mutex_lock (&lock);
  script = script_of (command);
  g_clear_pointer (&script->reply, g_variant_unref);
  g_clear_error (&script->error);
  script->reply = parse (text);
  g_mutex_unlock (&lock);
}

void
fake_error (const char *command, int code, const char *message)
{
  Script *script;

  g_mutex_lock (&lock);
  script = script_of (command);
  g_clear_error (&script->error);
  script->error = g_error_new_literal (SK_ERROR, code, message);
  g_mutex_unlock (&lock);
}

void
fake_progress (const char *command, const char *text)
{
  Script *script;

  g_mutex_lock (&lock);
  script = script_of (command);
  g_clear_pointer (&script->progress, g_variant_unref);
  script->progress = parse (text);
  g_mutex_unlock (&lock);
}

void
fake_block (const char *command)
{
  g_mutex_lock (&lock);
  script_of (command)->block = TRUE;
  g_mutex_unlock (&lock);
}

void
fake_release (const char *command)
{
  g_mutex_lock (&lock);
  script_of (command)->block = FALSE;
  g_cond_broadcast (&changed);
  g_mutex_unlock (&lock);
}

guint
fake_waiting (void)
{
  guint n;

  g_mutex_lock (&lock);
  n = waiting;
  g_mutex_unlock (&lock);
  return n;
}

char *
fake_args (const char *command)
{
  char *args;

  g_mutex_lock (&lock);
  args = g_strdup (script_of (command)->args);
  g_mutex_unlock (&lock);
  return args;
}

void
fake_report (const char *text)
{
  SkReportFunc func = NULL;
  gpointer data = NULL;

  g_mutex_lock (&lock);
  g_clear_pointer (&report, g_variant_unref);
  report = parse (text);
  if (current != NULL)
    {
      func = current->func;
      data = current->func_data;
    }
  g_mutex_unlock (&lock);
  if (func != NULL)
    func (data);
}

void
fake_passphrase (const char *passphrase)
{
  g_mutex_lock (&lock);
  g_free (wanted_passphrase);
  wanted_passphrase = g_strdup (passphrase);
  g_mutex_unlock (&lock);
}

guint
fake_open_sessions (void)
{
  guint n;

  g_mutex_lock (&lock);
  n = open_sessions;
  g_mutex_unlock (&lock);
  return n;
}

guint
fake_opened (void)
{
  guint n;

  g_mutex_lock (&lock);
  n = opened;
  g_mutex_unlock (&lock);
  return n;
}

gboolean
fake_watching (void)
{
  gboolean is;

  g_mutex_lock (&lock);
  is = watching;
  g_mutex_unlock (&lock);
  return is;
}

void
fake_reset (void)
{
  g_mutex_lock (&lock);
  g_clear_pointer (&scripts, g_hash_table_unref);
  g_clear_pointer (&report, g_variant_unref);
  g_clear_pointer (&wanted_passphrase, g_free);
  g_mutex_unlock (&lock);
}

/* --- sk-session.h --- */

SkSession *
sk_session_open (const SkSessionOptions *options, GError **error)
{
  g_autoptr(SkHome) home = sk_home_open (options->home, error);
  SkSession *self;
  gboolean right;

  if (home == NULL)
    return NULL;
  g_mutex_lock (&lock);
  right = wanted_passphrase == NULL || g_strcmp0 (wanted_passphrase, options->passphrase) == 0;
  g_mutex_unlock (&lock);
  if (!right)
    {
      sk_fail (error, SK_ERROR_WRONG_KEY, "The passphrase is missing or wrong");
      return NULL;
    }
  self = g_new0 (SkSession, 1);
  self->home = g_steal_pointer (&home);
  g_mutex_lock (&lock);
  current = self;
  watching = options->watch;
  open_sessions++;
  opened++;
  g_mutex_unlock (&lock);
  return self;
}

void
sk_session_close (SkSession *self)
{
  g_mutex_lock (&lock);
  if (current == self)
    current = NULL;
  watching = FALSE;
  open_sessions--;
  g_mutex_unlock (&lock);
  sk_home_close (self->home);
  g_free (self);
}

static void
on_cancelled (GCancellable *cancellable, gpointer user_data)
{
  g_mutex_lock (&lock);
  g_cond_broadcast (&changed);
  g_mutex_unlock (&lock);
}

/* Under the lock. */
static gboolean
wait_blocked (const char *name, GCancellable *cancellable, GError **error)
{
  gulong handler = 0;
  gboolean cancelled;

  if (cancellable != NULL)
    {
      g_mutex_unlock (&lock);
      handler = g_cancellable_connect (cancellable, G_CALLBACK (on_cancelled), NULL, NULL);
      g_mutex_lock (&lock);
    }
  waiting++;
  while (script_of (name)->block && !g_cancellable_is_cancelled (cancellable))
    g_cond_wait (&changed, &lock);
  waiting--;
  cancelled = g_cancellable_is_cancelled (cancellable);
  g_mutex_unlock (&lock);
  if (cancellable != NULL)
    g_cancellable_disconnect (cancellable, handler);
  g_mutex_lock (&lock);
  return !cancelled || sk_fail (error, SK_ERROR_CANCELLED, "Cancelled");
}

GVariant *
sk_session_command (SkSession *self, const char *name, GVariant *args, SkProgressFunc progress, gpointer user_data,
                    GCancellable *cancellable, GError **error)
{
  g_autoptr(GVariant) owned = args != NULL ? g_variant_ref_sink (args) : NULL;
  g_autoptr(GVariant) step = NULL;
  GVariant *reply = NULL;
  Script *script;

  if (strcmp (name, "status") == 0 || strcmp (name, "report") == 0)
    return sk_session_report (self);
  g_mutex_lock (&lock);
  script = script_of (name);
  g_free (script->args);
  script->args = owned != NULL ? g_variant_print (owned, TRUE) : g_strdup ("");
  step = g_steal_pointer (&script->progress);
  if (step != NULL && progress != NULL)
    {
      g_mutex_unlock (&lock);
      progress (step, user_data);
      g_mutex_lock (&lock);
    }
  if (!script->block || wait_blocked (name, cancellable, error))
    {
      script = script_of (name);
      if (script->error != NULL)
        g_propagate_error (error, g_error_copy (script->error));
      else if (script->reply != NULL)
        reply = g_variant_ref (script->reply);
      else
        sk_fail (error, SK_ERROR_NOT_FOUND, "There is no command “%s”", name);
    }
  g_mutex_unlock (&lock);
  return reply;
}

GVariant *
sk_session_report (SkSession *self)
{
  GVariant *value;

  g_mutex_lock (&lock);
  if (report == NULL)
    report = parse ("{'state': <'no-vault'>}");
  value = g_variant_ref (report);
  g_mutex_unlock (&lock);
  return value;
}

void
sk_session_set_report_func (SkSession *self, SkReportFunc func, gpointer user_data)
{
  g_mutex_lock (&lock);
  self->func = func;
  self->func_data = user_data;
  g_mutex_unlock (&lock);
}
