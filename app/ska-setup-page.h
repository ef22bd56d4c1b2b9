/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A home without a vault: create one, or join one. Property "holding": the page is in the middle of something, and stays although the vault is there
 * already (its recovery words are being shown, for instance). */
#pragma once
#include <adwaita.h>

#include "sk-engine.h"

#define SKA_TYPE_SETUP_PAGE (ska_setup_page_get_type ())
G_DECLARE_FINAL_TYPE (SkaSetupPage, ska_setup_page, SKA, SETUP_PAGE, AdwBin)

/* Once. */
void ska_setup_page_set_engine (SkaSetupPage *self, SkEngine *engine);
gboolean ska_setup_page_is_holding (SkaSetupPage *self);
