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
root=../..

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

# The functions that bindings.rs declares are those of the version map; but for what is private to macros.
check_names()
{
	grep -o 'pub fn [A-Za-z0-9_]*' "$1/src/bindings.rs" | cut -d' ' -f3 | sort -u >"$CARGO_TARGET_DIR/bound"
	sed -n 's/^\t\([A-Za-z0-9_]*\);$/\1/p' "$2" |
		grep -Ev '^(mas_batch_|mt_loop_|mt_mutex_(wait|wake)$)' | sort -u >"$CARGO_TARGET_DIR/exported"
	diff "$CARGO_TARGET_DIR/bound" "$CARGO_TARGET_DIR/exported" ||
		die "$1 does not bind what $2 exports: run bindings/rust/bindgen.sh"
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

check_names mapletree-sys $root/src/mapletree/mapletree.map
: >"$log"
export MAPLETREE_SYS_VENDORED=1
logged cargo test --workspace --locked
RUSTDOCFLAGS='-D warnings' cargo doc --quiet --workspace --no-deps --locked

export MAPLETREE_SYS_VENDORED=0 PKG_CONFIG_PATH="$built/meson-uninstalled"
export LD_LIBRARY_PATH="$built/src/mapletree:$built/src/vmspace"
logged cargo test --locked -p mapletree --test range_map --test tree --test model
unset PKG_CONFIG_PATH LD_LIBRARY_PATH

# Crates that refer to each other can be packed together since cargo 1.83, before only when published.
export MAPLETREE_SYS_VENDORED=1
minor=$(cargo --version | sed 's/^cargo 1\.\([0-9]*\).*/\1/')
[ "$minor" -ge 83 ] && crates=--workspace || crates='-p mapletree-sys'
# shellcheck disable=SC2086 # a list of words
cargo package --allow-dirty --locked $crates
grep -h '^test result: ok' "$log" |
	awk '{ tests += $4 } END { print tests " tests of the crates passed; packages build alone" }'
