#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# cutrace diff: two recordings of one program are alike, however its threads interleave; what was changed is named.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work diff

record()
{
	trace=$work/$1.trace
	shift
	expect 0 "$cutrace" record -q -o "$trace" --device interp -- "$@"
}

for program in driver_saxpy driver_threads driver_fork driver_pipeline; do
	for round in 1 2 3; do
		record "$program$round" "$programs/$program"
	done
	expect 0 "$cutrace" diff "$work/${program}1.trace" "$work/${program}2.trace"
	says out 'The traces do the same'
	expect 0 "$cutrace" diff "$work/${program}1.trace" "$work/${program}3.trace"
done

# Another program: its kernel, its calls.
expect 1 "$cutrace" diff "$work/driver_saxpy1.trace" "$work/driver_fork1.trace"
says out 'saxpy +only in A'
says out 'fill +only in B'
says out 'The traces differ'
expect 0 sh -c "'$cutrace' diff --json '$work/driver_saxpy1.trace' '$work/driver_fork1.trace' >'$work/json' || test \$? -eq 1"
expect 0 sqlite3 :memory: "SELECT json_extract(readfile('$work/json'), '\$.only_b') > 0"
says out '^1$'

# A value of one call, changed in a copy, is one difference, and it is told with both values. Rows are changed on
# purpose, so their hashes go.
edited=$work/edited.trace
cp "$work/driver_saxpy1.trace" "$edited"
sqlite3 "$edited" "UPDATE launch SET gx = gx + 1; DELETE FROM row_hash"
expect 1 "$cutrace" diff "$work/driver_saxpy1.trace" "$edited"
says out 'grid: [0-9]+x1x1 blocks of 256x1x1 \| [0-9]+x1x1 blocks of 256x1x1'
says out '14 calls equal, 1 changed, 0 only in A, 0 only in B'

# A call that one lacks.
cp "$work/driver_saxpy1.trace" "$edited"
last=$(sqlite3 "$edited" "SELECT max(call.id) FROM call, function WHERE func = function.id AND name = 'cuMemFree_v2'")
sqlite3 "$edited" "DELETE FROM call WHERE id = $last; DELETE FROM row_hash"
expect 1 "$cutrace" diff "$work/driver_saxpy1.trace" "$edited"
says out "#$last +- +t1 +cuMemFree_v2 +only in A"
expect 1 "$cutrace" diff -q "$edited" "$work/driver_saxpy1.trace"
[ ! -s "$work/out" ] || fail 'diff -q prints'

# A trace and its replay do the same, whatever the replayer asks, waits and switches by itself; what is copied still counts.
for program in driver_threads driver_fork; do
	expect 0 "$cutrace" enrich "$work/${program}1.trace" -o "$work/$program.rich" --device interp
	expect 0 "$cutrace" diff "$work/${program}1.trace" "$work/$program.rich"
	says out '0 changed, 0 only in A, 0 only in B'
	says out 'of which a replay has others, were left out'
done
expect 0 "$cutrace" enrich "$work/driver_saxpy1.trace" -o "$work/saxpy.rich" --device interp
expect 0 "$cutrace" diff -q "$work/driver_saxpy1.trace" "$work/saxpy.rich"
sqlite3 "$work/saxpy.rich" "UPDATE launch SET gx = gx + 1; DELETE FROM row_hash"
expect 1 "$cutrace" diff "$work/driver_saxpy1.trace" "$work/saxpy.rich"
says out '1 changed, 0 only in A, 0 only in B'

# Durations are a difference where they are asked for.
cp "$work/driver_saxpy1.trace" "$edited"
sqlite3 "$edited" "UPDATE call SET t_exit = t_exit + 1000000000 WHERE func = (SELECT id FROM function WHERE name = 'cuMemAlloc_v2'); DELETE FROM row_hash"
expect 0 "$cutrace" diff "$work/driver_saxpy1.trace" "$edited"
expect 1 "$cutrace" diff --durations "$work/driver_saxpy1.trace" "$edited"
says out 'cuMemAlloc_v2  slower in B$'
expect 1 "$cutrace" diff --durations=3 "$edited" "$work/driver_saxpy1.trace"
says out 'cuMemAlloc_v2  slower in A$'
expect 2 "$cutrace" diff --durations=1 "$edited" "$edited"
says err "'1' is no ratio above 1"

expect 2 "$cutrace" diff "$edited"
says err 'name two trace files'
expect 2 "$cutrace" diff --limit x "$edited" "$edited"
says err "'x' is no number"
expect 125 "$cutrace" diff "$edited" "$work/none.trace"
says err 'none.trace'
expect 125 env TMPDIR="$work/none" "$cutrace" diff "$edited" "$edited"
says err 'temporary file'
finish
