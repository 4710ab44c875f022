#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# There and back: a time names one state, to the last register and byte, however it is reached; what is stepped forwards is
# stepped back; the stops of reverse-continue are those of continue. With checkpoints at short distances, so that they matter in
# short kernels.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work debug_roundtrips
export CUTRACE_REPLAY_DEBUG_STEP

# debug STATUS TRACE LAUNCH < commands
debug()
{
	cat >"$work/script"
	expect "$1" timeout 60 "$cutrace" debug "$2" --launch "$3" -x "$work/script" --batch
}

# Moves by chance, each there and back, in a launch of that many instructions.
walk()
{
	awk -v seed="$1" -v total="$2" 'BEGIN {
		srand(seed)
		split("stepwarp stepi nexti", moves)
		for (k = 0; k < 12; k++) {
			n = 1 + int(rand() * 9)
			move = moves[1 + int(rand() * 3)]
			printf "goto %d\ninfo state\n%s %d\ninfo state\nreverse-%s %d\ninfo state\n", rand() * total * 0.95, move, n, move, n
		}
	}'
}

for row in saxpy:saxpy:100 reduction:reduce_sum:300 matmul:matmul:2000 bitonic_sort:bitonic_sort_tiles:1000 \
	spinlock_warp:spinlock_count:1000 fft:fft:700 radix_sort:scatter:500 linked_pieces:apply_rules:150 \
	device_printf:print:30 textures:sample:50; do
	program=${row%%:*} kernel=${row#*:}
	CUTRACE_REPLAY_DEBUG_STEP=${kernel#*:}
	kernel=${kernel%:*}
	trace=$work/$program.trace
	expect 0 "$cutrace" record -q --check=contents -o "$trace" --device interp -- "$programs/driver_$program"
	launch=$(sqlite3 "$trace" "SELECT coalesce((SELECT min(l.call) FROM launch l JOIN kernel k ON k.id = l.kernel WHERE
		k.name LIKE '%$kernel%'), (SELECT min(call) FROM launch))")
	printf 'goto end\ninfo time\n' | debug 0 "$trace" "$launch"
	total=$(sed -n 's/^time //p' "$work/out")
	[ "$total" -gt 100 ] || fail "$program: only $total instructions"
	walk 1 "$total" | debug 0 "$trace" "$launch"
	grep '^state ' "$work/out" | awk '{ sub(":", "", $5); print $5, $2 }' >"$work/states"
	[ "$(wc -l <"$work/states")" -eq 36 ] || fail "$program: not 36 states"
	# A time has one state, and no other time has it.
	sort -u "$work/states" >"$work/unique"
	[ "$(cut -d' ' -f1 "$work/unique" | sort -u | wc -l)" -eq "$(wc -l <"$work/unique")" ] || fail "$program: two states at one time"
	[ "$(cut -d' ' -f2 "$work/unique" | sort -u | wc -l)" -eq "$(wc -l <"$work/unique")" ] || fail "$program: one state at two times"
	# There and back is where it was, but for threads that left on the way.
	awk 'NR % 3 == 1 { from = $0 } NR % 3 == 0 { n += $0 == from } END { exit n < 6 }' "$work/states" ||
		fail "$program: too few ways back led to where they came from"
	# The same states without any checkpoint but the first.
	CUTRACE_REPLAY_DEBUG_STEP=1000000
	walk 1 "$total" | debug 0 "$trace" "$launch"
	grep '^state ' "$work/out" | awk '{ sub(":", "", $5); print $5, $2 }' >"$work/again"
	cmp -s "$work/states" "$work/again" || fail "$program: checkpoints change what is seen"
done

# stops MOVE COUNT: the times at which COUNT of these moves stop.
moves()
{
	k=0
	while [ "$k" -lt "$2" ]; do
		printf '%s\ninfo time\n' "$1"
		k=$((k + 1))
	done
}
stop_times()
{
	sed -n 's/^time \([0-9]*\).*/\1/p' "$work/out"
}

# The same stops in both directions.
both_ways()
{
	trace=$work/$1.trace
	launch=$(sqlite3 "$trace" "SELECT min(l.call) FROM launch l JOIN kernel k ON k.id = l.kernel WHERE k.name LIKE '%$2%'")
	{
		[ -z "$3" ] || printf '%s\n' "$3"
		moves "$4" "$6"
		moves "$5" "$(($6 - 1))"
	} | debug 0 "$trace" "$launch"
	stop_times >"$work/times"
	[ "$(wc -l <"$work/times")" -eq $((2 * $6 - 1)) ] || fail "$1: too few stops of $4"
	head -n "$6" "$work/times" >"$work/there"
	tail -n "$6" "$work/times" | sort -rn >"$work/sorted"
	tail -n "$6" "$work/times" >"$work/back"
	cmp -s "$work/sorted" "$work/back" || fail "$1: $5 does not go back"
	sort -rn "$work/there" | cmp -s - "$work/back" || fail "$1: $5 stops elsewhere than $4: $(tr '\n' ' ' <"$work/times")"
}
for CUTRACE_REPLAY_DEBUG_STEP in 40 1000000; do
	both_ways reduction reduce_sum 'break 111 if tid.x % 64 == 0' continue reverse-continue 12
	both_ways reduction reduce_sum 'watch {u32}param_2' continue reverse-continue 8
	both_ways spinlock_warp spinlock_count 'rwatch {u32}param_1' continue reverse-continue 9
	both_ways matmul matmul 'watch %f56' continue reverse-continue 4
	both_ways linked_pieces apply_rules '' step reverse-step 8
	both_ways linked_pieces apply_rules '' next reverse-next 5
	both_ways matmul matmul '' 'step 3' 'reverse-step 3' 9
	both_ways matmul matmul '' 'stepwarp 30' 'reverse-stepwarp 30' 6
done
finish
