#!/bin/bash
# SPDX-License-Identifier: MIT
# A program killed while it forks: vmscope once waited for ever for the report of a child.
# Usage: orphans.sh VMSCOPE ORPHANS
. "$(dirname "$0")/common.sh"
orphans=$2

for i in $(seq 12); do
	rm -f "$work/sum"
	# vmscope dies by SIGKILL, like the program; the summary written before shows whether it worked.
	(timeout -s KILL $((30 * slowdown)) "$vmscope" trace -q --json --summary="$work/sum" -- "$orphans" "$i" \
		>"$work/out" 2>"$work/err") 2>/dev/null
	got=$?
	[ $got = 137 ] || fail "run $i: status $got, not 137: $(head -20 "$work/err")"
	[ -s "$work/sum" ] || fail "run $i: vmscope did not end by itself"
	grep -q '"differences":0,' "$work/sum" || fail "run $i: $(cat "$work/sum")"
done
finish
