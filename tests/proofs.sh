#!/bin/sh
# SPDX-License-Identifier: MIT
# proofs.sh BUILD_DIRECTORY [NAME...] - a short slice of each proof that "make check" does not run:
# minutes in all. The long runs are the same make targets with other arguments; see docs/testing.md.
#
# Prints a line for each, "PASS name: what was seen (seconds)", FAIL with the end of its log, or SKIP with
# what is missing here, and leaves the lines in BUILD_DIRECTORY/proofs/results.
set -u

[ $# -ge 1 ] || {
	sed -n 's/^# //p' "$0" >&2
	exit 2
}
build=$1
shift
chosen=" $* "
logs=$build/proofs
results=$logs/results
make=${MAKE:-make}
mkdir -p "$logs"
: >"$results"

say()
{
	echo "$*" | tee -a "$results"
}

# skip NAME TOOL... - true, and said so, if one of the tools is not here.
skip()
{
	name=$1
	shift
	for tool in "$@"; do
		command -v "$tool" >/dev/null && continue
		say "SKIP $name: there is no $tool here (./run proofs installs it)"
		return 0
	done
	return 1
}

# proof NAME TOOLS SEEN COMMAND... - SEEN: the sed script that takes what was seen from the log.
proof()
{
	name=$1
	tools=$2
	seen=$3
	shift 3
	case $chosen in "  " | *" $name "*) ;; *) return ;; esac
	# shellcheck disable=SC2086 # a list of words
	skip "$name" $tools && return
	began=$(date +%s)
	if "$@" >"$logs/$name.log" 2>&1; then
		say "PASS $name: $(sed -nE "$seen" "$logs/$name.log" | tr '\n' ' ')($(($(date +%s) - began)) s)"
	elif grep -qx '0 passed, 0 failed' "$logs/$name.log"; then
		say "SKIP $name: $(sed -n 's/^SKIP:* *//p' "$logs/$name.log" | tr '\n' ' ')"
	else
		tail -40 "$logs/$name.log"
		say "FAIL $name: see $logs/$name.log ($(($(date +%s) - began)) s)"
	fi
}

meson='s/^Ok: *([0-9]+).*/\1 test programs/p'
torture='s/^[0-9]+ nodes freed.*/&/p'
lookups='s/^# ([0-9]+ calls.*)/\1/p'
faults='s/^#? ?([0-9]+ faults.*)/\1/p'

# The first two wait for grace periods and children most of the time, and leave a processor to the others;
# the third keeps busy what those leave that have an end of one program, or set something up.
{
	proof coverage gcovr 's/^[0-9]+ of [0-9]+ branches.*/&/p' $make coverage
	proof mutate gcc 's/^[0-9]+ noticed.*/&/p' $make mutate COUNT=6 SEED=1
	proof check-arch apt-get 's/^.*[0-9]+ passed.*/&/p' $make check-arch ARCHS='i386 s390x' \
		SUITES='unit api regress conformance'
} &
proof model-check spin 's/^[0-9]+ passed.*/&/p' $make model-check SCENARIO=PIVOT
proof model-check-sharing spin 's/^[0-9]+ passed.*/&/p' $make model-check SCENARIO=sharing-ORDER
proof torture meson "$torture" $make torture DURATION=5
proof torture-asan meson "$torture" $make torture-asan DURATION=5
proof torture-tsan clang "$torture" $make torture-tsan DURATION=5
proof shrink-tsan clang 's/^.*PASSED.* ([0-9]+ test).*/\1/p' $make shrink-tsan
proof torture-space meson "$faults" $make torture-space DURATION=5
proof torture-space-asan meson "$faults" $make torture-space-asan DURATION=5
proof torture-space-tsan clang "$faults" $make torture-space-tsan DURATION=5
proof torture-signals meson "$lookups" $make torture-signals DURATION=5
proof torture-signals-tsan clang "$lookups" $make torture-signals-tsan DURATION=5
proof self-mirror meson 's/^[0-9]+ calls.*/&/p' $make self-mirror DURATION=5
proof fuzz 'clang afl-clang-fast' 's/^ *executions: (.*)/\1 executions/p' \
	$make fuzz DURATION=10 FUZZERS='tree_small vmspace'
proof fuzz-afl 'clang afl-clang-fast' 's/^ *executions: (.*)/\1 executions/p' \
	$make fuzz-afl DURATION=10 FUZZERS='tree_small vmspace'
proof report chromium 's/^all as.*/&/p' $make report-browser
proof export-perfetto python3 's/^(PASS perfetto|SKIP in part): (.*)/\2/p' $make export-perfetto
proof check-abi apt-get 's/^PASS (lib[^:]*).*/\1/p' $make check-abi
if [ -e .git ]; then
	# What is committed is what is tried, whatever else lies in this checkout.
	proof dist git 's/^([0-9]+ passed.*)/recorded files: \1/p' $make check-dist DIST_FLAGS=--allow-dirty
else
	say 'SKIP dist: what is published is taken from a git checkout, and this is none'
fi
proof rust cargo 's/^[0-9]+ tests of the crates.*/&/p' $make rust
proof rust-asan 'cargo clang' 's/^([0-9]+ tests of the crates).*/\1/p' $make rust-asan
proof rv64 apt-get 's/^ok: (.* a second.*)$/\1;/p; s/^[0-9]+ calls, .*/&;/p; s/^[0-9]+ passed.*/&/p' $make rv64
proof valgrind valgrind "$meson" $make valgrind SUITES='unit api regress conformance examples'
proof builds 'clang ld.lld llvm-ar' 's/^PASS //p' $make builds BUILDS='gcc-O0-scalar clang-O3-thin'
wait
# Emulated processors have limits of time: when nothing runs beside any more.
proof kernels 'qemu-system-x86_64 busybox' 's/^[0-9]+ passed.*/&/p' $make kernels-slice

! grep -q '^FAIL' "$results" && grep -q '^PASS' "$results"
