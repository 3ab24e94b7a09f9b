#!/bin/bash
# SPDX-License-Identifier: MIT
# What following a call costs: a program of 10,000 mmap/munmap pairs by itself, under vmscope, and under
# strace; run by turns, all pinned to one processor (else it is where the scheduler puts the two sides
# that is measured), the median of RUNS (7) of each.
#
#   cost.sh VMSCOPE PAIRS [RUNS]     PAIRS is tests/vmscope's program of that name
set -eu
command -v strace >/dev/null || { echo 'cost.sh: strace is not installed: apt-get install strace' >&2; exit 77; }
python3 - "$@" <<'END'
import os, statistics, subprocess, sys, time

vmscope, pairs = sys.argv[1:3]
runs = int(sys.argv[3]) if len(sys.argv) > 3 else 7
program = [pairs, "10000"]
contestants = {
    "by itself": program,
    "vmscope --verify=none": [vmscope, "trace", "-q", "--verify=none", "--", *program],
    "vmscope --verify=end": [vmscope, "trace", "-q", "--verify=end", "--", *program],
    "vmscope --verify=each": [vmscope, "trace", "-q", "--verify=each", "--", *program],
    "strace -f -e trace=%memory": ["strace", "-f", "-e", "trace=%memory", "-o", "/dev/null", *program],
}
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
seconds = {name: [] for name in contestants}
for _ in range(runs):
    for name, command in contestants.items():
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds[name].append(time.perf_counter() - start)
peer = statistics.median(seconds["strace -f -e trace=%memory"])
print(f"10,000 pairs of mmap and munmap, median of {runs} runs by turns")
for name, values in seconds.items():
    median = statistics.median(values)
    print(f"{name:28} {median * 1e3:8.1f} ms ({min(values) * 1e3:.1f} .. {max(values) * 1e3:.1f})"
          f"   {median / peer:5.2f} of strace")
END
