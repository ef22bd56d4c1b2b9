/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules of convergence as pure functions (DESIGN 5, RULES A6 to A8, A15). */
#pragma once
#include "sk-entry.h"

/* Which of @entries (of one path) are maximal: dominated by no other. Equal vector and equal content are one version:
 * the one with the newest metadata stands for it, of quite equal ones the first. Equal vector and different content
 * count as concurrent (A5). @maximal: one gboolean per entry. */
void sk_merge_maximal (SkEntry *const *entries, guint n, gboolean *maximal);

typedef struct
{
  SkKind kind;             /* what is visible at the path: FILE, DIR, SYMLINK, or NONE */
  int winner;              /* index of the entry whose content that is; -1 for NONE and for an implied directory */
  int meta;                /* index of the entry whose metadata stamp stands for it; -1 when none */
  guint32 mode;            /* resolved: of @meta, or 0755 for an implied directory nobody ever described */
  gint64 mtime;
  guint n_losers;
  int losers[64];          /* entries that become conflict copies, one per distinct content, highest rank first */
} SkVisible;
/* The visible state of a path from its maximal entries. @has_live_children: something live lies below it, so it
 * is a directory whatever the entries say (A15). At most 64 losers are shown; the rest stays in the set. */
void sk_merge_visible (SkEntry *const *maximal, guint n, gboolean has_live_children, SkVisible *out);

/* What a local change of a path has to do first, and what it then builds on (A1, A7). @maximal, @n, @visible: the path
 * as it was before. @base: vector of what is on this disk, NULL when nothing of ours ever was; @base_kind and
 * @base_content (NULL unless a file or link): what that is. @writer and @counter: the stamp the change will have.
 * Returns the vector to build on, before the stamp is added: @base and all that @writer itself wrote; or, where the disk
 * showed the winner, the join of all maximal entries. (transfer full)
 * @copies: one gboolean per entry, TRUE: append sk_conflict_entry() of it first. These are the contents that the change
 * dominates although it does not build on them.
 * Why own entries: a counter stands for everything its writer ever wrote at the path, so the vectors of one writer
 * must only grow. Else B:5, built on nothing, would claim the older {A:1 B:2}, which lost the name, without A:1; and a
 * third device that never saw that one would dominate it by joining B:5 with a counter of A. */
SkVector *sk_merge_build_on (SkEntry *const *maximal, guint n, const SkVisible *visible, const SkVector *base,
                             SkKind base_kind, const SkHash *base_content, const SkId *writer, guint64 counter,
                             gboolean *copies);

/* Path of @loser's conflict copy, from the loser's entry alone (A7). Never the loser's own path: a copy that loses
 * its name in turn shows more digits of its hash. (transfer full) */
char *sk_conflict_path (const SkEntry *loser);
/* The copy's entry: writer = hash(folder, path, loser's vector, content), counter 1, the metadata stamp of the loser;
 * byte-identical on every device. @loser: a file or link with its chunks. (transfer full) */
SkEntry *sk_conflict_entry (const SkEntry *loser);
/* TRUE when one of @at_copy_path, the entries at sk_conflict_path (@entry), deleted or edited the copy of @entry. */
gboolean sk_merge_copy_is_gone (const SkEntry *entry, SkEntry *const *at_copy_path, guint n);
/* TRUE when @entry loses its name without anybody having replaced or deleted it: it is maximal and does not win, or is dominated
 * by entries whose writers relied on its copy. Who wrote an entry that dominates it saw what the entries below that give: where
 * that shows the content of @entry, it was changed on purpose. FALSE also where another entry, which has a copy of its own,
 * carries on the content. @at_name: all known entries of the path, dominated ones included. */
gboolean sk_merge_loses_name (const SkEntry *entry, SkEntry *const *at_name, guint n);
/* To be asked for the version that is on this disk before a target replaces or removes it. TRUE: it loses its name
 * (sk_merge_loses_name), its copy is gone, and the copy was taken away while the content was at the name itself, so that this disk
 * may be the last place that has it; then it is first written anew with sk_merge_restate. That the content was there is
 * known in two cases: the copy was deleted or edited on this device (@device), which still shows @entry: a person moved it back, or saw
 * both. Or what beat @entry was deleted by somebody who did not know of it, so it came back to the name. In every other case a
 * person saw another version there and threw the copy away; a device that comes late must not bring it back.
 * @at_copy: the maximal entries at sk_conflict_path (@entry). */
gboolean sk_merge_must_restate (const SkEntry *entry, SkEntry *const *at_name, guint n, SkEntry *const *at_copy, guint n_copy,
                                const SkDeviceId *device);
/* @entry once more, so that it survives: on the vector @built_on (sk_merge_build_on with @entry's content as the base)
 * and this stamp. It keeps its Lamport number, so that it takes no name: it becomes a conflict copy. (transfer full) */
SkEntry *sk_merge_restate (const SkEntry *entry, const SkVector *built_on, const SkId *writer, guint64 counter);
/* The path whose loser the copy at @path is, unless that had been a copy itself; NULL when @path is no copy's. (transfer full) */
char *sk_conflict_original (const char *path);
/* TRUE when @name ends, before its extension, in what sk_conflict_path() adds. */
gboolean sk_is_conflict_name (const char *name);

/* What a difference between disk, base and target means. Pure; table-tested with every combination. */
typedef enum
{
  SK_LOCAL_SAME,           /* disk is what the base says */
  SK_LOCAL_STAT_ONLY,      /* content and metadata equal, only stat numbers differ: remember them */
  SK_LOCAL_ADOPT,          /* disk equals a version that is already known: base becomes that version, no entry */
  SK_LOCAL_META,           /* metadata entry */
  SK_LOCAL_CONTENT,        /* content entry on the base's vector */
  SK_LOCAL_UNION,          /* content entry, Lamport 0 (first contact, A6) */
  SK_LOCAL_DELETE,         /* tombstone on the base's vector */
  SK_LOCAL_FORGET,         /* gone here and gone in the target: base becomes nothing, no entry */
} SkLocalVerdict;

typedef struct
{
  SkKind disk_kind, base_kind, target_kind;
  gboolean content_equals_base, content_equals_target, content_equals_known;  /* any known version of the path */
  gboolean content_equals_later;   /* a known version that dominates what the base stands for: written here, and cut off before the base followed */
  gboolean written_here;   /* an engine that was cut off wrote this known version: its time says so */
  gboolean meta_equals_base;
  gboolean base_deleted;   /* no base because a deletion was carried out or made here: what is there now was made anew */
  gboolean first_contact;  /* this folder's first complete scan here has not ended yet, or state was lost */
} SkLocalFacts;
/* A known version is adopted only where the path lives: else the next step would be to delete the file again, under
 * the hands of a person who just brought it back, or at a first contact, which deletes nothing. */
SkLocalVerdict sk_merge_local (const SkLocalFacts *facts);

typedef enum
{
  SK_APPLY_NOTHING,
  SK_APPLY_META,           /* chmod, utimens */
  SK_APPLY_MKDIR,
  SK_APPLY_WRITE,          /* create or replace a file */
  SK_APPLY_SYMLINK,
  SK_APPLY_TRASH,          /* move what is there to the trash; for a directory: remove when empty on disk */
  SK_APPLY_REPLACE_KIND,   /* trash what is there (a directory: only when empty), then create */
} SkApply;
/* From base to target, for a node whose disk is as the base says. */
SkApply sk_merge_apply (SkKind base_kind, SkKind target_kind, gboolean content_equal, gboolean meta_equal);
