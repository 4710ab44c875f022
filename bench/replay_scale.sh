#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# How isolated replay scales: replay_scale.sh BUILD [LAUNCHES]. Needs GNU time, a quiet machine for wall time to mean something, and 600 MB
# in TMPDIR for 100,000 launches. "processor" is user and system time of all processes: what the work costs, also on a busy machine.
set -eu
build=$1 launches=${2:-100000}
ninja -C "$build" replay_scale >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run()
{
	/usr/bin/time -f '%e %U %S %M' -o "$work/time" "$build/bin/cutrace" replay -q -j "$1" --device interp "$2"
	awk -v jobs="$1" -v n="$3" '{ printf "%7d launches, -j %d: %6.2f s, processor %6.2f s, %5.1f MB\n", n, jobs, $1, $2 + $3, $4 / 1024 }' "$work/time"
}
for n in 1000 10000 "$launches"; do
	"$build/bin/cutrace" record -q --check=contents -o "$work/trace" --device interp -- "$build/bench/replay_scale" "$n"
	for _ in 1 2 3; do
		run 1 "$work/trace" "$n"
		run 2 "$work/trace" "$n"
		[ "$n" = "$launches" ] || break
	done
	rm "$work/trace"
done
