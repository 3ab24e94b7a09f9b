#!/bin/bash
# SPDX-License-Identifier: MIT
# The contents of the log, the maps and the summary.
# Usage: output.sh VMSCOPE STEPS
. "$(dirname "$0")/common.sh"
steps=$2

expect 0 "steps" "$vmscope" trace -o "$work/log" --maps "$work/maps" --json \
	--summary="$work/sum" -- "$steps"
python3 - "$work" "$steps" <<'EOF' || fail "the log, the maps or the summary"
import json, re, sys
work, steps = sys.argv[1:]
log = [json.loads(line) for line in open(work + "/log")]
summary = json.load(open(work + "/sum"))
assert log[0]["type"] == "start" and log[0]["log"] == "vmscope" and log[0]["version"] == 1
assert log[0]["command"] == [steps]
assert log[0]["revision"] == 5
# What a replay needs: how the address space began, each request, and how it ended.
assert [r["type"] for r in log[1:3]] == ["space", "exec"] and len(log[1]["areas"]) >= 8
assert all("do" in r for r in log if r["type"] == "call" and "request" in r)
assert [r["occasion"] for r in log if r["type"] == "end"] == ["exit"]
assert log[-1]["type"] == "summary" and log[-1]["calls"] == summary["calls"]
calls = [r for r in log if r["type"] == "call"]
assert [c["n"] for c in calls] == list(range(1, summary["calls"] + 1))
assert sum(summary["calls_by_kind"].values()) == summary["calls"]
for kind in ("mmap", "munmap", "mprotect", "mremap", "madvise", "mlock", "mlock2", "munlock",
             "mlockall", "munlockall", "prctl", "shmat", "shmdt", "brk"):
    assert summary["calls_by_kind"][kind] >= 1, kind
    assert any(c["call"] == kind for c in calls), kind
assert summary["checks"] >= summary["calls"] and summary["differences"] == 0
assert summary["processes"] == 1 and summary["areas_peak"] >= 10 and summary["tree"]["nodes"] >= 1
# One thread, started by vmscope: no guesses.
for guess in ("raced", "lost_performed", "anon_joined", "anon_parted", "anon_emptied",
              "anon_inherited", "anon_moved"):
    assert summary[guess] == 0, guess
assert not any("guesses" in r for r in log)
for c in calls:
    assert all(re.fullmatch("0x[0-9a-f]+|0", a) for a in c["args"]), c
    for event in c.get("events", []):
        assert event["kind"] and int(event["start"], 16) <= int(event["end"], 16), c
merges = [e for c in calls for e in c["events"] if e["kind"] in ("merge", "no-merge")]
assert merges and all(e["verdict"] for e in merges)
maps = open(work + "/maps").read().splitlines()
assert re.match(r"# process \d+ \(steps\) at its exit$", maps[0]), maps[0]
lines = [l for l in maps[1:] if l]
area = r"[0-9a-f]+-[0-9a-f]+ [r-][w-][x-][ps] "
assert len(lines) >= 10 and all(re.match(area, l) for l in lines)
assert any(l.endswith("[stack]") for l in lines)
EOF

# The summary as text, and --quiet.
expect 0 "summary" "$vmscope" trace -- "$steps"
said "calls mirrored" "summary"
said " 0 differences" "summary"
expect 0 "quiet" "$vmscope" trace -q -- "$steps"
[ -s "$work/err" ] && fail "-q was not quiet: $(cat "$work/err")"

# The report of a difference: the call, both sides, the merge verdict.
n=$(grep -m1 '"call":"munmap"' "$work/log" | sed 's/.*"n":\([0-9]*\),.*/\1/')
expect 1 "a difference" "$vmscope" trace -q --inject="drop:$n" -o "$work/log" -- "$steps"
said "difference 1: process" "a difference"
said "after call $n: munmap(0x" "a difference"
said "^  - \|^  + " "a difference"
expect 1 "a difference in colour" "$vmscope" trace -q --color=always --inject="drop:$n" -- "$steps"
said $'^\033\\[1;31mvmscope: difference 1: .*\033\\[m$' "a difference in colour"
said $'^\033\\[3[12]m  [-+] .*\033\\[m$' "a difference in colour"
grep -q '"type":"difference"' "$work/log" || fail "the difference is not in the log"
grep -q '"injected":"drop"' "$work/log" || fail "the injection is not in the log"
finish
