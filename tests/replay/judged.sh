#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# How many launches are judged by an envelope, that several processes judge as one does, and that self-replays of the recording
# count as legal results.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work judged

# Every fourth launch is of `smooth`, in which a product and a sum may be fused.
trace=$work/trace
expect 0 "$cutrace" record -q --check=contents -o "$trace" --device interp -- "$build/tests/replay/many_launches" 300
fused=interp:contract=all
grades="SELECT grade || ' ' || count(*) FROM verdict WHERE kind = 'written' AND differing > 0 GROUP BY grade ORDER BY 1"
query()
{
	sqlite3 "$work/$1" "$2" | paste -s -d ' '
}
differ=$(expect 1 "$cutrace" replay -q --envelope 0 --isolated --device $fused -o "$work/all" "$trace" && query all "$grades" | cut -d ' ' -f 2)
[ "$differ" -gt 64 ] || fail "only $differ launches differ: too few for this test"
expect 0 "$cutrace" replay -q --isolated --device $fused --envelope 3 --most-judged all -o "$work/one" "$trace"
expect 0 "$cutrace" replay -q -j 2 --device $fused --envelope 3 --most-judged all -o "$work/two" "$trace"
for result in one two; do
	[ "$(query $result "$grades")" = "inside $differ" ] || fail "$result: $(query $result "$grades"), not inside $differ"
done
rows="SELECT call, base, grade, note FROM verdict ORDER BY call, base"
[ "$(query one "$rows")" = "$(query two "$rows")" ] || fail 'two processes judge otherwise than one'

# What is not judged differs, and is counted; of each kernel some are, however few.
for most in 10 1; do
	judged=$((most < 4 ? 4 : most))
	expect 1 "$cutrace" replay --no-narrow -j 2 --device $fused --envelope 3 --most-judged $most -o "$work/few" "$trace"
	[ "$(query few "$grades")" = "differs $((differ - judged)) inside $judged" ] || fail "--most-judged $most: $(query few "$grades")"
	says out "$((differ - judged)) more launches differ and are not judged by an envelope"
done
found="SELECT call, wrong_line, wrong_how, wrong_operands, wrong_got FROM verdict WHERE wrong_line IS NOT NULL ORDER BY call, base"

# A result that the interpreter never gives, and the recording's device gave when it was asked again.
expect 0 "$cutrace" record -q --check=contents -o "$trace" --device interp -- "$build/tests/replay/many_launches" 8
expect 0 "$cutrace" dump --modules "$work/modules" "$trace"
line=$(grep -n 'add.f32' "$(find "$work/modules" -name '*.ptx')" | cut -d : -f 1)
mkdir "$work/kept"
expect 1 "$cutrace" replay --isolated --inject "smooth:$line:12" --keep "$work/kept" "$trace"
says out 'outside the envelope of 8 legal results: '
expect 0 "$build/tests/replay/add_reruns" "$trace" 3 "$work"/kept/*
expect 0 "$cutrace" replay --isolated --no-narrow --inject "smooth:$line:12" -o "$work/result" "$trace"
says out '2 inside the envelope of legal results'
[ "$(query result "SELECT count(*) FROM verdict WHERE note LIKE 'inside the envelope of 9 legal results (1 of them self-replays), %'")" = 2 ] ||
	fail 'the verdict does not say what it is by'
# What is farther away is outside, with self-replays as well.
expect 1 "$cutrace" replay --isolated --inject "smooth:$line:20" "$trace"
says out 'outside the envelope of 9 legal results .1 of them self-replays.: '
# What several processes look into is what one finds.
for jobs in 1 2; do
	expect 1 "$cutrace" replay -q --envelope 0 -j $jobs --inject "mix:$(grep -n 'shr.u32' "$(find "$work/modules" -name '*.ptx')" | cut -d : -f 1):3" -o "$work/of.$jobs" "$trace"
done
[ "$(query of.1 "$found")" = "$(query of.2 "$found")" ] || fail 'two processes find other lines than one'
[ "$(query of.2 "SELECT count(*) > 1 FROM verdict WHERE wrong_how = 'instruction'")" = 1 ] || fail 'no line was found'
finish
