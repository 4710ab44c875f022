#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Each refusal says what is wrong, where, and what to do; nothing is said twice, and nothing is left behind.
set -eu
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
fresh_work messages

fresh=$work/fresh.trace
expect 0 "$cutrace" record -q -o "$fresh" --device interp -- "$programs/driver_saxpy"

# Places where no file can be made.
expect 125 env TMPDIR="$work/absent" "$cutrace" replay "$fresh"
says err "^$work/absent: error: no temporary file"
says err 'hint: set TMPDIR to a folder that may be written, or .* -o'
absent()
{
	expect 125 "$@"
	says err 'absent/file: error: .*: No such file or directory'
	says err 'hint: check that the folder exists and may be written, or name another file with -o'
}
absent "$cutrace" replay -o "$work/absent/file" "$fresh"
absent "$cutrace" record -o "$work/absent/file" --device interp -- "$programs/driver_saxpy"

# A device that needs what isn't there, and one that isn't.
for command in run record; do
	expect 125 env CUTRACE_COMPILER="$work/absent" "$cutrace" "$command" --device amdemu:gfx90a -- "$programs/driver_saxpy"
	says err "--device: error: 'amdemu:gfx90a': $work/absent: CUTRACE_COMPILER can't be executed"
	expect 2 "$cutrace" "$command" --device amdemu:gfx803 -- "$programs/driver_saxpy"
	says err 'the emulator has no GPU "gfx803"; it has gfx90a, gfx942, .*gfx1201'
done
expect 125 env CUTRACE_COMPILER="$work/absent" "$cutrace" replay --device amdemu "$fresh"
says err "CUTRACE_COMPILER can't be executed"
expect 2 "$cutrace" replay --device amdemu:gfx1100,speed=11 "$fresh"
says err 'the emulator has no option "speed"'

# Values in the environment, names that are no text.
expect 2 env CUTRACE_COMPILE_TIMEOUT_MS=abc "$cutrace" run --device amdemu:gfx90a -- "$programs/driver_saxpy"
says err "'abc' is not a number of milliseconds"
expect 2 "$cutrace" replay --device interp:devices=0 "$fresh"
says err 'devices=N with N from 1 to [0-9]+'
expect 2 "$cutrace" dump --foo "$fresh"
says err '^cutrace dump: error: unknown option.*--foo'
printf '\033[31m\377\001x' >"$work/no.ptx"
expect 125 "$cutrace" ptx "$work/no.ptx"
if LC_ALL=C grep -q "$(printf '[\001\033\377]')" "$work/err"; then fail 'bytes that are no text reach the terminal'; fi

expect 125 "$cutrace" ptx /dev/zero
says err '/dev/zero: error: can.t be read: File too large'

# SQLite takes paths of some 500 characters.
part=$(printf '%0200d' 0)
deep=$work/$part/$part/$part
mkdir -p "$deep"
cp "$fresh" "$deep/trace"
expect 125 "$cutrace" info "$deep/trace"
says err 'trace: error: the path is too long for SQLite: [0-9]+ characters'
says err 'hint: use a folder with a shorter path'
expect 125 "$cutrace" replay -o "$deep/result" "$fresh"
says err 'result: error: the path is too long for SQLite'
expect 125 "$cutrace" record --device interp -o "$deep/new" -- "$programs/driver_saxpy"
says err 'new: error: the path is too long for SQLite'
[ "$(ls "$deep")" = trace ] || fail "files were left behind: $(ls "$deep")"

# A script whose interpreter is missing, and a program whose loader is: no trace of nothing.
script=$work/script
printf '#! /no/such/interpreter -u\n' >"$script"
chmod +x "$script"
for command in record run; do
	expect 127 "$cutrace" "$command" --device interp -- "$script"
	says err 'script: error: the interpreter in its first line, /no/such/interpreter, does not exist'
	says err 'hint: correct that line, install the interpreter'
done
printf '#!/bin/sh\r\nexit 0\r\n' >"$script"
expect 127 "$cutrace" run -- "$script"
says err 'carriage return'
printf '#!%s\n' "$fresh" >"$script"
expect 126 "$cutrace" run -- "$script"
says err "fresh.trace, can't be executed"
printf '#!/bin/sh\nexit 3\n' >"$script"
expect 3 "$cutrace" run -- "$script"
LC_ALL=C sed 's|/lib64/ld-linux|/nib64/ld-linux|' "$programs/driver_saxpy" >"$work/unloadable"
chmod +x "$work/unloadable"
expect 127 "$cutrace" record -o "$work/nothing.trace" --device interp -- "$work/unloadable"
says err "unloadable: error: can't be executed: No such file"
says err 'hint: .*loader'
[ ! -e "$work/nothing.trace" ] || fail 'a trace of nothing was left behind'

