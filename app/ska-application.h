/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The desktop program: the engine of one home and the window over it. One instance per home: without --home the session bus sees to
 * that; with it each start is a program of its own, and the second one's engine joins the first's. */
#pragma once
#include <adwaita.h>

#define SKA_TYPE_APPLICATION (ska_application_get_type ())
G_DECLARE_FINAL_TYPE (SkaApplication, ska_application, SKA, APPLICATION, AdwApplication)

SkaApplication *ska_application_new (void);
