#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: instrumented.sh BUILD [DEVICE...]
#
# Kernels that log what they do give what they gave without: of each program of tests/e2e/programs.list all kernels are
# instrumented, and the replay of its trace finds no difference. The traces are those of the programs' own tests, in
# BUILD/tests/e2e; what is not there is recorded. Without DEVICE: all of them on the interpreter, a few as AMD code.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
list=$(dirname "$0")/../e2e
shift
fresh_work instrumented
driver=$build/tests/faults/libcuda_with_logs.so
[ -e "$driver" ] || { echo 'skipped: the driver of tests/faults that logs was not built'; exit 77; }
compiler=$build/lib/cutrace/cutrace-compile
export CUTRACE_CACHE="$work/cache" CUTRACE_WATCHDOG_MS=120000
few='driver_reduction driver_linked_pieces driver_linked_list driver_fft driver_device_printf driver_pipeline
	runtime_histogram runtime_reduce_shuffle runtime_linked_files_static'

# trace_of PROGRAM: leaves its path in $trace.
trace_of()
{
	trace=$build/tests/e2e/$1/program.trace
	[ -e "$trace" ] && return
	trace=$work/$1.trace
	[ -e "$trace" ] || expect 0 "$cutrace" record -q -o "$trace" --device interp -- "$programs/$1"
}

# Threads of the first blocks have said how much they logged.
has_logged()
{
	for log in "$work"/logs/*; do
		[ "$(head -c 8192 "$log" 2>/dev/null | tr -d '\0' | wc -c)" -eq 0 ] || return 0
	done
	return 1
}

# all DEVICE PROGRAM...
all()
{
	device=$1 done=0
	shift
	for program; do
		[ -x "$programs/$program" ] || { echo "not built: $program"; continue; }
		case $device in
		amdemu*) grep -q "^$program " "$list/amd_refused.list" && { echo "refused by $device: $program"; continue; } ;;
		esac
		trace_of "$program"
		rm -rf "$work/logs" && mkdir "$work/logs"
		LOGS="$work/logs" CUTRACE_DEVICE="$device" expect 0 "$cutrace" replay --driver "$driver" "$trace"
		says out '^match: .* 0 differ'
		has_logged || fail "$program on $device: nothing was logged"
		done=$((done + 1))
	done
	echo "$device: $done programs"
}

every=$(sed -n 's/^\([a-z][a-z0-9_]*\) .*/\1/p' "$list/programs.list")
if [ $# -gt 0 ]; then
	for device; do
		# shellcheck disable=SC2086 # words
		all "$device" $every
	done
else
	# shellcheck disable=SC2086
	all interp $every
	[ "$done" -ge 19 ] || fail "only $done programs were replayed"
	[ ! -x "$compiler" ] || {
		# shellcheck disable=SC2086
		all amdemu:gfx1100 $few
	}
fi
finish
