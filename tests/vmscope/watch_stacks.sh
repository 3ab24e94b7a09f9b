#!/bin/bash
# SPDX-License-Identifier: MIT
# vmscope watch of programs that make as many calls as they are asked for: where these were made,
# and what is lost if nobody listens for a while.
. "$(dirname "$0")/watch_common.sh"

# attach PROGRAM ARGUMENT OPTION...: watches it; it begins with a byte from descriptor 5.
attach() {
	rm -f "$work/log" "$work/pipe"
	mkfifo "$work/pipe"
	"$programs/$1" "$2" <"$work/pipe" &
	target=$!
	exec 5>"$work/pipe"
	"$vmscope" watch --json "${@:3}" -o "$work/log" -p $target 2>"$work/err" 5>&- &
	watcher=$!
	wait_for grep -q '"type":"attach"' "$work/log"
}

# while_deaf COMMAND...: the program goes on and ends while nobody listens, then COMMAND is run;
# $got is the status of watch.
while_deaf() {
	kill -STOP $watcher
	echo go >&5
	exec 5>&-
	wait $target
	target=
	"$@"
	kill -CONT $watcher
	wait $watcher
	got=$?
}

# Where calls were made, without frame pointers; nothing of it without --stacks.
what="stacks"
made() { # FILTER: how many of the records that have it tell of maker_of_areas
	grep '"call":"mmap"' "$work/log" | grep -c "$1"
}
told() { # all three of them
	[ "$(made '"site":"maps(maker_of_areas+0x')" = 3 ]
}
with_stacks=
if "$vmscope" watch --stacks -o "$work/log" -- true 2>"$work/err"; then
	with_stacks=1
elif grep -q "without libdw" "$work/err"; then
	echo "SKIP in part: $(cat "$work/err")"
else
	fail "$what: status $?: $(cat "$work/err")"
fi
if [ -n "$with_stacks" ]; then
	for option in --stacks --quiet; do
		attach maps 3 $option
		printf g >&5
		if [ $option = --stacks ]; then # top shows what the log tells by now
			wait_for told
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
		ended 0
		has stacks_lost 0
		replays
		if [ $option = --quiet ]; then
			[ "$(made '"stack"')" = 0 ] || fail "stacks that were not asked for"
			continue
		fi
		told || fail "$what: sites: $(cat "$work/log")"
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
if [ -n "$with_stacks" ]; then
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

# A library that is gone before it is looked at: its functions are its own, and not those of the
# library below it.
what="stacks in a file that is gone"
mkdir -p "$work/far/away"
if [ -n "$with_stacks" ]; then
	cp "$programs/libodd.so" "$work/far/away"
	attach opens "$work/far/away/libodd.so" --stacks
	while_deaf rm -r "$work/far"
	has differences 0
	grep '"args":\["0","0x2000","0x1"' "$work/log" | grep -q '"site":"libodd.so(+0x' ||
		fail "$what: $(grep '"args":\["0","0x2000","0x1"' "$work/log")"
fi

# Nobody listens for a while: stacks are lost first, and nothing else is. And a program that makes
# calls all the time: it ends when it is to.
what="behind with stacks"
if [ -n "$with_stacks" ]; then
	attach maps 10000 --stacks
	while_deaf true
	[ $got = 0 ] || fail "$what: status $got: $(tail -5 "$work/err")"
	has stacks_lost '[1-9][0-9]*'
	has events_lost 0
	has rereads 0
	has differences 0
	attach maps 2000000000 --stacks
	echo go >&5
	wait_for grep -q '"type":"call"' "$work/log"
	sleep 1
	kill -TERM $watcher
	for i in $(seq $((600 * slowdown))); do kill -0 $watcher 2>/dev/null || break; sleep 0.05; done
	kill -KILL $watcher 2>/dev/null && fail "$what: it does not end"
	wait $watcher
	exec 5>&-
	kill -KILL $target
	wait $target 2>/dev/null
	target=
fi

# A signal ends the watching when all has happened, but has not been told yet: what was told by then
# counts.
what="a signal after the end"
attach maps 10000
while_deaf kill -TERM $watcher
[ $got = 0 ] || fail "$what: status $got: $(tail -5 "$work/err")"
has events_lost 0
has differences 0
has calls 2[0-9]{4}
grep -q '"type":"end".*"occasion":"exit"' "$work/log" || fail "$what: $(tail -2 "$work/log")"
replays

# Nobody listens for a while, and events are lost, the last one too: that is said, and it ends.
what="lost events"
attach maps 100000
while_deaf true
[ $got = 1 ] || fail "$what: status $got: $(tail -5 "$work/err")"
has events_lost '[1-9][0-9]*'
has unfollowed 1
grep -q "has ended unseen" "$work/err" || fail "$what: $(tail -5 "$work/err")"
replays
grep -q '"type":"gap","time":[0-9.]*,"events":[1-9]' "$work/log" || fail "$what: the log has no gap"
grep -q "log: vmscope watch lost [0-9]* events, which it first noticed" "$work/replay" ||
	fail "$what: replay: $(cat "$work/replay")"
"$vmscope" explain "$work/log" >"$work/out" 2>"$work/why" || fail "$what: explain: $(cat "$work/why")"
grep -q "This is partial: [0-9]* events were lost, which was first noticed after [0-9.]* s; " "$work/out" ||
	fail "$what: explain: $(head -5 "$work/out")"
"$vmscope" explain --json "$work/log" 2>/dev/null | grep -q '"events_lost": [1-9]' ||
	fail "$what: explain --json has no events_lost"
"$vmscope" report -o "$work/page.html" "$work/log" 2>"$work/why"
grep -q "events were lost while the program was watched" "$work/page.html" ||
	fail "$what: report: $(cat "$work/why")"

# The same, but it goes on, faster than calls are heard of: its areas are known again nevertheless.
what="behind"
attach maps 2000000000
echo go >&5
wait_for grep -q '"type":"call"' "$work/log"
for seconds in 2 4 8 16; do
	kill -STOP $watcher
	sleep $seconds
	kill -CONT $watcher
	sleep 2
	grep -q "events were lost" "$work/err" && break
done
wait_for grep -q "read again, as " "$work/err"
kill -KILL $target
exec 5>&-
wait $target 2>/dev/null
target=
wait $watcher
got=$?
[ $got -le 1 ] || fail "$what: status $got: $(tail -5 "$work/err")"
has events_lost '[1-9][0-9]*'
has differences 0
sed '1,/"type":"gap"/d' "$work/log" | grep -q '"type":"space"' ||
	fail "$what: no areas after the first gap"
replays
finish
