# SPDX-License-Identifier: GPL-3.0-or-later
"""One file at a time through engines that run: bench-lib, which says what each measurement is."""
import os
import re
import subprocess

from bench import BUILD, RAM, result, say, warm_memory, workplace

LINE = re.compile(r'^(\w+)/(\d+) (KiB|MiB) time: \[(\S+) ms (\S+) ms (\S+) ms\] thrpt: \[(\S+) MiB/s (\S+) MiB/s (\S+) MiB/s\]$')
NAMES = ('write_file', 'read_file', 'remove_file', 'sync')
SIZES = 8


def measure(base, names=NAMES):
    """What the figures are, and rows of name, size in KiB, ms and MiB/s, each [low, mean, high]."""
    rows = []
    with workplace(base=base) as work:
        warm_memory(base, 2 << 30)
        output = subprocess.run([BUILD / 'tests/bench/bench-lib', *names], env=dict(os.environ, TMPDIR=str(work)), stdout=subprocess.PIPE, text=True, check=True)
    about, *lines = output.stdout.splitlines()
    for line in lines:
        match = LINE.match(line)
        if not match:
            raise RuntimeError(f'not understood: {line}')
        name, size, unit, *values = match.groups()
        values = [float(v) for v in values]
        rows.append({'name': name, 'kib': int(size) * (1024 if unit == 'MiB' else 1), 'ms': values[:3], 'mib_per_s': values[3:], 'line': line})
    if len(rows) != len(names) * SIZES:
        raise RuntimeError(f'{len(rows)} measurements of {len(names) * SIZES}')
    return about.removeprefix('# '), rows


def main(arguments):
    body = []
    for place in arguments.place or ('ram', 'disk'):
        say(f'lib, on {place}')
        about, rows = measure(RAM if place == 'ram' else arguments.disk)
        body.append({'place': place, 'about': about, 'rows': rows})
    return result('lib', body)
