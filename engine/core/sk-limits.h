/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every maximum of the formats, with unit and reason. A number read from outside is compared
 * with one of these before it is used. */
#pragma once

/* --- names and trees --- */
#define SK_NAME_MAX 255u                 /* bytes in one path component; NAME_MAX on Linux */
#define SK_PATH_MAX 65536u               /* bytes in a whole relative path: deeper than PATH_MAX is allowed */
#define SK_DEPTH_MAX 1024u               /* components in a path */
#define SK_SYMLINK_MAX 4096u             /* bytes in a link target */
#define SK_LABEL_MAX 128u                /* bytes in a device, folder or storage name */
#define SK_XATTR_MAX 65536u              /* bytes of all kept xattrs of one file */

#define SK_PATTERN_MAX 1024u             /* bytes in one ignore pattern; matching costs at most this per byte of a path */
#define SK_PATTERNS_MAX 4096u            /* ignore patterns in one folder */

/* --- content --- */
#define SK_FILE_SIZE_MAX (G_GUINT64_CONSTANT (1) << 50)   /* 1 PiB */
#define SK_CHUNK_SIZE_MAX (16u << 20)    /* 4 MiB average, max is 4 x */
#define SK_SMALL_FILE (256u << 10)       /* up to here a file is one chunk */
#define SK_ZERO_BLOCK (1u << 20)         /* aligned blocks of zeros of this size become zero runs */
#define SK_ENTRY_CHUNKS_MAX (16u << 20)  /* chunks in one file */
#define SK_ZSTD_LEVEL_MAX 19
#define SK_ZSTD_LEVEL_DEFAULT 3

/* --- packs --- */
#define SK_PACK_TARGET_MIN (1u << 20)
#define SK_PACK_TARGET_MAX (16u << 20)
#define SK_PACK_SIZE_MAX (48u << 20)     /* target + one largest chunk + padding */
#define SK_PACK_CHUNKS_MAX 65536u

/* --- log --- */
#define SK_SEGMENT_SIZE_MAX (256u << 20) /* for one entry of a huge file */
#define SK_SEGMENT_PLAIN_MAX (1u << 30)
#define SK_SEGMENT_RECORDS_MAX (1u << 20)
#define SK_SEQ_MAX G_GUINT64_CONSTANT (999999999999)       /* 12 digits in an object name */
#define SK_COUNTER_MAX ((guint64) G_MAXINT64)  /* Lamport numbers and counters; +1 never wraps, SQLite holds it */
#define SK_WALL_MIN (G_GINT64_CONSTANT (-62135596800))     /* year 1 to 9999: what a calendar can print */
#define SK_WALL_MAX G_GINT64_CONSTANT (253402300799)
#define SK_BODY_MEMORY_MAX (768u << 20)  /* bytes the records of one body take when decoded; a 16 Mi chunk list fits */
#define SK_ENVELOPE_SIZE_MIN 1024u       /* stored objects are padded to at least this */
#define SK_VECTOR_MAX 4096u              /* writers in one version vector */
#define SK_LAMPORT_JUMP_MAX (G_GUINT64_CONSTANT (1) << 32) /* RULES B9 */
#define SK_HEAD_SIZE_MAX (1u << 20)
#define SK_EPOCHS_MAX 1024u              /* one per revocation; a hostile device must not fill locked memory */
#define SK_DEVICES_MAX 256u
#define SK_STORAGES_MAX 64u
#define SK_URI_MAX 4096u                 /* bytes in the address of a storage */
#define SK_SNAPSHOT_PARTS_MAX (1u << 20)
#define SK_MEMBER_RECORDS_MAX 4096u      /* kept; as many again signed by the recovery identity */
#define SK_MEMBER_MAX 65536u             /* bytes of one membership record */
#define SK_MEMBER_SET_MAX (4u << 20)     /* a device's copy of the records; 256 devices need 80 KiB */
#define SK_SMALL_OBJECT_MAX (1u << 20)   /* marker, join messages, epoch objects */
