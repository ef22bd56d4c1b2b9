/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report of COMMANDS.md: built from the index and the counters, immutable once published. */
#pragma once
#include "sk-flow.h"

/* Builds a new report and publishes it; task or flow thread. */
void sk_report_build (SkSession *session);
/* { name: its list } of a fresh report (floating). */
GVariant *sk_report_part (SkSession *session, const char *name, GError **error);
/* The dictionary of one element of that list, by id (floating). */
GVariant *sk_report_one (SkSession *session, const char *name, const SkId *id, GError **error);
/* A Lamport number for a definition (folder, storage). */
guint64 sk_report_next_lamport (SkSession *session);
