#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hides, doubles and alters single calls before they reach the mirror: each must be reported.

Usage: inject.py VMSCOPE PROGRAM
"""
import json
import subprocess
import sys
import tempfile


def trace(vmscope, options, program):
    return subprocess.run([vmscope, "trace", "-q", *options, "--", program], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60)


def changing_calls(vmscope, program):
    """The calls of a faithful run that changed something, by number."""
    with tempfile.NamedTemporaryFile("r") as log:
        run = trace(vmscope, ["-o", log.name], program)
        if run.returncode != 0:
            sys.exit(f"inject: the faithful run failed ({run.returncode}):\n{run.stderr}")
        records = [json.loads(line) for line in log]
    return [r for r in records if r["type"] == "call" and has_effect(r)]


def has_effect(call):
    """Whether the kernel's maps changed, or, for calls whose effect maps does not show, whether
    anything was done."""
    hidden = ("mlock", "mlock2", "munlock", "mlockall", "munlockall", "madvise")
    if call["call"] in hidden:
        return any(e["kind"] == "change" for e in call["events"])
    return call.get("changed", False)


def repeats(call):
    """Whether the same call once more would change something more, or answer otherwise."""
    fixed = 0x10
    if call["call"] == "mmap":
        return not int(call["args"][3], 16) & fixed
    if call["call"] == "mremap":
        return int(call["args"][2], 16) > int(call["args"][1], 16)
    return call["call"] in ("shmat", "shmdt")


def main():
    vmscope, program = sys.argv[1:]
    calls = changing_calls(vmscope, program)
    tried = missed = 0
    for call in calls:
        for how in ("drop", "double", "alter"):
            if how == "double" and not repeats(call) or how == "alter" and not call["args"]:
                continue
            run = trace(vmscope, [f"--inject={how}:{call['n']}"], program)
            tried += 1
            if run.returncode != 1 or "difference" not in run.stderr:
                missed += 1
                print(f"not reported: {how} of call {call['n']}, {call['call']}{call['args']}: "
                      f"status {run.returncode}\n{run.stderr}")
    print(f"{len(calls)} calls, {tried} injections, {missed} not reported")
    if not calls or missed:
        sys.exit(1)


main()
