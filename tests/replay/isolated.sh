#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Launches replayed each on its own, from what it had when it was recorded: the same verdict as in a stream where
# nothing is wrong, in one process, in several, and by shards; and where one kernel is wrong, none but its own launches.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work isolated

# What was compared, without the order of rows.
verdicts()
{
	sqlite3 "$1" "SELECT process, call, kind, grade, kernel_name, base, bytes, elements FROM verdict ORDER BY 1, 2, 3, 6"
}

for program in driver_nbody driver_bitonic_sort driver_threads driver_fork driver_textures driver_linked_pieces; do
	trace=$work/$program.trace
	expect 0 "$cutrace" record -q --check=contents -o "$trace" --device interp -- "$programs/$program"
	expect 0 "$cutrace" replay -o "$work/stream.db" "$trace"
	verdicts "$work/stream.db" >"$work/stream"
	grep -q '|written|equal|' "$work/stream" || fail "$program: nothing that a launch wrote was compared"
	expect 0 "$cutrace" replay --isolated -o "$work/isolated.db" "$trace"
	expect 0 "$cutrace" replay -j 3 -o "$work/jobs.db" "$trace"
	for i in 1 2 3 4; do
		expect 0 "$cutrace" replay -q --shard $i/4 -o "$work/shard$i.db" "$trace"
	done
	expect 0 "$cutrace" merge-results -o "$work/merged.db" "$work"/shard[1-4].db
	for other in isolated jobs merged; do
		verdicts "$work/$other.db" >"$work/$other"
		cmp -s "$work/stream" "$work/$other" || {
			fail "$program: $other and stream differ"
			diff "$work/stream" "$work/$other" | sed 's/^/  | /' >&2
		}
		sqlite3 "$work/$other.db" "SELECT sum(n) FROM count WHERE what = 'launches'" >"$work/launches"
		[ "$(cat "$work/launches")" = "$(sqlite3 "$trace" 'SELECT count(*) FROM launch')" ] ||
			fail "$program: $other made $(cat "$work/launches") launches"
	done
done

# Shards that are missing, twice there, or no shards.
expect 125 "$cutrace" merge-results -o "$work/merged.db" "$work"/shard[1-3].db
says err 'one of 4 shards, and 3 were named'
expect 125 "$cutrace" merge-results -o "$work/merged.db" "$work"/shard[1-3].db "$work/shard1.db"
says err 'shard 1 is already'
# Of a replay with other options.
expect 0 "$cutrace" replay --shard 4/4 --envelope 5 -o "$work/other4.db" "$trace"
expect 125 "$cutrace" merge-results -o "$work/merged.db" "$work"/shard[1-3].db "$work/other4.db"
says err "its --envelope is '5', not '8'"
expect 125 "$cutrace" merge-results -o "$work/merged.db" "$work/isolated.db"
says err 'not the result of a shard'
expect 125 "$cutrace" merge-results -o "$work/merged.db" "$work/none.db"
says err 'no such result'
expect 125 "$cutrace" merge-results -o "$work/shard2.db" "$work"/shard[1-4].db
says err 'one of the results to merge'
[ -s "$work/shard2.db" ] || fail 'a result is gone that was to be merged'
cp "$work/shard2.db" "$work/damaged.db"
sqlite3 "$work/damaged.db" 'ALTER TABLE verdict RENAME COLUMN text TO words'
expect 125 "$cutrace" merge-results -o "$work/half.db" "$work/shard1.db" "$work/damaged.db" "$work"/shard[34].db
says err "can't be taken over"
[ ! -e "$work/half.db" ] || fail 'a part of the results is left as if it were the whole'

# One wrong kernel. In a stream what it made wrong goes on; isolated, it is the only one that differs.
trace=$work/driver_bitonic_sort.trace
expect 0 "$cutrace" dump --modules "$work/modules" "$trace"
ptx=$(find "$work/modules" -name '*.ptx' | head -n 1)
line=$(awk '/\.entry bitonic_merge_tiles\(/ { inside = 1 } inside && /ld\.global/ { print NR; exit }' "$ptx")
wrong="SELECT DISTINCT kernel_name FROM verdict WHERE grade = 'differs'"
expect 1 "$cutrace" replay -q --inject "bitonic_merge_tiles:$line:9" -o "$work/stream.db" "$trace"
[ "$(sqlite3 "$work/stream.db" "$wrong" | wc -l)" -gt 1 ] || fail 'in a stream the fault goes no further'
own="SELECT DISTINCT kernel_name FROM verdict WHERE grade = 'differs' AND kind = 'written' AND inherited IS NULL"
[ "$(sqlite3 "$work/stream.db" "$own")" = bitonic_merge_tiles ] || fail 'in a stream what is inherited is not told from what is not'
for how in --isolated '-j 2'; do
	# shellcheck disable=SC2086 # words
	expect 1 "$cutrace" replay $how --inject "bitonic_merge_tiles:$line:9" -o "$work/result.db" "$trace"
	[ "$(sqlite3 "$work/result.db" "$wrong")" = bitonic_merge_tiles ] ||
		fail "$how: wrong kernels: $(sqlite3 "$work/result.db" "$wrong")"
	says out 'stored +by bitonic_merge_tiles, PTX line'
	says out 'note +nothing in this kernel is left open by the PTX ISA: any difference counts'
	says out 'element +[0-9]+ \(u32, byte [0-9]+ of the buffer\): recorded [0-9]+, here [0-9]+'
