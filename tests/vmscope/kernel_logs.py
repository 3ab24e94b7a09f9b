#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What versions of Linux did, replayed by the rules of vmspace_config_kernel().

kernels/VERSION-N.log.gz was written under Debian's kernel of that version by
	vmscope check --ops 1000 --record VERSION-N.log
Each must be equal by the rules that were found there by probing, and by those of its version; also
if half of the rules had not been known when it was written, where that half tells which version it
was. Together they must show that the versions differ.

Usage: kernel_logs.py VMSCOPE RULES_TABLE
"""
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

LOGS = Path(__file__).resolve().parent / "kernels"
# The first half of the rules does not tell it from 5.11 to 5.17, of which the newest is taken.
LIKE_OTHERS = {"5.10"}
OTHER = {"old": "5.10", "new": "7.3"}  # versions whose rules differ from those of most others


def replay(vmscope, text, *options):
    return subprocess.run([vmscope, "replay", "-q", *options, "-"], input=text, text=True,
                          capture_output=True, check=False, timeout=300)


def known_half(text, rules):
    """The log as one would have written it that knew only the first half of the rules."""
    known = rules[:len(rules) // 2]
    return written_knowing(text, known, len(known))


def written_knowing(text, known, count):
    """The log with no rules but the known ones, and with that number of them."""
    lines = []
    for line in text.splitlines():
        record = json.loads(line)
        config = record.get("config")
        if config:
            config["rules"] = [rule for rule in config["rules"] if rule in known]
            config["rules_known"] = count
        lines.append(json.dumps(record))
    return "\n".join(lines) + "\n"


def check(vmscope, path, rules):
    """Returns what is wrong, in words."""
    version = re.match(r"[0-9]+\.[0-9]+", path.name).group()
    text = gzip.decompress(path.read_bytes()).decode()
    ways = {"as it is": (text,), "half of the rules known": (known_half(text, rules),),
            f"--kernel {version}": (text, "--kernel", version)}
    if version in LIKE_OTHERS:
        del ways["half of the rules known"]
    for how, way in ways.items():
        got = replay(vmscope, *way)
        if got.returncode:
            return f"{how}: status {got.returncode}\n{got.stderr[:2000]}"
    return ""


def check_counts(vmscope, path, rules):
    """A writer that knew more rules is believed; what is no number of rules is refused."""
    text = gzip.decompress(path.read_bytes()).decode()
    for count, status in ((2**31 - 1, 0), (len(rules) + 1, 0), (-1, 125), ("50", 125), (None, 125)):
        got = replay(vmscope, written_knowing(text, rules, count))
        if got.returncode != status or ("rules_known" in got.stderr) != (status != 0):
            return f"rules_known {count!r}: status {got.returncode}\n{got.stderr[:500]}"
    return ""


def is_told_apart(vmscope, version):
    """Does a log of the version differ by the rules of another?"""
    other = OTHER["new" if version == OTHER["old"] else "old"]
    return any(replay(vmscope, gzip.decompress(path.read_bytes()).decode(), "--kernel",
                      other).returncode == 1
               for path in LOGS.glob(f"{version}-*.log.gz"))


def main():
    vmscope = sys.argv[1]
    rules = re.findall(r'RULE\([A-Z_]+, "([^"]+)"', Path(sys.argv[2]).read_text("utf-8"))
    logs = sorted(LOGS.glob("*.log.gz"))
    versions = sorted({path.name.partition("-")[0] for path in logs})
    failed = len(logs) < 2 or len(rules) < 40
    for path in logs:
        wrong = check(vmscope, path, rules)
        print(f"{'FAILED' if wrong else 'ok'}: {path.name} {wrong}")
        failed |= bool(wrong)
    wrong = check_counts(vmscope, logs[-1], rules)
    print(f"{'FAILED' if wrong else 'ok'}: numbers of rules {wrong}")
    failed |= bool(wrong)
    for version in versions:
        if not is_told_apart(vmscope, version):
            print(f"FAILED: no log of {version} differs by the rules of another version")
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
