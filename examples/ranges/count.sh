#!/bin/sh
# SPDX-License-Identifier: MIT
# count.sh RELEASE_BUILD - the table of docs/guides/ranges.md: instructions an operation in a red-black
# tree and in the maple tree of a release build ("make" makes build/release), counted by callgrind.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
library=${1:?which build? build/release}/src/mapletree/libmapletree.a
[ -e "$library" ] || { echo "count.sh: there is no $library: run make" >&2; exit 1; }
command -v valgrind >/dev/null || { echo "count.sh: there is no valgrind here" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
${CXX:-c++} -std=c++17 -O2 -g -c -o "$work/before.o" "$here/before.cc"
${CC:-cc} -O2 -g -I"$here/../../include" -c -o "$work/after.o" "$here/after.c"
${CC:-cc} -O2 -g -c -o "$work/main.o" "$here/main.c"
${CXX:-c++} -o "$work/before" "$work/before.o" "$work/main.o"
# shellcheck disable=SC2046 # flags are words
${CC:-cc} -o "$work/after" "$work/after.o" "$work/main.o" "$library" \
	$(pkg-config --libs --static liburcu-bp) -lpthread

# cell PROGRAM PHASE RANGES OPERATIONS
cell()
{
	counted=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect="phase_$2" \
		"$work/$1" "$3" 2>&1 >/dev/null | sed -n 's/.*Collected : //p')
	echo $((counted / $4))
}

# row NAME PHASE OPERATIONS OPERATIONS - of 1,000 and of 20,000 ranges
row()
{
	echo "| $1 | $(cell before "$2" 1000 "$3") | $(cell after "$2" 1000 "$3") |" \
		"$(cell before "$2" 20000 "$4") | $(cell after "$2" 20000 "$4") |"
}

echo '| | before, 1,000 ranges | after | before, 20,000 ranges | after |'
echo '|---|---:|---:|---:|---:|'
row 'append' build 1000 20000
row 'look up a random index' load 40000 40000
row 'store a random range, erase another' change 20000 20000
row 'find a free range' free 200 200
row 'walk all ranges, for each' sum 1000 20000
