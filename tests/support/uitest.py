# SPDX-License-Identifier: GPL-3.0-or-later
"""Drives a GTK 4 program by what a screen reader sees (AT-SPI), by mouse and by keys (xdotool). Runs inside ui-env.sh.

GTK 4.8 says SHOWING only of windows and gives extents relative to the window; what was never laid out has none, and what is hidden has no VISIBLE."""
import os
import subprocess
import time

import gi
gi.require_version('Atspi', '2.0')
from gi.repository import Atspi, GLib  # noqa: E402

ROLES = {'button': 'push button', 'entry': 'text', 'row': 'list item', 'radio': 'radio button'}


def wait_for(ask, timeout=10, what='condition'):
    """The first true answer; the thing asked may go away between two calls."""
    end = time.monotonic() + timeout
    while True:
        try:
            answer = ask()
            if answer:
                return answer
        except GLib.Error:
            pass
        if time.monotonic() > end:
            raise AssertionError(f'waited {timeout} s for {what}')
        time.sleep(0.05)


def tool(*arguments):
    return subprocess.run([str(a) for a in arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


class Node:
    def __init__(self, accessible):
        self.accessible = accessible

    @property
    def name(self):
        """GTK 4.8 names a button with a mnemonic twice: "_Add Add"."""
        name = self.accessible.get_name() or ''
        half = len(name) // 2
        return name[half + 1:] if name[:half].replace('_', '') == name[half + 1:] else name

    @property
    def role(self):
        return self.accessible.get_role_name()

    def extents(self):
        component = self.accessible.get_component_iface()
        return component.get_extents(Atspi.CoordType.WINDOW) if component else None

    def laid_out(self):
        if not self.accessible.get_state_set().contains(Atspi.StateType.VISIBLE):
            return False
        extents = self.extents()
        return extents is not None and extents.width > 0 and extents.height > 0

    def sensitive(self):
        return self.accessible.get_state_set().contains(Atspi.StateType.SENSITIVE)

    def walk(self):
        """What can be seen, from the top; of several windows the newest first. Pages of a stack have no extents of their own, their contents have."""
        children = range(self.accessible.get_child_count())
        for i in reversed(children) if self.role == 'application' else children:
            child = self.accessible.get_child_at_index(i)
            if child is None:
                continue
            node = Node(child)
            if node.laid_out():
                yield node
            elif node.name != 'GtkStackPage':
                continue
            yield from node.walk()

    def all(self, role=None, name=None):
        role = ROLES.get(role, role)
        for node in self.walk():
            if (role is None or node.role == role) and (name is None or (name(node.name) if callable(name) else node.name == name)):
                yield node

    def fresh(self):
        # libatspi keeps children that are no longer there.
        self.accessible.clear_cache()
        return self

    def find(self, role=None, name=None, timeout=10):
        """First in what libatspi remembers (what is gone has no extents), then anew."""
        try:
            node = next(self.all(role, name), None)
            if node is not None:
                return node
        except GLib.Error:
            pass
        return wait_for(lambda: next(self.fresh().all(role, name), None), timeout, f'{role} {name!r}')

    def gone(self, role=None, name=None, timeout=10):
        wait_for(lambda: next(self.fresh().all(role, name), None) is None, timeout, f'{role} {name!r} to go')

    def press(self):
        wait_for(self.sensitive, what=f'{self.name!r} to be sensitive')
        assert self.accessible.do_action(0), f'{self.role} {self.name!r} has no action'

    def type(self, text):
        assert Atspi.EditableText.set_text_contents(self.accessible.get_editable_text_iface(), text)

    def text(self):
        return Atspi.Text.get_text(self.accessible.get_text_iface(), 0, -1)


def application(name, pid, timeout=15):
    """Asked only after a window is there: an earlier question leaves an empty tree behind."""
    def ask():
        desktop = Atspi.get_desktop(0)
        desktop.clear_cache()
        for i in range(desktop.get_child_count()):
            child = desktop.get_child_at_index(i)
            if child is not None and child.get_name() == name and child.get_process_id() == pid:
                return Node(child)
        return None
    return wait_for(ask, timeout, f'the application {name!r}')


def window(title, pid, timeout=15):
    """The X window of this program with this title (a regular expression; in ASCII, the rest is not matched)."""
    search = ('xdotool', 'search', '--onlyvisible', '--all', '--pid', pid, '--name', f'^{title}$')
    return wait_for(lambda: tool(*search).split(), timeout, f'window {title!r}')[-1]


def origin(window_id):
    """Position of a window without a window manager, where there is no frame."""
    shell = dict(line.split('=') for line in tool('xdotool', 'getwindowgeometry', '--shell', window_id).split())
    return int(shell['X']), int(shell['Y'])


def centre(node, window_id):
    extents = node.extents()
    x, y = origin(window_id)
    return x + extents.x + extents.width // 2, y + extents.y + extents.height // 2


def click(node, window_id):
    """For what has no action: check buttons and rows in GTK 4.8."""
    tool('xdotool', 'mousemove', *centre(node, window_id), 'click', 1)


def keys(window_id, *names):
    tool('xdotool', 'windowfocus', '--sync', window_id, 'key', '--clearmodifiers', *names)


def drag(start, end, steps=12):
    """Mouse down, some moves as a hand makes them, up."""
    chain = ['xdotool', 'mousemove', *start, 'mousedown', 1]
    for i in range(1, steps + 1):
        chain += ['sleep', 0.03, 'mousemove', start[0] + (end[0] - start[0]) * i // steps, start[1] + (end[1] - start[1]) * i // steps]
    tool(*chain, 'sleep', 0.2, 'mouseup', 1)


def picture(path, window_id='root'):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    subprocess.run(['/usr/bin/import', '-silent', '-window', window_id, path], check=True)
