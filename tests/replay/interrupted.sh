#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A long isolated replay that is interrupted, and gone on with: the same result as of one that came to its end, and nothing
# made twice. Nothing is left behind, whatever ends it.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work interrupted
program=$build/tests/replay/many_launches
trace=$work/long.trace
TMPDIR=$work/tmp
export TMPDIR
mkdir "$TMPDIR"

verdicts()
{
	sqlite3 "$1" "SELECT process, call, kind, grade, kernel_name, base, bytes, elements, differing, want, got, note FROM verdict ORDER BY 1, 2, 3, 6"
	sqlite3 "$1" "SELECT what, n FROM count WHERE what IN ('launches', 'written', 'launches_injected') ORDER BY 1"
}

same_as_whole()
{
	verdicts "$1" >"$work/it"
	cmp -s "$work/whole" "$work/it" || {
		fail "$2: another result than that of the whole"
		diff "$work/whole" "$work/it" | head -20 | sed 's/^/  | /' >&2
	}
}

# interrupt SIGNAL OPTIONS...: ends a replay into $work/out.db when some launches are judged. Its status is in $ended.
interrupt()
{
	number=$1
	shift
	rm -f "$work"/out.db*
	"$cutrace" replay "$@" -o "$work/out.db" "$trace" >"$work/out" 2>"$work/err" &
	pid=$!
	while kill -0 $pid 2>/dev/null; do
		judged=0
		for db in "$work"/out.db.?????? "$work"/out.db.??????.[1-9]; do
			[ -s "$db" ] && judged=$(sqlite3 "$db" 'SELECT count(*) FROM done' 2>/dev/null || echo 0)
			[ "$judged" = 0 ] || break
		done
		[ "$judged" = 0 ] || break
		sleep 0.02
	done
	kill "-$number" $pid || true
	ended=0
	wait $pid || ended=$?
}

expect 0 "$cutrace" record -q --check=contents -o "$trace" --device interp -- "$program" 2500
for how in '' '--narrow 2 --inject mix:25:3'; do
	status=0
	[ -z "$how" ] || status=1
	# shellcheck disable=SC2086 # words
	expect $status "$cutrace" replay --isolated $how -o "$work/whole.db" "$trace"
	verdicts "$work/whole.db" >"$work/whole"
	for jobs in '1 2' '2 1'; do
		# shellcheck disable=SC2086
		interrupt TERM $how -j "${jobs% *}"
		[ $ended = 143 ] || fail "-j $jobs: exit status $ended instead of 143"
		says err 'interrupted \(Terminated\) after [0-9]+ of 2500 launches'
		says err "go on by the same command with --resume $work/out.db.partial"
		[ ! -e "$work/out.db" ] || fail 'a part of the results is left as if it were the whole'
		before=$(sqlite3 "$work/out.db.partial" "SELECT count(*) FROM verdict WHERE kind = 'written'")
		[ "$before" -gt 0 ] && [ "$before" -lt 2500 ] || fail "$before of 2500 are in the partial result"
		# shellcheck disable=SC2086
		expect $status "$cutrace" replay $how -j "${jobs#* }" --resume "$work/out.db.partial" "$trace"
		same_as_whole "$work/out.db" "$how -j $jobs"
		taken=$(sqlite3 "$work/out.db" "SELECT value FROM meta WHERE key = 'resumed'")
		[ "$taken" = "$before" ] || fail "$taken launches were taken over, $before had been judged"
		says out "$before launches were judged before it was interrupted"
		[ ! -e "$work/out.db.partial" ] || fail 'the partial result is still there'
	done
done

# Another replay, no partial one, none at all.
interrupt HUP -j 2
[ $ended = 129 ] || fail "exit status $ended instead of 129"
expect 125 "$cutrace" replay --resume "$work/out.db.partial" --envelope 3 "$trace"
says err "another replay: its --envelope is '8', not '3'"
expect 125 "$cutrace" replay --resume "$work/whole.db" -o "$work/other.db" "$trace"
says err 'came to its end'
expect 125 "$cutrace" replay --resume "$work/none.partial" "$trace"
says err 'no such result'
expect 125 "$cutrace" replay --resume "$trace" -o "$work/other.db" "$trace"
says err 'no result of a replay'
expect 2 "$cutrace" replay --resume "$work/whole.db" "$trace"
says err 'name the whole result with -o'

# Nothing is kept where nobody said where; a stream begins from the start.
"$cutrace" replay -j 2 "$trace" >"$work/out" 2>"$work/err" &
pid=$!
while kill -0 $pid 2>/dev/null && ! ls "$TMPDIR"/cutrace-probe-* >/dev/null 2>&1; do sleep 0.02; done
kill -HUP $pid
wait $pid && fail 'a signal does not end it'
says err 'nothing is kept of it; with -o FILE'
expect 0 "$cutrace" replay --progress "$trace"

left=$(find "$TMPDIR" -mindepth 1; find "$work" -name '*.db.??????*' ! -name '*.partial')
[ -z "$left" ] || fail "left behind: $left"
finish
