# SPDX-License-Identifier: MIT
"""The root of a guest, as an archive for the kernel: what every guest has, and what one has.

Programs lie at the paths that they have here, so that the tests' commands need no change.
"""

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import cpio
import jobs
import modules

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent

# What the scripts of the tests call, if it is installed here; busybox has the rest.
TOOLS = """
	bash sh cat chmod cmp cp cut date diff dirname basename echo env expr false find getconf grep head
	id kill ln ls mkdir mkfifo mktemp mount mv nproc perl prlimit ps python3 realpath rm rmdir sed seq
	setarch setpriv sleep sort stat sync tac tail tee test timeout touch tr true truncate umount uname
	uniq unshare wc xargs awk
""".split()
DATA = ["/etc/services", "/usr/share/perl", "/usr/lib/x86_64-linux-gnu/perl-base"]
SEARCH = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Parts of Python that nothing here imports.
UNUSED = ("test", "tests", "idlelib", "tkinter", "lib2to3", "ensurepip", "turtledemo", "pydoc_data",
          "dist-packages", "site-packages", "distutils")
MODULES = ("overlay", "loop")
ACCOUNTS = {
    "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/tmp:/bin/sh\n",
    "/etc/group": "root:x:0:\nuser:x:1000:\n",
}


class Incomplete(Exception):
    """Something that every root needs is not here."""


def which(name):
    for directory in SEARCH.split(":"):
        path = os.path.join(directory, name)
        if os.access(path, os.X_OK):
            return path
    return None


def libraries(path):
    """The shared libraries of a program or library, its loader included."""
    listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
    if " => not found" in listed:
        raise Incomplete(f"{path}: {listed.strip()}")
    return re.findall(r"(?:=>|^)\s*(/\S+) \(0x", listed, re.MULTILINE)


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def without_symbols(path):
    """A program that was built, without what is for debuggers: ten times as small."""
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run(["strip", "-g", "-o", file.name, path], check=True)
        return file.read()


def add_program(archive, path, data=None):
    real = archive.add_host_path(path, data)
    if is_elf(real):
        for library in libraries(real):
            archive.add_host_path(library)


def add_tree(archive, directory, left_out=()):
    archive.add_host_path(directory)
    for path, directories, files in os.walk(directory):
        directories[:] = sorted(name for name in directories if name not in left_out)
        for name in sorted(files):
            full = os.path.join(path, name)
            if name.endswith(".so"):
                add_program(archive, full)
            elif not name.endswith(".a") and os.path.exists(full):
                archive.add_host_path(full)


def add_python(archive):
    stdlib = subprocess.run(
        ["/usr/bin/python3", "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"],
        capture_output=True, text=True, check=True).stdout.strip()
    left_out = UNUSED + tuple(name for name in os.listdir(stdlib) if name.startswith("config-"))
    add_tree(archive, stdlib, left_out)


def write_common(path, build):
    """What every guest has."""
    with cpio.Archive(path) as archive:
        archive.add_console()
        for directory, mode in (("/tmp", 0o1777), ("/root", 0o700), ("/proc", 0o555),
                                ("/sys", 0o555)):
            archive.add_directory(directory, mode)
        archive.add_data("/init", (HERE / "init").read_bytes(), 0o755)
        archive.add_data("/guest/guest.py", (HERE / "guest.py").read_bytes())
        for name, text in ACCOUNTS.items():
            archive.add_text(name, text)
        busybox = which("busybox")
        if not busybox or libraries(busybox):
            raise Incomplete("there is no static busybox here (package busybox-static)")
        with open(busybox, "rb") as file:
            archive.add_data("/bin/busybox" if not os.path.islink("/bin") else "/usr/bin/busybox",
                             file.read(), 0o755)
        archive.add_host_path("/bin")
        for tool in filter(None, map(which, TOOLS)):
            add_program(archive, tool)
        add_python(archive)
        for name in filter(os.path.exists, DATA):
            if os.path.isdir(name):
                add_tree(archive, name)
            else:
                archive.add_host_path(name)
        for program in jobs.programs(build):
            add_program(archive, program, without_symbols(program))
        for directory in ("tests/vmspace", "tests/vmscope", "tests/programs"):
            add_tree(archive, SOURCE / directory, ("__pycache__",))


def write_guest(path, common, kernel, variant, planned):
    """The common archive, followed by the kernel's modules, and what this guest is to do."""
    with tempfile.NamedTemporaryFile(dir=path.parent) as own:
        with cpio.Archive(own.name) as archive:
            for number, (name, data) in enumerate(modules.with_dependencies(kernel.modules, MODULES)):
                archive.add_data(f"/modules/{number:02}-{name}.ko", data)
            archive.add_text("/guest/guest.json", json.dumps({
                "sysctls": variant.sysctls, "user": variant.user,
                "jobs": [{"argv": job.argv, "directory": job.directory, "limit": job.limit}
                         for job in planned]}))
        with open(path, "wb") as file:
            file.write(common.read_bytes())
            file.write(Path(own.name).read_bytes())
