#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""examples/rv64: the areas of a guest are those that Linux gives to a process that makes the same calls.

Usage: areas.py RV64 [SEED [CALLS]]

Random calls in a stretch of addresses, made by a program for riscv64 and, with the same arguments, by a
process of this machine; with forks, in whose children the calls go on. What each call returns is the
same, and so is each line of /proc/self/maps in the stretch, in the children and in the end; and each of
the file that the emulator leaves (-m).
"""
import ctypes
import os
import random
import re
import resource
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import processes
from assembler import A0, A1, A2, DATA, ECALL, Program, S0, ZERO, addi, b, sd

PAGE = 4096
ARENA, PAGES = 0x1000000000, 48
FILE_PAGES = 24
BUFFER = DATA + 0x8000
PRIVATE, SHARED, FIXED, ANONYMOUS, NORESERVE = 2, 1, 0x10, 0x20, 0x4000
MAYMOVE, MOVE_FIXED = 1, 2
ADVICE = [4, 10, 11, 18, 19, 22, 23]  # DONTNEED (DONT|DO)FORK (WIPE|KEEP)ONFORK POPULATE_(READ|WRITE)
# Where little may be locked, natively it depends on what else is.
LOCKS = ["mlock", "munlock"]
if 0 <= resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] < 1 << 20:
    LOCKS = ["munlock"]
# name: the number on riscv64, and here
CALLS = {"mmap": (222, 9), "munmap": (215, 11), "mprotect": (226, 10), "mremap": (216, 25),
         "madvise": (233, 28), "mlock": (228, 149), "munlock": (229, 150), "msync": (227, 26)}


class Child:
    """A fork: the child makes `calls`, shows its areas and ends."""

    def __init__(self, calls):
        self.calls = calls


def random_range(rng, most=10):
    start = rng.randrange(PAGES)
    return ARENA + start * PAGE, min(rng.randint(1, most), PAGES - start) * PAGE


def random_mmap(rng, addr, length):
    prot = rng.choice([0, 1, 3, 3, 3, 5, 7])
    flags = FIXED | (NORESERVE if rng.random() < 0.1 else 0)
    kind = rng.random()
    if kind < 0.6:
        return "mmap", (addr, length, prot, flags | PRIVATE | ANONYMOUS, -1, 0)
    if kind < 0.7:
        return "mmap", (addr, length, prot, flags | SHARED | ANONYMOUS, -1, 0)
    return "mmap", (addr, length, prot, flags | rng.choice([PRIVATE, SHARED]), "file",
                    rng.randrange(FILE_PAGES) * PAGE)


def random_call(rng):
    addr, length = random_range(rng)
    kind = rng.random()
    if kind < 0.35:
        return random_mmap(rng, addr, length)
    if kind < 0.45:
        return "munmap", (addr, length)
    if kind < 0.6:
        return "mprotect", (addr, length, rng.choice([0, 1, 3, 3, 5, 7]))
    if kind < 0.7:
        to, size = random_range(rng)
        if rng.random() < 0.3:
            return "mremap", (addr, length, size, 0, 0)
        return "mremap", (addr, length, size, MAYMOVE | MOVE_FIXED, to)
    if kind < 0.93:
        return "madvise", (addr, length, rng.choice(ADVICE + [23] * 6))
    if kind < 0.97:
        return rng.choice(LOCKS), (addr, length)
    return "msync", (addr, length, 4)


def random_calls(seed, count):
    rng = random.Random(seed)
    calls = []
    while len(calls) < count:
        if rng.random() < 0.02:
            calls.append(Child([random_call(rng) for _ in range(20)]))
        calls.append(random_call(rng))
    return calls


# ---- in the guest ----

def set_string(program, where, text):
    data = text.encode() + b"\0"
    for at in range(0, len(data), 8):
        program.li(A1, where + at)
        program.li(A2, int.from_bytes(data[at:at + 8].ljust(8, b"\0"), "little"))
        program.emit(sd(A2, A1))


def open_in_guest(program, path, flags):
    set_string(program, BUFFER, path)
    program.call("openat", -100, BUFFER, flags, 0)
    program.emit(addi(S0, A0, 0))


def show_in_guest(program, count):
    """Writes the results, and the maps with an empty line behind them."""
    program.call("write", 1, DATA, 8 * count)
    open_in_guest(program, "/proc/self/maps", 0)
    again = program.here
    program.emit(addi(A0, S0, 0))
    program.call("read", None, BUFFER, PAGE)
    at = len(program.code)
    program.emit(addi(ZERO, ZERO, 0))
    program.emit(addi(A2, A0, 0))
    program.call("write", 1, BUFFER, None)
    program.emit(b(0, ZERO, ZERO, again - program.here))
    program.code[at:at + 4] = b(0, A0, ZERO, len(program.code) - at).to_bytes(4, "little")
    program.emit(addi(A0, S0, 0), addi(17, ZERO, 57), ECALL)  # close
    set_string(program, BUFFER, "\n")
    program.call("write", 1, BUFFER, 1)


def calls_in_guest(program, calls, file):
    results = 0
    for call in calls:
        if isinstance(call, Child):
            def child(program, call=call):
                calls_in_guest(program, call.calls, file)
                program.call("exit", 0)

            processes.fork(program, child, lambda program: program.call("wait4", None, 0, 0, 0))
            continue
        name, arguments = call
        for register, value in enumerate(arguments):
            program.li(A0 + register, file if value == "file" else value)
        program.emit(addi(17, ZERO, CALLS[name][0]), ECALL)
        program.li(A1, DATA + 8 * results)
        program.emit(sd(A0, A1))
        results += 1
    show_in_guest(program, results)


def guest(emulator, calls, path, directory):
    program = Program()
    open_in_guest(program, path, os.O_RDWR)
    calls_in_guest(program, calls, 3)  # the lowest descriptor that is free
    program.call("exit", 0)
    where = os.path.join(directory, "areas")
    with open(where, "wb") as file:
        file.write(program.elf())
    os.chmod(where, 0o755)
    done = subprocess.run([*emulator.split(), "-k", "-m", where + ".maps", where], stdout=subprocess.PIPE,
                          check=False)
    with open(where + ".maps", encoding="utf-8") as maps:  # of the first process, when it ended
        return done.stdout, maps.read(), done.returncode


# ---- natively ----

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def calls_here(calls, file):
    """The same, in this process, which goes on behind them."""
    results = []
    for call in calls:
        if isinstance(call, Child):
            pid = os.fork()
            if pid == 0:
                calls_here(call.calls, file)
                os._exit(0)
            os.waitpid(pid, 0)
            continue
        name, arguments = call
        result = libc.syscall(CALLS[name][1],
                              *(ctypes.c_ulong((file if value == "file" else value) & (1 << 64) - 1)
                                for value in arguments))
        results.append(-ctypes.get_errno() if result == -1 else result)
    with open("/proc/self/maps", encoding="ascii") as maps:
        text = maps.read()
    os.write(1, struct.pack(f"<{len(results)}q", *results))
    data = (text + "\n").encode()
    while data:
        data = data[os.write(1, data):]


# ---- comparison ----

def lines_of(text):
    """
    Those of the stretch. Shared memory without a file has another inode each time; and some file systems
    show another device than stat().
    """
    lines = []
    for line in text.splitlines():
        start = int(line.split("-")[0], 16)
        if ARENA - PAGE <= start < ARENA + PAGES * PAGE:
            if line.endswith("/dev/zero (deleted)"):
                line = re.sub(r" [0-9a-f]+:[0-9a-f]+ \d+ +", " DEVICE ", line)
            if "/" in line:
                line = re.sub(r" [0-9a-f]+:[0-9a-f]+ ", " DEVICE ", line)
            lines.append(line)
    return lines


def parts_of(output, calls):
    """What each process has shown: (calls, results, lines), in the order in which they end."""
    def expected(calls):
        for call in calls:
            if isinstance(call, Child):
                yield from expected(call.calls)
        yield [call for call in calls if not isinstance(call, Child)]

    at = 0
    for made in expected(calls):
        size = 8 * len(made)
        results = struct.unpack_from(f"<{len(made)}q", output, at)
        end = output.index(b"\n\n", at + size)
        yield made, results, lines_of(output[at + size:end].decode())
        at = end + 2


def show(call):
    name, arguments = call
    return f"{name}({', '.join(value if value == 'file' else hex(value) for value in arguments)})"


def compare(seen, native, calls):
    failed = 0
    areas = 0
    for (made, own, lines), (_, theirs, wanted) in zip(parts_of(seen, calls), parts_of(native, calls)):
        for call, result, right in zip(made, own, theirs):
            if result != right and not failed:
                failed += 1
                print(f"FAILED: {show(call)}: {result}, natively {right}")
        areas += len(wanted)
        if lines != wanted:
            failed += 1
            print("FAILED: areas:", *lines, "natively:", *wanted, sep="\n  ")
    return failed, areas


def main():
    if sys.argv[1] == "--native":
        file = os.open(sys.argv[4], os.O_RDWR)
        calls_here(random_calls(int(sys.argv[2]), int(sys.argv[3])), file)
        return 0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().getrandbits(32)
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 500
    print(f"# seed {seed}")
    calls = random_calls(seed, count)
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "file")
        with open(path, "wb") as file:
            file.truncate(FILE_PAGES * PAGE)
        seen, last, status = guest(sys.argv[1], calls, path, directory)
        native = subprocess.run([sys.executable, __file__, "--native", str(seed), str(count), path],
                                stdout=subprocess.PIPE, check=True).stdout
    if status:
        print(f"FAILED: exit status {status}")
        return 1
    failed, areas = compare(seen, native, calls)
    *_, (_, _, wanted) = parts_of(native, calls)
    if lines_of(last) != wanted:
        failed += 1
        print("FAILED: the file of -m:", *lines_of(last), "natively:", *wanted, sep="\n  ")
    forks = sum(isinstance(call, Child) for call in calls)
    print(f"{count} calls, {forks} forks, {areas} areas as natively" if not failed else f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
