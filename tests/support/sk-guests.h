/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Homes without a vault below one temporary directory, and commands that run on threads of their own: for tests of joining and recovery. */
#pragma once
#include "sk-command.h"

#define GUESTS_MAX 6

typedef struct
{
  char *base;
  char *storage;                 /* a directory to be used as a storage */
  SkSession *sessions[GUESTS_MAX];
} SkGuests;

SkGuests *sk_guests_new (guint n);
void sk_guests_free (SkGuests *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkGuests, sk_guests_free)
char *sk_guests_home (SkGuests *self, guint i);
/* "<base>/<i>/NAME", made when missing. (transfer full) */
char *sk_guests_path (SkGuests *self, guint i, const char *name);
/* @clock NULL: real. */
void sk_guests_open (SkGuests *self, guint i, SkClock *clock, gboolean watch);
void sk_guests_close (SkGuests *self, guint i);
/* Runs a command that must succeed. @format: of the arguments, NULL: none. (transfer full) */
GVariant *sk_guests_run (SkGuests *self, guint i, const char *command, const char *format, ...);
/* Runs one that must fail so. */
void sk_guests_fail (SkGuests *self, guint i, int code, const char *command, const char *format, ...);
/* Device 0 makes a vault called "home" with the storage "main". The phrase (transfer full). */
char *sk_guests_found (SkGuests *self);
/* A value of a reply. (transfer full) */
char *sk_guests_text (GVariant *reply, const char *key);

/* vault.join on a thread. */
typedef struct
{
  SkGuests *guests;
  guint i;
  char *code, *name, *storage;
  guint wait;
  GThread *thread;
  GCancellable *cancellable;
  GMutex lock;
  char *words;                   /* from the progress; lock */
  GVariant *reply;
  GError *error;
} SkJoiner;
SkJoiner *sk_joiner_start (SkGuests *guests, guint i, const char *code, const char *name, const char *storage, guint wait);
/* Waits until the words are known. (transfer full) */
char *sk_joiner_words (SkJoiner *self);
/* Waits for the end; then @reply or @error is set. */
void sk_joiner_end (SkJoiner *self);
void sk_joiner_free (SkJoiner *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkJoiner, sk_joiner_free)

/* invite on device @i; the code (transfer full). *@invite: its id (transfer full), may be NULL. */
char *sk_guests_invite (SkGuests *self, guint i, gboolean yes, char **invite);
/* Waits until the invitation has this state, then its dictionary. */
GVariant *sk_guests_await (SkGuests *self, guint i, const char *invite, const char *state);
/* Everything at once: device 0 invites, device @i joins as @name. */
void sk_guests_let_in (SkGuests *self, guint i, const char *name);
/* Objects below "<storage>/<vault>/PREFIX", sorted full paths. (transfer full) */
GPtrArray *sk_guests_objects (SkGuests *self, const char *prefix);
void sk_guests_sync (SkGuests *self, guint i);
guint sk_guests_count_devices (SkGuests *self, guint i);
guint sk_guests_count_objects (SkGuests *self, const char *prefix);
/* State of an invitation now. (transfer full) */
char *sk_guests_state (SkGuests *self, guint i, const char *invite);
#define sk_guests_until(check) \
  G_STMT_START { \
    gint64 guests_end = g_get_monotonic_time () + 10 * G_USEC_PER_SEC; \
    while (!(check)) { \
      g_assert_cmpint (g_get_monotonic_time (), <, guests_end); \
      g_usleep (2000); \
    } \
  } G_STMT_END
