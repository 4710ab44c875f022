#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Verdicts by envelope: results that the PTX ISA allows as well are no difference, however they were made; a fault is one,
# and is told with its kernel, element and PTX line, and with what was measured.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work envelope

program=$programs/runtime_attention_mma
[ -x "$program" ] || { echo "skipped: runtime_attention_mma was not built, it needs nvcc"; exit 77; }
trace=$work/attention.trace
expect 0 "$cutrace" record -q --check=contents -o "$trace" --device interp -- "$program"

for seed in 101 102 103 104 105 106; do
	other=interp:tensor=seed:$seed,approx=seed:$seed,contract=seed:$seed,order=seed:$seed
	expect 0 "$cutrace" replay --isolated --device "$other" -o "$work/result.db" "$trace"
	says out '2 inside the envelope of legal results'
	[ "$(sqlite3 "$work/result.db" "SELECT count(*) FROM verdict WHERE kind = 'written' AND grade = 'inside' AND differing > 0 AND note LIKE 'inside the envelope of 8%'")" = 2 ] ||
		fail "seed $seed: not two verdicts inside"
done
expect 1 "$cutrace" replay --isolated --envelope 0 --device interp:tensor=seed:5,approx=seed:5 "$trace"
expect 0 "$cutrace" replay -j 2 --device interp:tensor=seed:5,approx=seed:5 "$trace"
says out '2 inside the envelope'
# Only so many are judged, but some of each kernel (judged.sh has more of them).
expect 0 "$cutrace" replay --isolated --most-judged 1 --device interp:tensor=seed:5,approx=seed:5 "$trace"
says out '2 inside the envelope'
expect 0 "$cutrace" replay -j 3 --most-judged all --device interp:tensor=seed:5,approx=seed:5 "$trace"
says out '2 inside the envelope'
expect 2 "$cutrace" replay --isolated --most-judged 0 "$trace"
says err "'0' is not a number of launches, from 1, or .all."

# Faults on a device whose legal results differ from the recording's: only those of the fault are outside.
expect 0 "$cutrace" dump --modules "$work/modules" "$trace"
ptx=$(find "$work/modules" -name '*.ptx' | head -n 1)
lines=$(awk '/\.entry attention_bf16\(/ { exit } /\.entry attention_f16\(/ { inside = 1 }
	inside && /^[ \t]*(mma\.sync|fma|sub\.f32|mul\.f32|ex2)/ && n++ % 12 == 0 { print NR }' "$ptx")
outside="SELECT group_concat(DISTINCT kernel_name) FROM verdict WHERE grade = 'differs'"
tried=0 found=0
for line in $lines; do
	# What the fault changes at all on the recording's own device.
	"$cutrace" replay -q --isolated --envelope 0 --inject "attention_f16:$line:22" "$trace" >/dev/null 2>&1 && continue
	tried=$((tried + 1))
	status=0
	"$cutrace" replay --isolated --device interp:tensor=seed:7,approx=seed:7 --inject "attention_f16:$line:22" \
		-o "$work/result.db" "$trace" >"$work/out" 2>&1 || status=$?
	[ $status -eq 1 ] || { echo "line $line: status $status" >&2; continue; }
	found=$((found + 1))
	[ "$(sqlite3 "$work/result.db" "$outside")" = attention_f16 ] ||
		fail "line $line: outside are $(sqlite3 "$work/result.db" "$outside")"
	says out 'note +outside the envelope of 8 legal results: [0-9]+ elements'
	says out 'stored +by attention_f16, PTX line'
done
[ "$tried" -ge 5 ] && [ "$found" -eq "$tried" ] || fail "$found of $tried faults were found"

expect 2 "$cutrace" replay --isolated --envelope 2 "$trace"
says err "'2' is not a number of runs"
expect 125 env TMPDIR="$work/none" "$cutrace" replay --isolated "$trace"
says err 'temporary'
finish
