#!/bin/sh
# Runs fuzzers, one after the other: run.sh libfuzzer|afl SECONDS SCRATCH CORPUS FUZZER...
# New inputs and findings are left in SCRATCH/NAME; CORPUS is only read. SECONDS may end in s, m, h.
set -eu

[ $# -ge 5 ] || {
	sed -n 's/^# //p' "$0" >&2
	exit 2
}
engine=$1
case $2 in
*h) seconds=$((${2%h} * 3600)) ;;
*m) seconds=$((${2%m} * 60)) ;;
*) seconds=${2%s} ;;
esac
scratch=$3
corpus=$4
shift 4
each=$((seconds / $#))
[ $each -gt 0 ] || each=1
status=0

# A finding is left as a file, and its calls can be printed with the replay program (-v).
with_libfuzzer()
{
	"$1" -max_total_time=$each -entropic=0 -max_len=2048 -len_control=20 -timeout=20 \
		-rss_limit_mb=4096 -print_final_stats=1 -verbosity=${VERBOSITY:-0} \
		"-artifact_prefix=$2/" "$2/queue" "$3" 2>"$2/log" || {
		grep -vE '^(INFO|#)' "$2/log" | tail -60
		return 1
	}
	sed -n 's/^stat::number_of_executed_units: */    executions: /p;
		s/^stat::new_units_added: */    new inputs: /p' "$2/log"
}

with_afl()
{
	rm -rf "$2/afl"
	AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_NO_AFFINITY=1 \
		AFL_AUTORESUME=0 afl-fuzz -V $each -i "$3" -o "$2/afl" -- "$1" >"$2/log" 2>&1 || {
		tail -30 "$2/log"
		return 1
	}
	sed -n 's/^execs_done *: /    executions: /p; s/^corpus_count *: /    inputs: /p;
		s/^saved_crashes *: /    crashes: /p; s/^saved_hangs *: /    hangs: /p' \
		"$2/afl/default/fuzzer_stats"
	grep -q '^saved_crashes *: 0$' "$2/afl/default/fuzzer_stats"
}

for fuzzer in "$@"; do
	name=$(basename "$fuzzer")
	target=${name#fuzz_}
	target=${target#afl_}
	place=$scratch/$name
	mkdir -p "$place/queue"
	echo "$name for $each s"
	if ! with_"$engine" "$fuzzer" "$place" "$corpus/${target%_small}"; then
		echo "    a finding is in $place"
		status=1
	fi
done
exit $status
