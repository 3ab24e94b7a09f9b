#!/bin/sh
# SPDX-License-Identifier: MIT
# check.sh check|record BUILD_DIRECTORY - compares what the shared libraries in BUILD_DIRECTORY promise to
# programs, their functions and the structs of the public headers, with what is recorded in abi/, or
# records it. docs/abi.md says what may change, and when to record. The same for the names in the symbols
# files of Debian's packages.
#
# Prints "PASS name" or "FAIL name" with the differences for each library; "SKIP: ..." on machines that
# the record is not about.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
what=${1:-}
build=${2:-}
case $what in
check | record) [ -n "$build" ] ;;
*) false ;;
esac || {
	sed -n '3,6s/^# //p' "$0" >&2
	exit 2
}

die()
{
	printf 'abi: %s\n' "$*" >&2
	exit 1
}

# Public: what is exported, and the types that the headers define; without places in files.
options='--exported-interfaces-only --drop-private-types
	--no-corpus-path --no-comp-dir-path --no-show-locs --type-id-style hash'

[ "$(uname -m)" = x86_64 ] || {
	echo "SKIP: abi/ is about x86_64, this is $(uname -m)"
	echo '0 passed, 0 failed'
	exit 1
}
command -v abidiff >/dev/null || {
	sudo=
	[ "$(id -u)" -eq 0 ] || sudo=sudo
	command -v apt-get >/dev/null && command -v "${sudo:-env}" >/dev/null ||
		die "there is no abidiff here, and no way to install it: as root, apt-get install abigail-tools"
	$sudo apt-get -q -o DPkg::Lock::Timeout=300 update
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
		install --no-install-recommends abigail-tools ||
		die "apt-get could not install abigail-tools: check the network and the sources in /etc/apt"
}

# notices RECORD LIBRARY_NOW STRUCT - it does not go unseen if STRUCT has another size.
notices()
{
	sed "s/\(class-decl name='$3' size-in-bits='\)/\19/" "$1" >"$2.other"
	! cmp -s "$1" "$2.other" && ! abidiff "$2.other" "$2" >/dev/null 2>&1
}

version=$(sed -n "s/^  version: '\(.*\)',/\1/p" "$top/meson.build")
failed=0
for name in mapletree vmspace; do
	library=$build/src/$name/lib$name.so
	record=$top/abi/lib$name.abi
	[ -e "$library" ] || die "there is no $library: build it with -Ddefault_library=both, with debug information"
	symbols=$(echo "$top/packaging/debian/lib$name"[0-9]*.symbols)
	[ "$what" = record ] && now=$record || now=$build/abi-$name.abi
	# shellcheck disable=SC2086 # lists of words
	abidw $options --headers-dir "$top/include" --out-file "$now" "$library"
	if [ "$what" = record ]; then
		"$top/packaging/symbols.sh" "$library" "$symbols" "$version" >"$build/symbols"
		mv "$build/symbols" "$symbols"
		echo "recorded $record and $symbols"
	elif abidiff "$record" "$now" >"$build/abi-$name.txt" 2>&1; then
		[ $name = mapletree ] && struct=maple_tree || struct=vmspace_request
		notices "$record" "$now" $struct || die "abidiff does not notice another size of struct $struct"
		echo "PASS lib$name: $(grep -c '<elf-symbol ' "$record") functions as recorded"
	else
		cat "$build/abi-$name.txt"
		echo "FAIL lib$name: not what abi/lib$name.abi has. If that is meant, see docs/abi.md, then: make record-abi"
		failed=1
	fi
	[ "$what" = check ] || continue
	"$top/packaging/symbols.sh" "$library" "$symbols" "$version" >"$build/symbols"
	if diff "$symbols" "$build/symbols" | grep '^<'; then
		echo "FAIL symbols of lib$name: these are gone that $symbols has"
		failed=1
	elif ! cmp -s "$symbols" "$build/symbols"; then
		echo "NOTE: functions of lib$name are not in $symbols yet, which make record-abi writes"
	fi
done
exit $failed
