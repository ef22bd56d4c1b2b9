/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tests of situations ask a fleet: are the trees equal, what does an issue say, what lies in the trash. And a storage that fails on demand. */
#pragma once
#include "sk-pair.h"

void sk_assert_equal_trees (SkFleet *fleet, const char *folder);
gboolean sk_there (const char *dir, const char *path);           /* lstat: a dangling link is there */
void sk_assert_content (const char *dir, const char *path, const char *content);
void sk_unlink (const char *dir, const char *path);
void sk_rename (const char *dir, const char *from, const char *to);
/* @n files "PREFIXi" with text that compresses, different in each. */
void sk_put_many (const char *dir, const char *prefix, guint n);
/* Names in @dir (not below) that begin with @prefix. */
guint sk_count_names (const char *dir, const char *prefix);
/* Files of the whole tree but .skerry. */
guint sk_count_files (const char *dir);
/* Files in the tree whose content is @content. */
guint sk_count_content (const char *dir, const char *content);
/* In any batch of the trash of the root @dir: a file that was @path with this content (NULL: any). */
gboolean sk_in_trash (const char *dir, const char *path, const char *content);

void sk_sync (SkFleet *fleet, guint i);
/* "sync" of every device, @times. */
void sk_sync_all (SkFleet *fleet, guint times);
gboolean sk_sync_attention (SkFleet *fleet, guint i);
/* Number of the open issue of this kind, 0 when there is none; *@text (transfer full), may be NULL. */
guint64 sk_issue (SkFleet *fleet, guint i, const char *kind, char **text);
guint sk_issues (SkFleet *fleet, guint i);
void sk_assert_no_issues (SkFleet *fleet, guint i);               /* tells the text of the first */
void sk_resolve (SkFleet *fleet, guint i, const char *kind, const char *choice);
/* FALSE when the command was refused. */
gboolean sk_try_resolve (SkFleet *fleet, guint i, const char *kind, const char *choice);
/* State of the folder in the report of device @i. (transfer full) */
char *sk_folder_state (SkFleet *fleet, guint i, const char *folder);
/* Waits, at most @seconds, until @test is TRUE. */
typedef gboolean (*SkTest) (gpointer data);
gboolean sk_wait (SkTest test, gpointer data, guint seconds);

/* --- a device that is killed --- */

/* main asks this first, before g_test_init: TRUE in a process that sk_sync_and_die started; main then returns what sk_run_child returns. */
gboolean sk_is_child (int argc, char **argv);
int sk_run_child (char **argv);
/* What sk_sync_and_die starts: argv[0], or a copy of it. */
void sk_set_child_program (const char *path);
/* Syncs device @i in a process that is killed: at "STAGE:N", or after all work is done when @stage is NULL. TRUE when it was killed. */
gboolean sk_sync_and_die (SkFleet *fleet, guint i, const char *stage);

/* --- up to three devices that share "f" with "x.txt" = "base" in it --- */

typedef struct
{
  SkFleet *fleet;
  char *a, *b, *c;               /* "f" on each; NULL: there is no such device */
} SkThree;
void sk_three_init (SkThree *self, guint n);
void sk_three_clear (SkThree *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SkThree, sk_three_clear)
/* On each device @times files have this content. */
void sk_three_assert_everywhere (SkThree *self, const char *content, guint times);

/* --- a storage that fails --- */

/* From now on the storage "main" of device @i goes through this: it fails the next @n operations of a kind on names that begin with @prefix.
 * @n G_MAXUINT: all of them. */
typedef struct _SkFlaky SkFlaky;
SkFlaky *sk_fleet_make_flaky (SkFleet *fleet, guint i);           /* lives as long as the session of the device */
void sk_flaky_fail_puts (SkFlaky *self, const char *prefix, guint n, int code);
void sk_flaky_fail_gets (SkFlaky *self, const char *prefix, guint n, int code);
/* The next @n puts are carried out and fail nevertheless. */
void sk_flaky_lose_answers (SkFlaky *self, const char *prefix, guint n);
/* What it lists is said to be from so much later. While nothing runs. */
void sk_flaky_set_clock (SkFlaky *self, gint64 ahead_us);
guint sk_flaky_failed (SkFlaky *self);                            /* how many failed so far */
