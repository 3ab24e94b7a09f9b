#!/bin/bash
# SPDX-License-Identifier: MIT
# What cannot be followed or looked at: the message says why, and what to change.
# Usage: not_followed.sh VMSCOPE REFUSE FOREIGN
. "$(dirname "$0")/common.sh"
refuse=$2 foreign=$3

# LeakSanitizer takes ptrace and a /proc of its own.
no_leaks="env ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0"

# Whom the test has started, to be ended with it.
started=
trap '{ kill -KILL $started; wait; } 2>/dev/null; rm -rf "$work"' EXIT

# refused PID TEXT WHAT: each command that takes a process says TEXT of this one.
refused() {
	for command in "trace -p $1" "explain $1" "explain --for=1 $1" \
		"report -o $work/page.html $1"; do
		expect 125 "$command, $3" "$vmscope" $command
		said "$2" "$command, $3"
	done
}

# Without /proc a program once ran, and was not followed, and nothing was said.
if [ "$(id -u)" = 0 ] &&
	unshare -m sh -c 'umount -l /proc; exec "$0" --version' "$vmscope" >"$work/out" 2>"$work/err"; then
	for command in "trace true" "trace -p $$" "watch true" "watch -p $$" "explain $$" "top --batch -n 1 $$" \
		"top --batch -n 1" "check --ops=1"; do
		expect 125 "$command without /proc" unshare -m sh -c \
			'umount -l /proc; exec "$@"' sh "$vmscope" $command
		said "/proc is not mounted" "$command without /proc"
	done
else
	echo "SKIP in part: it takes root, a mount namespace and no sanitizer to be without /proc"
fi
if unshare -Urfp true 2>"$work/err"; then
	for command in "trace true" "explain 1"; do
		expect 125 "$command with the /proc of others" $no_leaks unshare -Urfp "$vmscope" $command
		said "of another PID namespace" "$command with the /proc of others"
	done
else
	echo "SKIP in part: no PID namespace can be made here: $(cat "$work/err")"
fi

# Processes that have no address space.
refused 4194303 "there is no such process" "no process"
if grep -q '^Kthread:	1' /proc/2/status 2>/dev/null || [ "$(cat /proc/2/comm)" = kthreadd ]; then
	refused 2 "it is a thread of the kernel" "a thread of the kernel"
fi
python3 -c 'import os, time
pid = os.fork()
if pid:
    print(pid, flush=True)
    time.sleep(100)' >"$work/zombie" &
started="$started $!"
wait_for test -s "$work/zombie"
wait_for grep -q '^State:	Z' "/proc/$(cat "$work/zombie")/status"
refused "$(cat "$work/zombie")" "a zombie until its parent, process $!, waits for it" "a zombie"

# Processes that are not to be traced.
"$vmscope" trace -q -- sleep 100 &
tracer=$!
started="$started $tracer"
wait_for pgrep -P $tracer sleep >"$work/traced"
for command in "trace -p" "explain --for=1"; do
	expect 125 "$command of a traced process" "$vmscope" $command "$(cat "$work/traced")"
	said "it is traced already, by process $tracer" "$command of a traced process"
done
expect 125 "trace under trace" $no_leaks "$vmscope" trace -q -- "$vmscope" trace -q -- true
said "vmscope is traced itself, by process [0-9]*, which traces what it starts" "trace under trace"
if [ "$(id -u)" = 0 ] && cp "$vmscope" "$work/vmscope" && chmod 755 "$work" "$work/vmscope" &&
	setpriv --reuid 4242 --regid 4242 --clear-groups "$work/vmscope" --version >"$work/out" 2>"$work/err"; then
	user="setpriv --reuid 4242 --regid 4242 --clear-groups"
	for command in "trace -p $$" "explain $$"; do
		expect 125 "$command by another user" $user "$work/vmscope" $command
		said "it is another user's" "$command by another user"
	done
	# One that may be run but not read, and runs already. Its name tells when it does; setpriv
	# itself has capabilities until it executes another program.
	cp "$(type -P sleep)" "$work/asleep"
	chmod 711 "$work/asleep"
	$user sh -c 'exec "$0" 100' "$work/asleep" &
	unread=$!
	started="$started $unread"
	wait_for grep -qx asleep /proc/$unread/comm
	for command in "trace -p $unread" "explain $unread" "top --batch -n 1 $unread"; do
		expect 125 "$command, a hidden program" $user "$work/vmscope" $command
		said "may not read its program.*be root" "$command, a hidden program"
	done
	# A program that may be run but not read runs, as far as it can be followed.
	cp "$(type -P true)" "$work/hidden"
	chmod 711 "$work/hidden"
	expect 1 "a hidden program" $user "$work/vmscope" trace -q -- "$work/hidden"
	said "runs, but is not followed.*may not read its program.*be root" "a hidden program"
	expect 1 "a hidden program of a shell" $user "$work/vmscope" trace --json -- \
		sh -c '"$0"; echo "it ended with $?"; :' "$work/hidden"
	said '"unfollowed":1' "a hidden program of a shell"
	said '"differences":0' "a hidden program of a shell"
	grep -q 'it ended with 0' "$work/out" || fail "a hidden program does not run"
else
	echo "SKIP in part: no other user can be had here"
fi

# Calls that a seccomp profile refuses.
if "$refuse" kcmp true 2>"$work/err"; then
	expect 125 "ptrace is refused" $no_leaks "$refuse" ptrace "$vmscope" trace -- true
	said "a seccomp profile or a security module.*CAP_SYS_PTRACE" "ptrace is refused"
	expect 125 "seccomp is refused" "$refuse" seccomp "$vmscope" trace -- true
	said "seccomp(2): Operation not permitted.*give a seccomp profile that allows it" \
		"seccomp is refused"
	expect 125 "process_vm_readv is refused" "$refuse" process_vm_readv "$vmscope" trace -- true
	said "process_vm_readv(2) is refused here.*CAP_SYS_PTRACE" "process_vm_readv is refused"
else
	echo "SKIP in part: nothing can be refused here: $(cat "$work/err")"
fi

# Who is no longer compared is named by name and number.
if "$foreign" 2>"$work/err"; then
	expect 1 "a call of 32 bits" "$vmscope" trace -q -- "$foreign"
	said "process [0-9]* (foreign) is no longer compared: it makes memory calls" \
		"a call of 32 bits"
else
	echo "SKIP in part: no call of 32 bits here"
fi

# No file stays behind, however a command ends that makes a log first.
sleep 100 &
started="$started $!"
target=$!
mkdir "$work/tmp"
TMPDIR=$work/tmp "$vmscope" explain --for=100 $target >"$work/out" 2>"$work/err" &
follower=$!
started="$started $follower"
wait_for grep -q 'TracerPid:	[1-9]' /proc/$target/status
kill -KILL $follower
wait $follower 2>/dev/null
[ -z "$(ls "$work/tmp")" ] || fail "files stay behind: $(ls "$work/tmp")"
wait_for grep -q 'TracerPid:	0' /proc/$target/status
finish
