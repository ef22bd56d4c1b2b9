/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks for the passphrase of a locked home. */
#pragma once
#include <adwaita.h>

#include "sk-engine.h"

#define SKA_TYPE_UNLOCK_PAGE (ska_unlock_page_get_type ())
G_DECLARE_FINAL_TYPE (SkaUnlockPage, ska_unlock_page, SKA, UNLOCK_PAGE, AdwBin)

/* Once. */
void ska_unlock_page_set_engine (SkaUnlockPage *self, SkEngine *engine);
/* Why it is locked (a wrong passphrase, for instance). */
void ska_unlock_page_set_reason (SkaUnlockPage *self, const char *reason);
