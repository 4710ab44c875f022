#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# One launch as a program: compiled by cc alone, it does on our driver what a replay does, says which element differs, and is
# refused with the reason where a launch can't be taken out of its program.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work extract
driver=$build/lib/cutrace/zluda
export CUTRACE_CACHE="$work/cache"
devices=interp
[ ! -x "$build/lib/cutrace/cutrace-compile" ] || devices="interp amdemu:gfx1100"

record()
{
	expect 0 "$cutrace" record -q --check=contents -o "$work/$1.trace" --device interp -- "$programs/$1"
}

launch_of()
{
	sqlite3 "$work/$1.trace" "SELECT call FROM launch ORDER BY call LIMIT 1 OFFSET $2"
}

# extract PROGRAM N: the N-th launch, from 0, into $work/PROGRAM.N.
extract()
{
	expect 0 "$cutrace" extract "$work/$1.trace" --launch "$(launch_of "$1" "$2")" -o "$work/$1.$2" $verify
	expect 0 make -s -C "$work/$1.$2" CC="${CC:-cc}" CFLAGS="-std=c11 -O1 -Wall -Wextra -Werror"
}
verify=

# run_on DEVICE STATUS FOLDER OPTIONS...
run_on()
{
	device=$1 wanted=$2 folder=$3
	shift 3
	expect "$wanted" env LD_LIBRARY_PATH="$driver" CUTRACE_DEVICE="$device" ASAN_OPTIONS=verify_asan_link_order=0 "$work/$folder/run" "$@"
}

for at in driver_saxpy:0 driver_linked_list:1 driver_linked_pieces:0 driver_device_printf:0 driver_radix_sort:2; do
	program=${at%:*} n=${at#*:}
	record "$program"
	extract "$program" "$n"
	for device in $devices; do
		run_on "$device" 0 "$program.$n"
		says out '^equal$'
		says out '^addresses: as recorded'
	done
	[ "$(sqlite3 "$work/$program.$n/launch.trace" 'SELECT count(*) FROM launch')" = 1 ] || fail "$program: not one launch"
	expect 0 "$cutrace" replay -q --isolated "$work/$program.$n/launch.trace"
	# Elsewhere: pointers in parameters and in memory are rewritten, those in results back.
	CUTRACE_VA_BASE=0x550800000000 run_on interp 0 "$program.$n" --translate --pointers
	says out '^addresses: others than'
	says out '^pointer: parameters \+ [0-9]+ \(parameter\)'
	says out '^equal$'
done
CUTRACE_VA_BASE=0x550800000000 run_on interp 0 driver_linked_list.1 --translate
says out '^pointers: [0-9]+ words of the memory rewritten'
grep -q 'memory [0-9]* + [0-9]*: 0x55' "$work/driver_linked_list.1/launch.h" || fail 'the pointers in memory are not listed'
grep -c . "$work/driver_saxpy.0/README" >/dev/null || fail 'there is no README'

# Wrong code: the first wrong elements by their places, as a replay of it says; how far they are off, and what is tolerated.
cp -r "$work/driver_saxpy.0" "$work/wrong"
sed -i 's/fma\.rn\.f32/fma.rz.f32/; s/add\.rn\.f32/add.rz.f32/; s/mul\.rn\.f32/mul.rz.f32/' "$work/wrong/kernel.ptx"
cmp -s "$work/wrong/kernel.ptx" "$work/driver_saxpy.0/kernel.ptx" && fail 'saxpy has no rounding'
for device in $devices; do
	run_on "$device" 1 wrong
	says out '^differs: element [0-9]+ at 0x[0-9a-f]+ \(f32\): recorded [-0-9.e+]+, here [-0-9.e+]+$'
	says out 'differ, by up to 1 units in the last place$'
	says out '^differs$'
	run_on "$device" 0 wrong --ulp 1
	says out 'which is tolerated'
	run_on "$device" 0 wrong --rtol 1e-6
done
# Of one element, what it says is known.
cp -r "$work/driver_saxpy.0" "$work/one"
result=$(sed -n '/^static const struct result/,/};/ s/.*"\(data\/[0-9]*\.bin\)", "f32".*/\1/p' "$work/one/launch.h")
cp "$work/one/$result" "$work/plain.bin"
printf '\000\000\100\100' | dd of="$work/one/$result" bs=4 seek=77 conv=notrunc 2>/dev/null
run_on interp 1 one
says out '^differs: element 77 at 0x[0-9a-f]+ \(f32\): recorded 3, here '
says out '[0-9]+ elements \(f32\) at 0x[0-9a-f]+: 1 differ'

# A fault is a difference; what can't be loaded, or is not there, is none.
cp -r "$work/driver_saxpy.0" "$work/fault"
sed -i 's/st\.global\.f32[[:space:]]*\[%[a-z]*[0-9]*/&+268435456/' "$work/fault/kernel.ptx"
run_on interp 1 fault
says out '^fault: CUDA_ERROR_'
cp -r "$work/driver_saxpy.0" "$work/broken"
sed -i '1s/^/nonsense /' "$work/broken/kernel.ptx"
run_on interp 125 broken
says err 'kernel.ptx can.t be loaded: CUDA_ERROR_INVALID_'
run_on interp 125 driver_saxpy.0 --driver /nonexistent/libcuda.so.1
says err '/nonexistent'
run_on interp 2 driver_saxpy.0 --ulp x
says err 'usage: run'
run_on interp 2 driver_saxpy.0 more
rm "$work/broken/data/parameters.bin"
cp "$work/driver_saxpy.0/kernel.ptx" "$work/broken"
run_on interp 125 broken
says err 'parameters.bin: No such file'

# Cooperative launches, and shared memory that the launch asks for.
verify=--no-verify
sqlite3 "$work/driver_saxpy.trace" 'UPDATE launch SET cooperative = 1, shared_bytes = 4096; DELETE FROM row_hash'
rm -r "$work/driver_saxpy.0"
extract driver_saxpy 0
grep -q 'cooperative = 1' "$work/driver_saxpy.0/launch.h" || fail 'the launch is not cooperative'
grep -q 'shared_bytes = 4096' "$work/driver_saxpy.0/launch.h" || fail 'the shared memory is missing'
run_on interp 0 driver_saxpy.0

# What can't be taken out, and wrong usage.
record driver_textures
expect 125 "$cutrace" extract "$work/driver_textures.trace" --launch "$(launch_of driver_textures 0)" -o "$work/none"
says err 'textures or surfaces'
expect 125 "$cutrace" extract "$work/driver_saxpy.trace" --launch 1 -o "$work/none"
says err 'none of these calls is a launch'
expect 125 "$cutrace" extract "$work/driver_saxpy.trace" --launch 1 -o "$work"
says err 'this exists'
expect 0 "$cutrace" record -q -o "$work/plain.trace" --device interp -- "$programs/driver_saxpy"
expect 125 "$cutrace" extract "$work/plain.trace" --launch "$(launch_of driver_saxpy 0)" -o "$work/none"
says err 'check=contents'
[ -z "$(find "$work" -name 'none*')" ] || fail 'a folder that could not be made is there'
for wrong in '' '--launch 1' '--launch 1-2 -o x' '--launch x -o x' '--launch 1 -o x --device a --driver b' '--nonsense'; do
	# shellcheck disable=SC2086 # words
	expect 2 "$cutrace" extract "$work/plain.trace" $wrong
done
finish
