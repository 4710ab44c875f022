#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What launches wrote, as hashes and sketches: the host and the recorder's kernels on the device find the same, replays
# compare it, tell how it differs, and a trace that is enriched later has the same rows as one that was checked at once.
set -eu
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
fresh_work evidence

# Sums depend on the order of additions.
numbers="SELECT launch, base, bytes, type, elements, nan, infinite, zero, least, greatest, block_bytes, hex(samples),
	printf('%.8g %.8g', sum, magnitude) FROM launch_sketch ORDER BY launch, base"
typed="SELECT count(*) FROM launch_sketch WHERE type IS NOT NULL"
hashes="SELECT launch, base, bytes, hex(hash) FROM launch_hash ORDER BY launch, base"
written="SELECT p.call, p.width, hex(b.hash) FROM payload p, buffer b WHERE b.id = p.buffer AND p.kind = 'written' ORDER BY p.call,
	p.device_address"

for program in driver_nbody driver_spmv driver_reduction driver_bitonic_sort; do
	for how in host device; do
		expect 0 "$cutrace" record -q "--check=$how" -o "$work/$how" --device interp -- "$programs/$program"
		sqlite3 "$work/$how" "SELECT * FROM ($numbers) WHERE type IS NOT NULL" >"$work/$how.numbers"
		expect 0 "$cutrace" replay "$work/$how"
		says out 'checked after launches, 0 differ'
	done
	[ "$(sqlite3 "$work/host" "$typed")" -gt 0 ] || fail "$program: there are no numbers"
	[ "$(sqlite3 "$work/device" 'SELECT count(*) FROM launch_hash')" = 0 ] || fail "$program: the host hashed all the same"
	cmp "$work/host.numbers" "$work/device.numbers" || fail "$program: host and device find different numbers"

	expect 0 "$cutrace" record -q --check=contents,device -o "$work/contents" --device interp -- "$programs/$program"
	expect 0 "$cutrace" replay --isolated "$work/contents"
	expect 0 "$cutrace" replay "$work/contents"

	expect 0 "$cutrace" record -q -o "$work/plain" --device interp -- "$programs/$program"
	expect 0 "$cutrace" record -q --check=contents -o "$work/checked" --device interp -- "$programs/$program"
	expect 0 "$cutrace" enrich -o "$work/enriched" "$work/plain"
	for rows in "$hashes" "$numbers" "$written"; do
		sqlite3 "$work/checked" "$rows" | cut -d'|' -f2- | sed 's/^[0-9]*|//' >"$work/a"
		sqlite3 "$work/enriched" "$rows" | cut -d'|' -f2- | sed 's/^[0-9]*|//' >"$work/b"
		[ -s "$work/a" ] || fail "$program: nothing to compare"
		cmp "$work/a" "$work/b" || fail "$program: enriched and checked traces have other evidence"
	done
	rm -f "$work/host" "$work/device" "$work/contents" "$work/plain" "$work/checked" "$work/enriched"
done

# A wrong result is told in numbers, though nothing but a hash and a sketch was kept.
for how in host device; do
	expect 0 "$cutrace" record -q "--check=$how" -o "$work/trace" --device interp -- "$programs/driver_nbody"
	rm -rf "$work/modules"
	expect 0 "$cutrace" dump --modules "$work/modules" "$work/trace"
	ptx=$(find "$work/modules" -name '*.ptx' | head -n 1)
	line=$(awk '/st\.global.*f32/ { print NR; exit }' "$ptx")
	kernel=$(awk -v last="$line" 'NR <= last && /\.entry/ { sub(/.*\.entry */, ""); sub(/\(.*/, ""); name = $1 } END { print name }' "$ptx")
	status=0
	"$cutrace" replay -o "$work/result" --inject "$kernel:$line:30" "$work/trace" >"$work/out" 2>"$work/err" || status=$?
	[ $status -eq 1 ] || fail "$how: the fault was not found: $(cat "$work/err")"
	sqlite3 "$work/result" "SELECT note FROM verdict WHERE kind = 'hash' AND grade = 'differs'" >"$work/notes"
	grep -Eq 'sum .*, here |NaNs|greatest' "$work/notes" || fail "$how: the notes have no numbers: $(head -n 3 "$work/notes")"
	rm -f "$work/trace" "$work/result"
done
# Traces of schema 1 have no sketches, and are read, replayed and checked all the same.
expect 0 "$cutrace" record -q --check -o "$work/old" --device interp -- "$programs/driver_saxpy"
sqlite3 "$work/old" "DROP TABLE launch_sketch; DROP TABLE image_run; DELETE FROM row_hash WHERE tbl IN ('launch_sketch', 'image_run');
	PRAGMA user_version = 1"
expect 0 "$cutrace" info "$work/old"
expect 0 "$cutrace" info --check "$work/old"
expect 0 "$cutrace" replay "$work/old"
says out 'checked after launches, 0 differ'
expect 2 "$cutrace" record --check=devices -o "$work/none" -- "$programs/driver_nbody"
says err 'device, host'
finish
