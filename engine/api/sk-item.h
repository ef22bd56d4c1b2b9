/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the mirror objects (SkFolder, SkDevice, SkStorage, SkIssue) have in common: plain
 * read-only GObject properties, each taken from a key of the report, notified only when it
 * changed. Main thread only. */
#pragma once
#include <gio/gio.h>

#define SK_TYPE_ITEM (sk_item_get_type ())
G_DECLARE_DERIVABLE_TYPE (SkItem, sk_item, SK, ITEM, GObject)

typedef enum
{
  SK_ITEM_STRING,        /* s */
  SK_ITEM_STRINGS,       /* as; property of type G_TYPE_STRV */
  SK_ITEM_FILENAME,      /* ay: the exact bytes, not for labels */
  SK_ITEM_DISPLAY,       /* ay: the same as UTF-8, with control characters and broken bytes as \xNN */
  SK_ITEM_BOOLEAN,       /* b */
  SK_ITEM_NUMBER,        /* u, t; property of type guint64 */
  SK_ITEM_TIME,          /* x: seconds since 1970, 0 = never; property of type gint64 */
  SK_ITEM_DOUBLE,        /* computed */
} SkItemKind;

typedef struct
{
  const char *property;
  SkItemKind kind;
  const char *key;                             /* of the dictionary; NULL: computed */
  double (*compute) (GVariant *dictionary);    /* SK_ITEM_DOUBLE */
} SkItemField;

struct _SkItemClass
{
  GObjectClass parent_class;
  const SkItemField *fields;                   /* ends with a NULL property */
  guint n_fields;
};

/* In class_init of a leaf class: installs a property for each field. The first one is "id". */
void sk_item_class_install (SkItemClass *class, const SkItemField *fields);
/* Takes over a dictionary of the report. */
void sk_item_update (SkItem *self, GVariant *dictionary);

/* Values by property name, for code that does not bind. Strings (transfer none), valid until the
 * next update. */
const char *sk_item_get_string (SkItem *self, const char *property);
guint64 sk_item_get_number (SkItem *self, const char *property);
gint64 sk_item_get_time (SkItem *self, const char *property);
double sk_item_get_double (SkItem *self, const char *property);
/* The id: text, or for issues the number as text. */
const char *sk_item_get_id (SkItem *self);
