#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds everything with gcc and clang, at -O0, -O2 and -O3, without and with link-time optimisation,
# and for processors that have no vector instructions but SSE2, or AVX2 at most; and runs short suites
# of each. A warning is an error, the linker's too.
# Usage: check.sh [-b BUILD_DIRECTORY] [COMPILER-OPTIMISATION[-lto|-thin|-scalar|-avx2]...]
#	default: all twelve without and with -lto, clang-O3-thin (clang's LTO module by module, which
#	keeps what it has made of the library for the next program), gcc-O2-scalar and gcc-O2-avx2
#
# Prints a line "PASS name" or "FAIL name" for each; the logs stay beside the build.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=build
suites='unit api regress conformance model exhaustive examples vmspace'
all=
for compiler in gcc clang; do
	for level in O0 O2 O3; do
		all="$all $compiler-$level $compiler-$level-lto"
	done
done
all="$all clang-O3-thin"
[ "$(uname -m)" != x86_64 ] || all="$all gcc-O2-scalar gcc-O2-avx2"

die()
{
	printf 'builds: %s\n' "$*" >&2
	exit 2
}

need()
{
	command -v "$1" >/dev/null || die "no $1 here: apt-get install ${2:-$1}"
}

# Sets what meson reads for the build $1, and options.
describe()
{
	local compiler level how
	IFS=- read -r compiler level how <<<"$1"
	# Debugging information is a third of the work of linking, and no suite of these reads it.
	options=(-Dwerror=true -Doptimization="${level#O}" -Ddebug=false -Dfuzzers=disabled)
	unset CC CXX CC_LD CXX_LD AR
	case $compiler in
	gcc) export CC=gcc CXX=g++ ;;
	clang) export CC=clang CXX=clang++ ;;
	*) die "no build is called $1; known:$all" ;;
	esac
	case $level in
	O0 | O2) ;;
	O3) options+=(-Db_ndebug=true) ;; # as it is shipped; the others have assertions
	*) die "no build is called $1; known:$all" ;;
	esac
	case $how in
	'') ;;
	scalar | avx2) options+=(-Disa="$how") ;;
	lto | thin)
		options+=(-Db_lto=true)
		if [ "$how" = thin ]; then
			[ "$compiler" = clang ] || die "no build is called $1; known:$all"
			options+=(-Db_lto_mode=thin -Db_thinlto_cache=true)
		fi
		if [ "$compiler" = clang ]; then
			need ld.lld lld
			need llvm-ar llvm
			export CC_LD=lld CXX_LD=lld AR=llvm-ar
		fi ;;
	*) die "no build is called $1; known:$all" ;;
	esac
	need "$CC"
	need "$CXX"
}

# Builds and tests $1; what went wrong is shown.
check()
{
	local dir=$build/builds/$1 suite wanted=()
	for suite in $suites; do
		wanted+=(--suite "$suite")
	done
	if [ ! -f "$dir/build.ninja" ]; then
		meson setup "$dir" "$top" -Dtests=enabled -Dtools=enabled "${options[@]}" >"$dir.log" 2>&1 ||
			{ tail -30 "$dir.log"; return 1; }
	fi
	ninja -C "$dir" >"$dir.log" 2>&1 || { grep -A8 -E 'error|FAILED' "$dir.log" | head -40; return 1; }
	if grep -B2 -A8 'warning:' "$dir.log"; then
		return 1
	fi
	meson test -C "$dir" --no-rebuild "${wanted[@]}" --timeout-multiplier 20 --print-errorlogs \
		>"$dir.log" 2>&1 || { sed -n '/^Summary of Failures/,$p' "$dir.log" | head -40; return 1; }
	tests=$(sed -n 's/^Ok: *\([0-9]*\).*/\1/p' "$dir.log")
}

while getopts b: option; do
	case $option in
	b) build=$OPTARG ;;
	*) die "usage: check.sh [-b BUILD_DIRECTORY] [BUILD...]; known:$all" ;;
	esac
done
shift $((OPTIND - 1))
# shellcheck disable=SC2086 # a list of words
[ $# -gt 0 ] || set -- $all
need meson
need ninja ninja-build
for name in "$@"; do
	describe "$name"
done
mkdir -p "$build/builds"
failed=0
for name in "$@"; do
	describe "$name"
	if check "$name"; then
		echo "PASS $name: ${tests:?} test programs"
	else
		echo "FAIL $name: see $build/builds/$name.log"
		failed=1
	fi
done
exit $failed
