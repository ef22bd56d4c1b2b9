/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The client (sk-client.h) blocks, so it is opened, commanded and closed on threads; everything
 * they have to say comes back through one mailbox. Main owns the object, the mirror and the
 * lists; no thread touches them or drops a last reference. */
#include "sk-engine.h"

#include <string.h>

#include "sk-engine-mirror.h"
#include "sk-engine-thread.h"

#define COMMANDS_MAX 8

G_DEFINE_ENUM_TYPE (SkEngineState, sk_engine_state,
                    G_DEFINE_ENUM_VALUE (SK_STATE_STARTING, "starting"),
                    G_DEFINE_ENUM_VALUE (SK_STATE_NO_VAULT, "no-vault"),
                    G_DEFINE_ENUM_VALUE (SK_STATE_LOCKED, "locked"),
                    G_DEFINE_ENUM_VALUE (SK_STATE_UP_TO_DATE, "up-to-date"),
                    G_DEFINE_ENUM_VALUE (SK_STATE_SYNCING, "syncing"),
                    G_DEFINE_ENUM_VALUE (SK_STATE_NEEDS_YOU, "needs-you"),
                    G_DEFINE_ENUM_VALUE (SK_STATE_PAUSED, "paused"),
                    G_DEFINE_ENUM_VALUE (SK_STATE_OFFLINE, "offline"),
                    G_DEFINE_ENUM_VALUE (SK_STATE_STOPPED, "stopped"),
                    G_DEFINE_ENUM_VALUE (SK_STATE_FAILED, "failed"))

struct _SkEngine
{
  GObject parent_instance;
  char *home;
  SkEngineLink *link;
  SkMirror *mirror;
  SkClient *client;
  GThreadPool *pool;
  GCancellable *opening; /* while a thread opens */
  GPtrArray *commands; /* SkEngineCommand, borrowed */
  GPtrArray *stops; /* GTask */
  gboolean stopping, reopen;
  gboolean lost_early; /* the engine that is being joined has ended already */

  SkEngineState state;
  char *message, *vault_name, *device_name, *keys_warning;
  guint64 up, down, left_files, left_bytes, left_seconds;
  guint n_issues;
  gboolean paused, joined;
};

enum
{
  PROP_0,
  PROP_STATE,
  PROP_MESSAGE,
  PROP_VAULT_NAME,
  PROP_DEVICE_NAME,
  PROP_UP,
  PROP_DOWN,
  PROP_N_ISSUES,
  PROP_PAUSED,
  PROP_LEFT_FILES,
  PROP_LEFT_BYTES,
  PROP_LEFT_SECONDS,
  PROP_KEYS_WARNING,
  PROP_JOINED,
  N_PROPS
};
static GParamSpec *properties[N_PROPS];

G_DEFINE_FINAL_TYPE (SkEngine, sk_engine, G_TYPE_OBJECT)

/* --- state (main) --- */

static void
set_text (SkEngine *self, char **field, const char *text, guint property)
{
  if (g_strcmp0 (*field, text) == 0)
    return;
  g_free (*field);
  *field = g_strdup (text);
  g_object_notify_by_pspec (G_OBJECT (self), properties[property]);
}

static void
set_number (SkEngine *self, guint64 *field, guint64 number, guint property)
{
  if (*field == number)
    return;
  *field = number;
  g_object_notify_by_pspec (G_OBJECT (self), properties[property]);
}

static void
set_flag (SkEngine *self, gboolean *field, gboolean flag, guint property)
{
  if (*field == flag)
    return;
  *field = flag;
  g_object_notify_by_pspec (G_OBJECT (self), properties[property]);
}

static void
set_state (SkEngine *self, SkEngineState state, const char *message)
{
  g_object_freeze_notify (G_OBJECT (self));
  set_text (self, &self->message, message, PROP_MESSAGE);
  if (self->state != state)
    {
      self->state = state;
      g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STATE]);
    }
  g_object_thaw_notify (G_OBJECT (self));
}

static SkEngineState
state_of (const char *name)
{
  GEnumClass *class = g_type_class_ref (SK_TYPE_ENGINE_STATE);
  GEnumValue *value = g_enum_get_value_by_nick (class, name);
  SkEngineState state = value != NULL ? (SkEngineState) value->value : SK_STATE_SYNCING;

  g_type_class_unref (class);
  return state;
}

