#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bisect.sh BUILD [FAULTY-COMPILER]: cutrace bisect finds the kernel, the pass of LLVM and, by mixing, the kernel whose code is
# to blame, of a build whose compiler has a planted fault; says that there is no difference where there is none, and exits
# as a script needs it.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work bisect
faulty=${2:-}
export CUTRACE_CACHE="$work/cache"
interp=$build/lib/cutrace/zluda/libcuda.so.1

trace=$work/nbody.trace
expect 0 "$cutrace" record -q --check=contents -o "$trace" --device interp -- "$programs/driver_nbody"
move=$(sqlite3 "$trace" "SELECT min(call) FROM launch, kernel WHERE kernel.id = launch.kernel AND name = 'nbody_move'")

# Wrong usage, and what can't be.
expect 2 "$cutrace" bisect "$trace"
says err 'good and bad are the same'
expect 2 "$cutrace" bisect --bad-device interp:contract=all
says err 'which trace'
expect 2 "$cutrace" bisect "$trace" --nonsense
says err 'unknown option'
expect 2 "$cutrace" bisect "$trace" --bad "$interp" --bad-device interp:contract=all --envelope x
says err "this is not a number of runs, 0 or from 3 to 64: x"
expect 125 "$cutrace" bisect "$trace" --bad "$work"
says err 'there is no libcuda.so.1 in it'
expect 125 "$cutrace" bisect "$work/none.trace" --bad-device interp:contract=all
says err 'none.trace'
expect 125 "$cutrace" bisect "$trace" --mix --bad-device interp:contract=all
says err 'devices amdemu and hip'

# No difference, and one: a bit of one instruction's result, on the bad side, in each launch of nbody_accelerate.
line=$(awk '/entry nbody_accelerate/ { f = 1 } f && /fma.rn.f32/ { print NR; exit }' "$programs/driver/nbody.ptx")
flip=inject=nbody_accelerate:$line:20
expect 1 "$cutrace" bisect "$trace" --good "$build" --bad-options check=all
says out 'no difference: no launch differs on the bad side'
first=$(sqlite3 "$trace" "SELECT min(call) FROM launch")
expect 0 "$cutrace" bisect "$trace" --bad-options "$flip" -q
says out "^first difference: the launch of nbody_accelerate, call $first"
says out 'good: equal; bad: differs \(3 launches differ on the bad side\)'
says out '^  [0-9]+ of [0-9]+ elements \(f32\) differ; element [0-9]+ at 0x'
[ ! -s "$work/err" ] || fail 'bisect -q says something'
expect 0 "$cutrace" bisect "$trace" --bad-options "$flip" -q --json
cp "$work/out" "$work/json"
expect 0 sqlite3 :memory: "SELECT json_extract(readfile('$work/json'), '\$.launch.kernel') || json_extract(readfile('$work/json'), '\$.launch.call')"
says out "^nbody_accelerate$first\$"

# Without what launches wrote, the good side's replay shows it.
expect 0 "$cutrace" record -q -o "$work/plain.trace" --device interp -- "$programs/driver_nbody"
expect 0 "$cutrace" bisect "$work/plain.trace" --bad-options "$flip"
says out '^first difference: the launch of nbody_accelerate'
says out 'good: recorded; bad: differs'
# Wrong on both sides is no difference.
cp "$trace" "$work/wrong.trace"
other=$(sqlite3 "$trace" "SELECT buffer FROM payload WHERE kind = 'written' AND call = $first ORDER BY id LIMIT 1")
last=$(sqlite3 "$trace" "SELECT max(call) FROM launch, kernel WHERE kernel.id = launch.kernel AND name = 'nbody_accelerate'")
sqlite3 "$work/wrong.trace" "UPDATE payload SET buffer = $other WHERE id = (SELECT min(id) FROM payload WHERE kind = 'written' AND call = $last);
	DELETE FROM row_hash"
expect 1 "$cutrace" bisect "$work/wrong.trace" --bad-options check=all -q
says out 'no difference: [0-9]+ launches differ from the recording, and on both sides'

if [ -z "$faulty" ]; then
	echo 'LLVM 19 is not installed: no pass was searched'
	finish
	exit 0
fi

# Another build, with a fault in SROA that only kernels with "move" in their names meet.
bad=$work/bad
mkdir -p "$bad/lib/cutrace/zluda" "$bad/bin"
cp "$interp" "$bad/lib/cutrace/zluda"
ln -s "$faulty" "$bad/lib/cutrace/cutrace-compile"
expect 0 "$cutrace" bisect "$trace" --good "$build" --bad "$bad" --device amdemu:gfx1100
says out "^first difference: the launch of nbody_move, call $move\$"
says out 'good: (equal|inside); bad: differs'
says out '^pass: [0-9]+ of [0-9]+: SROAPass on nbody_move$'
says out "good code: CUTRACE_COMPILE_OPTIONS='nbody_move:opt-bisect=[0-9]+', bad: [0-9]+"
says err 'passes: good'
# What it says is so.
number=$(sed -n 's/^pass: \([0-9]*\) of.*/\1/p' "$work/out")
replay()
{
	expect "$1" env CUTRACE_COMPILE_OPTIONS="nbody_move:opt-bisect=$2" CUTRACE_DEVICE=amdemu:gfx1100 \
		"$cutrace" replay -q --isolated --driver "$bad/lib/cutrace/zluda/libcuda.so.1" "$trace"
}
replay 1 "$number"
replay 0 $((number - 1))
# By options of one build: without SROA at -O0 it is right.
expect 0 "$cutrace" bisect "$trace" --good "$bad" --bad "$bad" --device amdemu:gfx1100 --good-options opt=0 -q --json
cp "$work/out" "$work/json"
expect 0 sqlite3 :memory: "SELECT json_extract(readfile('$work/json'), '\$.launch.kernel') || ' ' || json_extract(readfile('$work/json'), '\$.pass.name') || ' ' ||
	json_extract(readfile('$work/json'), '\$.pass.number')"
says out "^nbody_move SROAPass $number\$"
# The program's results, by mixing code of both compilers.
expect 0 "$cutrace" bisect "$trace" --good "$build" --bad "$bad" --device amdemu:gfx1100 --mix -q --ulp 100
says out "^kernel whose code makes the program's results differ: nbody_move \(2 of 2\)\$"
expect 0 "$cutrace" record -q -o "$work/saxpy.trace" --device interp -- "$programs/driver_saxpy"
expect 1 "$cutrace" bisect "$work/saxpy.trace" --good "$build" --bad "$bad" --device amdemu:gfx1100 --mix -q --ulp 100
finish
