#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--verify=each compares all areas at intervals, and else those that a call may have changed.

A difference is found at the call that made it where it lies among these, and at the next comparison
of all areas where it does not.

Usage: nearby.py VMSCOPE MANY
"""
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import inject

AREAS = 600
TOUCHED = 16000
# As tools/vmscope/mirror/verify.h says.
WHOLE_LEAST, WHOLE_SHARE = 16, 8


def trace(vmscope, options, program):
    """The run, its summary and its log."""
    with tempfile.NamedTemporaryFile("r") as log:
        run = subprocess.run([vmscope, "trace", "-q", "-o", log.name, *options, "--", *program],
                             stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=2 * inject.LIMIT)
        records = [json.loads(line) for line in log]
    return run, records[-1], records


def wanted(what, is_so, *seen):
    if not is_so:
        sys.exit(f"nearby: {what}: {seen}")


def interval(areas):
    return max(WHOLE_LEAST, areas // WHOLE_SHARE)


def check_found_at_once(vmscope, many, calls):
    """In the middle, where the next comparison of all areas is far away."""
    mapped = [call for call in calls if call["call"] == "mmap"]
    for how in "drop", "double", "alter":
        call = mapped[AREAS // 2]
        run, _, log = trace(vmscope, [f"--inject={how}:{call['n']}"], [many, str(AREAS)])
        found = [r.get("n") for r in log if r["type"] == "difference"]
        wanted(f"{how} of call {call['n']} is found there", run.returncode == 1 and found and
               found[0] == call["n"], run.returncode, found, run.stderr[:2000])


def check_rename(vmscope, many, work):
    """A renamed file shows in a comparison of all areas, not later than that is due."""
    path = os.path.join(work, "file")
    with open(path, "w") as file:
        file.write("x" * 4096)
    run, _, log = trace(vmscope, [], [many, str(AREAS), "rename", path])
    seen = [i for i, r in enumerate(log) if r["type"] == "seen" and "renames" in r]
    wanted("a renamed file is seen", run.returncode == 0 and len(seen) == 1, run, seen)
    after = [r for r in log[seen[0]:] if r["type"] == "call" and r["call"] == "mmap"]
    wanted("it is seen in time", AREAS // 2 - interval(AREAS + 100) <= len(after), len(after))


def check_unseen(vmscope, many):
    """A mapping that no call has told of is a difference, found when all areas are compared."""
    run, _, log = trace(vmscope, [], [many, str(AREAS), "vdso"])
    if run.returncode == 77:
        print("SKIP in part: [vdso] cannot be mapped again here")
        return
    found = [r for r in log if r["type"] == "difference"]
    wanted("a mapping that was not told", run.returncode == 1 and len(found) == 1, run)
    last = max(r["n"] for r in log if r["type"] == "call")
    wanted("it is found in time", last - found[0]["n"] >= AREAS // 2 - interval(AREAS + 100),
           found[0]["n"], last)


def is_traced(pid):
    return "TracerPid:\t0\n" not in inject.read(f"/proc/{pid}/status")


def trace_attached(vmscope, program, done=None):
    """The status and the summary for a program that waits for a line before it does anything.

    done: is called with vmscope's number when the program has written a line, and waits for another.
    """
    with tempfile.NamedTemporaryFile("r") as log, \
            subprocess.Popen(program, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE if done else None) as target:
        while inject.state(target.pid, target.pid) != "S":
            time.sleep(0.01)
        with subprocess.Popen([vmscope, "trace", "-q", "-o", log.name, "-p",
                               str(target.pid)]) as tracer:
            while tracer.poll() is None and not is_traced(target.pid):
                time.sleep(0.01)
            target.stdin.write(b"\n")
            target.stdin.flush()
            if done:
                target.stdout.readline()
                done(tracer.pid)
                target.stdin.write(b"\n")
            target.stdin.close()
            status = tracer.wait(2 * inject.LIMIT)
        return status, [json.loads(line) for line in log][-1]


def check_copies(vmscope, many):
    """A space is copied only where the first answer was not the kernel's."""
    run, total, _ = trace(vmscope, [], [many, str(AREAS), "split"])
    wanted("no copies in a started program", run.returncode == 0 and
           total["splits"] > AREAS // 2 and total["copies"] == 0, run, total)
    # Much is unknown in one that was attached to, but the first answers are right.
    for how, least in ("split", AREAS // 2), ("wait", AREAS), ("threads", AREAS):
        status, total = trace_attached(vmscope, [many, str(AREAS), how])
        wanted(f"no copies in an attached program, {how}", status == 0 and
               total["calls"] >= least and total["copies"] == 0, status, total)


def check_merges(vmscope, many):
    """Where a merge may be of one kind or another, only what lies nearby is read."""
    seen = []

    def done(tracer):
        seen.extend(map(int, re.findall(r"rchar: (\d+)", inject.read(f"/proc/{tracer}/io"))))

    status, total = trace_attached(vmscope, [many, str(AREAS), "merge"], done)
    wanted("merges in an attached program", status == 0 and total["merges"] > AREAS // 3, status, total)
    if not seen:
        print("SKIP in part: this kernel does not tell how much a process has read")
        return
    # A line of maps is 50 bytes or more.
    whole = 50 * AREAS
    wanted("all areas are not read for each merge",
           seen[0] < whole * total["merges"] // 3, seen, whole, total)


def user_time(vmscope, program):
    """Seconds that vmscope, and the program, which does little, need to follow the program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run = subprocess.run([vmscope, "trace", "-q", "--", *program], stdin=subprocess.DEVNULL,
                         text=True, capture_output=True, timeout=2 * inject.LIMIT)
    wanted("threads that touch what they map", run.returncode == 0, run)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def check_touched(vmscope, many):
    """Touches beside calls cost no walk through the areas: that would be ten times as much here."""
    left, touched = (user_time(vmscope, [many, str(TOUCHED), how]) for how in ("leave", "touch"))
    wanted("what touches cost", touched < 4 * left + 0.2, left, touched)


def main():
    vmscope, many = sys.argv[1:]
    inject.skip_if_refused(vmscope)
    run, total, log = trace(vmscope, [], [many, str(AREAS)])
    calls = [r for r in log if r["type"] == "call"]
    wanted("each call is checked", run.returncode == 0 and total["checks"] > AREAS, run, total)
    changed = sum(r["changed"] for r in calls if r["call"] == "mmap")
    wanted("each call's change is told", changed >= AREAS, changed)
    if total["whole_checks"] == total["checks"]:
        print("SKIP: this kernel cannot be asked for single areas (Linux 6.11 can)")
        sys.exit(77)
    # Calls until all areas are compared, summed up over the number of areas.
    wanted("all areas are compared now and then, not always",
           AREAS // interval(AREAS + 100) <= total["whole_checks"] <= AREAS // WHOLE_LEAST + 10,
           total)
    run, total, _ = trace(vmscope, ["--verify=1"], [many, "100"])
    wanted("--verify=1 always compares all areas", run.returncode == 0 and
           total["whole_checks"] == total["checks"] > 100, total)
    check_found_at_once(vmscope, many, calls)
    with tempfile.TemporaryDirectory() as work:
        check_rename(vmscope, many, work)
    check_unseen(vmscope, many)
    check_copies(vmscope, many)
    check_merges(vmscope, many)
    check_touched(vmscope, many)


if __name__ == "__main__":
    main()
