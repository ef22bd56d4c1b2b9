/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scanning, settling, and the rules about what is missing. Up thread. */
#pragma once
#include "sk-up-private.h"

/* A complete pass over the folder. */
void sk_up_scan_all (SkUp *self, SkUpFolder *folder);
/* A complete pass over each folder that wanted another one, at a time that has come. */
void sk_up_scan_due (SkUp *self);
/* The pass that is under way ends and proves nothing. An engine that watches begins another one when it may scan again. */
void sk_up_scan_give_up (SkUp *self, SkUpFolder *folder);
/* Directories that wait to be listed or are being listed, with what else a scan does counted as one; 0: idle. */
guint sk_up_scan_left (SkUp *self);
/* Starts scan and check jobs while there is room. */
void sk_up_scan_more (SkUp *self);
gboolean sk_up_scan_idle (SkUp *self);
guint sk_up_scans_out (SkUp *self);
/* Passes that have ended: what is missing becomes candidates, or waits for the person. TRUE when there are new candidates. */
gboolean sk_up_scan_finish (SkUp *self);
/* What was found goes on its way; @founds (SkFound) is empty afterwards. */
void sk_up_scan_add (SkUp *self, SkUpFolder *folder, GPtrArray *founds);
/* What is missing, except where nothing is to be looked at: it is decided when nothing is on its way. @gone (SkFound) is empty afterwards. */
void sk_up_scan_gone (SkUpFolder *folder, GPtrArray *gone);
/* RULES A14: what the rules or --only leave out stays as it is in the vault, also when it is not on this disk. */
gboolean sk_up_is_left_out (const SkUpFolder *folder, const char *path, gboolean is_dir);
/* Sets the timer for the next path that will be quiet. */
void sk_up_arm_settle (SkUp *self);

/* sk-up-check.c: starts looking at the paths of the folder that became quiet. */
void sk_up_check_due (SkUp *self, SkUpFolder *folder);

/* sk-up-gone.c */
/* A complete pass begins: what the person said is loaded. */
void sk_up_gone_begin (SkUp *self, SkUpFolder *folder);
/* Nothing is on its way: what is missing is decided. TRUE when there are new candidates. */
gboolean sk_up_gone_finish (SkUp *self, SkUpFolder *folder);
/* The person decided about a mass change, or about the local changes of a folder that only receives. A pass begins. */
void sk_up_gone_decide (SkUp *self, SkUpFolder *folder, gboolean yes);
void sk_up_gone_decide_local (SkUp *self, SkUpFolder *folder, gboolean publish);

/* sk-up-absent.c: starts looking once more for what is missing and was not looked for again yet. FALSE: there is nothing like that; otherwise the
 * end of it calls sk_up_turn. */
gboolean sk_up_absent_look (SkUp *self, SkUpFolder *folder);

/* sk-up-hold.c: is what is missing, or replaced, still becoming more? MOVED: there are new candidates, which were only renamed; ask again after
 * them. ON: not yet; a turn follows at held_until, or when what was started has ended. */
typedef enum { SK_UP_HOLD_OVER, SK_UP_HOLD_ON, SK_UP_HOLD_MOVED, SK_UP_HOLD_FAILED } SkUpHold;
SkUpHold sk_up_hold (SkUp *self, SkUpFolder *folder, GError **error);
void sk_up_hold_end (SkUpFolder *folder);
gboolean sk_up_hold_any (SkUp *self);

/* sk-up-revert.c: @founds (SkFound) are taken back; blocking, on the up thread. What cannot be is told in self->failed. FALSE: some are not as they were
 * found any more, or it could not be noted: another pass is needed. */
gboolean sk_up_revert (SkUp *self, SkUpFolder *folder, GPtrArray *founds);
