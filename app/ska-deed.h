/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A command that a person asked for, from the click to the word that it is done: the engine runs it, its warning or error becomes a dialog in
 * plain words, its success a toast. Main thread; nothing waits. */
#pragma once
#include <gtk/gtk.h>

#include "ska-window.h"

/* The reply of COMMANDS.md (transfer none). */
typedef void (*SkaDeedFunc) (SkaWindow *window, GVariant *reply, gpointer user_data);

typedef struct
{
  const char *failed;            /* heading of the dialog when it fails, translated: "The folder could not be added" */
  const char *done;              /* toast, translated; NULL: none */
  SkaDeedFunc reply;             /* may be NULL */
  gpointer user_data;
  GDestroyNotify destroy;        /* of @user_data; may be NULL */
} SkaDeed;

/* @args floating is sunk. @deed is copied. The window lives until the reply. */
void ska_deed_start (SkaWindow *window, const char *command, GVariant *args, const SkaDeed *deed);

/* A dialog over @widget's window. @text need not be a sentence yet. */
void ska_say (GtkWidget *widget, const char *heading, const char *text);
