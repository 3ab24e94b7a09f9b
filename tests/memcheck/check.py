#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""memcheck finds what a program does to nodes: check.py VALGRIND PROGRAM"""

import re
import subprocess
import sys

FOUND = 99


def run(valgrind, program, what):
    got = subprocess.run([valgrind, f"--error-exitcode={FOUND}", "--leak-check=full",
                          "--errors-for-leak-kinds=definite", program, what],
                         capture_output=True, text=True, timeout=300, check=False)
    return got.returncode, re.sub(r"^==\d+== ?", "", got.stderr, flags=re.M)


def main():
    valgrind, program = sys.argv[1:]
    wrong = []
    for what, status, said in (
            ("nothing", 0, r"ERROR SUMMARY: 0 errors"),
            # Where the node was freed is told, too.
            ("use", FOUND, r"Invalid read of size \d+\n(?:.*\n)+?.*Address 0x\w+ is 64 bytes inside a "
                           r"block of size 256 free'd\n(?:.*\n)+?.*mtree_destroy"),
            ("lose", FOUND, r"256 .*bytes in \d+ blocks are definitely lost.*\n(?:.*\n)+?"
                            r".*mtree_store_range")):
        got, text = run(valgrind, program, what)
        fine = got == status and re.search(said, text)
        print(f"{'ok' if fine else 'not ok'} - {what}")
        if not fine:
            wrong.append(what)
            print(f"status {got}\n{text}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
