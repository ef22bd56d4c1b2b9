# SPDX-License-Identifier: GPL-3.0-or-later
"""What the benches share: where things are, processes that are measured, data that is made once."""
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / 'tests/support'))
from shows import BUILD, CTL, Device, join, workplace  # noqa: E402

RAM = pathlib.Path('/dev/shm')


class Measured:
    """A process to its end: wall and CPU seconds, peak of its resident memory."""

    def __init__(self, command, env=None, cwd=None, ok=(0,)):
        begin = time.monotonic()
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen([str(c) for c in command], stdout=output, stderr=subprocess.STDOUT, env=env, cwd=cwd)
            _, status, usage = os.wait4(process.pid, 0)
            self.wall = time.monotonic() - begin
            output.seek(0)
            self.output = output.read().decode(errors='replace')
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in ok:
            raise RuntimeError(f'{command}: exit {process.returncode}: {self.output[-2000:]}')
        self.user, self.system = usage.ru_utime, usage.ru_stime
        self.cpu = self.user + self.system
        self.peak = usage.ru_maxrss * 1024

    def figures(self):
        return {'wall': round(self.wall, 3), 'user': round(self.user, 3), 'system': round(self.system, 3), 'peak_mib': round(self.peak / 2**20)}


def make_data(kind, directory, count):
    directory.mkdir(parents=True, exist_ok=True)
    subprocess.run([BUILD / 'tests/bench/bench-data', kind, directory, str(count)], check=True)


def warm(directory):
    """Reads everything once, so that each measurement finds it in memory."""
    subprocess.run(f'find {directory} -type f -print0 | xargs -0 -r cat > /dev/null', shell=True, check=True)


def warm_memory(base, size):
    """On a virtual machine memory that was free for seconds has gone back to the host, and the first to touch it pays for its return: up to four
    times what the same work costs otherwise. So as much as is about to be written to a RAM disk is touched before each measurement."""
    if base != RAM:
        return
    free = int(re.search(r'MemAvailable:\s*(\d+)', pathlib.Path('/proc/meminfo').read_text())[1]) * 1024
    block = bytes(4 << 20)
    with tempfile.TemporaryFile(dir=base) as scratch:
        for _ in range(min(size + (256 << 20), free // 2) // len(block)):
            scratch.write(block)


def measured(device, *args, ok=(0, 3)):
    return Measured([CTL, '--home', device.home, '--json', *args], env=device.env, ok=ok)


def size_of(directory):
    files = [f for f in pathlib.Path(directory).rglob('*') if f.is_file() and not f.is_symlink() and '.skerry' not in f.parts]
    return sum(f.stat().st_size for f in files), len(files)


def machine():
    info = pathlib.Path('/proc/cpuinfo').read_text()
    model = re.search(r'model name\s*: (.*)', info)
    memory = re.search(r'MemTotal:\s*(\d+)', pathlib.Path('/proc/meminfo').read_text())
    return {'cpu': model[1] if model else platform.machine(), 'cores': os.cpu_count(), 'memory_mib': int(memory[1]) // 1024 if memory else 0,
            'kernel': platform.release()}


def commit():
    name = subprocess.run(['git', 'rev-parse', 'HEAD'], cwd=TOP, stdout=subprocess.PIPE, text=True).stdout.strip()
    changed = subprocess.run(['git', 'status', '--porcelain', '--untracked-files=no'], cwd=TOP, stdout=subprocess.PIPE, text=True).stdout.strip()
    return name + ('+' if changed else '')


def result(bench, body):
    return {'bench': bench, 'commit': commit(), 'when': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()), 'machine': machine(),
            'load': os.getloadavg(), 'results': body}


def say(text):
    print(text, file=sys.stderr, flush=True)
