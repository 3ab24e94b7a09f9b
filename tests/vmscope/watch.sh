#!/bin/bash
# SPDX-License-Identifier: MIT
# vmscope watch: programs that are never stopped, their areas compared at forks and at their ends;
# and what is not watched.
. "$(dirname "$0")/watch_common.sh"

# Before Linux 6.7 no program can go through areas (docs/kernels.md).
one_by_one=
is_linux 6.7 || one_by_one=1

for what in "steps" "meet 4" "heirs"; do
	watched "$programs"/$what || continue
	ended 0
	# While a thread has the lock nobody can look at the areas around another's call: where they
	# are shown one by one, that is said, and they are read again, as docs/kernels.md has it.
	if [ -n "$one_by_one" ] && [ "$what" = "meet 4" ]; then
		has rereads "$(grep -c "(meet): read again, as .* things were not known for sure" "$work/err")"
	else
		has rereads 0
	fi
	has events_lost 0
	has checks '[1-9][0-9]*'
	has calls '[1-9][0-9]*'
	replays
done

# Children, pipes, programs that are executed in a vforked or a forked process; the exit status.
what="a shell"
if watched bash -c 'ls | wc -l >/dev/null; (true; exit 3)'; then
	ended 3
	has rereads 0
	has processes 4
	has execs 3
	replays
	# 3 << 8, as waitpid() has it, of the shell and of its child.
	[ "$(grep '"type":"exit"' "$work/log" | grep -c '"status":768}')" = 2 ] ||
		fail "$what: $(grep '"type":"exit"' "$work/log")"
fi
# Without exit_group.
what="a thread that ends"
if watched python3 -c 'import ctypes; ctypes.CDLL(None).syscall(60, 5)'; then
	ended 5
	grep '"type":"exit"' "$work/log" | grep -q '"status":1280}' ||
		fail "$what: $(grep '"type":"exit"' "$work/log")"
fi
# Spaces whose places in the kernel's memory others get, before all that they did has been told.
what="many children"
if watched bash -c 'for i in 1 2 3 4 5 6; do /bin/true & /bin/true & /bin/true & wait; done'; then
	ended 0
	has unfollowed 0
	has processes 19
	has execs 19
fi
# Four threads that change areas all the time, from their start to their end.
what="busy threads"
if watched "$programs/churn" 4 20; then
	ended 21
	has rereads 0
	has events_lost 0
	has unfollowed 0
	has checks '[1-9][0-9]*'
	replays
fi
# Which of their areas become one depends on what a thread touches while another one is in a call, and what
# moves on which are one: nobody can know that, and it is no difference.
what="a crowd of threads"
if watched "$programs/crowd" 4 8000; then
	ended 0
	has unfollowed 0
	has checks '[1-9][0-9]*'
	replays
fi
what="vfork"
if watched "$programs/spawn"; then
	ended 0
	has processes 2
	has execs 2
	has unfollowed 0
fi
"$vmscope" watch -- /nonexistent/program 2>/dev/null
[ $? = 127 ] || fail "a program that there is not: status $?"

# A call that is hidden is found: the areas at the end are not those that follow from the others.
what="fewer calls"
"$vmscope" watch --json --inject=drop:20 -- "$programs/steps" >"$work/out" 2>"$work/err"
got=$?
[ $got = 1 ] || fail "a call was hidden: status $got: $(tail -5 "$work/err")"
grep -q "difference 1:" "$work/err" || fail "a call was hidden: $(tail -5 "$work/err")"

# Attached to threads that map, unmap and fork, and let go: it runs on as before, never stopped. Before
# Linux 6.7, areas that four threads change all the time may not be shown, which is said; one thread's are.
for threads in 4 ${one_by_one:+1}; do
	what="churn $threads"
	rm -f "$work/log" "$work/churn"
	"$programs/churn" $threads >"$work/churn" &
	target=$!
	wait_for grep -q ready "$work/churn"
	"$vmscope" watch --json -o "$work/log" -p $target 2>"$work/err" &
	watcher=$!
	# Forks are compared; there is one in a hundred rounds of a thread.
	for i in $(seq $((600 * slowdown))); do
		grep -q '"copy"' "$work/log" 2>/dev/null || ! kill -0 $watcher 2>/dev/null && break
		sleep 0.05
	done
	grep -q 'TracerPid:	0' /proc/$target/status || fail "the process is traced"
	kill -TERM $watcher 2>/dev/null
	wait $watcher
	got=$?
	if [ -n "$one_by_one" ] && [ $threads = 4 ] && [ $got = 125 ]; then
		grep -q "process $target: it changes its areas all the time" "$work/err" ||
			fail "$what: status $got: $(tail -5 "$work/err")"
	else
		if [ -n "$one_by_one" ] && [ $threads = 4 ] && [ $got = 1 ]; then
			grep -q "process $target was not compared at the end" "$work/err" ||
				fail "$what: status $got: $(tail -5 "$work/err")"
		elif ! left_out; then
			[ $got = 0 ] || fail "$what: status $got: $(tail -5 "$work/err")"
			has checks '[1-9][0-9]*'
		fi
		has differences 0
		has calls '[1-9][0-9]*'
		replays
	fi
	kill -0 $target || fail "the process did not survive"
	kill -USR1 $target
	wait $target
	got=$?
	[ $got = 21 ] || fail "its status is $got"
	target=
