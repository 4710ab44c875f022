#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: run.sh OUT
#
# For a machine with an NVIDIA GPU; lies in the folder that pack.sh made. What it does on the real driver, and what that shows:
#
#   each test program        recorded, and replayed: the recorder and the replayer with a driver that isn't ours
#   the same, --check        what launches wrote, hashed by kernels of ours on the GPU; each launch replayed alone
#   the same, enriched       evidence that is added later is that of a recording with --check
#   the same, --reference    the driver compiles the PTX instead of running the machine code: the same results
#   cost                     a training loop without and with a recording
#   the test of instructions each form of PTX's instructions, on hardware, beside the interpreter
#   sweeps                   instructions on very many operands: what the hardware's approximations give
#
# It leaves in OUT: summary.txt (one line per program, the cost, the counts), messages.txt, machine.txt, instructions.tsv
# (one line a form), sweeps.txt, and the traces in traces-N.tar.gz, each under 16 MiB and eight files at most in all. No
# network, no installation, ten minutes at most. Exit status 0: all of it worked.
#
# DRIVER=/path/to/libcuda.so.1 names another driver (for a dry run without a GPU: ours). EVIDENCE="NAME..." are the programs
# of the second to fourth line (all). STRIDE=N tests one form in N, SAMPLES=N is what a sweep takes; 0: none. TARGET=sm_90a is
# what the hardware's code is compiled for. SECONDS_IN_ALL=N limits the time.
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

status_of_replay()
{
	if [ -e "$1" ]; then
		shift
		timed 60 "$@"
	else
		echo -
	fi
}

# One program: a line "NAME record STATUS replay STATUS bytes N".
one_program()
{
	name=$1 trace=$work/traces/$1.trace bytes=0
	recorded=$(timed 60 "$cutrace" record -o "$trace" --driver "$driver" -- "$here/programs/$name")
	replayed=$(status_of_replay "$trace" "$cutrace" replay --driver "$driver" "$trace")
	[ ! -e "$trace" ] || bytes=$(wc -c <"$trace")
	printf '%-28s record %-4s replay %-4s bytes %s\n' "$name" "$recorded" "$replayed" "$bytes"
	[ "$recorded$replayed" = 00 ]
}

# A line "NAME check STATUS isolated STATUS enrich STATUS reference STATUS". 125 may have its reason: see messages.txt.
one_with_evidence()
{
	name=$1 checked=$work/checked.trace enriched=$work/enriched.trace reference=$work/reference.trace
	case " ${EVIDENCE-$name} " in
	*" $name "*) ;;
	*) return 0 ;;
	esac
	rm -f "$work"/*.trace
	check=$(timed 60 "$cutrace" record --check=contents,device -o "$checked" --driver "$driver" -- "$here/programs/$name")
	isolated=$(status_of_replay "$checked" "$cutrace" replay --isolated --driver "$driver" "$checked")
	enrich=$(status_of_replay "$work/traces/$name.trace" \
		"$cutrace" enrich "$work/traces/$name.trace" --driver "$driver" -o "$enriched")
	timed 60 "$cutrace" record --reference ptx -o "$reference" --driver "$driver" -- "$here/programs/$name" >/dev/null
	crossed=$(status_of_replay "$reference" "$cutrace" replay --driver "$driver" "$reference")
	printf '%-28s check %-4s isolated %-4s enrich %-4s reference %s\n' "$name" "$check" "$isolated" "$enrich" "$crossed"
	[ "$check$isolated$enrich$crossed" = 0000 ]
}

milliseconds()
{
	begin=$(date +%s%3N)
	timed 60 "$@" >/dev/null
	echo $(($(date +%s%3N) - begin))
}

# Least of three times, in turn: alone, calls only, as always, with hashes.
cost()
{
	[ -x "$here/bin/training_step" ] || return 0
	steps="${STEPS:-200} 16384"
	round=0
	while [ "$round" -lt 3 ]; do
		round=$((round + 1))
		for way in plain --payloads=none --quiet --check; do
			rm -f "$work/cost.trace"
			# shellcheck disable=SC2086 # words
			if [ "$way" = plain ]; then
				took=$(milliseconds "$cutrace" run --driver "$driver" -- "$here/bin/training_step" $steps)
			else
				took=$(milliseconds "$cutrace" record -q "$way" -o "$work/cost.trace" --driver "$driver" -- \
					"$here/bin/training_step" $steps)
			fi
			echo "$way $took"
		done
	done | awk '!($1 in least) || $2 < least[$1] { least[$1] = $2 }
		END { for (way in least) printf "cost %-23s %d ms, %.2f times\n", way, least[way], least[way] / least["plain"] }'
}

# Shards, because the driver compiles one kernel after the other.
instructions()
{
	stride=${STRIDE:-1} shards=$(nproc)
	[ -x "$here/bin/test_ptx_isa" ] && [ "$stride" -gt 0 ] || return 0
	k=0
	while [ "$k" -lt "$shards" ]; do
		timeout -k 5 "${SECONDS_OF_FORMS:-240}" "$here/bin/test_ptx_isa" --device "cuda:driver=$driver$known" \
			--stride "$((stride * shards)),$((k * stride))" --results "$work/forms.$k" >"$work/forms-said.$k" 2>&1 &
		k=$((k + 1))
	done
	wait
	cat "$work"/forms.* >"$out/instructions.tsv"
	tail -qn 1 "$work"/forms-said.* >>"$out/messages.txt"
	cut -f1 "$out/instructions.tsv" | sort | uniq -c | awk '{ printf "instructions %-15s %d\n", $2, $1 }'
	! grep -q '^differs' "$out/instructions.tsv"
}

sweeps()
{
	samples=${SAMPLES:-200000}
	[ -x "$here/bin/sweep" ] && [ "$samples" -gt 0 ] || return 0
	status=$(timed "${SECONDS_OF_SWEEPS:-120}" sh -c '"$@" >"$0" 2>&1' "$out/sweeps.txt" \
		"$here/bin/sweep" --device "cuda:driver=$driver$known" --samples "$samples" --forms)
	printf '%-28s %-4s %s\n' sweeps "$status" "$(tail -n 1 "$out/sweeps.txt")"
	[ "$status" = 0 ]
}

: >"$out/messages.txt"
known=${TARGET:+,target=$TARGET}
describe_machine >"$out/machine.txt"
{
	all_programs one_program
	cost
	instructions || failures=$((failures + 1))
	sweeps || failures=$((failures + 1))
	all_programs one_with_evidence
} >"$out/summary.txt"
pack_traces >>"$out/summary.txt"
cat "$out/machine.txt" "$out/summary.txt"
echo "$failures failed"
[ "$failures" -eq 0 ]
