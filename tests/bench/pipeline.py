# SPDX-License-Identifier: GPL-3.0-or-later
"""Ingest and restore beside their floor: the sum of CPU time of read, gear, chunk id, zstd, seal, object hash and write over the same bytes, measured
in turns with the program (bench-reference.c)."""
import json
import os
import pathlib
import shutil
import statistics
import subprocess

from bench import BUILD, RAM, Device, Measured, join, make_data, measured, result, say, size_of, warm, warm_memory, workplace

# name -> kind, count for bench-data, pairs
SETS = {
    'random': ('random', '2048,2', 2),
    'five': ('random', '2458,5', 1),
    'medium': ('random', '1,1024', 3),
    'text': ('text', '128', 3),
    'small': ('small', '10000', 5),
    'many': ('small', '50000', 2),
}
INGEST = ('read', 'gear', 'id', 'zstd', 'seal', 'hash', 'write_packs')
RESTORE = ('read', 'gear', 'id', 'zstd', 'seal', 'hash', 'write_files')


def floor(source, base):
    """CPU seconds per step."""
    with workplace(base=base) as place:
        (place / 'packs').mkdir()
        (place / 'files').mkdir()
        run = Measured([BUILD / 'tests/bench/bench-reference', source, place / 'packs', place / 'files'])
        return json.loads(run.output)


def same(a, b):
    return subprocess.run(['diff', '-rq', '-x', '.skerry', a, b], stdout=subprocess.PIPE).returncode == 0


def ours(source, base):
    """One way up and one down, each a process of its own."""
    with workplace(base=base) as place:
        a, b = Device(place, 'a'), Device(place, 'b')
        a.run('vault', 'create', 'bench', '--no-passphrase')
        a.run('storage', 'add', 'disk', place / 'store')
        join(a, b, 'b')
        a.run('folder', 'add', 'f', source)
        size = size_of(source)[0]
        log = next((place / 'store').iterdir()) / 'log'
        before = size_of(log)[0]
        warm_memory(base, size)
        up = measured(a, 'sync')
        log_bytes = size_of(log)[0] - before
        stored, objects = size_of(place / 'store')
        b.sync()
        (place / 'b').mkdir()
        b.run('folder', 'attach', 'f', place / 'b')
        warm_memory(base, size)
        down = measured(b, 'sync')
        if not same(source, place / 'b'):
            raise RuntimeError('what came down differs from what went up')
        return {'up': up.figures(), 'down': down.figures(), 'stored': stored, 'objects': objects, 'log_bytes': log_bytes}


def run_set(name, base, pairs=None):
    kind, count, usual = SETS[name]
    runs = []
    with workplace(base=base) as place:
        source = place / 'data'
        make_data(kind, source, count)
        size, files = size_of(source)
        for i in range(pairs or usual):
            warm(source)
            warm_memory(base, 2 * size)
            reference = floor(source, base)
            warm(source)
            run = ours(source, base)
            shutil.rmtree(source / '.skerry', ignore_errors=True)
            run['floor'] = reference
            run['load'] = os.getloadavg()[0]
            runs.append(run)
            say(f'  {name}, run {i + 1}: up {size / 1e6 / run["up"]["wall"]:.0f} MB/s, down {size / 1e6 / run["down"]["wall"]:.0f} MB/s')
    return {'set': name, 'place': 'ram' if base == RAM else 'disk', 'bytes': size, 'files': files, 'runs': runs, **summary(runs, size, files)}


def ways(run):
    for way, steps in (('up', INGEST), ('down', RESTORE)):
        yield way, run[way], sum(run['floor'][step] for step in steps)


def summary(runs, size, files):
    """Medians. cpu_ratio: of the floor's; wall_ratio: of that floor spread over all cores without a gap."""
    out = {}
    for way in ('up', 'down'):
        these = [(figures, cpu) for run in runs for name, figures, cpu in ways(run) if name == way]
        wall = statistics.median(f['wall'] for f, _ in these)
        cpu = [f['user'] + f['system'] for f, _ in these]
        out[way] = {
            'wall': wall, 'mb_per_s': size / 1e6 / wall, 'files_per_s': files / wall, 'cpu': statistics.median(cpu),
            'cpu_per_gib': statistics.median(cpu) / (size / 2**30), 'floor_cpu': statistics.median(c for _, c in these),
            'cpu_ratio': statistics.median(mine / c for mine, (_, c) in zip(cpu, these)),
            'wall_ratio': statistics.median(f['wall'] / (c / os.cpu_count()) for f, c in these),
            'peak_mib': max(f['peak_mib'] for f, _ in these)}
    out['stored_ratio'] = statistics.median(run['stored'] / size for run in runs)
    out['objects'] = statistics.median(run['objects'] for run in runs)
    out['log_bytes_per_file'] = statistics.median(run['log_bytes'] for run in runs) / files
    return out


def main(arguments):
    body = []
    for place in arguments.place or ('ram', 'disk'):
        base = RAM if place == 'ram' else pathlib.Path(arguments.disk)
        for name in arguments.set or SETS:
            say(f'pipeline, {name}, on {place}')
            body.append(run_set(name, base, arguments.pairs))
    return result('pipeline', body)
