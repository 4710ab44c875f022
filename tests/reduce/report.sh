#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# cutrace report: a program with secrets everywhere (each begins with "Sesam") is recorded, a driver has a fault, and the bundle
# shows the fault and holds none of them. What the kernel reads ("Offen...") is in it, and said; --synthetic takes it out.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work report
here=$(cd "$(dirname "$0")" && pwd)
driver=$build/tests/reduce/libreduce_stand_in.so
folder=$work/SesamFolder
mkdir "$folder" "$work/tmp"
export CUTRACE_DEVICE=interp TMPDIR="$work/tmp"
# Of the machine that records, and of the one that reports.
export SESAM_TOKEN=SesamToken0123 USER=SesamUser LOGNAME=SesamUser HOSTNAME=SesamHost HOME="$folder/SesamHome"

cp "$build/tests/reduce/secrets" "$folder/SesamProgram"
cp "$here/secrets.ptx" "$folder/SesamModule.ptx"
trace=$folder/SesamTrace
(cd "$folder" && "$cutrace" record -q --check=contents -o "$trace" --device interp -- ./SesamProgram "$folder/SesamModule.ptx" SesamArgument) \
	>"$work/out" 2>"$work/err" || fail "the program can't be recorded: $(cat "$work/err")"
sqlite3 "$trace" "INSERT INTO diagnostic (t, severity, source, message) VALUES (0, 'warning', 'recorder', 'SesamDiagnostic'); DELETE FROM row_hash"

