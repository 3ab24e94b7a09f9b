"""Adds up a log of meson's tests: count.py STATUS LOG SKIPPED REASON prints
"N passed, N failed, N skipped".

A program that prints TAP counts as its subtests, any other as one. A run that failed without a
failed test (STATUS is not 0) counts as a failure, and so does one without a test. SKIPPED tests
were not run for REASON. The reasons follow, one a line.
"""

import collections
import json
import re
import sys

SUBTEST = re.compile(r"^(not )?ok \d+\b([^#\n]*)(?:#\s*skip\S*\s*(.*))?", re.MULTILINE | re.IGNORECASE)


def main():
    counts = collections.Counter()
    reasons = collections.Counter()
    explained = False
    counts["skipped"] = reasons[sys.argv[4]] = int(sys.argv[3])
    with open(sys.argv[2], encoding="utf-8") as log:
        for line in log:
            record = json.loads(line)
            good = record["result"] in ("OK", "EXPECTEDFAIL")
            failed = skipped = 0
            subtests = SUBTEST.findall(record.get("stdout") or "")
            for bad, _, reason in subtests:  # cmocka says "not ok 2 # SKIP name"
                skipped += bool(reason)
                failed += bool(bad and not reason)
                reasons[reason] += bool(reason)
            counts["skipped"] += skipped
            counts["failed"] += failed
            counts["passed"] += len(subtests) - skipped - failed
            if record["result"] == "SKIP":
                counts["skipped"] += not subtests
            elif not subtests:
                counts["passed" if good else "failed"] += 1
            elif not good and not failed and not skipped:
                counts["failed"] += 1
            explained |= skipped > 0
    if counts["failed"] == 0 and ((sys.argv[1] != "0" and not explained) or not counts["passed"]):
        counts["failed"] = 1
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    for reason, times in reasons.items():
        if times:
            print(f"  {times} skipped: {reason}")
    return 1 if counts["failed"] else 0


sys.exit(main())
