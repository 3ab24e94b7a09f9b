#!/bin/sh
# Checks the Promela models of publishing and retiring, of readers that retry and of trees that share
# nodes: every scenario must hold, and with each fault put in the model must notice it.
# Usage: run.sh [DIRECTORY FOR WHAT IS BUILT [SCENARIO]]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=${1:-build/spin}
only=${2:-} # a scenario
passed=0
failed=0

for tool in spin gcc; do
	command -v $tool >/dev/null || {
		echo "model-check needs $tool: apt-get install $tool" >&2
		exit 2
	}
done
mkdir -p "$out"
cd "$out"

# verify EXPECTED_ERRORS NAME SPIN_DEFINES...
verify()
{
	expected=$1
	name=$2
	shift 2
	case $name in "$only"*) ;; *) return ;; esac
	rm -f pan* _spin_nvr.tmp
	spin -a "$@" "$here/$model" >spin.log 2>&1 || {
		cat spin.log
		exit 1
	}
	gcc -O1 -w -DSAFETY -DCOLLAPSE -DVECTORSZ=4096 -DMEMLIM=4096 -o pan pan.c
	./pan -m2000000 -w24 >pan.log 2>&1 || true
	errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.log)
	states=$(sed -n 's/ *\([0-9]*\) states, stored.*/\1/p' pan.log)
	why=$(sed -n 's/^pan:1: \(.*\) (at depth.*/\1/p' pan.log)
	if [ "$errors" = "$expected" ] && ! grep -qE 'max search depth|out of memory|VECTORSZ' pan.log; then
		passed=$((passed + 1))
		verdict=ok
	else
		failed=$((failed + 1))
		verdict=FAILED
		[ "$expected" = 0 ] && spin -t "$@" -p "$here/$model" >"$name.trail.txt" 2>&1 || true
	fi
	echo "$verdict  $name: $states states${why:+; noticed: $why}"
}

model=publish.pml
for scenario in VALUE GROW ROOT SLOT SUBTREE PIVOT TAIL SHIFT CUT GAPS REUSE; do
	verify 0 "$scenario" -DSCENARIO=$scenario
	[ $scenario = GAPS ] || verify 0 "$scenario, iteration" -DSCENARIO=$scenario -DITERATE
done
for scenario in DEATH BESIDE MODE; do
	verify 0 "$scenario" -DSCENARIO=$scenario
done
verify 0 "BESIDE, upwards" -DSCENARIO=BESIDE -DUPWARD
for scenario in TAIL SHIFT CUT DEATH BESIDE; do
	verify 0 "$scenario, loop" -DSCENARIO=$scenario -DBATCH
done
while read -r fault scenario more; do
	# shellcheck disable=SC2086 # more: words
	verify 1 "$scenario with $fault" -DSCENARIO=$scenario -DFAULT_$fault $more
done <<'END'
PUBLISH_FIRST ROOT
RELAXED_PUBLISH ROOT
RELAXED_PUBLISH GROW
RELAXED_PUBLISH SUBTREE
RELAXED_LOAD ROOT
RELAXED_LOAD SUBTREE
NO_GRACE ROOT
NO_GRACE SUBTREE
NO_GRACE REUSE
RETIRE_FIRST ROOT
RETIRE_FIRST SUBTREE
NO_VERSION PIVOT
NO_VERSION TAIL
RELAXED_PUBLISH PIVOT
NO_VERSION_CHECK PIVOT
NO_VERSION_CHECK TAIL
RELAXED_RAISE PIVOT
RELAXED_RAISE TAIL
RELAXED_VERSION PIVOT
RELAXED_VERSION TAIL
NO_FENCE PIVOT
NO_FENCE TAIL
FILL_BEFORE_DIVIDE TAIL
JOIN_BEFORE_CLEAR TAIL
NO_VERSION SHIFT
NO_VERSION_CHECK SHIFT
NO_FENCE SHIFT
PIVOT_BEFORE_SLOT SHIFT
FILL_BEFORE_DIVIDE SHIFT
JOIN_BEFORE_CLEAR SHIFT
NO_CONTINUITY SHIFT -DITERATE
NO_VERSION CUT
NO_VERSION_CHECK CUT
NO_FENCE CUT
MOVE_BEFORE_FILL CUT
CLOSE_BEFORE_MOVE CUT
TRUST_GAP GAPS
NO_DEAD DEATH
DEAD_LATE DEATH
TAKE_DEAD DEATH
NO_DEAD BESIDE
DEAD_LATE BESIDE
TAKE_DEAD BESIDE
NO_DEAD BESIDE -DUPWARD
DEAD_LATE BESIDE -DUPWARD
TAKE_DEAD BESIDE -DUPWARD
NO_BATCH_VERSION SHIFT -DBATCH
NO_BATCH_VERSION CUT -DBATCH
NO_FOLLOW SHIFT -DBATCH
NO_FOLLOW CUT -DBATCH
VISIT_EMPTY SHIFT -DBATCH
VISIT_EMPTY CUT -DBATCH
NO_FENCE CUT -DBATCH
SET_LATE MODE
CLEAR_EARLY MODE
END
model=retries.pml
verify 0 RETRIES
while read -r fault; do
	verify 1 "RETRIES with $fault" "-DFAULT_$fault"
done <<'END'
NO_COUNTER
NEVER_ASK
WRITE_OLD
FLAG
LEAVE_EARLY
TIGHTER
END
model=share.pml
for scenario in FLAT DEEP CHAIN APART PLAIN ORDER; do
	verify 0 "sharing-$scenario" -DSCENARIO=$scenario
done
verify 0 "sharing-PLAIN, more writes" -DSCENARIO=PLAIN -DWRITES=2
while read -r fault scenario; do
	verify 1 "sharing-$scenario with $fault" -DSCENARIO=$scenario "-DFAULT_$fault"
done <<'END'
UNCOUNTED FLAT
UNCOUNTED PLAIN
COUNT_LATE FLAT
COUNT_LATE PLAIN
COUNT_ALL FLAT
COUNT_ALL DEEP
SNAPSHOT_UNCOUNTED CHAIN
SNAPSHOT_UNCOUNTED PLAIN
ASK_LEAF FLAT
ASK_LEAF CHAIN
IN_PLACE FLAT
IN_PLACE PLAIN
NO_GRACE FLAT
NO_GRACE DEEP
NO_GRACE CHAIN
NO_GET FLAT
GET_LATE FLAT
GET_LATE PLAIN
PUT_AT_ONCE FLAT
FREE_ALONE FLAT
DROP_ALL FLAT
BELIEVE_LOAD APART
BELIEVE_LOAD PLAIN
ASK_RELAXED ORDER
DROP_RELAXED ORDER
DROP_UNACQUIRED ORDER
END
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
