# SPDX-License-Identifier: MIT
"""The root of a guest, as an archive for the kernel: what every guest has, and what one has.

Programs lie at the paths that they have here, so that the tests' commands need no change.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import cpio
import elf
import jobs
import modules
from variants import SYSCTLS

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent

# Files that a test compares.
COMPARED = ("docs/kernels.md", "src/vmspace/rules_table.h")
# What the scripts of the tests call, if it is installed; busybox has the rest.
TOOLS = """
    bash sh cat chmod cmp cp cut date diff dirname basename echo env expr false find getconf grep
    head id kill ln ls mkdir mkfifo mkfs.ext4 mktemp mount mv nproc perl prlimit ps python3 realpath
    rm rmdir sed seq setarch setpriv sleep sort stat sync tac tail tee test timeout touch tr true
    truncate umount uname uniq unshare wc xargs awk mawk
""".split()
SEARCH = ("/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
# Parts of Python that nothing here imports.
UNUSED = ("test", "tests", "idlelib", "tkinter", "lib2to3", "ensurepip", "turtledemo", "pydoc_data",
          "dist-packages", "site-packages", "distutils")
MODULES = ("overlay", "loop")
ACCOUNTS = {
    "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/tmp:/bin/sh\n"
                   "nobody:x:65534:65534:nobody:/tmp:/bin/sh\npostgres:x:100:100:postgres:/tmp:/bin/sh\n",
    "/etc/group": "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\npostgres:x:100:\n",
}


class Incomplete(Exception):
    """Something that every root needs is not here."""


class Root:
    """An archive that is filled from this machine, or from another root below a directory."""

    def __init__(self, archive, triplet, below=""):
        self.archive = archive
        self.below = below
        self.libraries = [f"{directory}/{place}" for place in (triplet, "")
                          for directory in ("/usr/local/lib", "/lib", "/usr/lib")] + ["/lib64"]

    def here(self, path):
        return self.below + str(path)

    def which(self, name):
        paths = [os.path.join(directory, name) for directory in SEARCH]
        return next((path for path in paths if os.access(self.here(path), os.X_OK)), None)

    def library(self, name):
        paths = [os.path.join(directory, name) for directory in self.libraries]
        for path in paths:
            if os.path.exists(self.here(path)):
                return path
        raise Incomplete(f"there is no library {name} in {' '.join(self.libraries)}")

    def add_program(self, path):
        """A program or library, with what it is loaded with."""
        known = len(self.archive.names)
        real = self.archive.add_path(path, self.below)
        if len(self.archive.names) > known and elf.is_elf(self.here(real)):
            self.add_needs(self.here(real))

    def add_needs(self, file):
        loader, names = elf.needs(file)
        for needed in ([loader] if loader else []) + [self.library(name) for name in names]:
            self.add_program(needed)

    def add_tree(self, directory, left_out=()):
        if not os.path.isdir(self.here(directory)):
            return
        self.archive.add_path(directory, self.below)
        for path, directories, files in os.walk(self.here(directory)):
            directories[:] = sorted(name for name in directories if name not in left_out)
            inside = path.removeprefix(self.below)
            for name in sorted(files):
                if name.endswith(".so"):
                    self.add_program(os.path.join(inside, name))
                elif not name.endswith(".a") and os.path.exists(os.path.join(path, name)):
                    self.archive.add_path(os.path.join(inside, name), self.below)

    def add_named(self, name):
        """A program by its name, or what lies at a path: a program, or a directory with all below."""
        path = name if "/" in name else self.which(name)
        if not path or not os.path.exists(self.here(path)):
            raise Incomplete(f"there is no {name} here")
        if os.path.isdir(self.here(path)):
            self.add_tree(path)
        else:
            self.add_program(path)

    def add_system(self, triplet):
        busybox = self.which("busybox")
        if not busybox or elf.needs(self.here(busybox))[0]:
            raise Incomplete("there is no static busybox here (package busybox-static)")
        self.archive.add_path("/bin", self.below)
        with open(self.here(busybox), "rb") as file:
            self.archive.add_path("/bin/busybox", self.below, data=file.read())
        for tool in filter(None, map(self.which, TOOLS)):
            self.add_program(tool)
        python = os.path.basename(os.path.realpath(self.here("/usr/bin/python3")))  # python3.11
        stdlib = f"/usr/lib/{python}"
        self.add_tree(stdlib, UNUSED + tuple(
            name for name in os.listdir(self.here(stdlib)) if name.startswith("config-")))
        self.add_tree(f"/usr/lib/{triplet}/perl-base")
        self.add_program(self.library("libgcc_s.so.1"))  # pthread_cancel() opens it


def without_symbols(path, triplet):
    """A program that was built, without what is for debuggers: ten times as small."""
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run([f"{triplet}-strip", "-g", "-o", file.name, path], check=True)
        return file.read()


def write_common(path, arch, below, programs, more):
    """What every guest has: the system below a directory (or this one), programs of the build, and more."""
    with cpio.Archive(path) as archive:
        archive.add_console()
        for directory, mode in (("/tmp", 0o1777), ("/root", 0o700), ("/proc", 0o555),
                                ("/sys", 0o555)):
            archive.add_directory(directory, mode)
        archive.add_data("/init", (HERE / "init").read_bytes(), 0o755)
        archive.add_data("/guest/guest.py", (HERE / "guest.py").read_bytes())
        for name, text in ACCOUNTS.items():
            archive.add_text(name, text)
        system = Root(archive, arch.triplet, below)
        system.add_system(arch.triplet)
        for name in more:
            system.add_named(name)
        for program in programs:
            archive.add_path(program, data=without_symbols(program, arch.triplet))
            system.add_needs(program)
        checkout = Root(archive, arch.triplet)
        for directory in ("tests/vmspace", "tests/vmscope", "tests/programs"):
            checkout.add_tree(SOURCE / directory, ("__pycache__",))
        for name in COMPARED:
            archive.add_path(str(SOURCE / name))


def write_guest(path, common, arch, kernel, variant, planned):
    """The common archive, followed by the kernel's modules, and what this guest is to do."""
    with tempfile.NamedTemporaryFile(dir=path.parent) as own:
        with cpio.Archive(own.name) as archive:
            loaded = modules.with_dependencies(kernel.modules, MODULES)
            for number, (name, data) in enumerate(loaded):
                archive.add_data(f"/modules/{number:02}-{name}.ko", data)
            archive.add_text("/guest/guest.json", json.dumps({
                "port": f"/dev/{arch.port_name}", "sysctls": SYSCTLS | variant.sysctls,
                "user": variant.user, "scratch": variant.scratch,
                "slowdown": jobs.LIMIT_FACTOR, "alive_every": variant.alive_every,
                "jobs": [{"argv": job.argv, "directory": job.directory, "limit": job.limit}
                         for job in planned]}))
        with open(path, "wb") as file:
            file.write(common.read_bytes())
            file.write(Path(own.name).read_bytes())
