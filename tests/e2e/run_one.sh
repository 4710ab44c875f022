#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: run_one.sh STEP PROGRAM BUILD [TARGET]
#
# One step of the end-to-end test of one program of programs.list: run, record, dump, replay, inject or check; amd is
# the program and its trace on the emulated AMD GPU TARGET. The steps share BUILD/tests/e2e/PROGRAM; `record` comes
# first. REGOLD=1 writes the golden dump instead of comparing.
set -eu

step=$1 program=$2 build=$3 target=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
golden=$here/../golden
cutrace=$build/bin/cutrace
work=$build/tests/e2e/$program
trace=$work/program.trace
executable=$build/tests/programs/$program
export CUTRACE_CACHE="$build/tests/e2e/cache" # of compiled kernels

fail()
{
	printf '%s\n' "$program: $step: $*" >&2
	exit 1
}

skip()
{
	printf '%s\n' "skipped: $*"
	exit 77
}

# The program's line of the table, split into variables.
read_row()
{
	row=$(awk -v program="$program" '!/^#/ && $1 == program' "$here/programs.list")
	[ -n "$row" ] || fail "not in programs.list"
	# shellcheck disable=SC2086 # split into columns
	set -- $row
	kernel=$2 inject=$3 bit=$4 store=$5 flags=$6
}

has_flag()
{
	case ,$flags, in
	*",$1,"*) return 0 ;;
	esac
	return 1
}

# expect STATUS FILE COMMAND...: output of both kinds goes to FILE and FILE.err.
expect()
{
	expected=$1 output=$2 status=0
	shift 2
	"$@" >"$output" 2>"$output.err" || status=$?
	if [ "$status" -ne "$expected" ]; then
		cat "$output" "$output.err" >&2
		fail "exit status $status instead of $expected from: $*"
	fi
}

# same FILE EXPECTED WHAT
same()
{
	diff -u "$2" "$1" >&2 || fail "$3 differs from what is expected ($2)"
}

query()
{
	sqlite3 -readonly -batch -noheader -separator ' ' "$trace" "$1"
}

step_run()
{
	expect 0 "$work/run.out" "$cutrace" run --device interp -- "$executable"
	[ "$(tail -n 1 "$work/run.out")" = ok ] || fail "the last line is not 'ok'"
	[ ! -e "$golden/$program.out" ] || same "$work/run.out" "$golden/$program.out" "the program's output"
}

# Correct programs are correct in the checked mode, too.
step_check()
{
	expect 0 "$work/check.out" "$cutrace" run --device interp:check=all,check_error=1 -- "$executable"
	[ "$(tail -n 1 "$work/check.out")" = ok ] || fail "the last line is not 'ok'"
	! grep 'check:' "$work/check.out.err" >&2 || fail "the checked mode has findings"
}

# What the program said about itself against what its trace shows.
check_against_own_words()
{
	order="cat"
	if has_flag threads; then
		order="sort"
	fi
	sed -n 's/^launch //p' "$work/record.out" | $order >"$work/launches.said"
	query "SELECT k.name, 'grid', gx, gy, gz, 'block', bx, by, bz FROM launch l
		JOIN kernel k ON k.id = l.kernel ORDER BY l.call" | $order >"$work/launches.recorded"
	same "$work/launches.recorded" "$work/launches.said" "the list of launches"
	# Each process says its number.
	said=$(awk '$1 == "calls" { sum += $2 } END { print sum }' "$work/record.out")
	recorded=$(query "SELECT count(*) FROM call WHERE parent IS NULL")
	[ -z "$said" ] || [ "$said" -eq "$recorded" ] ||
		fail "the program made $said calls, the trace has $recorded"
}

