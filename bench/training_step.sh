#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# training_step.sh BUILD: what recording a training loop costs, as the ratio of the whole process's time, start and end of
# the recording included, and of the processors' time: ROUNDS (default 7) times in turn, the least of each way counts. On a driver that executes
# nothing but takes a GPU's time (training_driver.c); with DEVICE=interp on the interpreter, with small kernels.
set -eu

build=${1:?usage: bench/training_step.sh BUILD}
build=$(cd "$build" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
cmake --build "$build" --target training_step cutrace >/dev/null
steps=${STEPS:-200}
arguments="$steps ${ELEMENTS:-16384}"
where="--driver $build/bench/training/libcuda.so.1"
[ -z "${DEVICE:-}" ] || where="--device $DEVICE"

# Prints the seconds that a command took, and those that it and its children had of processors.
seconds() {
	start=$(date +%s.%N)
	# shellcheck disable=SC2016 # for the inner shell
	sh -c '"$@" >/dev/null && times' sh "$@" >"$work/out" || { cat "$work/out" >&2; exit 1; }
	end=$(date +%s.%N)
	tail -n 1 "$work/out" | tr 'ms' '  ' |
		awk -v start="$start" -v end="$end" '{ printf "%.4f %.4f\n", end - start, 60 * ($1 + $3) + $2 + $4 }'
}

once() {
	way=$1
	shift
	# shellcheck disable=SC2086 # words
	echo "$way $(seconds "$@" "$build/bench/training_step" $arguments)" >>"$work/results"
	rm -f "$work"/t.cutrace*
}

round=0
while [ $round -lt "${ROUNDS:-7}" ]; do
	round=$((round + 1))
	# shellcheck disable=SC2086
	once plain "$build/bin/cutrace" run $where --
	for options in --payloads=none '' --check=all --check=contents; do
		# shellcheck disable=SC2086
		once "record$options" "$build/bin/cutrace" record -q $options -o "$work/t.cutrace" $where --
	done
done
awk '!($1 in wall) || $2 < wall[$1] { wall[$1] = $2 } !($1 in cpu) || $3 < cpu[$1] { cpu[$1] = $3 }
	!($1 in seen) { seen[$1] = 1; order[++n] = $1 }
	END {
		printf "%-24s %10s %7s %10s %7s\n", "", "seconds", "ratio", "processor", "ratio"
		for (i = 1; i <= n; i++)
			printf "%-24s %10.3f %7.2f %10.3f %7.2f\n", order[i], wall[order[i]], wall[order[i]] / wall["plain"],
				cpu[order[i]], cpu[order[i]] / cpu["plain"]
	}' "$work/results"