# Everything in a folder that a reader could see: plain, and with contents of traces unpacked.
look_for()
{
	find "$1" -name '*.plain' -exec rm -rf {} +
	find "$1" -type f >"$work/files"
	while read -r file; do
		if sqlite3 "$file" 'SELECT 1 FROM chunk LIMIT 1' >/dev/null 2>&1; then
			mkdir "$file.plain"
			sqlite3 "$file" "SELECT writefile('$file.plain/' || id || '.' || codec, data) FROM chunk" >/dev/null
			for chunk in "$file.plain"/*.1; do
				if [ -e "$chunk" ]; then
					zstd -qdc "$chunk" >"$chunk.text" || fail "$chunk can't be unpacked"
				fi
			done
			sqlite3 "$file" .dump >"$file.plain/rows"
			"$cutrace" dump --modules "$file.plain/modules" "$file" >"$file.plain/list" 2>/dev/null || :
		fi
	done <"$work/files"
	grep -raoi "$2[a-z]*" "$1" || :
}

command -v zstd >/dev/null || { echo 'skipped: needs the command zstd'; exit 77; }

# The secrets are there, in all places, or this test shows nothing.
mkdir "$work/original"
cp "$trace" "$work/original/trace"
look_for "$work/original" Sesam >"$work/found"
for place in Program Argument Folder Thread Module Tail Spare Unused Comment User Source Pragma Variable Block Inline Other Diagnostic; do
	grep -q "Sesam$place" "$work/found" || fail "the trace does not have Sesam$place"
done
[ -n "$(look_for "$work/original" OffenGelesen)" ] || fail 'the trace does not have what the kernel reads'

export CUTRACE_TEST_WRONG='fma.rn.f32 fma.rz.f32'
expect 1 "$cutrace" replay -q --isolated --driver "$driver" "$trace"

# Nothing is written before somebody has seen what it holds.
expect 2 "$cutrace" report "$trace" --driver "$driver" -o "$work/bundle" </dev/null
says out 'The bundle holds'
says err 'nobody can be asked'
[ ! -e "$work/bundle" ] || fail 'a bundle is there that nobody wanted'
expect 0 "$cutrace" report "$trace" --driver "$driver" --dry-run -o "$work/bundle"
[ ! -e "$work/bundle" ] || fail '--dry-run writes'

expect 0 "$cutrace" report "$trace" --driver "$driver" --yes -o "$work/bundle"
says out 'scale differs in call [0-9]+ of .*: PTX line [0-9]+: fma\.rn\.f32'
says out 'buffers +2 of 4, 512 bytes of 16384'
says out 'look at +[0-9]+ bytes in 1 of them look like text'
[ "$(cd "$work/bundle" && echo *)" = 'result.db summary.txt trace verdict.txt' ] || fail "it holds: $(ls "$work/bundle")"
! grep -raq "$work" "$work/bundle" || fail 'a path is in the bundle'
name=$(uname -n)
[ ${#name} -lt 5 ] || ! grep -raq "$name" "$work/bundle" || fail 'the name of this host is in the bundle'
look_for "$work/bundle" Sesam >"$work/found"
[ ! -s "$work/found" ] || { fail 'secrets are in the bundle:'; cat "$work/found" >&2; }
[ -n "$(look_for "$work/bundle" OffenGelesen)" ] || fail 'what the kernel reads is not what it was'
grep -q 'first wrong: PTX line' "$work/bundle/summary.txt" || fail 'the summary does not name the PTX line'
grep -q 'Machine' "$work/bundle/summary.txt" && grep -q 'cutrace doctor' "$work/bundle/summary.txt" || fail 'the summary lacks the machine'
expect 1 "$cutrace" replay --isolated --driver "$driver" "$work/bundle/trace"
says out 'fma\.rn\.f32'
says out 'file1:8'
expect 0 "$cutrace" replay -q --isolated --device interp "$work/bundle/trace"
expect 0 "$cutrace" info --check "$work/bundle/trace"
# What the kernel prints has the same number in it.
expect 0 "$cutrace" replay --verbose --isolated --device interp "$work/bundle/trace"
says err 'X[Xx]{9} 64 '

# Other values in the buffers.
# An archive, where this build can write some.
out=synthetic.tar.zst
"$cutrace" report /dev/null --dry-run -o "$work/$out" 2>&1 | grep -q libarchive && out=synthetic
expect 0 "$cutrace" report "$trace" --driver "$driver" --yes --synthetic -o "$work/$out"
says out 'values +of all buffers are others'
mkdir "$work/unpacked"
if [ "$out" = synthetic ]; then
	cp -r "$work/synthetic" "$work/unpacked"
else
	tar --zstd -xf "$work/$out" -C "$work/unpacked"
	[ "$(tar --zstd --numeric-owner -tvf "$work/$out" | awk '{ print $2 }' | sort -u)" = 0/0 ] || fail 'the archive names a user'
fi
look_for "$work/unpacked" 'Sesam\|Offen' >"$work/found"
[ ! -s "$work/found" ] || { fail 'secrets are in the synthetic bundle:'; cat "$work/found" >&2; }
expect 1 "$cutrace" replay -q --isolated --driver "$driver" "$work/unpacked/synthetic/trace"
expect 0 "$cutrace" replay -q --isolated --device interp "$work/unpacked/synthetic/trace"

# All launches of a program, whether they differ or not.
unset CUTRACE_TEST_WRONG
expect 125 "$cutrace" report "$trace" --device interp --yes -o "$work/none"
says err 'none of its launches differs'
expect 0 "$cutrace" report "$trace" --device interp --yes --all -o "$work/all"
look_for "$work/all" 'Sesam\(P\|C\|U[^n]\|D\|T[^a]\|F\|A\|L\|B\|I\|S[^p]\)' >"$work/found"
[ ! -s "$work/found" ] || { fail 'secrets are in the bundle of all launches:'; cat "$work/found" >&2; }
expect 125 "$cutrace" report "$trace" --device interp --yes --all -o "$work/all"
says err 'this exists'
expect 2 "$cutrace" report "$trace" --all --launches 1 -o "$work/none"
expect 2 "$cutrace" report "$trace"
says err 'name the bundle'
[ -z "$(ls "$work/tmp")" ] || fail "temporary files are left: $(ls "$work/tmp")"
finish
