/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the local layer only: what a root is made of. */
#pragma once
#include "sk-beneath.h"

#define SK_OWN_DIR ".skerry"
#define SK_OWN_TMP ".skerry/tmp"
#define SK_OWN_TRASH ".skerry/trash"
#define SK_OWN_MARKER ".skerry/folder"

struct _SkRoot
{
  int refs;                      /* atomic */
  int fd;
  char *given;                   /* absolute, as the person named it: may lead through a link */
  char *path;                    /* resolved when it was opened */
  SkRootNumbers numbers;
  SkRootAbilities abilities;     /* written by open and prepare, before the root is shared */

  GMutex lock;                   /* of the two below */
  gpointer writer_state;
  GDestroyNotify free_writer_state;
};

/* Flags for sk_beneath_open below this root; other mounts are not entered. */
SkBeneathFlags sk_root_beneath (SkRoot *self);
/* The descriptor of @path below the root, or -1 with errno. */
int sk_root_openat (SkRoot *self, const char *path, int oflags);

/* What the write side keeps with a root (what was placed since the last barrier). Made once by @make; freed with the root.
 * The pointer is stable; the write side locks what it points to itself. */
gpointer sk_root_writer_state (SkRoot *self, gpointer (*make) (void), GDestroyNotify free_state);

void sk_root_read_numbers (int fd, SkRootNumbers *out);
/* Tries in .skerry/tmp of @root_fd what the file system can do; what cannot be tried there stays FALSE. */
void sk_probe_abilities (int root_fd, SkRootAbilities *out);
