#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Recordings that steer a program: machine code is hidden from the driver, devices say another compute capability, copies
# are recorded without their bytes.
set -eu
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
fresh_work steered

trace=$work/trace
query()
{
	sqlite3 "$trace" "$1"
}
fresh()
{
	rm -f "$work"/trace*
}

if [ -x "$programs/runtime_vector_add" ]; then
	expect 0 "$cutrace" record -q -o "$trace" --device interp -- "$programs/runtime_vector_add"
	[ "$(query 'SELECT archs FROM image')" = 'ptx:80 elf:80' ] || fail 'the program has no machine code to hide'
	fresh
	expect 0 "$cutrace" record -q --reference ptx -o "$trace" --device interp -- "$programs/runtime_vector_add"
	[ "$(query 'SELECT archs FROM image')" = 'ptx:80' ] || fail 'the driver was given machine code'
	[ "$(query "SELECT value FROM meta WHERE key = 'options'")" = '--reference ptx' ] || fail 'the option is not in the trace'
	expect 0 "$cutrace" replay "$trace"
	fresh
	# Out of files, and through the linker.
	expect 0 "$cutrace" record -q -o "$trace" --device interp -- "$programs/runtime_vector_add"
	expect 0 "$cutrace" dump --modules "$work/modules" "$trace"
	fatbin=$(find "$work/modules" -name '*.fatbin' | head -n 1)
	[ -s "$fatbin" ] || fail 'there is no fatbin'
	fresh
	for how in load library link link-data; do
		for reference in '' '--reference ptx'; do
			# shellcheck disable=SC2086 # none or two words
			expect 0 "$cutrace" record -q $reference -o "$trace" --device interp -- "$build/tests/e2e/reach" $how "$fatbin"
			archs=$(query "SELECT archs FROM image WHERE kind = 'fatbin'")
			want='ptx:80 elf:80'
			[ -z "$reference" ] || want='ptx:80'
			[ "$archs" = "$want" ] || fail "$how ${reference:-as it is}: the driver was given $archs"
			expect 0 "$cutrace" replay "$trace"
			fresh
		done
	done
	expect 1 "$cutrace" record -q --reference ptx -o "$trace" --device interp -- "$programs/runtime_vector_add_machine_code"
	[ "$(query 'SELECT archs FROM image')" = 'elf:80' ] || fail 'machine code without PTX was not left as it is'
	query 'SELECT message FROM diagnostic' | grep -q 'no PTX that the device takes' || fail 'that it was left is not said'
	fresh
	# The runtime's properties come from attributes.
	expect 0 "$cutrace" record -q --as sm_72 -o "$trace" --device interp -- "$programs/runtime_vector_add"
	answers=$(query "SELECT group_concat(a1 || '=' || o0, ' ') FROM (SELECT DISTINCT a1, o0 FROM call c JOIN function f
		ON f.id = c.func WHERE f.name = 'cuDeviceGetAttribute' AND a1 IN (75, 76) ORDER BY a1)")
	[ "$answers" = '75=7 76=2' ] || fail "the program was told '$answers'"
	[ "$(query 'SELECT cc FROM device')" = 90 ] || fail 'the device is not as it is'
	expect 0 "$cutrace" replay "$trace"
	fresh
else
	echo 'no nvcc: programs of the runtime are not built, and not steered' >&2
fi

# Without bytes there is nothing to replay, which it says.
expect 0 "$cutrace" record -q --payloads=none -o "$trace" --device interp -- "$programs/driver_saxpy"
[ "$(query "SELECT count(*) FROM payload WHERE kind IN ('h2d', 'd2h')")" = 0 ] || fail 'bytes of copies are in the trace'
[ "$(query 'SELECT count(*) > 0 FROM launch')" = 1 ] || fail 'launches are not'
status=0
"$cutrace" replay "$trace" >"$work/out" 2>"$work/err" || status=$?
[ $status -ne 0 ] || fail 'a replay without the program'\''s data ends as if it had compared something'

expect 2 "$cutrace" record --payloads=some -o "$work/none" -- "$programs/driver_saxpy"
says err "'some' is neither all nor none"
expect 2 "$cutrace" record --reference sass -o "$work/none" -- "$programs/driver_saxpy"
says err "'sass' is not ptx"
expect 2 "$cutrace" record --as 80 -o "$work/none" -- "$programs/driver_saxpy"
says err "'80' is not of the form sm_80"
finish
