"""Adds up meson's test logs: count.py STATUS FILE...

A test program that prints TAP counts as its subtests, any other as one.  STATUS is that of the
run itself: a run that failed without any failed test (it did not build, say) counts as a failure.
"""

import json
import re
import sys

SUBTEST = re.compile(r"^(not )?ok \d+\b(.*)", re.MULTILINE)
SKIP = re.compile(r"#\s*skip", re.IGNORECASE)


def count(record):
    """Returns (passed, failed) of one test program."""
    passed = failed = 0
    subtests = SUBTEST.findall(record.get("stdout") or "")
    for bad, rest in subtests:
        if bad:
            failed += 1
        elif not SKIP.search(rest):
            passed += 1
    if record["result"] in ("OK", "EXPECTEDFAIL"):
        return (passed if subtests else 1), failed
    if record["result"] == "SKIP":
        return passed, failed
    return passed, max(failed, 1)


def main():
    status = int(sys.argv[1])
    passed = failed = 0
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as log:
            for line in log:
                more_passed, more_failed = count(json.loads(line))
                passed += more_passed
                failed += more_failed
    if failed == 0 and (status != 0 or passed == 0):
        print("the run failed outside of the tests; see above")
        failed = 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
