#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The window, from nothing to folders that are the same in three homes: driven as a person does (accessible names, mouse, keys), and checked in the
files and by `skerryctl --json`, not only on the screen. Runs inside tests/support/ui-env.sh: test-window.py BUILD. Prints TAP; leaves pictures in BUILD/tests/app/pictures."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
import uitest as ui  # noqa: E402

SUPPORT = pathlib.Path(ui.__file__).parent
BUILD = pathlib.Path(sys.argv[1]).resolve()
PICTURES = BUILD / 'tests/app/pictures'
WORK = pathlib.Path(os.environ['UI_DIR'])
PASSPHRASE = 'correct horse'


class Device:
    """One home: driven by skerryctl, and by a window while there is one."""

    def __init__(self, name):
        self.name, self.home, self.log = name, WORK / name, WORK / f'{name}.log'
        self.process = self.window = self.app = None

    def ctl(self, *arguments):
        result = subprocess.run([BUILD / 'app/cli/skerryctl', '--home', self.home, '--json', *arguments], stdout=subprocess.PIPE, text=True)
        assert result.returncode in (0, 3), f'skerryctl {arguments}: {result.stdout}'
        return json.loads(result.stdout)

    def ctl_start(self, *arguments):
        return subprocess.Popen([BUILD / 'app/cli/skerryctl', '--home', self.home, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def open(self, title, x=0, **environment):
        log = open(self.log, 'a')
        # The libraries of a window keep much for the life of the process.
        sanitizer = os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'
        self.process = subprocess.Popen([BUILD / 'app/skerry', '--home', self.home], stdout=log, stderr=log,
                                        env=dict(os.environ, G_DEBUG='fatal-criticals', ASAN_OPTIONS=sanitizer, **environment))
        self.window = ui.window('Skerry', self.process.pid, 30)
        ui.tool('xdotool', 'windowmove', self.window, x, 0)
        self.app = ui.application('org.skerry.Skerry', self.process.pid)
        self.app.find(*title, timeout=20)

    def close(self):
        self.process.terminate()
        code = self.process.wait(20)
        assert code == 0, f'skerry of {self.name} ended with {code}:\n{self.log.read_text()}'
        assert 'CRITICAL' not in self.log.read_text(), self.log.read_text()
        self.process = None

    def folder(self, name):
        return next((f for f in self.ctl('status')['folders'] if f['name'] == name), None)

    def picture(self, name):
        ui.picture(PICTURES / f'{name}.png', self.window)

    def choose(self, title, path):
        """In the dialog that chooses a folder: a path that begins with a slash opens its entry."""
        dialog = ui.window(title, self.process.pid)
        ui.tool('xdotool', 'windowfocus', '--sync', dialog, 'type', '--delay', 5, str(path))
        ui.keys(dialog, 'Return')

    def answer(self, button):
        """In a dialog, the newest window: press and see it go."""
        windows = self.app.fresh().accessible.get_child_count()
        self.app.find('button', button).press()
        ui.wait_for(lambda: self.app.fresh().accessible.get_child_count() < windows, what='the dialog to go')

    def row(self, name, state):
        """The row with this name, when it says so."""
        def ask():
            row = self.home_page.find('row', name)
            return row if next(row.fresh().all('label', state), None) else None
        return ui.wait_for(ask, 20, f'{name!r} to be {state!r}')

    @property
    def home_page(self):
        return self.app.find('filler', 'SkaHomePage', 30)


def tree(path):
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob('*')) if p.is_file() and '.skerry' not in p.parts}


def make_tree(path, n):
    for i in range(n):
        file = path / f'sub {i % 3}' / f'file {i}.txt'
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(f'{path.name} {i}\n'.encode() * (1 + 300 * i))


a, b, c = Device('a'), Device('b'), Device('c')
DISK = WORK / 'disk'


def create_vault():
    a.open(('button', 'Create a Vault'))
    a.picture('01-welcome')
    a.app.find('button', 'Create a Vault').press()
    a.app.find('entry', 'Name of the vault').type('Family')
    a.app.find('entry', 'Name of this device').type('desk')
    ui.click(a.app.find('check box', 'No passphrase'), a.window)
    a.picture('02-create')
    a.app.find('button', 'Create').press()
    a.app.find('label', lambda name: name.startswith('24. '), 20)
    shown = [n.name.split('. ')[1] for n in a.app.all('label') if n.name.split('. ')[0].isdigit()]
    assert ' '.join(shown) == a.ctl('vault', 'recovery')['phrase'], shown
    a.picture('03-words')
    a.app.find('button', 'I Wrote Them Down').press()
    a.app.find('button', 'Add Storage')
    status = a.ctl('status')
    assert status['vault']['name'] == 'Family' and status['device']['name'] == 'desk' and status['vault']['keys'] == 'plain', status
    assert status['running'] and status['pid'] == a.process.pid, status


