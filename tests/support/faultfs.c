/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file system on which the power fails, the disk fails and room runs out, when a test says so.
 *
 *   faultfs MOUNT SOCKET [SEED]
 *
 * Its data are in memory. Who connects to SOCKET writes one line and gets one:
 *   cut HOW             the power fails and comes back (HOW: none, all, ordered, random); what was not synced is left only by chance
 *   cut-at N HOW        it fails instead of the Nth change from now on; until "mount" every call fails. 0: not any more
 *   mount               the power is back
 *   fail WHICH N ERROR once|on   the Nth call from now on fails with EIO or ENOSPC; "on": and all after it, until "clear".
 *                       WHICH: writes (what changes something; with ENOSPC what needs room), syncs or all
 *   clear               nothing fails or waits any more
 *   delay USEC EVERY    every so many calls take so much longer
 *   sync                as sync(1)
 *   save, load          puts everything aside, synced; and back to that, as often as wanted
 *   state               "dead|alive changes N counted N failed N loss NAMES KEPT PAGES KEPT first CALL"
 *   seed N, quit
 * At cut, mount and load the kernel forgets what it knows of the file system, as at a start: nothing may have it open then. It stays mounted, and so
 * keeps its device number. */
#include "faultfs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LINE_BYTES_MAX 256

typedef struct
{
  FaultServer server;
  const char *mount;
  struct fuse_session *session;
  struct fuse_buf buffer;
  int listener;
  gboolean ended;
} Program;

static volatile sig_atomic_t told_to_end;

static void
on_signal (int number)
{
  told_to_end = 1;
}

static gboolean
mount_now (Program *self)
{
  char *argv[] = { (char *) "faultfs", (char *) "-o", (char *) "allow_other,default_permissions,fsname=faultfs", NULL };
  struct fuse_args args = FUSE_ARGS_INIT (3, argv);

  self->session = fuse_session_new (&args, &fault_ops, sizeof fault_ops, &self->server);
  fuse_opt_free_args (&args);
  return self->session != NULL && fuse_session_mount (self->session, self->mount) == 0;
}

static void
unmount_now (Program *self)
{
  if (self->session == NULL)
    return;
  fuse_session_unmount (self->session);
  fuse_session_destroy (self->session);
  self->session = NULL;
}

/* All below the root gets other node ids, and what the kernel knows by the old ones can be reached by no name. */
static gboolean
begin_anew (Program *self)
{
  FaultServer *server = &self->server;
  GHashTableIter iter;
  gpointer name;

  server->dead = FALSE;
  server->cut_at = 0;
  server->epoch++;
  g_hash_table_iter_init (&iter, server->tops);
  while (g_hash_table_iter_next (&iter, &name, NULL))
    (void) fuse_lowlevel_notify_inval_entry (self->session, FAULT_ROOT, name, strlen (name));
  g_hash_table_remove_all (server->tops);
  (void) fuse_lowlevel_notify_inval_inode (self->session, FAULT_ROOT, 0, 0);
  return TRUE;
}

static FaultCut
cut_of (const char *how)
{
  static const char *const names[] = { "none", "all", "ordered", "random" };

  for (guint i = 0; how != NULL && i < G_N_ELEMENTS (names); i++)
    if (strcmp (how, names[i]) == 0)
      return i;
  return FAULT_CUT_RANDOM;
}

static guint64
number (char **words, guint i)
{
  return i < g_strv_length (words) ? g_ascii_strtoull (words[i], NULL, 10) : 0;
}

static void
plan_failure (FaultPlan *plan, char **words)
{
  *plan = (FaultPlan) { 0 };
  if (g_strv_length (words) < 5)
    return;
  plan->counts = strcmp (words[1], "all") == 0     ? FAULT_COUNT_ALL
                 : strcmp (words[1], "syncs") == 0 ? FAULT_COUNT_SYNCS
                                                   : FAULT_COUNT_CHANGES;
  plan->at = number (words, 2);
  plan->errnum = strcmp (words[3], "ENOSPC") == 0 ? ENOSPC : EIO;
  plan->until_cleared = strcmp (words[4], "on") == 0;
}

static gboolean
run_cut (Program *self, char **words)
{
  if (strcmp (words[0], "cut-at") == 0)
    {
      self->server.cut_at = number (words, 1) > 0 ? self->server.writes + number (words, 1) : 0;
      self->server.cut_as = cut_of (g_strv_length (words) > 2 ? words[2] : NULL);
      return TRUE;
    }
  if (!self->server.dead)
    fault_disk_cut (self->server.disk, cut_of (words[1]), &self->server.loss);
  return begin_anew (self);
}

