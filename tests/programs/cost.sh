#!/bin/bash
# SPDX-License-Identifier: MIT
# The cost of tracing a call: 10,000 pairs of mmap and munmap untraced, under vmscope and under
# strace. Runs alternate, all pinned to one CPU (otherwise the scheduler's placement of tracer and
# program is what is measured). Prints the median of RUNS (default 7) runs of each.
#
#   cost.sh VMSCOPE PAIRS [RUNS]     PAIRS is tests/vmscope's program of that name
set -eu
if ! command -v strace >/dev/null; then
	echo 'cost.sh: strace is not installed: apt-get install strace' >&2
	exit 77
fi
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
    "strace -f -e trace=%memory": ["strace", "-f", "-e", "trace=%memory", "-o", "/dev/null",
                                   *program],
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
