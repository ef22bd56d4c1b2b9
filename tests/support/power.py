#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The power fails while two people and two engines work; homes, synced folders and storage all lie on the disk that forgets.

What a person synced himself, and what an engine has reported as synced, has to be there, whole and with its times. What was not synced may be any of
the versions that the person wrote, or what the disk itself made of it before any engine saw it. Nothing else is ever on any device.

power.py [--cuts N] [--seed N] [--each N]"""
import argparse
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kill
from faults import FaultDisk, need_fuse
from shows import CTL, Device, Show, join, listing, until

HOWS = ['none', 'all', 'ordered', 'random', 'random', 'random']
LONGEST = 30


def content(value):
    """What a file holds or a link points to; None: there is nothing."""
    return value[2] if isinstance(value, tuple) else value


def fsync(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


class CarefulPerson(kill.Person):
    """One who syncs half of what he does, and knows what may be lost of the other half."""

    def __init__(self, rng, root, name):
        super().__init__(rng, root, name)
        self.unsure = {}         # path -> contents that may be there after a cut
        self.moved = {}          # new path -> (old path, content) of what was synced before it was moved: one of them is there
        self.raw, self.cut_short = {}, False

    def sync(self, path):
        full = self.root / path
        if full.is_file() and not full.is_symlink():
            fsync(full)
        for directory in full.parents:
            if directory.is_dir():
                fsync(directory)
            if directory == self.root.parent:
                break
        self.unsure.pop(path, None)

    def act(self):
        before = dict(self.files)
        self.cut_short = True
        super().act()
        self.cut_short = False
        touched = [p for p in before.keys() | self.files.keys() if before.get(p) != self.files.get(p)]
        gone = [p for p in touched if p not in self.files]
        self.moved = {new: was for new, was in self.moved.items() if new not in touched and was[0] not in touched}
        if len(touched) == 2 and gone and gone[0] not in self.unsure:
            new = next(p for p in touched if p in self.files)
            self.moved[new] = (gone[0], content(self.files[new]))
        for path in touched:
            self.unsure.setdefault(path, {content(before.get(path))}).add(content(self.files.get(path)))
        if self.rng.random() < 0.5:
            for path in touched:
                self.sync(path)
                self.moved.pop(path, None)

    def is_synced(self):
        """His engine says that everything is up. What he removed may come back all the same: nothing is lost by that."""
        self.unsure = {p: states for p, states in self.unsure.items() if p not in self.files}
        self.moved = {}

    def after_cut(self, raw):
        """@raw: what the disk has, before any engine looked. What it tore of what nobody had synced is what the person has now."""
        self.raw = raw
        for path, states in self.unsure.items():
            states.add(content(raw.get(path)))

    def compare(self, there):
        """Problems; from then on what is there is what he has. A deed that the cut ended in the middle may be done on the disk and not noted: one of
        two names."""
        bad = []
        if self.cut_short:
            half_done = [p for p in self.files.keys() | self.raw.keys() if p not in self.unsure and self.files.get(p) != self.raw.get(p)]
            self.unsure.update({p: {content(self.files.get(p)), content(self.raw.get(p))} for p in half_done[:2]})
        for path in sorted(self.files.keys() | self.unsure.keys() | there.keys()):
            has, had = there.get(path), self.files.get(path)
            if path in self.unsure:
                if content(has) not in self.unsure[path]:
                    bad.append(f'{path} is {has}, none of what it may be: {sorted(map(str, self.unsure[path]))}')
            elif has != had:
                bad.append(f'{path} was synced and is {has} instead of {had}')
        for new, (old, what) in self.moved.items():
            if content(there.get(new)) != what and content(there.get(old)) != what:
                bad.append(f'{old}, moved to {new}, is at neither')
        self.files, self.unsure, self.moved, self.cut_short = dict(there), {}, {}, False
        for path, value in there.items():
            self.ever.setdefault(path, set()).add(content(value))
        return bad


def plain(tree, name):
    """The files and links of one person, as Person keeps them."""
    return {path: (value[3] if value[0] == 'link' else value[1:]) for path, value in tree.items()
            if value[0] != 'dir' and path.startswith(f'{name}/')}


class PowerTrial(kill.Trial):
    def __init__(self, disk, seed):
        self.disk = disk
        super().__init__(disk.path, seed, CarefulPerson)
        self.cuts = self.in_flight = 0
        self.lost = [0, 0]
        disk.tell('sync')

    def start(self, device, *command):
        return subprocess.Popen([CTL, '--home', device.home, '--json', *command], env=device.env, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def wait_for_cut(self, processes, work):
        """TRUE when the power failed while an engine was at work."""
        end = time.monotonic() + LONGEST
        while not self.disk.state()['dead']:
            if all(p.poll() is not None for p in processes):
                return False
            if time.monotonic() > end:
                self.bad.append('an engine neither ended nor went on')
                return False
            try:
                work()
            except OSError:
                pass
            time.sleep(0.002)
        return True

    def ended(self, i, process):
        """An engine that came to its end before the cut has said that everything is synced, or what is not."""
        code = process.poll()
        if code == 0:
            self.people[i].is_synced()
        elif code not in (3, -signal.SIGKILL):
            self.bad.append(f'sync of {"ab"[i]} ended with {code}')

    def cut(self):
        kind = self.rng.choice(['sync', 'sync', 'both', 'run'])
        who = self.rng.randrange(2)
        for person in self.people:
            person.work(self.rng.randint(2, 8))
        if self.rng.random() < 0.5:
            other = 1 - who
            if not self.devices[other].sync()['failed']:
                self.people[other].is_synced()
        how = self.rng.choice(HOWS)
        at = int(self.rng.lognormvariate(4.2, 1.0)) + 1
        self.disk.tell('cut-at', at, how)
        indexes = [0, 1] if kind == 'both' else [who]
        processes = [self.start(self.devices[i], 'run' if kind == 'run' else 'sync') for i in indexes]
        hit = self.wait_for_cut(processes, (lambda: self.people[who].work(1)) if kind == 'run' else lambda: None)
        # What ended by itself before the power failed did so on a good disk.
        if not hit and kind != 'run':
            for i, process in zip(indexes, processes):
                self.ended(i, process)
        for process in processes:
            process.kill()
            process.wait()
        self.disk.tell('mount' if self.disk.state()['dead'] else f'cut {how}')
        self.cuts += 1
        self.in_flight += hit
        loss = self.disk.state()['loss']
        self.lost = [self.lost[0] + loss[0] - loss[1], self.lost[1] + loss[2] - loss[3]]
        return f'{kind} of {"ab"[who]}, change {at}, {how}: lost {loss[0] - loss[1]} of {loss[0]} names, {loss[2] - loss[3]} of {loss[2]} pages'

    def look_after(self, moment):
        """What the disk has; then what the engines make of it."""
        for i, person in enumerate(self.people):
            person.after_cut(plain(listing(self.roots[i]), person.name))
        problems = len(self.bad)
        if not self.settle():
            self.bad.append('no rest after 20 rounds')
        trees = [listing(root) for root in self.roots]
        for i, person in enumerate(self.people):
            self.bad += person.compare(plain(trees[i], person.name))
            for path in trees[i]:
                if path not in ('a', 'b') and path[:2] not in ('a/', 'b/'):
                    self.bad.append(f'nobody wrote {path}')
        different = [p for p in trees[0].keys() | trees[1].keys() if trees[0].get(p) != trees[1].get(p)]
        self.bad += [f'{p} differs: {trees[0].get(p)} and {trees[1].get(p)}' for p in sorted(different)]
        for device in self.devices:
            self.fsck(device, 'after the cut')
        for i in range(problems, len(self.bad)):
            self.bad[i] = f'{moment}: {self.bad[i]}'

    def third_reader(self):
        """A device that comes to it new reads everything from the storage alone."""
        c = Device(self.disk.path, 'c')
        root = self.disk.path / 'c' / 'f'
        root.mkdir(parents=True)
        join(self.devices[0], c, 'c')
        c.sync()
        c.run('folder', 'attach', 'f', root)
        until(lambda: c.sync()['files'] == 0, 60, 'the third device has everything')
        wanted, there = listing(self.roots[0]), listing(root)
        self.bad += [f'a new device reads {p} as {there.get(p)} instead of {wanted.get(p)}' for p in sorted(wanted.keys() | there.keys())
                     if wanted.get(p) != there.get(p)]
        self.fsck(c, 'on a new device')


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--cuts', type=int, default=20)
    parser.add_argument('--each', type=int, default=25, help='cuts after which everything begins anew')
    parser.add_argument('--seed', type=int, default=random.randrange(1 << 31))
    return parser.parse_args()


def cuts(show, count, each, seed):
    done = in_flight = 0
    lost = [0, 0]
    bad = []
    while done < count:
        with FaultDisk(seed + done) as disk:
            trial = PowerTrial(disk, seed + done)
            print(f'  seed {seed + done}', flush=True)
            for _ in range(min(each, count - done)):
                moment = f'cut {done + 1}, {trial.cut()}'
                trial.look_after(moment)
                print(f'{moment}{"" if not trial.bad else "   PROBLEM"}', flush=True)
                done += 1
                if trial.bad:
                    break
            if not trial.bad:
                trial.third_reader()
            bad += trial.bad
            in_flight += trial.in_flight
            lost = [lost[0] + trial.lost[0], lost[1] + trial.lost[1]]
    for line in bad[:40]:
        print(f'  {line}', flush=True)
    show.figure('power cuts', done, count, f'at least {count}', done >= count)
    show.figure('power cuts while an engine was at work', in_flight, done, f'at least half', 2 * in_flight >= done)
    show.figure('names and pages that the disk forgot', lost, 0, 'more than 0 each', min(lost) > 0)
    show.figure('problems found after them (torn, empty, zeros, lost, fsck, a new device)', len(bad), f'seed {seed}', 0, not bad)


def main():
    need_fuse()
    options = arguments()
    show = Show(f'the power fails while two engines work; seed {options.seed}')
    cuts(show, options.cuts, options.each, options.seed)
    show.end()


if __name__ == '__main__':
    main()
