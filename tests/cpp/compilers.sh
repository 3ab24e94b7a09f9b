#!/bin/sh
# SPDX-License-Identifier: MIT
# compilers.sh SOURCE_DIR "LIBRARY..." - the C++ headers have no warning, and the tests of what they
# promise pass, with g++ and with clang++, as C++17, 20 and 23, under AddressSanitizer and UBSan where the
# compiler has them here. LIBRARY...: what to link. Prints TAP.
set -u

source=$1
libraries=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
number=0

# sanitized COMPILER - prints the options for what it can link and run with.
sanitized()
{
	options='-fsanitize=address,undefined -fno-sanitize-recover=all'
	# shellcheck disable=SC2086 # a list of words
	echo 'int main() {}' | "$1" -x c++ $options -o "$work/empty" - 2>/dev/null && "$work/empty" &&
		echo "$options"
}

# try COMPILER STANDARD PROGRAM - build it, without a warning, and run it.
try()
{
	# shellcheck disable=SC2086 # flags are words
	"$1" -std="$2" -Wall -Wextra -Wconversion -Wpedantic -Werror $sanitizers \
		-I"$source/include" -o "$work/program" "$source/tests/cpp/$3.cc" $libraries &&
		"$work/program" >"$work/output"
}

echo '1..8'
for compiler in g++ clang++; do
	sanitizers=$(sanitized "$compiler")
	for test in 'c++17 interface' 'c++20 interface' 'c++2b interface' 'c++2b exceptions'; do
		number=$((number + 1))
		name="$number - $test by $compiler${sanitizers:+, sanitized}"
		if ! command -v "$compiler" >/dev/null; then
			echo "ok $name # SKIP $compiler is not installed"
		elif try "$compiler" ${test} >"$work/log" 2>&1; then # two words
			echo "ok $name"
		else
			cat "$work/log" "$work/output" 2>/dev/null | sed "s/^/# /"
			echo "not ok $name"
		fi
	done
done
