/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-item.h"

#include <string.h>

typedef struct
{
  GValue *values;
  char *id;
} SkItemPrivate;
G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (SkItem, sk_item, G_TYPE_OBJECT)

static SkItemPrivate *
private_of (SkItem *self)
{
  return sk_item_get_instance_private (self);
}

static GType
type_of (SkItemKind kind)
{
  switch (kind)
    {
    case SK_ITEM_STRINGS:
      return G_TYPE_STRV;
    case SK_ITEM_BOOLEAN:
      return G_TYPE_BOOLEAN;
    case SK_ITEM_NUMBER:
      return G_TYPE_UINT64;
    case SK_ITEM_TIME:
      return G_TYPE_INT64;
    case SK_ITEM_DOUBLE:
      return G_TYPE_DOUBLE;
    case SK_ITEM_STRING:
    case SK_ITEM_FILENAME:
    case SK_ITEM_DISPLAY:
    default:
      return G_TYPE_STRING;
    }
}

/* --- reading the dictionary --- */

static char *
display_name (const char *bytes)
{
  GString *out = g_string_new (NULL);

  while (*bytes != '\0')
    {
      gunichar c = g_utf8_get_char_validated (bytes, -1);
      gboolean valid = c != (gunichar) -1 && c != (gunichar) -2;
      gsize len = valid ? (gsize) (g_utf8_next_char (bytes) - bytes) : 1;

      if (valid && !g_unichar_iscntrl (c))
        g_string_append_len (out, bytes, (gssize) len);
      else
        for (gsize i = 0; i < len; i++)
          g_string_append_printf (out, "\\x%02x", (guint8) bytes[i]);
      bytes += len;
    }
  return g_string_free (out, FALSE);
}

static const char *
bytes_of (GVariant *value)
{
  return value != NULL && g_variant_is_of_type (value, G_VARIANT_TYPE_BYTESTRING)
             ? g_variant_get_bytestring (value)
             : "";
}

static const char *
text_of (GVariant *value)
{
  return value != NULL && g_variant_is_of_type (value, G_VARIANT_TYPE_STRING)
             ? g_variant_get_string (value, NULL)
             : "";
}

static guint64
number_of (GVariant *value)
{
  if (value == NULL)
    return 0;
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_UINT64))
    return g_variant_get_uint64 (value);
  return g_variant_is_of_type (value, G_VARIANT_TYPE_UINT32) ? g_variant_get_uint32 (value) : 0;
}

static char **
strings_of (GVariant *value)
{
  return value != NULL && g_variant_is_of_type (value, G_VARIANT_TYPE_STRING_ARRAY)
             ? g_variant_dup_strv (value, NULL)
             : g_new0 (char *, 1);
}

/* A missing key, or one of another type, is the default of its kind. */
static void
read_field (const SkItemField *field, GVariant *dictionary, GValue *out)
{
  g_autoptr(GVariant) value
      = field->key != NULL ? g_variant_lookup_value (dictionary, field->key, NULL) : NULL;

  switch (field->kind)
    {
    case SK_ITEM_STRINGS:
      g_value_take_boxed (out, strings_of (value));
      break;
    case SK_ITEM_FILENAME:
      g_value_set_string (out, bytes_of (value));
      break;
    case SK_ITEM_DISPLAY:
      g_value_take_string (out, display_name (bytes_of (value)));
      break;
    case SK_ITEM_BOOLEAN:
      g_value_set_boolean (out, value != NULL
                                    && g_variant_is_of_type (value, G_VARIANT_TYPE_BOOLEAN)
                                    && g_variant_get_boolean (value));
      break;
    case SK_ITEM_NUMBER:
      g_value_set_uint64 (out, number_of (value));
      break;
    case SK_ITEM_TIME:
      g_value_set_int64 (out, value != NULL && g_variant_is_of_type (value, G_VARIANT_TYPE_INT64)
                                  ? g_variant_get_int64 (value)
                                  : 0);
      break;
    case SK_ITEM_DOUBLE:
      g_value_set_double (out, field->compute (dictionary));
      break;
    case SK_ITEM_STRING:
    default:
      g_value_set_string (out, text_of (value));
    }
}

static gboolean
equal_values (const GValue *a, const GValue *b, SkItemKind kind)
{
  switch (kind)
    {
    case SK_ITEM_STRINGS:
      return g_strv_equal (g_value_get_boxed (a), g_value_get_boxed (b));
    case SK_ITEM_BOOLEAN:
      return g_value_get_boolean (a) == g_value_get_boolean (b);
    case SK_ITEM_NUMBER:
      return g_value_get_uint64 (a) == g_value_get_uint64 (b);
    case SK_ITEM_TIME:
      return g_value_get_int64 (a) == g_value_get_int64 (b);
    case SK_ITEM_DOUBLE:
      return !(g_value_get_double (a) < g_value_get_double (b))
             && !(g_value_get_double (a) > g_value_get_double (b));
    case SK_ITEM_STRING:
    case SK_ITEM_FILENAME:
    case SK_ITEM_DISPLAY:
    default:
      return g_strcmp0 (g_value_get_string (a), g_value_get_string (b)) == 0;
    }
}

