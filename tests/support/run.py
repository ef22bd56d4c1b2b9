# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds, runs and counts. Started by tests/run."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
SANITIZERS = ['-Db_sanitize=address,undefined', '-Db_lundef=false', '-Doptimization=1']
SANITIZER_ENV = {
    # GLib keeps caches for the life of the process; what is ours is freed.
    'ASAN_OPTIONS': 'detect_leaks=1:abort_on_error=0:strict_string_checks=1',
    'UBSAN_OPTIONS': 'print_stacktrace=1:halt_on_error=1',
    'LSAN_OPTIONS': 'suppressions=%s' % (TOP / 'tests/support/lsan.supp'),
    'G_SLICE': 'always-malloc',
}


class Count:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, 0, 0
        self.trouble = []

    def add(self, name, ok, skipped=False, text=''):
        if skipped:
            self.skipped += 1
            self.trouble.append(f'SKIPPED {name}: {text}')
        elif ok:
            self.passed += 1
        else:
            self.failed += 1
            self.trouble.append(f'FAILED {name}' + (f':\n{text}' if text else ''))


def say(text):
    print(text, flush=True)


def build(directory, options):
    path = TOP / directory
    if not (path / 'build.ninja').exists():
        subprocess.run(['meson', 'setup', directory, '-Dwerror=true'] + options, cwd=TOP, check=True, stdout=subprocess.DEVNULL)
    result = subprocess.run(['ninja', '-C', directory], cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        say(result.stdout[-8000:])
        sys.exit('the build failed')


def count_tap(name, text, code, count):
    """One test per TAP line; a program that ends badly without a 'not ok' line is one more failure."""
    seen_failure = False
    lines = 0
    for line in text.splitlines():
        match = re.match(r'\s*(not )?ok \d+ ?(.*)', line)
        if not match:
            continue
        lines += 1
        title = match.group(2)
        skipped = '# SKIP' in title.upper()
        seen_failure |= bool(match.group(1))
        count.add(f'{name} {title}', not match.group(1), skipped, title if skipped else text[-3000:])
    if code != 0 and not seen_failure:
        count.add(name, False, text=f'exit {code}\n{text[-4000:]}')
    elif lines == 0 and code == 0:
        count.add(name, True)


def run_meson_tests(directory, label, only, count, environment=None):
    env = dict(os.environ, **(environment or {}))
    command = ['meson', 'test', '-C', directory, '--no-rebuild', '--print-errorlogs', '--num-processes', '3', '--timeout-multiplier', '3']
    if only:
        command.append(only)
    log = TOP / directory / 'meson-logs/testlog.json'
    log.unlink(missing_ok=True)
    subprocess.run(command, cwd=TOP, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not log.exists():
        if not only:
            count.add(f'{label}: meson test', False, text='no test log')
        return
    for line in log.read_text(errors='replace').splitlines():
        test = json.loads(line)
        out = (test.get('stdout') or '') + (test.get('stderr') or '')
        code = test['returncode'] if test['result'] not in ('TIMEOUT',) else -1
        if test['result'] in ('FAIL', 'ERROR', 'TIMEOUT', 'INTERRUPT') and code == 0:
            code = 1
        count_tap(f'{label}: {test["name"].split(" / ")[-1]}', out, code, count)


def run_checks(only, count):
    for script in sorted((TOP / 'tests').glob('check-*.py')):
        if only and only not in script.name:
            continue
        result = subprocess.run(['/usr/bin/python3', script], cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        count.add(script.name, result.returncode == 0, text=result.stdout[-4000:])


def shows(only, shard):
    names = sorted(p.name for p in (TOP / 'tests/shows').iterdir() if re.fullmatch(r'[0-9]+-[0-9]+', p.name))
    names = [n for n in names if not only or only in n]
    if shard:
        index, total = (int(x) for x in shard.split('/'))
        names = [n for i, n in enumerate(names) if i % total == index - 1]
    return names


def run_shows(arguments, count):
    """The full counts, sizes and durations. What passed at this commit is not run again."""
    commit = subprocess.run(['git', 'rev-parse', 'HEAD'], cwd=TOP, stdout=subprocess.PIPE, text=True).stdout.strip()
    state_file = TOP / 'build-test/shows.json'
    state = json.loads(state_file.read_text()) if state_file.exists() else {}
    for name in shows(arguments.only, arguments.shard):
        if state.get(name) == commit and not arguments.only:
            say(f'{name}: passed at this commit before')
            count.add(name, True)
            continue
        say(f'--- {name}')
        begin = time.monotonic()
        result = subprocess.run([TOP / 'tests/shows' / name], cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        say(result.stdout.rstrip())
        say(f'--- {name}: {time.monotonic() - begin:.0f} s')
        ok = result.returncode == 0 and 'PASS' in result.stdout and 'FAIL' not in result.stdout
        count.add(name, ok, text='' if ok else 'see above')
        if ok:
            state[name] = commit
            state_file.write_text(json.dumps(state, indent=1))


def count_assertions(function, text, seen=()):
    """In the function and, once each, in those of the same file that it calls."""
    body = re.search(r'\n%s \(.*?\n}\n' % re.escape(function), text, re.S)
    if not body:
        return 0
    code = body.group(0)
    calls = set(re.findall(r'\b(\w+) \(', code)) - {function, *seen}
    defined = [name for name in sorted(calls) if re.search(r'\n%s \([^;]*?\)\n{' % re.escape(name), text)]
    return (len(re.findall(r'g_assert|assert_|self\.assert', code))
            + sum(count_assertions(name, text, (*seen, function, *defined)) for name in defined))


def list_situations():
    """Every situation and rule, the tests that bear its id, and how many assertions they make."""
    rows = [line.split('\t') for line in (TOP / 'tests/situations.tsv').read_text().splitlines()[1:]]
    sources = {p: p.read_text(errors='replace') for p in (TOP / 'tests').rglob('*')
               if p.is_file() and p.suffix in ('.c', '.py', '') and 'corpus' not in p.parts and p.name != 'run.py'}
    missing = 0
    for row in rows:
        ident, stage = row[0], row[1]
        found = []
        for path, text in sources.items():
            for match in re.finditer(r'"(/[^"]*\b(?:sit|rule)-%s\b[^"]*)",\s*(?:\w+,\s*)?(\w+)' % re.escape(ident), text):
                found.append((match.group(1), count_assertions(match.group(2), text)))
        if found:
            for test, asserts in found:
                print(f'{ident}\t{test}\t{asserts}')
        else:
            print(f'{ident}\tMISSING ({stage}, {row[2]})\t0')
            missing += stage in ('rule 1', 'stage 1')
    print(f'{missing} without a test (rules, and stage 1 rows)')
    return 1 if missing else 0


def main():
    parser = argparse.ArgumentParser(prog='tests/run', description='Runs the tests and ends with "N passed, N failed, N skipped".')
    parser.add_argument('--long', action='store_true', help='the programs under tests/shows: full counts, sizes and durations; can be resumed')
    parser.add_argument('--only', metavar='NAME', help='only tests whose name contains this')
    parser.add_argument('--shard', metavar='I/N', help='with --long: the I-th of N parts')
    parser.add_argument('--no-install', action='store_true', help='install nothing')
    parser.add_argument('--no-sanitizers', action='store_true', help='leave out the run under ASan and UBSan')
    parser.add_argument('--list-situations', action='store_true', help='id, test, number of assertions; fails when one has no test')
    arguments = parser.parse_args()
    count = Count()
    if arguments.list_situations:
        return list_situations()
    begin = time.monotonic()
    say('Building')
    build('build-test', [])
    if arguments.long:
        run_shows(arguments, count)
    else:
        run_checks(arguments.only, count)
        say('Running the tests')
        run_meson_tests('build-test', 'plain', arguments.only, count)
        if not arguments.no_sanitizers:
            say('Building and running under ASan and UBSan')
            build('build-test-asan', SANITIZERS)
            run_meson_tests('build-test-asan', 'sanitizers', arguments.only, count, SANITIZER_ENV)
    for line in count.trouble:
        say(line)
    say(f'{time.monotonic() - begin:.0f} s')
    if os.geteuid() == 0 and count.skipped and os.path.exists('/etc/debian_version'):
        say('as root on Debian nothing may be skipped')
        count.failed += count.skipped
        count.skipped = 0
    say(f'{count.passed} passed, {count.failed} failed, {count.skipped} skipped')
    return 1 if count.failed or not count.passed else 0


if __name__ == '__main__':
    sys.exit(main())
