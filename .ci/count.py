"""Adds up what was tested: count.py STATUS FILE...

A FILE ending in .json is a log of meson's: a test program that prints TAP counts as its subtests, any
other as one.  Other FILEs have lines that begin with PASS, FAIL or SKIP.  What was skipped is named.
STATUS is that of the run itself: a run that failed without any failed test (it did not build, say)
counts as a failure.
"""

import collections
import json
import re
import sys

SUBTEST = re.compile(r"^(not )?ok \d+\b(.*)", re.MULTILINE)
SKIP = re.compile(r"#\s*skip", re.IGNORECASE)


def count_program(record, totals):
    """Adds one test program of meson's log."""
    here = collections.Counter()
    subtests = SUBTEST.findall(record.get("stdout") or "")
    for bad, rest in subtests:
        if SKIP.search(rest):  # cmocka says "not ok 2 # SKIP name"
            print(f"skipped: {record['name']}: {rest.strip(' -')}")
        else:
            here["failed" if bad else "passed"] += 1
    if record["result"] == "SKIP" and not subtests:
        print(f"skipped: {record['name']}: {(record.get('stdout') or '').strip()}")
    elif record["result"] in ("OK", "EXPECTEDFAIL"):
        here["passed"] += not subtests
    elif record["result"] != "SKIP" and not here["failed"]:
        here["failed"] = 1
    totals.update(here)


def count_line(line, totals):
    word = line.split(" ", 1)[0]
    totals["passed"] += word == "PASS"
    totals["failed"] += word == "FAIL"
    if word == "SKIP":
        print(f"skipped: {line.split(' ', 1)[1].strip()}")


def main():
    totals = collections.Counter(passed=0, failed=0)
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as log:
            for line in log:
                if path.endswith(".json"):
                    count_program(json.loads(line), totals)
                else:
                    count_line(line, totals)
    if totals["failed"] == 0 and (sys.argv[1] != "0" or totals["passed"] == 0):
        print("the run failed outside of the tests; see above")
        totals["failed"] = 1
    print(f"{totals['passed']} passed, {totals['failed']} failed")
    return 1 if totals["failed"] else 0


sys.exit(main())
