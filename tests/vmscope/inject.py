#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drops, doubles and alters single calls before they reach the mirror: each must be reported.

Usage: inject.py [--attach=GUESSES] VMSCOPE PROGRAM [ARG...]

With --attach, vmscope attaches to the program, which prints a line when it is ready (the PID to
attach to, if that is not its own) and continues when it has read a line. The outcomes of its calls
depend on anon_vmas that vmscope cannot know; each of the GUESSES must occur.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

# Seconds until a run has hung: under emulation so many times as long.
LIMIT = 60 * int(os.environ.get("SLOWDOWN", "1"))
# maps does not show what they change.
HIDDEN = ("mlock", "mlock2", "munlock", "mlockall", "munlockall", "madvise")


def is_slow():
    return int(os.environ.get("SLOWDOWN", "1")) > 1


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def state(pid, task):
    return read(f"/proc/{pid}/task/{task}/stat").rpartition(") ")[2][:1]


def is_settled(target, tracer):
    """Whether all threads are traced and running or asleep, and the tracer is waiting for them."""
    tasks = os.listdir(f"/proc/{target}/task")
    return state(tracer, tracer) == "S" and all(
        f"TracerPid:\t{tracer}\n" in read(f"/proc/{target}/task/{task}/status")
        and state(target, task) in "SR" for task in tasks)


def attach(vmscope, options, program):
    target = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    line = target.stdout.readline().strip()
    pid = int(line) if line.isdigit() else target.pid
    tracer = subprocess.Popen([vmscope, "trace", *options, "-p", str(pid)], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    settled = 0
    while settled < 5 and tracer.poll() is None:
        settled = settled + 1 if is_settled(pid, tracer.pid) else 0
        time.sleep(0.003)
    target.communicate("go\n", timeout=LIMIT)
    out, err = tracer.communicate(timeout=LIMIT)
    return subprocess.CompletedProcess(program, tracer.returncode, out, err)


def start(vmscope, options, program):
    return subprocess.run([vmscope, "trace", *options, "--", *program], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)


def trace(how, vmscope, options, program):
    """A traced run, and its log."""
    with tempfile.NamedTemporaryFile("r") as log:
        run = how(vmscope, ["-q", "-o", log.name, *options], program)
        return run, [json.loads(line) for line in log]


def has_effect(call):
    """Whether the kernel's maps have changed or, if maps does not show the effect of the call,
    whether it has done anything."""
    if call["call"] in HIDDEN:
        return any(e["kind"] == "change" for e in call["events"])
    return call.get("changed", False)


def repeats(call):
    """Whether making the same call again would change more, or have another result."""
    fixed = 0x10
    if call["call"] == "mmap":
        return not int(call["args"][3], 16) & fixed
    if call["call"] == "mremap":
        return int(call["args"][2], 16) > int(call["args"][1], 16)
    return call["call"] in ("shmat", "shmdt")


def skip_if_refused(vmscope):
    """Skips the test if tracing is not permitted."""
    run = start(vmscope, ["-q", "--verify=end"], ["true"])
    if run.returncode != 0 and ("Operation not permitted" in run.stderr or
                                "Function not implemented" in run.stderr):
        print(f"SKIP: tracing is not permitted here: {run.stderr}")
        sys.exit(77)


def main():
    args = sys.argv[1:]
    how_traced = attach if args[0].startswith("--attach=") else start
    needed = args[0].partition("=")[2].split(",") if how_traced is attach else []
    vmscope, *program = args[how_traced is attach:]
    skip_if_refused(vmscope)
    run, log = trace(how_traced, vmscope, [], program)
    if run.returncode != 0:
        sys.exit(f"inject: the faithful run failed ({run.returncode}):\n{run.stderr}")
    # Where emulation makes reading smaps slow, vmscope does not compare VmFlags after each call.
    calls = [r for r in log if r["type"] == "call" and has_effect(r) and
             not (is_slow() and r["call"] in HIDDEN)]
    guesses = {key: log[-1][key] for key in ("raced", "anon_joined", "anon_parted", "anon_emptied",
                                             "anon_inherited", "anon_moved")}
    if not all(guesses[key] for key in needed):
        sys.exit(f"inject: a kind of guess was not needed: {guesses}")
    named = [g for r in log for g in r.get("guesses", [])]
    if guesses != {key: named.count(key) for key in guesses}:
        sys.exit(f"inject: the summary counts {guesses}, the calls name {named}")
    tried = missed = 0
    for call in calls:
        for how in ("drop", "double", "alter"):
            if how == "double" and not repeats(call) or how == "alter" and not call["args"]:
                continue
            run, log = trace(how_traced, vmscope, [f"--inject={how}:{call['n']}"], program)
            hit = [r["call"] for r in log if r.get("injected") == how]
            tried += 1
            for key in guesses:
                guesses[key] += log[-1][key]
            at = [r.get("n") for r in log if r["type"] == "difference"][:1]
            # Which of two calls of threads that meet is the first may change from run to run.
            late = how_traced is start and len(program) == 1 and at != [call["n"]]
            if late or run.returncode != 1 or "difference" not in run.stderr or \
                    hit != [call["call"]]:
                missed += 1
                print(f"not reported: {how} of call {call['n']}, {call['call']}{call['args']}: "
                      f"injected into {hit}, found at {at}, status {run.returncode}\n"
                      f"{run.stderr}")
    print(f"{len(calls)} calls, {tried} injections, {missed} not reported; kept beside them: "
          f"{guesses}")
    if not calls or missed:
        sys.exit(1)


if __name__ == "__main__":
    main()
