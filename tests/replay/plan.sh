#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What of a trace can be replayed, said before it is: every launch and call counts once, and what is refused has its reason.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work plan

field() { tr -d '\n' <"$work/out" | sed "s/.*\"$1\": {\([^}]*\)}.*/\1/; s/.*\"$2\": \([0-9]*\).*/\1/"; }

for program in driver_saxpy driver_fork driver_pipeline driver_out_of_bounds; do
	trace=$work/$program.trace
	"$cutrace" record -q --check=contents -o "$trace" --device interp -- "$programs/$program" >"$work/out" 2>&1 || true
	expect 0 "$cutrace" replay --plan --json "$trace"
	[ "$(field launches all)" = "$(sqlite3 "$trace" 'SELECT count(*) FROM launch')" ] || fail "$program: not each launch counts"
	[ "$(field calls all)" = "$(sqlite3 "$trace" 'SELECT count(*) FROM call')" ] || fail "$program: not each call counts"
	[ "$(field launches translatable)" = "$(field launches all)" ] || fail "$program: launches that can be translated are not all"
	expect 0 "$cutrace" replay --plan "$trace"
	says out '^[0-9]+ launch(es)?: [0-9]+ translatable, 0 semantic, 0 injected, 0 refused$'
	says out '^[0-9]+ calls: [0-9]+ issued again'
	says out '^  semantic: .* no library is yet$'
done

# A driver that is none: nothing is known of the target, the trace is told all the same.
expect 0 "$cutrace" replay --plan --json --driver "$work/none.so" "$work/driver_saxpy.trace"
says out '"target_asked": false'

expect 0 "$cutrace" replay --isolated --progress "$work/driver_pipeline.trace"
says err '^[0-9]+ launch(es)?: [0-9]+ translatable'
finish
