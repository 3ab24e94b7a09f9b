# SPDX-License-Identifier: MIT
# tap.sh - sourced: subtests as TAP, and a directory $work that is removed at the end.
number=0
failures=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# skip NAME REASON - one subtest that cannot be run here
skip()
{
	number=$((number + 1))
	echo "ok $number - $1 # SKIP $2"
}

# check NAME COMMAND... - one subtest; its output is shown if it fails.
check()
{
	name=$1
	shift
	number=$((number + 1))
	if "$@" >"$work/log" 2>&1; then
		echo "ok $number - $name"
	else
		sed 's/^/# /' "$work/log"
		echo "not ok $number - $name"
		failures=$((failures + 1))
	fi
}
