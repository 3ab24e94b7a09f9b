#!/bin/bash
# SPDX-License-Identifier: MIT
# vmscope watch: programs that are never stopped, their areas compared at forks and at their ends.
# Usage: watch.sh VMSCOPE DIRECTORY     where steps, meet, heirs, churn, uffd and limits are
. "$(dirname "$0")/common.sh"
programs=$2
target=
trap '[ -z "$target" ] || kill -KILL $target 2>/dev/null; rm -rf "$work"' EXIT

# Where nobody may, that is said in words, and it is not a failure of anything else. Linux before 6.1 is
# named, and what can be used there.
"$vmscope" watch -q -- true 2>"$work/err"
got=$?
if [ $got = 125 ] && grep -qE "cannot watch: (it takes|this kernel has no|this is Linux|the kernel)|was built without" \
	"$work/err"; then
	if [ "$(id -u)" = 0 ] && [ -r /sys/kernel/btf/vmlinux ] && ! grep -q "was built without" "$work/err"; then
		if [ "$(printf '%s\n' 6.1 "$(uname -r)" | sort -V | head -1)" != 6.1 ]; then
			grep -q "this is Linux $(uname -r), and it takes 6.1 or later. 'vmscope trace -p PID'" \
				"$work/err" || fail "an old kernel: $(cat "$work/err")"
			"$vmscope" watch -- echo it has run >"$work/out" 2>&1
			grep -q "it has run" "$work/out" && fail "an old kernel: the command was run"
		elif grep -q "this is Linux" "$work/err"; then
			fail "a kernel that has all it takes: $(cat "$work/err")"
		else
			# A container refuses any program (EPERM, or EACCES). Other errors, and whatever the
			# verifier has a word about, are about this program.
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

# Nothing is stopped, and the log is played with the same result, to the same areas.
replays() {
	"$vmscope" replay "$work/log" >/dev/null 2>"$work/replay" ||
		fail "$what: replay: $(tail -5 "$work/replay")"
	grep -q ", 0 differences" "$work/replay" || fail "$what: replay: $(tail -5 "$work/replay")"
}

# Before Linux 6.7 no program can go through areas (docs/kernels.md).
one_by_one=
[ "$(printf '%s\n' 6.7 "$(uname -r)" | sort -V | head -1)" = 6.7 ] || one_by_one=1

for what in "steps" "meet 4" "heirs"; do
	"$vmscope" watch --json -o "$work/log" -- "$programs"/$what >"$work/out" 2>"$work/err" ||
		fail "$what: status $?: $(tail -5 "$work/err")"
	has differences 0
	# While a thread has the lock nobody can look at the areas around another's call: where they are shown one by
	# one, that is said, and they are read again, as docs/kernels.md has it.
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

# What the log has is what /proc/PID/maps had, whatever names its files have, and had: the process is gone
# before anybody could look there.
what="paths"
mkdir "$work/a directory"
"$vmscope" watch -q -o "$work/log" -- bash -c 'kill -STOP $PPID; "$@"; got=$?; kill -CONT $PPID; exit $got' \
	bash "$programs/paths" "$work/a directory" >"$work/maps" 2>"$work/err" ||
	fail "$what: status $?: $(tail -5 "$work/err")"
replays
mark=$(grep -n '"call":"mmap","args":\["0","0x7b000"' "$work/log" | cut -d: -f1)
pid=$(sed -n "$mark"p "$work/log" | sed 's/.*"pid":\([0-9]*\),.*/\1/')
"$vmscope" at --pid=$pid "$work/log" $((mark - 1)) | sed 1d | diff "$work/maps" - >"$work/differs" ||
	fail "$what: maps and the log at line $((mark - 1)): $(cat "$work/differs")"
for name in '/memfd:kept (deleted)' '/dev/zero (deleted)' '/SYSV00000000 (deleted)' '/gone (deleted)' \
	'of two\012lines' 'goes later'; do
	grep -qF "$name" "$work/maps" || fail "$what: the kernel has no '$name': $(cat "$work/maps")"
done
end=$(grep -n "\"type\":\"end\".*\"pid\":$pid,.*\"exit\"" "$work/log" | tail -1 | cut -d: -f1)
"$vmscope" at "$work/log" $((end - 1)) | grep -q '/goes later (deleted)$' ||
	fail "$what: a file that was removed: $("$vmscope" at "$work/log" $((end - 1)) | grep later)"

