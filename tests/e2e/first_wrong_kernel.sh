#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A recording made with --check has a hash of every allocation after every launch. A fault in the first of
# several kernels that work on one buffer is then blamed on that kernel, not on the last one that wrote the buffer.
set -eu
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
fresh_work first_wrong_kernel

trace=$work/sort.trace
expect 0 "$cutrace" record --check -o "$trace" --device interp -- "$programs/driver_bitonic_sort"
expect 0 "$cutrace" replay --device interp "$trace"
expect 0 "$cutrace" dump --modules "$work/modules" "$trace"
ptx=$(find "$work/modules" -name '*.ptx' | head -n 1)
# The first load of the first kernel.
line=$(awk '/\.entry bitonic_sort_tiles\(/ { inside = 1 } inside && /ld\.global/ { print NR; exit }' "$ptx")
expect 1 "$cutrace" replay --device interp --inject "bitonic_sort_tiles:$line:9" "$trace"
says out 'bitonic_sort_tiles'
first=$(grep -oE 'bitonic_(sort_tiles|step|merge_tiles)' "$work/out" | head -n 1)
[ "$first" = bitonic_sort_tiles ] || fail "the report names $first first, not bitonic_sort_tiles"

# The address of a store goes astray by one element: what is wrong first is the element that nothing stored, and the
# report says that, with the stores that should have.
trace=$work/matmul.trace
expect 0 "$cutrace" record -q -o "$trace" --device interp -- "$programs/driver_matmul"
expect 0 "$cutrace" dump --modules "$work/matmul" "$trace"
ptx=$(find "$work/matmul" -name '*.ptx' | head -n 1)
store=$(awk '/^[ \t]*st\.global\.f32/ { line = NR } END { print line }' "$ptx")
register=$(sed -n "${store}s/.*\\[\\(%rd[0-9]*\\)\\].*/\\1/p" "$ptx")
line=$(awk -v r="$register," '$1 == "add.s64" && $2 == r { print NR; exit }' "$ptx")
expect 1 "$cutrace" replay --device interp --inject "matmul:$line:2" "$trace"
says out 'element +0 .* here 0$'
says out 'stored +by one of \(no kernel stored it in this replay'
says out "matmul, PTX line $store: st\.global\.f32"
finish
