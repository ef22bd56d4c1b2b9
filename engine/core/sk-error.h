/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The error domain of the engine. The code decides what the caller does; the message is a plain
 * sentence for a person that names the thing and never contains a secret. */
#pragma once
#include <glib.h>

typedef enum
{
  SK_ERROR_FAILED,        /* nothing more specific */
  SK_ERROR_CORRUPT,       /* bytes that do not parse, verify or decrypt */
  SK_ERROR_TOO_NEW,       /* a format or database newer than this program */
  SK_ERROR_LIMIT,         /* larger than a limit of sk-limits.h */
  SK_ERROR_NOT_FOUND,
  SK_ERROR_EXISTS,
  SK_ERROR_BUSY,          /* locked by another engine, or try again later */
  SK_ERROR_CHANGED,       /* the file changed while it was read or before it was replaced */
  SK_ERROR_OFFLINE,       /* storage or folder not reachable or not the one expected */
  SK_ERROR_NO_SPACE,
  SK_ERROR_PERMISSION,
  SK_ERROR_UNSUPPORTED,   /* this file system or service cannot */
  SK_ERROR_WRONG_KEY,     /* wrong passphrase, phrase or code */
  SK_ERROR_UNTRUSTED,     /* a signature by somebody who is not a live device */
  SK_ERROR_USAGE,         /* bad argument from a person */
  SK_ERROR_CANCELLED,
  SK_ERROR_IO,
} SkErrorCode;

#define SK_ERROR (sk_error_quark ())
GQuark sk_error_quark (void);
/* Stable machine name of @code, for --json ("corrupt", "no-space"). */
const char *sk_error_code_name (SkErrorCode code);
/* Sets @error from printf arguments and returns FALSE, so that "return sk_fail (...)" reads well. */
gboolean sk_fail (GError **error, SkErrorCode code, const char *format, ...) G_GNUC_PRINTF (3, 4);