# Children, pipes, programs that are executed in a vforked or a forked process; the exit status.
what="a shell"
"$vmscope" watch --json -o "$work/log" -- bash -c 'ls | wc -l >/dev/null; (true; exit 3)' \
	>"$work/out" 2>"$work/err"
got=$?
[ $got = 3 ] || fail "$what: status $got: $(tail -5 "$work/err")"
has differences 0
has rereads 0
has processes 4
has execs 3
replays
# 3 << 8, as waitpid() has it, of the shell and of its child.
[ "$(grep '"type":"exit"' "$work/log" | grep -c '"status":768}')" = 2 ] ||
	fail "$what: $(grep '"type":"exit"' "$work/log")"
# Without exit_group.
what="a thread that ends"
"$vmscope" watch --json -o "$work/log" -- python3 -c 'import ctypes; ctypes.CDLL(None).syscall(60, 5)' \
	2>"$work/err"
got=$?
[ $got = 5 ] || fail "$what: status $got: $(tail -5 "$work/err")"
has differences 0
grep '"type":"exit"' "$work/log" | grep -q '"status":1280}' || fail "$what: $(grep '"type":"exit"' "$work/log")"
# Spaces whose places in the kernel's memory others get, before all that they did has been told.
what="many children"
"$vmscope" watch --json -- bash -c 'for i in 1 2 3 4 5 6; do /bin/true & /bin/true & /bin/true & wait; done' \
	2>"$work/err" || fail "$what: status $?: $(tail -5 "$work/err")"
has differences 0
has unfollowed 0
has processes 19
has execs 19
# Four threads that change areas all the time, from their start to their end.
what="busy threads"
"$vmscope" watch --json -o "$work/log" -- "$programs/churn" 4 20 >"$work/out" 2>"$work/err"
got=$?
[ $got = 21 ] || fail "$what: status $got: $(tail -5 "$work/err")"
has differences 0
has rereads 0
has events_lost 0
has unfollowed 0
has checks '[1-9][0-9]*'
replays
what="vfork"
cat >"$work/spawn.c" <<'END'
#include <spawn.h>
#include <sys/wait.h>
int main(void)
{
	char *arguments[] = { "true", 0 }, *none[] = { 0 };
	pid_t pid;

	return posix_spawn(&pid, "/bin/true", 0, 0, arguments, none) || waitpid(pid, 0, 0) != pid;
}
END
if cc -o "$work/spawn" "$work/spawn.c" 2>"$work/err"; then
	"$vmscope" watch --json -- "$work/spawn" 2>"$work/err" ||
		fail "$what: status $?: $(tail -5 "$work/err")"
	has differences 0
	has processes 2
	has execs 2
	has unfollowed 0
else
	echo "SKIP in part: no compiler here: $(head -1 "$work/err")"
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
	rm -f "$work/log"
	"$programs/churn" $threads >"$work/churn" &
	target=$!
	for i in $(seq 600); do grep -q ready "$work/churn" && break; sleep 0.05; done
	"$vmscope" watch --json -o "$work/log" -p $target 2>"$work/err" &
	watcher=$!
	# Forks are compared; there is one in a hundred rounds of a thread.
	for i in $(seq 600); do
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
		else
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

# Where calls were made, without frame pointers; nothing of it without --stacks.
what="stacks"
cat >"$work/maps.c" <<'END'
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static __attribute__((noinline)) int maker_of_areas(void)
{
	return mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}
static __attribute__((noinline)) int user_of_areas(int count)
{
	int made = 0;

	while (count-- > 0) {
		made += maker_of_areas();
		munmap(0, 4096);
	}
	return made;
}
/* Waits, and makes areas: as many as are asked for. */
int main(int argc, char **argv)
{
	char byte;
	int count = argc > 1 ? atoi(argv[1]) : 0;

	return read(0, &byte, 1) != 1 || user_of_areas(count) != count || read(0, &byte, 1) < 0;
}
END
watch_maps() { # COUNT OPTION...: attaches to it; it begins with a byte from descriptor 5
	rm -f "$work/log" "$work/pipe"
	mkfifo "$work/pipe"
	"$work/maps" $1 <"$work/pipe" &
	target=$!
	exec 5>"$work/pipe"
	"$vmscope" watch --json "${@:2}" -o "$work/log" -p $target 2>"$work/err" 5>&- &
	watcher=$!
	for i in $(seq 600); do grep -q '"type":"attach"' "$work/log" 2>/dev/null && break; sleep 0.05; done
}
made() { # FILTER: how many of the records that have it tell of maker_of_areas
	grep '"call":"mmap"' "$work/log" | grep -c "$1"
}
if ! cc -O1 -fomit-frame-pointer -o "$work/maps" "$work/maps.c" 2>"$work/err"; then
	echo "SKIP in part: no compiler here: $(head -1 "$work/err")"
