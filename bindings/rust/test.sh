#!/bin/sh
# SPDX-License-Identifier: MIT
# test.sh TARGET_DIRECTORY BUILD_DIRECTORY - tests the Rust crates: with the C sources that they carry, with
# the shared libraries in BUILD_DIRECTORY, which pkg-config finds there, and packed as for a registry. Ends
# with what was tested; or with "SKIP: ..." and "0 passed, 0 failed" where there is no cargo, or where the
# crates of others that the tests need cannot be fetched.
set -eu

[ $# -eq 2 ] || {
	sed -n 's/^# //p' "$0" >&2
	exit 2
}
mkdir -p "$1"
CARGO_TARGET_DIR=$(cd "$1" && pwd)
built=$(cd "$2" && pwd)
export CARGO_TARGET_DIR
cd "$(dirname "$0")"

skip()
{
	echo "SKIP: $*"
	echo '0 passed, 0 failed'
	exit 1
}

die()
{
	echo "test.sh: $*" >&2
	exit 1
}

# check_names CRATE LIBRARY - the library in BUILD_DIRECTORY exports the functions that bindings.rs declares. What
# was added since is named: a crate without it works.
check_names()
{
	grep -o 'pub fn [A-Za-z0-9_]*' "$1/src/bindings.rs" | cut -d' ' -f3 | sort -u >"$CARGO_TARGET_DIR/bound"
	nm -D --defined-only "$built/src/$2/lib$2.so" | sed -n 's/.* [TWi] \([A-Za-z0-9_]*\)@@.*/\1/p' |
		grep -Ev '^(mas_batch_|mt_loop_|mt_mutex_(wait|wake)$)' |
		sort -u >"$CARGO_TARGET_DIR/exported"
	surplus=$(comm -23 "$CARGO_TARGET_DIR/bound" "$CARGO_TARGET_DIR/exported" | tr '\n' ' ')
	[ -z "$surplus" ] || die "$1 binds what $2 does not export: $surplus: run bindings/rust/bindgen.sh"
	missing=$(comm -13 "$CARGO_TARGET_DIR/bound" "$CARGO_TARGET_DIR/exported" | tr '\n' ' ')
	[ -z "$missing" ] || echo "$1 does not bind yet: $missing (bindings/rust/bindgen.sh adds it)"
}

# cargo COMMAND... - its output goes to the log as well, from which the tests are counted.
log=$CARGO_TARGET_DIR/test.log
logged()
{
	status=$CARGO_TARGET_DIR/status
	{ "$@" 2>&1; echo $? >"$status"; } | tee -a "$log"
	[ "$(cat "$status")" -eq 0 ] || exit 1
}

command -v cargo >/dev/null || skip 'there is no cargo here (./run proofs installs it)'
cargo --version
# A lock file that does not fit is our mistake; a registry that does not answer is not.
if ! timeout 240 cargo fetch --locked >"$CARGO_TARGET_DIR/fetch.log" 2>&1; then
	cat "$CARGO_TARGET_DIR/fetch.log"
	! grep -q 'lock file' "$CARGO_TARGET_DIR/fetch.log" || die 'Cargo.lock is not that of the manifests'
	skip 'the crates that the tests need cannot be fetched'
fi

check_names mapletree-sys mapletree
check_names vmspace-sys vmspace
: >"$log"
export MAPLETREE_SYS_VENDORED=1
logged cargo test --workspace --locked
RUSTDOCFLAGS='-D warnings' cargo doc --quiet --workspace --no-deps --locked

export MAPLETREE_SYS_VENDORED=0 PKG_CONFIG_PATH="$built/meson-uninstalled"
export LD_LIBRARY_PATH="$built/src/mapletree:$built/src/vmspace"
logged cargo test --locked -p mapletree -p vmspace --test range_map --test tree --test model --test space
unset PKG_CONFIG_PATH LD_LIBRARY_PATH

# Packed as for a registry, and built from the packages. Crates that refer to each other can be packed together
# since cargo 1.83; before only when the others are published.
export MAPLETREE_SYS_VENDORED=1
crates='mapletree-sys mapletree vmspace-sys vmspace'
[ "$(cargo --version | sed 's/^cargo 1\.\([0-9]*\).*/\1/')" -ge 83 ] || crates=mapletree-sys
# shellcheck disable=SC2086,SC2046 # lists of words
cargo package --quiet --allow-dirty --locked --no-verify $(printf -- '-p %s ' $crates)
packages=$CARGO_TARGET_DIR/package
rm -rf "$packages/unpacked"
mkdir "$packages/unpacked"
{
	printf '[workspace]\nresolver = "2"\n'
	echo 'members = ["*"]'
	echo '[patch.crates-io]'
	for crate in $crates; do
		packed=$crate-$(sed -n 's/^version = "\(.*\)"/\1/p' "$crate/Cargo.toml")
		tar -C "$packages/unpacked" -xf "$packages/$packed.crate"
		mv "$packages/unpacked/$packed" "$packages/unpacked/$crate"
		echo "$crate = { path = \"$crate\" }"
	done
} >"$packages/unpacked/Cargo.toml"
cp Cargo.lock "$packages/unpacked"
(cd "$packages/unpacked" && cargo build --offline)
grep -h '^test result: ok' "$log" |
	awk '{ tests += $4 } END { print tests " tests of the crates passed; packages build alone" }'