def add_storage():
    DISK.mkdir()
    a.app.find('button', 'Add Storage').press()
    a.app.find('entry', 'Folder or address').type(str(DISK))
    a.app.find('entry', 'Name').type('disk')
    a.app.find('button', 'Add').press()
    a.row('disk', 'Ready')
    assert list(DISK.rglob('skerry.json')), 'the storage has its marker'
    assert [s['state'] for s in a.ctl('status')['storages']] == ['online']


def add_folder_by_button():
    make_tree(WORK / 'Photos', 12)
    a.app.find('button', 'Add a Folder').press()
    a.choose('Choose a Folder', WORK / 'Photos')
    a.row('Photos', 'Up to date')
    ui.wait_for(lambda: a.folder('Photos')['files'] == 12 and a.folder('Photos')['up-queue'] == 0, what='12 files in the vault')


def drag(path):
    source = subprocess.Popen(['/usr/bin/python3', SUPPORT / 'drag-source.py', path], stderr=subprocess.DEVNULL)
    try:
        window = ui.window('Drag Source', source.pid)
        ui.tool('xdotool', 'windowmove', '--sync', window, 680, 300)
        ui.drag((780, 360), (320, 500))
        yield
    finally:
        source.terminate()
        source.wait(10)


def drop_folder():
    make_tree(WORK / 'Recipes', 5)
    for _ in drag(WORK / 'Recipes'):
        a.row('Recipes', 'Up to date')
    assert a.folder('Recipes')['path'] == str(WORK / 'Recipes')


def drop_file_is_refused():
    (WORK / 'single.txt').write_text('alone')
    for _ in drag(WORK / 'single.txt'):
        a.app.find('label', lambda name: 'is not a folder' in name)
    a.answer('Close')
    assert len(a.ctl('status')['folders']) == 2


def invite_device():
    a.app.find('button', 'Invite a Device').press()
    code = a.app.find('label', lambda name: name.startswith('skerry:'), 20).name
    a.app.find('button', 'Copy Code')
    ui.picture(PICTURES / '05-invite.png')
    newcomer = b.ctl_start('vault', 'join', code, '--name', 'laptop', '--no-passphrase')
    a.app.find('button', 'They Are the Same', 30)
    shown = [n.name.split('. ')[1] for n in a.app.all('label') if n.name.split('. ')[0].isdigit()]
    ui.picture(PICTURES / '06-newcomer.png')
    a.app.find('button', 'They Are the Same').press()
    a.app.find('label', '“laptop” belongs to the vault now.', 30)
    said = newcomer.communicate(timeout=30)[0]
    assert newcomer.returncode == 0 and len(shown) == 6 and ' '.join(shown) in said, f'{shown}: {said}'
    a.answer('Close')
    a.row('laptop', 'Meets this device in the storage')


def both_ways():
    (WORK / 'Photos b').mkdir()
    b.ctl('folder', 'attach', 'Photos', str(WORK / 'Photos b'))
    b.ctl('sync')
    assert tree(WORK / 'Photos b') == tree(WORK / 'Photos')
    (WORK / 'Photos b' / 'from laptop.txt').write_text('hello')
    b.ctl('sync')
    a.app.find('button', 'Sync Now').press()
    ui.wait_for(lambda: (WORK / 'Photos' / 'from laptop.txt').exists(), what='the file of the other device')
    a.row('Photos', 'Up to date')
    assert tree(WORK / 'Photos b') == tree(WORK / 'Photos')
    a.picture('07-home')


def attach_folder():
    make_tree(WORK / 'Notes b', 4)
    (WORK / 'Notes').mkdir()
    b.ctl('folder', 'add', 'Notes', str(WORK / 'Notes b'))
    b.ctl('sync')
    a.app.find('button', 'Sync Now').press()
    a.row('Notes', 'Not on this device').find('button', 'Choose Place…').press()
    a.choose('Where Shall .*Notes.* Lie.', WORK / 'Notes')
    a.row('Notes', 'Up to date')
    ui.wait_for(lambda: tree(WORK / 'Notes') == tree(WORK / 'Notes b'), what='the notes')


def pause_and_go_on():
    a.app.find('button', 'Pause Syncing').press()
    a.app.find('button', 'Go On Syncing')
    assert a.ctl('status')['state'] == 'paused'
    a.row('Notes', 'Paused')
    a.app.find('button', 'Go On Syncing').press()
    a.app.find('button', 'Pause Syncing')
    a.row('Notes', 'Up to date')
    assert a.ctl('status')['state'] == 'up-to-date'


def issue_and_its_choice():
    DISK.rename(WORK / 'elsewhere')
    a.app.find('button', 'Sync Now').press()
    ui.wait_for(lambda: a.ctl('status')['issues'], what='an issue')
    row = a.app.find('row', 'Trouble with a storage')
    a.picture('08-issue')
    (WORK / 'elsewhere').rename(DISK)
    row.find('button', 'Try Again').press()
    a.app.gone('row', 'Trouble with a storage', 20)
    assert a.ctl('status')['n-issues'] == 0
    a.row('disk', 'Ready')


