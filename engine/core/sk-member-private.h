/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What record parsing, the evaluation of the set and epoch objects share. FORMAT.md, "Membership". */
#pragma once
#include "sk-member.h"

#define SK_MEMBER_ADD 1u
#define SK_MEMBER_RENAME 2u
#define SK_MEMBER_REVOKE 3u

typedef struct _SkIdentityNode SkIdentityNode;

/* Order of enrolment: nobody can enrol something older than himself. */
typedef struct
{
  gint64 time;             /* of the record, but not before that of the signer */
  guint depth;             /* steps below the recovery identity */
  SkHash hash;
} SkRank;

typedef enum { SK_MEMBER_OPEN, SK_MEMBER_IN, SK_MEMBER_OUT } SkMemberState;

typedef struct
{
  GBytes *bytes;           /* verbatim */
  SkHash hash;             /* BLAKE2b-256 of them */
  guint8 type;             /* types that this version does not know are kept and mean nothing */
  SkDeviceId signer, subject;
  gint64 time;
  char *name;              /* add, rename */
  SkPublicKey sign_key, box_key;   /* add */
  guint64 lamport;         /* rename */
  GArray *cut;             /* revoke: SkPosition */
  GArray *kept;            /* revoke: SkHash, ascending */
  gboolean by_recovery;

  /* Whether the signature fits the key it was last compared with. */
  SkPublicKey checked_key;
  gboolean was_checked, check_result;

  /* Written by the evaluation. */
  SkIdentityNode *by;      /* whose key verifies it; NULL for the recovery identity and as long as nobody is known */
  SkIdentityNode *makes;   /* add: the identity it enrols */
  SkRank rank;             /* add */
  SkMemberState state;
  guint visit, low;        /* of the search for circles */
  gboolean on_path;
} SkMemberRecord;

/* A device id with one signing key. */
struct _SkIdentityNode
{
  SkDeviceId id;
  SkPublicKey sign_key;
  SkRank rank;             /* least over the records that add it */
  SkMemberRecord *origin;  /* the record with that rank */
  GPtrArray *adds;         /* SkMemberRecord, borrowed */
};

struct _SkMembers
{
  SkId vault;
  SkPublicKey recovery_sign, recovery_box;
  GPtrArray *records;      /* SkMemberRecord, ascending by hash */
  guint n_by_recovery;
  gboolean evaluated;
  GPtrArray *devices;      /* SkDevice, in order of enrolment */
};

SkMemberRecord *sk_member_record_parse (GBytes *bytes, const SkId *vault, GError **error);
void sk_member_record_free (SkMemberRecord *self);
gboolean sk_member_record_verify (SkMemberRecord *self, const SkPublicKey *key);
gboolean sk_device_id_is_zero (const SkDeviceId *self);

void sk_identity_node_free (SkIdentityNode *self);
/* Fills @nodes (owned), in order of rank, and sets by, makes and rank of the records. Verifies signatures. */
void sk_members_find_identities (GPtrArray *records, GPtrArray *nodes);
/* Whose word decides: the recovery identity, then the lesser rank of the signer, then the lesser hash. <0: @a. */
int sk_member_compare_authority (const SkMemberRecord *a, const SkMemberRecord *b);
/* The same between records that add, whose own rank decides. */
int sk_member_compare_adds (const SkMemberRecord *a, const SkMemberRecord *b);
/* Brings states and devices up to date with the records. */
void sk_members_evaluate (SkMembers *self);
/* The records that are in: those that enrol @first and its ancestors before the others. (transfer container) of
 * SkMemberRecord, borrowed. */
GPtrArray *sk_members_valid_records (SkMembers *self, const SkDeviceId *first);
