/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Identifiers are types, never strings. */
#pragma once
#include <glib.h>

/* 16 bytes: vault, folder, storage, epoch, writer. */
typedef struct { guint8 bytes[16]; } SkId;
/* 8 bytes: a device. A writer id is device id (8) then incarnation (8), see RULES A5. */
typedef struct { guint8 bytes[8]; } SkDeviceId;
/* 32 bytes: chunk id (keyed BLAKE2b-256), pack name (SHA-256), segment hash (SHA-256), content hash. */
typedef struct { guint8 bytes[32]; } SkHash;

#define SK_ID_HEX_SIZE 33
#define SK_DEVICE_ID_HEX_SIZE 17
#define SK_HASH_HEX_SIZE 65

void sk_id_format (const SkId *self, char out[SK_ID_HEX_SIZE]);
gboolean sk_id_parse (const char *hex, SkId *out, GError **error);
gboolean sk_id_equal (const SkId *a, const SkId *b);
int sk_id_compare (const SkId *a, const SkId *b);
gboolean sk_id_is_zero (const SkId *self);
void sk_id_random (SkId *out);

void sk_device_id_format (const SkDeviceId *self, char out[SK_DEVICE_ID_HEX_SIZE]);
gboolean sk_device_id_parse (const char *hex, SkDeviceId *out, GError **error);
gboolean sk_device_id_equal (const SkDeviceId *a, const SkDeviceId *b);
int sk_device_id_compare (const SkDeviceId *a, const SkDeviceId *b);
void sk_device_id_random (SkDeviceId *out);

/* The device part of a writer id, and a fresh writer of a device. */
SkDeviceId sk_id_device (const SkId *writer);
void sk_id_new_writer (const SkDeviceId *device, SkId *out);

void sk_hash_format (const SkHash *self, char out[SK_HASH_HEX_SIZE]);
gboolean sk_hash_parse (const char *hex, SkHash *out, GError **error);
gboolean sk_hash_equal (const SkHash *a, const SkHash *b);
int sk_hash_compare (const SkHash *a, const SkHash *b);
gboolean sk_hash_is_zero (const SkHash *self);
/* For GHashTable keyed by const SkHash * / const SkId *. */
guint sk_hash_hash (gconstpointer key);
gboolean sk_hash_equal_func (gconstpointer a, gconstpointer b);
guint sk_id_hash (gconstpointer key);
gboolean sk_id_equal_func (gconstpointer a, gconstpointer b);
