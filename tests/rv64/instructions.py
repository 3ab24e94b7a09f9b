#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""examples/rv64: its instructions compute what the ISA manual says, on numbers of any kind.

Usage: instructions.py RV64 [SEED]

All cases are one program for riscv64 that is made here; what it computed is compared with Python's
integers and fractions.
"""
import math
import operator
import os
import random
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction

sys.dont_write_bytecode = True
from assembler import A0, A1, A2, A3, DATA, Program, ZERO, addi, i, r, sd

M64 = (1 << 64) - 1
EDGES = [0, 1, 2, M64, M64 - 1, 1 << 63, (1 << 63) - 1, 1 << 31, (1 << 31) - 1, (1 << 32) - 1, 1 << 32,
         0xffffffff80000000]


def signed(value, bits=64):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def word(value):
    return signed(value, 32) & M64


def quotient(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def divided(a, b, bits):
    """Signed division and its remainder, as the manual defines them for everything."""
    if b == 0:
        return -1, a
    if a == -(1 << (bits - 1)) and b == -1:
        return a, 0
    return quotient(a, b), a - quotient(a, b) * b


def divided_unsigned(a, b):
    return (a // b, a % b) if b else (-1, a)


# name: opcode, funct3, funct7, result of two registers
INTEGER = {
    "add": (0x33, 0, 0, operator.add),
    "sub": (0x33, 0, 32, operator.sub),
    "sll": (0x33, 1, 0, lambda a, b: a << (b & 63)),
    "slt": (0x33, 2, 0, lambda a, b: signed(a) < signed(b)),
    "sltu": (0x33, 3, 0, operator.lt),
    "xor": (0x33, 4, 0, operator.xor),
    "srl": (0x33, 5, 0, lambda a, b: a >> (b & 63)),
    "sra": (0x33, 5, 32, lambda a, b: signed(a) >> (b & 63)),
    "or": (0x33, 6, 0, operator.or_),
    "and": (0x33, 7, 0, operator.and_),
    "addw": (0x3b, 0, 0, lambda a, b: word(a + b)),
    "subw": (0x3b, 0, 32, lambda a, b: word(a - b)),
    "sllw": (0x3b, 1, 0, lambda a, b: word(a << (b & 31))),
    "srlw": (0x3b, 5, 0, lambda a, b: word((a & 0xffffffff) >> (b & 31))),
    "sraw": (0x3b, 5, 32, lambda a, b: word(signed(a, 32) >> (b & 31))),
    "mul": (0x33, 0, 1, operator.mul),
    "mulh": (0x33, 1, 1, lambda a, b: signed(a) * signed(b) >> 64),
    "mulhsu": (0x33, 2, 1, lambda a, b: signed(a) * b >> 64),
    "mulhu": (0x33, 3, 1, lambda a, b: a * b >> 64),
    "div": (0x33, 4, 1, lambda a, b: divided(signed(a), signed(b), 64)[0]),
    "divu": (0x33, 5, 1, lambda a, b: divided_unsigned(a, b)[0]),
    "rem": (0x33, 6, 1, lambda a, b: divided(signed(a), signed(b), 64)[1]),
    "remu": (0x33, 7, 1, lambda a, b: divided_unsigned(a, b)[1]),
    "mulw": (0x3b, 0, 1, lambda a, b: word(a * b)),
    "divw": (0x3b, 4, 1, lambda a, b: word(divided(signed(a, 32), signed(b, 32), 32)[0])),
    "divuw": (0x3b, 5, 1, lambda a, b: word(divided_unsigned(a & 0xffffffff, b & 0xffffffff)[0])),
    "remw": (0x3b, 6, 1, lambda a, b: word(divided(signed(a, 32), signed(b, 32), 32)[1])),
    "remuw": (0x3b, 7, 1, lambda a, b: word(divided_unsigned(a & 0xffffffff, b & 0xffffffff)[1])),
}

# name: funct5, what is stored
ATOMIC = {
    "amoadd": (0, operator.add), "amoswap": (1, lambda a, b: b), "amoxor": (4, operator.xor),
    "amoor": (8, operator.or_), "amoand": (12, operator.and_),
    "amomin": (16, lambda a, b: min(signed(a), signed(b))),
    "amomax": (20, lambda a, b: max(signed(a), signed(b))),
    "amominu": (24, min), "amomaxu": (28, max),
}


def bits_of(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def real_of(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def single_bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def rounded(exact):
    """To the nearest double, ties to even."""
    return float(exact) if exact else 0.0


class Cases:
    def __init__(self):
        self.program = Program()
        self.expected = []
        self.program.li(A3, DATA)

    def store(self, name, register, value):
        self.expected.append((name, int(value) & M64))
        self.program.emit(sd(register, A3), addi(A3, A3, 8))

    def integer(self, name, a, b):
        opcode, kind, high, result = INTEGER[name]
        self.program.li(A1, a)
        self.program.li(A2, b)
        self.program.emit(r(opcode, kind, high, A0, A1, A2))
        self.store(f"{name} {a:#x}, {b:#x}", A0, result(a, b))

    def atomic(self, name, a, b, is_word):
        kind, result = ATOMIC[name]
        if is_word:
            a, b = word(a), word(b)
        where = DATA + 0x8000
        self.program.li(A1, where)
        self.program.li(A0, a)
        self.program.li(A2, b)
        self.program.emit(sd(A0, A1), r(0x2f, 2 if is_word else 3, kind << 2, A0, A1, A2))
        self.store(f"{name}{'.w' if is_word else '.d'} {a:#x}, {b:#x}: what was there", A0, a)
        self.program.emit(i(0x03, 2 if is_word else 3, A0, A1, 0))
        new = result(a, b) & M64
        self.store(f"{name} {a:#x}, {b:#x}: what is there", A0, word(new) if is_word else new)

    def double(self, name, high, reals, exact):
        """Addition and its like, of doubles, and whether the result is inexact."""
        for register, value in zip((11, 12), reals):
            self.program.li(A1, bits_of(value))
            self.program.emit(r(0x53, 0, 0x79, register, A1, 0))      # fmv.d.x
        self.program.emit(i(0x73, 1, ZERO, ZERO, 1))                  # fsflags zero
        self.program.emit(r(0x53, 7, high, 10, 11, 12))
        self.program.emit(r(0x53, 0, 0x71, A0, 10, 0))                # fmv.x.d
        value = rounded(exact)
        self.store(f"{name} {reals}", A0, bits_of(value))
        self.program.emit(i(0x73, 2, A0, ZERO, 1))                    # frflags
        self.store(f"{name} {reals}: inexact", A0, Fraction(value) != exact)

    def single(self, name, high, reals, value):
        """Of singles: `value` is a double that has not lost anything that the rounding needs."""
        for register, real in zip((11, 12), reals):
            self.program.li(A1, single_bits(real) | 0xffffffff << 32)
            self.program.emit(r(0x53, 0, 0x79, register, A1, 0))      # fmv.d.x
        self.program.emit(r(0x53, 7, high, 10, 11, 12 if len(reals) > 1 else 0))
        self.program.emit(r(0x53, 0, 0x71, A0, 10, 0))
        self.store(f"{name} {reals}", A0, single_bits(value) | 0xffffffff << 32)

    def fused(self, opcode, name, reals, exact):
        for register, value in zip((11, 12, 13), reals):
            self.program.li(A1, bits_of(value))
            self.program.emit(r(0x53, 0, 0x79, register, A1, 0))
        self.program.emit(r(opcode, 7, 13 << 2 | 1, 10, 11, 12), r(0x53, 0, 0x71, A0, 10, 0))
        self.store(f"{name} {reals}", A0, bits_of(rounded(exact)))

    def convert(self, value, kind, mode, expected, flags):
        """fcvt.{w,wu,l,lu}.d by a rounding mode, and its flags."""
        self.program.li(A1, bits_of(value))
        self.program.emit(r(0x53, 0, 0x79, 11, A1, 0), i(0x73, 1, ZERO, ZERO, 1))
        self.program.emit(r(0x53, mode, 0x61, A0, 11, kind))
        name = f"fcvt.{('w', 'wu', 'l', 'lu')[kind]}.d {value}, mode {mode}"
        self.store(name, A0, expected)
        self.program.emit(i(0x73, 2, A0, ZERO, 1))
        self.store(name + ": flags", A0, flags)

    def raw(self, name, emitted, register, value):
        self.program.emit(*emitted)
        self.store(name, register, value)


def nearest(value, mode):
    floor = math.floor(value)
    if mode == 0:
        return round(Fraction(value))
    if mode == 1:
        return math.trunc(value)
    if mode == 2:
        return floor
    if mode == 3:
        return math.ceil(value)
    half = Fraction(value) - floor
    return floor + (half > Fraction(1, 2) or (half == Fraction(1, 2) and value > 0))


def conversions(cases):
    least, most = [-1 << 31, 0, -1 << 63, 0], [(1 << 31) - 1, (1 << 32) - 1, (1 << 63) - 1, M64]
    values = [0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 2.75, -2.75, 2147483647.5, 4294967295.5, -2147483648.5,
              9.3e18, 1.9e19, -9.3e18, 1e300, -1e300, 123456789.25]
    for kind in range(4):
        for mode in range(5):
            for value in values:
                integer = nearest(value, mode)
                fits = least[kind] <= integer <= most[kind]
                result = min(max(integer, least[kind]), most[kind])
                cases.convert(value, kind, mode, word(result) if kind < 2 else result,
                              (integer != Fraction(value)) if fits else 16)
        cases.convert(math.nan, kind, 1, word(most[kind]) if kind < 2 else most[kind], 16)


def reals(cases, rng):
    def real():
        return rng.choice([rng.uniform(-10, 10), rng.uniform(-1, 1) * 2.0 ** rng.randint(-200, 200),
                           float(rng.randint(-1000, 1000)) or 1.0])

    for _ in range(40):
        a, b, c = real(), real(), real()
        x, y, z = Fraction(a), Fraction(b), Fraction(c)
        cases.double("fadd.d", 0x01, (a, b), x + y)
        cases.double("fsub.d", 0x05, (a, b), x - y)
        cases.double("fmul.d", 0x09, (a, b), x * y)
        cases.double("fdiv.d", 0x0d, (a, b), x / y)
        cases.fused(0x43, "fmadd.d", (a, b, c), x * y + z)
        cases.fused(0x47, "fmsub.d", (a, b, c), x * y - z)
        cases.fused(0x4b, "fnmsub.d", (a, b, c), -(x * y) + z)
        cases.fused(0x4f, "fnmadd.d", (a, b, c), -(x * y) - z)


def singles(cases, rng):
    """A double has more than twice the bits: rounded to it first, these results are right."""
    for _ in range(30):
        a, b = (struct.unpack("<f", struct.pack("<f", rng.uniform(-1, 1) * 2.0 ** rng.randint(-30, 30)))[0]
                for _ in range(2))
        cases.single("fadd.s", 0x00, (a, b), a + b)
        cases.single("fsub.s", 0x04, (a, b), a - b)
        cases.single("fmul.s", 0x08, (a, b), a * b)
        cases.single("fdiv.s", 0x0c, (a, b), a / b)
        cases.single("fsqrt.s", 0x2c, (abs(a),), math.sqrt(abs(a)))
        number = rng.uniform(-1, 1) * 2.0 ** rng.randint(-100, 100)
        cases.program.li(A1, bits_of(number))
        cases.raw(f"fcvt.s.d {number}", [r(0x53, 0, 0x79, 11, A1, 0), r(0x53, 7, 0x20, 10, 11, 1),
                                         r(0x53, 0, 0x71, A0, 10, 0)],
                  A0, single_bits(number) | 0xffffffff << 32)
        integer = rng.getrandbits(64)
        cases.program.li(A1, integer)
        for kind, value in enumerate((signed(integer, 32), integer & 0xffffffff, signed(integer), integer)):
            cases.raw(f"fcvt.d.{('w', 'wu', 'l', 'lu')[kind]} {integer:#x}",
                      [r(0x53, 7, 0x69, 10, A1, kind), r(0x53, 0, 0x71, A0, 10, 0)], A0,
                      bits_of(float(value)))


def boxes(cases):
    """Singles in registers of doubles: what is not boxed is a NaN; results are canonical NaNs."""
    program, one, nan = cases.program, single_bits(1.0), 0x7fc00000
    for bits, expected in ((one | 0xffffffff << 32, single_bits(2.0)), (one, nan)):
        program.li(A1, bits)
        cases.raw(f"fadd.s of {bits:#x}",
                  [r(0x53, 0, 0x79, 11, A1, 0), r(0x53, 7, 0, 10, 11, 11), r(0x53, 0, 0x71, A0, 10, 0)],
                  A0, expected | 0xffffffff << 32)
    program.li(A1, 0x7ff0000000000001)  # signaling
    cases.raw("fmax.d of a signaling NaN and 0",
              [i(0x73, 1, ZERO, ZERO, 1), r(0x53, 0, 0x79, 11, A1, 0), r(0x53, 0, 0x79, 12, ZERO, 0),
               r(0x53, 1, 0x15, 10, 11, 12), r(0x53, 0, 0x71, A0, 10, 0)], A0, 0)
    cases.raw("... is invalid", [i(0x73, 2, A0, ZERO, 1)], A0, 16)
    cases.raw("fclass.d of it", [r(0x53, 1, 0x71, A0, 11, 0)], A0, 1 << 8)
    program.li(A1, 1 << 63)
    cases.raw("fmin.d of 0 and -0",
              [r(0x53, 0, 0x79, 11, A1, 0), r(0x53, 0, 0x15, 10, 12, 11), r(0x53, 0, 0x71, A0, 10, 0)],
              A0, 1 << 63)
    cases.raw("feq.d of 0 and -0", [r(0x53, 2, 0x51, A0, 11, 12)], A0, 1)
    cases.raw("flt.d of -0 and 0", [r(0x53, 1, 0x51, A0, 11, 12)], A0, 0)


def compressed(cases):
    """Each beside what it stands for."""
    program = cases.program
    for name, code, a0, expected in (
            ("c.addi a0, -3", 0x1575, 10, 7), ("c.li a0, 31", 0x457d, 0, 31),
            ("c.slli a0, 33", 0x1506, 1, 1 << 33), ("c.srai a0, 4", 0x8511, M64 - 255, M64 - 15),
            ("c.andi a0, -16", 0x9941, 0x1234, 0x1230), ("c.addiw a0, 1", 0x2505, 0x7fffffff, word(1 << 31)),
            ("c.mv a0, a2", 0x8532, 0, 77), ("c.add a0, a2", 0x9532, 1, 78),
            ("c.sub a0, a2", 0x8d11, 100, 23),
            ("c.lui a0, 0xfffe1", 0x7505, 0, M64 - 0x1f000 + 1)):
        program.li(A2, 77)
        program.li(A0, a0)
        cases.raw(name, [code], A0, expected)


def build(seed):
    rng = random.Random(seed)
    cases = Cases()
    for name in INTEGER:
        pairs = [(rng.choice(EDGES), rng.choice(EDGES)) for _ in range(12)]
        pairs += [(1 << 63, M64), (5, 0), (0xffffffff80000000, M64), (rng.getrandbits(64), 0)]
        pairs += [(rng.getrandbits(64), rng.getrandbits(rng.choice([6, 32, 64]))) for _ in range(12)]
        for a, b in pairs:
            cases.integer(name, a, b)
    for name in ATOMIC:
        for is_word in (False, True):
            cases.atomic(name, rng.choice(EDGES), rng.choice(EDGES), is_word)
            cases.atomic(name, rng.getrandbits(64), rng.getrandbits(64), is_word)
    compressed(cases)
    conversions(cases)
    reals(cases, rng)
    singles(cases, rng)
    boxes(cases)
    size = len(cases.expected) * 8
    assert size <= 0x8000, "what they store has no room"
    cases.program.call("write", 1, DATA, size)
    cases.program.call("exit", 0)
    return cases


def main():
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().getrandbits(32)
    print(f"# seed {seed}")
    cases = build(seed)
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "instructions")
        with open(path, "wb") as file:
            file.write(cases.program.elf())
        os.chmod(path, 0o755)
        done = subprocess.run([*sys.argv[1].split(), path], stdout=subprocess.PIPE, check=False)
    if done.returncode or len(done.stdout) != 8 * len(cases.expected):
        print(f"FAILED: exit status {done.returncode}, {len(done.stdout)} bytes")
        return 1
    failed = 0
    for (name, value), (seen,) in zip(cases.expected, struct.iter_unpack("<Q", done.stdout)):
        if seen != value:
            failed += 1
            print(f"FAILED: {name}: {seen:#x}, not {value:#x}")
    print(f"{len(cases.expected) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
