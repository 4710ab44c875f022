#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# training_step.sh BUILD: what recording a training loop costs, as the ratio of the whole process's time, start and end of
# the recording included, and of the processors' time: ROUNDS (default 7) times in turn. For a short loop (STEPS, default
# 300), a long one (LONG, default 1800) and none at all, so that what a recording costs once and what each call costs can
# be told apart. On a driver that executes nothing but takes a GPU's time (training_driver.c); with DEVICE=interp on the
# interpreter, with small kernels.
set -eu

build=${1:?usage: bench/training_step.sh BUILD}
build=$(cd "$build" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
cmake --build "$build" --target training_step cutrace >/dev/null
short=${STEPS:-300}
long=${LONG:-1800}
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

# once STEPS NAME COMMAND...
once() {
	steps=$1
	way=$2
	shift 2
	echo "$way $steps $(seconds "$@" "$build/bench/training_step" "$steps" "${ELEMENTS:-16384}")" >>"$work/results"
	rm -f "$work"/t.cutrace*
}

# What recording one loop says of its calls.
count_calls() {
	# shellcheck disable=SC2086 # words
	"$build/bin/cutrace" record --payloads=none -o "$work/t.cutrace" $where -- "$build/bench/training_step" "$1" 1 2>&1 \
		>/dev/null | sed -n 's/.*: \([0-9]*\) calls.*/\1/p'
	rm -f "$work"/t.cutrace*
}

calls=$(($(count_calls "$short") - $(count_calls 0)))
round=0
while [ $round -lt "${ROUNDS:-7}" ]; do
	round=$((round + 1))
	for steps in 0 "$short" "$long"; do
		# shellcheck disable=SC2086
		once "$steps" "plain" "$build/bin/cutrace" run $where --
		for options in --payloads=none '' --check=all --check=contents; do
			case $options in --check*) [ "$steps" = "$short" ] || continue ;; esac
			# shellcheck disable=SC2086
			once "$steps" "record$options" "$build/bin/cutrace" record -q $options -o "$work/t.cutrace" $where --
		done
	done
done
sort -k1,1 -k2,2n -k3,3n "$work/results" | awk -v short="$short" -v long="$long" -v calls="$calls" '
	{ k = $1 " " $2; wall[k, ++n[k]] = $3; if (!(k in cpu) || $4 < cpu[k]) cpu[k] = $4 }
	function least(k) { return wall[k, 1] }
	function median(k) { return wall[k, int((n[k] + 1) / 2)] }
	function columns(way, steps,    k, p) {
		k = way " " steps
		p = "plain " steps
		if (!(k in n))
			return sprintf("%9s %6s %7s %10s", "", "", "", "")
		return sprintf("%9.3f %6.3f %7.3f %10.2f", least(k), least(k) / least(p), median(k) / median(p), cpu[k] / cpu[p])
	}
	function extra(way, steps) { return least(way " " steps) - least("plain " steps) }
	function row(way,    once) {
		printf "%-25s%s  %s", way, columns(way, short), columns(way, long)
		if ((way " " long) in n && way != "plain") {
			once = extra(way, 0)
			printf " %7.1f %7.0f", once * 1000, (extra(way, long) - once) * 1e9 / (calls * long / short)
		}
		printf "\n"
	}
	END {
		printf "%-25s%35s  %35s %15s\n", "", short " steps, " calls " calls", long " steps", "costs"
		printf "%-25s%9s %6s %7s %10s  %9s %6s %7s %10s %7s %7s\n", "", "seconds", "ratio", "median", "processor",
			"seconds", "ratio", "median", "processor", "once ms", "call ns"
		row("plain")
		row("record--payloads=none")
		row("record")
		row("record--check=all")
		row("record--check=contents")
	}'
