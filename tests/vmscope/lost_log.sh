#!/bin/bash
# SPDX-License-Identifier: MIT
# A log that cannot be written any more ends, with a whole line; the traced program does not, and
# notices nothing. vmscope says why, goes on comparing, and exits with 125.
. "$(dirname "$0")/common.sh"

# More than 100 KiB of log; then it shows that it came to its end, and with what limit.
program='for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done; ulimit -f >"$1"; exit 3'

# unharmed WHAT LIMIT: what the program has left behind, and what vmscope has said.
unharmed() {
	[ "$(cat "$work/end" 2>/dev/null)" = "$2" ] || fail "$1: the program came to harm"
	said "it ends after line [0-9]*, and the run goes on without it" "$1"
	said "10 forks, 11 execs" "$1"
	said " 0 differences" "$1"
	[ "$(grep -c 'cannot write' "$work/err")" = 1 ] || fail "$1: $(cat "$work/err")"
}

# whole WHAT LOG: it has as many lines as vmscope has said, and all of them can be played.
whole() {
	local lines
	lines=$(sed -n 's/.*it ends after line \([0-9]*\),.*/\1/p' "$work/err")
	[ "$(wc -l <"$2")" = "$lines" ] || fail "$1: $(wc -l <"$2") lines, not $lines"
	[ "${lines:-0}" -gt 10 ] || fail "$1: only '$lines' lines"
	[ -z "$(tail -c 1 "$2")" ] || fail "$1: the last line is not whole"
	expect 0 "$1, replay" "$vmscope" replay "$2"
	said " 0 malformed" "$1, replay"
	said " 0 differences" "$1, replay"
}

expect 3 "the whole log" "$vmscope" trace -q -o "$work/log" -- sh -c "$program" sh "$work/end"
[ "$(stat -c %s "$work/log")" -gt 100000 ] || fail "the log is too small for what follows"

# Too large a file. The limit is in KiB.
rm -f "$work/end"
limited='ulimit -f "$0"; exec "$@"'
expect 125 "a limit" bash -c "$limited" 80 "$vmscope" trace -o "$work/log" -- \
	sh -c "$program" sh "$work/end"
said "cannot write the log $work/log: File too large" "a limit"
unharmed "a limit" "$(bash -c "$limited" 80 sh -c 'ulimit -f')"
whole "a limit" "$work/log"

# What is left at the end does not fit: less than a buffer of the log.
expect 125 "a limit at the end" bash -c "$limited" 4 "$vmscope" trace -q -o "$work/log" -- true
said "File too large; it ends after line [0-9]*\$" "a limit at the end"

# A pipe that nobody reads any more.
mkfifo "$work/pipe"
timeout $((60 * slowdown)) head -c 2000 "$work/pipe" >/dev/null &
rm -f "$work/end"
expect 125 "a closed pipe" "$vmscope" trace -o "$work/pipe" -- sh -c "$program" sh "$work/end"
said "Broken pipe" "a closed pipe"
unharmed "a closed pipe" "$(sh -c 'ulimit -f')"

# A pipe that is read late is waited for, also beside a log, for which vmscope wakes each second.
(sleep 3; exec cat >"$work/maps") <"$work/pipe" &
reader=$!
expect 0 "a slow pipe" "$vmscope" trace -q --verify=none -o "$work/log" --maps="$work/pipe" -- \
	python3 -c 'import mmap, os
maps = [mmap.mmap(-1, 4096, prot=1 + 2 * (i % 2)) for i in range(3000)]
os._exit(0)'
wait $reader
expect 0 "a slow pipe, replay" "$vmscope" replay -q -o "$work/replayed" "$work/log"
cmp -s <(grep -v '^#' "$work/maps") <(grep -v '^#' "$work/replayed") ||
	fail "a slow pipe: $(wc -l <"$work/maps") lines, not $(wc -l <"$work/replayed")"

# What has happened is in the log soon, though the program waits, and there is little of it.
mkfifo "$work/go"
rm "$work/log" # or that of before is looked at
"$vmscope" trace -q -o "$work/log" -- sh -c 'read -r line <"$1"; exit 4' sh "$work/go" &
traced=$!
for _ in $(seq $((200 * slowdown))); do
	! grep -q '"call":"mmap"' "$work/log" 2>/dev/null || break
	sleep 0.1
done
grep -q '"call":"mmap"' "$work/log" || fail "what a waiting program has done is not in the log"
echo >"$work/go"
wait "$traced"
status=$?
[ "$status" = 4 ] || fail "a waiting program: status $status, not 4"

# A full disk: one of our own, where a user may mount any. Runs a command in a namespace with a disk
# of 80 KiB, and keeps the log that is there then.
cat >"$work/on_disk" <<'END'
mount -t tmpfs -o size=80k none "$disk" || exit 77
"$@"
status=$?
[ ! -e "$disk/log" ] || cp "$disk/log" "$disk.log"
exit $status
END
on_disk="env disk=$work/disk unshare -rm bash $work/on_disk"
mkdir "$work/disk"
if $on_disk true 2>"$work/err"; then
	rm -f "$work/end"
	expect 125 "a full disk" $on_disk "$vmscope" trace -o "$work/disk/log" -- \
		sh -c "$program" sh "$work/end"
	said "cannot write the log $work/disk/log: No space left on device" "a full disk"
	unharmed "a full disk" "$(sh -c 'ulimit -f')"
	whole "a full disk" "$work/disk.log"
else
	echo "SKIP in part: nothing can be mounted here: $(head -1 "$work/err")"
fi
finish
