#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Launches of graphs are checked as those of kernels are: what a graph's kernels and memsets may have written is in the trace,
# and a replay judges it. On our driver with graphs added (graph_driver.c).
set -eu
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
fresh_work graphs

driver=$build/tests/e2e/driver_with_graphs/libcuda.so.1
trace=$work/trace
query()
{
	sqlite3 "$trace" "$1"
}
record()
{
	rm -f "$trace"
	expect 0 "$cutrace" record -q "$@" -o "$trace" --driver "$driver" -- "$build/tests/e2e/reach" graph
}
launches="SELECT count(*) FROM call c, function f WHERE f.id = c.func AND f.name = 'cuGraphLaunch'"

# Four launches, of which each writes two buffers: a kernel's and a memset's. Hashes, contents, on the host and on the device.
for how in host device contents contents,device; do
	record "--check=$how"
	[ "$(query "$launches")" = 4 ] || fail "$how: there are $(query "$launches") launches of graphs"
	case $how in
	contents*) rows="payload WHERE kind = 'written'" call=call ;;
	host) rows=launch_hash call=launch ;;
	device) rows='launch_sketch WHERE hash IS NOT NULL' call=launch ;;
	esac
	[ "$(query "SELECT count(DISTINCT $call) FROM $rows")" = 4 ] || fail "$how: not each launch was looked at"
	expect 0 "$cutrace" replay --driver "$driver" "$trace"
	says out 'buffers checked after launches, 0 differ'
done
record --check=contents
[ "$(query "SELECT count(*) FROM payload WHERE kind = 'written'")" = 8 ] || fail 'not both buffers of each launch are there'
for how in --isolated '--isolated -j2'; do
	# shellcheck disable=SC2086 # one or two words
	expect 0 "$cutrace" replay $how --driver "$driver" "$trace"
	says out '8 buffers checked after launches, 0 differ'
done

# The third launch left something else: it is the one that is named.
third=$(query "SELECT c.id FROM call c, function f WHERE f.id = c.func AND f.name = 'cuGraphLaunch' ORDER BY c.id LIMIT 1 OFFSET 2")
query "DELETE FROM row_hash; UPDATE payload SET buffer = (SELECT buffer FROM payload WHERE kind = 'written' ORDER BY id LIMIT 1)
	WHERE kind = 'written' AND id = (SELECT min(id) FROM payload WHERE kind = 'written' AND call = $third)"
expect 1 "$cutrace" replay --isolated --driver "$driver" "$trace"
says out "first difference: call $third cuGraphLaunch"
says out 'kernel   (mix|\(graph\)), launch of call'

# One is chosen, by number; a range has those of graphs.
record --check=launch:4-4
[ "$(query 'SELECT count(DISTINCT launch) FROM launch_hash')" = 1 ] || fail 'launch:4-4 is not one launch'
record --launches 2-3
[ "$(query "$launches")" = 2 ] || fail 'there are other launches in the range'
[ "$(query "SELECT count(DISTINCT call) FROM payload WHERE kind = 'keyframe'")" = 1 ] || fail 'the range begins without a keyframe'
expect 0 "$cutrace" replay --driver "$driver" "$trace"
says out '4 buffers checked after launches, 0 differ'
finish
