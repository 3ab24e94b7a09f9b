#!/bin/bash
# SPDX-License-Identifier: MIT
# Exit statuses and messages, after every way to end or to fail. No process is left behind.
. "$(dirname "$0")/common.sh"
t="$vmscope trace"
refuse=$2

# is_there FILE: the process whose PID is in the file is running (a zombie is not).
is_there() {
	[ -s "$1" ] && grep -q '^State:	[^ZX]' "/proc/$(cat "$1")/status" 2>/dev/null
}

expect 0 "success" $t -q -- true
expect 7 "a status" $t -q -- sh -c 'exit 7'
expect 127 "a missing program" $t -- /nonexistent/program
said "cannot run '/nonexistent/program': No such file" "a missing program"
expect 126 "a file that is no program" $t -- /etc/passwd
said "Permission denied" "a file that is no program"
expect 125 "no command" $t
said "give a command" "no command"
expect 125 "an unknown option" $t --frobnicate -- true
expect 125 "a bad --verify" $t --verify=sometimes -- true
said "'sometimes' is not" "a bad --verify"
expect 125 "a bad --inject" $t --inject=drop:0 -- true
expect 125 "a command and a process" $t -p $$ -- true
expect 125 "no such process" $t -p 4194303
said "no such process" "no such process"
expect 125 "not a number" $t -p x1
expect 125 "an unknown command" "$vmscope" frobnicate
expect 125 "no command at all" "$vmscope"
expect 0 "--help" $t --help
expect 0 "--version" "$vmscope" --version
expect 0 "help" "$vmscope" help
grep -q '^  explain ' "$work/out" || fail "help: $(cat "$work/out")"
for command in trace replay at explain check draw; do
	expect 0 "$command --help" "$vmscope" $command --help
	mv "$work/out" "$work/long"
	expect 0 "help $command" "$vmscope" help $command
	cmp -s "$work/out" "$work/long" || fail "help $command: $(head -3 "$work/out")"
	[ -s "$work/out" ] || fail "help $command says nothing"
done
expect 125 "help for no command" "$vmscope" help frobnicate
said "there is no command 'frobnicate'" "help for no command"

# A kernel whose rules are not known is named in the first line, with what was probed.
expect 0 "an unknown kernel" setarch --uname-2.6 "$vmscope" trace -- true
head -1 "$work/err" | grep -q 'Linux 2\.6.*the rules of 5\.10 to .* probed: ' ||
	fail "an unknown kernel: $(head -1 "$work/err")"
expect 0 "an unknown kernel, quietly" setarch --uname-2.6 "$vmscope" trace -q -- true
[ -s "$work/err" ] && fail "an unknown kernel, quietly: $(head -1 "$work/err")"

# A result that depends on a rule in which versions of Linux differ names the rule.
expect 0 "large mappings" $t -q -o "$work/log" -- python3 -c 'import mmap, threading
large = [mmap.mmap(-1, 2 << 20, mmap.MAP_PRIVATE) for i in range(3)]'
sed 's/"anon-aligned",//' "$work/log" >"$work/older"
if ! cmp -s "$work/log" "$work/older"; then
	expect 1 "another rule" "$vmscope" replay -q "$work/older"
	said 'depends on rule anon-aligned (Linux 6.7-)' "another rule"
fi

# If the program dies by a signal, so does vmscope.
for signal in TERM KILL USR1; do
	number=$(kill -l $signal)
	expect $((128 + number)) "ended by SIG$signal" $t -q -- sh -c "kill -$signal \$\$"
done

# If open files cannot be told apart, vmscope once reported differences that did not exist.
if "$refuse" kcmp true 2>"$work/err"; then
	for call in kcmp pidfd_getfd; do
		expect 125 "$call is refused" "$refuse" $call $t -o "$work/refused" -- true
		said "$call(2) is refused here: Operation not permitted" "$call is refused"
		said "CAP_SYS_PTRACE" "$call is refused"
		[ ! -e "$work/refused" ] || fail "$call is refused: a log was begun"
		expect 0 "$call is refused, --verify=none" "$refuse" $call $t --verify=none -- true
		said "$call(2) is refused here" "$call is refused, --verify=none"
	done
