#!/bin/sh
# check.sh PROGRAM EXPECTED [ARGUMENT...] - PROGRAM succeeds and prints the file EXPECTED.
program=$1
expected=$2
shift 2
output=$("$program" "$@") || { echo "$program: exit status $?"; exit 1; }
printf '%s\n' "$output" | diff -u "$expected" -