elif "$vmscope" watch --stacks -o "$work/log" -- true 2>"$work/err"; grep -q "without libdw" "$work/err"; then
	echo "SKIP in part: $(cat "$work/err")"
else
	for option in --stacks --quiet; do
		watch_maps 3 $option
		printf g >&5
		if [ $option = --stacks ]; then # top shows what the log tells by now
			for i in $(seq 600); do [ "$(made '"site":"maps(maker')" = 3 ] && break; sleep 0.05; done
			"$vmscope" top -b -n 1 --log="$work/log" $target >"$work/top"
			grep -qE '^ +[0-9]+ .*  maps\(maker_of_areas\+0x[0-9a-f]+\): mmap$' "$work/top" ||
				fail "$what: top: $(cat "$work/top")"
		fi
		exec 5>&-
		wait $target
		got=$?
		[ $got = 0 ] || fail "$what: the program's status is $got"
		target=
		wait $watcher
		got=$?
		[ $got = 0 ] || fail "$what: status $got: $(tail -5 "$work/err")"
		has differences 0
		has stacks_lost 0
		replays
		if [ $option = --quiet ]; then
			[ "$(made '"stack"')" = 0 ] || fail "stacks that were not asked for"
			continue
		fi
		[ "$(made '"site":"maps(maker_of_areas+0x')" = 3 ] || fail "$what: sites: $(cat "$work/log")"
		[ "$(made '"stack":"maps(_start+0x[^"]*;maps(main+0x[^"]*;maps(user_of_areas+0x[0-9a-f]*);maps(maker_of_areas+0x[0-9a-f]*);libc[^;"]*"')" = 3 ] ||
			fail "$what: stacks: $(grep '"call":"mmap"' "$work/log")"
		"$vmscope" explain "$work/log" | grep -q 'maps(maker_of_areas+0x.*mmap anonymous' ||
			fail "$what: explain: $("$vmscope" explain "$work/log")"
		"$vmscope" export -f folded --weight=calls "$work/log" >"$work/folded"
		grep -qE '^maps \([0-9]+\);maps\(_start\);.*;maps\(main\);maps\(user_of_areas\);maps\(maker_of_areas\);libc[^;]*;mmap 3$' \
			"$work/folded" || fail "$what: export: $(cat "$work/folded")"
		"$vmscope" report -o "$work/report.html" "$work/log" && grep -q user_of_areas "$work/report.html" ||
			fail "$what: report"
	done
	"$vmscope" watch --stacks -- true 2>"$work/err"
	[ $? = 125 ] && grep -q "give -o" "$work/err" || fail "$what: without a log: $(cat "$work/err")"
fi

# Programs that have ended before their files could be looked at: these are found all the same.
what="stacks of short programs"
if [ -x "$work/maps" ] && "$vmscope" watch --stacks -o "$work/log" -- true 2>/dev/null; then
	mkdir -p "$work/elsewhere"
	cp "$(type -P true)" "$work/elsewhere/brief"
	"$vmscope" watch --stacks --json -o "$work/log" -- bash -c \
		'"$1"; "$1"; ls /; date; "$1"' bash "$work/elsewhere/brief" >"$work/out" 2>"$work/err" ||
		fail "$what: status $?: $(tail -5 "$work/err")"
	has differences 0
	has stacks_lost 0
	[ "$(grep '"call":"mmap"' "$work/log" | grep -c 'name":"brief"')" = 0 ] ||
		fail "$what: names: $(grep '"name":"brief"' "$work/log" | head -1)"
fi

# A library that is gone before it is looked at: its functions are its own, and not those of the library below it.
what="stacks in a file that is gone"
cat >"$work/odd.c" <<'END'
#include <sys/mman.h>
void *odd(void)
{
	return mmap(0, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
END
cat >"$work/opens.c" <<'END'
#include <dlfcn.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char byte;
	void *library, *(*odd)(void);

	if (read(0, &byte, 1) != 1 || !(library = dlopen(argv[1], RTLD_NOW)))
		return 1;
	*(void **)&odd = dlsym(library, "odd");
	return !odd();
}
END
mkdir -p "$work/far/away"
if [ -x "$work/maps" ] && cc -shared -fPIC -o "$work/far/away/libodd.so" "$work/odd.c" 2>"$work/err" &&
	cc -o "$work/opens" "$work/opens.c" -ldl 2>"$work/err" &&
	"$vmscope" watch --stacks -o "$work/log" -- true 2>/dev/null; then
	rm -f "$work/log"
	"$work/opens" "$work/far/away/libodd.so" <"$work/pipe" &
	target=$!
	exec 5>"$work/pipe"
	"$vmscope" watch --stacks --json -o "$work/log" -p $target 2>"$work/err" 5>&- &
	watcher=$!
	for i in $(seq 600); do grep -q '"type":"attach"' "$work/log" 2>/dev/null && break; sleep 0.05; done
	kill -STOP $watcher
	echo go >&5
	exec 5>&-
	wait $target
	target=
	rm -r "$work/far"
	kill -CONT $watcher
	wait $watcher
	has differences 0
	grep '"args":\["0","0x2000","0x1"' "$work/log" | grep -q '"site":"libodd.so(+0x' ||
		fail "$what: $(grep '"args":\["0","0x2000","0x1"' "$work/log")"
fi

# Nobody listens for a while: stacks are lost first, and nothing else is. And a program that makes calls all the
# time: it ends when it is to.
what="behind with stacks"
if [ -x "$work/maps" ] && "$vmscope" watch --stacks -o "$work/log" -- true 2>/dev/null; then
	watch_maps 10000 --stacks
	kill -STOP $watcher
	echo go >&5
	exec 5>&-
	wait $target
	target=
	kill -CONT $watcher
	wait $watcher
	got=$?
	[ $got = 0 ] || fail "$what: status $got: $(tail -5 "$work/err")"
	has stacks_lost '[1-9][0-9]*'
	has events_lost 0
	has rereads 0
	has differences 0
	watch_maps 2000000000 --stacks
	echo go >&5
	for i in $(seq 600); do grep -q '"type":"call"' "$work/log" && break; sleep 0.05; done
	sleep 1
	kill -TERM $watcher
	for i in $(seq 600); do kill -0 $watcher 2>/dev/null || break; sleep 0.05; done
	kill -KILL $watcher 2>/dev/null && fail "$what: it does not end"
	wait $watcher
	exec 5>&-
	kill -KILL $target
	wait $target 2>/dev/null
	target=
fi

# A signal ends the watching when all has happened, but has not been told yet: what was told by then counts.
what="a signal after the end"
if [ -x "$work/maps" ]; then
	watch_maps 10000
	kill -STOP $watcher
	echo go >&5
	exec 5>&-
	wait $target
	target=
	kill -TERM $watcher
	kill -CONT $watcher
	wait $watcher
	got=$?
	[ $got = 0 ] || fail "$what: status $got: $(tail -5 "$work/err")"
	has events_lost 0
	has differences 0
	has calls 2[0-9]{4}
	grep -q '"type":"end".*"occasion":"exit"' "$work/log" || fail "$what: $(tail -2 "$work/log")"
	replays
fi

# Nobody listens for a while, and events are lost, the last one too: that is said, and it ends.
what="lost events"
if [ -x "$work/maps" ]; then
	watch_maps 100000
	kill -STOP $watcher
	echo go >&5
	exec 5>&-
	wait $target
	target=
	kill -CONT $watcher
	wait $watcher
	got=$?
	[ $got = 1 ] || fail "$what: status $got: $(tail -5 "$work/err")"
	has events_lost '[1-9][0-9]*'
	has unfollowed 1
	grep -q "has ended unseen" "$work/err" || fail "$what: $(tail -5 "$work/err")"
fi

# What arguments point to is known as it was at the call, of a program that ends at once, and of one that
# has written something else there since.
what="memory of arguments"
cat >"$work/memory.c" <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif
int main(int argc, char **argv)
{
	char *memory = mmap(0, 300 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec range = { memory + 250 * 4096, 4096 };
	unsigned long nodes = 1;
	int self = syscall(SYS_pidfd_open, getpid(), 0);
	char name[20];

	for (int i = 0; i < 100; i++) {
		sprintf(name, "n%d", i);
		prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, memory + 2 * i * 4096, 4096, name);
	}
	if (syscall(SYS_process_madvise, self, &range, 1, MADV_DONTDUMP, 0) == 4096)
		write(1, "process_madvise\n", 16);
	if (syscall(SYS_mbind, memory + 270 * 4096, 4096, 2, &nodes, 64, 0) == 0)
		write(1, "mbind\n", 6);
	nodes = range.iov_len = 0;
	close(self);
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, memory, 4096, 1);
	if (argc > 1)
		usleep(atoi(argv[1]));
	return 0;
}
END
if cc -w -o "$work/memory" "$work/memory.c" 2>"$work/err"; then
	for time in "" 300000; do
		"$vmscope" watch --json -o "$work/log" -- "$work/memory" $time >"$work/out" 2>"$work/err" ||
			fail "$what: status $?: $(tail -5 "$work/err")"
		has differences 0
		has rereads 0
		grep -q "could not be read" "$work/err" && fail "$what: $(cat "$work/err")"
		named=$(grep -o '"name":"n[0-9]*"' "$work/log" | sort -u | wc -l)
		[ "$named" = 100 ] || fail "$what: $named names of 100"
		! grep -q process_madvise "$work/out" ||
			grep '"call":"process_madvise"' "$work/log" | grep -q '"length":"0x1000","advice"' ||
			fail "$what: $(grep process_madvise "$work/log")"
		! grep -q mbind "$work/out" || grep '"call":"mbind"' "$work/log" | grep -q '"nodes":"0x1"' ||
			fail "$what: $(grep mbind "$work/log")"
		replays
	done
else
	echo "SKIP in part: no compiler here: $(head -1 "$work/err")"
fi

# A userfaultfd is known by its inode, although its descriptor is closed; with its last one, whoever has that,
# its areas lose their registrations, and become one with those beside them.
what="userfaultfd"
"$programs/uffd" keep
if [ $? = 0 ]; then
	for how in keep "keep 300000" close "close 300000" "child 300000" touched "touched 1500000"; do
		what="userfaultfd, $how"
		"$vmscope" watch --json -o "$work/log" -- "$programs/uffd" $how 2>"$work/err" ||
			fail "$what: status $?: $(tail -5 "$work/err")"
		has differences 0
		has rereads 0
		[ "$(grep -c '"context":[1-9].*"op":"ioctl(UFFDIO_REGISTER)"' "$work/log")" = 2 ] ||
			fail "$what: $(grep ioctl "$work/log")"
		[ "$(grep -c '"uffd_ends":\[[1-9]' "$work/log")" = $([ "${how%% *}" = keep ] && echo 0 || echo 1) ] ||
			fail "$what: ends: $(grep uffd_ends "$work/log")"
		replays
	done
else
	echo "SKIP in part: no userfaultfd here"
fi

# Limits and the personality hold from the call that sets them to the next one.
what="limits"
"$vmscope" watch --json -o "$work/log" -- "$programs/limits" 2>"$work/err" ||
	fail "$what: status $?: $(tail -5 "$work/err")"
has differences 0
has rereads 0
replays
[ "$(grep -c '"type":"limits"' "$work/log")" = 4 ] || fail "$what: $(grep '"type":"limits"' "$work/log")"
[ "$(grep -c '"type":"limits".*"rlimit_as":"0x10000"' "$work/log")" = 1 ] ||
	fail "$what: $(grep '"type":"limits"' "$work/log")"

# Limits and privileges of a program that has ended before anybody could look are those of the one that it
# took the place of.
what="limits, and nobody looks"
"$vmscope" watch --json -o "$work/log" -- bash -c 'kill -STOP $PPID; "$@"; got=$?; kill -CONT $PPID; exit $got' \
	bash "$programs/limits" lock 2>"$work/err" || fail "$what: status $?: $(tail -5 "$work/err")"
has differences 0
has rereads 0
replays
[ "$(grep -c '"type":"limits"' "$work/log")" = 5 ] || fail "$what: $(grep '"type":"limits"' "$work/log")"

# What a file system makes of mappings is known of a file that cannot be looked at any more, too: some
# place large ones at huge pages, where huge pages are used at all.
what="a file that is gone"
cat >"$work/large.c" <<'END'
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);

	unlink(argv[1]);
	return ftruncate(fd, 5 << 20) || mmap(0, 3 << 20, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
	       mmap(0, 5 << 20, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED;
}
END
if cc -o "$work/large" "$work/large.c" 2>"$work/err"; then
	for place in "$work" /dev/shm .; do
		[ -w $place ] || continue
		"$vmscope" watch --json -o "$work/log" -- "$work/large" $place/vmscope-large.$$ 2>"$work/err" ||
			fail "$what: status $?: $(tail -5 "$work/err")"
		has differences 0
		replays
	done
else
	echo "SKIP in part: no compiler here: $(head -1 "$work/err")"
fi

# Calls through the entry for 32-bit programs are none that are followed; nor are such programs.
cat >"$work/foreign.c" <<'END'
int main(void)
{
	long result;

	/* mmap2(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) */
	__asm__ volatile("push %%rbp; xor %%ebp, %%ebp; int $0x80; pop %%rbp" : "=a"(result)
			 : "a"(192L), "b"(0L), "c"(4096L), "d"(1L), "S"(0x22L), "D"(-1L)
			 : "memory", "r8", "r9", "r10", "r11");
	return result <= 0;
}
END
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
if cc -o "$work/foreign" "$work/foreign.c" 2>"$work/err" && "$work/foreign" 2>>"$work/err"; then
	"$vmscope" watch -q -- "$work/foreign" 2>"$work/err"
	got=$?
	[ $got = 1 ] || fail "a call of 32 bits: status $got: $(cat "$work/err")"
	grep -q "entry for 32-bit programs" "$work/err" || fail "a call of 32 bits: $(cat "$work/err")"
else
	echo "SKIP in part: no call of 32 bits here: $(head -1 "$work/err")"
fi
if cc -m32 -O1 -fno-pie -fno-stack-protector -fno-omit-frame-pointer -static -nostdlib \
	-o "$work/short" "$work/short.c" 2>"$work/err" && "$work/short" 2>>"$work/err"; then
	"$vmscope" watch -q -- "$work/short" 2>"$work/err"
	got=$?
	[ $got = 1 ] || fail "a 32-bit program: status $got: $(cat "$work/err")"
	grep -q "is a 32-bit program now" "$work/err" || fail "a 32-bit program: $(cat "$work/err")"
	"$work/short" 1 &
	target=$!
	for i in $(seq 600); do grep -q short /proc/$target/comm && break; sleep 0.05; done
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
for pause in 0 0.03 0.1 0.2 0.3 0.5; do
	"$vmscope" watch -q -p $target 2>"$work/err" &
	watcher=$!
	for i in $(seq 600); do # until it catches SIGTERM, and is no shell any more, which does, too
		sleep 0.01
		grep -q vmscope /proc/$watcher/comm 2>/dev/null || continue
		caught=$(sed -n 's/^SigCgt:	*//p' /proc/$watcher/status 2>/dev/null)
		[ -n "$caught" ] && [ $((0x$caught & 0x4000)) != 0 ] && break
	done
	sleep $pause
	kill -TERM $watcher
	wait $watcher
	got=$?
	[ $got = 0 ] || fail "$what: after $pause s: status $got: $(cat "$work/err")"
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
	BPF_REFUSED=fexit $refused "$vmscope" watch --json -- "$programs/steps" >"$work/out" 2>"$work/err" ||
		fail "$what: status $?: $(cat "$work/err")"
	grep -q "no functions be listened to (invalid func unknown#999): the exits of all calls are" "$work/err" ||
		fail "$what: $(cat "$work/err")"
	has differences 0
	has calls '[1-9][0-9]*'
	BPF_REFUSED=fexit $refused "$vmscope" watch -q -- "$programs/steps" >"$work/out" 2>"$work/err"
	[ -s "$work/err" ] && fail "$what: quiet: $(cat "$work/err")"
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
