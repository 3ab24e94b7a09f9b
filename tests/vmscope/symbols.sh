#!/bin/bash
# SPDX-License-Identifier: MIT
# vmscope trace --sites: the callers in a stripped program have the names that its debug file tells, which is
# found by its build id: at a server of debuginfod, if DEBUGINFOD_URLS names one.
. "$(dirname "$0")/common.sh"

"$vmscope" trace -q --sites -o "$work/log" -- true 2>"$work/err"
if grep -q "without libdw" "$work/err"; then
	echo "skipped: $(cat "$work/err")"
	exit 77
fi
cat >"$work/maps.c" <<'C'
#include <sys/mman.h>
static __attribute__((noinline)) void *maker_of_areas(void)
{
	return mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
int main(void)
{
	return maker_of_areas() == MAP_FAILED;
}
C
if ! cc -g -O1 -Wl,--build-id -o "$work/maps" "$work/maps.c" 2>"$work/err" ||
	! objcopy --only-keep-debug "$work/maps" "$work/debug" 2>>"$work/err" ||
	! strip "$work/maps" 2>>"$work/err"; then
	echo "skipped: no program can be built here: $(head -1 "$work/err")"
	exit 77
fi
id=$(readelf -n "$work/maps" | sed -n 's/.*Build ID: *//p')
mkdir -p "$work/server/buildid/$id"
cp "$work/debug" "$work/server/buildid/$id/debuginfo"

named() { # WHAT: traces; 0 if the caller has its name in the log
	"$vmscope" trace -q --sites -o "$work/log" -- "$work/maps" 2>"$work/err" ||
		fail "$1: status $?: $(head -3 "$work/err")"
	grep -q '"site":"maps(maker_of_areas+0x' "$work/log"
}

export DEBUGINFOD_CACHE_PATH=$work/cache
unset DEBUGINFOD_URLS
named "no server" && fail "a stripped program tells its names without its debug file"
if ldconfig -p | grep -q libdebuginfod; then
	export DEBUGINFOD_URLS=file://$work/server
	named "a server" || fail "the names of the server are not used: $(grep -o '"site":"maps[^"]*"' "$work/log")"
	unset DEBUGINFOD_URLS
else
	echo "SKIP in part: there is no libdebuginfod here"
fi
# Beside the program, by its debug link: no server is needed.
mkdir "$work/.debug"
cp "$work/debug" "$work/.debug/maps.debug"
objcopy --add-gnu-debuglink="$work/.debug/maps.debug" "$work/maps"
named "a debug link" || fail "a debug link is not followed: $(grep -o '"site":"maps[^"]*"' "$work/log")"
finish
