#!/bin/bash
# SPDX-License-Identifier: MIT
# A page is written beside the mprotect() that makes it unwritable: whether the area is charged then
# tells which came first. The log replays to the same.
# Usage: charge.sh VMSCOPE CHARGE
. "$(dirname "$0")/common.sh"
charge=$2
trap 'rm -rf "$work"' EXIT

met=0
for seed in 1 2 3 4 5 6; do
	expect 0 "touches beside mprotect(), seed $seed" "$vmscope" trace --json --summary="$work/sum" \
		-o "$work/log" -- "$charge" 200 $seed
	expect 0 "the log of seed $seed" "$vmscope" replay -q "$work/log"
	grep -q '"raced":0,' "$work/sum" || met=$((met + 1))
done
[ "$failures" != 0 ] || [ $met -gt 0 ] || skip "no touch came beside a call, or this kernel never takes a charge"
finish
