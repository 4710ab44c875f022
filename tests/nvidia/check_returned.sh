#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: check_returned.sh OUT BUILD
#
# Replays on the interpreter what run.sh brought back in OUT. All the programs use operations that PTX defines to the
# bit, so a difference is a fault of ours. Exit status 0: every trace replays without one.
set -eu

out=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0 traces=0

for archive in "$out"/traces-*.tar.gz; do
	[ -e "$archive" ] || {
		echo "check_returned.sh: no traces-*.tar.gz in $out" >&2
		exit 125
	}
	tar -xzf "$archive" -C "$work"
done
for trace in "$work"/*.trace; do
	[ -e "$trace" ] || break
	status=0
	"$build/bin/cutrace" replay --device interp "$trace" >"$work/report" 2>&1 || status=$?
	printf '%-28s replay on interp: %s\n' "$(basename "$trace" .trace)" "$status"
	traces=$((traces + 1))
	if [ "$status" -ne 0 ]; then
		failures=$((failures + 1))
		sed 's/^/  | /' "$work/report"
	fi
done
echo "$traces traces, $failures differ or could not be replayed"
[ "$traces" -gt 0 ] && [ "$failures" -eq 0 ]
