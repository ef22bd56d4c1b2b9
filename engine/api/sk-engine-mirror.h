/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of mirror objects, brought to what a report says by exact splices. The only writer of
 * the objects' fields. Main thread only. */
#pragma once
#include <gio/gio.h>

typedef struct _SkMirror SkMirror;
SkMirror *sk_mirror_new (void);
void sk_mirror_free (SkMirror *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SkMirror, sk_mirror_free)
/* (transfer none) */
GListModel *sk_mirror_folders (SkMirror *self);
GListModel *sk_mirror_devices (SkMirror *self);
GListModel *sk_mirror_storages (SkMirror *self);
GListModel *sk_mirror_issues (SkMirror *self);
/* @report: a{sv}, COMMANDS.md. Objects of ids that are still there stay the same objects. */
void sk_mirror_apply (SkMirror *self, GVariant *report);