# A thread for which there is no ring (2 MB of shared memory) is not recorded: the trace is whole, the recording is not.
expect 0 sh -c 'ulimit -f 2000; exec "$@"' sh "$cutrace" record -o "$work/ringless.trace" --device interp -- "$programs/driver_saxpy"
says err 'warning: the recording is not complete'
expect 0 "$cutrace" info "$work/ringless.trace"
says out '^  the recorder reported 1 error: see its messages below'

# A pattern that matches nothing is no error, but no silence.
expect 0 "$cutrace" dump --func zzz "$fresh"
says err "warning: no function of .*fresh.trace matches 'zzz'"
expect 0 "$cutrace" dump --func 'cumemalloc*' "$fresh"
says err 'hint: it has cuMemAlloc_v2'
expect 0 "$cutrace" dump --func 'cuMemAlloc*' --result error "$fresh"
[ ! -s "$work/err" ] || fail "a pattern that matches is warned of: $(cat "$work/err")"

# The reason is on stderr where stdout goes elsewhere, and once where both go to the same place.
no_driver=$work/libcuda.so.1
cp "$programs/driver_saxpy" "$no_driver"
expect 125 "$cutrace" replay --driver "$no_driver" "$fresh"
says out '^fatal: '
says err '^fatal: '
times=$("$cutrace" replay --driver "$no_driver" "$fresh" 2>&1 | grep -c '^fatal: ') || :
[ "$times" = 1 ] || fail "the reason is said $times times"
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
	for pager in '' '| cat'; do
		times=$(script -qec "'$cutrace' replay --driver '$no_driver' '$fresh' $pager" /dev/null </dev/null | grep -c 'fatal: ') || :
		[ "$times" = 1 ] || fail "on a terminal ($pager) the reason is said $times times"
	done
fi
expect 125 sh -c '"$@" >/dev/null' sh "$cutrace" replay --json --driver "$no_driver" "$fresh"
says err '^fatal: '

# Output that can't be written is none; nor is a file that may not grow.
full()
{
	expect 125 sh -c '"$@" >/dev/full' sh "$cutrace" "$@"
	says err 'error: cannot write the output'
	if grep -q Success "$work/err"; then fail "$1: no reason is Success"; fi
}
contents=$work/contents.trace
expect 0 "$cutrace" record -q -o "$contents" --check=contents --device interp -- "$programs/driver_saxpy"
launch=$(sqlite3 "$contents" 'SELECT min(call) FROM launch')
full dump "$fresh"
full debug "$contents" --launch "$launch" --batch -e bt
full report "$contents" --all --dry-run -o "$work/bundle"
expect 125 sh -c 'ulimit -f 10; exec "$@"' sh "$cutrace" replay -o "$work/limited" "$fresh"
says err 'error: .*result'
for f in "$work/limited"*; do
	[ ! -e "$f" ] || fail "left behind: $f"
done

# Who comes second leaves alone what the first one writes.
: >"$work/taken-payload"
expect 125 flock "$work/taken-payload" "$cutrace" enrich "$fresh" -o "$work/taken"
says err 'another recording is being written to this file'
[ -e "$work/taken-payload" ] || fail 'a file of another recording was removed'

# Rows that no recorder writes.
odd=$work/odd.trace
changed()
{
	cp "$contents" "$odd"
	sqlite3 "$odd" "DELETE FROM row_hash; $1"
}
changed "UPDATE function SET name = '' WHERE name = 'cuModuleGetFunction'"
expect 125 "$cutrace" replay --device interp --json "$odd"
says err '^unverified: call [0-9]+ .*: no launch was computed here: CUfunction .* was not created'
changed "UPDATE meta SET key = char(27) || '[31m' WHERE key = 'cpu'; UPDATE meta SET value = char(27) || '[31m' WHERE key = 'command'"
expect 0 "$cutrace" info "$odd"
says out '^  [?].31m +[^ ]'
if LC_ALL=C grep -q "$(printf '\033')" "$work/out"; then fail 'escape sequences reach the terminal'; fi
changed 'UPDATE thread SET id = id + 1'
expect 0 "$cutrace" diff "$odd" "$odd"
expect 1 "$cutrace" diff "$contents" "$odd"
finish
