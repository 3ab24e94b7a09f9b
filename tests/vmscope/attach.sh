#!/bin/bash
# SPDX-License-Identifier: MIT
# Attaching to a running process with many threads, and detaching without a trace.
# Usage: attach.sh VMSCOPE CHURN LATE
. "$(dirname "$0")/common.sh"
churn=$2
late=$3

"$churn" 8 >"$work/churn" &
target=$!
trap 'kill -KILL $target 2>/dev/null; rm -rf "$work"' EXIT
wait_for grep -q ready "$work/churn"

# On a busy machine it takes a while until vmscope has attached.
wait_until_traced() {
	for i in $(seq 1200); do
		grep -q "TracerPid:	$tracer\$" /proc/$target/status && return
		sleep 0.05
	done
	fail "vmscope does not attach"
}

# How long it takes to see so many calls, nobody knows either.
wait_until_logged() {
	for i in $(seq 1200); do
		[ "$(grep -cs '"type":"call"' "$work/log")" -ge "$1" ] 2>/dev/null && return
		sleep 0.05
	done
	fail "vmscope does not tell of $1 calls"
}

# The shell starts background processes with SIGINT ignored, so use SIGTERM.
# The last time by the number of one of its threads, which means the process.
for when in each end 10 7; do
	number=$target
	[ $when = 7 ] && number=$(ls /proc/$target/task | tail -1)
	rm -f "$work/log"
	"$vmscope" trace --verify=$when --json -o "$work/log" --summary="$work/sum" -p $number 2>"$work/err" &
	tracer=$!
	wait_until_logged 1000
	kill -TERM $tracer
	wait $tracer
	got=$?
	[ $got = 0 ] || { fail "attached with --verify=$when: status $got"; head -30 "$work/err"; }
	grep -q '"calls":[1-9]' "$work/sum" || fail "no call was seen: $(cat "$work/sum")"
	grep -q '"checks":[1-9]' "$work/sum" || fail "nothing was checked: $(cat "$work/sum")"
	kill -0 $target || { fail "the process did not survive"; finish; }
	grep -q 'TracerPid:	0' /proc/$target/status || fail "the process is still traced"
	grep -q 'State:	[tT]' /proc/$target/status && fail "the process was left stopped"
done

# A stopped process stays stopped. One that exits does so normally, and vmscope passes on its
# status.
kill -STOP $target
"$vmscope" trace -q -p $target 2>"$work/err" &
tracer=$!
wait_until_traced
sleep 0.2
kill -TERM $tracer
wait $tracer || fail "attached to a stopped process: $(head -40 "$work/err")"
wait_for grep -q 'State:	T' /proc/$target/status
grep -q 'State:	T' /proc/$target/status ||
	fail "it does not stay stopped: $(grep State /proc/$target/status)"
kill -CONT $target
"$vmscope" trace -q -p $target 2>"$work/err" &
tracer=$!
wait_until_traced
sleep 0.2
kill -USR1 $target
wait $tracer
got=$?
[ $got = 21 ] || fail "the end of the process: status $got, not 21: $(head -40 "$work/err")"
wait $target
got=$?
[ $got = 21 ] || fail "the process itself ended with $got"

# A thread that does not stop in time is followed as soon as it stops: nothing hangs.
"$late" 4 >"$work/late" &
target=$!
wait_for grep -q ready "$work/late"
timeout -k 1 $((30 * slowdown)) "$vmscope" trace -q -p $target 2>"$work/err"
got=$?
[ $got = 23 ] || fail "a thread that stops late: status $got, not 23: $(head -40 "$work/err")"
finish
