/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Moving without losing what another program puts there in the same moment (RULES A11). Two ways:
 * renameat2 with flags, and, where a file system or a filter refuses them, hard links, and where
 * there are none either, plain renames with a look before. */
#include "sk-write-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* How often somebody may save between two of our calls until the newest save is left where it is:
 * in the trash. */
#define SWAP_BACK_TRIES 15u

gboolean
sk_stat_same_moved (const SkStat *a, const SkStat *b)
{
  return a->kind == b->kind && a->ino == b->ino && a->size == b->size && a->mtime == b->mtime
         && a->mode == b->mode;
}

/* ---- system calls: 0 or an errno ---- */

/* Not there: EPERM comes from containers, EINVAL from file systems, ENOSYS from old kernels (RULES
 * C16). */
static gboolean
is_refusal (int errnum)
{
  return errnum == EPERM || errnum == EINVAL || errnum == ENOSYS || errnum == EOPNOTSUPP;
}

static int
rename_with (gboolean able, const SkSpot *from, const SkSpot *to, unsigned int flags)
{
#if SK_TEST_HOOKS
  able = able && !sk_write_hooks.refuse_flags;
#endif
  if (!able)
    return EINVAL;
  return renameat2 (from->dir, from->name, to->dir, to->name, flags) == 0 ? 0 : errno;
}

static int
exchange (SkRoot *root, const SkSpot *a, const SkSpot *b)
{
  return rename_with (sk_root_abilities (root)->rename_exchange, a, b, RENAME_EXCHANGE);
}

static int
rename_plainly (const SkSpot *from, const SkSpot *to)
{
  return renameat (from->dir, from->name, to->dir, to->name) == 0 ? 0 : errno;
}

static int
link_spot (const SkSpot *from, const SkSpot *to)
{
#if SK_TEST_HOOKS
  if (sk_write_hooks.refuse_links)
    return EPERM;
#endif
  return linkat (from->dir, from->name, to->dir, to->name, 0) == 0 ? 0 : errno;
}

static int
unlink_spot (const SkSpot *spot)
{
  return unlinkat (spot->dir, spot->name, 0) == 0 ? 0 : errno;
}

static gboolean
look (const SkSpot *spot, SkStat *out)
{
  return sk_stat_at (spot->dir, spot->name, out);
}

/* ---- moves ---- */

int
sk_swap_put (SkRoot *root, const SkSpot *from, const SkSpot *to)
{
  int errnum = rename_with (sk_root_abilities (root)->rename_noreplace, from, to, RENAME_NOREPLACE);
  SkStat stat;

  if (!is_refusal (errnum))
    return errnum;
  errnum = link_spot (from, to);
  if (errnum == 0)
    return unlink_spot (from);
  if (!is_refusal (errnum) && errnum != EMLINK)
    return errnum;
  /* Neither flags nor links (vfat, some FUSE), or a directory. */
  if (look (to, &stat))
    return EEXIST;
  return errno == ENOENT ? rename_plainly (from, to) : errno;
}

/* To a free name in .skerry: there nobody else makes any. */
static int
move_to_own (SkRoot *root, const SkSpot *from, const SkSpot *to)
{
  int errnum = rename_with (sk_root_abilities (root)->rename_noreplace, from, to, RENAME_NOREPLACE);

  return is_refusal (errnum) ? rename_plainly (from, to) : errnum;
}

gboolean
sk_spot_is (const SkSpot *spot, const SkStat *expected, SkStat *now)
{
  if (!look (spot, now) || now->mount_root)
    return FALSE;
  if (expected->kind == SK_KIND_DIR)
    return now->kind == SK_KIND_DIR;
  return sk_stat_same (expected, now);
}

/* As sk_spot_is, but after a move and against a look of before it. */
static gboolean
came_through (const SkSpot *spot, const SkStat *before, SkStat *now)
{
  if (!look (spot, now))
    return FALSE;
  if (before->kind == SK_KIND_DIR)
    return now->kind == SK_KIND_DIR && now->ino == before->ino;
  return sk_stat_same_moved (before, now);
}

int
sk_swap_take (SkRoot *root, const SkSpot *from, const SkSpot *own, const SkStat *expected,
              SkStat *moved)
{
  SkStat before;
  int errnum;

  if (!sk_spot_is (from, expected, &before))
    return ESTALE;
  SK_WRITE_POINT ("checked");
  errnum = move_to_own (root, from, own);
  if (errnum == ENOENT)
    return ESTALE;
  if (errnum != 0)
    return errnum;
  SK_WRITE_POINT ("swapped");
  if (came_through (own, &before, moved))
    return 0;
  /* When something newer is at @from already, both stay where they are: nothing is lost. */
  if (sk_swap_put (root, own, from) != 0)
    sk_trash_note_lost (root, own);
  return ESTALE;
}

int
sk_swap_relocate (SkRoot *root, const SkSpot *from, const SkSpot *to, const SkStat *expected,
                  SkStat *moved)
{
  gboolean able = sk_root_abilities (root)->rename_noreplace;
  SkStat before;
  int errnum;

  if (!able)
    return EOPNOTSUPP;
  if (!sk_spot_is (from, expected, &before))
    return ESTALE;
  SK_WRITE_POINT ("checked");
  errnum = rename_with (able, from, to, RENAME_NOREPLACE);
  if (is_refusal (errnum))
    return EOPNOTSUPP;
  if (errnum != 0)
    return errnum == ENOENT ? ESTALE : errnum;
  SK_WRITE_POINT ("swapped");
  if (came_through (to, &before, moved))
    return 0;
  rename_with (able, to, from, RENAME_NOREPLACE);
  return ESTALE;
}

/* ---- replacing ---- */

