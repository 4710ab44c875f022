#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Kernels have the names that C++ gives them, of any length: whoever looks for one finds it.
set -eu
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
fresh_work long_names
export CUTRACE_DEVICE=interp
trace=$work/long.trace
fused=interp:contract=all
name=$(printf '%2000s' '' | tr ' ' k)

expect 0 "$cutrace" record -q --check=contents -o "$trace" -- "$build/tests/e2e/long_name" 2000
[ "$(sqlite3 "$trace" 'SELECT length(name) FROM kernel')" = 2000 ] || fail 'the trace has another name'
expect 0 "$cutrace" replay -q --isolated "$trace"
expect 0 "$cutrace" replay --plan --device interp "$trace"
says out '^1 launch: 1 translatable'
# Line 13: mul.f32 f1, f0, f0;
expect 1 "$cutrace" replay -q --isolated --inject "$name:13:20:*:*" "$trace"
expect 1 "$cutrace" replay -q --isolated --envelope 0 --device "$fused" "$trace"
expect 0 "$cutrace" bisect -q --envelope 0 --bad-device "$fused" "$trace"
says out '^first difference: the launch of k{2000}, call'
finish
