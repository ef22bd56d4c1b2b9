#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kills one of two engines at moments with work in flight and looks at what is left.

Each device's person writes only below a directory of his own, so what has to be there is known exactly: at any time every file is one of the
versions that were written under its name, the person's own files are untouched, and in the end both trees are what was written.

kill.py [--moments N] [--each N] [--runs N] [--seed N]"""
import argparse
import hashlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from shows import CTL, Device, Show, join, listing, workplace

# Stage -> the highest passage that is tried: so many there are at least now and then.
UP = {'scan': 5, 'ingest': 12, 'put': 4, 'log-commit': 2, 'head': 2}
DOWN = {'fetch': 2, 'write': 14, 'rename': 28}
STAGES = {**UP, **DOWN}
MIDDLE = 300_000


def digest(data):
    return hashlib.sha256(data).hexdigest()


class Person:
    """One who changes files below "<root>/<name>" and knows what he wrote."""

    def __init__(self, rng, root, name):
        self.rng, self.root, self.name = rng, root, name
        self.files = {}          # path -> (mode, mtime, hash) or link target
        self.ever = {}           # path -> hashes of everything that ever stood there
        self.serial = 0
        (root / name).mkdir(parents=True)

    def some(self, kind):
        paths = sorted(p for p, v in self.files.items() if isinstance(v, tuple) == (kind == 'file'))
        return self.rng.choice(paths) if paths else None

    def note(self, path):
        full = self.root / path
        st = full.lstat()
        sha = digest(full.read_bytes())
        self.files[path] = (st.st_mode & 0o7777, st.st_mtime_ns, sha)
        self.ever.setdefault(path, set()).add(sha)

    def data(self):
        size = self.rng.choice([0, 1, 100, 4096, 20_000, 20_000, 70_000, MIDDLE, MIDDLE, 5_500_000])
        text = f'{self.name} {self.serial} '.encode()
        return (text * (size // len(text) + 1))[:size] if self.rng.random() < 0.3 else self.rng.randbytes(size)

    def write(self, path, in_place=False):
        self.serial += 1
        full = self.root / path
        data = self.data()
        full.parent.mkdir(parents=True, exist_ok=True)
        if in_place:
            with open(full, 'r+b' if full.exists() else 'wb') as file:
                file.write(data)
                file.truncate()
        else:
            temp = self.root.parent / 'saving'      # outside the folder: a save is one rename
            temp.write_bytes(data)
            os.replace(temp, full)
        self.note(path)

    def act(self):
        deed = self.rng.choice(['new'] * 6 + ['over', 'over', 'in-place', 'remove', 'move', 'mode', 'link', 'empty'])
        old = self.some('file')
        if deed == 'new' or old is None:
            self.write(f'{self.name}/d{self.rng.randrange(8)}/{self.serial:05}')
        elif deed in ('over', 'in-place'):
            self.write(old, deed == 'in-place')
        elif deed == 'empty':
            os.truncate(self.root / old, 0)
            self.note(old)
        elif deed == 'remove':
            (self.root / old).unlink()
            del self.files[old]
        elif deed == 'move':
            self.serial += 1
            new = f'{self.name}/moved-{self.serial:05}'
            os.rename(self.root / old, self.root / new)
            del self.files[old]
            self.note(new)
        elif deed == 'mode':
            os.chmod(self.root / old, self.rng.choice([0o600, 0o644, 0o755, 0o640]))
            self.note(old)
        else:
            self.serial += 1
            path = f'{self.name}/link-{self.serial:05}'
            os.symlink(f'd0/{self.serial}', self.root / path)
            self.files[path] = f'd0/{self.serial}'

    def work(self, deeds):
        for _ in range(deeds):
            self.act()


class Trial:
    def __init__(self, work, seed, person=Person):
        self.rng = random.Random(seed)
        self.bad = []
        self.met = dict.fromkeys(STAGES, 0)
        self.answered = dict.fromkeys('ab', 0)
        self.random_kills = self.busy_kills = self.checks = 0
        self.store = work / 'store'
        self.store.mkdir()
        self.devices = [Device(work, 'a'), Device(work, 'b')]
        self.roots = [work / 'a' / 'f', work / 'b' / 'f']
        for root in self.roots:
            root.mkdir(parents=True)
        self.people = [person(self.rng, self.roots[i], 'ab'[i]) for i in range(2)]
        a, b = self.devices
        a.run('vault', 'create', 'show', '--no-passphrase')
        a.run('storage', 'add', 'disk', self.store)
        join(a, b, 'b')
        a.run('folder', 'add', 'f', self.roots[0])
        a.sync(), b.sync()
        b.run('folder', 'attach', 'f', self.roots[1])
        b.sync()

    # --- what must hold after every kill ---

    def look(self, moment):
        self.checks += 1
        for i, root in enumerate(self.roots):
            for path, (kind, mode, mtime, what) in listing(root).items():
                if kind == 'dir':
                    continue
                owner = self.people['ab'.index(path[0])] if path[:2] in ('a/', 'b/') else None
                if owner is None:
                    self.bad.append(f'{moment}: nobody wrote {path}')
                elif kind == 'file' and what not in owner.ever.get(path, ()):
                    size = (root / path).stat().st_size
                    self.bad.append(f'{moment}: {path} on {"ab"[i]} is torn or not what anybody wrote ({size} bytes)')
            for path, value in self.people[i].files.items():
                if not os.path.lexists(root / path):
                    self.bad.append(f'{moment}: the person\'s own {path} is gone')
                elif isinstance(value, tuple) and digest((root / path).read_bytes()) != value[2]:
                    self.bad.append(f'{moment}: the person\'s own {path} was changed')

    def fsck(self, device, moment):
        report = device.run('fsck')
        for problem in report['problems']:
            self.bad.append(f'{moment}: fsck: {problem["text"]}')

    # --- kills ---

    def sync_killed(self, device, stage, passage):
        env = dict(device.env, SKERRY_TEST_KILL_AT=f'{stage}:{passage}')
        result = subprocess.run([CTL, '--home', device.home, '--json', 'sync'], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if result.returncode not in (0, 3, -signal.SIGKILL):
            self.bad.append(f'{stage}:{passage}: sync ended with {result.returncode}: {result.stderr}')
        return result.returncode == -signal.SIGKILL

    def moment(self, stage):
        """One kill at @stage; tries lower passages until there is one."""
        changer = self.rng.randrange(2)
        victim = changer if stage in UP else 1 - changer
        top = STAGES[stage]
        while True:
            self.people[changer].work(8)
            if stage in DOWN:
                self.devices[changer].sync()
            passage = self.rng.randint(1, top)
            if self.sync_killed(self.devices[victim], stage, passage):
                break
            top = max(top // 2, 1)
        name = f'{stage}:{passage} on {"ab"[victim]}'
        self.met[stage] += 1
        self.look(name)
        self.fsck(self.devices[victim], name)
        return name

    def run_killed(self, longest):
        """An engine that watches, killed at any time while both people work."""
        victim = self.rng.randrange(2)
        device = self.devices[victim]
        self.people[1 - victim].work(6)
        self.devices[1 - victim].sync()
        process = subprocess.Popen([CTL, '--home', device.home, 'run'], env=device.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + self.rng.uniform(0.02, longest)
        while time.monotonic() < end:
            self.people[victim].work(1)
            time.sleep(0.01)
        process.kill()
        if process.wait() == -signal.SIGKILL:
            self.random_kills += 1
        name = f'run, killed at any time, on {"ab"[victim]}'
        self.look(name)
        self.fsck(device, name)
        return name

    # --- the end ---

    def answer(self):
        """In a short run two people take away much of the little there is, which rightly waits for a decision (C17). It is said once: a device asks
        about what its own person took away, and about what came from the other. How many questions there were."""
        asked = 0
        for device in self.devices:
            for issue in device.run('issues')['issues']:
                if issue['kind'] == 'mass-change':
                    asked += 1
                    device.run('resolve', issue['id'], 'accept')
                    self.answered[device.name] += 1
                    if self.answered[device.name] > 2:
                        self.bad.append(f'{device.name} asks again: {issue["text"]}')
        return asked

    def settle(self):
        """TRUE when both devices have nothing left to do."""
        quiet, segments = 0, -1
        for _ in range(20):
            moved = 0
            for device in self.devices:
                report = device.sync()
                moved += report['files']
                self.bad += [f'failed: {f}' for f in report['failed'] if 'wait for a decision' not in f['why']]
            moved += self.answer()
            before, segments = segments, sum(1 for _ in self.store.glob('*/log/*/*'))
            quiet = quiet + 1 if moved == 0 and segments == before else 0
            if quiet == 2:
                return True
        return False

    def differences(self):
        """How the trees differ from what the two people wrote: every byte, mode, mtime and link."""
        wanted = {}
        for person in self.people:
            for path, value in person.files.items():
                wanted[path] = ('file', *value) if isinstance(value, tuple) else ('link', 0, 0, value)
        out = []
        for i, root in enumerate(self.roots):
            there = {p: v for p, v in listing(root).items() if v[0] != 'dir'}
            for path in sorted(wanted.keys() | there.keys()):
                if wanted.get(path) != there.get(path):
                    out.append(f'{path} on {"ab"[i]}: {there.get(path)} instead of {wanted.get(path)}')
        return out


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--moments', type=int, default=8, help='kills at stages')
    parser.add_argument('--each', type=int, default=1, help='kills that every stage has to have at least')
    parser.add_argument('--runs', type=int, default=2, help='kills of an engine that watches, at any time')
    parser.add_argument('--seed', type=int, default=random.randrange(1 << 31))
    return parser.parse_args()


def main():
    options = arguments()
    show = Show(f'engines killed with work in flight; seed {options.seed}')
    with workplace(ram=True) as work:
        trial = Trial(work, options.seed)
        stages = sorted(STAGES) * (options.moments // len(STAGES) + 1)
        for i in range(options.moments):
            print(f'{i + 1:3}  {trial.moment(stages[i])}', flush=True)
            if trial.rng.random() < 0.3:
                trial.devices[trial.rng.randrange(2)].sync()
        for i in range(options.runs):
            print(f'{i + 1:3}  {trial.run_killed(1.5)}', flush=True)
        quiet = trial.settle()
        trial.look('in the end')
        for device in trial.devices:
            trial.fsck(device, 'in the end')
        different = trial.differences()
        for line in (trial.bad + different)[:40]:
            print(f'  {line}', flush=True)
        print(f'  questions about a mass change, answered once: {sum(trial.answered.values())}', flush=True)
        kills = sum(trial.met.values())
        print('  ' + ', '.join(f'{stage} {n}' for stage, n in trial.met.items()), flush=True)
        show.figure('kills at stages with work in flight', kills, options.moments, f'at least {options.moments}', kills >= options.moments)
        show.figure('kills of the stage with fewest', min(trial.met.values()), options.each, f'at least {options.each}', min(trial.met.values()) >= options.each)
        show.figure('kills of a watching engine at any time', trial.random_kills, options.runs, f'at least {options.runs}', trial.random_kills >= options.runs)
        show.figure('problems found after kills (torn, empty, changed or lost files, fsck)', len(trial.bad), f'{trial.checks} looks at both trees', 0,
                    not trial.bad)
        files = sum(len(p.files) for p in trial.people)
        show.figure('paths that differ in the end (byte, mode, mtime, link)', len(different), f'{files} written by two people', 0, not different)
        show.figure('both devices have come to rest', quiet, True, True, quiet)
    show.end()


if __name__ == '__main__':
    main()
