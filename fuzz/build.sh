#!/bin/sh
# Builds a fuzzer, and says what it was made of: build.sh FUZZER DEPFILE COMPILER ARGUMENT...
# The compiler is called once for all sources: what it writes beside its output would be of the last
# one only, so that their headers are asked for apart. Each source has a rule of its own in DEPFILE.
set -eu

fuzzer=$1 depfile=$2
shift 2
"$@" -o "$fuzzer"
"$@" -MM -MT "$fuzzer" >"$depfile"