static const char *
text_in (GVariant *dictionary, const char *key)
{
  const char *text = "";

  if (dictionary != NULL)
    g_variant_lookup (dictionary, key, "&s", &text);
  return text;
}

static guint64
number_in (GVariant *dictionary, const char *key)
{
  guint64 number = 0;

  if (dictionary != NULL)
    g_variant_lookup (dictionary, key, "t", &number);
  return number;
}

static void
apply_report (SkEngine *self)
{
  g_autoptr(GVariant) report = sk_client_report (self->client);
  g_autoptr(GVariant) vault = g_variant_lookup_value (report, "vault", G_VARIANT_TYPE_VARDICT);
  g_autoptr(GVariant) device = g_variant_lookup_value (report, "device", G_VARIANT_TYPE_VARDICT);
  g_autoptr(GVariant) rates = g_variant_lookup_value (report, "rates", G_VARIANT_TYPE_VARDICT);
  g_autoptr(GVariant) left = g_variant_lookup_value (report, "left", G_VARIANT_TYPE_VARDICT);
  guint n_issues = 0;

  /* Just opened: the first one is on its way. */
  if (*text_in (report, "state") == '\0')
    return;
  sk_mirror_apply (self->mirror, report);
  g_object_freeze_notify (G_OBJECT (self));
  set_text (self, &self->vault_name, text_in (vault, "name"), PROP_VAULT_NAME);
  set_text (self, &self->keys_warning, text_in (vault, "warning"), PROP_KEYS_WARNING);
  set_text (self, &self->device_name, text_in (device, "name"), PROP_DEVICE_NAME);
  set_number (self, &self->up, number_in (rates, "up"), PROP_UP);
  set_number (self, &self->down, number_in (rates, "down"), PROP_DOWN);
  set_number (self, &self->left_files, number_in (left, "files"), PROP_LEFT_FILES);
  set_number (self, &self->left_bytes, number_in (left, "bytes"), PROP_LEFT_BYTES);
  set_number (self, &self->left_seconds, number_in (left, "seconds"), PROP_LEFT_SECONDS);
  g_variant_lookup (report, "n-issues", "u", &n_issues);
  if (self->n_issues != n_issues)
    {
      self->n_issues = n_issues;
      g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_N_ISSUES]);
    }
  set_flag (self, &self->paused, strcmp (text_in (report, "state"), "paused") == 0, PROP_PAUSED);
  set_state (self, state_of (text_in (report, "state")), text_in (report, "message"));
  g_object_thaw_notify (G_OBJECT (self));
}

/* --- opening and closing (main) --- */

static void
start_opening (SkEngine *self, const char *passphrase)
{
  SkEngineOpening *opening = g_new0 (SkEngineOpening, 1);

  self->opening = g_cancellable_new ();
  opening->link = sk_engine_link_ref (self->link);
  opening->home = g_strdup (self->home);
  opening->passphrase = g_strdup (passphrase);
  opening->cancellable = g_object_ref (self->opening);
  set_state (self, SK_STATE_STARTING, "");
  g_thread_unref (g_thread_new ("skerry-open", sk_engine_open_thread, opening));
}

static void
start_closing (SkEngine *self)
{
  SkEngineClosing *closing = g_new0 (SkEngineClosing, 1);

  for (guint i = 0; i < self->commands->len; i++)
    g_cancellable_cancel (((SkEngineCommand *) self->commands->pdata[i])->cancellable);
  closing->link = sk_engine_link_ref (self->link);
  closing->client = g_steal_pointer (&self->client);
  closing->pool = g_steal_pointer (&self->pool);
  g_thread_unref (g_thread_new ("skerry-close", sk_engine_close_thread, closing));
}

static void
finish_stop (SkEngine *self)
{
  g_autoptr(GPtrArray) stops = g_steal_pointer (&self->stops);

  self->stops = g_ptr_array_new_with_free_func (g_object_unref);
  set_state (self, SK_STATE_STOPPED, "");
  for (guint i = 0; i < stops->len; i++)
    g_task_return_boolean (stops->pdata[i], TRUE);
}

