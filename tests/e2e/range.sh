#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Recordings of a range of launches: what is outside is left out, memory is there as it was when the range began (of all
# contexts, page-locked and managed), and what reads traces takes them as any other.
set -eu
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
fresh_work range

trace=$work/trace
query()
{
	sqlite3 "$trace" "$1"
}
fresh()
{
	rm -rf "$work"/trace* "$work/excerpt" "$work/program" "$work/modules"
}
launches='SELECT count(*) FROM launch'
written="SELECT hex(b.hash) FROM payload p, buffer b WHERE b.id = p.buffer AND p.kind = 'written' ORDER BY p.id"

# Launches 3 and 4 of six: the same results as in a whole recording, and neither the other launches nor the copies.
expect 0 "$cutrace" record -q --check=contents -o "$trace" --device interp -- "$programs/driver_bitonic_sort"
query "$written" | sed -n 3,4p >"$work/want"
fresh
expect 0 "$cutrace" record -q --launches 3-4 -o "$trace" --device interp -- "$programs/driver_bitonic_sort"
query "$written" | cmp - "$work/want" || fail 'the launches of the range wrote something else'
[ "$(query "$launches")" = 2 ] || fail "$(query "$launches") launches are in the range"
[ "$(query "SELECT count(*) FROM payload WHERE kind IN ('h2d', 'd2h')")" = 0 ] || fail 'copies outside are in it'
[ "$(query "SELECT group_concat(value) FROM meta WHERE key IN ('options', 'ranged')")" = '--check=contents --launches 3-4,1' ] ||
	fail 'the trace does not say what it is'
for how in '' --isolated '--isolated -j2'; do
	# shellcheck disable=SC2086 # none or two words
	expect 0 "$cutrace" replay $how "$trace"
	says out 'match: 2 launches.*2 buffers checked after launches, 0 differ'
done
second=$(query 'SELECT max(call) FROM launch')
expect 0 "$cutrace" replay --launches "$second-$second" "$trace"
expect 0 "$cutrace" trim --launches "$second-$second" -o "$work/excerpt" "$trace"
expect 0 "$cutrace" replay "$work/excerpt"
expect 0 "$cutrace" extract --launch "$second" -o "$work/program" "$trace"
printf 'break 155\ncontinue\n' >"$work/commands"
expect 0 "$cutrace" debug "$trace" --launch "$second" -x "$work/commands"
says out 'The launch of bitonic_step begins'
expect 0 "$cutrace" info --check "$trace"

# Without the keyframe's memory there is another result.
sqlite3 "$trace" "DELETE FROM row_hash; DELETE FROM payload WHERE kind = 'keyframe'"
expect 1 "$cutrace" replay "$trace"
fresh

# Copies behind the last launch of a range are in it, compared too.
expect 0 "$cutrace" record -q --launches 6- -o "$trace" --device interp -- "$programs/driver_bitonic_sort"
expect 0 "$cutrace" replay "$trace"
says out 'match: 1 launch, 1 copy compared'
fresh

# Memory of two contexts, page-locked, managed.
expect 0 "$cutrace" record -q --launches 4-7 -o "$trace" --device interp -- "$build/tests/e2e/reach"
[ "$(query "SELECT count(*) FROM payload WHERE kind = 'keyframe'")" = 4 ] || fail 'not all memory is in the keyframe'
[ "$(query "SELECT count(*) FROM diagnostic WHERE message LIKE '%keyframe%'")" = 0 ] || fail 'the keyframe lacks something'
expect 0 "$cutrace" replay "$trace"
says out '4 buffers checked after launches, 0 differ'
fresh

# What a kernel reads of variables that other kernels of its module write is not known.
expect 0 "$cutrace" record -q --launches 2-3 -o "$trace" --device interp -- "$programs/driver_linked_pieces"
expect 125 "$cutrace" replay "$trace"
says out 'the keyframe has not what they held'
fresh

# From one signal to the next: three processes, the second one inside. (The collector hears of a signal later than it is sent.)
# shellcheck disable=SC2016 # for the inner shell
expect 0 "$cutrace" record -q --launches request -o "$trace" --device interp -- sh -c '"$0"; kill -USR2 $PPID; sleep 1.5; "$0"
	kill -USR2 $PPID; sleep 1.5; "$0"' "$programs/driver_saxpy"
[ "$(query "SELECT group_concat(t.process) FROM launch l, call c, thread t WHERE c.id = l.call AND t.id = c.thread")" = 2 ] ||
	fail 'the launches between the signals are not those of the second process'
[ "$(query "SELECT count(*) FROM payload WHERE kind = 'keyframe'")" = 2 ] || fail 'the range begins without a keyframe'
expect 0 "$cutrace" replay "$trace"
fresh

for wrong in 0 4-3 x 2-y; do
	expect 2 "$cutrace" record --launches $wrong -o "$work/none" -- "$programs/driver_saxpy"
	says err "'$wrong' is no range of launches"
done
finish
