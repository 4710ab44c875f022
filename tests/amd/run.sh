#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: run.sh OUT
#
# For a machine with an AMD GPU and ROCm 5 to 10; lies in the folder that pack.sh made. What it does, and what that proves:
#
#   cutrace doctor             what ROCm is there, and that kernels can be compiled for the GPU
#   each test program on hip   loading, memory, launches, streams, printf: unmodified CUDA programs run on the GPU and
#                              check their own results
#   the same, recorded on hip and replayed on hip       the GPU gives the same bits twice, also at recorded addresses
#   the same, recorded on interp and replayed on hip    the GPU gives the bits of the interpreter, which PTX defines
#   the test of instructions on hip                     each form of PTX's instructions, against the ISA's own words
#
# It leaves in OUT: summary.txt (one line a program), messages.txt, machine.txt, doctor.json, instructions.tsv (one line
# a form), and what was recorded on the GPU in traces-N.tar.gz, each under 16 MiB. No network, no installation, 40 minutes
# at most. Send the folder to who gave you this one, or open an issue with machine.txt, doctor.json and summary.txt.
# Exit status 0: all of it worked.
#
# DEVICE=hip:1 names another GPU. SECONDS_IN_ALL=N limits the time. LEAVE_OUT="NAME..." are programs not to be run: without
# it driver_out_of_bounds, because hardware has no exact bounds. STRIDE=N tests one form of instructions in N (10).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=$1
mkdir -p "$out"
out=$(cd "$out" && pwd)
cutrace=$here/bin/cutrace
device=${DEVICE:-hip:0}
LEAVE_OUT=${LEAVE_OUT-driver_out_of_bounds}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/traces" "$work/interp"
deadline=$(($(date +%s) + ${SECONDS_IN_ALL:-1500}))
# shellcheck source=SCRIPTDIR/../nvidia/lib.sh
. "$here/lib.sh"

describe_machine()
{
	echo "device: $device"
	uname -srm
	"$cutrace" --version
	cat /opt/rocm*/.info/version 2>/dev/null || true
	rocminfo 2>/dev/null | grep -E 'Marketing Name|  Name: +gfx' || true
	"$cutrace" doctor 2>&1 || true
}

# One program: a line "NAME run S record S replay S interp S bytes N". 0 is good, - was not tried.
one_program()
{
	name=$1 trace=$work/traces/$1.trace other=$work/interp/$1.trace replayed=- crossed=- bytes=0
	case " $LEAVE_OUT " in
	*" $name "*)
		printf '%-28s left out\n' "$name"
		return 0
		;;
	esac
	ran=$(timed 60 "$cutrace" run --device "$device" -- "$here/programs/$name")
	recorded=$(timed 60 "$cutrace" record -o "$trace" --device "$device" -- "$here/programs/$name")
	if [ -e "$trace" ]; then
		replayed=$(timed 60 "$cutrace" replay --device "$device" "$trace")
		bytes=$(wc -c <"$trace")
	fi
	timed 120 "$cutrace" record -o "$other" --device interp -- "$here/programs/$name" >/dev/null
	[ ! -e "$other" ] || crossed=$(timed 60 "$cutrace" replay --device "$device" "$other")
	rm -f "$other"
	printf '%-28s run %-4s record %-4s replay %-4s interp %-4s bytes %s\n' "$name" "$ran" "$recorded" "$replayed" \
		"$crossed" "$bytes"
	[ "$ran$recorded$replayed$crossed" = 0000 ]
}

instructions()
{
	[ -x "$here/bin/test_ptx_isa" ] || return 0
	status=$(timed 900 "$here/bin/test_ptx_isa" --device "$device" --stride "${STRIDE:-10}" --results "$out/instructions.tsv")
	printf '%-28s %-4s %s\n' instructions "$status" "$(tail -n 1 "$out/messages.txt")"
	[ "$status" = 0 ] || failures=$((failures + 1))
}

: >"$out/messages.txt"
"$cutrace" doctor --json >"$out/doctor.json" || true
describe_machine >"$out/machine.txt"
if ! CUTRACE_DEVICE=$device "$cutrace" run --device "$device" -- true >>"$out/messages.txt" 2>&1; then
	cat "$out/machine.txt" "$out/messages.txt"
	echo "run.sh: $device can't be used" >&2
	exit 125
fi
all_programs one_program >"$out/summary.txt"
instructions >>"$out/summary.txt"
pack_traces >>"$out/summary.txt"
cat "$out/machine.txt" "$out/summary.txt"
echo "$failures failed"
[ "$failures" -eq 0 ]