static void
handle_lost (SkEngine *self)
{
  if (self->opening != NULL)
    self->lost_early = TRUE;
  if (self->client == NULL || self->stopping)
    return;
  self->reopen = TRUE;
  set_state (self, SK_STATE_STARTING, "");
  start_closing (self);
}

static void
handle_opened (SkEngine *self, SkEngineMessage *message)
{
  gboolean lost = self->lost_early;

  self->lost_early = FALSE;
  g_clear_object (&self->opening);
  self->client = g_steal_pointer (&message->client);
  if (self->stopping)
    start_closing (self);
  else if (self->client != NULL && lost)
    handle_lost (self);
  else if (self->client != NULL)
    {
      self->pool = g_thread_pool_new (sk_engine_run_command, NULL, COMMANDS_MAX, FALSE, NULL);
      set_flag (self, &self->joined, sk_client_is_remote (self->client), PROP_JOINED);
      apply_report (self);
    }
  else
    set_state (self,
               g_error_matches (message->error, SK_ERROR, SK_ERROR_WRONG_KEY) ? SK_STATE_LOCKED
                                                                              : SK_STATE_FAILED,
               message->error->message);
}

static void
handle_closed (SkEngine *self)
{
  if (self->stopping)
    finish_stop (self);
  else if (self->reopen)
    {
      self->reopen = FALSE;
      start_opening (self, NULL);
    }
}

/* --- commands (main) --- */

static void
command_free (gpointer data)
{
  SkEngineCommand *command = data;

  g_clear_object (&command->callers);
  g_object_unref (command->cancellable);
  g_variant_unref (command->args);
  sk_engine_link_unref (command->link);
  g_free (command->name);
  g_free (command);
}

/* The thread of whoever cancels. */
static void
on_caller_cancelled (GCancellable *callers, gpointer data)
{
  g_cancellable_cancel (data);
}

static void
handle_reply (SkEngine *self, SkEngineMessage *message)
{
  g_autoptr(GTask) task = message->task;
  SkEngineCommand *command = g_task_get_task_data (task);

  g_ptr_array_remove_fast (self->commands, command);
  if (command->callers != NULL)
    g_cancellable_disconnect (command->callers, command->handler);
  if (message->value != NULL)
    g_task_return_pointer (task, g_steal_pointer (&message->value),
                           (GDestroyNotify) g_variant_unref);
  else
    g_task_return_error (task, g_steal_pointer (&message->error));
}

static void
handle_progress (SkEngineMessage *message)
{
  SkEngineCommand *command = g_task_get_task_data (message->task);

  command->progress (message->value, command->progress_data);
}

void
sk_engine_command_progress_async (SkEngine *self, const char *name, GVariant *args,
                                  GCancellable *cancellable, SkEngineProgressFunc progress,
                                  gpointer progress_data, GAsyncReadyCallback callback,
                                  gpointer user_data)
{
  g_autoptr(GVariant) owned
      = g_variant_ref_sink (args != NULL ? args : g_variant_new ("a{sv}", NULL));
  g_autoptr(GTask) task = NULL;
  SkEngineCommand *command;

  g_return_if_fail (SK_IS_ENGINE (self));
  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, sk_engine_command_async);
  /* The engine itself answers a cancelled command; what was done before that is done. */
  g_task_set_check_cancellable (task, FALSE);
  if (self->pool == NULL)
    {
      g_task_return_new_error (task, SK_ERROR, SK_ERROR_BUSY, "The engine is not open yet");
      return;
    }
  command = g_new0 (SkEngineCommand, 1);
  command->link = sk_engine_link_ref (self->link);
  command->client = self->client;
  command->task = task;
  command->name = g_strdup (name);
  command->args = g_steal_pointer (&owned);
  command->cancellable = g_cancellable_new ();
  command->progress = progress;
  command->progress_data = progress_data;
  g_task_set_task_data (task, command, command_free);
  if (cancellable != NULL)
    {
      command->callers = g_object_ref (cancellable);
      command->handler
          = g_cancellable_connect (cancellable, G_CALLBACK (on_caller_cancelled),
                                   g_object_ref (command->cancellable), g_object_unref);
    }
  g_ptr_array_add (self->commands, command);
  g_thread_pool_push (self->pool, command, NULL);
  /* The reference that handle_reply takes over. */
  (void) g_steal_pointer (&task);
}

