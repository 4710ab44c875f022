#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A few launches as a trace of their own: they begin with the memory that they had, their results stay those of the recording,
# also when the device that they are made on again has others, and the new trace shows what the old one does.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work trim

written="SELECT p.width, hex(b.hash) FROM payload p, buffer b WHERE b.id = p.buffer AND p.kind = 'written'"
trace=$work/sort.trace
expect 0 "$cutrace" record -q --check=contents -o "$trace" --device interp -- "$programs/driver_bitonic_sort"
calls=$(sqlite3 "$trace" "SELECT call FROM launch ORDER BY call LIMIT 2 OFFSET 2")
first=$(echo "$calls" | head -n 1) last=$(echo "$calls" | tail -n 1)
expect 0 "$cutrace" trim "$trace" --launches "$first-$last" -o "$work/two.trace"
[ "$(sqlite3 "$work/two.trace" 'SELECT count(*) FROM launch')" = 2 ] || fail 'not two launches'
sqlite3 "$trace" "$written AND p.call BETWEEN $first AND $last ORDER BY p.id" >"$work/a"
sqlite3 "$work/two.trace" "$written ORDER BY p.id" >"$work/b"
cmp "$work/a" "$work/b" || fail 'the launches wrote something else'
expect 0 "$cutrace" replay --isolated "$work/two.trace"
says out 'match: 2 launches'
expect 0 "$cutrace" info --check "$work/two.trace"

# One wrong launch among others: of two trimmed traces one shows it.
cp "$trace" "$work/wrong.trace"
other=$(sqlite3 "$trace" "SELECT p.buffer FROM payload p WHERE p.kind = 'written' AND p.call = $last")
sqlite3 "$work/wrong.trace" "UPDATE payload SET buffer = $other WHERE kind = 'written' AND call = $first;
	UPDATE launch_hash SET hash = (SELECT hash FROM buffer WHERE id = $other) WHERE launch = $first; DELETE FROM row_hash"
expect 1 "$cutrace" replay -q --isolated "$work/wrong.trace"
expect 0 "$cutrace" trim "$work/wrong.trace" --launches "$first" -o "$work/shows.trace"
expect 1 "$cutrace" replay --isolated "$work/shows.trace"
says out 'kernel +bitonic_'
sqlite3 "$work/wrong.trace" "$written AND p.call = $first" >"$work/a"
sqlite3 "$work/shows.trace" "$written" >"$work/b"
cmp "$work/a" "$work/b" || fail 'the evidence of the recording was lost'
expect 0 "$cutrace" info --check "$work/shows.trace"

# Whoever starts us may ignore that children end; their status counts all the same.
expect 0 timeout 60 sh -c "trap '' CHLD; exec \"$cutrace\" trim \"$trace\" --launches $first -o \"$work/ignored.trace\""
[ -e "$work/ignored.trace" ] || fail 'where children are ignored nothing is written'
expect 1 timeout 60 sh -c "trap '' CHLD; exec \"$cutrace\" replay -q --isolated \"$work/wrong.trace\""

after=$(sqlite3 "$trace" "SELECT call FROM launch WHERE call > $last ORDER BY call LIMIT 1")
expect 0 "$cutrace" trim "$work/wrong.trace" --launches "$after" -o "$work/clean.trace"
expect 0 "$cutrace" replay -q --isolated "$work/clean.trace"

# A name that looks like an option.
cp "$trace" "$work/-q"
(cd "$work" && expect 0 "$cutrace" trim --launches "$first" -o dash.trace -- -q && finish)

# Nothing of the program but its launches, the memory they look at and their module.
for row in process:argv:[] process:exe: process:cwd: thread:name: process:pid:1; do
	table=${row%%:*} column=${row#*:}
	[ "$(sqlite3 "$work/two.trace" "SELECT ${column%%:*} FROM $table")" = "${column#*:}" ] || fail "a new trace has a $column"
done
[ "$(sqlite3 "$work/two.trace" "SELECT count(*) FROM calls WHERE function LIKE 'cuMemcpy%'")" = 1 ] || fail 'more than one copy'
expect 0 "$cutrace" trim "$trace" --no-verify --launches "$first" -o "$work/unverified.trace"
cmp "$work/unverified.trace" "$work/two.trace" >/dev/null && fail 'the same trace of other launches'

expect 125 "$cutrace" trim "$trace" --launches "$first" -o "$work/clean.trace"
says err 'this exists'
expect 125 "$cutrace" trim "$trace" --launches 1 -o "$work/new.trace"
says err 'none of these calls is a launch'
expect 2 "$cutrace" trim "$trace" --launches x -o "$work/new.trace"
says err "'x' is not A or A-B"
expect 2 "$cutrace" trim "$trace" -o "$work/new.trace"
says err 'name the launches'
expect 2 "$cutrace" trim "$trace" --check contents --launches 1 -o "$work/new.trace"
says err 'unknown option'
expect 2 "$cutrace" trim "$trace" --launches 1 --device interp --driver x -o "$work/new.trace"
says err 'not both'
expect 0 "$cutrace" record -q -o "$work/plain.trace" --device interp -- "$programs/driver_saxpy"
expect 125 "$cutrace" trim "$work/plain.trace" --launches 10 -o "$work/new.trace"
says err 'check=contents'
[ ! -e "$work/new.trace" ] || fail 'a trace that could not be made is there'

# Launches next to textures, or of several processes, are made by recording their replay instead.
for program in driver_textures driver_fork; do
	trace=$work/$program.trace
	expect 0 "$cutrace" record -q --check=contents -o "$trace" --device interp -- "$programs/$program"
	calls=$(sqlite3 "$trace" "SELECT min(call) || '-' || max(call) FROM launch")
	expect 0 "$cutrace" trim "$trace" --launches "$calls" -o "$work/$program.trim"
	says err 'textures or surfaces|several processes'
	[ "$(sqlite3 "$work/$program.trim" 'SELECT count(*) FROM launch')" = "$(sqlite3 "$trace" 'SELECT count(*) FROM launch')" ] ||
		fail "$program: launches are missing"
done

# Ended in the middle: nothing of it is left, neither here nor among temporary files.
mkdir "$work/tmp"
TMPDIR=$work/tmp "$cutrace" trim "$work/driver_fork.trace" --launches "$calls" -o "$work/ended.trace" 2>"$work/err" &
pid=$!
until [ -n "$(ls "$work/tmp")" ] || ! kill -0 $pid 2>/dev/null; do :; done
kill -TERM $pid 2>/dev/null || :
status=0
wait $pid || status=$?
[ $status -eq 143 ] || [ $status -eq 0 ] || fail "trim ended by SIGTERM exits with $status"
[ $status -eq 0 ] || [ -z "$(find "$work" -name 'ended.trace*')" ] || fail "trim left a part of a trace"
[ -z "$(ls "$work/tmp")" ] || fail "trim left temporary files: $(ls "$work/tmp")"
finish
