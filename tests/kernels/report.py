# SPDX-License-Identifier: MIT
"""What a guest sent, as results of jobs; and the results of many guests as a table."""

import collections
import re
from dataclasses import dataclass, field

SUBTEST = re.compile(r"^(not )?ok \d+\b[ -]*(.*)")
REASON = re.compile(r"^SKIP(?: in part)?: *(.*)")
SKIPPED = 77  # the exit status of a test that cannot be run
DIFFERENCES = re.compile(r"\b(\d+) differences")


@dataclass
class Result:
    """One job: its tests (TAP's subtests, or itself) by how they went."""
    suite: str
    name: str
    passed: int = 0
    failed: list = field(default_factory=list)  # names, or what happened
    skipped: list = field(default_factory=list)  # reasons
    differences: int = 0
    seconds: float = 0
    output: list = field(default_factory=list)


def judge(job, status, seconds, output):
    """The result of a job that ended."""
    result = Result(job.suite, job.name, seconds=seconds, output=output)
    reasons = [found.group(1) for found in map(REASON.match, output) if found]
    subtests = 0
    for bad, rest in (match.groups() for match in map(SUBTEST.match, output) if match):
        subtests += 1
        if re.search(r"#\s*skip", rest, re.IGNORECASE):
            result.skipped.append(re.sub(r"^#\s*skip\s*", "", rest, flags=re.IGNORECASE))
        elif bad:
            result.failed.append(rest)
        else:
            result.passed += 1
    for found in map(DIFFERENCES.search, output):
        if found:
            result.differences += int(found.group(1))
    if status == str(SKIPPED):
        if not subtests:
            result.skipped.append((reasons or ["no reason given"])[0])
    elif status != "0" and not result.failed:
        result.failed.append({"time": f"over its limit of {job.limit} s"}.get(
            status, f"status {status}"))
    elif not subtests and not result.failed:
        result.passed = 1
    if reasons and len(result.skipped) == len(reasons):
        result.skipped = [why if name == why else f"{name}: {why}"
                          for name, why in zip(result.skipped, reasons)]
    if not subtests and status != str(SKIPPED):
        result.skipped += [f"a part of {job.name}: {why}" for why in reasons]
    return result


def parse(lines, jobs, problem=None):
    """The results of the jobs, from what a guest sent.

    What is missing has failed; and so has a guest that had a problem, that did not come to its end,
    or that refused one of its settings.
    """
    results, guest = {}, [problem] if problem else []
    number, output = None, []
    done = False
    for line in lines:
        line = line.rstrip("\r\n")
        words = line.split(" ")
        if line.startswith("| ") or line == "|":
            output.append(line[2:])
        elif words[0] == "@begin":
            number, output = int(words[1]), []
        elif words[0] == "@end" and len(words) == 4 and int(words[1]) == number:
            results[number] = judge(jobs[number], words[2], float(words[3]), output)
            number = None
        elif words[0] == "@refused":
            guest.append(line[1:])
        elif words[0] == "@done":
            done = True
    for missing, job in enumerate(jobs):
        if missing not in results:
            why = f"the guest {'ended during' if missing == number else 'had ended before'} it"
            results[missing] = Result(job.suite, job.name, failed=[why],
                                      output=output if missing == number else [])
    if not done and not problem:
        guest.append("it ended too early")
    return [results[i] for i in range(len(jobs))] + \
        [Result("guest", "itself", failed=guest)] * bool(guest)


def cell(results):
    """What a table says of a suite in a guest."""
    counts = collections.Counter()
    for result in results:
        counts["passed"] += result.passed
        counts["failed"] += len(result.failed)
        counts["skipped"] += len(result.skipped)
        counts["differences"] += result.differences
    return ", ".join(f"{counts[what]} {what}" for what in
                     ("passed", "failed", "skipped", "differences")
                     if counts[what] or what == "passed")


def table(guests, suites):
    """Lines of a table. guests: [(kernel, variant, results, or why there are none)]"""
    lines = ["| kernel | variant | " + " | ".join(suites) + " |",
             "|---|---|" + "---|" * len(suites)]
    for kernel, variant, results in guests:
        if isinstance(results, str):
            rest = " |" * (len(suites) - 1)
            lines.append(f"| {kernel} | {variant} | skipped: {results.split(': ')[0]} |{rest}")
            continue
        cells = [cell([result for result in results if result.suite == suite]) for suite in suites]
        lines.append(f"| {kernel} | {variant} | " + " | ".join(cells) + " |")
    return lines


def details(guest, results):
    """Lines that tell what failed and why what was skipped."""
    lines = []
    for result in results:
        for what in result.failed:
            lines.append(f"FAIL {guest}: {result.suite}: {result.name}: {what}")
    reasons = collections.Counter(f"{result.suite}: {why}" for result in results
                                  for why in result.skipped)
    for why, times in reasons.items():
        lines.append(f"SKIP {guest}: {why}" + (f" ({times} times)" if times > 1 else ""))
    return lines
