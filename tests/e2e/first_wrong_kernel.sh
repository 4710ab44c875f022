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
finish
