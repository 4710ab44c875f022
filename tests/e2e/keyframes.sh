#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Keyframes: taken as often as was said, or where a range begins; a replay of later launches begins with one instead of
# making all launches before it, and finds the same.
set -eu
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
fresh_work keyframes

trace=$work/trace
query()
{
	sqlite3 "$trace" "$1"
}
fresh()
{
	rm -f "$work"/trace*
}
frames="SELECT count(DISTINCT call) FROM payload WHERE kind = 'keyframe'"

# Six launches: before the third and the fifth.
expect 0 "$cutrace" record -q --keyframe every:2 --check=contents,launch:5-6 -o "$trace" --device interp -- "$programs/driver_bitonic_sort"
[ "$(query "$frames")" = 2 ] || fail "$(query "$frames") keyframes were taken"
[ "$(query "SELECT group_concat(k, ' ') FROM (SELECT DISTINCT (SELECT count(*) FROM launch l WHERE l.call <= p.call) AS k FROM payload p
	WHERE kind = 'keyframe' ORDER BY k)")" = '3 5' ] || fail 'keyframes lie before other launches'
[ "$(query "SELECT value FROM meta WHERE key = 'options'")" = '--check=contents,launch:5-6 --keyframe every:2' ] || fail 'the options are not in the trace'
fifth=$(query 'SELECT call FROM launch ORDER BY call LIMIT 1 OFFSET 4')
sixth=$(query 'SELECT call FROM launch ORDER BY call LIMIT 1 OFFSET 5')
expect 0 "$cutrace" replay "$trace"
expect 0 "$cutrace" replay --launches "$fifth-$sixth" -o "$work/result" "$trace"
[ "$(sqlite3 "$work/result" "SELECT count(*) FROM verdict WHERE kind = 'written' AND grade = 'equal'")" = 2 ] ||
	fail "the launches behind the keyframe were not both found equal"
[ "$(sqlite3 "$work/result" "SELECT sum(n) FROM count WHERE what = 'launches'")" = 2 ] || fail 'launches before the keyframe were made'
rm -f "$work/result"

# Without the keyframe's memory there is another result: it is what the replay begins with.
cp "$trace" "$work/other"
sqlite3 "$work/other" "DELETE FROM row_hash; UPDATE payload SET buffer = (SELECT buffer FROM payload WHERE kind = 'keyframe' ORDER BY
	call LIMIT 1) WHERE kind = 'keyframe' AND call = $fifth"
expect 1 "$cutrace" replay --launches "$fifth-$sixth" "$work/other"
rm -f "$work/other"

expect 0 "$cutrace" trim --launches "$fifth-$fifth" -o "$work/trimmed" "$trace"
expect 0 "$cutrace" replay "$work/trimmed"
rm -f "$work/trimmed"
fresh

# A range whose contents are kept begins with one.
expect 0 "$cutrace" record -q --check=contents,launch:4-5 -o "$trace" --device interp -- "$programs/driver_bitonic_sort"
[ "$(query "$frames")" = 1 ] || fail 'the range begins without a keyframe'
fourth=$(query 'SELECT call FROM launch ORDER BY call LIMIT 1 OFFSET 3')
[ "$(query "SELECT DISTINCT call FROM payload WHERE kind = 'keyframe'")" = "$fourth" ] || fail 'the keyframe is not where the range begins'
expect 0 "$cutrace" replay --launches "$fourth-$fourth" "$trace"
fresh

# Somebody asks, before the first launch.
# shellcheck disable=SC2016 # for the inner shell
expect 0 "$cutrace" record -q --keyframe request -o "$trace" --device interp -- sh -c 'kill -USR2 $PPID; sleep 1; exec "$0"' "$programs/driver_bitonic_sort"
[ "$(query "SELECT DISTINCT call FROM payload WHERE kind = 'keyframe'")" = "$(query 'SELECT min(call) FROM launch')" ] ||
	fail 'no keyframe was taken when asked for'
fresh

expect 2 "$cutrace" record --keyframe 3 -o "$work/none" -- "$programs/driver_saxpy"
says err "'3' is neither every:N nor request"
finish
