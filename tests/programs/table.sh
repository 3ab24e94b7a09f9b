#!/bin/bash
# SPDX-License-Identifier: MIT
# Traces real programs with vmscope, comparing after every call, and prints a table of the results.
#
#   table.sh VMSCOPE CALLS [large]
#
# CALLS is the program tests/vmscope/calls. Programs that are not installed are skipped, and named.
# With "large": the programs of large.sh instead, which installs them; some minutes each.
# Exits with 1 if any run had a difference or failed.
set -u
vmscope=$1
calls=$2
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
limit=300	# seconds for one program

field() {
	python3 -c 'import json, sys
summary = json.load(open(sys.argv[1]))
print(" | ".join(str(summary.get(name, "?")) for name in sys.argv[2:]))' "$work/summary" "$@"
}

# row NAME COMMAND...
row() {
	row_by "$vmscope" "$work/summary" "$@"
}

# row_by VMSCOPE SUMMARY NAME COMMAND...: VMSCOPE, one or more words, writes to SUMMARY.
row_by() {
	local by=$1 summary=$2 name=$3 status
	shift 3
	command -v "$1" >/dev/null || { echo "| $name | not installed | | | | | |"; return; }
	rm -f "$summary"
	# shellcheck disable=SC2086 # a list of words
	timeout "$limit" $by trace --verify=each --json --summary="$summary" -- "$@" \
		>"$work/out" 2>"$work/err" </dev/null
	status=$?
	[ -s "$summary" ] || echo '{}' >"$work/summary"
	[ "$summary" = "$work/summary" ] || cat "$summary" >"$work/summary"
	if [ "$status" = 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "exit status $status: $*" >&2
		head -40 "$work/err" >&2
	fi
	echo "| $name | $(field processes threads calls checks differences areas_peak) |"
}

echo '| program | processes | threads | calls mirrored | checks made | differences | peak areas |'
echo '|---|---|---|---|---|---|---|'
if [ "${3-}" = large ]; then
	. "$here/large.sh"
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ]
	exit
fi
row 'python3, imports' python3 -c 'import json, sqlite3, ssl, ctypes, multiprocessing'
row 'python3, pool of 4 and 8 threads' python3 "$here/pool.py"
row 'gcc -O2 -c' gcc -O2 -I"$top/include" -c "$top/src/mapletree/plan.c" -o "$work/plan.o"
row 'bash, 200 forks and pipes' bash -c 'for i in $(seq 200); do echo $i | cat; done'
row 'node, 200 MB' node -e 'const kept = [];
for (let i = 0; i < 200; i++) kept.push(Buffer.alloc(1 << 20, 1));
console.log(kept.length)'
row 'java -version' java -version
if command -v javac >/dev/null && javac -d "$work" "$here/Threads.java" 2>"$work/err"; then
	row 'java, threads' java -cp "$work" Threads
else
	echo '| java, threads | no compiler | | | | | |'
fi
row 'git log' git -C "$top" log --stat
row 'git status' git -C "$top" status
row 'every call in every mode' "$calls"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
