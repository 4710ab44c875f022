#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Files that are no (whole, readable) trace are refused with the reason and exit status 125, by every command
# that reads traces.
set -eu
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
fresh_work refusals

good=$work/good.trace
expect 0 "$cutrace" record -o "$good" --device interp -- "$programs/driver_saxpy"
size=$(wc -c <"$good")

: >"$work/empty"
printf 'this is not a trace, but it is long enough to be looked at\n' >"$work/text"
head -c $((size / 2)) "$good" >"$work/truncated"
sqlite3 "$work/foreign" 'CREATE TABLE t(x); INSERT INTO t VALUES(1)'
cp "$good" "$work/newer"
sqlite3 "$work/newer" 'PRAGMA user_version = 1000000'
# A buffer whose bytes do not fit its hash; and a file with a good header and nothing good behind it.
cp "$good" "$work/corrupt"
sqlite3 "$work/corrupt" "UPDATE chunk SET data = zeroblob(length(data)) WHERE id IN (SELECT chunk FROM buffer_chunk
	WHERE buffer IN (SELECT buffer FROM payload WHERE kind = 'h2d'))"
page=$(sqlite3 -readonly "$good" 'PRAGMA page_size')
cp "$good" "$work/rotten"
head -c $((size - page)) /dev/zero | tr '\0' '\377' | dd of="$work/rotten" bs="$page" seek=1 conv=notrunc 2>/dev/null
mkdir "$work/directory"

for command in info dump replay; do
	for file in empty text truncated foreign newer rotten directory absent; do
		expect 125 "$cutrace" "$command" "$work/$file"
		says err "$file"
	done
done
expect 125 "$cutrace" replay "$work/corrupt"
says err "damaged"
expect 125 "$cutrace" replay --device no-such-device "$good"
says err 'no-such-device'
expect 125 "$cutrace" replay --driver "$work/absent.so" "$good"
says err 'absent\.so'
# The trace itself was never touched.
expect 0 "$cutrace" replay --device interp "$good"
finish
