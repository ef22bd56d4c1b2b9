/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lets another device into the vault: shows the code, then the newcomer's name and six words to compare, then admits or refuses it. Closed before that,
 * the invitation stays until it runs out, and a newcomer shows up among what needs the person. */
#pragma once
#include "ska-window.h"

#define SKA_TYPE_INVITE_WINDOW (ska_invite_window_get_type ())
G_DECLARE_FINAL_TYPE (SkaInviteWindow, ska_invite_window, SKA, INVITE_WINDOW, AdwWindow)

/* Belongs to GTK, as every window. */
SkaInviteWindow *ska_invite_window_new (SkaWindow *window);
