#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""may_install.py BUILD [DESTDIR] - may what is in the build directory be installed?

Says in words where this user may not write, and what to do; exit status 1 then.
"""
import json
import os
import subprocess
import sys


def refused(path):
    """The folder that cannot be written to, if a file cannot be put at this path."""
    folder = os.path.dirname(path)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    return None if os.access(folder, os.W_OK | os.X_OK) and os.path.isdir(folder) else folder


def main():
    build, *destdir = sys.argv[1:]
    destdir = destdir[0].rstrip('/') if destdir else ''
    answer = subprocess.run([os.environ.get('MESON', 'meson'), 'introspect', '--installed', build],
                            stdout=subprocess.PIPE, check=True)
    paths = [destdir + path for path in json.loads(answer.stdout).values()]
    folders = sorted({folder for folder in map(refused, paths) if folder})
    if not folders:
        return 0
    print(f"make install: may not write to {', '.join(folders)}.\n"
          'Install as root (sudo make install) or elsewhere (make install PREFIX=$HOME/.local).',
          file=sys.stderr)
    return 1


sys.exit(main())