void
sk_engine_command_async (SkEngine *self, const char *name, GVariant *args,
                         GCancellable *cancellable, GAsyncReadyCallback callback,
                         gpointer user_data)
{
  sk_engine_command_progress_async (self, name, args, cancellable, NULL, NULL, callback, user_data);
}

GVariant *
sk_engine_command_finish (SkEngine *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);
  return g_task_propagate_pointer (G_TASK (result), error);
}

/* --- the mailbox (main) --- */

static void
on_message (gpointer data, gpointer user_data)
{
  SkEngineMessage *message = data;
  g_autoptr(SkEngine) self = g_object_ref (SK_ENGINE (user_data));

  switch (message->says)
    {
    case SAYS_OPENED:
      handle_opened (self, message);
      break;
    case SAYS_REPORT:
      g_atomic_int_set (&self->link->report_pending, 0);
      if (self->client != NULL)
        apply_report (self);
      break;
    case SAYS_LOST:
      handle_lost (self);
      break;
    case SAYS_PROGRESS:
      handle_progress (message);
      break;
    case SAYS_REPLY:
      handle_reply (self, message);
      break;
    case SAYS_CLOSED:
    default:
      handle_closed (self);
    }
  sk_engine_message_free (message);
}

/* --- public --- */

SkEngine *
sk_engine_new (const char *home)
{
  SkEngine *self = g_object_new (SK_TYPE_ENGINE, NULL);

  self->home = home != NULL ? g_strdup (home) : sk_client_default_home ();
  start_opening (self, NULL);
  return self;
}

void
sk_engine_unlock (SkEngine *self, const char *passphrase)
{
  g_return_if_fail (SK_IS_ENGINE (self));
  if (self->state == SK_STATE_LOCKED && !self->stopping)
    start_opening (self, passphrase);
}

GListModel *
sk_engine_get_folders (SkEngine *self)
{
  return sk_mirror_folders (self->mirror);
}

GListModel *
sk_engine_get_devices (SkEngine *self)
{
  return sk_mirror_devices (self->mirror);
}

GListModel *
sk_engine_get_storages (SkEngine *self)
{
  return sk_mirror_storages (self->mirror);
}

GListModel *
sk_engine_get_issues (SkEngine *self)
{
  return sk_mirror_issues (self->mirror);
}

void
sk_engine_stop_async (SkEngine *self, GAsyncReadyCallback callback, gpointer user_data)
{
  GTask *task;

  g_return_if_fail (SK_IS_ENGINE (self));
  task = g_task_new (self, NULL, callback, user_data);
  g_task_set_source_tag (task, sk_engine_stop_async);
  g_ptr_array_add (self->stops, task);
  if (self->state == SK_STATE_STOPPED)
    {
      finish_stop (self);
      return;
    }
  if (self->stopping)
    return;
  self->stopping = TRUE;
  /* While a thread opens or closes, its message goes on from there. */
  if (self->opening != NULL)
    g_cancellable_cancel (self->opening);
  else if (!self->reopen)
    start_closing (self);
}

gboolean
sk_engine_stop_finish (SkEngine *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);
  return g_task_propagate_boolean (G_TASK (result), error);
}

/* --- GObject --- */

