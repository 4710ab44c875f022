#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The command line: help of every sub-command, and wrong usage, which is always exit status 2 and a message.
set -eu
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
fresh_work usage

expect 0 "$cutrace" --help
says out '^usage: cutrace '
expect 0 "$cutrace" --version
says out '^cutrace [0-9]+\.[0-9]+\.[0-9]+$'
for command in record run info dump diff replay enrich trim extract bisect reduce report merge-results debug ptx; do
	expect 0 "$cutrace" "$command" --help
	says out "usage: cutrace $command"
	expect 2 "$cutrace" "$command" --no-such-option
	says err 'no-such-option'
	expect 2 "$cutrace" "$command"
	says err .
done
expect 2 "$cutrace" record
says err 'no program to run'
expect 2 "$cutrace" record -o '' -- "$programs/driver_saxpy"
says err 'needs a file name'
expect 2 "$cutrace"
expect 2 "$cutrace" replya
says err "did you mean 'replay'"
expect 2 "$cutrace" xyzzy
says err "unknown command 'xyzzy'"

# No option is ignored, and a message says which value is wrong and what is right. Columns: option(s); what is said.
fresh=$work/usage.trace
expect 0 "$cutrace" record -q -o "$fresh" --device interp -- "$programs/driver_saxpy"
while IFS='|' read -r arguments message; do
	# shellcheck disable=SC2086 # words
	expect 2 "$cutrace" $arguments "$fresh"
	says err "$message"
done <<END
dump --calls 5-2|--calls: error: '5-2' ends before it begins
dump --calls 99999999999999999999|--calls: .*is no number
dump --time 5-1|--time: error: '5-1' ends before it begins
dump --thread 9|--thread: error: .* has no thread 9
dump --process 7|--process: error: .* has no process 7
dump --type f32|--type, --offset and --count go with
dump --count 3|--type, --offset and --count go with
dump --buffer 1 --launches|show no calls
dump --modules $work --func cuMem*|show no calls
dump --buffer 1 --payload 4|exclude each other
replay --ulp x|--ulp: error: 'x' is not a whole number
replay --ulp -1|--ulp: error: '-1' is not
replay --rtol nan|--rtol: error: 'nan' is not a number
replay --atol -1|--atol: error: '-1' is not a number
replay --stop-at 0|--stop-at: error: '0' is not a call
replay --inject saxpy|--inject: error: 'saxpy' is not KERNEL
compile -j 0|-j: '0' is not a number from 1 to 256
compile --cc 99|--cc: '99' is not a compute capability
compile --arch ,|--arch names no target
END
expect 0 "$cutrace" dump --payload 1 "$fresh"
says err 'call 1 has no buffers'

# An injected fault needs a bit that is there.
expect 0 "$cutrace" dump --modules "$work/modules" "$fresh"
ptx=$(find "$work/modules" -name '*.ptx' | head -n 1)
line=$(awk '/^[ \t]*fma\.rn\.f32/ { print NR; exit }' "$ptx")
expect 1 "$cutrace" replay --inject "saxpy:$line:31" "$fresh"
expect 125 "$cutrace" replay --device amdemu --inject "saxpy:$line:31" "$fresh"
says err "can't damage a result|cutrace-compile"
while IFS='|' read -r place message; do
	expect 125 "$cutrace" replay --inject "saxpy:$place" "$fresh"
	says err "$message"
done <<END
$line:32|the result of PTX line $line \(fma\.rn\.f32\) has 32 bits: there is no bit 32
$(awk '/^[ \t]*setp\./ { print NR; exit }' "$ptx"):1|\(setp\..*\) has 1 bit: there is no bit 1
$(awk '/^[ \t]*st\.global\.f32/ { print NR; exit }' "$ptx"):32|\(st\.global\.f32\) has 32 bits
$(awk '/^[ \t]*ret;/ { print NR; exit }' "$ptx"):0|has no result: ret;
100000:0|the PTX ends before line 100000
END

# The sum that an atomic addition returns is read by nobody in reduction.cu: damaged, it can't show.
expect 0 "$cutrace" record -q --device interp -o "$work/reduction" -- "$programs/driver_reduction"
expect 0 "$cutrace" dump --modules "$work/reduction.modules" "$work/reduction"
ptx=$(find "$work/reduction.modules" -name '*.ptx' | head -n 1)
line=$(awk '/^[ \t]*atom\.global\.add\.u32/ { print NR; exit }' "$ptx")
expect 0 "$cutrace" replay --inject "reduce_sum:$line:3" "$work/reduction"
says out "reduce_sum:$line:3 changed no compared result: no instruction reads its result"

# JSON is UTF-8, whatever bytes a path is made of. sqlite3 has a JSON parser; iconv knows UTF-8.
odd=$work/$(printf 'tr\377ace')
cp "$fresh" "$odd"
for command in info replay; do
	expect 0 "$cutrace" "$command" --json "$odd"
	iconv -f UTF-8 -t UTF-8 "$work/out" >/dev/null || fail "$command --json is no UTF-8"
	[ "$(sqlite3 :memory: "SELECT json_valid(CAST(readfile('$work/out') AS TEXT))")" = 1 ] || fail "$command --json is no JSON"
done

# On a terminal the line of progress is gone before the report begins.
# (A container without /dev/pts has no terminals to offer.)
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
	script -qec "'$cutrace' replay '$fresh'" /dev/null </dev/null >"$work/terminal"
	tr '\033\r' 'E>' <"$work/terminal" >"$work/out"
	says out '>E\[Kmatch: '
fi
finish
