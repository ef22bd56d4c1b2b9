#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules people forget: licence line, file and function length, prefix, banned calls, no goto."""
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[1]
FILE_MAX, TEST_MAX, FUNCTION_MAX, WIDTH_MAX = 700, 1000, 100, 180
BANNED = {
    r'\bgoto\b': 'goto',
    r'\bstrcpy *\(|\bsprintf *\(|\bstrcat *\(|\bgets *\(': 'unbounded string call',
    r'\bsystem *\(': 'system()',
    r'g_main_context_invoke\b': 'g_main_context_invoke (use a mailbox)',
    r'g_task_run_in_thread\b': 'g_task_run_in_thread (use a pool)',
    r'\b(TODO|FIXME|XXX|HACK)\b': 'unfinished place',
}
# Keys and tags are compared in constant time.
SECRET_FILES = {'sk-keys.c', 'sk-keyring.c', 'sk-seal.c', 'sk-invite.c', 'sk-phrase.c'}


def functions(text):
    """(name, lines) of each function body in GNU style: name at the start of a line, braces at column 0."""
    for match in re.finditer(r'^(\w+) \([^;{}]*\)\n\{\n(.*?)^\}', text, re.S | re.M):
        yield match.group(1), match.group(2).count('\n')


def main():
    files = subprocess.run(['git', 'ls-files', '*.c', '*.h', '*.py', '*.sh', '*meson.build', 'tests/run', 'tests/try', '.ci/run', 'tests/shows/*'],
                           cwd=TOP, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    problems = []
    for name in files:
        path = TOP / name
        if not path.exists() or '/corpus/' in name:
            continue
        text = path.read_text(errors='replace')
        lines = text.splitlines()
        if 'SPDX-License-Identifier: GPL-3.0-or-later' not in '\n'.join(lines[:4]):
            problems.append(f'{name}: no SPDX line')
        limit = TEST_MAX if name.startswith('tests/') else FILE_MAX
        if len(lines) > limit:
            problems.append(f'{name}: {len(lines)} lines (at most {limit})')
        if path.suffix not in ('.c', '.h'):
            continue
        for number, line in enumerate(lines, 1):
            if len(line) > WIDTH_MAX and 'words.c' not in name:
                problems.append(f'{name}:{number}: {len(line)} columns')
            code = re.sub(r'/\*.*?(\*/|$)|^\s*\*.*|"[^"]*"', '', line)
            for pattern, what in BANNED.items():
                if re.search(pattern, code) and not name.startswith('tests/support/'):
                    problems.append(f'{name}:{number}: {what}')
        if path.name in SECRET_FILES and re.search(r'\bmemcmp *\(', text):
            problems.append(f'{name}: memcmp in a file that holds keys (sodium_memcmp)')
        if name.startswith('engine/') or name.startswith('app/'):
            for function, length in functions(text):
                if length > FUNCTION_MAX:
                    problems.append(f'{name}: {function} has {length} lines (at most {FUNCTION_MAX})')
    print('\n'.join(problems))
    return 1 if problems else 0


sys.exit(main())
