#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# cutrace reduce, with a driver that does something else than the PTX says: the smallest launch that shows it, whose results
# the interpreter made, and which differs on that driver and nowhere else.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work reduce
driver=$build/tests/reduce/libreduce_stand_in.so
mkdir "$work/tmp"
export CUTRACE_DEVICE=interp TMPDIR="$work/tmp"

record()
{
	expect 0 "$cutrace" record -q --check=contents -o "$work/$1.trace" --device interp -- "$programs/$1"
}

# size WHAT: "N of M" of the last report.
size()
{
	sed -n "s/^  $1  *\([0-9]*\) of \([0-9]*\)\$/\1 \2/p" "$work/out"
}

record driver_saxpy
# Of 1000 elements the last 100 are not computed: only the last of four blocks is wrong.
export CUTRACE_TEST_WRONG='[saxpy_param_0]; [saxpy_param_0]; min.u32 %r1, %r1, 900;'
expect 1 "$cutrace" replay -q --isolated --driver "$driver" "$work/driver_saxpy.trace"
expect 0 "$cutrace" reduce "$work/driver_saxpy.trace" --driver "$driver" -o "$work/saxpy.trace"
says out 'saxpy, call [0-9]+ of .*, still differs'
[ "$(size blocks)" = '1 4' ] || fail "blocks: $(size blocks)"
# shellcheck disable=SC2046 # words
[ $(size bytes | cut -d' ' -f1) -le 1024 ] || fail "bytes: $(size bytes)"
# shellcheck disable=SC2046
[ $(size statements | cut -d' ' -f1) -lt $(size statements | cut -d' ' -f2) ] || fail "statements: $(size statements)"
expect 1 "$cutrace" replay --isolated --driver "$driver" "$work/saxpy.trace"
says out 'differs: 1 launch'
says out 'kernel +saxpy'
expect 0 "$cutrace" replay --isolated --device interp "$work/saxpy.trace"
expect 0 "$cutrace" info --check "$work/saxpy.trace"
expect 0 "$cutrace" info "$work/saxpy.trace"
says out 'note .*what the interpreter makes'
expect 0 "$cutrace" dump --modules "$work/modules" "$work/saxpy.trace"
grep -q 'saxpy_param_0\];' "$work"/modules/*.ptx || fail 'the statement that is wrong was left out'
grep -q 'mov\.u32 .*%r2, 3;' "$work"/modules/*.ptx || fail 'the block that is left does not take itself for the fourth'
! grep -qE '//|\.loc|\.file' "$work"/modules/*.ptx || fail 'comments or debug information are left'

# One of several launches and kernels, as far as it gets in its time.
record driver_bitonic_sort
export CUTRACE_TEST_WRONG='setp.le.u32 setp.ge.u32'
expect 1 "$cutrace" replay -q --isolated --driver "$driver" "$work/driver_bitonic_sort.trace"
expect 0 "$cutrace" reduce "$work/driver_bitonic_sort.trace" --driver "$driver" --time 2s -o "$work/sort.trace"
[ "$(size functions | cut -d' ' -f2)" = 3 ] || fail "functions: $(size functions)"
expect 1 "$cutrace" replay -q --isolated --driver "$driver" "$work/sort.trace"
expect 0 "$cutrace" replay -q --isolated --device interp "$work/sort.trace"

# Interrupted: the best so far.
export CUTRACE_TEST_WRONG='fma.rn.f32 fma.rz.f32'
"$cutrace" reduce "$work/driver_saxpy.trace" --driver "$driver" -o "$work/ended.trace" >"$work/out" 2>"$work/err" &
pid=$!
until [ -e "$(echo "$work"/tmp/cutrace-work-*/best.trace)" ] || ! kill -0 $pid 2>/dev/null; do :; done
kill -TERM $pid 2>/dev/null || :
status=0
wait $pid || status=$?
[ $status -eq 143 ] || fail "interrupted, it exits with $status"
expect 1 "$cutrace" replay -q --isolated --driver "$driver" "$work/ended.trace"

unset CUTRACE_TEST_WRONG

# What one launch alone does not show: it takes one before it, which left something behind in the driver; not all of them.
export CUTRACE_TEST_STALE='bitonic_sort_tiles bitonic_merge_tiles'
expect 1 "$cutrace" replay -q --driver "$driver" "$work/driver_bitonic_sort.trace"
expect 0 "$cutrace" reduce "$work/driver_bitonic_sort.trace" --driver "$driver" -o "$work/stale.trace"
says out 'bitonic_merge_tiles, call [0-9]+ of .*, still differs'
says out 'the last of them alone is right'
[ "$(size launches)" = '2 6' ] || fail "launches: $(size launches)"
[ "$(sqlite3 "$work/stale.trace" 'SELECT group_concat(name) FROM (SELECT k.name FROM launch l JOIN kernel k ON k.id = l.kernel ORDER BY l.call)')" = \
	'bitonic_sort_tiles,bitonic_merge_tiles' ] || fail 'not these launches'
expect 1 "$cutrace" replay "$work/stale.trace" --driver "$driver"
says out 'kernel +bitonic_merge_tiles'
expect 0 "$cutrace" replay -q --device interp "$work/stale.trace"
expect 0 "$cutrace" info --check "$work/stale.trace"
unset CUTRACE_TEST_STALE

[ -z "$(ls "$work/tmp")" ] || fail "temporary files are left: $(ls "$work/tmp")"
expect 125 "$cutrace" reduce "$work/driver_saxpy.trace" --device interp -o "$work/none.trace"
says err 'none of its launches differs on interp'
expect 125 "$cutrace" reduce "$work/driver_saxpy.trace" --device interp -o "$work/saxpy.trace"
says err 'this exists'
expect 125 "$cutrace" reduce "$work/no.trace" --device interp -o "$work/none.trace"
expect 2 "$cutrace" reduce "$work/driver_saxpy.trace"
says err 'name the new trace'
expect 2 "$cutrace" reduce "$work/driver_saxpy.trace" --time soon -o "$work/none.trace"
says err 'no duration'
expect 2 "$cutrace" reduce "$work/driver_saxpy.trace" --device interp --driver x -o "$work/none.trace"
says err 'not both'

# What was recorded is what differs: nothing can be left out of that.
cp "$work/driver_saxpy.trace" "$work/wrong.trace"
sqlite3 "$work/wrong.trace" "UPDATE payload SET buffer = (SELECT buffer FROM payload WHERE kind = 'h2d' LIMIT 1) WHERE kind = 'written'; DELETE FROM row_hash"
expect 1 "$cutrace" replay -q --isolated --device interp "$work/wrong.trace"
expect 125 "$cutrace" reduce "$work/wrong.trace" --device interp -o "$work/none.trace"
says err 'it is the recording that differs'
[ ! -e "$work/none.trace" ] || fail 'a trace that could not be made is there'
finish
