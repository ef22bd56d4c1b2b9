# SPDX-License-Identifier: GPL-3.0-or-later
"""Ingest into a directory and restore from it, in turns with the programs that people use otherwise: restic, borg, casync and rclone's crypt."""
import os
import pathlib
import shutil
import statistics
import subprocess

from bench import RAM, Measured, make_data, result, say, size_of, warm, warm_memory, workplace
from pipeline import SETS, ours, same

SECRET = 'only for measuring'


class Other:
    """`prepare` makes an empty repository; `up` and `down` are measured."""

    def __init__(self, name, place, source):
        self.name, self.place, self.source = name, place, source
        self.store, self.out = place / 'store', place / 'out'
        self.env = dict(os.environ, HOME=str(place), XDG_CACHE_HOME=str(place / 'cache'), RESTIC_PASSWORD=SECRET, BORG_PASSPHRASE=SECRET,
                        BORG_BASE_DIR=str(place / 'borg'), RCLONE_CONFIG=str(place / 'rclone.conf'))

    def plain(self, *command):
        subprocess.run([str(c) for c in command], env=self.env, check=True, stdout=subprocess.DEVNULL)

    def prepare(self):
        self.out.mkdir()
        if self.name == 'restic':
            self.plain('restic', '-q', '-r', self.store, 'init')
        elif self.name == 'borg':
            self.plain('borg', 'init', '-e', 'repokey-blake2', self.store)
        elif self.name == 'casync':
            self.store.mkdir()
        else:
            self.store.mkdir()
            hidden = subprocess.run(['rclone', 'obscure', SECRET], env=self.env, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
            (self.place / 'rclone.conf').write_text(f'[c]\ntype = crypt\nremote = {self.store}\npassword = {hidden}\n')

    def up(self):
        command = {
            'restic': ['restic', '-q', '-r', self.store, 'backup', '.'],
            'borg': ['borg', 'create', '-C', 'zstd,3', f'{self.store}::one', '.'],
            'casync': ['casync', 'make', f'--store={self.store}/s.castr', self.store / 'i.caidx', '.'],
            'rclone': ['rclone', 'copy', '.', 'c:x'],
        }[self.name]
        return Measured(command, self.env, self.source)

    def down(self):
        command = {
            'restic': ['restic', '-q', '-r', self.store, 'restore', 'latest', '--target', self.out],
            'borg': ['borg', 'extract', f'{self.store}::one'],
            'casync': ['casync', 'extract', f'--store={self.store}/s.castr', self.store / 'i.caidx', self.out],
            'rclone': ['rclone', 'copy', 'c:x', self.out],
        }[self.name]
        return Measured(command, self.env, self.out)


OTHERS = ('restic', 'borg', 'casync', 'rclone')


def one_other(name, source, base):
    with workplace(base=base) as place:
        other = Other(name, place, source)
        other.prepare()
        empty = size_of(other.store)[0]
        warm_memory(base, size_of(source)[0])
        up = other.up()
        stored, objects = size_of(other.store)
        warm_memory(base, size_of(source)[0])
        down = other.down()
        if not same(source, other.out):
            raise RuntimeError(f'{name} brought back something else')
        return {'up': up.figures(), 'down': down.figures(), 'stored': stored - empty, 'objects': objects}


def zstd_size(source):
    """Of the same bytes, each file by itself at level 3."""
    done = subprocess.run(f'find {source} -type f -print0 | xargs -0 zstd -3 -q -c | wc -c', shell=True, check=True, stdout=subprocess.PIPE, text=True)
    return int(done.stdout)


def run_set(name, base, pairs=None, others=OTHERS):
    kind, count, usual = SETS[name]
    runs = {who: [] for who in ('skerry', *others)}
    with workplace(base=base) as place:
        source = place / 'data'
        make_data(kind, source, count)
        size, files = size_of(source)
        for i in range(pairs or usual):
            for who in runs:
                warm(source)
                runs[who].append(ours(source, base) if who == 'skerry' else one_other(who, source, base))
                shutil.rmtree(source / '.skerry', ignore_errors=True)
                last = runs[who][-1]
                say(f'  {name}, run {i + 1}, {who}: up {last["up"]["wall"]:.2f} s, down {last["down"]["wall"]:.2f} s')
        small = zstd_size(source) if name == 'text' else 0
    medians = {who: {
        **{way: {'wall': statistics.median(r[way]['wall'] for r in these), 'cpu': statistics.median(r[way]['user'] + r[way]['system'] for r in these)}
           for way in ('up', 'down')},
        'stored': statistics.median(r['stored'] for r in these)} for who, these in runs.items()}
    return {'set': name, 'place': 'ram' if base == RAM else 'disk', 'bytes': size, 'files': files, 'zstd_size': small, 'runs': runs, 'medians': medians}


def main(arguments):
    body = []
    for place in arguments.place or ('ram',):
        base = RAM if place == 'ram' else pathlib.Path(arguments.disk)
        for name in arguments.set or ('random', 'text', 'small'):
            say(f'beside others, {name}, on {place}')
            body.append(run_set(name, base, arguments.pairs))
    return result('others', body)
