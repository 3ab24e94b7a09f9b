#!/bin/sh
# SPDX-License-Identifier: MIT
# newcomer.sh BUILD TARFILE RELEASE... - does what the README tells, in a root of each release of Debian
# that has nothing but git's checkout, which TARFILE stands for: ./run demo, then each program that the
# README shows, built and run by the commands below it. Prints how long each step takes; the roots are those
# of deb.sh. Needs root and the network.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)

[ $# -ge 3 ] || { sed -n '3,7s/^# //p' "$0" >&2; exit 2; }
. "$top/packaging/roots.sh"
sources=$(realpath "$2")
shift 2

# block MARK NUMBER - the program of the README after <!-- MARK -->, or the block NUMBER after it
block()
{
	awk -v mark="<!-- $1 -->" -v wanted="$2" '
		$0 == mark { found = 1 }
		found && /^```/ { inside = !inside; if (inside) n++; else if (n > wanted) exit; next }
		found && inside && n == wanted + 1' "$place/README.md"
}

# step NAME COMMANDS - in the root, as root, where there is no sudo, and none is needed
step()
{
	began=$(date +%s)
	printf '%s\n' 'sudo() { "$@"; }' "$2" >"$work/root/step"
	inside "$work/root" sh -euxc 'cd /src/mapletree; . /step' >"$work/newcomer.log" 2>&1 ||
		{ tail -30 "$work/newcomer.log" >&2; die "$release: $1: failed; see $work/newcomer.log"; }
	echo "$release: $1: $(($(date +%s) - began)) s"
}

for release in "$@"; do
	need_root "$release"
	fresh "$work/root" "$work/base.tar"
	place=$work/root/src/mapletree
	mkdir -p "$place"
	tar -C "$place" --strip-components=1 -xf "$sources"
	step './run demo' './run demo'
	grep -q ' 0 differences$' "$work/newcomer.log" || die "$release: the demo found differences"

	block examples/first.c 0 >"$place/first.c"
	step 'C' "$(block examples/first.c 1 | grep -v '^man ')"
	grep -A1 -x code "$work/newcomer.log" | grep -qx data || die "$release: first.c printed something else"

	block examples/first.cc 0 >"$place/first.cc"
	step 'C++' "apt-get -q -y install --no-install-recommends g++
		$(block examples/first.cc 1)"
	grep -qx '3000-8fff data' "$work/newcomer.log" || die "$release: first.cc printed something else"

	step 'Rust' 'apt-get -q -y install --no-install-recommends cargo ca-certificates
		mkdir -p /src/first/src; cd /src/first; cargo init --vcs none --name first'
	{
		echo 'fn main() {'
		block bindings/rust/mapletree/src/lib.rs 0 | sed '1{h;d}'
		echo 'println!("{} pieces", pieces.len()); }'
		echo 'use mapletree::RangeMap;'
	} >"$work/root/src/first/src/main.rs"
	# The crate needs another one to be built, which this machine may not reach.
	if inside "$work/root" sh -euc 'cd /src/mapletree/bindings/rust; cargo fetch' >"$work/newcomer.log" 2>&1; then
		step 'Rust, the program' "cd /src/first; $(block bindings/rust/mapletree/src/lib.rs 1); cargo run"
		grep -qx '3 pieces' "$work/newcomer.log" || die "$release: the Rust program printed something else"
	else
		echo "$release: Rust, the program: skipped, its crates cannot be fetched here"
	fi

	rm -rf --one-file-system "$work/root"
	echo "PASS $release"
done
