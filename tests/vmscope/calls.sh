#!/bin/bash
# SPDX-License-Identifier: MIT
# Every call in every mode under vmscope: no difference, and the same output and status as without.
# Usage: calls.sh VMSCOPE CALLS WHEN [GROUP...]
. "$(dirname "$0")/common.sh"
calls=$2
when=$3
shift 3

if ! "$calls" "$@" >"$work/untraced" 2>&1; then
	echo "the program fails untraced"
	cat "$work/untraced"
	exit 1
fi
expect 0 "calls $*, --verify=$when" "$vmscope" trace --verify="$when" --json --summary="$work/sum" \
	-- "$calls" "$@"
cmp -s "$work/untraced" "$work/out" || fail "the output is another one under vmscope"
grep -q '"differences":0,' "$work/sum" || fail "differences: $(cat "$work/sum")"
grep -q '"unfollowed":0,' "$work/sum" || fail "not followed to the end: $(cat "$work/sum")"
if [ "$when" = none ]; then
	grep -q '"checks":0,' "$work/sum" || fail "--verify=none checked"
else
	grep -q '"checks":[1-9]' "$work/sum" || fail "nothing was checked"
fi
finish
