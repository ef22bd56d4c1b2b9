/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ska-cli.h"

#include <signal.h>

int
main (int argc, char **argv)
{
  /* Sockets and pipes that close are errors of the call that writes. */
  signal (SIGPIPE, SIG_IGN);
  return ska_cli_run (argc, argv, stdin, stdout, stderr);
}
