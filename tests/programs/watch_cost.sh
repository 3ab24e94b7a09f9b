#!/bin/bash
# SPDX-License-Identifier: MIT
# What watching costs a loop of mmap and munmap: bare, under vmscope watch, under strace and under
# vmscope trace, by turns. Prints medians of RUNS (default 5) in microseconds a pair, of the time that
# the program itself ran on a processor, and of the clock; and their ratios to the bare program.
#
#   watch_cost.sh VMSCOPE PAIRS [RUNS]
set -eu
vmscope=$1 pairs=$2 runs=${3:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/loop.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
static double at(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}
int main(int argc, char **argv)
{
	const int pairs = argc > 1 ? atoi(argv[1]) : 1;
	double cpu = at(CLOCK_PROCESS_CPUTIME_ID), clock = at(CLOCK_MONOTONIC);

	for (int i = 0; i < pairs; i++)
		munmap(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
	printf("%.3f %.3f\n", (at(CLOCK_PROCESS_CPUTIME_ID) - cpu) / pairs,
	       (at(CLOCK_MONOTONIC) - clock) / pairs);
	return 0;
}
END
cc -O2 -o "$work/loop" "$work/loop.c"
for run in $(seq "$runs"); do
	"$work/loop" "$pairs" >>"$work/bare"
	"$vmscope" watch -q -- "$work/loop" "$pairs" >>"$work/watch"
	"$vmscope" trace -q --verify=end -- "$work/loop" "$pairs" >>"$work/trace"
	if command -v strace >/dev/null; then
		strace -f -qq -e trace=%memory -o /dev/null "$work/loop" "$pairs" >>"$work/strace"
	fi
done
median() { # FILE FIELD
	sort -n -k"$2,$2" "$1" | awk -v f="$2" '{ v[NR] = $f } END { print v[int((NR + 1) / 2)] }'
}
for name in bare watch strace trace; do
	[ -f "$work/$name" ] || continue
	awk -v n=$name -v c="$(median "$work/$name" 1)" -v w="$(median "$work/$name" 2)" \
		-v bc="$(median "$work/bare" 1)" -v bw="$(median "$work/bare" 2)" 'BEGIN {
		printf "%-8s cpu %8.3f us (%.2f times)   clock %8.3f us (%.2f times)\n",
		       n, c, c / bc, w, w / bw }'
done
