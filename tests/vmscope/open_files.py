#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vmscope keeps a file open exactly as long as the traced program maps it, which keeps it open, too.

Usage: open_files.py VMSCOPE
"""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import inject

# Each step is told, and waits for a line.
PROGRAM = """
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.mremap.restype = ctypes.c_void_p
libc.mremap.argtypes = [ctypes.c_void_p] + [ctypes.c_size_t] * 2 + [ctypes.c_int, ctypes.c_void_p]
PAGE, FIXED = 4096, 16
fd = os.open(sys.argv[1], os.O_RDONLY)
anon = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS

def map(length, at=None):
    return libc.mmap(at, length, 1, mmap.MAP_PRIVATE | (FIXED if at else 0), fd, 0)

def told(what):
    print(what, flush=True)
    sys.stdin.readline()

told("open 0")
place = libc.mmap(None, 64 * PAGE, 0, anon, -1, 0)
map(8 * PAGE, place)
told("mapped 1")
libc.munmap(place + 2 * PAGE, PAGE)
libc.munmap(place, 2 * PAGE)
told("partly unmapped 1")
libc.munmap(place, 8 * PAGE)
told("unmapped 0")
map(PAGE, place)
libc.mmap(place, 4 * PAGE, 1, anon | FIXED, -1, 0)
told("replaced 0")
map(1 << 60)
told("not mapped 0")
map(4 * PAGE, place)
libc.mremap(place, 4 * PAGE, 4 * PAGE, 3, place + 16 * PAGE)
told("moved 1")
libc.mremap(place + 32 * PAGE, PAGE, PAGE, 3, place + 16 * PAGE)
told("partly replaced by what was moved 1")
libc.mremap(place + 40 * PAGE, 4 * PAGE, 4 * PAGE, 3, place + 16 * PAGE)
told("replaced by what was moved 0")
"""


def holds(pid, path):
    """How many descriptors of a process are of a file."""
    return sum(os.path.realpath(f"/proc/{pid}/fd/{fd}") == path for fd in os.listdir(f"/proc/{pid}/fd"))


def main():
    vmscope = sys.argv[1]
    inject.skip_if_refused(vmscope)
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(65536))
        file.flush()
        os.set_inheritable(file.fileno(), False)
        path = os.path.realpath(file.name)
        with subprocess.Popen([vmscope, "trace", "-q", "--", sys.executable, "-c", PROGRAM, path],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as tracer:
            steps = 0
            for line in tracer.stdout:
                what, _, count = line.strip().rpartition(" ")
                held = holds(tracer.pid, path)
                if held != int(count):
                    tracer.kill()
                    sys.exit(f"open_files: {what}: vmscope holds {held} descriptors")
                steps += 1
                tracer.stdin.write("\n")
                tracer.stdin.flush()
        if tracer.returncode != 0 or steps != 9:
            sys.exit(f"open_files: status {tracer.returncode} after {steps} steps")


if __name__ == "__main__":
    main()