/* After an exchange brought out something else: exchanges until what was put in comes out again, so
 * that the newest save of whoever is writing there ends at @to. TRUE when @ours lies in @slot
 * again. */
static gboolean
swap_back (SkRoot *root, const SkSpot *to, const SkSpot *slot, const SkStat *ours)
{
  SkStat believed = *ours, put, out;

  for (guint i = 0; i < SWAP_BACK_TRIES; i++)
    {
      /* ENOENT: the person removed the file after saving it; the save stays in the trash. */
      if (!look (slot, &put) || exchange (root, slot, to) != 0)
        return FALSE;
      SK_WRITE_POINT ("back");
      if (came_through (slot, &believed, &out))
        return i == 0;
      believed = put;
    }
  return FALSE;
}

/* What was at @own lies at @slot: back. */
static SkSwapResult
give_back (SkRoot *root, const SkSpot *own, const SkSpot *slot)
{
  return sk_swap_put (root, slot, own) == 0 ? SK_SWAP_KEPT : SK_SWAP_LOST;
}

/* A replaced directory is not kept: it has to be empty. */
static int
drop_directory (const SkSpot *slot, const SkStat *old)
{
  if (old->kind != SK_KIND_DIR)
    return 0;
  return unlinkat (slot->dir, slot->name, AT_REMOVEDIR) == 0 ? 0 : errno;
}

static SkSwapResult
replace_by_exchange (SkRoot *root, const SkSpot *own, const SkSpot *to, const SkSpot *slot,
                     const SkStat *before, SkStat *old, int *errnum)
{
  SkStat ours;

  *errnum = EINVAL;
  if (!sk_root_abilities (root)->rename_exchange)
    return SK_SWAP_KEPT;
  /* First into the trash, so that the exchange itself is what brings the old file there: at no
   * moment is it in a place where it would be taken for something else after a crash. */
  *errnum = look (own, &ours) ? move_to_own (root, own, slot) : errno;
  if (*errnum != 0)
    return SK_SWAP_KEPT;
  *errnum = exchange (root, slot, to);
  if (*errnum != 0)
    {
      if (*errnum == ENOENT)
        *errnum = ESTALE;
      return give_back (root, own, slot);
    }
  SK_WRITE_POINT ("swapped");
  *errnum = came_through (slot, before, old) ? drop_directory (slot, old) : ESTALE;
  if (*errnum == 0)
    return SK_SWAP_DONE;
  return swap_back (root, to, slot, &ours) ? give_back (root, own, slot) : SK_SWAP_LOST;
}

/* Links: the old file gets a second name in the trash and loses the first when ours takes it. */
static SkSwapResult
replace_by_link (SkRoot *root, const SkSpot *own, const SkSpot *to, const SkSpot *slot,
                 const SkStat *before, SkStat *old, int *errnum)
{
  SkStat still;

  /* A link stamps the ctime, which would look like a change after a rename that was refused: asked
   * first. */
  if (faccessat (to->dir, ".", W_OK | X_OK, AT_EACCESS) != 0)
    *errnum = errno;
  else
    *errnum = link_spot (to, slot);
  if (*errnum != 0)
    return SK_SWAP_KEPT;
  SK_WRITE_POINT ("linked");
  /* Looked at as late as possible; between this look and the rename is the window that only an
   * exchange closes. */
  if (!came_through (slot, before, old) || !came_through (to, before, &still))
    *errnum = ESTALE;
  else
    *errnum = rename_plainly (own, to);
  if (*errnum == 0)
    return SK_SWAP_DONE;
  unlink_spot (slot);
  return SK_SWAP_KEPT;
}

/* Neither: the old file moves away, ours moves in; for a moment there is nothing. */
static SkSwapResult
replace_by_two_moves (SkRoot *root, const SkSpot *own, const SkSpot *to, const SkSpot *slot,
                      const SkStat *before, SkStat *old, int *errnum)
{
  *errnum = move_to_own (root, to, slot);
  if (*errnum == ENOENT)
    *errnum = ESTALE;
  if (*errnum != 0)
    return SK_SWAP_KEPT;
  SK_WRITE_POINT ("moved");
  *errnum = came_through (slot, before, old) ? drop_directory (slot, old) : ESTALE;
  if (*errnum == 0)
    *errnum = sk_swap_put (root, own, to);
  if (*errnum == 0)
    return SK_SWAP_DONE;
  if (*errnum == EEXIST)
    *errnum = ESTALE;
  if (sk_swap_put (root, slot, to) != 0)
    sk_trash_note_lost (root, slot);
  return SK_SWAP_KEPT;
}

SkSwapResult
sk_swap_replace (SkRoot *root, const SkSpot *own, const SkSpot *to, const SkSpot *slot,
                 const SkStat *expected, SkStat *old, int *errnum)
{
  SkSwapResult result;
  SkStat before, ours;

  *errnum = ESTALE;
  if (!sk_spot_is (to, expected, &before))
    {
      if (!sk_test_mistake ("blind-rename") || rename_plainly (own, to) != 0)
        return SK_SWAP_KEPT;
      *old = before;
      return SK_SWAP_DONE;
    }
  SK_WRITE_POINT ("checked");
  result = replace_by_exchange (root, own, to, slot, &before, old, errnum);
  if (result != SK_SWAP_KEPT || !is_refusal (*errnum))
    return result;
  if (before.kind != SK_KIND_DIR && look (own, &ours) && ours.kind != SK_KIND_DIR)
    {
      result = replace_by_link (root, own, to, slot, &before, old, errnum);
      if (result != SK_SWAP_KEPT || (!is_refusal (*errnum) && *errnum != EMLINK))
        return result;
    }
  return replace_by_two_moves (root, own, to, slot, &before, old, errnum);
}
