#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every text for people is listed for translation, and every translation is complete and well formed."""
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[1]
MARK = re.compile(r'\b_\(|\bN_\(|\bngettext ?\(|translatable="(yes|true)"')


def main():
    problems = []
    listed = [line for line in (TOP / 'po/POTFILES.in').read_text().splitlines() if line and not line.startswith('#')]
    if listed != sorted(listed):
        problems.append('po/POTFILES.in is not sorted')
    for path in sorted((TOP / 'app').glob('*.*')):
        name = str(path.relative_to(TOP))
        if path.suffix in ('.c', '.ui') and MARK.search(path.read_text()) and name not in listed:
            problems.append(f'{name} has text for people and is not in po/POTFILES.in')
    with tempfile.TemporaryDirectory() as directory:
        pot = pathlib.Path(directory) / 'all.pot'
        subprocess.run(['xgettext', '--files-from=po/POTFILES.in', f'--output={pot}', '--from-code=UTF-8', '--keyword=_', '--keyword=N_',
                        '--keyword=ngettext:1,2'], cwd=TOP, check=True)
        for language in (TOP / 'po/LINGUAS').read_text().split('\n'):
            if not language or language.startswith('#'):
                continue
            for command in (['msgfmt', '--check', '-o', '/dev/null', f'po/{language}.po'], ['msgcmp', f'po/{language}.po', pot]):
                result = subprocess.run(command, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                if result.returncode != 0:
                    problems.append(f'{language}: {" ".join(command[:1])} says\n{result.stdout}')
    print('\n'.join(problems))
    return 1 if problems else 0


sys.exit(main())
