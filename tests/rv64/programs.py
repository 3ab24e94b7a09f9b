#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""examples/rv64 runs Debian's programs for riscv64: busybox (static), Lua, sqlite3, Python (dynamic), and
gcc, with which it makes static programs of Debian's Lua and SQLite, as libraries, that it runs as well.

Usage: programs.py RV64 WORK_DIRECTORY

What they print is compared with what they print under qemu-riscv64 and, where this machine has the
same program of its own, natively; and the areas of memory that they have in the end. The packages are
fetched with apt into WORK_DIRECTORY and unpacked there; nothing is installed.
"""
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "kernels"))
import debian
import processes
from assembler import DATA, Program, S0, ZERO, addi, b

PACKAGES = ["busybox-static", "lua5.4", "sqlite3", "python3-minimal", "libc-bin",
            "gcc", "libc6-dev", "liblua5.4-dev", "libsqlite3-dev"]
SUITES = ["trixie", "forky", "sid"]  # the first that can be had
FORKS = 1000


class Missing(Exception):
    """It cannot be tried here; the text says why."""


def sysroot(work):
    """Debian's programs for riscv64, unpacked."""
    target = work / "root"
    made_of = target / "packages"
    if made_of.exists() and made_of.read_text().split() == PACKAGES:
        return target
    why = ""
    for suite in SUITES:
        archive = debian.Archive(work, "riscv64", suites=[suite])
        archive.update()
        done = archive.apt("apt-get", "install", "--download-only", "-y", "--no-install-recommends",
                           *PACKAGES)
        if done.returncode == 0:
            break
        why = why or archive.warning or done.stdout.strip().splitlines()[-1]
    else:
        raise Missing(f"Debian's packages for riscv64 cannot be had: {why}")
    unfinished = work / "root.new"
    shutil.rmtree(unfinished, ignore_errors=True)
    for name in ("bin", "sbin", "lib"):
        (unfinished / "usr" / name).mkdir(parents=True)
        (unfinished / name).symlink_to(f"usr/{name}")
    for deb in sorted((archive.state / "archives").glob("*.deb")):
        debian.unpack(deb, unfinished)
    (unfinished / "packages").write_text("\n".join(PACKAGES))
    shutil.rmtree(target, ignore_errors=True)
    unfinished.rename(target)
    return target


class Machines:
    """The ways of running a program."""

    def __init__(self, emulator, root, work):
        self.root = root
        self.work = work
        self.emulator = [emulator, "-L", str(root)]
        self.qemu = shutil.which("qemu-riscv64") or shutil.which("qemu-riscv64-static")
        self.passed = self.failed = 0
        self.absent = set()

    def run(self, command, script=None):
        """Its output, errors included, and exit status, in an empty directory."""
        place = self.work / "place"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        done = subprocess.run(command, cwd=place, input=script, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=300, check=False,
                              env={"PATH": "/bin:/usr/bin", "LC_ALL": "C", "HOME": str(place)})
        return done.stdout, done.returncode

    def says(self, name, right, *details):
        right = bool(right)
        self.passed += right
        self.failed += not right
        print(f"{'ok' if right else 'FAILED'}: {name}", *(() if right else details), sep="\n  ", flush=True)

    def compare(self, name, program, *arguments, native=True, script=None):
        """
        The same output and status under the emulator, qemu and of this machine's own program, which is
        Debian's or a path. `script`, its standard input, is text or the name of a file here. Returns the
        output.
        """
        script = script and (script.encode() if "\n" in script else (HERE / script).read_bytes())
        path = program if "/" in program else f"{self.root}/usr/bin/{program}"
        seen = self.run([*self.emulator, path, *arguments], script)
        others = {}
        if self.qemu:
            others["qemu"] = self.run([self.qemu, "-L", str(self.root), path, *arguments], script)
        else:
            self.absent.add("qemu-riscv64 (package qemu-user)")
        own = shutil.which(program)
        if native and own and program == "python3":  # without what it starts with here
            own = "/usr/bin/python3"
        if native and own:
            others["native"] = self.run([own, *arguments], script)
        elif native:
            self.absent.add(f"a {program} of this machine's own")
        wrong = [f"{other}: {answer}" for other, answer in others.items() if answer != seen]
        self.says(f"{name} ({', '.join(['rv64', *others])})", not wrong and seen[1] == 0,
                  f"rv64: {seen}", *wrong)
        return seen[0]


def journal_script():
    """What journal.sql does with one database, with each journal mode, mapped and not."""
    one = (HERE / "journal.sql").read_text()
    return "".join(one.replace("@MODE@", mode).replace("@SIZE@", size) for size in ("0", "1048576")
                   for mode in ("delete", "truncate", "persist", "wal"))


def compile_static(machines, name, libraries):
    """
    Debian's compiler makes a static program of tests/rv64/NAME.c: its path. (Without relaxation, which
    takes the linker minutes there.)
    """
    target = machines.work / name
    target.unlink(missing_ok=True)
    seen = machines.run([*machines.emulator, f"{machines.root}/usr/bin/gcc", "-O1", "-static", "-Wl,--no-relax",
                         "-I/usr/include/lua5.4", "-o", str(target), str(HERE / f"{name}.c"), *libraries])
    machines.says(f"gcc makes {name}, static (rv64)", seen[1] == 0 and target.exists(), seen)
    return str(target)


