#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Sessions of cutrace debug on our programs. What they must show follows from what the programs compute.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work debug_sessions

record()
{
	expect 0 "$cutrace" record -q --check=contents -o "$work/$1.trace" --device interp -- "$programs/driver_$1"
}

launch_of()
{
	sqlite3 "$work/$1.trace" "SELECT min(l.call) FROM launch l JOIN kernel k ON k.id = l.kernel WHERE k.name LIKE '%$2%'"
}

# session STATUS PROGRAM KERNEL < commands
session()
{
	cat >"$work/script"
	expect "$1" timeout 60 "$cutrace" debug "$work/$2.trace" --launch "$(launch_of "$2" "$3")" -x "$work/script" --batch
}

# What was printed as "EXPR = VALUE".
value()
{
	grep -F -- "$1 = " "$work/out" | tail -n 1 | sed 's/.* = //'
}

same()
{
	[ "$1" = "$2" ] || fail "$3: '$1' instead of '$2'"
}

# ---- saxpy: y = a x + y, of single precision, a = 2.5 --------------------------------------------------------
record saxpy
session 0 saxpy saxpy <<'END'
break 63 if tid.x == 37 && ctaid.x == 1
info breakpoints
continue
print tid.x + ctaid.x * ntid.x
print/x %rd1 - param_3
print param_0
print param_1
print %f1 == 2.5
print (f64)%f2 * 2.5 + (f64)%f3 - (f64)%f4
print {f32}%rd1 == %f3
where
stepi
print {f32}%rd1 == %f4
reverse-stepi
print {f32}%rd1 == %f4
END
same "$(value 'tid.x + ctaid.x * ntid.x')" 293 'the index of the thread'
same "$(value '%rd1 - param_3')" 0x494 'the offset of element 293'
same "$(value 'param_0')" 1000 'n'
same "$(value 'param_1')" 2.5 'a'
same "$(value '%f1 == 2.5')" 1 'the register of a'
awk -v e="$(value '(f64)%f2 * 2.5 + (f64)%f3 - (f64)%f4')" 'BEGIN { exit !(e < 1e-6 && e > -1e-6) }' || fail 'not a x + y'
same "$(grep -F '{f32}%rd1 == %f4 = ' "$work/out" | sed 's/.*= //' | tr -d '\n')" 10 'the store, and the store undone'
says out 'block \(1,0,0\), thread \(37,0,0\), warp 1, lane 5'
says out '^1 +breakpoint +on +module1.ptx:63 \(saxpy.cu:9\)'
says out 'only if tid.x == 37 && ctaid.x == 1'

# Threads from 1000 on do nothing: of the last warp 8 lanes are active.
session 0 saxpy saxpy <<'END'
break 63 if ctaid.x == 3 && tid.x >= 224
continue
where
lanes tid.x
info warps
END
says out 'active lanes 0x000000ff'
says out '^lane  8: .*\(232\) .*\(239\)'
says out 'warp 7 +lanes 0xffffff00 +waits where lanes meet'

# At its end memory holds what the program got and found right.
session 0 saxpy saxpy <<'END'
continue
x/1000uw param_3
info blocks
END
says out '^The launch has ended'
says out '4 of 4 blocks have begun, 4 have ended'
words()
{
	sed "s/$1//" "$2" | tr -s ' ' '\n' | grep .
}
grep '^0x55' "$work/out" >"$work/x"
buffer=$(sqlite3 "$work/saxpy.trace" "SELECT buffer FROM payload WHERE kind = 'd2h'")
"$cutrace" dump "$work/saxpy.trace" --buffer "$buffer" --type u32 >"$work/read"
words '^[^:]*:' "$work/x" >"$work/got"
words '^ *[0-9]*' "$work/read" >"$work/want"
same "$(wc -l <"$work/want")" 1000 'words that the program read'
cmp -s "$work/want" "$work/got" || fail 'memory at the end is not what the program read'

# ---- calls: out[i] = mix(rule(i & 3, in[i])), mix(v) = 3 v + 1000, the rules are 2 v, v * v, v ^ 7, v -------------
record linked_pieces
for thread in 4 5 6 7; do
	session 0 linked_pieces apply_rules <<END
print ((u32 *)param_0)[$thread]
tbreak rule_apply if tid.x == $thread && ctaid.x == 0
continue
print param_0
print param_1
backtrace
up
finish
stepi
print %r8
tbreak mix if tid.x == $thread && ctaid.x == 0
continue
print param_0
finish
stepi
print %r10
END
	in=$(value "((u32 *)param_0)[$thread]")
	case $((thread % 4)) in
	0) ruled=$(((in + in) & 0xffffffff)) ;;
	1) ruled=$(((in * in) & 0xffffffff)) ;;
	2) ruled=$((in ^ 7)) ;;
	3) ruled=$in ;;
	esac
	says out '#0 +_Z10rule_applyjj at '
	says out '#1 +apply_rules at '
	same "$(($(value '%r8')))" "$ruled" "the rule of thread $thread"
	same "$(($(value '%r10') & 0xffffffff))" "$(((3 * ruled + 1000) & 0xffffffff))" "the result of thread $thread"
done

