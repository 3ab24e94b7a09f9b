#!/bin/bash
# SPDX-License-Identifier: MIT
# The cost of tracing a call: 10,000 pairs of mmap and munmap untraced, under vmscope and under
# strace. Runs alternate, all pinned to one CPU (otherwise the scheduler's placement of tracer and
# program is what is measured). Prints the median of RUNS (default 7) runs of each. Then what the
# comparisons after each call cost where there are many areas: 15,000, 30,000 and 60,000 mmaps; and
# the same in programs that are attached to, of one thread and of two, where much is unknown, mmaps
# of a file, and areas that grow where there are as many others: the tracer's processor time there.
#
#   cost.sh VMSCOPE PAIRS MANY [RUNS]     PAIRS, MANY are tests/vmscope's programs of these names
set -eu
if ! command -v strace >/dev/null; then
	echo 'cost.sh: strace is not installed: apt-get install strace' >&2
	exit 77
fi
python3 - "$@" <<'END'
import os, statistics, subprocess, sys, time

vmscope, pairs, many = sys.argv[1:4]
runs = int(sys.argv[4]) if len(sys.argv) > 4 else 7


def traced(when, *program):
    return [vmscope, "trace", "-q", f"--verify={when}", "--", *program]


def measure(contestants):
    """Seconds of each run, by turns."""
    seconds = {name: [] for name in contestants}
    for _ in range(runs):
        for name, command in contestants.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            seconds[name].append(time.perf_counter() - start)
    return seconds


def wait_until(what):
    while not what():
        time.sleep(0.01)


def status(pid, name):
    with open(f"/proc/{pid}/status") as file:
        return next(line.split()[1] for line in file if line.startswith(name))


def attached(when, count, how):
    """Processor time of the tracer of a program that waits for a line before it maps."""
    with subprocess.Popen([many, str(count), how, many], stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL) as program:
        wait_until(lambda: status(program.pid, "State:") == "S")
        tracer = subprocess.Popen([vmscope, "trace", "-q", f"--verify={when}", "-p",
                                   str(program.pid)])
        wait_until(lambda: status(program.pid, "TracerPid:") != "0")
        program.stdin.write(b"\n\n")
        program.stdin.close()
        _, tracer.returncode, used = os.wait4(tracer.pid, 0)
    if tracer.returncode != 0:
        sys.exit(f"cost.sh: the tracer of {how} failed")
    return used.ru_utime + used.ru_stime


os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
program = [pairs, "10000"]
seconds = measure({
    "by itself": program,
    "vmscope --verify=none": traced("none", *program),
    "vmscope --verify=end": traced("end", *program),
    "vmscope --verify=each": traced("each", *program),
    "strace -f -e trace=%memory": ["strace", "-f", "-e", "trace=%memory", "-o", "/dev/null",
                                   *program],
})
peer = statistics.median(seconds["strace -f -e trace=%memory"])
print(f"10,000 pairs of mmap and munmap, median of {runs} runs by turns")
for name, values in seconds.items():
    median = statistics.median(values)
    print(f"{name:28} {median * 1e3:8.1f} ms ({min(values) * 1e3:.1f} .. {max(values) * 1e3:.1f})"
          f"   {median / peer:5.2f} of strace")
for count in 15000, 30000, 60000:
    seconds = measure({when: traced(when, many, str(count)) for when in ("end", "each")})
    end, each = (statistics.median(seconds[when]) for when in ("end", "each"))
    print(f"{count} mmaps: --verify=end {end * 1e6 / count:.1f} us a call, --verify=each "
          f"{each * 1e6 / count:.1f} us: {each / end:.2f} of it")
for how, what in (("wait", "mmaps"), ("threads", "mmaps in two threads"), ("files", "mmaps of a file"),
                  ("merge", "areas, half as many calls")):
    for count in 15000, 30000, 60000:
        calls = count // 2 if how == "merge" else count
        seconds = {"end": [], "each": []}
        for _ in range(runs):
            for when in seconds:
                seconds[when].append(attached(when, count, how))
        end, each = (statistics.median(seconds[when]) for when in ("end", "each"))
        print(f"attached, {count} {what}: --verify=end {end * 1e6 / calls:.1f} us a call, "
              f"--verify=each {each * 1e6 / calls:.1f} us: {each / end:.2f} of it")
END
