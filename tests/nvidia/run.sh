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
failures=0

# The libraries that were packed serve where the system has none of its own.
LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$here/system
export LD_LIBRARY_PATH

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

# timed SECONDS COMMAND...: output is kept for messages.txt; prints the exit status.
timed()
{
	limit=$1 status=0
	shift
	printf '\n$ %s\n' "$*" >>"$out/messages.txt"
	timeout -k 5 "$limit" "$@" >>"$out/messages.txt" 2>&1 || status=$?
	printf '%s\n' "$status"
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

names=$(awk '/^[a-z]/ { print $1 }' "$here/programs.list")
all_programs()
{
	for name in $names; do
		if [ ! -x "$here/programs/$name" ]; then
			printf '%-28s not packed\n' "$name"
		elif [ "$(date +%s)" -ge "$deadline" ]; then
			printf '%-28s no time left\n' "$name"
			failures=$((failures + 1))
		else
			one_program "$name" || failures=$((failures + 1))
		fi
	done
}

# Fills archives up to 15 MiB, five at most (three files are text). A trace that is larger stays behind, by name.
pack_traces()
{
	number=1 bytes=0 list=
	cd "$work/traces"
	for trace in *.trace; do
		[ -e "$trace" ] || break
		size=$(gzip -c "$trace" | wc -c)
		if [ "$size" -gt 15728640 ] || [ "$number" -gt 5 ]; then
			printf '%-28s trace left behind: %s bytes\n' "$trace" "$size"
			continue
		fi
		if [ $((bytes + size)) -gt 15728640 ]; then
			# shellcheck disable=SC2086 # a list
			tar -czf "$out/traces-$number.tar.gz" $list
			number=$((number + 1)) bytes=0 list=
		fi
		bytes=$((bytes + size)) list="$list $trace"
	done
	# shellcheck disable=SC2086
	[ -z "$list" ] || [ "$number" -gt 5 ] || tar -czf "$out/traces-$number.tar.gz" $list
}

: >"$out/messages.txt"
describe_machine >"$out/machine.txt"
all_programs >"$out/summary.txt"
pack_traces >>"$out/summary.txt"
cat "$out/machine.txt" "$out/summary.txt"
echo "$failures programs failed"
[ "$failures" -eq 0 ]
