#!/bin/sh
# SPDX-License-Identifier: MIT
# bindgen.sh [--check] - makes the bindings.rs of the -sys crates anew from the headers, or checks that they
# are what it would make. It uses BINDGEN, or installs the version below with cargo into build/ (once, some
# minutes): Debian 12's bindgen stops at vmspace.h. Nobody needs it to build the crates.
set -eu

version=0.72.1
cd "$(dirname "$0")"
root=../..
bindgen=${BINDGEN:-$root/build/bindgen-$version/bin/bindgen}
check=${1:-}
case $check in '' | --check) ;; *)
	sed -n 's/^# //p' "$0" >&2
	exit 2
	;;
esac

[ -x "$bindgen" ] || command -v "$bindgen" >/dev/null ||
	cargo install --quiet --locked --root "$root/build/bindgen-$version" --version "$version" bindgen-cli

# bindings CRATE FILE PATTERN OPTION... - for what FILE sees declared in files whose name matches PATTERN.
bindings()
{
	crate=$1
	file=$2
	pattern=$3
	shift 3
	fresh=$(mktemp)
	"$bindgen" "$file" --output "$fresh" --allowlist-file "$pattern" --use-core \
		--no-prepend-enum-name --default-enum-style consts --rust-target 1.63 \
		--raw-line '// Made by bindgen.sh from the headers; not to be edited.' "$@" \
		-- -I"$root/include" -D_GNU_SOURCE -std=gnu17
	if [ -z "$check" ]; then
		cp "$fresh" "$crate/src/bindings.rs"
	elif ! diff -u "$crate/src/bindings.rs" "$fresh"; then
		rm -f "$fresh"
		echo "bindgen.sh: $crate/src/bindings.rs is not that of the headers: run bindings/rust/bindgen.sh" >&2
		exit 1
	fi
	rm -f "$fresh"
}

# twins.c: there inline functions and macros are functions, too. What is private to macros is left out.
bindings mapletree-sys "$root/src/mapletree/twins.c" '.*/(mapletree/maple_tree[a-z_]*\.h|twins\.c)' \
	--blocklist-item 'mas_batch_.*|mt_loop_.*|mt_mutex_wait|mt_mutex_wake|MAS_BATCH_.*|MT_LOOP_.*'

headers=$(mktemp --suffix=.h)
for header in "$root"/include/mapletree/vmspace*.h; do
	echo "#include <mapletree/$(basename "$header")>"
done >"$headers"
bindings vmspace-sys "$headers" '.*/mapletree/vmspace[a-z_]*\.h' --clang-macro-fallback \
	--blocklist-item VMSPACE_NO_LIMIT
rm -f "$headers"
