# SPDX-License-Identifier: GPL-3.0-or-later
"""A window from which a file or folder can be dragged, as from a file manager: drag-source.py PATH. It offers names (text/uri-list)."""
import pathlib
import sys

import gi
gi.require_version('Gdk', '4.0')
gi.require_version('Gtk', '4.0')
from gi.repository import Gdk, Gio, GLib, Gtk  # noqa: E402


def activate(application):
    window = Gtk.ApplicationWindow(application=application, title='Drag Source', default_width=200, default_height=120)
    label = Gtk.Label(label='Drag me', hexpand=True, vexpand=True)
    source = Gtk.DragSource(actions=Gdk.DragAction.COPY)
    uris = f'{pathlib.Path(sys.argv[1]).as_uri()}\r\n'
    source.set_content(Gdk.ContentProvider.new_for_bytes('text/uri-list', GLib.Bytes.new(uris.encode())))
    label.add_controller(source)
    window.set_child(label)
    window.present()


program = Gtk.Application(flags=Gio.ApplicationFlags.NON_UNIQUE)
program.connect('activate', activate)
program.run()
