/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The form that joins a vault with the code of another device, then the six words that both devices show. Signals: "back"; "joined". Property "busy":
 * from the click until the engine has answered. */
#pragma once
#include <adwaita.h>

#include "sk-engine.h"

#define SKA_TYPE_JOIN_PAGE (ska_join_page_get_type ())
G_DECLARE_FINAL_TYPE (SkaJoinPage, ska_join_page, SKA, JOIN_PAGE, AdwBin)

/* Once. */
void ska_join_page_set_engine (SkaJoinPage *self, SkEngine *engine);
