#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Whatever a script says, the debugger ends by itself and says what is wrong with it; and so for launches that are none.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work debug_hostile
trace=$work/reduction.trace
expect 0 "$cutrace" record -q -o "$trace" --device interp -- "$programs/driver_reduction"
launch=$(sqlite3 "$trace" 'SELECT min(call) FROM launch')

# refused COMMAND REGEX: the command fails, and says this.
refused()
{
	printf '%s\necho not reached\n' "$1" >"$work/script"
	expect 1 timeout 60 "$cutrace" debug "$trace" --launch "$launch" -x "$work/script" --batch
	says err "$2"
	if grep -q 'not reached' "$work/out"; then fail "the script went on after: $1"; fi
}
refused 'frobnicate' "there is no command 'frobnicate'"
refused 're' "'re' may be reverse-continue, "
refused 'break 1' 'the nearest line with one is 27'
refused 'break 112' 'the nearest lines with one are 111 and 115'
refused 'break reduction.cu:1' 'the nearest line with one is 6'
refused 'break nowhere.cu:3' 'no instruction of this kernel has a source line in nowhere.cu'
refused 'break nosuch' 'there is no function nosuch'
refused 'break reduce_tree' 'reduce_tree is not a part of this kernel'
refused 'break 115 if %r999 == 0' 'reduce_sum has no register %r999'
refused 'break 115 if' "there is no function 115 if|if what"
refused 'break 99999999999999999999' 'there is no function'
refused 'condition 7 1' 'there is no breakpoint 7'
refused 'print' 'print what'
refused 'print 1 +' 'something is missing'
refused 'print (1' "expected '\)'"
refused 'print 1 / 0' 'division by zero'
refused 'print 5 % 0' 'division by zero'
refused 'print *%rd1' 'the type of what lies there is not known'
refused 'print {u32}0' 'no global memory of 4 bytes at 0x0'
refused 'print {u64}0xfffffffffffffff8' 'no global memory'
refused 'print shared:4 + {u32}shared:0xffffffffff' 'no shared memory'
refused 'print {nothing}0' 'expected a type'
refused 'print 0x' 'no number'
refused 'print 99999999999999999999' 'too large'
refused 'print clock' 'not known here|has no register'
refused 'x/0x 0' 'is no format'
refused 'x/99999999999x 0' 'is no format'
refused 'x/8q 0' 'is no format'
refused 'x/20000xb &warp_sum' 'no shared memory'
refused 'watch 1' 'is no place in memory'
refused 'watch %r999' 'has no register %r999'
refused 'rwatch %r16' 'of a register only changes can be watched'
refused 'thread (256,0,0)' 'is no thread of this block: there are \(256,1,1\)'
refused 'block (1,0,0)' 'this block has not begun'
refused 'block (8,0,0)' 'is no block of this grid'
refused 'warp 8' 'a block has 8 warps'
refused 'lane 32' 'lanes are 0 to 31'
refused 'frame 1' 'there is no call 1'
refused 'stepi 0' 'is no number from 1'
refused 'stepi -1' 'is no number from 1'
refused 'stepi 99999999999' 'is no number from 1'
refused 'reverse-stepi' 'nothing is before this'
refused 'reverse-continue' 'nothing is before this'
refused 'finish' 'this is the kernel itself'
refused 'goto x' 'goto where'
refused 'goto -1' 'goto where'
refused 'until' 'until where'
refused 'list 100000' 'the PTX has [0-9]+ lines'
refused 'info nothing' 'there is no .info nothing'
refused 'set %r1 = 3' 'nothing can be changed'
refused "source $work/absent" 'can.t be opened'
refused 'source /' "can't be (read|opened)"
refused "source $work/script" 'too many scripts'
refused "print $(awk 'BEGIN { for (k = 0; k < 200; k++) printf "(" }')1" 'too many levels'
refused "print 1$(awk 'BEGIN { for (k = 0; k < 200; k++) printf "+1" }')" 'the expression is too long'
refused "print -$(awk 'BEGIN { for (k = 0; k < 300; k++) printf "-" }')1" 'too many levels'
{
	awk 'BEGIN { for (k = 0; k < 64; k++) print "break 115" }'
	echo 'break 115'
} >"$work/script"
expect 1 timeout 60 "$cutrace" debug "$trace" --launch "$launch" -x "$work/script" --batch
says err 'there are 64 breakpoints already'

# Ends of commands, wrong bytes, lines without end: an exit status of its own, no crash, no endless run.
for seed in 1 2 3 4 5 6 7 8 9 10 11 12; do
	awk -v seed="$seed" 'BEGIN {
		srand(seed)
		n = split("break tbreak watch rwatch awatch delete condition ignore print lanes x display undisplay info goto stepi stepwarp " \
			"next finish thread block warp lane frame up list echo until reverse-stepi reverse-continue help source", words)
		m = split("115 %r16 %rd1 warp_sum tid.x == && || ( ) [ ] { } {u32} (f32) * & shared: -1 0 1 4294967295 18446744073709551615 /8x /f16 " \
			"param_0 if $time 3.5e300 0f3f800000 , % ! ~ << registers all \001 \377 +/- entry begin end", parts)
		for (k = 0; k < 40; k++) {
			line = words[1 + int(rand() * n)]
			for (j = int(rand() * 6); j > 0; j--) line = line (rand() < 0.8 ? " " : "") parts[1 + int(rand() * m)]
			print line
		}
		for (k = 0; k < 3000; k++) printf "a"
	}' >"$work/random.$seed"
	status=0
	timeout 60 "$cutrace" debug "$trace" --launch "$launch" -x "$work/random.$seed" --batch >"$work/out" 2>"$work/err" || status=$?
	[ "$status" -le 1 ] || fail "exit status $status after the commands of seed $seed"
