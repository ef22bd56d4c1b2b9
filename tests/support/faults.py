# SPDX-License-Identifier: GPL-3.0-or-later
"""A file system on which the power fails, the disk fails and room runs out (faultfs.c), for the programs that use one."""
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

from shows import BUILD

FAULTFS = BUILD / 'tests/support/faultfs'
SKIPPED = 77


def need_fuse():
    if not os.access('/dev/fuse', os.R_OK | os.W_OK) or os.geteuid() != 0:
        print('SKIPPED: /dev/fuse cannot be used here', flush=True)
        sys.exit(SKIPPED)


class FaultDisk:
    """`with FaultDisk (seed) as disk`: disk.path is the mounted, empty file system."""

    def __init__(self, seed):
        self.seed = seed

    def __enter__(self):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix='skerry-faultfs-'))
        self.path, self.socket = self.base / 'disk', self.base / 'control'
        self.path.mkdir()
        self.process = subprocess.Popen([FAULTFS, self.path, self.socket, str(self.seed)])
        end = time.monotonic() + 10
        while not self.path.is_mount() or not self.socket.exists():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError('faultfs did not start')
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        try:
            self.tell('quit')
        finally:
            self.process.wait(20)
            self.socket.unlink(missing_ok=True)
            self.path.rmdir()
            self.base.rmdir()

    def tell(self, *words):
        """One command; its reply, "ok ...", or an exception."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(60)
            connection.connect(str(self.socket))
            connection.sendall(' '.join(map(str, words)).encode())
            reply = connection.recv(4096).decode()
        if not reply.startswith('ok '):
            raise RuntimeError(f'faultfs: {words}: {reply or "no reply"}')
        return reply

    def state(self):
        reply = self.tell('state')
        out = {name: int(value) for name, value in re.findall(r'(changes|counted|failed) (\d+)', reply)}
        out['dead'] = reply.split()[1] == 'dead'
        out['loss'] = tuple(map(int, re.search(r'loss (\d+) (\d+) (\d+) (\d+)', reply).groups()))
        out['first'] = reply.split(' first ', 1)[-1].strip()
        return out