/* FALSE: there is no such command or it failed. */
static gboolean
run_command (Program *self, char **words)
{
  FaultServer *server = &self->server;
  const char *name = words[0] != NULL ? words[0] : "";

  if (strcmp (name, "cut") == 0 || strcmp (name, "cut-at") == 0)
    return run_cut (self, words);
  if (strcmp (name, "mount") == 0)
    return begin_anew (self);
  if (strcmp (name, "load") == 0)
    return fault_disk_load (server->disk) && begin_anew (self);
  if (strcmp (name, "save") == 0)
    fault_disk_save (server->disk);
  else if (strcmp (name, "sync") == 0)
    fault_disk_sync_all (server->disk);
  else if (strcmp (name, "fail") == 0)
    plan_failure (&server->plan, words);
  else if (strcmp (name, "clear") == 0)
    {
      server->plan = (FaultPlan) { 0 };
      server->delay_every = 0;
    }
  else if (strcmp (name, "delay") == 0)
    {
      server->delay_us = number (words, 1);
      server->delay_every = number (words, 2);
    }
  else if (strcmp (name, "seed") == 0)
    fault_disk_seed (server->disk, (guint32) number (words, 1));
  else if (strcmp (name, "quit") == 0)
    self->ended = TRUE;
  else
    return strcmp (name, "state") == 0;
  return TRUE;
}

static void
answer (Program *self, int client)
{
  char line[LINE_BYTES_MAX];
  gssize n = read (client, line, sizeof line - 1);
  g_auto(GStrv) words = NULL;
  g_autofree char *reply = NULL;
  FaultServer *server = &self->server;
  gboolean ok;

  if (n <= 0)
    return;
  line[n] = '\0';
  words = g_strsplit (g_strstrip (line), " ", 8);
  ok = run_command (self, words);
  reply = g_strdup_printf ("%s %s changes %" G_GUINT64_FORMAT " counted %" G_GUINT64_FORMAT " failed %" G_GUINT64_FORMAT
                           " loss %u %u %u %u first %s\n",
                           ok ? "ok" : "refused", server->dead ? "dead" : "alive", server->writes, server->plan.counted,
                           server->plan.failed, server->loss.names, server->loss.names_kept, server->loss.pages,
                           server->loss.pages_kept, server->plan.first);
  if (write (client, reply, strlen (reply)) < 0)
    g_printerr ("faultfs: a reply was not taken: %s\n", g_strerror (errno));
}

static void
accept_one (Program *self)
{
  struct timeval patience = { .tv_sec = 5 };
  int client = accept4 (self->listener, NULL, NULL, SOCK_CLOEXEC);

  if (client < 0)
    return;
  setsockopt (client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  answer (self, client);
  close (client);
}

static gboolean
listen_at (Program *self, const char *path)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };

  if (strlen (path) >= sizeof address.sun_path)
    return FALSE;
  strcpy (address.sun_path, path);
  unlink (path);
  self->listener = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return self->listener >= 0 && bind (self->listener, (struct sockaddr *) &address, sizeof address) == 0
         && listen (self->listener, 8) == 0;
}

static void
serve (Program *self)
{
  while (!self->ended && !told_to_end && self->session != NULL)
    {
      struct pollfd waits[] = { { .fd = fuse_session_fd (self->session), .events = POLLIN },
                                { .fd = self->listener, .events = POLLIN } };

      if (poll (waits, G_N_ELEMENTS (waits), -1) < 0)
        continue;
      if (waits[0].revents != 0)
        {
          int n = fuse_session_receive_buf (self->session, &self->buffer);

          /* Unmounted by somebody else. */
          if (n == 0 || n == -ENODEV)
            return;
          if (n > 0)
            fuse_session_process_buf (self->session, &self->buffer);
        }
      else if (waits[1].revents != 0)
        accept_one (self);
    }
}

int
main (int argc, char **argv)
{
  Program self = { .mount = argc > 1 ? argv[1] : NULL };

  if (argc < 3)
    {
      g_printerr ("usage: faultfs MOUNT SOCKET [SEED]\n");
      return 2;
    }
  signal (SIGPIPE, SIG_IGN);
  signal (SIGTERM, on_signal);
  signal (SIGINT, on_signal);
  self.server.tops = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self.server.disk = fault_disk_new (argc > 3 ? (guint32) g_ascii_strtoull (argv[3], NULL, 10) : 1);
  if (!mount_now (&self) || !listen_at (&self, argv[2]))
    {
      g_printerr ("faultfs: cannot mount %s or listen at %s: %s\n", argv[1], argv[2], g_strerror (errno));
      unmount_now (&self);
      return 1;
    }
  serve (&self);
  unmount_now (&self);
  unlink (argv[2]);
  free (self.buffer.mem);
  fault_disk_free (self.server.disk);
  g_hash_table_unref (self.server.tops);
  return 0;
}