# Steps to 1 of Collatz's sequence, a loop here: the last value is their number, and so often its body was executed.
session 0 linked_pieces collatz <<'END'
print ((u32 *)param_0)[11]
break 448 if tid.x == 11 && ctaid.x == 0
ignore 1 1000
break 455 if tid.x == 11 && ctaid.x == 0
continue
print %r14
backtrace
info breakpoints
delete
reverse-finish
backtrace
nexti
reverse-nexti
stepi
backtrace
END
v=$(($(value '((u32 *)param_0)[11]') % 97 + 1)) steps=0
while [ "$v" -ne 1 ]; do
	if [ $((v % 2)) -eq 1 ]; then v=$((3 * v + 1)); else v=$((v / 2)); fi
	steps=$((steps + 1))
done
same "$(value %r14)" "$steps" 'the length of the sequence'
says out "reached $steps times"
says out "passes $((1000 - steps)) more"
says out '^206 +call'
says out '^211 +ld.param'
same "$(grep -c '#0  collatz' "$work/out") $(grep -c '#1  collatz' "$work/out")" '1 2' 'where the calls were'

# ---- shared memory: each warp's sum of its numbers -----------------------------------------------------------------
record reduction
session 0 reduction reduce_sum <<'END'
break 115
continue
print ctaid.x
x/16384uw param_1
x/8uw &warp_sum
continue
continue
continue
continue
continue
continue
continue
info warps
stepi
x/8uw &warp_sum
END
# Block 0 of 8, of 256 threads each: thread t adds elements t, t + 2048, ...
awk '/^0x55/ { sub(/^[^:]*:/, ""); for (i = 1; i <= NF; i++) x[n++] = $i }
	END { for (w = 0; w < 8; w++) { s = 0
		for (k = 0; k < n; k += 2048) for (l = 0; l < 32; l++) s = (s + x[k + 32 * w + l]) % 4294967296
		printf "%.0f\n", s } }' "$work/out" >"$work/want"
grep '^shared:' "$work/out" | tail -n 2 | sed 's/^[^:]*:[^:]*://' | tr -s ' ' '\n' | grep . >"$work/got" || :
cmp -s "$work/want" "$work/got" || fail "the warps' sums: $(tr '\n' ' ' <"$work/got"), not $(tr '\n' ' ' <"$work/want")"
says out 'warp 0 .*waits at barrier 0'

# ---- a lock: the counter goes up by one, one thread after the other ----------------------------------------------------
record spinlock_warp
{
	echo 'watch {u32}param_1'
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do echo continue; done
	for _ in 1 2 3 4; do echo reverse-continue; done
	echo 'print {u32}param_1'
	echo delete
	echo 'rwatch {u32}param_1'
	echo continue
	echo list
} | session 0 spinlock_warp spinlock_count
same "$(grep '^New value' "$work/out" | sed 's/New value = \([0-9]*\),.*/\1/' | tr '\n' ' ')" \
	'1 2 3 4 5 6 7 8 9 10 11 12 11 10 9 8 ' 'values of the counter'
same "$(grep '^Old value' "$work/out" | sed 's/Old value = //' | tr '\n' ' ')" \
	'0 1 2 3 4 5 6 7 8 9 10 11 10 9 8 7 ' 'values before'
same "$(value '{u32}param_1')" 8 'the counter where it went back to'
says out 'Value = 8, about to be read'

# ---- a matrix product: a tile is what the matrices have there -------------------------------------------------------------
record matmul
session 0 matmul matmul <<'END'
break 106 if tid.x == 0 && tid.y == 0 && ctaid.x == 1 && ctaid.y == 2
continue
x/16fw &ta + 16 * 4 * 3
x/16fw param_1 + 4 * (64 * (2 * 16 + 3))
x/16fw &tb + 16 * 4 * 5
x/16fw param_2 + 4 * (64 * 5 + 16)
END
grep -E '^(shared:)?0x' "$work/out" | sed 's/^[^ ]*\( <[^>]*>\)*: *//' >"$work/rows"
same "$(sed -n 1,4p "$work/rows")" "$(sed -n 5,8p "$work/rows")" 'row 3 of the tile of a'
same "$(sed -n 9,12p "$work/rows")" "$(sed -n 13,16p "$work/rows")" 'row 5 of the tile of b'

# ---- a fault ------------------------------------------------------------------------------------------------------------------
expect 0 "$cutrace" record -q --check=contents -o "$work/out_of_bounds.trace" --device interp -- "$programs/driver_out_of_bounds"
last=$(sqlite3 "$work/out_of_bounds.trace" 'SELECT max(call) FROM launch')
printf 'continue\nprint %%r1 == tid.x * tid.x\nreverse-stepi\nreverse-stepi\ncontinue\nstepi\n' >"$work/script"
expect 1 "$cutrace" debug "$work/out_of_bounds.trace" --launch "$last" -x "$work/script" --batch
says out 'The kernel faults: illegal store of 4 bytes at global address 0x550040000000'
says out 'tid.x \* tid.x = 1'
says err 'the kernel has faulted: there is nothing to execute'

# ---- output of kernels is shown once, however often time passes it ---------------------------------------------------------------
record device_printf
session 0 device_printf print <<'END'
continue
goto begin
continue
reverse-stepi 10
goto end
END
same "$(grep -c '^element 1: ' "$work/out")" 1 'lines that the kernel prints'
finish
