# SPDX-License-Identifier: MIT
# Common to the test scripts of vmscope. Their first argument is the vmscope to test.
# Scripts exit with 0 (passed), 1 (failed) or 77 (cannot be tested here).
set -u
vmscope=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
# Limits of time only end what hangs: under emulation they are so many times as long.
slowdown=${SLOWDOWN:-1}

fail() {
	echo "FAILED: $*"
	failures=$((failures + 1))
}

# expect STATUS WHAT COMMAND...: runs the command with its output in $work/out and $work/err.
expect() {
	local status=$1 what=$2 got
	shift 2
	timeout $((120 * slowdown)) "$@" >"$work/out" 2>"$work/err" </dev/null
	got=$?
	[ "$got" = "$status" ] && return 0
	fail "$what: status $got, not $status"
	sed 's/^/    /' "$work/err" | head -40
	return 1
}

# said TEXT WHAT: checks that the last command wrote TEXT to standard error.
said() {
	grep -q -- "$1" "$work/err" || { fail "$2: did not say '$1'"; head -5 "$work/err"; }
}

# wait_for COMMAND...: until it succeeds.
wait_for() {
	for _ in $(seq $((600 * slowdown))); do "$@" 2>/dev/null && return; sleep 0.05; done
	fail "in vain: $*"
}

# is_linux VERSION: this is that version of Linux, or a later one.
is_linux() {
	[ "$(printf '%s\n' $1 "$(uname -r)" | sort -V | head -n 1)" = $1 ]
}

finish() {
	[ "$failures" = 0 ] || exit 1
	exit 0
}

skip() {
	echo "SKIP: $*"
	exit 77
}

# Skip everything if not even 'true' can be traced (in a container without ptrace or kcmp).
if ! timeout $((60 * slowdown)) "$vmscope" trace -q --verify=end -- true 2>"$work/err"; then
	if grep -q 'Operation not permitted\|Function not implemented' "$work/err"; then
		skip "tracing is not permitted here: $(head -1 "$work/err")"
	fi
fi
