#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# enrich --self-replays: what a driver makes of the same launch another time goes into the trace, each content once. The
# driver is the interpreter with an order of blocks and warps that nobody chose; sums by floating-point atomics show it.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work self_replays

chance=interp:order=seed:chance
query()
{
	sqlite3 "$work/enriched" "$1"
}
expect 0 "$cutrace" record -q -o "$work/plain" --device interp:deterministic=1 -- "$build/tests/e2e/reach" sum
status=0
"$cutrace" enrich --self-replays 4 --device $chance -o "$work/enriched" "$work/plain" >"$work/out" 2>"$work/err" || status=$?
[ $status -le 1 ] || fail "enrich: status $status: $(cat "$work/err")"
[ "$(query "SELECT value FROM meta WHERE key = 'self_replays'")" = 4 ] || fail 'the trace does not say how many there were'
[ "$(query "SELECT count(*) FROM payload WHERE kind = 'rerun'")" -gt 0 ] || fail 'nothing came out otherwise'
# Each belongs to something that was recorded, is another content, and was counted as often as it came.
[ "$(query "SELECT count(*) FROM payload r WHERE kind = 'rerun' AND NOT EXISTS (SELECT 1 FROM payload w WHERE w.kind = 'written' AND
	w.call = r.call AND w.device_address = r.device_address AND w.width = r.width AND w.buffer <> r.buffer)")" = 0 ] ||
	fail 'a result belongs to no range, or is the recorded one'
[ "$(query "SELECT count(*) - count(DISTINCT call || ' ' || device_address || ' ' || buffer) FROM payload WHERE kind = 'rerun'")" = 0 ] ||
	fail 'a result is there twice'
[ "$(query "SELECT max(n) <= 4 FROM (SELECT sum(substr(note, 4, 1)) AS n FROM payload WHERE kind = 'rerun' GROUP BY call, device_address)")" = 1 ] ||
	fail 'there are more results than runs'
expect 0 "$cutrace" info --check "$work/enriched"
# They are legal results, beside the interpreter's. (In some order the result may be the recorded one: then in another.)
for seed in 99 98 97 96 95 94 93 92; do
	rm -f "$work/judged"
	"$cutrace" replay --isolated --device interp:order=seed:$seed -o "$work/judged" "$work/enriched" >"$work/out" 2>&1 || :
	judged=$(sqlite3 "$work/judged" "SELECT count(*) FROM verdict WHERE note LIKE '%self-replays)%'")
	[ "$judged" -eq 0 ] || break
done
[ "$judged" -gt 0 ] || fail 'no launch was judged so'
for row in $(query "SELECT call || ':' || count(*) FROM payload WHERE kind = 'rerun' GROUP BY call"); do
	call=${row%:*} reruns=${row#*:}
	[ "$(sqlite3 "$work/judged" "SELECT grade IN ('equal', 'unverified') OR
		note LIKE '%of $((8 + reruns)) legal results ($reruns of them self-replays)%' FROM verdict WHERE call = $call")" = 1 ] ||
		fail "call $call: the self-replays are no legal results: $(sqlite3 "$work/judged" 'SELECT grade, note FROM verdict')"
done

# A driver without chance: none is otherwise.
expect 0 "$cutrace" enrich --self-replays 2 -o "$work/same" "$work/plain"
[ "$(sqlite3 "$work/same" "SELECT count(*) || ' ' || (SELECT value FROM meta WHERE key = 'self_replays') FROM payload WHERE kind = 'rerun'")" = '0 2' ] ||
	fail 'the same driver gave something else'

for wrong in 0 65 x; do
	expect 2 "$cutrace" enrich --self-replays $wrong -o "$work/none" "$work/plain"
	says err "self-replays $wrong: expected a number from 1 to 64"
done
finish
