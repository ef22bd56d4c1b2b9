/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The form that makes a vault. Signals: "back"; "created" with the recovery words. Property "busy": from the click until the engine has answered;
 * still TRUE while "created" is emitted. */
#pragma once
#include <adwaita.h>

#include "sk-engine.h"

#define SKA_TYPE_CREATE_PAGE (ska_create_page_get_type ())
G_DECLARE_FINAL_TYPE (SkaCreatePage, ska_create_page, SKA, CREATE_PAGE, AdwBin)

/* Once. */
void ska_create_page_set_engine (SkaCreatePage *self, SkEngine *engine);
