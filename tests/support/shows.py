# SPDX-License-Identifier: GPL-3.0-or-later
"""What the programs under tests/shows share: devices driven by skerryctl, trees, figures, and the verdict."""
import contextlib
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get('SKERRY_BUILD', TOP / 'build-test'))
CTL = BUILD / 'app/cli/skerryctl'


class Show:
    """Collects figures with their bounds and ends the program with PASS or FAIL."""

    def __init__(self, title):
        self.failed = False
        print(f'# {title}', flush=True)

    def figure(self, what, value, reference, bound, ok):
        print(f'{what}: {value}   reference: {reference}   bound: {bound}   {"ok" if ok else "NOT MET"}', flush=True)
        self.failed |= not ok

    def end(self):
        print('FAIL' if self.failed else 'PASS', flush=True)
        sys.exit(1 if self.failed else 0)


@contextlib.contextmanager
def workplace(ram=False, base=None):
    """A directory for the time of the block: on the RAM disk, or below `base`."""
    if ram and os.access('/dev/shm', os.W_OK):
        base = '/dev/shm'
    path = pathlib.Path(tempfile.mkdtemp(prefix='skerry-show-', dir=base))
    try:
        yield path
    finally:
        subprocess.run(['chmod', '-R', 'u+rwX', path], stderr=subprocess.DEVNULL)
        shutil.rmtree(path, ignore_errors=True)


class Device:
    """One home. `run` returns the parsed reply of `skerryctl --json`."""

    def __init__(self, base, name, env=None):
        self.name, self.home = name, base / f'home-{name}'
        self.env = dict(os.environ, **(env or {}))

    def run(self, *args, ok=(0, 3)):
        result = subprocess.run([CTL, '--home', self.home, '--json', *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.env)
        if result.returncode not in ok:
            raise RuntimeError(f'skerryctl {args} on {self.name}: exit {result.returncode}: {result.stderr or result.stdout}')
        return json.loads(result.stdout) if result.stdout.strip() else {}

    def sync(self, *folders):
        return self.run('sync', *folders)

    def counters(self):
        """What `skerryctl diagnostics` counts since the engine that runs began: 'down files', 'down stored bytes', 'transactions' ..."""
        path = pathlib.Path(f'{self.home}.diagnostics')
        path.unlink(missing_ok=True)
        self.run('diagnostics', path)
        out = {}
        for line in path.read_text().splitlines():
            way = re.match(r'  (up|down): ', line)
            if way or 'transactions' in line:
                prefix = f'{way[1]} ' if way else ''
                out.update({prefix + name: int(value) for name, value in re.findall(r'([a-z][a-z ]*) (\d+)', line[way.end() if way else 0:])})
        return out

    @contextlib.contextmanager
    def engine(self):
        """`skerryctl run` for the time of the block."""
        with open(f'{self.home}.log', 'w') as log:
            process = subprocess.Popen([CTL, '--home', self.home, 'run'], stdout=log, stderr=log, env=self.env)
        try:
            until(lambda: (self.home / 'control').exists() and self.run('status').get('running'), 20, 'the engine runs')
            yield process
        finally:
            died = process.poll()
            if died is not None:
                print(f'  the engine of {self.name} ended by itself with {died}:', pathlib.Path(f'{self.home}.log').read_text()[-2000:])
            process.terminate()
            process.wait(30)


def pair(base, env=None, storages=1):
    """Two devices of one vault over directory storages; the second joined by invitation."""
    a, b = Device(base, 'a', env), Device(base, 'b', env)
    a.run('vault', 'create', 'show', '--no-passphrase')
    for i in range(storages):
        (base / f'store{i}').mkdir()
        a.run('storage', 'add', f'disk{i}', base / f'store{i}')
    join(a, b, 'b')
    return a, b


def join(inviter, newcomer, name):
    process = subprocess.Popen([CTL, '--home', inviter.home, 'invite', '--yes', '--wait'], stdout=subprocess.PIPE, text=True, env=inviter.env)
    code = next(line for line in process.stdout if line.startswith('skerry:')).strip()
    newcomer.run('vault', 'join', code, '--name', name, '--no-passphrase')
    process.stdout.read()
    if process.wait(60) != 0:
        raise RuntimeError('the invitation ended badly')


def until(condition, seconds, what):
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f'not within {seconds} s: {what}')
        time.sleep(0.01)


def listing(path):
    """Everything but .skerry: name -> (kind, mode, mtime, content hash or link target)."""
    out = {}
    for directory, dirs, files in os.walk(path):
        dirs[:] = [d for d in dirs if d != '.skerry']
        for name in dirs + files:
            full = os.path.join(directory, name)
            st = os.lstat(full)
            key = os.path.relpath(full, path)
            if os.path.islink(full):
                out[key] = ('link', 0, 0, os.readlink(full))
            elif os.path.isdir(full):
                out[key] = ('dir', st.st_mode & 0o7777, 0, '')
            else:
                with open(full, 'rb') as file:
                    out[key] = ('file', st.st_mode & 0o7777, st.st_mtime_ns, hashlib.file_digest(file, 'sha256').hexdigest())
    return out


def tree_bytes(path):
    return sum(f.lstat().st_size for f in pathlib.Path(path).rglob('*') if f.is_file() and not f.is_symlink())


def small_files(path, count, seed, per_directory=100):
    """Log-normal sizes, median 16 KiB, 1 to 256 KiB, every 20th a copy of the one before."""
    rng = random.Random(seed)
    previous = b''
    total = 0
    for i in range(count):
        directory = pathlib.Path(path) / f'd{i // per_directory:04}'
        if i % per_directory == 0:
            directory.mkdir(parents=True, exist_ok=True)
        data = previous if i % 20 == 19 else rng.randbytes(min(max(int(rng.lognormvariate(9.7, 1.0)), 1024), 262144))
        (directory / f'file{i:06}').write_bytes(data)
        previous = data
        total += len(data)
    return total
