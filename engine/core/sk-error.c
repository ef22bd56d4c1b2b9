/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-error.h"

GQuark
sk_error_quark (void)
{
  return g_quark_from_static_string ("sk-error-quark");
}

const char *
sk_error_code_name (SkErrorCode code)
{
  static const char * const names[] = {
    [SK_ERROR_FAILED] = "failed",
    [SK_ERROR_CORRUPT] = "corrupt",
    [SK_ERROR_TOO_NEW] = "too-new",
    [SK_ERROR_LIMIT] = "limit",
    [SK_ERROR_NOT_FOUND] = "not-found",
    [SK_ERROR_EXISTS] = "exists",
    [SK_ERROR_BUSY] = "busy",
    [SK_ERROR_CHANGED] = "changed",
    [SK_ERROR_OFFLINE] = "offline",
    [SK_ERROR_NO_SPACE] = "no-space",
    [SK_ERROR_PERMISSION] = "permission",
    [SK_ERROR_UNSUPPORTED] = "unsupported",
    [SK_ERROR_WRONG_KEY] = "wrong-key",
    [SK_ERROR_UNTRUSTED] = "untrusted",
    [SK_ERROR_USAGE] = "usage",
    [SK_ERROR_CANCELLED] = "cancelled",
    [SK_ERROR_IO] = "io",
  };

  if ((guint) code >= G_N_ELEMENTS (names) || names[code] == NULL)
    return names[SK_ERROR_FAILED];
  return names[code];
}

gboolean
sk_fail (GError **error, SkErrorCode code, const char *format, ...)
{
  va_list args;

  if (error == NULL)
    return FALSE;
  va_start (args, format);
  g_assert (*error == NULL);
  *error = g_error_new_valist (SK_ERROR, (int) code, format, args);
  va_end (args);
  return FALSE;
}
