#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# programs.sh CUTRACE EXPECTED PTX...: compiles every kernel of our test programs for each family of targets, links it,
# and compares what is refused, and why, with EXPECTED. CUTRACE is the command.
set -eu

cutrace=$1 expected=$2
shift 2
export CUTRACE_CACHE=off
targets=gfx90a,gfx942,gfx1030,gfx1100,gfx1151,gfx1201
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

compiled=0
: >"$dir/refused"
for ptx in "$@"; do
	status=0
	"$cutrace" compile --json --arch $targets -o "$dir/out" "$ptx" >"$dir/json" || status=$?
	if [ $status -gt 1 ]; then
		echo "$ptx: cutrace compile ended with status $status" >&2
		exit 1
	fi
	compiled=$((compiled + $(grep -c '"vgprs"' "$dir/json" || :)))
	sed -n 's/.*"kernel":"\([^"]*\)","target":"\([^"]*\)".*"op":"\([^"]*\)","reason":"\([^"]*\)".*/\1 \2 \3: \4/p' \
		"$dir/json" >>"$dir/refused"
done
objects=$(find "$dir/out" -name '*.co' -size +0 | wc -l)
echo "$compiled code objects of $# programs, $objects linked, $(wc -l <"$dir/refused") refused"
[ "$compiled" -gt 0 ] && [ "$compiled" -eq "$objects" ]
# Each kernel that is refused is so for all targets alike.
cut -d' ' -f1,3- "$dir/refused" | sort -u >"$dir/reasons"
diff -u "$expected" "$dir/reasons"
