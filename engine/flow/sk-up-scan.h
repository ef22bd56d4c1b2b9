/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scanning, settling, and the rules about what is missing. Up thread. */
#pragma once
#include "sk-up-private.h"

/* A complete pass over the folder. */
void sk_up_scan_all (SkUp *self, SkUpFolder *folder);
/* Starts scan and check jobs while there is room. */
void sk_up_scan_more (SkUp *self);
gboolean sk_up_scan_idle (SkUp *self);
guint sk_up_scans_out (SkUp *self);
/* Passes that have ended: what is missing becomes candidates, or waits for the person. TRUE when there are new candidates. */
gboolean sk_up_scan_finish (SkUp *self);
void sk_up_scan_confirm (SkUp *self, SkUpFolder *folder, gboolean yes);
/* Sets the timer for the next path that will be quiet. */
void sk_up_arm_settle (SkUp *self);
