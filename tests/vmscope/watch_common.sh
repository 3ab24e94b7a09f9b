# SPDX-License-Identifier: MIT
# Common to the test scripts of vmscope watch. Usage: SCRIPT VMSCOPE DIRECTORY
#   DIRECTORY: where the programs are that they watch
. "$(dirname "$0")/common.sh"
programs=$2
target=
trap '[ -z "$target" ] || kill -KILL $target 2>/dev/null; rm -rf "$work"' EXIT

# Where nobody may, that is said in words, and it is not a failure of anything else. Linux before
# 6.1 is named, and what can be used there.
"$vmscope" watch -q -- true 2>"$work/err"
got=$?
if [ $got = 125 ] && grep -qE "cannot watch: (it takes|this kernel has no|this is Linux|the kernel)|was built without" \
	"$work/err"; then
	if [ "$(id -u)" = 0 ] && [ -r /sys/kernel/btf/vmlinux ] && ! grep -q "was built without" "$work/err"; then
		if ! is_linux 6.1; then
			grep -q "this is Linux $(uname -r), and it takes 6.1 or later. 'vmscope trace -p PID'" \
				"$work/err" || fail "an old kernel: $(cat "$work/err")"
			"$vmscope" watch -- echo it has run >"$work/out" 2>&1
			grep -q "it has run" "$work/out" && fail "an old kernel: the command was run"
		elif grep -q "this is Linux" "$work/err"; then
			fail "a kernel that has all it takes: $(cat "$work/err")"
		else
			# A container refuses any program (EPERM, or EACCES). Other errors, and
			# whatever the verifier has a word about, are about this program.
			VMSCOPE_DEBUG_BPF=1 "$vmscope" watch -q -- true 2>"$work/debug"
			grep -q "the kernel does not take the program" "$work/err" ||
				grep -q "BEGIN PROG LOAD LOG" "$work/debug" &&
				fail "a kernel that has all it takes: $(cat "$work/err"): $(tail -20 "$work/debug")"
		fi
		[ "$failures" = 0 ] || finish
	fi
	skip "$(cat "$work/err")"
fi
[ $got = 0 ] || fail "watch -- true: status $got: $(cat "$work/err")"

has() { # KEY VALUE: the summary in $work/err has it
	grep -qE "\"$1\":$2[,}]" "$work/err" || fail "$what: not $1 $2: $(tail -5 "$work/err")"
}

ended() { # STATUS: it ended so, and nothing differed from the kernel
	[ $got = $1 ] || fail "$what: status $got: $(tail -5 "$work/err")"
	has differences 0
}

# Nothing is stopped, and the log is played with the same result, to the same areas.
replays() {
	"$vmscope" replay "$work/log" >/dev/null 2>"$work/replay" ||
		fail "$what: replay: $(tail -5 "$work/replay")"
	grep -q ", 0 differences" "$work/replay" || fail "$what: replay: $(tail -5 "$work/replay")"
}

# A preemptible kernel may leave out events, which is said (docs/kernels.md).
preempts=
if grep -qE '\((full|lazy)\)' /sys/kernel/debug/sched/preempt 2>/dev/null ||
	uname -v | grep -qE 'PREEMPT(_RT)? '; then
	preempts=1
fi

left_out() { # it has, in the run of which $work/err tells
	[ -n "$preempts" ] && grep -q '"events_lost":[1-9]' "$work/err" &&
		grep -q "events were lost" "$work/err"
}

# watched PROGRAM...: runs it under watch, whose status is $got then. If events were left out there is
# no difference either, in no replay, and it is run again; false: that was so each time.
watched() {
	for _ in 1 2 3 4 5; do
		"$vmscope" watch --json -o "$work/log" -- "$@" >"$work/out" 2>"$work/err"
		got=$?
		left_out || return 0
		has differences 0
		replays
	done
	echo "SKIP in part: $what: this preemptible kernel has left out events of each run"
	return 1
}