check_trace_is_whole()
{
	[ "$(query 'PRAGMA integrity_check')" = ok ] || fail "SQLite finds the trace damaged"
	[ "$(query 'PRAGMA journal_mode')" = delete ] || fail "journal mode is not DELETE"
	[ "$(query "SELECT DISTINCT name, cc FROM device")" = 'cutrace interpreter 90' ] ||
		fail "the trace does not know the device"
	[ "$(query "SELECT value FROM meta WHERE key = 'closed'")" = 1 ] || fail "the trace is not marked closed"
	[ "$(query 'SELECT count(*) FROM call WHERE t_exit IS NULL')" = 0 ] || fail "calls without an end"
	[ "$(find "$work" -name 'program.trace*' | wc -l)" -eq 1 ] || fail "the trace is more than one file"
}

step_record()
{
	rm -f "$trace"* "$work/calls.said"
	export PROGRAM_CALLS="$work/calls.said" # witness.c of the driver-API programs
	if has_flag check; then
		expect 0 "$work/record.out" "$cutrace" record --check -o "$trace" --device interp -- "$executable"
	else
		expect 0 "$work/record.out" "$cutrace" record -o "$trace" --device interp -- "$executable"
	fi
	[ "$(tail -n 1 "$work/record.out")" = ok ] || fail "the last line is not 'ok'"
	check_trace_is_whole
	check_against_own_words
	if has_flag children; then
		[ "$(query 'SELECT count(*) FROM process')" -eq 2 ] || fail "not two processes in the trace"
	fi
	expect 0 "$work/info.out" "$cutrace" info "$trace"
	grep -q "$kernel" "$work/info.out" || fail "info does not name $kernel"
}

# Sizes and lines of code depend on the compiler.
code_sizes='s/image=<[0-9]+ bytes>/image=<bytes>/; s/data=<[0-9]+ bytes>, size=[0-9]+/data=<bytes>, size=N/
	s/sizeOut=&[0-9]+/sizeOut=\&N/'

# The golden dump is without the numbers of the calls, of which the recorder may leave some out when another thread
# appears. The runtime library asks for some 440 functions, and its calls differ from version to version: of those
# programs it shows what the program itself asked for. Where threads run side by side, it shows the calls without
# their order and owners.
dump_trace()
{
	functions='*'
	edit="$code_sizes; s/(\.ptx):[0-9]+:[0-9]+/\\1/; s/declared in line [0-9]+/declared/"
	edit="$edit; s/^ *[0-9]+  ((p[0-9]+ )?t)/\\1/; s/^ +(kernel|!)/    \\1/"
	order="cat"
	case $program in
	runtime_*)
		functions='cuMemAlloc*,cuMemFree*,cuMemHostAlloc*,cuMemcpy*,cuMemset*,cuLaunchKernel*,cuEvent*,cuStream*'
		;;
	esac
	if has_flag threads; then
		edit="$edit; s/^ *([0-9]+  )?t[0-9]+ +//; s/#[0-9]+//g"
		order="sort"
	fi
	expect 0 "$work/dump.text" "$cutrace" dump --stable --func "$functions" "$trace"
	sed -E "$edit" "$work/dump.text" | LC_ALL=C $order >"$work/dump.out"
}

# The calls in the program's own words, from other sources than the dump's (programs/driver/witness.c). To what type a
# kernel's pointers point, the shape of copies and what the driver remarked it does not say. Threads and processes say theirs in any order.
check_dump_against_own_words()
{
	order="cat" edit=''
	if has_flag threads || has_flag children; then
		order="sort" edit='s/#[0-9]+//g'
	fi
	sed -E "s/^ *([0-9]+  )?(p[0-9]+ )?t[0-9]+ +//; /^ +(h2d|d2h|!) /d; s/^ +kernel/kernel/; s/[a-z0-9]+\* /* /g; $code_sizes; $edit" \
		"$work/dump.text" | LC_ALL=C $order >"$work/calls.dumped"
	sed -E "$edit" "$work/calls.said" | LC_ALL=C $order >"$work/calls.expected"
	[ -s "$work/calls.expected" ] || fail "the program said nothing of its calls"
	same "$work/calls.dumped" "$work/calls.expected" "the list of calls"
}

