#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""examples/rv64: processes, signals and memory of small programs that are made here.

Usage: processes.py RV64
"""
import os
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from assembler import (A0, A1, A2, A3, BASE, DATA, ECALL, Program, RA, S0, S1, SYSTEM, T0, ZERO, addi, b,
                       i, ld, r, sd)

SIGCHLD = 17
NEW = DATA + 0x100000  # where programs map memory
PRIVATE, SHARED, FIXED, ANONYMOUS = 2, 1, 0x10, 0x20
READ, WRITE, EXEC = 1, 2, 4


def exit_with(program, register):
    program.emit(addi(A0, register, 0), addi(17, ZERO, SYSTEM["exit"]), ECALL)


def answer(program, value):
    program.call("exit", value)


def fork(program, in_child, in_parent, *arguments):
    """Both parts end the process, or the thread."""
    program.call("clone", *(arguments or (SIGCHLD, 0, 0, 0, 0)))
    at = len(program.code)
    program.emit(b(1, A0, ZERO, 0))  # bne: the parent goes on behind the child's part
    in_child(program)
    if program.here % 4:
        program.emit(1)
    distance = len(program.code) - at
    program.code[at:at + 4] = b(1, A0, ZERO, distance).to_bytes(4, "little")
    in_parent(program)


def wait_and_return_sum(program, what):
    """Waits for the child, and returns its exit status and 16 times the word at `what`."""
    program.call("wait4", None, DATA + 0x100, 0, 0)
    program.li(A1, DATA + 0x100)
    program.emit(i(0x03, 1, S0, A1, 0), i(0x13, 5, S0, S0, 8))  # lh, srli 8
    program.li(A1, what)
    program.emit(ld(A2, A1), i(0x13, 1, A2, A2, 4), r(0x33, 0, 0, S0, S0, A2))
    exit_with(program, S0)


def map_new(program, prot, flags):
    program.call("mmap", NEW, 4096, prot, flags | FIXED | ANONYMOUS, -1 & (1 << 64) - 1, 0)


def write_word(program, where, value):
    program.li(A1, where)
    program.li(A2, value)
    program.emit(sd(A2, A1))


def a_child_has_memory_of_its_own(program):
    def child(program):
        write_word(program, DATA, 5)
        answer(program, 3)

    write_word(program, DATA, 2)
    fork(program, child, lambda program: wait_and_return_sum(program, DATA))
    return 3 + 2 * 16


def shared_memory_is_shared_with_a_child(program):
    def child(program):
        write_word(program, NEW, 5)
        answer(program, 3)

    map_new(program, READ | WRITE, SHARED)
    write_word(program, NEW, 2)
    fork(program, child, lambda program: wait_and_return_sum(program, NEW))
    return 3 + 5 * 16


def add_often(program):
    """A thousand times 1 to the word at DATA, atomically."""
    program.li(A1, DATA)
    program.li(A2, 1)
    program.li(A3, 1000)
    program.emit(r(0x2f, 3, 0, ZERO, A1, A2), addi(A3, A3, -1), b(1, A3, ZERO, -8))


def threads_share_memory_and_tell_of_their_end(program):
    """CLONE_VM | FS | FILES | SIGHAND | THREAD | SYSVSEM | PARENT_SETTID | CHILD_CLEARTID"""
    number = DATA + 0x200

    def thread(program):
        add_often(program)
        answer(program, 0)

    def first(program):
        add_often(program)
        again = program.here
        program.li(A1, number)
        program.emit(i(0x03, 2, A2, A1, 0))        # lw
        at = len(program.code)
        program.emit(b(0, A2, ZERO, 0))            # beq: it has ended
        program.emit(addi(A0, A1, 0), addi(A1, ZERO, 0), addi(A3, ZERO, 0))
        program.emit(addi(17, ZERO, 98), ECALL)    # futex(number, FUTEX_WAIT, what was there)
        program.emit(b(0, ZERO, ZERO, again - program.here))
        program.code[at:at + 4] = b(0, A2, ZERO, len(program.code) - at).to_bytes(4, "little")
        program.li(A1, DATA)
        program.li(A2, 20)
        program.emit(ld(S0, A1), r(0x33, 5, 1, S0, S0, A2))
        program.emit(addi(A0, S0, 0), addi(17, ZERO, 94), ECALL)  # exit_group: the other may not be gone

    fork(program, thread, first, 0x350f00, DATA + 0x8000, number, 0, number)
    return 2000 // 20


def a_shared_mapping_is_the_file(program):
    """Written through it and read by a call; written by a call and read through it; and msync()."""
    program.call("memfd_create", DATA, 0)  # descriptor 3, without a name
    program.call("ftruncate", 3, 4096)
    program.call("mmap", NEW, 4096, READ | WRITE, SHARED | FIXED, 3, 0)
    write_word(program, NEW, 5)
    program.call("msync", NEW, 4096, 4)
    program.emit(addi(S1, A0, 0))
    program.call("pread64", 3, DATA, 8, 0)
    write_word(program, DATA + 0x40, 9)
    program.call("pwrite64", 3, DATA + 0x40, 8, 8)
    program.li(A1, DATA)
    program.li(A2, NEW)
    program.emit(ld(S0, A1), i(0x13, 1, S0, S0, 4), ld(A2, A2, 8), r(0x33, 0, 0, S0, S0, A2),
                 r(0x33, 0, 0, S0, S0, S1))
    exit_with(program, S0)
    return 5 * 16 + 9


def a_store_to_nowhere_is_sigsegv(program):
    write_word(program, NEW, 1)
    answer(program, 0)
    return -signal.SIGSEGV


def code_cannot_be_written(program):
    write_word(program, BASE + 0x1000, 1)
    answer(program, 0)
    return -signal.SIGSEGV


def data_cannot_be_executed(program):
    program.li(A1, DATA)
    program.emit(i(0x67, 0, RA, A1, 0))
    return -signal.SIGSEGV


def what_is_no_instruction_is_sigill(program):
    program.emit(0)
    return -signal.SIGILL


def an_atomic_operation_must_be_aligned(program):
    program.li(A1, DATA + 4)
    program.emit(r(0x2f, 3, 0, A0, A1, A2))
    return -signal.SIGBUS


def a_signal_of_another_process_ends_it(program):
    program.call("getpid")
    program.call("kill", None, int(signal.SIGTERM))
    answer(program, 0)
    return -signal.SIGTERM


def code_may_be_made_and_taken_away(program):
    """li a0, 9; ret - called, then no longer allowed: the first answer is lost with the process."""
    map_new(program, READ | WRITE, PRIVATE)
    write_word(program, NEW, addi(A0, ZERO, 9) | i(0x67, 0, ZERO, RA, 0) << 32)
    program.call("mprotect", NEW, 4096, READ | EXEC)
    program.li(A1, NEW)
    program.emit(0x100f, i(0x67, 0, RA, A1, 0), addi(S0, A0, 0))
    exit_with(program, S0)
    return 9


def code_that_was_allowed_is_forbidden_again(program):
    code_may_be_made_and_taken_away(program)
    program.code = program.code[:-12]  # without the end
    program.call("mprotect", NEW, 4096, READ)
    program.li(A1, NEW)
    program.emit(i(0x67, 0, RA, A1, 0))
    answer(program, 0)
    return -signal.SIGSEGV


def a_handler_runs_and_returns(program):
    """Of SIGSEGV: makes the page writable, so that the store is made again, and counts in s1's place."""
    skip = 0x6f
    at = len(program.code)
    program.emit(skip)
    handler = program.here + 0x1000
    program.call("mprotect", NEW, 4096, READ | WRITE)
    program.li(A1, DATA)
    program.emit(ld(A2, A1), addi(A2, A2, 1), sd(A2, A1), i(0x67, 0, ZERO, RA, 0))
    if program.here % 4:
        program.emit(1)
    program.code[at:at + 4] = (skip | (len(program.code) - at) << 20).to_bytes(4, "little")
    # A handler changes no register of what it has interrupted.
    map_new(program, READ, PRIVATE)
    write_word(program, DATA + 0x40, handler)
    program.call("sigaction", int(signal.SIGSEGV), DATA + 0x40, 0, 8)
    program.li(A1, NEW)
    program.li(S1, 6)
    program.emit(addi(A2, S1, 0), sd(S1, A1), ld(T0, A1), r(0x33, 0, 0, S0, T0, A2))
    program.li(A3, DATA)
    program.emit(ld(A0, A3), i(0x13, 1, A0, A0, 5), r(0x33, 0, 0, S0, S0, A0))
    exit_with(program, S0)
    return 6 + 6 + 32


CASES = [a_child_has_memory_of_its_own, threads_share_memory_and_tell_of_their_end,
         shared_memory_is_shared_with_a_child, a_shared_mapping_is_the_file,
         a_store_to_nowhere_is_sigsegv, code_cannot_be_written, data_cannot_be_executed,
         what_is_no_instruction_is_sigill, an_atomic_operation_must_be_aligned,
         a_signal_of_another_process_ends_it, code_may_be_made_and_taken_away,
         code_that_was_allowed_is_forbidden_again, a_handler_runs_and_returns]


def main():
    failed = 0
    print(f"1..{len(CASES)}")
    with tempfile.TemporaryDirectory() as directory:
        for number, case in enumerate(CASES, 1):
            path = os.path.join(directory, case.__name__)
            program = Program()
            wanted = case(program)
            with open(path, "wb") as file:
                file.write(program.elf())
            os.chmod(path, 0o755)
            done = subprocess.run([*sys.argv[1].split(), path], check=False, timeout=120)
            right = done.returncode == wanted
            failed += not right
            print(f"{'ok' if right else 'not ok'} {number} - {case.__name__.replace('_', ' ')}" +
                  ("" if right else f": exit status {done.returncode}, not {wanted}"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
