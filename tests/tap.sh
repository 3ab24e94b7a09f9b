#!/bin/sh
# SPDX-License-Identifier: MIT
# tap.sh COMMAND... - does each command (a string of words) print TAP that every meson accepts?
# Since meson 1.7 nothing may stand before "TAP version N", not even a comment; cmocka prints that
# line since 1.1.7, so its programs must begin with it or, older ones, with the plan. All versions
# complain of lines that are not TAP.
set -u

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0

fail()
{
	echo "$1:"
	sed 's/^/    /' "$work/out"
	failures=$((failures + 1))
}

for command in "$@"; do
	# shellcheck disable=SC2086 # a command is words
	$command >"$work/out" || fail "$command: status $?"
	if grep -Ev '^(TAP version [0-9]+|1\.\.[0-9]+.*|(not )?ok\>.*|Bail out!.*|#.*|)$' \
		"$work/out" >"$work/odd"; then
		cp "$work/odd" "$work/out"
		fail "$command: lines that are not TAP"
	elif [ "${CMOCKA_MESSAGE_OUTPUT-}" = TAP ] && head -n 1 "$work/out" | grep -q '^#'; then
		fail "$command: a comment comes first"
	fi
done
[ "$failures" -eq 0 ]