done

# A kernel that faults here: what it wrote when recorded stands in, and all others are judged.
line=$(awk '/\.entry bitonic_step\(/ { inside = 1 } inside && /add\.s64/ { print NR; exit }' "$ptx")
expect 1 "$cutrace" replay --isolated --inject "bitonic_step:$line:45" -o "$work/result.db" "$trace"
says out 'injected: not computed here'
[ "$(sqlite3 "$work/result.db" "SELECT count(*) FROM verdict WHERE grade = 'unverified'")" = 0 ] ||
	fail 'a fault leaves launches unverified whose memory was recorded'
[ "$(sqlite3 "$work/result.db" "SELECT count(*) FROM verdict WHERE grade = 'injected' AND kernel_name = 'bitonic_step'")" = 3 ] ||
	fail 'not all launches of the kernel that faults are injected'

# Which launches are checked.
count()
{
	expect 0 "$cutrace" record -q "--check=$1" -o "$work/words.trace" --device interp -- "$programs/driver_bitonic_sort"
	n=$(sqlite3 "$work/words.trace" "SELECT (SELECT count(*) FROM launch_hash) || ' ' || (SELECT count(*) FROM payload WHERE kind = 'written')")
	[ "$n" = "$2" ] || fail "--check=$1 kept '$n' (hashes, contents) instead of '$2'"
	rm -f "$work/words.trace"
}
count all '6 0'
count hashes,every:2 '3 0'
count contents,launch:2-4 '3 3'
count launch:5- '2 0'
count 'contents,kernel:*step*,every:2' '2 2'
count 'kernel:none' '0 0'
count opaque '0 0'
# A launch that is not judged may be why one behind it differs: that is said, once.
expect 0 "$cutrace" record -q --check=contents,every:2 -o "$work/some.trace" --device interp -- "$programs/driver_bitonic_sort"
expect 0 "$cutrace" replay --isolated "$work/some.trace"
[ "$(grep -c 'recorded without what it wrote' "$work/out")" = 1 ] || fail 'a launch that is not judged is not told once'
expect 0 "$cutrace" replay --isolated "$work/driver_bitonic_sort.trace"
! grep -q 'recorded without' "$work/out" || fail 'all launches are judged, and it says otherwise'
expect 2 "$cutrace" record --check=contens -o "$work/words.trace" -- "$programs/driver_bitonic_sort"
says err "'contens' is none of its words"
expect 2 "$cutrace" record --check=every:0 -o "$work/words.trace" -- "$programs/driver_bitonic_sort"

# Where no launch left anything, because they failed, the fault is reproduced.
if [ -x "$programs/runtime_printf_assert" ]; then
	expect 0 "$cutrace" record -q --check=contents -o "$work/assert.trace" --device interp -- "$programs/runtime_printf_assert"
	expect 0 "$cutrace" replay --isolated "$work/assert.trace"
	says out 'recorded fault reproduced'
fi

expect 0 "$cutrace" record -q -o "$work/plain.trace" --device interp -- "$programs/driver_saxpy"
expect 125 "$cutrace" replay --isolated "$work/plain.trace"
says err 'record it with --check=contents'
# A part of the trace in which nothing is.
expect 125 "$cutrace" replay --launches 100000 "$work/driver_bitonic_sort.trace"
says out 'nothing was compared: in the part of the trace that was chosen'
expect 125 "$cutrace" replay --stop-at 2 "$work/driver_bitonic_sort.trace"
expect 125 "$cutrace" replay -q --stop-at 2 "$work/driver_bitonic_sort.trace"
says err 'nothing was compared'
expect 0 "$cutrace" replay --no-compare --launches 100000 "$work/driver_bitonic_sort.trace"
expect 2 "$cutrace" replay --shard 3/2 "$work/plain.trace"
says err "'3/2' is not I/N"
expect 2 "$cutrace" replay -j x "$work/plain.trace"
finish
