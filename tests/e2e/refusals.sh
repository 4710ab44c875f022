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
# One argument of one call: no structure is broken, and no contents.
cp "$good" "$work/argument"
sqlite3 "$work/argument" "UPDATE call SET a1 = a1 + 4 WHERE func = (SELECT id FROM function WHERE name = 'cuMemAlloc_v2')"
for command in info replay 'dump --verify'; do
	# shellcheck disable=SC2086 # words
	expect 125 "$cutrace" $command "$work/argument"
	says err 'argument: error: the trace is damaged: table call, rows 1 to [0-9]+ are not as recorded'
	# shellcheck disable=SC2086
	expect 0 "$cutrace" $command "$good"
done
# A trace of before there were hashes of rows is read, and the reader says what it can't know.
sqlite3 "$work/argument" 'DROP TABLE row_hash; UPDATE call SET a1 = a1 - 4 WHERE func = (SELECT id FROM function
	WHERE name = "cuMemAlloc_v2")'
expect 0 "$cutrace" info "$work/argument"
says out 'rows not verified'
expect 0 "$cutrace" replay "$work/argument"
says out '^note: the trace has no hashes of its rows'
expect 125 "$cutrace" dump --verify "$work/argument"
says err 'has no hashes of its rows'
expect 2 "$cutrace" replay --device no-such-device "$good"
says err 'no-such-device'
expect 125 "$cutrace" replay --driver "$work/absent.so" "$good"
says err 'absent\.so'
# What stands in for a trace must not make a command wait.
mkfifo "$work/fifo"
for command in info dump replay; do
	expect 125 timeout 20 "$cutrace" "$command" "$work/fifo"
	says err 'fifo'
done
# Why a result is unverified is said, by text and JSON alike, on stderr too.
cp "$good" "$work/no_result"
sqlite3 "$work/no_result" "UPDATE chunk SET data = zeroblob(length(data)) WHERE id IN (SELECT chunk FROM buffer_chunk
	WHERE buffer IN (SELECT buffer FROM payload WHERE kind = 'd2h'))"
expect 125 "$cutrace" replay "$work/no_result"
says out '^unverified: call [0-9]+ cuMemcpyDtoH_v2: chunk [0-9]+ is damaged'
for option in --json --quiet; do
	expect 125 "$cutrace" replay $option "$work/no_result"
	says err '^unverified: call [0-9]+ cuMemcpyDtoH_v2: chunk [0-9]+ is damaged'
done

# -o writes over an earlier result and over nothing else: not the trace, by whatever name, nor any other file.
expect 0 "$cutrace" replay -o "$work/result.db" "$good"
expect 0 "$cutrace" replay -o "$work/result.db" "$good"
sum=$(cksum <"$good")
ln "$good" "$work/hard"
ln -s "$good" "$work/soft"
for file in good.trace hard soft text foreign directory; do
	before=$([ -d "$work/$file" ] || cksum <"$work/$file")
	expect 125 "$cutrace" replay -o "$work/$file" "$good"
	says err "$file: error: .*not overwritten"
	[ "$before" = "$([ -d "$work/$file" ] || cksum <"$work/$file")" ] || fail "replay -o changed $file"
done
[ "$sum" = "$(cksum <"$good")" ] || fail "replay -o changed the trace"

# Output that can't be written is no success, and says why.
for command in --help --version "info --help" "info $good" "info --json $good" "dump $good" "dump --json $good" \
	"dump --buffer 1 $good" "replay --help" "replay $good" "replay --json $good"; do
	# shellcheck disable=SC2016,SC2086 # the first for the inner shell; $command is words
	expect 125 sh -c '"$@" >/dev/full' sh "$cutrace" $command
	says err 'writ.*No space left'
done
# The trace itself was never touched.
expect 0 "$cutrace" replay --device interp "$good"
finish
