#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Files that are no (whole, readable) trace are refused with the reason and exit status 125, by every command
# that reads traces.
set -eu
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
# A byte in the middle of the file: of a page, or of a buffer whose hash then does not fit.
cp "$good" "$work/corrupt"
page=$(sqlite3 -readonly "$good" 'PRAGMA page_size')
head -c "$page" /dev/zero | tr '\0' '\377' |
	dd of="$work/corrupt" bs="$page" seek=$((size / page / 2)) conv=notrunc 2>/dev/null
mkdir "$work/directory"

for command in info dump replay; do
	for file in empty text truncated foreign newer directory absent; do
		expect 125 "$cutrace" "$command" "$work/$file"
		says err "$file"
	done
done
expect 125 "$cutrace" replay "$work/corrupt"
says err corrupt
expect 125 "$cutrace" replay --device no-such-device "$good"
says err 'no-such-device'
expect 125 "$cutrace" replay --driver "$work/absent.so" "$good"
says err 'absent\.so'
# The trace itself was never touched.
expect 0 "$cutrace" replay --device interp "$good"
finish
