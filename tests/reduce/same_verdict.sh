#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What is made of a trace shows what the trace shows: of programs and faults of the driver (tests/faults), trim has the same
# kernels, buffers and grades launch by launch, and so have bundles; reduce has the kernel that was wrong; the program that
# extract makes of that launch says that it differs. Without the fault none of them does.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work same_verdict
driver=$build/tests/faults/libcuda_with_fault.so
[ -e "$driver" ] || { echo 'skipped: the faulty driver of tests/faults was not built'; exit 77; }
export CUTRACE_DEVICE=interp

# Launches in order with their kernels, buffers, grades, and how many elements differ.
verdict()
{
	"$cutrace" replay -q --no-narrow -o "$work/result.db" --isolated "$@" >"$work/out" 2>"$work/err" || :
	sqlite3 "$work/result.db" "SELECT dense_rank() OVER (ORDER BY call), kernel_name, kind, grade, elem_type, differing FROM verdict
		WHERE pass = 1 AND kind IN ('written', 'launch', 'fault') ORDER BY call, id"
}

# right_without TRACE WHAT
right_without()
{
	verdict --device interp "$1" >"$work/clean"
	! grep -q differs "$work/clean" || fail "$program: $2 differs without the fault"
}

# Textures: their replay is recorded, which our driver does.
trimmed()
{
	target="--driver $driver"
	[ "$program" != driver_textures ] || target='--device interp'
	# shellcheck disable=SC2086 # words
	expect 0 "$cutrace" trim "$trace" --launches "$calls" $target -o "$work/$program.trim"
	verdict --driver "$driver" "$work/$program.trim" >"$work/trimmed"
	cmp "$work/whole" "$work/trimmed" || fail "$program: trim shows something else"
	right_without "$work/$program.trim" trim
}

bundled()
{
	expect 0 "$cutrace" report "$trace" --driver "$driver" --all --yes -o "$work/$program.bundle"
	verdict --driver "$driver" "$work/$program.bundle/trace" >"$work/trimmed"
	cmp "$work/whole" "$work/trimmed" || fail "$program: the bundle of all launches shows something else"
}

reduced()
{
	expect 0 "$cutrace" reduce "$trace" --driver "$driver" --time 1s -o "$work/$program.small"
	verdict --driver "$driver" "$work/$program.small" >"$work/small"
	grep -q "^1|$wrong|written|differs|" "$work/small" || fail "$program: reduce shows $(cat "$work/small")"
	[ "$(sqlite3 "$work/$program.small" 'SELECT count(*) FROM launch')" = 1 ] || fail "$program: more than one launch"
	right_without "$work/$program.small" reduce
}

extracted()
{
	expect 0 "$cutrace" extract "$trace" --launch "$first" --no-verify -o "$work/$program.c"
	expect 0 make -s -C "$work/$program.c" CC="${CC:-cc}" CFLAGS=-O0
	export ASAN_OPTIONS=verify_asan_link_order=0
	expect 1 "$work/$program.c/run" --driver "$driver"
	says out '^differs$'
	FAULT_RULE='' expect 0 "$work/$program.c/run" --driver "$driver"
	unset ASAN_OPTIONS
}

while read -r program rule; do
	[ -x "$programs/$program" ] || continue
	trace=$work/$program.trace
	unset FAULT_RULE
	expect 0 "$cutrace" record -q --check=contents -o "$trace" --device interp -- "$programs/$program"
	export FAULT_RULE="$rule"
	verdict --driver "$driver" "$trace" >"$work/whole"
	grep -q '|differs|' "$work/whole" || fail "$program: the fault $rule shows nothing"
	wrong=$(grep '|differs|' "$work/whole" | head -n 1 | cut -d'|' -f2)
	first=$(sqlite3 "$work/result.db" "SELECT min(call) FROM verdict WHERE pass = 1 AND grade = 'differs'")
	calls=$(sqlite3 "$trace" "SELECT min(call) || '-' || max(call) FROM launch")
	trimmed
	reduced
	[ "$program" = driver_textures ] || { # what excerpts don't have
		bundled
		extracted
	}
done <<END
driver_matmul fma-f32-rz
driver_textures tex-channels
driver_fft mul-f32-rz
driver_compaction popc-one-short
runtime_matmul_tiled fma-f32-rz
END

# A pointer that nobody can see: the buffer that it leads to is missed, and trim finds out before it writes.
unset FAULT_RULE
sed 's/ld.param.u64 %rd1, \[in\];/ld.param.u64 %rd1, [in]; not.b64 %rd1, %rd1;/' "$(dirname "$0")/secrets.ptx" >"$work/hidden.ptx"
expect 0 "$cutrace" record -q --check=contents -o "$work/hidden.trace" --device interp -- "$build/tests/reduce/secrets" "$work/hidden.ptx" hidden
expect 0 "$cutrace" replay -q --isolated "$work/hidden.trace"
calls=$(sqlite3 "$work/hidden.trace" "SELECT call FROM launch")
expect 125 "$cutrace" trim "$work/hidden.trace" --launches "$calls" -o "$work/hidden.trim"
says err "does not show what .* does on interp: .scale [a-z]+ [a-z]+. instead of .scale written equal."
[ ! -e "$work/hidden.trim" ] || fail 'a trace that shows something else is there'
expect 0 "$cutrace" trim "$work/hidden.trace" --no-verify --launches "$calls" -o "$work/hidden.trim"
expect 125 "$cutrace" report "$work/hidden.trace" --all --yes -o "$work/hidden.bundle"
[ ! -e "$work/hidden.bundle" ] || fail 'a bundle that shows something else is there'
finish
