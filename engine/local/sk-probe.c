/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a file system can do, found by doing it. Every refusal counts as "cannot": containers answer EPERM, old kernels
 * ENOSYS, file systems EINVAL or EOPNOTSUPP (RULES C16). A disk that is full or fails has refused nothing: it is taken for an able
 * one, and what fails later is told as what it is. */
#include "sk-root-private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* "é" as one character and as two; a file system that normalises finds either by the other. */
#define COMPOSED "\xc3\xa9"
#define DECOMPOSED "e\xcc\x81"

#define FUSE_TYPE 0x65735546u   /* of statfs; also with a block device behind it */

typedef struct
{
  int dir;
  int fd;            /* of @first */
  char first[48], second[48], third[48];
} Probe;

static gboolean
is_network (int fd)
{
  /* nfs, smb (three generations), 9p, afs, coda, ceph, ocfs2, gfs2 */
  static const guint32 remote[] = { 0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x5346414f,
                                    0x73757245, 0x00c36400, 0x7461636f, 0x01161970 };
  struct statfs fs;
  struct stat st;

  if (fstatfs (fd, &fs) != 0)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (remote); i++)
    if ((guint32) fs.f_type == remote[i])
      return TRUE;
  /* FUSE: with a block device behind it (fuseblk) it is a disk, else it may be anything. */
  return (guint32) fs.f_type == FUSE_TYPE && fstat (fd, &st) == 0 && major (st.st_dev) == 0;
}

/* By errno, right after a call that failed. */
static gboolean
says_nothing (void)
{
  return errno == EIO || errno == ENOSPC || errno == EDQUOT || errno == EMFILE || errno == ENFILE || errno == ENOMEM;
}

static gboolean
make_file (int dir, const char *name)
{
  int fd = openat (dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

  if (fd < 0)
    return FALSE;
  close (fd);
  return TRUE;
}

static void
try_renames (Probe *p, SkRootAbilities *out)
{
  if (!make_file (p->dir, p->second))
    {
      out->rename_noreplace = out->rename_exchange = says_nothing ();
      return;
    }
  out->rename_noreplace = renameat2 (p->dir, p->first, p->dir, p->second, RENAME_NOREPLACE) != 0
                          && (errno == EEXIST || says_nothing ());
  out->rename_exchange = renameat2 (p->dir, p->first, p->dir, p->second, RENAME_EXCHANGE) == 0 || says_nothing ();
}

static void
try_reflink (Probe *p, SkRootAbilities *out)
{
  static const char block[4096] = { 1 };
  int to = openat (p->dir, p->third, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

  if (to < 0)
    return;
  out->reflink = pwrite (p->fd, block, sizeof block, 0) == (gssize) sizeof block
                 && ioctl (to, FICLONE, p->fd) == 0;
  close (to);
  unlinkat (p->dir, p->third, 0);
}

static gboolean
keeps_mode (int fd, mode_t mode)
{
  struct stat st;

  if (fchmod (fd, mode) != 0 || fstat (fd, &st) != 0)
    return says_nothing ();
  return (st.st_mode & 07777) == mode;
}

static void
try_attributes (Probe *p, SkRootAbilities *out)
{
  out->xattr = fsetxattr (p->fd, "user.skerry.probe", "1", 1, 0) == 0 || says_nothing ();
  out->modes = keeps_mode (p->fd, 0710) && keeps_mode (p->fd, 0600);
}

static void
try_symlink (Probe *p, SkRootAbilities *out)
{
  gboolean made = symlinkat ("nowhere", p->dir, p->third) == 0;

  out->symlinks = made || says_nothing ();
  if (made)
    unlinkat (p->dir, p->third, 0);
}

/* TRUE when what was made as @as is found under @by. */
static gboolean
answers_to (Probe *p, const char *as, const char *by)
{
  char made[64], asked[64];
  gboolean found;

  g_snprintf (made, sizeof made, "%s%s", p->third, as);
  g_snprintf (asked, sizeof asked, "%s%s", p->third, by);
  if (!make_file (p->dir, made))
    return FALSE;
  found = faccessat (p->dir, asked, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  unlinkat (p->dir, made, 0);
  return found;
}

static void
probe_in (int dir, SkRootAbilities *out)
{
  Probe p = { .dir = dir, .fd = -1 };
  guint32 salt = g_random_int ();

  g_snprintf (p.first, sizeof p.first, "probe-%08x-1", salt);
  g_snprintf (p.second, sizeof p.second, "probe-%08x-2", salt);
  g_snprintf (p.third, sizeof p.third, "probe-%08x-3", salt);
  p.fd = openat (dir, p.first, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (p.fd < 0)
    {
      out->rename_noreplace = out->rename_exchange = out->xattr = out->modes = out->symlinks = says_nothing ();
      return;
    }
  try_reflink (&p, out);
  try_attributes (&p, out);
  try_symlink (&p, out);
  try_renames (&p, out);
  out->case_folding = answers_to (&p, "a", "A");
  out->normalising = answers_to (&p, COMPOSED, DECOMPOSED);
  close (p.fd);
  unlinkat (dir, p.first, 0);
  unlinkat (dir, p.second, 0);
}

/* The kernel keeps syncfs from the servers of most FUSE file systems, and says that it was done. */
static gboolean
has_whole_sync (int fd, gboolean network)
{
  struct statfs fs;

  return !network && fstatfs (fd, &fs) == 0 && (guint32) fs.f_type != FUSE_TYPE;
}

void
sk_probe_abilities (int root_fd, SkRootAbilities *out)
{
  SkStat stat;
  int dir;

  *out = (SkRootAbilities) { 0 };
  out->openat2 = sk_beneath_has_openat2 (root_fd);
  out->birth_time = sk_stat_at (root_fd, "", &stat) && stat.btime != 0;
  out->network = is_network (root_fd);
  out->whole_sync = has_whole_sync (root_fd, out->network);
  dir = sk_beneath_open (root_fd, SK_OWN_TMP, O_RDONLY | O_DIRECTORY,
                         out->openat2 ? 0 : SK_BENEATH_WALK);
  if (dir < 0)
    {
      out->rename_noreplace = out->rename_exchange = out->xattr = out->modes = out->symlinks = says_nothing ();
      return;
    }
  probe_in (dir, out);
  close (dir);
}
