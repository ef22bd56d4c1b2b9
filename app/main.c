/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <glib/gi18n.h>
#include <locale.h>
#include <signal.h>

#include "ska-application.h"

int
main (int argc, char **argv)
{
  g_autoptr(SkaApplication) application = NULL;

  setlocale (LC_ALL, "");
  bindtextdomain (GETTEXT_PACKAGE, SK_LOCALE_DIR);
  bind_textdomain_codeset (GETTEXT_PACKAGE, "UTF-8");
  textdomain (GETTEXT_PACKAGE);
  /* Sockets and pipes that close are errors of the call that writes. */
  signal (SIGPIPE, SIG_IGN);
  g_set_application_name ("Skerry");
  g_set_prgname (SK_APP_ID);
  application = ska_application_new ();
  return g_application_run (G_APPLICATION (application), argc, argv);
}