step_dump()
{
	[ -e "$trace" ] || fail "no trace: the record step failed"
	expect 0 "$work/lines.out" "$cutrace" dump --json "$trace"
	calls=$(query 'SELECT count(*) FROM call')
	lines=$(grep -c '^{"id":.*}$' "$work/lines.out" || true)
	[ "$lines" -eq "$calls" ] || fail "$lines JSON lines for $calls calls"
	{
		printf '{"calls":['
		paste -s -d , "$work/lines.out"
		printf ']}'
	} >"$work/lines.json"
	[ "$(json "$work/lines.json" "$.calls[$((calls - 1))].id")" -gt 0 ] || fail "the lines are no valid JSON"
	dump_trace
	if [ "${REGOLD:-0}" = 1 ]; then
		cp "$work/dump.out" "$golden/$program.dump"
	fi
	same "$work/dump.out" "$golden/$program.dump" "the dump"
	case $program in
	driver_*) check_dump_against_own_words ;;
	esac
}

# json FILE PATH: a value out of a JSON file.
json()
{
	sqlite3 -batch :memory: "SELECT json_extract(CAST(readfile('$1') AS TEXT), '$2')"
}

step_replay()
{
	[ -e "$trace" ] || fail "no trace: the record step failed"
	expect 0 "$work/replay.out" "$cutrace" replay --device interp "$trace"
	if has_flag fault; then
		grep -q "$kernel" "$work/replay.out" || fail "the report does not name the kernel that faults"
	fi
	expect 0 "$work/replay.json" "$cutrace" replay --json --device interp "$trace"
	[ "$(json "$work/replay.json" '$.status')" = match ] || fail "the JSON report does not say 'match'"
	launches=$(query 'SELECT count(*) FROM launch')
	[ "$(json "$work/replay.json" '$.counts.launches')" -eq "$launches" ] || fail "not all $launches launches were replayed"
	results=$(query "SELECT count(*) FROM payload WHERE kind = 'd2h' AND buffer IS NOT NULL")
	equal=$(json "$work/replay.json" '$.grades.equal')
	[ "${equal:-0}" -ge "$results" ] || fail "$results results were recorded, ${equal:-0} compared equal"
}

# The replay of a trace: all launches, nothing differs, faults as recorded.
check_report()
{
	[ "$(json "$1" '$.status')" = match ] || fail "the report of $1 does not say 'match'"
	launches=$(sqlite3 -readonly "$2" 'SELECT count(*) FROM launch')
	[ "$(json "$1" '$.counts.launches')" -eq "$launches" ] || fail "not all $launches launches were replayed"
}

# Kernels that can't be translated to AMD code yet: amd_refused.list has them with the reason, and nothing else.
check_refused()
{
	status=0
	"$cutrace" run --device "$device" -- "$executable" >"$work/$target.out" 2>"$work/$target.err" || status=$?
	[ "$status" -ne 0 ] || fail "works on $target now: remove its row from amd_refused.list"
	grep -qF "$1" "$work/$target.err" || {
		cat "$work/$target.err" >&2
		fail "on $target the reason is not '$1'"
	}
}

# On the first target the program is recorded on the AMD GPU, too, and that trace replayed on the interpreter.
step_amd()
{
	device=amdemu:$target
	[ -e "$trace" ] || fail "no trace: the record step failed"
	[ -x "$build/lib/cutrace/cutrace-compile" ] || skip "cutrace-compile is not built (no LLVM 19)"
	reason=$(sed -n "s/^$program  *//p" "$here/amd_refused.list")
	if [ -n "$reason" ]; then
		check_refused "$reason"
		return
	fi
	set -- run
	if [ "$target" = gfx1100 ]; then
		rm -f "$work/amd.trace"*
		set -- record -q -o "$work/amd.trace"
	fi
	expect 0 "$work/$target.out" "$cutrace" "$@" --device "$device" -- "$executable"
	[ "$(tail -n 1 "$work/$target.out")" = ok ] || fail "on $target the last line is not 'ok'"
	[ ! -e "$golden/$program.out" ] || same "$work/$target.out" "$golden/$program.out" "the output on $target"
	expect 0 "$work/$target.json" "$cutrace" replay --json --device "$device" "$trace"
	check_report "$work/$target.json" "$trace"
	if [ "$1" = record ]; then
		expect 0 "$work/amd.json" "$cutrace" replay --json --device interp "$work/amd.trace"
		check_report "$work/amd.json" "$work/amd.trace"
	fi
}

