#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: run.sh OUT
#
# For a machine with an NVIDIA GPU; lies in the folder that pack.sh made. Records every test program on the real
# driver, replays each trace on that same driver, and leaves in OUT: summary.txt (one line per program), messages.txt,
# machine.txt, and the traces in traces-N.tar.gz, each under 16 MiB and eight files at most in all. No network, no
# installation, ten minutes at most. Exit status 0: everything was recorded and replayed without a difference.
#
# DRIVER=/path/to/libcuda.so.1 names another driver (for a dry run without a GPU: ours).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=$1
mkdir -p "$out"
out=$(cd "$out" && pwd)
cutrace=$here/bin/cutrace
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/traces"
deadline=$(($(date +%s) + ${SECONDS_IN_ALL:-540}))
# shellcheck source=SCRIPTDIR/lib.sh
. "$here/lib.sh"

system_driver()
{
	ldconfig -p 2>/dev/null | awk '$1 == "libcuda.so.1" && /x86-64/ { print $NF; exit }'
}

driver=${DRIVER:-$(system_driver)}
if [ -z "$driver" ] || [ ! -e "$driver" ]; then
	echo "run.sh: no libcuda.so.1 here; DRIVER= names one" >&2
	exit 125
fi

describe_machine()
{
	echo "driver library: $driver"
	uname -srm
	"$cutrace" --version
	nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader 2>&1 || true
}

# One program: a line "NAME record STATUS replay STATUS bytes N".
one_program()
{
	name=$1 trace=$work/traces/$1.trace replayed=-
	recorded=$(timed 60 "$cutrace" record -o "$trace" --driver "$driver" -- "$here/programs/$name")
	if [ -e "$trace" ]; then
		replayed=$(timed 60 "$cutrace" replay --driver "$driver" "$trace")
		bytes=$(wc -c <"$trace")
	else
		bytes=0
	fi
	printf '%-28s record %-4s replay %-4s bytes %s\n' "$name" "$recorded" "$replayed" "$bytes"
	[ "$recorded$replayed" = 00 ]
}

: >"$out/messages.txt"
describe_machine >"$out/machine.txt"
all_programs one_program >"$out/summary.txt"
pack_traces >>"$out/summary.txt"
cat "$out/machine.txt" "$out/summary.txt"
echo "$failures programs failed"
[ "$failures" -eq 0 ]
