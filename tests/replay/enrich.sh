#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A trace that is enriched has what its launches wrote, as if it had been recorded with --check=contents. The
# replayer asks for its driver by path: the very one of the recording.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work enrich

written="SELECT p.width, hex(b.hash) FROM payload p, buffer b WHERE b.id = p.buffer AND p.kind = 'written' ORDER BY p.call, p.device_address"
for program in driver_nbody driver_bitonic_sort driver_textures driver_spmv; do
	expect 0 "$cutrace" record -q -o "$work/$program.plain" --device interp -- "$programs/$program"
	expect 0 "$cutrace" record -q --check=contents -o "$work/$program.check" --device interp -- "$programs/$program"
	expect 0 "$cutrace" enrich -o "$work/$program.enriched" "$work/$program.plain"
	sqlite3 "$work/$program.check" "$written" >"$work/a"
	sqlite3 "$work/$program.enriched" "$written" >"$work/b"
	[ -s "$work/a" ] || fail "$program: nothing to compare"
	cmp "$work/a" "$work/b" || fail "$program: enriched and checked traces have other contents"
	expect 0 "$cutrace" replay -j 2 "$work/$program.enriched"
	says out 'checked after launches, 0 differ'
done

trace=$work/driver_nbody.plain
expect 125 "$cutrace" enrich -o "$work/driver_nbody.check" "$trace"
says err 'this exists'
expect 125 "$cutrace" enrich -o "$work/new" "$work/none"
says err 'No such file'
expect 2 "$cutrace" enrich "$trace"
says err 'name the new trace'
expect 2 "$cutrace" enrich -o "$work/new" --check nothing "$trace"
cp "$trace" "$work/damaged"
sqlite3 "$work/damaged" 'DROP TABLE payload'
expect 125 "$cutrace" enrich -o "$work/new" "$work/damaged"
[ ! -e "$work/new" ] || fail 'a trace that could not be enriched is left'

# Ended in the middle: nothing of it is left, neither here nor among temporary files.
mkdir "$work/tmp"
TMPDIR=$work/tmp "$cutrace" enrich "$trace" -o "$work/ended.trace" >"$work/out" 2>"$work/err" &
pid=$!
until [ -n "$(ls "$work/tmp")" ] || ! kill -0 $pid 2>/dev/null; do :; done
kill -TERM $pid 2>/dev/null || :
status=0
wait $pid || status=$?
[ $status -eq 143 ] || [ $status -eq 0 ] || fail "enrich ended by SIGTERM exits with $status"
[ $status -eq 0 ] || [ -z "$(find "$work" -name 'ended.trace*')" ] || fail "enrich left a part of a trace"
[ -z "$(ls "$work/tmp")" ] || fail "enrich left temporary files: $(ls "$work/tmp")"
finish
