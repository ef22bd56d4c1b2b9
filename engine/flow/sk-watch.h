/* SPDX-License-Identifier: GPL-3.0-or-later */
/* While an engine runs: watches the attached folders, polls storages, looks after folders and storages that are away. Its own
 * worker thread ("engine"). */
#pragma once
#include "sk-flow.h"

SkWatch *sk_watch_new (SkSession *session);
void sk_watch_free (SkWatch *self);
/* The config changed. */
void sk_watch_reload (SkWatch *self);
/* Another device is about to write: storages are polled as often as while things come. @self NULL: no engine runs. */
void sk_watch_expect (SkWatch *self);
