#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A desktop of its own for one command: X server, session bus, home. Works as root and without a login; nothing is left behind.
#   ui-env.sh [--size WIDTHxHEIGHT] -- COMMAND...
# The command finds UI_DIR, a short directory that is removed at the end.
set -eu
size=1320x900
while [ "$1" != -- ]; do
  case $1 in
    --size) size=$2; shift 2 ;;
    *) echo "ui-env.sh: unknown option $1" >&2; exit 64 ;;
  esac
done
shift

# Short, because the names of sockets are.
UI_DIR=$(mktemp -d /tmp/ui.XXXXXX)
xvfb=
finish() {
  [ -z "$xvfb" ] || kill "$xvfb" 2>/dev/null || true
  [ -z "$xvfb" ] || wait "$xvfb" 2>/dev/null || true
  # Helpers of the bus end a moment after it.
  for _ in 1 2 3 4 5 6 7 8 9 10; do rm -rf "$UI_DIR" 2>/dev/null && break || sleep 0.1; done
}
trap finish EXIT
trap 'exit 143' TERM INT

mkdir -m 700 "$UI_DIR/run" "$UI_DIR/home" "$UI_DIR/config" "$UI_DIR/cache" "$UI_DIR/data" "$UI_DIR/config/gtk-4.0"
cat > "$UI_DIR/config/gtk-4.0/settings.ini" <<'INI'
[Settings]
gtk-font-name=Cantarell 11
gtk-icon-theme-name=Adwaita
gtk-enable-animations=0
gtk-xft-antialias=1
gtk-xft-hinting=1
gtk-xft-hintstyle=hintslight
gtk-xft-rgba=none
INI

unset WAYLAND_DISPLAY DBUS_SESSION_BUS_ADDRESS SESSION_MANAGER DISPLAY XAUTHORITY XDG_DATA_DIRS XDG_CONFIG_DIRS LANGUAGE 2>/dev/null || true
export UI_DIR HOME="$UI_DIR/home" XDG_RUNTIME_DIR="$UI_DIR/run" XDG_CONFIG_HOME="$UI_DIR/config" XDG_CACHE_HOME="$UI_DIR/cache" XDG_DATA_HOME="$UI_DIR/data"
export LANG=C.UTF-8 LC_ALL=C.UTF-8 GDK_BACKEND=x11 GSK_RENDERER=cairo GTK_A11Y=atspi GSETTINGS_BACKEND=memory XDG_SESSION_TYPE=x11
# No daemons for places that no test goes to.
export GIO_USE_VFS=local GIO_USE_VOLUME_MONITOR=unix
Xvfb -displayfd 3 -screen 0 "${size}x24" -dpi 96 -nolisten tcp -noreset 3>"$UI_DIR/display" >"$UI_DIR/xvfb.log" 2>&1 &
xvfb=$!
tries=200
while [ ! -s "$UI_DIR/display" ]; do
  tries=$((tries - 1))
  if [ "$tries" = 0 ] || ! kill -0 "$xvfb" 2>/dev/null; then
    echo "ui-env.sh: the X server did not start" >&2
    cat "$UI_DIR/xvfb.log" >&2
    exit 70
  fi
  sleep 0.05
done
DISPLAY=:$(cat "$UI_DIR/display")
export DISPLAY
# What the bus and its helpers say is no output of the command.
dbus-run-session -- sh -c 'exec "$@" >&4 4>&-' sh "$@" 4>&1 >"$UI_DIR/bus.log"