done

# Attached to a process whose first thread has ended: the others live in its areas.
what="without its first thread"
rm -f "$work/log"
python3 -c 'import ctypes, mmap, threading, time
def go():
    for i in range(2000):
        mmap.mmap(-1, 1 << 20).close()
        time.sleep(0.05)
threading.Thread(target=go).start()
ctypes.CDLL(None).syscall(60, 0)' &
target=$!
wait_for grep -q '^State:	Z' /proc/$target/status
"$vmscope" watch --json -o "$work/log" -p $target 2>"$work/err" &
watcher=$!
for i in $(seq 600); do
	grep -q '"call":"munmap"' "$work/log" 2>/dev/null || ! kill -0 $watcher 2>/dev/null && break
	sleep 0.05
done
kill -TERM $watcher 2>/dev/null
wait $watcher
got=$?
[ $got = 0 ] || fail "$what: status $got: $(tail -5 "$work/err")"
grep -q "watching process $target$" "$work/err" || fail "$what: it does not say when it has begun"
has checks '[1-9][0-9]*'
has differences 0
has calls '[1-9][0-9]*'
replays
kill -KILL $target
wait $target 2>/dev/null
target=

# Calls through the entry for 32-bit programs are none that are followed; nor are such programs.
cat >"$work/short.c" <<'END'
void _start(void)
{
	/* Sleeps for 100 s if there is an argument; exit(0). */
	long time[2] = { 100, 0 }, result, *stack;

	__asm__ volatile("lea 4(%%ebp), %0" : "=r"(stack));
	if (*stack > 1)
		__asm__ volatile("int $0x80" : "=a"(result) : "a"(162), "b"(time), "c"(0) : "memory");
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(1), "b"(0) : "memory");
}
END
if "$programs/foreign" 2>"$work/err"; then
	"$vmscope" watch -q -- "$programs/foreign" 2>"$work/err"
	got=$?
	[ $got = 1 ] || fail "a call of 32 bits: status $got: $(cat "$work/err")"
	grep -q "entry for 32-bit programs" "$work/err" || fail "a call of 32 bits: $(cat "$work/err")"
else
	echo "SKIP in part: no call of 32 bits here"
fi
if cc -m32 -O1 -fno-pie -fno-stack-protector -fno-omit-frame-pointer -static -nostdlib \
	-o "$work/short" "$work/short.c" 2>"$work/err" && "$work/short" 2>>"$work/err"; then
	what="a 32-bit program"
	"$vmscope" watch -q --json -- "$work/short" 2>"$work/err"
	got=$?
	[ $got = 1 ] || fail "a 32-bit program: status $got: $(cat "$work/err")"
	has unfollowed 1
	grep -q "is a 32-bit program now" "$work/err" || fail "a 32-bit program: $(cat "$work/err")"
	"$work/short" 1 &
	target=$!
	wait_for grep -q short /proc/$target/comm
	"$vmscope" watch -q -p $target 2>"$work/err"
	got=$?
	[ $got = 125 ] || fail "attached to a 32-bit program: status $got: $(cat "$work/err")"
	grep -q "it is a 32-bit program" "$work/err" ||
		fail "attached to a 32-bit program: $(cat "$work/err")"
	kill -KILL $target
	wait $target 2>/dev/null
	target=
else
	echo "SKIP in part: no program of 32 bits here: $(head -1 "$work/err")"
fi

# What cannot be watched is told as other commands tell it.
for pid in 2 4194303; do
	"$vmscope" watch -q -p $pid 2>"$work/err"
	got=$?
	"$vmscope" explain $pid 2>"$work/said"
	[ $got = 125 ] && cmp -s <(sed 's/.*process [0-9]*: //' "$work/said") \
		<(sed 's/.*process [0-9]*: //' "$work/err") ||
		fail "process $pid: status $got: $(cat "$work/err" "$work/said")"
done

