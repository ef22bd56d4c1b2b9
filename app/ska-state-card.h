/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How everything stands, in one place: the state, why, what is left and how fast; sync now, pause. */
#pragma once
#include <adwaita.h>

#include "sk-engine.h"

#define SKA_TYPE_STATE_CARD (ska_state_card_get_type ())
G_DECLARE_FINAL_TYPE (SkaStateCard, ska_state_card, SKA, STATE_CARD, AdwBin)

/* Once. */
void ska_state_card_set_engine (SkaStateCard *self, SkEngine *engine);
