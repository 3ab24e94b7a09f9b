# SPDX-License-Identifier: MIT
"""Programs for riscv64 without a compiler: instructions by their formats, and an ELF file of them."""

import struct

BASE = 0x10000
DATA = 0x200000  # memory that can be written
DATA_SIZE = 0x10000

ZERO, RA, SP, A0, A1, A2, A3, A4, A5, A6, A7 = 0, 1, 2, 10, 11, 12, 13, 14, 15, 16, 17
T0, T1, T2, S0, S1, S2, S3 = 5, 6, 7, 8, 9, 18, 19

SYSTEM = {"ftruncate": 46, "openat": 56, "read": 63, "write": 64, "pread64": 67, "pwrite64": 68,
          "exit": 93, "kill": 129, "sigaction": 134, "sigreturn": 139, "getpid": 172, "munmap": 215,
          "clone": 220, "mmap": 222, "mprotect": 226, "msync": 227, "wait4": 260, "memfd_create": 279}


def r(opcode, kind, high, to, a, b):
    return opcode | to << 7 | kind << 12 | a << 15 | b << 20 | high << 25


def i(opcode, kind, to, a, imm):
    return opcode | to << 7 | kind << 12 | a << 15 | (imm & 0xfff) << 20


def s(opcode, kind, base, source, imm):
    return (opcode | (imm & 31) << 7 | kind << 12 | base << 15 | source << 20 |
            (imm >> 5 & 127) << 25)


def b(kind, a, c, offset):
    return (0x63 | kind << 12 | a << 15 | c << 20 | (offset >> 11 & 1) << 7 | (offset >> 1 & 15) << 8 |
            (offset >> 5 & 63) << 25 | (offset >> 12 & 1) << 31)


def addi(to, a, imm):
    return i(0x13, 0, to, a, imm)


def ld(to, base, offset=0):
    return i(0x03, 3, to, base, offset)


def sd(source, base, offset=0):
    return s(0x23, 3, base, source, offset)


def fld(to, base, offset=0):
    return i(0x07, 3, to, base, offset)


def fsd(source, base, offset=0):
    return s(0x27, 3, base, source, offset)


ECALL = 0x73


class Program:
    """Instructions from BASE on, and constants behind them, reached through `li`."""

    def __init__(self):
        self.code = bytearray()

    def emit(self, *words):
        for word in words:
            self.code += struct.pack("<I" if word & 3 == 3 else "<H", word)

    @property
    def here(self):
        return BASE + len(self.code)

    def li(self, to, value):
        """Loads any number of 64 bits: from behind the two instructions, which jump over it."""
        self.code += b"" if self.here % 4 == 0 else struct.pack("<H", 1)
        pad = 4 if (self.here + 12) % 8 else 0
        offset = 12 + pad
        self.emit(0x17 | to << 7, ld(to, to, offset))       # auipc to, 0
        self.emit(0x6f | (4 + pad + 8) << 20)               # j over it
        self.code += bytes(pad) + struct.pack("<Q", value & (1 << 64) - 1)

    def call(self, name, *arguments):
        for number, value in enumerate(arguments):
            if value is not None:
                self.li(A0 + number, value)
        self.emit(addi(A7, ZERO, SYSTEM[name]), ECALL)

    def elf(self):
        """The file: one segment of code, one of zeros."""
        header = struct.pack("<4s5B7xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 0, 2, 243, 1,
                             BASE + 0x1000, 64, 0, 0, 64, 56, 2, 0, 0, 0)
        code = struct.pack("<IIQQQQQQ", 1, 5, 0x1000, BASE + 0x1000, BASE + 0x1000, len(self.code),
                           len(self.code), 0x1000)
        data = struct.pack("<IIQQQQQQ", 1, 6, 0, DATA, DATA, 0, DATA_SIZE, 0x1000)
        return (header + code + data).ljust(0x1000, b"\0") + bytes(self.code)