# A signal while the kernel takes the program, which takes a while, ends it as any later one does.
what="a signal at the beginning"
sleep 100 &
target=$!
until_it_catches() { # SIGTERM, and is no shell any more, which does, too
	for i in $(seq $((600 * slowdown))); do
		sleep 0.01
		grep -q vmscope /proc/$watcher/comm 2>/dev/null || continue
		caught=$(sed -n 's/^SigCgt:	*//p' /proc/$watcher/status 2>/dev/null)
		[ -n "$caught" ] && [ $((0x$caught & 0x4000)) != 0 ] && break
	done
}
for pause in 0 0.03 0.1 0.2 0.3 0.5; do
	"$vmscope" watch -q -p $target 2>"$work/err" &
	watcher=$!
	until_it_catches
	sleep $pause
	kill -TERM $watcher
	wait $watcher
	got=$?
	[ $got = 0 ] || fail "$what: after $pause s: status $got: $(cat "$work/err")"
	grep -q "the kernel does not take" "$work/err" && fail "$what: after $pause s: $(cat "$work/err")"
	# A command has not been started by then, and is not; or it is what the signal ends.
	"$vmscope" watch -q -- sh -c 'echo it has run; exec sleep 100' >"$work/out" 2>"$work/err" &
	watcher=$!
	until_it_catches
	sleep $pause
	kill -TERM $watcher
	wait $watcher
	got=$?
	if [ $got = 125 ]; then
		grep -q "a signal ended it before it had begun" "$work/err" ||
			fail "$what: after $pause s: $(cat "$work/err")"
		[ -s "$work/out" ] && fail "$what: after $pause s: the command was run"
	elif [ $got != 143 ]; then
		fail "$what: after $pause s: a command: status $got: $(cat "$work/err")"
	fi
done
kill -KILL $target
wait $target 2>/dev/null
target=

# What the verifier refuses, it says why; where only functions cannot be listened to, all calls are.
what="refused programs"
# (With ASan its runtime is then not the first library that is loaded, of which it complains.)
refused="env LD_PRELOAD=$programs/libbpf_refused.so ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-}"
if $refused true 2>"$work/err" && [ ! -s "$work/err" ]; then
	BPF_REFUSED=all $refused "$vmscope" watch -- echo it has run >"$work/out" 2>"$work/err"
	got=$?
	[ $got = 125 ] || fail "$what: status $got: $(cat "$work/err")"
	grep -q "the kernel does not take the program: invalid func unknown#999 (Permission denied)$" "$work/err" ||
		fail "$what: $(cat "$work/err")"
	[ -s "$work/out" ] && fail "$what: the command was run"
	BPF_REFUSED=fexit $refused "$vmscope" watch --json -- "$programs/steps" >"$work/out" 2>"$work/err"
	got=$?
	if [ -n "$one_by_one" ]; then # those of an end are shown by functions alone (docs/kernels.md)
		[ $got = 1 ] && grep -q "was not compared at its end" "$work/err" ||
			fail "$what: status $got: $(cat "$work/err")"
	else
		[ $got = 0 ] || fail "$what: status $got: $(cat "$work/err")"
	fi
	grep -q "no functions be listened to (invalid func unknown#999): the exits of all calls are" "$work/err" ||
		fail "$what: $(cat "$work/err")"
	has differences 0
	has calls '[1-9][0-9]*'
	BPF_REFUSED=fexit $refused "$vmscope" watch -q -- "$programs/steps" >"$work/out" 2>"$work/err"
	[ -s "$work/err" ] && [ -z "$one_by_one" ] && fail "$what: quiet: $(cat "$work/err")"
else
	echo "SKIP in part: nothing can be preloaded here"
fi

# In another PID namespace numbers mean other processes: nothing is watched there.
if [ "$(id -u)" = 0 ] && unshare --fork --pid --mount-proc true 2>/dev/null; then
	unshare --fork --pid --mount-proc "$vmscope" watch -- echo it has run >"$work/out" 2>"$work/err"
	got=$?
	[ $got = 125 ] || fail "another PID namespace: status $got"
	grep -q "it takes the system's first PID namespace" "$work/err" ||
		fail "another PID namespace: $(cat "$work/err")"
	[ -s "$work/out" ] && fail "another PID namespace: the command was run"
fi

# Unprivileged: it says which capability is missing, and does nothing else.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	cp "$vmscope" "$work/vmscope" && chmod 755 "$work" "$work/vmscope"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$work/vmscope" watch -- \
		sh -c 'echo it has run' >"$work/out" 2>"$work/err"
	got=$?
	[ $got = 125 ] || fail "unprivileged: status $got"
	grep -q "takes the capabilities CAP_BPF and CAP_PERFMON" "$work/err" ||
		fail "unprivileged: $(cat "$work/err")"
	[ -s "$work/out" ] && fail "unprivileged: the command was run"
fi
finish