static void
sk_engine_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  SkEngine *self = SK_ENGINE (object);

  switch (id)
    {
    case PROP_STATE:
      g_value_set_enum (value, (int) self->state);
      break;
    case PROP_MESSAGE:
      g_value_set_string (value, self->message);
      break;
    case PROP_VAULT_NAME:
      g_value_set_string (value, self->vault_name);
      break;
    case PROP_DEVICE_NAME:
      g_value_set_string (value, self->device_name);
      break;
    case PROP_UP:
      g_value_set_uint64 (value, self->up);
      break;
    case PROP_DOWN:
      g_value_set_uint64 (value, self->down);
      break;
    case PROP_N_ISSUES:
      g_value_set_uint (value, self->n_issues);
      break;
    case PROP_PAUSED:
      g_value_set_boolean (value, self->paused);
      break;
    case PROP_LEFT_FILES:
      g_value_set_uint64 (value, self->left_files);
      break;
    case PROP_LEFT_BYTES:
      g_value_set_uint64 (value, self->left_bytes);
      break;
    case PROP_LEFT_SECONDS:
      g_value_set_uint64 (value, self->left_seconds);
      break;
    case PROP_KEYS_WARNING:
      g_value_set_string (value, self->keys_warning);
      break;
    case PROP_JOINED:
      g_value_set_boolean (value, self->joined);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
sk_engine_dispose (GObject *object)
{
  SkEngine *self = SK_ENGINE (object);

  /* Commands hold a reference, so none runs. */
  if (self->opening != NULL)
    g_cancellable_cancel (self->opening);
  if (self->client != NULL)
    start_closing (self);
  if (self->link != NULL)
    {
      sk_mailbox_close (self->link->box);
      g_clear_pointer (&self->link, sk_engine_link_unref);
    }
  g_clear_object (&self->opening);
  G_OBJECT_CLASS (sk_engine_parent_class)->dispose (object);
}

static void
sk_engine_finalize (GObject *object)
{
  SkEngine *self = SK_ENGINE (object);

  sk_mirror_free (self->mirror);
  g_ptr_array_unref (self->commands);
  g_ptr_array_unref (self->stops);
  g_free (self->home);
  g_free (self->message);
  g_free (self->vault_name);
  g_free (self->device_name);
  g_free (self->keys_warning);
  G_OBJECT_CLASS (sk_engine_parent_class)->finalize (object);
}

static void
install_text (guint id, const char *name)
{
  properties[id] = g_param_spec_string (
      name, NULL, NULL, "", G_PARAM_READABLE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS);
}

static void
install_number (guint id, const char *name)
{
  properties[id]
      = g_param_spec_uint64 (name, NULL, NULL, 0, G_MAXUINT64, 0,
                             G_PARAM_READABLE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS);
}

static void
sk_engine_class_init (SkEngineClass *class)
{
  GObjectClass *object_class = G_OBJECT_CLASS (class);
  GParamFlags flags = G_PARAM_READABLE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS;

  object_class->get_property = sk_engine_get_property;
  object_class->dispose = sk_engine_dispose;
  object_class->finalize = sk_engine_finalize;
  properties[PROP_STATE]
      = g_param_spec_enum ("state", NULL, NULL, SK_TYPE_ENGINE_STATE, SK_STATE_STARTING, flags);
  properties[PROP_N_ISSUES] = g_param_spec_uint ("n-issues", NULL, NULL, 0, G_MAXUINT, 0, flags);
  properties[PROP_PAUSED] = g_param_spec_boolean ("paused", NULL, NULL, FALSE, flags);
  properties[PROP_JOINED] = g_param_spec_boolean ("joined", NULL, NULL, FALSE, flags);
  install_text (PROP_MESSAGE, "message");
  install_text (PROP_VAULT_NAME, "vault-name");
  install_text (PROP_DEVICE_NAME, "device-name");
  install_text (PROP_KEYS_WARNING, "keys-warning");
  install_number (PROP_UP, "bytes-up-per-second");
  install_number (PROP_DOWN, "bytes-down-per-second");
  install_number (PROP_LEFT_FILES, "left-files");
  install_number (PROP_LEFT_BYTES, "left-bytes");
  install_number (PROP_LEFT_SECONDS, "left-seconds");
  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
sk_engine_init (SkEngine *self)
{
  self->link = g_new0 (SkEngineLink, 1);
  g_atomic_ref_count_init (&self->link->refs);
  self->link->box = sk_mailbox_new (NULL, on_message, self, sk_engine_message_free);
  self->mirror = sk_mirror_new ();
  self->commands = g_ptr_array_new ();
  self->stops = g_ptr_array_new_with_free_func (g_object_unref);
  self->message = g_strdup ("");
  self->vault_name = g_strdup ("");
  self->device_name = g_strdup ("");
  self->keys_warning = g_strdup ("");
}
