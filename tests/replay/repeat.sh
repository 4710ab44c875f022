#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Replay as a benchmark: launches that change what they read are repeated from what they began with, so that the verdict stays
# that of a replay; times are in order and complete, by the host's clock or by a driver's events.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work repeat
export CUTRACE_CACHE="$work/cache"
real=$build/lib/cutrace/zluda

# Sorting in place, positions that move, sums by atomics; with and without what launches wrote; a stream and isolated.
for program in driver_bitonic_sort driver_nbody driver_reduction driver_linked_pieces; do
	expect 0 "$cutrace" record -q -o "$work/$program.plain" --device interp -- "$programs/$program"
	expect 0 "$cutrace" record -q --check=contents -o "$work/$program.trace" --device interp -- "$programs/$program"
	expect 0 "$cutrace" replay --repeat 3 --warm-up 0 "$work/$program.plain" --device interp
	says out 'times in microseconds, by the host.s clock, of 3 runs of each launch'
	expect 0 "$cutrace" replay -q --repeat 2 -o "$work/result" "$work/$program.trace" --device interp
	launches=$(sqlite3 "$work/$program.trace" 'SELECT count(*) FROM launch')
	[ "$(sqlite3 "$work/result" 'SELECT count(*) FROM timing WHERE n = 2 AND min <= median AND median <= max AND sum >= 2 * min')" = "$launches" ] ||
		fail "$program: not $launches launches are timed"
	expect 0 "$cutrace" replay -q --isolated --repeat 2 "$work/$program.trace" --device interp
done
# A kernel that never reads what it writes needs nothing of the kind.
expect 0 "$cutrace" record -q --check=contents -o "$work/matmul.trace" --device interp -- "$programs/driver_matmul"
for row in driver_nbody:nbody_move:1 matmul:matmul:0; do
	trace=$work/${row%%:*}.trace kernel=${row#*:}
	expect 0 "$cutrace" replay -q --repeat 1 -o "$work/result" "$trace" --device interp
	restored=$(sqlite3 "$work/result" "SELECT max(restored) FROM timing WHERE kernel_name = '${kernel%:*}'")
	[ "$restored" = "${kernel#*:}" ] || fail "${kernel%:*}: restored is $restored"
done
# What differs, differs with repetitions too, and is put right behind them.
line=$(awk '/entry nbody_move/ { f = 1 } f && /fma.rn.f32/ { print NR; exit }' "$programs/driver/nbody.ptx")
expect 1 "$cutrace" replay -q --repeat 2 --isolated --no-narrow -o "$work/result" --device "interp:inject=nbody_move:$line:20" "$work/driver_nbody.trace"
[ "$(sqlite3 "$work/result" "SELECT group_concat(DISTINCT kernel_name) FROM verdict WHERE grade = 'differs'")" = nbody_move ] ||
	fail 'another kernel differs'

expect 0 "$cutrace" replay --repeat 2 --json "$work/matmul.trace" --device interp
cp "$work/out" "$work/json"
expect 0 sqlite3 :memory: "SELECT value ->> 'kernel', value ->> 'launches', value ->> 'runs', value ->> 'share' FROM json_each(readfile('$work/json'), '\$.times')"
says out '^matmul\|1\|2\|1(\.0)?$'
expect 0 "$cutrace" replay --json "$work/matmul.trace" --device interp
grep -q '"times"' "$work/out" && fail 'times without --repeat'

# A driver that has nothing of ours, whose events count.
cat >"$work/driver.c" <<'END'
int cuGetExportTable(const void **table, const void *id)
{
	(void)id;
	*table = 0;
	return 500;
}
END
expect 0 "${CC:-cc}" -shared -fPIC -o "$work/libcuda.so.1" "$work/driver.c" -Wl,--no-as-needed "$real/libcuda.so.1" -Wl,-rpath,"$real"
expect 0 "$cutrace" replay --repeat 2 -o "$work/result" --driver "$work/libcuda.so.1" "$work/driver_nbody.trace"
says out 'by the GPU.s clock'
[ "$(sqlite3 "$work/result" 'SELECT count(*) FROM timing WHERE by_events AND min > 0')" = 6 ] || fail 'events do not count'

expect 2 "$cutrace" replay --repeat 0 "$work/matmul.trace"
says err "'0' is not a number of times"
expect 2 "$cutrace" replay --repeat 2 -j 2 "$work/matmul.trace"
says err 'no --shard or -j'
finish
