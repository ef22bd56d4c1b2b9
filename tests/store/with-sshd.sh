#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# with-sshd.sh PROGRAM [ARGS]: runs PROGRAM beside an SSH server of its own on 127.0.0.1, in a session bus, a home and
# with keys of their own, all of which are gone afterwards. PROGRAM gets
#   SK_TEST_SFTP       the address of an empty directory on that server (sftp://127.0.0.1:PORT/…)
#   SK_TEST_SFTP_DIR   the same directory as a local path
# Prints a skipped plan where a server, gvfs or a session bus is not installed.
set -eu

skip() {
  echo "1..0 # SKIP $1"
  exit 0
}

for tool in sshd ssh-keygen dbus-run-session; do
  PATH="$PATH:/usr/sbin:/sbin" command -v "$tool" > /dev/null || skip "$tool is not installed"
done
sshd=$(PATH="$PATH:/usr/sbin:/sbin" command -v sshd)
found=
for backend in /usr/libexec/gvfsd-sftp /usr/lib/gvfs/gvfsd-sftp; do
  [ -x "$backend" ] && found=$backend
done
[ -n "$found" ] || skip "gvfs has no sftp backend here"
# As root the server wants its directory for unprivileged children.
if [ "$(id -u)" = 0 ]; then
  mkdir -p /run/sshd || skip "/run/sshd cannot be made"
fi

dir=$(mktemp -d "${TMPDIR:-/tmp}/skerry-sshd-XXXXXX")
server=
finish() {
  [ -z "$server" ] || kill "$server" 2> /dev/null || true
  rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

chmod 700 "$dir"
mkdir -m 700 "$dir/home" "$dir/home/.ssh" "$dir/run" "$dir/storage"
ssh-keygen -q -t ed25519 -N '' -f "$dir/host"
ssh-keygen -q -t ed25519 -N '' -f "$dir/home/.ssh/id_ed25519"
cp "$dir/home/.ssh/id_ed25519.pub" "$dir/authorized"

# A free port: the server itself is the judge.
port=
for n in 1 2 3 4 5 6 7 8; do
  try=$((20000 + ($$ * 7 + n * 1013) % 20000))
  cat > "$dir/sshd_config" << END
ListenAddress 127.0.0.1
Port $try
HostKey $dir/host
AuthorizedKeysFile $dir/authorized
PidFile $dir/pid
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxSessions 50
Subsystem sftp internal-sftp
END
  "$sshd" -D -e -f "$dir/sshd_config" 2> "$dir/sshd.log" &
  server=$!
  waited=0
  while kill -0 "$server" 2> /dev/null && ! grep -q 'Server listening' "$dir/sshd.log"; do
    [ "$waited" -lt 100 ] || break
    waited=$((waited + 1))
    sleep 0.05
  done
  if kill -0 "$server" 2> /dev/null && grep -q 'Server listening' "$dir/sshd.log"; then
    port=$try
    break
  fi
done
[ -n "$port" ] || { cat "$dir/sshd.log" >&2; skip "no SSH server could be started"; }

echo "[127.0.0.1]:$port $(cut -d' ' -f1,2 "$dir/host.pub")" > "$dir/known"
# ssh looks for keys in the home of the password file, not in $HOME, so it is told through a wrapper that comes first.
mkdir "$dir/bin"
real_ssh=$(command -v ssh)
cat > "$dir/bin/ssh" << END
#!/bin/sh
exec "$real_ssh" -F none -o UserKnownHostsFile="$dir/known" -o GlobalKnownHostsFile=/dev/null \\
  -o StrictHostKeyChecking=yes -o IdentitiesOnly=yes -i "$dir/home/.ssh/id_ed25519" "\$@"
END
chmod 755 "$dir/bin/ssh"

PATH="$dir/bin:$PATH"
HOME="$dir/home"
XDG_RUNTIME_DIR="$dir/run"
SK_TEST_SFTP="sftp://127.0.0.1:$port$dir/storage"
SK_TEST_SFTP_DIR="$dir/storage"
GVFS_DISABLE_FUSE=1
export PATH HOME XDG_RUNTIME_DIR SK_TEST_SFTP SK_TEST_SFTP_DIR GVFS_DISABLE_FUSE
unset DISPLAY WAYLAND_DISPLAY SSH_AUTH_SOCK XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME

status=0
dbus-run-session -- "$@" || status=$?
exit "$status"
