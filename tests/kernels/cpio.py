# SPDX-License-Identifier: MIT
"""Archives in the format that the kernel unpacks into its first root (cpio, "newc").

Written here and not by cpio(1), so that device nodes and owners need no root.
"""

import os
import stat


class Archive:
    """A tree of files, written one after the other."""

    def __init__(self, path):
        self.file = open(path, "wb")
        self.number = 0
        self.names = set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.write("TRAILER!!!", 0, b"")
        self.file.close()

    def write(self, name, mode, data, device=(0, 0)):
        self.number += 1
        encoded = name.encode() + b"\0"
        fields = (self.number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(encoded), 0)
        self.file.write(b"070701" + b"".join(b"%08x" % field for field in fields) + encoded)
        self.pad()
        self.file.write(data)
        self.pad()

    def pad(self):
        self.file.write(bytes(-self.file.tell() % 4))

    def is_new(self, path):
        if path in self.names:
            return False
        self.names.add(path)
        return True

    def add_directory(self, path, mode=0o755):
        path = os.path.normpath(path)
        if path != "/" and self.is_new(path):
            self.add_directory(os.path.dirname(path))
            self.write(path[1:], stat.S_IFDIR | mode, b"")

    def add_text(self, path, text, mode=0o644):
        self.add_data(path, text.encode(), mode)

    def add_data(self, path, data, mode=0o644):
        if self.is_new(path):
            self.add_directory(os.path.dirname(path))
            self.write(path[1:], stat.S_IFREG | mode, data)

    def add_link(self, path, target):
        if self.is_new(path):
            self.add_directory(os.path.dirname(path))
            self.write(path[1:], stat.S_IFLNK | 0o777, target.encode())

    def add_console(self):
        self.add_directory("/dev")
        self.write("dev/console", stat.S_IFCHR | 0o600, b"", device=(5, 1))

    def add_path(self, path, below="", data=None):
        """A file of this machine at its own path, and each symbolic link on the way to it.

        With "below" it is that of a root that lies there; "data" takes the place of what is in it.
        Returns the path without symbolic links.
        """
        done = "/"
        left = os.path.abspath(path).strip("/").split("/")
        while left:
            done = os.path.join(done, left.pop(0))
            if os.path.islink(below + done):
                target = os.readlink(below + done)
                self.add_link(done, target)
                real = os.path.normpath(os.path.join(os.path.dirname(done), target))
                left = real.strip("/").split("/") + left
                done = "/"
        if os.path.isdir(below + done):
            self.add_directory(done)
        elif done not in self.names:
            if data is None:
                with open(below + done, "rb") as file:
                    data = file.read()
            self.add_data(done, data, stat.S_IMODE(os.stat(below + done).st_mode))
        return done