# line_of REGEX#N: number of the N-th line inside the kernel's PTX that matches.
line_of()
{
	awk -v kernel="$kernel" -v regex="${1%#*}" -v n="${1##*#}" '
		# Compressed PTX is not indented: braces have to be counted.
		$0 ~ "\\.entry[ \t]+" kernel "\\(" { inside = 1; depth = 0; begun = 0 }
		inside {
			braces = $0
			opened = gsub(/{/, "", braces)
			depth += opened - gsub(/}/, "", braces)
			begun = begun || opened
			if (begun && depth <= 0)
				inside = 0
		}
		inside {
			text = $0
			sub(/^[ \t]*(@!?%p[0-9]+[ \t]+)?/, "", text)
			if (text ~ regex)
				line[++count] = NR
		}
		END {
			if (n < 0)
				n = count + 1 + n
			print line[n]
		}' "$ptx"
}

find_ptx()
{
	rm -rf "$work/modules"
	expect 0 "$work/modules.out" "$cutrace" dump --modules "$work/modules" "$trace"
	# The image that was loaded, not an input of the linker; of relocatable code what its pieces became.
	image=$(query "SELECT coalesce(m.image, p.image) FROM kernel k JOIN module m ON m.id = k.module
		LEFT JOIN module p ON p.id = m.parent WHERE k.name = '$kernel' LIMIT 1")
	ptx=$(find "$work/modules" \( -name "image_$image.ptx" -o -name "image_$image.*.ptx" \) \
		-exec grep -lE "\\.entry[[:space:]]+$kernel\\(" {} + | sort -r | head -n 1)
	[ -n "$ptx" ] || fail "no dumped module has the kernel $kernel"
}

step_inject()
{
	[ -e "$trace" ] || fail "no trace: the record step failed"
	find_ptx
	line_injected=$(line_of "$inject")
	[ -n "$line_injected" ] || fail "no instruction $inject in $kernel"
	expect 1 "$work/inject.out" "$cutrace" replay --device interp --inject "$kernel:$line_injected:$bit" "$trace"
	grep -qE "^ *kernel +$kernel\\b" "$work/inject.out" || {
		cat "$work/inject.out" >&2
		fail "the report does not name the kernel $kernel"
	}
	line=$(line_of "${store#!}")
	[ -n "$line" ] || fail "no instruction $store in $kernel"
	place="stored.*$kernel, PTX line $line:" key="stores[0].line"
	case $store in
	!*) place="^  at  *PTX line $line:" key="differences[0].line" ;;
	esac
	grep -q "$place" "$work/inject.out" || {
		cat "$work/inject.out" >&2
		fail "the report does not name PTX line $line"
	}
	expect 1 "$work/inject.json" "$cutrace" replay --json --device interp --inject "$kernel:$line_injected:$bit" "$trace"
	first="$(json "$work/inject.json" '$.differences[0].kernel_name') $(json "$work/inject.json" "\$.$key")"
	[ "$first" = "$kernel $line" ] || fail "the JSON report names $first, not $kernel $line"
}

if [ ! -x "$executable" ]; then
	case $program in
	runtime_*) skip "$program is not built here (no nvcc)" ;;
	*) fail "$executable is not built" ;;
	esac
fi
mkdir -p "$work"
read_row
"step_$step"
