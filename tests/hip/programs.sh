#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: programs.sh VERSION PROGRAM BUILD
#
# A program of tests/programs on device hip over the stand-in for that major version of HIP: it runs and finds its own
# results right; it is recorded there, and replays there without a difference; its recording on the interpreter does, too.
# VERSION may end in "-refuses": that HIP then gives no address that is asked for, and pointers have to be translated.
set -eu

version=$1 program=$2 build=$(cd "$3" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
cutrace=$build/bin/cutrace
executable=$build/tests/programs/$program
work=$build/tests/hip/programs/$version/$program
export ROCM_PATH="$build/tests/hip/rocm${version%%-*}"
case $version in
*-refuses) export HIP_STAND_IN_REFUSE=1 ;;
esac

fail()
{
	printf '%s\n' "$program on HIP $version: $*" >&2
	exit 1
}

skip()
{
	printf '%s\n' "skipped: $*"
	exit 77
}

# expect FILE COMMAND...: exit status 0; output of both kinds goes to FILE and FILE.err.
expect()
{
	output=$work/$1 status=0
	shift
	"$@" >"$output" 2>"$output.err" || status=$?
	if [ "$status" -ne 0 ]; then
		cat "$output" "$output.err" >&2
		fail "exit status $status from: $*"
	fi
}

json()
{
	sqlite3 -batch :memory: "SELECT json_extract(CAST(readfile('$work/$1') AS TEXT), '$2')"
}

# replay NAME: of NAME.trace, everything compared and nothing different.
replay()
{
	expect "$1.json" "$cutrace" replay --json --device hip:0 "$work/$1.trace"
	[ "$(json "$1.json" '$.status')" = match ] || fail "the replay of $1 does not match"
	! grep 'has no control' "$work/$1.json.err" >&2 || fail "the replay asks for what a GPU can't do"
	launches=$(sqlite3 -readonly -batch "$work/$1.trace" 'SELECT count(*) FROM launch')
	[ "$(json "$1.json" '$.counts.launches')" = "$launches" ] || fail "not all $launches launches of $1 were replayed"
}

[ -x "$executable" ] || skip "$program is not built here (no nvcc)"
case $program in
driver_out_of_bounds) skip "hardware has no exact bounds: a store just behind a buffer is no fault" ;;
esac
mkdir -p "$work"
rm -f "$work"/*.trace

expect run "$cutrace" run --device hip:0 -- "$executable"
[ "$(tail -n 1 "$work/run")" = ok ] || fail "the last line is not 'ok'"
golden=$here/../golden/$program.out
[ ! -e "$golden" ] || diff -u "$work/run" "$golden" >&2 || fail "the output differs"

expect record "$cutrace" record -o "$work/hip.trace" --device hip:0 -- "$executable"
device=$(sqlite3 -readonly -batch "$work/hip.trace" 'SELECT DISTINCT name FROM device')
case $device in
"stand-in for gfx"*) ;;
*) fail "the trace's device is '$device'" ;;
esac
replay hip
expect record "$cutrace" record -o "$work/interp.trace" --device interp -- "$executable"
replay interp
