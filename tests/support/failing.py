#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A disk that fails (EIO) or is full (ENOSPC) at one call of a sync, once or from then on.

Every trial begins from the same state of the disk. The sync that meets the failure ends in time, with an error or an issue in plain words, or with
success that is none only in name: then everything is there, even if the power fails at once. Nothing is lost, and when the disk is well again it goes on.

EIO comes at the first calls of any kind, at some of all those after them, and at syncs to disk, which fail only once: after that the disk acts as if
nothing had been. ENOSPC comes at the first calls that need room.

failing.py [--calls N] [--sample N] [--first N] [--files N] [--ways up,down] [--errors EIO,ENOSPC] [--seed N]"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from faults import FaultDisk, need_fuse
from shows import CTL, Show, listing, pair

LONGEST = 60
FEW_FILES = 10           # new ones where any call may fail: the fewer, the more of a sync is among its first calls
# New ones where there is no room: so many that a sync makes more than 500 calls that need some.
ROOM_FILES_UP, ROOM_FILES_DOWN = 190, 40
NO_CALL = 1 << 40
MODES = ('once', 'on')
FSCK_EVERY = 5           # trials; what a device reads whole from the storage is checked in all of them
PLAIN = {'EIO': ('input/output error', 'disk'), 'ENOSPC': ('no space left', 'full', 'room', 'space')}
JARGON = ('sqlite_', 'errno', 'assert', 'eio', 'enospc', 'null)', '(null')


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


class Stage:
    """Two devices on a disk; `wanted` is what both have to have in the end."""

    def __init__(self, disk, seed, new_files):
        self.disk, self.rng, self.new_files = disk, random.Random(seed), new_files
        self.a, self.b = pair(disk.path)
        self.roots = [disk.path / name for name in ('tree-a', 'tree-b')]
        for root in self.roots:
            root.mkdir()
        self.first_files(self.roots[0])
        self.a.run('folder', 'add', 'f', self.roots[0])
        self.a.sync(), self.b.sync()
        self.b.run('folder', 'attach', 'f', self.roots[1])
        self.b.sync()
        self.changes(self.roots[0])
        self.wanted = listing(self.roots[0])

    def first_files(self, root):
        for i in range(40):
            write(root / f'd{i % 5}' / f'file{i:02}', self.rng.randbytes(self.rng.choice([10, 3000, 20_000])))
        write(root / 'large', self.rng.randbytes(2_500_000))

    def changes(self, root):
        """Some of everything a person does."""
        for i in range(self.new_files):
            write(root / f'new{i % 6}' / f'n{i:02}', self.rng.randbytes(self.rng.choice([0, 500, 900, 9000])))
        for i in range(0, 40, 5):
            (root / f'd{i % 5}' / f'file{i:02}').write_bytes(self.rng.randbytes(5000))
        for i in range(1, 40, 13):
            (root / f'd{i % 5}' / f'file{i:02}').unlink()
        os.rename(root / 'd2', root / 'moved')
        os.rename(root / 'd3/file03', root / 'file-moved')
        with open(root / 'large', 'r+b') as large:
            large.seek(1_000_000)
            large.write(self.rng.randbytes(1000))
        os.chmod(root / 'd4/file04', 0o640)
        for i, mode in enumerate((0o777, 0o700, 0o500)):
            os.chmod(root / f'new{i}', mode)
        os.symlink('d4/file04', root / 'link')
        write(root / 'second-large', self.rng.randbytes(1_500_000))


