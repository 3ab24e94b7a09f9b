#!/bin/sh
# check.sh PROGRAM EXPECTED - PROGRAM succeeds and prints the file EXPECTED.
output=$("$1") || { echo "$1: exit status $?"; exit 1; }
printf '%s\n' "$output" | diff -u "$2" -
