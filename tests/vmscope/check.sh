#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vmscope check: no difference. A planted one is found, shrunk, logged and reproduced.
# Usage: check.sh VMSCOPE REFUSE
. "$(dirname "$0")/common.sh"
vmscope=$(realpath "$vmscope")
refuse=$(realpath "$2")
check() { expect "$1" "$2" "$vmscope" check "${@:3}"; }

if ! "$vmscope" check -q --ops 1 2>"$work/err" && grep -q 'check needs ' "$work/err"; then
	skip "$(head -1 "$work/err")"
fi
cd "$work" || exit 1

# Every mix by itself, then all mixes in two processes, with the seed that is printed.
mixes=$("$vmscope" check --help | sed -n 's/^ *mix \([a-z]*\):.*/\1/p')
[ "$(wc -w <<<"$mixes")" -ge 14 ] || fail "the help tells of the mixes: $mixes"
for mix in $mixes; do
	check 0 "mix $mix" --mix "$mix" --ops 3000 --seed 1
	said "mix $mix: 0 differences" "mix $mix"
done
check 0 "two jobs" --ops 8000 --jobs 2
said 'seed [0-9][0-9]*, mix all: 0 differences' "two jobs"
[ -z "$(ls ./*.log 2>/dev/null)" ] || fail "a log without a difference"

# A round without a difference can be kept.
check 0 "recorded" --ops 1500 --jobs 2 --record kept.log
expect 0 "recorded, played" "$vmscope" replay -q kept.log
# In this way a touch that made a stack grow is known only from what was asked after it.
check 0 "recorded, asked" --ops 1500 --way asked --seed 11 --record kept.log
expect 0 "recorded, asked, played" "$vmscope" replay -q kept.log
check 0 "recorded, made again" --replay kept.log
rm kept.log
check 125 "nowhere to record" --ops 100 --record nowhere/kept.log
said 'cannot write the log nowhere/kept.log' "nowhere to record"

# The same seed makes the same calls.
for run in first second; do
	check 0 "the same seed" --ops 2000 --seed 7 --way pure
	grep '^vmscope: mmap' err >$run
done
cmp first second || fail "the same seed made other calls"

# Planted: libvmspace does not get a call. Shrinking leaves few of hundreds of calls.
# Before Linux 6.13 it takes only advice that changes nothing that can be seen.
for hidden in mprotect munmap mremap mlock brk fault mbind \
	$(! is_linux 6.13 || echo process_madvise); do
	check 1 "hidden $hidden" --ops 20000 --seed 8 --hide "$hidden" -o "$hidden.log"
	left=$(sed -n 's/^vmscope: \([0-9]*\) operations are left.*/\1/p' err)
	[ "${left:-99}" -le 8 ] || fail "$hidden: ${left:-no} operations are left"
	check 1 "hidden again $hidden" --replay "$hidden.log" --hide "$hidden"
	check 0 "replayed $hidden" --replay "$hidden.log"
	# The log has what the kernel did: a replay, which hides nothing, agrees with it ...
	expect 0 "played $hidden" "$vmscope" replay -q "$hidden.log"
done
# ... but not if it is falsified.
sed '/"op":"mprotect"/s/"prot":/"prot":1/' mprotect.log >other.log
cmp -s mprotect.log other.log && fail "nothing to falsify"
expect 1 "a falsified log" "$vmscope" replay -q other.log

# userfaultfd: mentioned in the summary, and differences if it is hidden.
if expect 0 "mix uffd" "$vmscope" check --mix uffd --ops 4000 --seed 5 &&
   ! grep -q 'userfaultfd(2) is refused (' "$work/err"; then
	uffd_calls='ioctl(UFFDIO_REGISTER) ioctl(UFFDIO_UNREGISTER) close(userfaultfd)'
	for hidden in $uffd_calls; do
		said "$hidden [0-9]" "mix uffd"
	done
	for hidden in $uffd_calls; do
		check 1 "hidden $hidden" --mix uffd --ops 20000 --seed 3 --hide "$hidden" -o uffd.log
		left=$(sed -n 's/^vmscope: \([0-9]*\) operations are left.*/\1/p' err)
		[ "${left:-99}" -le 8 ] || fail "$hidden: ${left:-no} operations are left"
		check 1 "hidden again $hidden" --replay uffd.log --hide "$hidden"
		check 0 "replayed $hidden" --replay uffd.log
		expect 0 "played $hidden" "$vmscope" replay -q uffd.log
	done
	# Who may only create those of users is told so once, and these are compared. Linux 5.10 has
	# none, and refuses all.
	if setpriv --bounding-set -sys_ptrace true 2>"$work/err" &&
	   expect 0 "of users" setpriv --bounding-set -sys_ptrace \
		"$vmscope" check --mix uffd --ops 4000 --seed 5 --jobs 2 &&
	   ! grep -q 'userfaultfd(2) is refused (' "$work/err"; then
		if [ "$(grep -c 'is refused but with UFFD_USER_MODE_ONLY' "$work/err")" != 1 ]; then
			fail "of users: said once"
		fi
		said 'mix uffd: 0 differences' "of users"
		for hidden in $uffd_calls; do
			said "$hidden [0-9]" "of users"
		done
	fi
fi
# Where there are none at all, there are the other calls.
if "$refuse" userfaultfd true 2>"$work/err"; then
	expect 0 "refused" "$refuse" userfaultfd \
		"$vmscope" check --mix uffd --ops 2000 --seed 5 --jobs 2
	if [ "$(grep -c 'userfaultfd(2) is refused (' "$work/err")" != 1 ]; then
		fail "refused: said once"
	fi
	said 'mix uffd: 0 differences' "refused"
	grep -q UFFDIO "$work/err" && fail "refused: a call of userfaultfd"
fi

# Invalid arguments are rejected with a reason.
check 125 "mix" --mix nothing
said "there is no mix 'nothing'" "mix"
check 125 "seed" --seed 12x
check 125 "duration" --duration 5y
check 125 "no log" --replay none.log
echo '{"type":"start","log":"vmscope","version":1,"revision":2}' >empty.log
check 125 "recorded and replayed" --replay empty.log --record kept.log
check 125 "another log" --replay empty.log
said "is not a log of 'vmscope check'" "another log"
finish
