#!/bin/bash
# SPDX-License-Identifier: MIT
# Attaching to threads that move memory: its page offsets are those of where it was before. Eight
# times, with other calls each time; the log replays to the same areas.
# Usage: moves.sh VMSCOPE MOVES
. "$(dirname "$0")/common.sh"
moves=$2
target=
trap 'kill -KILL $target 2>/dev/null; rm -rf "$work"' EXIT

told=0
for seed in 1 2 3 4 5 6 7 8; do
	rm -f "$work/ready" "$work/log" # or those of before are looked at
	"$moves" 6 $seed >"$work/ready" &
	target=$!
	wait_for grep -q ready "$work/ready"
	"$vmscope" trace --json --summary="$work/sum" -o "$work/log" -p $target 2>"$work/err" &
	tracer=$!
	# It is there a second after it was made. How long vmscope takes to attach, nobody knows.
	wait_for grep -q '"type":"call"' "$work/log"
	sleep 1
	kill -TERM $tracer
	wait $tracer
	grep -q '"differences":0,' "$work/sum" ||
		{ fail "attached, seed $seed: $(cat "$work/sum")"; head -30 "$work/err"; }
	grep -q '"anon_moved":0,' "$work/sum" || told=$((told + 1))
	expect 0 "the log of seed $seed" "$vmscope" replay "$work/log"
	kill -KILL $target
	wait $target 2>/dev/null
done
# On a busy machine there may be few calls, but not each time.
[ $told -gt 0 ] || fail "nothing had been moved"
finish
