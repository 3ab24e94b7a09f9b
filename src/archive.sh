#!/bin/sh
# SPDX-License-Identifier: MIT
# archive.sh OUTPUT INPUT COMPILER OPTION... - makes the static library OUTPUT of the objects in INPUT,
# an archive: one object, in which what is hidden in the shared library is local. So a program may use
# any name that the headers do not declare. COMPILER links the object, which is machine code also if
# those in INPUT are left for link-time optimisation.
set -eu

output=$1
input=$2
shift 2
object=$output.o
trap 'rm -f "$object"' EXIT
"$@" -r -nostdlib -o "$object" -Wl,--whole-archive "$input" -Wl,--no-whole-archive
# The tools for the machine that COMPILER compiles for. What it adds to every object under the same name,
# on 32-bit x86, has to stay as it is: the linker keeps one for all of them.
"$("$@" -print-prog-name=objcopy)" --localize-hidden --wildcard \
	--globalize-symbol='__x86.get_pc_thunk.*' "$object"
rm -f "$output"
"$("$@" -print-prog-name=ar)" crsD "$output" "$object"