def sync(device):
    """(exit code, what it said as text, what it reported)"""
    try:
        result = subprocess.run([CTL, '--home', device.home, '--json', 'sync'], env=device.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return 'no end', '', {}
    try:
        report = json.loads(result.stdout) if result.stdout.strip() else {}
    except ValueError:
        report = {}
    return result.returncode, result.stderr + json.dumps(report, ensure_ascii=False), report


class Trial:
    def __init__(self, stage, device):
        self.stage, self.device = stage, device
        self.other = stage.b if device is stage.a else stage.a
        self.root, self.other_root = stage.roots if device is stage.a else reversed(stage.roots)
        self.bad, self.tolerated, self.told, self.unmet = [], 0, 0, 0

    def complain(self, what):
        self.bad.append(f'{self.name}: {what}')

    def differences(self, there):
        return [f'{p} is {there.get(p)} instead of {self.stage.wanted.get(p)}' for p in sorted(there.keys() | self.stage.wanted.keys())
                if there.get(p) != self.stage.wanted.get(p)]

    def judge(self, code, text, report, error):
        """TRUE when the sync says that everything is done."""
        if code not in (0, 1, 2, 3, 4, 5):
            self.complain(f'sync ended with {code}: {text[-300:]}')
            return False
        if code == 0 and not report.get('failed'):
            self.tolerated += 1
            return True
        self.told += 1
        low = text.lower()
        if not any(word in low for word in PLAIN[error]):
            self.complain(f'exit {code} does not say what is wrong: {text[-300:]}')
        if any(word in low for word in JARGON):
            self.complain(f'exit {code} is not in plain words: {text[-300:]}')
        return False

    def run(self, which, call, error, mode):
        disk = self.stage.disk
        disk.tell('load')
        disk.tell('fail', which, call, error, mode)
        code, text, report = sync(self.device)
        state = disk.state()
        disk.tell('clear')
        self.name = f'{error} {mode} at call {call} of {which} ({state["first"]})'
        if state['failed'] == 0:
            self.unmet += 1
            return
        if not self.judge(code, text, report, error):
            code, text, report = sync(self.device)
            if code != 0 or report.get('failed'):
                self.complain(f'does not go on when it clears: exit {code}: {text[-300:]}')
        disk.tell('cut', 'none')
        self.finish()

    def finish(self):
        """Both have everything, and it is as it was written; whatever they say is synced, the power may fail."""
        own = self.differences(listing(self.root))
        if own:
            self.complain(f'the device with the failure: {own[:3]}')
        self.other.sync()
        self.stage.disk.tell('cut', 'none')
        different = self.differences(listing(self.other_root))
        if different:
            self.complain(f'the other device: {different[:3]}')
        issues = self.device.run('issues')['issues']
        if issues:
            self.complain(f'what is over is still told: {issues[0]["text"]}')
        if (self.tolerated + self.told) % FSCK_EVERY == 0:
            for device in (self.device, self.other):
                for problem in device.run('fsck')['problems']:
                    self.complain(f'fsck: {problem["text"]}')


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--calls', type=int, default=500, help='the first calls of a sync of which one fails')
    parser.add_argument('--first', type=int, default=1, help='the first of them')
    parser.add_argument('--sample', type=int, default=0, help='only so many of them, in all')
    parser.add_argument('--files', type=int, help='new files in the sync that has no room: the more, the more calls it makes')
    parser.add_argument('--ways', default='up,down')
    parser.add_argument('--errors', default='EIO,ENOSPC')
    parser.add_argument('--seed', type=int, default=random.randrange(1 << 31))
    return parser.parse_args()


def count(disk, device, which):
    """How many such calls a sync makes in which nothing fails."""
    disk.tell('load')
    disk.tell('fail', which, NO_CALL, 'EIO', 'once')
    sync(device)
    counted = disk.state()['counted']
    disk.tell('clear')
    return counted


def some(rng, values, n):
    return sorted(rng.sample(values, min(n, len(values))))


def plan_errors(rng, options, calls, syncs):
    """(which, call, error, once or on), where a sync makes so many calls and so many syncs to disk."""
    end = options.first + options.calls
    early, later = range(options.first, end), range(end, calls + 1)
    plan = [('all', n, 'EIO', MODES[n % 2]) for n in [*early, *some(rng, later, options.calls // 10)]]
    syncs = [('syncs', n, 'EIO', 'once') for n in some(rng, range(1, syncs + 1), options.calls // 5)]
    if options.sample:
        return [('all', calls // 2, 'EIO', 'on')] + rng.sample(plan, options.sample // 8) + rng.sample(syncs, options.sample // 8)
    return plan + syncs


def plan_room(rng, options):
    plan = [('writes', n, 'ENOSPC', MODES[(n + 1) % 2]) for n in range(options.first, options.first + options.calls)]
    # At the second call a database has no room for its log.
    return [('writes', 2, 'ENOSPC', 'on')] + rng.sample(plan, options.sample // 4) if options.sample else plan


def failures_of(show, options, disk, stage, way, error):
    device = stage.a if way == 'up' else stage.b
    disk.tell('save')
    trial = Trial(stage, device)
    rng = random.Random(f'{options.seed} {way} {error}')
    plan = plan_room(rng, options) if error == 'ENOSPC' else plan_errors(rng, options, count(disk, device, 'all'), count(disk, device, 'syncs'))
    for i, step in enumerate(plan):
        before = len(trial.bad)
        trial.run(*step)
        for line in trial.bad[before:]:
            print(f'  {way}: {line}', flush=True)
        if (i + 1) % 100 == 0:
            print(f'  {way}, {error}: {i + 1} of {len(plan)}', flush=True)
    disk.tell('load')
    met, name = trial.tolerated + trial.told, f'{way}, {error}'
    show.figure(f'{name}: failures that a sync met', met, f'{len(plan)} planned, {trial.unmet} after its last call', 'at least 9 of 10',
                10 * met >= 9 * len(plan))
    show.figure(f'{name}: told in plain words; done in spite of it', f'{trial.told}; {trial.tolerated}', met, 'told at least once', trial.told > 0)
    show.figure(f'{name}: problems (no end, no words, lost, not gone on, fsck)', len(trial.bad), f'seed {options.seed}', 0, not trial.bad)


def failures(show, options):
    ways = options.ways.split(',')
    room_files = options.files or (ROOM_FILES_UP if 'up' in ways else ROOM_FILES_DOWN)
    for error in options.errors.split(','):
        with FaultDisk(options.seed) as disk:
            stage = Stage(disk, options.seed, room_files if error == 'ENOSPC' else FEW_FILES)
            for way in ways:
                if way == 'down':
                    stage.a.sync()
                failures_of(show, options, disk, stage, way, error)


def main():
    need_fuse()
    options = arguments()
    show = Show(f'the disk fails or is full at one call of a sync; seed {options.seed}')
    failures(show, options)
    show.end()


if __name__ == '__main__':
    main()
