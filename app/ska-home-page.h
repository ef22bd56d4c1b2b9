/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a person sees of a vault: how it stands, what wants an answer, folders, devices, storages. */
#pragma once
#include <adwaita.h>

#include "sk-engine.h"

#define SKA_TYPE_HOME_PAGE (ska_home_page_get_type ())
G_DECLARE_FINAL_TYPE (SkaHomePage, ska_home_page, SKA, HOME_PAGE, AdwBin)

/* Once. */
void ska_home_page_set_engine (SkaHomePage *self, SkEngine *engine);
