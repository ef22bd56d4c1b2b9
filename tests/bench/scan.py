# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree of many small files: first index, rescan with nothing changed beside `find`, rescan after a restart."""
import os
import pathlib
import statistics
import subprocess
import time

from bench import RAM, Device, make_data, result, say, workplace

PER_DIRECTORY = 100


def run_find(tree):
    begin = time.monotonic()
    with open(os.devnull, 'wb') as nothing:
        subprocess.run(['find', tree, '-printf', '%p %s %T@ %C@ %i\n'], stdout=nothing, check=True)
    return time.monotonic() - begin


def peak_mib(process):
    """Of the process, since it began."""
    for line in pathlib.Path(f'/proc/{process.pid}/status').read_text().splitlines():
        if line.startswith('VmHWM:'):
            return int(line.split()[1]) / 1024
    raise RuntimeError('no VmHWM')


def processor_seconds(process):
    fields = pathlib.Path(f'/proc/{process.pid}/stat').read_text().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def timed_sync(device, process):
    """Wall and processor seconds from the command to its answer."""
    cpu, begin = processor_seconds(process), time.monotonic()
    device.sync()
    return time.monotonic() - begin, processor_seconds(process) - cpu


def measure(work, files=1000000, pairs=5):
    """All in `work`. Of a restart the time counts from the start of the program, since it looks at everything by itself then."""
    tree, device = work / 'tree', Device(work, 'a')
    make_data('tiny', tree, files)
    run_find(tree)
    (work / 'store').mkdir()
    device.run('vault', 'create', 'scale', '--no-passphrase')
    device.run('storage', 'add', 'disk', work / 'store')
    out = {'files': files, 'directories': files // PER_DIRECTORY, 'tree': 'RAM disk' if str(work).startswith('/dev/shm') else 'disk'}
    with device.engine() as process:
        cpu, begin = processor_seconds(process), time.monotonic()
        device.run('folder', 'add', 'f', tree)
        device.sync()
        out['first_seconds'] = time.monotonic() - begin
        out['first_cpu'] = processor_seconds(process) - cpu
        out['first_peak_mib'] = peak_mib(process)
        counted = device.counters()
        out['first_transactions'] = counted['transactions']
        if counted['up files'] != files:
            raise RuntimeError(f'not all went up: {counted}')
        out['rescans'], out['finds'], out['rescan_cpu'] = [], [], []
        for _ in range(pairs):
            out['finds'].append(run_find(tree))
            wall, cpu = timed_sync(device, process)
            out['rescans'].append(wall)
            out['rescan_cpu'].append(cpu)
        after = device.counters()
        if after['up looked at'] - counted['up looked at'] < pairs * files or after['up files'] != files:
            raise RuntimeError(f'not everything was looked at: {after}')
        out['peak_mib'] = peak_mib(process)
    out['restart_rescans'], out['restart_finds'] = [], []
    for _ in range(3):
        out['restart_finds'].append(run_find(tree))
        begin = time.monotonic()
        with device.engine() as process:
            device.sync()
            out['restart_rescans'].append(time.monotonic() - begin)
            out['restart_peak_mib'] = peak_mib(process)
            if device.counters()['up looked at'] < files:
                raise RuntimeError('after a start not everything was looked at')
    out['first_files_per_second'] = files / out['first_seconds']
    out['rescan_ratio'] = statistics.median(r / f for r, f in zip(out['rescans'], out['finds']))
    out['restart_ratio'] = statistics.median(r / f for r, f in zip(out['restart_rescans'], out['restart_finds']))
    out['index_mib'] = sum(f.stat().st_size for f in device.home.rglob('*') if f.is_file()) / (1 << 20)
    return out


def main(arguments):
    body = []
    for place in arguments.place or ('ram',):
        say(f'scan, on {place}')
        with workplace(base=RAM if place == 'ram' else arguments.disk) as work:
            body.append(measure(work))
    return result('scan', body)
