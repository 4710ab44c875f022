#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Inside the kernel: one bit of one instruction's result is flipped, and the report names that instruction, its operands and
# both results, whatever came of it later; the launch with a log gives what it gave without. Rows: program, kernel, what the
# instruction's line looks like, which of these lines, bit, and how it is known.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work narrow

query()
{
	sqlite3 -batch -noheader "$work/result.db" "SELECT $1 FROM verdict WHERE grade IN ('differs', 'fault') AND wrong_how IS NOT NULL ORDER BY id LIMIT 1"
}

# The line of the kernel's K-th instruction that matches.
line_of()
{
	awk -v kernel="$2" -v pattern="$3" -v k="$4" '/\.(entry|func)[ (]/ { inside = index($0, kernel "(") } inside && $0 ~ pattern && !--k { print NR; exit }' "$1"
}

cases=0
while read -r program kernel pattern k bit how; do
	[ -x "$programs/$program" ] || { echo "not built: $program"; continue; }
	trace=$work/$program.trace
	if [ ! -e "$trace" ]; then
		expect 0 "$cutrace" record -q --check=contents -o "$trace" --device interp -- "$programs/$program"
		expect 0 "$cutrace" dump --modules "$work/$program" "$trace"
	fi
	line=
	for ptx in "$work/$program"/*.ptx; do
		found=$(line_of "$ptx" "$kernel" "$pattern" "$k")
		line=${found:-$line} # of what was linked, if that is so: the last one
	done
	[ -n "$line" ] || { fail "$program: no line of $kernel is like $pattern"; continue; }
	expect 1 "$cutrace" replay --isolated --envelope 0 --device interp --inject "$kernel:$line:$bit" -o "$work/result.db" "$trace"
	says out '^  first wrong: PTX line '"$line: .* block \([0-9]*,[0-9]*,[0-9]*\) thread "
	[ "$(query 'wrong_line')" = "$line" ] || fail "$program: line $line of $kernel is wrong, the report says $(query "wrong_line || ': ' || wrong_ptx")"
	[ "$(query 'wrong_how')" = "$how" ] || fail "$program: line $line is known by $(query wrong_how), not by $how"
	[ -z "$(query "CASE WHEN note LIKE '%could not%' OR note LIKE '%another result%' THEN note END")" ] ||
		fail "$program: $(query note)"
	cases=$((cases + 1))
done <<-END
	driver_matmul matmul fma.rn.f32 1 20 instruction
	driver_matmul matmul ld.shared.f32 1 22 instruction
	driver_matmul matmul st.shared.f32 1 22 instruction
	driver_matmul matmul setp 2 0 instruction
	driver_nbody nbody_accelerate sqrt 1 12 instruction
	driver_fft fft sub.rn?.?f32 1 21 instruction
	driver_radix_sort radix_scatter popc 1 0 instruction
	driver_reduction reduce_tree shr.u32 1 1 instruction
	driver_sha256_search sha256_digest xor.b32 3 7 instruction
	driver_sha256_search sha256_digest and.b32 2 21 instruction
	driver_bitonic_sort bitonic_step setp 1 0 instruction
	driver_linked_pieces apply_rules add 1 1 instruction
	driver_spmv spmv_warps shfl.sync 1 20 instruction
	runtime_attention_mma attention_f16 mma.sync 5 22 instruction
END
[ "$cases" -ge 10 ] || fail "only $cases faults were tried"

# Operands and results are those of the instruction.
expect 1 "$cutrace" replay --isolated --device interp --inject "matmul:$(line_of "$work"/driver_matmul/*.ptx matmul fma.rn.f32 1):20" \
	-o "$work/result.db" "$work/driver_matmul.trace"
IFS='|' read -r a b c want got <<-END
	$(query "replace(wrong_operands, ', ', '|') || '|' || wrong_want || '|' || wrong_got")
END
awk -v a="$a" -v b="$b" -v c="$c" -v want="$want" -v got="$got" \
	'BEGIN { d = a * b + c - want; exit !(d < 1e-6 && d > -1e-6 && want != got) }' ||
	fail "$a * $b + $c is not $want, or is $got"
expect 1 "$cutrace" replay --isolated --json --device interp --inject "matmul:$(line_of "$work"/driver_matmul/*.ptx matmul fma.rn.f32 1):20" "$work/driver_matmul.trace"
says out '"wrong_line": [0-9]+, "wrong_ptx": "fma.rn.f32'
expect 1 "$cutrace" replay --isolated --no-narrow --device interp --inject "matmul:$(line_of "$work"/driver_matmul/*.ptx matmul fma.rn.f32 1):20" "$work/driver_matmul.trace"
! grep -q 'first wrong' "$work/out" || fail '--no-narrow looks for the line'
expect 2 "$cutrace" replay --narrow x "$work/driver_matmul.trace"
says err "'x' is not a number of launches"
finish
