#!/bin/bash
# SPDX-License-Identifier: MIT
# Real programs under vmscope, if they are installed: no difference, and their usual output.
. "$(dirname "$0")/common.sh"

tried=0
missing=
try() {
	command -v "$1" >/dev/null || {
		missing="$missing $1"
		return 0
	}
	tried=$((tried + 1))
	"$@" >"$work/untraced" 2>&1 </dev/null
	expect $? "$*" "$vmscope" trace -q -- "$@" || return 0
	cmp -s "$work/untraced" <(cat "$work/out" "$work/err") || fail "$1: another output under vmscope"
}

try true
try ls -l /usr/bin
try sh -c 'for i in 1 2 3 4 5; do echo $i | cat; done; exit 9'
try bash -c 'f() { [ "$1" = 0 ] || f $(($1 - 1)); }; f 500; (exit 4)'
try sed -n 1,10p /etc/passwd
try awk 'BEGIN { for (i = 0; i < 100000; i++) a[i] = i; print length(a) }'
try sort /etc/services
try perl -e 'my @a = map { "x" x $_ } 1 .. 2000; print scalar(@a), "\n"'
try /usr/bin/python3 -c 'import json, ctypes, multiprocessing; print(len(bytearray(50000000)))'
try /usr/bin/python3 -c '
import threading
def work():
    kept = []
    for i in range(50):
        kept.append(bytearray(i * 5000))
        if len(kept) > 8: kept.pop(0)
threads = [threading.Thread(target=work) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print("done")'
[ -z "$missing" ] || echo "SKIP in part: not installed:$missing"
[ "$tried" -gt 3 ] || [ "$failures" != 0 ] || skip "too few programs are installed"
finish
