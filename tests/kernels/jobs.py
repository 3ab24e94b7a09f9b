# SPDX-License-Identifier: MIT
"""What runs in a guest: tests as meson knows them, programs under vmscope trace, vmscope check."""

import fnmatch
import json
import os
from dataclasses import dataclass

# Those that ask the kernel most come first. oracle, vmspace: of tests/vmspace, what compares with
# the kernel, and the rest.
SUITES = ("oracle", "trace", "check", "vmscope", "vmspace")

# meson's limits of time are for this machine, and end only what hangs; a guest without KVM is slow.
LIMIT_FACTOR = 20
SCRATCH = "/scratch"  # the guests' directory for temporary files
TRACE_LIMIT = 1200
CHECK_MARGIN = 600  # for the round under way when its time is up, and to shorten a difference

THREADS = """
import threading
def work():
    kept = []
    for i in range(20):
        kept.append(bytearray(i * 20000))
        if len(kept) > 8: kept.pop(0)
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
"""

TRACED = (
    ("python3 with threads", ["/usr/bin/python3", "-c", THREADS]),
    ("python3, imports", ["/usr/bin/python3", "-c", "import json, ctypes, multiprocessing"]),
    ("perl", ["/usr/bin/perl", "-e",
              'my @a = map { "x" x $_ } 1 .. 2000; print scalar(@a), "\\n"']),
    ("bash with pipes", ["/bin/bash", "-c", "for i in 1 2 3 4 5 6 7 8; do echo $i | cat; done"]),
)


@dataclass(frozen=True)
class Job:
    suite: str
    name: str
    argv: list
    directory: str  # where it runs
    limit: int  # seconds in the guest


def introspect(build, what):
    with open(os.path.join(build, "meson-info", f"intro-{what}.json"), encoding="utf-8") as file:
        return json.load(file)


def programs(build):
    """The programs of the suites with their libraries, and vmscope: what is built, and put into guests."""
    found = []
    for target in introspect(build, "targets"):
        place = target["defined_in"]
        if target["type"] in ("executable", "shared library") and any(
                f"/{directory}/meson.build" in place
                for directory in ("tests/vmspace", "tests/vmscope", "tools/vmscope")):
            found += target["filename"]
    return found


def needed(build, planned):
    """Those that the jobs run. What a test of vmscope runs, or a command, its words do not tell."""
    if any(job.suite in ("vmscope", "command") for job in planned):
        return programs(build)
    words = {os.path.realpath(word) for job in planned for word in job.argv}
    return [program for program in programs(build) if os.path.realpath(program) in words]


def in_guest(build, words):
    """A test's command: what is neither built nor of the checkout is the guest's own."""
    source = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
    first = words[0]
    if not os.path.realpath(first).startswith((os.path.realpath(build), source)):
        first = "/usr/bin/" + os.path.basename(first)
    return [first] + words[1:]


def tests(build, suite):
    for test in introspect(build, "tests"):
        tags = {name.split(":")[-1] for name in test["suite"]}
        place = "vmscope" if "vmscope" in tags else "vmspace" if "vmspace" in tags else None
        if suite == ("oracle" if place == "vmspace" and "oracle" in tags else place):
            yield Job(suite, test["name"], in_guest(build, test["cmd"]),
                      test["workdir"] or os.path.realpath(build), test["timeout"] * LIMIT_FACTOR)


def traces(vmscope):
    for name, program in TRACED:
        yield Job("trace", name, [vmscope, "trace", "--verify=each", "--", *program],
                  SCRATCH, TRACE_LIMIT)


def check(vmscope, seconds, ops):
    """Ends after so many operations or seconds. The log of a difference is part of the output."""
    script = ('"$@" -o difference.log; status=$?; '
              '[ ! -s difference.log ] || cat difference.log; exit $status')
    yield Job("check", "check", ["/bin/sh", "-c", script, "sh", vmscope, "check",
                                 "--ops", str(ops), "--duration", str(seconds)],
              SCRATCH, seconds + CHECK_MARGIN)


def plan(build, suites, seconds, ops):
    """The jobs of some suites."""
    vmscope = os.path.join(build, "tools/vmscope/vmscope")
    jobs = []
    for suite in suites:
        if suite == "trace":
            jobs += traces(vmscope)
        elif suite == "check":
            jobs += check(vmscope, seconds, ops)
        else:
            jobs += tests(build, suite)
    return jobs


def named(jobs, only, without):
    """Those whose name fits one of the patterns "only", if there are any, and none of "without"."""
    def fits(job, patterns):
        return any(fnmatch.fnmatch(job.name, pattern) for pattern in patterns)

    return [job for job in jobs if (not only or fits(job, only)) and not fits(job, without)]