else
	echo "SKIP in part: nothing can be refused here: $(cat "$work/err")"
fi

# Outputs that cannot be written, and inputs that cannot be read, with the cause.
logs=$(dirname "$0")/logs
if [ -w /dev/full ]; then
	for option in "-o /dev/full" "--maps /dev/full" "--summary /dev/full"; do
		expect 125 "$option" $t $option -- true
		said "No space left" "$option"
	done
	for command in help "help trace" --version "trace --help" "replay $logs/steps.log" \
		"at $logs/steps.log 30" "explain $logs/steps.log" "explain $logs/threads.strace" \
		"draw -o - $logs/steps.log" "draw -o /dev/full $logs/steps.log"; do
		expect 125 "$command, to a full disk" sh -c 'exec "$@" >/dev/full' sh \
			"$vmscope" $command
		said "No space left" "$command, to a full disk"
		[ "$(grep -c 'cannot write' "$work/err")" = 1 ] ||
			fail "$command, to a full disk: $(cat "$work/err")"
	done
fi
for command in "trace -o $work -- true" "trace --maps $work -- true" \
	"trace --summary $work -- true" "replay $work" "explain $work" "at $work 1" \
	"at $logs/steps.log --queries=$work" "replay --maps=$work $logs/forks.strace" \
	"draw -o $work $logs/steps.log" "check --replay $work" "check --ops 1 --cover $work"; do
	expect 125 "$command" "$vmscope" $command
	said "$work: Is a directory" "$command"
done
expect 125 "a log in no directory" $t -o /nonexistent/log -- true

# Signals to vmscope are forwarded to the program.
$t -q -- sh -c 'trap "exit 33" TERM; echo ready; while :; do sleep 0.05; done' >"$work/out" 2>&1 &
pid=$!
wait_for grep -q ready "$work/out"
kill -TERM $pid
wait $pid
got=$?
[ $got = 33 ] || fail "SIGTERM was not handed on: status $got"

# If vmscope itself is killed, so are the processes that it has started.
rm -f "$work/pid"
$t -q -- sh -c 'echo $$ >"$1"; exec sleep 7654' sh "$work/pid" &
pid=$!
wait_for is_there "$work/pid"
is_there "$work/pid" || fail "the program does not start"
kill -KILL $pid
wait $pid 2>/dev/null
for i in $(seq 600); do is_there "$work/pid" || break; sleep 0.05; done
is_there "$work/pid" && fail "a killed vmscope left the program running"

# vmscope raises its limit on open files; the program keeps its own.
expect 0 "few open files" bash -c 'ulimit -Sn 64; exec "$@"' few $t -q -- \
	bash -c 'ulimit -Sn; for i in $(seq 60); do sleep 2 & done; wait'
[ "$(cat "$work/out")" = 64 ] || fail "the limit of open files: $(cat "$work/out")"

# The program inherits open files, environment, arguments and ignored signals unchanged.
expect 0 "environment" env -i A=b "$vmscope" trace -q -- /usr/bin/env
[ "$(cat "$work/out")" = "A=b" ] || fail "the environment: $(cat "$work/out")"
ls /proc/self/fd >"$work/untraced" </dev/null 2>"$work/err"
"$vmscope" trace -q -- ls /proc/self/fd >"$work/fds" </dev/null 2>"$work/err"
cmp -s "$work/untraced" "$work/fds" || fail "open descriptors: $(cat "$work/fds")"
(trap '' INT USR2 PIPE; grep SigIgn /proc/self/status >"$work/ignored"
 "$vmscope" trace -q -- grep SigIgn /proc/self/status >"$work/out")
cmp -s "$work/ignored" "$work/out" || fail "ignored signals: $(cat "$work/ignored" "$work/out")"
grep -E 'SigBlk|SigCgt' /proc/self/status >"$work/signals"
"$vmscope" trace -q -- grep -E 'SigBlk|SigCgt' /proc/self/status >"$work/out"
cmp -s "$work/signals" "$work/out" || fail "blocked signals: $(cat "$work/out")"
finish