def join_by_window():
    """The other side of an invitation, under a passphrase; the newcomer is an issue of the first device."""
    code = a.ctl('invite')['code']
    c.open(('button', 'Join With a Code'), 660)
    c.app.find('button', 'Join With a Code').press()
    c.app.find('entry', 'Code').type(code)
    c.app.find('entry', 'Name of this device').type('tablet')
    ui.click(c.app.find('check box', 'Under a passphrase'), c.window)
    c.app.find('entry', 'Passphrase').type(PASSPHRASE)
    c.app.find('entry', 'The same again').type(PASSPHRASE)
    c.picture('09-join')
    c.app.find('button', 'Join').press()
    c.app.find('label', lambda name: name.startswith('6. '), 30)
    shown = ' '.join(n.name.split('. ')[1] for n in c.app.all('label') if n.name.split('. ')[0].isdigit())
    c.picture('10-six-words')
    row = a.app.find('row', 'A new device asks to join', 30)
    assert next(row.all('label', lambda name: shown in name), None), f'{shown} is not what the other device shows'
    row.find('button', 'Accept').press()
    c.row('Photos', 'Not on this device')
    assert c.ctl('status')['vault']['keys'] == 'passphrase'
    a.row('tablet', 'Meets this device in the storage')
    c.close()


def unlock():
    c.open(('button', 'Unlock'), 660)
    c.app.find('entry', 'Passphrase').type('wrong')
    c.app.find('button', 'Unlock').press()
    c.app.find('label', lambda name: 'wrong' in name.lower(), 20)
    c.app.find('entry', 'Passphrase').type(PASSPHRASE)
    c.app.find('button', 'Unlock').press()
    c.row('Photos', 'Not on this device')
    c.close()


def second_window_joins():
    """Another program on the same home shows the same and says who runs the engine."""
    run = b.ctl_start('run')
    try:
        ui.wait_for(lambda: (b.home / 'control').exists() and b.ctl('status')['running'], 20, 'the engine of the other home')
        b.open(('row', 'Photos'), 660)
        b.app.find('label', lambda name: 'Another program runs the engine' in name)
        b.close()
        assert run.poll() is None, 'the engine stays when the window goes'
    finally:
        run.terminate()
        run.wait(20)


def recovery_words_are_checked():
    """What was written down is typed; then the device forgets the words."""
    words = a.ctl('vault', 'recovery')['phrase']
    ui.keys(a.window, 'F10')
    a.app.find('menu item', 'Recovery Words…').press()
    entry = a.app.find('entry', '24 words')
    entry.type(words.rsplit(' ', 1)[0])
    a.app.find('button', 'Check').press()
    a.app.find('label', 'Please Look Again')
    a.answer('Close')
    entry.type(words)
    a.app.find('button', 'Check').press()
    a.app.find('label', 'They Are Right')
    assert a.ctl('vault', 'show')['phrase-kept'] is False
    ui.keys(ui.window('Recovery Words', a.process.pid), 'Escape')
    ui.wait_for(lambda: a.app.fresh().accessible.get_child_count() == 1, what='the window to go')


def cannot_start():
    broken = Device('broken')
    broken.home.write_text('not a directory')
    broken.open(('label', 'Skerry Cannot Start'), 660)
    broken.app.find('label', lambda name: str(broken.home) in name)
    broken.close()


def dark_and_narrow():
    ui.tool('xdotool', 'windowsize', a.window, 360, 720)
    ui.wait_for(lambda: a.app.fresh().find('frame', 'Skerry').extents().width <= 360, what='the window to be narrow')
    ui.wait_for(lambda: all(n.extents().x >= 0 and n.extents().x + n.extents().width <= 360 for n in a.home_page.fresh().all('button')), what='every button to be inside')
    a.picture('11-narrow')
    a.close()
    a.open(('row', 'Photos'), ADW_DEBUG_COLOR_SCHEME='prefer-dark')
    a.row('Photos', 'Up to date')
    a.picture('12-dark')
    a.close()


STEPS = [create_vault, add_storage, add_folder_by_button, drop_folder, drop_file_is_refused, invite_device, both_ways, attach_folder, pause_and_go_on,
         issue_and_its_choice, join_by_window, unlock, second_window_joins, recovery_words_are_checked, cannot_start,
         dark_and_narrow]


def main():
    good = True
    shutil.rmtree(PICTURES, ignore_errors=True)
    print(f'1..{len(STEPS)}', flush=True)
    for number, step in enumerate(STEPS, 1):
        name = f'/window/{step.__name__.replace("_", "-")}'
        try:
            step()
            print(f'ok {number} - {name}', flush=True)
        except Exception:
            ui.picture(PICTURES / 'failure.png')
            print(f'not ok {number} - {name}', flush=True)
            traceback.print_exc()
            for device in (a, b, c):
                if device.log.exists():
                    print(f'log of {device.name}:\n{device.log.read_text()}', file=sys.stderr)
            good = False
            # Each step builds on the one before.
            break
    for device in (a, b, c):
        if device.process is not None:
            device.process.kill()
            device.process.wait()
    return 0 if good else 1


sys.exit(main())