void
sk_item_update (SkItem *self, GVariant *dictionary)
{
  SkItemClass *class = SK_ITEM_GET_CLASS (self);
  SkItemPrivate *priv = private_of (self);

  g_object_freeze_notify (G_OBJECT (self));
  for (guint i = 0; i < class->n_fields; i++)
    {
      GValue fresh = G_VALUE_INIT;

      g_value_init (&fresh, type_of (class->fields[i].kind));
      read_field (&class->fields[i], dictionary, &fresh);
      if (!equal_values (&priv->values[i], &fresh, class->fields[i].kind))
        {
          g_value_copy (&fresh, &priv->values[i]);
          g_object_notify (G_OBJECT (self), class->fields[i].property);
        }
      g_value_unset (&fresh);
    }
  if (priv->id == NULL)
    priv->id = class->fields[0].kind == SK_ITEM_NUMBER
                   ? g_strdup_printf ("%" G_GUINT64_FORMAT, g_value_get_uint64 (&priv->values[0]))
                   : g_value_dup_string (&priv->values[0]);
  g_object_thaw_notify (G_OBJECT (self));
}

/* --- GObject --- */

static void
sk_item_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  g_value_copy (&private_of (SK_ITEM (object))->values[id - 1], value);
}

static void
sk_item_constructed (GObject *object)
{
  SkItemClass *class = SK_ITEM_GET_CLASS (object);
  SkItemPrivate *priv = private_of (SK_ITEM (object));

  G_OBJECT_CLASS (sk_item_parent_class)->constructed (object);
  priv->values = g_new0 (GValue, class->n_fields);
  for (guint i = 0; i < class->n_fields; i++)
    {
      g_value_init (&priv->values[i], type_of (class->fields[i].kind));
      if (class->fields[i].kind == SK_ITEM_STRINGS)
        g_value_take_boxed (&priv->values[i], g_new0 (char *, 1));
      else if (type_of (class->fields[i].kind) == G_TYPE_STRING)
        g_value_set_static_string (&priv->values[i], "");
    }
}

static void
sk_item_finalize (GObject *object)
{
  SkItemClass *class = SK_ITEM_GET_CLASS (object);
  SkItemPrivate *priv = private_of (SK_ITEM (object));

  for (guint i = 0; i < class->n_fields; i++)
    g_value_unset (&priv->values[i]);
  g_free (priv->values);
  g_free (priv->id);
  G_OBJECT_CLASS (sk_item_parent_class)->finalize (object);
}

static void
sk_item_class_init (SkItemClass *class)
{
  GObjectClass *object_class = G_OBJECT_CLASS (class);

  object_class->constructed = sk_item_constructed;
  object_class->finalize = sk_item_finalize;
}

static void
sk_item_init (SkItem *self)
{
}

static GParamSpec *
spec_of (const SkItemField *field)
{
  GParamFlags flags = G_PARAM_READABLE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS;

  switch (field->kind)
    {
    case SK_ITEM_STRINGS:
      return g_param_spec_boxed (field->property, NULL, NULL, G_TYPE_STRV, flags);
    case SK_ITEM_BOOLEAN:
      return g_param_spec_boolean (field->property, NULL, NULL, FALSE, flags);
    case SK_ITEM_NUMBER:
      return g_param_spec_uint64 (field->property, NULL, NULL, 0, G_MAXUINT64, 0, flags);
    case SK_ITEM_TIME:
      return g_param_spec_int64 (field->property, NULL, NULL, G_MININT64, G_MAXINT64, 0, flags);
    case SK_ITEM_DOUBLE:
      return g_param_spec_double (field->property, NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 0, flags);
    case SK_ITEM_STRING:
    case SK_ITEM_FILENAME:
    case SK_ITEM_DISPLAY:
    default:
      return g_param_spec_string (field->property, NULL, NULL, "", flags);
    }
}

void
sk_item_class_install (SkItemClass *class, const SkItemField *fields)
{
  G_OBJECT_CLASS (class)->get_property = sk_item_get_property;
  class->fields = fields;
  class->n_fields = 0;
  for (const SkItemField *field = fields; field->property != NULL; field++)
    g_object_class_install_property (G_OBJECT_CLASS (class), ++class->n_fields, spec_of (field));
}

/* --- access --- */

static const GValue *
value_of (SkItem *self, const char *property, GType type)
{
  SkItemClass *class = SK_ITEM_GET_CLASS (self);

  for (guint i = 0; i < class->n_fields; i++)
    {
      if (strcmp (class->fields[i].property, property) == 0)
        {
          g_return_val_if_fail (type_of (class->fields[i].kind) == type, NULL);
          return &private_of (self)->values[i];
        }
    }
  g_return_val_if_reached (NULL);
}

const char *
sk_item_get_string (SkItem *self, const char *property)
{
  const GValue *value = value_of (self, property, G_TYPE_STRING);

  return value != NULL ? g_value_get_string (value) : "";
}

guint64
sk_item_get_number (SkItem *self, const char *property)
{
  const GValue *value = value_of (self, property, G_TYPE_UINT64);

  return value != NULL ? g_value_get_uint64 (value) : 0;
}

gint64
sk_item_get_time (SkItem *self, const char *property)
{
  const GValue *value = value_of (self, property, G_TYPE_INT64);

  return value != NULL ? g_value_get_int64 (value) : 0;
}

double
sk_item_get_double (SkItem *self, const char *property)
{
  const GValue *value = value_of (self, property, G_TYPE_DOUBLE);

  return value != NULL ? g_value_get_double (value) : 0;
}

const char *
sk_item_get_id (SkItem *self)
{
  return private_of (self)->id;
}