def compare_compiler(machines):
    """The compiler itself; the driver starts it by execve(), which qemu makes of this machine."""
    [compiler] = machines.root.glob("usr/libexec/gcc/riscv64-linux-gnu/*/cc1")
    machines.compare("gcc: assembler text", str(compiler), "-quiet", "-O2", "-march=rv64gc",
                     "-mabi=lp64d", "-imultiarch", "riscv64-linux-gnu", str(HERE / "sqlite_script.c"),
                     "-o", "/dev/stdout", native=False)


def areas(text):
    """What there is in memory wherever it is: the files' areas; pages behind the program; other memory."""
    files, heap, anonymous = Counter(), 0, 0
    program = behind = None
    for line in text.splitlines():
        span, access, offset, _, inode, *name = line.split(None, 5)
        start, end = (int(part, 16) for part in span.split("-"))
        pages = (end - start) // 4096
        if inode != "0":
            files[pages, access, offset, name[0].strip()] += 1
            program = program or name[0]
            behind = end if name[0] == program else behind
        elif name and name[0].strip() in ("[stack]", "[vdso]"):
            continue
        elif start == behind:  # what begins as zeros, and the heap
            heap, behind = heap + pages, end
        elif access.startswith("rw"):
            anonymous += pages
    return files, heap, anonymous


def compare_maps(machines, name, *command, script=None):
    """The areas of a program that prints its maps in the end."""
    if not machines.qemu:
        return
    script = script and (HERE / script).read_bytes()
    own, _ = machines.run([*machines.emulator, *command], script)
    theirs, _ = machines.run([machines.qemu, "-L", str(machines.root), *command], script)
    mine, other = areas(own.decode()), areas(theirs.decode())
    machines.says(f"{name}'s areas in the end: {sum(mine[0].values())} of files, {mine[1]} pages of heap, "
                  f"{mine[2]} others, as under qemu", mine == other and mine[0], mine, other)


def forking_program(path):
    """Forks FORKS children that end at once, and waits for each."""
    program = Program()
    program.li(S0, FORKS)
    again = program.here

    def parent(program):
        program.call("wait4", None, DATA, 0, 0)
        program.emit(addi(S0, S0, -1), b(1, S0, ZERO, again - program.here - 4))
        program.call("exit", 0)

    processes.fork(program, lambda child: child.call("exit", 0), parent)
    path.write_bytes(program.elf())
    path.chmod(0o755)


def count_forks(machines):
    loop = f"i=0; while [ $i -lt {FORKS} ]; do i=$((i+1)); ( : ); done; echo $i"
    small = machines.work / "forks"
    forking_program(small)
    for name, command, wanted in (
            ("a small program", [str(small)], b""),
            ("a shell", [f"{machines.root}/usr/bin/busybox", "sh", "-c", loop], b"%d\n" % FORKS)):
        rates = []
        for machine in ([*machines.emulator], [machines.qemu] if machines.qemu else None):
            began = time.monotonic()
            seen = machines.run([*machine, *command]) if machine else (wanted, 0)
            rates.append(FORKS / (time.monotonic() - began))
            if seen != (wanted, 0):
                break
        beside = f", {rates[1]:.0f} under qemu" if machines.qemu and len(rates) > 1 else ""
        machines.says(f"{FORKS} forks of {name}: {rates[0]:.0f} a second{beside}", seen == (wanted, 0), seen)


def main():
    emulator, work = os.path.abspath(sys.argv[1]), Path(sys.argv[2]).resolve()
    work.mkdir(parents=True, exist_ok=True)
    try:
        root = sysroot(work)
    except Missing as why:
        print(f"SKIP: {why}\n0 passed, 0 failed")
        return 1
    machines = Machines(emulator, root, work)
    numbers, maps = str(HERE / "numbers.lua"), str(HERE / "maps.lua")
    machines.compare("busybox echo", "busybox", "echo", "hello", "world")
    machines.compare("a script of the shell: pipes, jobs, signals, files", "busybox", "sh",
                     str(HERE / "shell.sh"))
    lua = machines.compare("Lua: numbers, strings, tables, coroutines", "lua5.4", numbers)
    queries = machines.compare("sqlite3: queries", "sqlite3", script="queries.sql")
    journals = machines.compare("sqlite3: every journal mode, with and without mmap_size", "sqlite3",
                                script=journal_script())
    machines.compare("Python: threads, forks beside them, futexes", "python3", "-S", "-W", "ignore",
                     str(HERE / "threads.py"))
    compare_maps(machines, "Lua", f"{root}/usr/bin/lua5.4", maps)
    compare_maps(machines, "sqlite3", f"{root}/usr/bin/sqlite3", script="maps.sql")
    compare_compiler(machines)
    static = compile_static(machines, "lua_script", ["-llua5.4", "-lm"])
    machines.says("... and prints what lua5.4 does", lua == machines.compare(
        "Lua, static", static, numbers, native=False))
    compare_maps(machines, "Lua, static", static, maps)
    static = compile_static(machines, "sqlite_script", ["-lsqlite3", "-lm"])
    machines.says("... and prints what sqlite3 does", queries == machines.compare(
        "SQLite, static: queries", static, native=False, script="queries.sql") and
        journals == machines.compare("SQLite, static: journal modes", static, native=False,
                                     script=journal_script()))
    compare_maps(machines, "SQLite, static", static, "maps")
    count_forks(machines)
    for what in sorted(machines.absent):
        print(f"# not compared with: {what}, which is not here")
    print(f"{machines.passed} passed, {machines.failed} failed")
    return 1 if machines.failed else 0


if __name__ == "__main__":
    sys.exit(main())
