#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitize.sh address|thread TARGET_DIRECTORY - the tests of the crate mapletree, and of vmspace, with all code of
# ours under AddressSanitizer or ThreadSanitizer, the C sources too. Needs clang, a nightly toolchain of rustup's
# and, for ThreadSanitizer, its component rust-src, since the standard library is compiled anew. Ends with what
# was tested; or with "SKIP: ..." and "0 passed, 0 failed" where one of these is missing.
set -eu

[ $# -eq 2 ] && case $1 in address | thread) ;; *) false ;; esac || {
	sed -n 's/^# //p' "$0" >&2
	exit 2
}
sanitizer=$1
mkdir -p "$2"
CARGO_TARGET_DIR=$(cd "$2" && pwd)
export CARGO_TARGET_DIR MAPLETREE_SYS_VENDORED=1
cd "$(dirname "$0")"
root=../..

skip()
{
	echo "SKIP: $*"
	echo '0 passed, 0 failed'
	exit 1
}

command -v clang >/dev/null || skip 'there is no clang here (./run proofs installs it)'
cargo +nightly --version 2>/dev/null || skip 'there is no nightly toolchain (rustup toolchain install nightly)'
export CC="${CC:-clang}" RUSTFLAGS="-Zsanitizer=$sanitizer"
target=$(rustc +nightly -vV | sed -n 's/^host: //p')
set -- --target "$target" --locked --no-fail-fast -p mapletree -p vmspace --tests

if [ "$sanitizer" = thread ]; then
	[ -d "$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library" ] ||
		skip 'the standard library has no sources here (rustup component add rust-src --toolchain nightly)'
	set -- "$@" -Zbuild-std
	# liburcu is not compiled with it; this tells what liburcu guarantees: see docs/testing.md.
	$CC -c -O1 -fPIC -fsanitize=thread -D_GNU_SOURCE -I"$root/include" \
		-o "$CARGO_TARGET_DIR/tsan.o" "$root/tests/torture/tsan.c"
	RUSTFLAGS="$RUSTFLAGS -Clink-arg=$CARGO_TARGET_DIR/tsan.o"
	for call in read_lock read_unlock synchronize_rcu barrier call_rcu; do
		RUSTFLAGS="$RUSTFLAGS -Clink-arg=-Wl,--wrap=urcu_bp_$call"
	done
fi

log=$CARGO_TARGET_DIR/sanitize.log
status=$CARGO_TARGET_DIR/status
{ $(setarch -R true 2>/dev/null && echo setarch -R) cargo +nightly test "$@" 2>&1; echo $? >"$status"; } | tee "$log"
[ "$(cat "$status")" -eq 0 ] || exit 1
awk -v what="$sanitizer" '/^test result: ok/ { tests += $4 } END { print tests " tests of the crates passed, sanitizer: " what }' "$log"
