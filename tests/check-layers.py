#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Includes obey the layer table of the README; external libraries stay in their layer."""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[1]
MAY = {
    'core': {'core'},
    'work': {'work'},
    'index': {'index', 'core'},
    'local': {'local', 'core', 'work'},
    'store': {'store', 'core', 'work'},
    'peer': {'peer', 'core', 'work'},
    'flow': {'flow', 'core', 'work', 'index', 'local', 'store', 'peer'},
    'api': {'api', 'flow', 'core', 'work'},
}
# Header prefix -> layers that may include it.
EXTERNAL = {
    'gio/': {'work', 'local', 'store', 'peer', 'flow', 'api'},
    'gtk/': set(), 'adwaita': set(),
    'sodium': {'core'}, 'zstd': {'core'}, 'gnutls/': {'core', 'peer'},
    'sqlite3': {'index'},
    'libsoup/': {'store', 'peer'},
    'nice/': {'peer'}, 'ngtcp2/': {'peer'},
    'libsecret/': {'flow'}, 'json-glib/': {'flow', 'store', 'api'},
}


def main():
    home = {}
    for layer in MAY:
        for path in (TOP / 'engine' / layer).glob('*.h'):
            home[path.name] = layer
    problems = []
    for path in sorted((TOP / 'engine').rglob('*.[ch]')):
        layer = path.parent.name
        for number, line in enumerate(path.read_text(errors='replace').splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)', line)
            if not match:
                continue
            name = match.group(2)
            where = f'{path.relative_to(TOP)}:{number}'
            if name in home and home[name] not in MAY[layer]:
                problems.append(f'{where}: {layer} includes {name} of {home[name]}')
            for prefix, layers in EXTERNAL.items():
                if match.group(1) == '<' and name.startswith(prefix) and layer not in layers:
                    problems.append(f'{where}: {layer} includes <{name}>')
    for path in sorted((TOP / 'app').rglob('*.[ch]')):
        for number, line in enumerate(path.read_text(errors='replace').splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*"([^"]+)', line)
            if match and match.group(1) in home and home[match.group(1)] != 'api':
                problems.append(f'{path.relative_to(TOP)}:{number}: the app includes {match.group(1)} of {home[match.group(1)]}')
    print('\n'.join(problems))
    return 1 if problems else 0


sys.exit(main())
