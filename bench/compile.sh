#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# compile.sh BUILD [TARGET]: what compiling for AMD GPUs costs beside `ptxas -O3` on the same PTX, one core: small kernels
# (the test programs'), large modules, from nothing and from the cache. Figures are milliseconds of processor time, least
# and median of ROUNDS (default 20): a running worker's for us, a whole process's for ptxas, which has no other form.
# CUTRACE and PTXAS name other programs.
set -eu

build=$(cd "${1:?usage: bench/compile.sh BUILD [TARGET]}" && pwd)
target=${2:-gfx1100}
rounds=${ROUNDS:-20}
ptxas=${PTXAS:-ptxas}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
export CUTRACE_CACHE="$work/cache" CUTRACE_COMPILER="$build/lib/cutrace/cutrace-compile"

cmake --build "$build" --target compile_bench ptx_bench cutrace >/dev/null
bench=$build/bench/compile_bench
if command -v taskset >/dev/null; then
	bench="taskset -c 0 $bench"
fi

# row NAME FILE.ptx ROUNDS: one line of the table; its ratio goes to $work/ratios.
row()
{
	ours=$($bench cold "$target" "$3" "$2")
	case $ours in
	refused* | 0.00*)
		printf '%-22s %s\n' "$1" "$ours"
		return
		;;
	esac
	theirs=$($bench run "$3" "$ptxas" -O3 -arch=sm_80 "$2" -o "$work/cubin" 2>/dev/null) || {
		printf '%-22s ptxas does not take it\n' "$1"
		return
	}
	echo "$ours $theirs" | awk -v name="$1" '{
		printf "%-22s %8.1f %8.1f   %8.1f %8.1f   %5.2f\n", name, $1, $2, $3, $4, $2 / $4
	}'
	echo "$ours $theirs" | awk '{ print $2 / $4 }' >>"$work/ratios"
}

geometric_mean()
{
	awk '{ s += log($1) } END { if (NR) printf "%-22s %46.2f  (%d files)\n", "geometric mean", exp(s / NR), NR }' "$work/ratios"
}

printf '%-22s %17s   %17s\n' "$target" "cutrace" "ptxas -O3"
printf '%-22s %8s %8s   %8s %8s   %5s\n' "small kernels" least median least median ratio
: >"$work/ratios"
for ptx in "$build"/tests/programs/driver/*.ptx; do
	row "$(basename "$ptx" .ptx)" "$ptx" "$rounds"
done
geometric_mean

printf '\n%-22s\n' "large modules"
: >"$work/ratios"
for size in "1 1000" "1 100"; do
	"$build/bench/ptx_bench" --generate $size >"$work/generated.ptx"
	row "1 MB, ${size##* } kernels" "$work/generated.ptx" 1
done
geometric_mean

# The worker is no child of the command: only the clock knows what it took.
printf '\nfrom nothing, a process each, LLVM loaded, one kernel; by the clock, least and median\n'
printf 'cutrace compile       '
CUTRACE_CACHE=off $bench run "$rounds" "$build/bin/cutrace" compile -j 1 --arch "$target" \
	"$build/tests/programs/driver/saxpy.ptx" | cut -d' ' -f3,4
printf 'ptxas -O3             '
$bench run "$rounds" "$ptxas" -O3 -arch=sm_80 "$build/tests/programs/driver/saxpy.ptx" -o "$work/cubin" | cut -d' ' -f3,4

printf '\nfrom the cache, clock: '
$bench warm "$target" "$build/tests/programs/driver/saxpy.ptx"
printf '50 MB, 5,000 kernels: '
$bench module 50 5000 "$target"