done
cat "$work"/random.* | awk 'NR % 3 == 0' | head -n 120 >"$work/lines"
while IFS= read -r line; do
	status=0
	timeout 60 "$cutrace" debug "$trace" --launch "$launch" --batch -e "stepi 20" -e "$line" -e "info time" >"$work/out" 2>"$work/err" </dev/null || status=$?
	[ "$status" -le 1 ] || fail "exit status $status after: $line"
done <"$work/lines"

# Launches.
expect 125 "$cutrace" debug "$trace" --launch 1 </dev/null
says err 'call 1 is not the launch of a kernel'
says err 'launches near it: [0-9]+ \(reduce_sum\), [0-9]+ \(reduce_tree\)'
expect 125 "$cutrace" debug "$trace" </dev/null
says err 'which of its 2 launches'
expect 2 "$cutrace" debug "$trace" --launch x
says err 'wants the number of a call'
expect 2 "$cutrace" debug "$trace" --launch 1 --device amdemu:gfx1100
says err 'debugged on the interpreter'
expect 2 "$cutrace" debug
says err 'which trace'
expect 2 "$cutrace" debug a b
expect 2 "$cutrace" debug --frobnicate "$trace"
says err 'unknown option --frobnicate'
expect 125 "$cutrace" debug "$work/script" --launch 1
expect 125 "$cutrace" debug "$work/absent" --launch 1
expect 0 "$cutrace" debug --help
says out '^usage: cutrace debug'
# Without contents of launches, those before it are made: the second one begins with what the first one left.
expect 0 timeout 60 "$cutrace" debug "$trace" --launch "$(sqlite3 "$trace" 'SELECT max(call) FROM launch')" --batch -e 'break entry' \
	-e 'goto end' -e 'info time'
says out '^The launch of reduce_tree begins'
says out '^The launch has ended'
# Where the trace has the name of a source there is a device that never ends: the PTX is listed instead.
ln -s /dev/zero "$work/reduction.cu"
(cd "$work" && exec timeout 60 "$cutrace" debug "$trace" --launch "$launch" --batch -e 'list reduction.cu:6') >"$work/out" ||
	fail 'a source that never ends is read on'
says out 'ld\.param'
finish
