#!/bin/bash
# SPDX-License-Identifier: MIT
# vmscope watch: what calls refer to is known as it was then: files and their names, memory,
# userfaultfds, limits.
. "$(dirname "$0")/watch_common.sh"

# unseen OPTION PROGRAM...: watched by a vmscope that is stopped until it has ended; its output is
# $work/out.
unseen() {
	"$vmscope" watch $1 -o "$work/log" -- \
		bash -c 'kill -STOP $PPID; "$@"; got=$?; kill -CONT $PPID; exit $got' bash "${@:2}" \
		>"$work/out" 2>"$work/err" || fail "$what: status $?: $(tail -5 "$work/err")"
}

# What the log has is what /proc/PID/maps had, whatever names its files have, and had: the process
# is gone before anybody could look there.
what="paths"
mkdir "$work/a directory"
unseen -q "$programs/paths" "$work/a directory"
replays
mark=$(grep -n '"call":"mmap","args":\["0","0x7b000"' "$work/log" | cut -d: -f1)
pid=$(sed -n "$mark"p "$work/log" | sed 's/.*"pid":\([0-9]*\),.*/\1/')
"$vmscope" at --pid=$pid "$work/log" $((mark - 1)) | sed 1d | diff "$work/out" - >"$work/differs" ||
	fail "$what: maps and the log at line $((mark - 1)): $(cat "$work/differs")"
for name in '/memfd:kept (deleted)' '/dev/zero (deleted)' '/SYSV00000000 (deleted)' '/gone (deleted)' \
	'of two\012lines' 'goes later'; do
	grep -qF "$name" "$work/out" || fail "$what: the kernel has no '$name': $(cat "$work/out")"
done
end=$(grep -n "\"type\":\"end\".*\"pid\":$pid,.*\"exit\"" "$work/log" | tail -1 | cut -d: -f1)
"$vmscope" at "$work/log" $((end - 1)) | grep -q '/goes later (deleted)$' ||
	fail "$what: a file that was removed: $("$vmscope" at "$work/log" $((end - 1)) | grep later)"

# What arguments point to is known as it was at the call, of a program that ends at once, and of one
# that has written something else there since.
what="memory of arguments"
for time in "" 300000; do
	watched "$programs/memory" $time || continue
	ended 0
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

# Arguments that point to nothing are none that could not be read.
what="a prctl of another kind"
"$vmscope" watch --json -- python3 -c 'import ctypes
PR_SET_MEMORY_MERGE = 67
exit(ctypes.CDLL(None).prctl(PR_SET_MEMORY_MERGE, 1, 0, 0, 0) and 77)' 2>"$work/err"
got=$?
[ $got = 0 ] || [ $got = 77 ] || fail "$what: status $got: $(tail -5 "$work/err")"
has differences 0
grep -q "could not be read" "$work/err" && fail "$what: $(cat "$work/err")"
[ $got = 77 ] || grep -q "a prctl that libvmspace does not model" "$work/err" ||
	fail "$what: $(cat "$work/err")"

# A userfaultfd is known by its inode, although its descriptor is closed; with its last one, whoever
# has that, its areas lose their registrations, and become one with those beside them.
what="userfaultfd"
"$programs/uffd" keep
if [ $? = 0 ]; then
	for how in keep "keep 300000" close "close 300000" "child 300000" touched "touched 1500000"; do
		what="userfaultfd, $how"
		watched "$programs/uffd" $how || continue
		ended 0
		has rereads 0
		[ "$(grep -c '"context":[1-9].*"op":"ioctl(UFFDIO_REGISTER)"' "$work/log")" = 2 ] ||
			fail "$what: $(grep ioctl "$work/log")"
		[ "$(grep -c '"uffd_ends":\[[1-9]' "$work/log")" = $([ "${how%% *}" = keep ] && echo 0 || echo 1) ] ||
			fail "$what: ends: $(grep uffd_ends "$work/log")"
		replays
	done
	# A child registers areas of its parent: which ones is not followed, and that is said.
	what="userfaultfd, of the parent"
	"$vmscope" watch --json -o "$work/log" -- "$programs/uffd" parents 2>"$work/err" ||
		fail "$what: status $?: $(tail -5 "$work/err")"
	has differences 0
	grep -q "(uffd): process [0-9]* has used a userfaultfd of it" "$work/err" ||
		fail "$what: $(cat "$work/err")"
	[ "$(grep -c '"op":"ioctl(UFFDIO_REGISTER)"' "$work/log")" = 2 ] ||
		fail "$what: $(grep ioctl "$work/log")"
	replays
else
	echo "SKIP in part: no userfaultfd here"
fi

# What is mapped between two neighbours joins them, unless both have pages: as it was before the call.
what="beside"
if watched "$programs/beside"; then
	ended 0
	has rereads 0
	replays
fi

# What a file was mapped as is known, too, where other threads change areas as the call returns.
what="a file that threads map"
if watched "$programs/mapped" 16 100; then
	ended 0
	mapped=$(grep -c '"call":"mmap".*"name":"[^"]*/mapped"' "$work/log")
	[ "$mapped" -ge 1600 ] || fail "$what: of $mapped mappings of 1600"
	grep -q '"bad_fd":true' "$work/log" &&
		fail "$what: $(grep '"bad_fd":true' "$work/log" | head -3)"
	replays
fi

# Limits and the personality hold from the call that sets them to the next one.
what="limits"
if watched "$programs/limits"; then
	ended 0
	has rereads 0
	replays
	[ "$(grep -c '"type":"limits"' "$work/log")" = 4 ] ||
		fail "$what: $(grep '"type":"limits"' "$work/log")"
	[ "$(grep -c '"type":"limits".*"rlimit_as":"0x10000"' "$work/log")" = 1 ] ||
		fail "$what: $(grep '"type":"limits"' "$work/log")"
fi

# Limits and privileges of a program that has ended before anybody could look are those of the one
# that it took the place of.
what="limits, and nobody looks"
unseen --json "$programs/limits" lock
has differences 0
has rereads 0
replays
[ "$(grep -c '"type":"limits"' "$work/log")" = 5 ] || fail "$what: $(grep '"type":"limits"' "$work/log")"

# How a program is laid out is decided by the personality at its exec, whatever it is when somebody
# looks: of one that sets it, and of the one that it executes.
for how in "" unseen; do
	what="another layout${how:+, and nobody looks}"
	if [ -n "$how" ]; then
		unseen --json "$programs/limits" legacy
	else
		"$vmscope" watch --json -o "$work/log" -- "$programs/limits" legacy 2>"$work/err" ||
			fail "$what: status $?: $(tail -5 "$work/err")"
	fi
	has differences 0
	has rereads 0
	replays
	layouts=$(grep '"type":"space"' "$work/log" | tail -2 | grep -n '"mmap_bottom_up":true' | cut -c1-2)
	[ "$layouts" = 2: ] || fail "$what: from below, of two: '$layouts'"
done

# A limit that another process sets holds, too. (Of which process it is set is told since Linux 6.7.)
what="limits of a child"
if is_linux 6.7; then
	unseen --json "$programs/limits" child
	has differences 0
	has rereads 0
	replays
	[ "$(grep -c '"type":"limits"' "$work/log")" = 2 ] ||
		fail "$what: $(grep '"type":"limits"' "$work/log")"
fi

# What a file system makes of mappings is known of a file that cannot be looked at any more, too:
# some place large ones at huge pages, where huge pages are used at all.
what="a file that is gone"
for place in "$work" /dev/shm .; do
	[ -w $place ] || continue
	watched "$programs/large_files" $place/vmscope-large.$$ || continue
	ended 0
	replays
done

finish
