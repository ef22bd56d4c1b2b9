/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shows the recovery words again, as long as this device keeps them, and checks what a person wrote down. */
#pragma once
#include "ska-window.h"

#define SKA_TYPE_RECOVERY_WINDOW (ska_recovery_window_get_type ())
G_DECLARE_FINAL_TYPE (SkaRecoveryWindow, ska_recovery_window, SKA, RECOVERY_WINDOW, AdwWindow)

/* Belongs to GTK, as every window. */
SkaRecoveryWindow *ska_recovery_window_new (SkaWindow *window);
