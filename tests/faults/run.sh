#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: run.sh BUILD faults|clean|report|test [--count N] [--shard I/N] [--seed S] [--again] [--spare-log]
#
# faults: seeds faults, one at a time, into what replays of the recorded test programs execute, until N have changed a
# result (300), and notes for each whether the report names the right kernel and the right PTX line. clean: replays on an
# interpreter that makes legal choices of its own, N times (300): whatever is reported is a false alarm. Both go on where they
# were stopped (--again: from the start); with --shard several may run at a time, each for its part of N. report: the score
# of what there is, and what was missed. The list of faults depends on S (1) and on the programs alone.
# --spare-log: faults leave alone what the replayer puts into kernels to look at their values. test: a few of both, on a few programs, for CI.
set -eu

build=$1 step=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
tools=$build/tests/faults
cutrace=$build/bin/cutrace
work=${FAULTS_WORK:-$tools/work}
count=300 shard=1 shards=1 seed=1 again=0 programs='' list=''
while [ $# -gt 0 ]; do
	case $1 in
	--count) count=$2 && shift ;;
	--shard) shard=${2%/*} shards=${2#*/} && shift ;;
	--seed) seed=$2 && shift ;;
	--again) again=1 ;;
	--spare-log) export FAULT_SPARE_LOG=1 ;;
	*) sed -n '4s/^# //p' "$0" >&2 && exit 2 ;;
	esac
	shift
done
traces=$work/traces modules=$work/modules
export CUTRACE_WATCHDOG_MS=15000 CUTRACE_CACHE="$work/cache"

# ---- traces ----------------------------------------------------------------------------------------

# Each program once, with what each launch wrote, and its PTX.
record_program()
{
	[ ! -e "$traces/$1.trace" ] || return 0
	"$cutrace" record -q --check=contents -o "$traces/$1.part" --device interp -- "$2" >"$work/record.out" 2>&1 || {
		cat "$work/record.out" >&2
		exit 1
	}
	"$cutrace" dump --modules "$modules/$1" "$traces/$1.part" >/dev/null
	# What a device of compute capability 9.0 doesn't take.
	find "$modules/$1" -name '*.sm_1[0-9][0-9]*' -exec rm {} +
	mv "$traces/$1.part" "$traces/$1.trace"
}

# Those without a result that isolated replay could compare are left out: their only launches fault.
record_programs()
{
	mkdir -p "$traces" "$modules"
	while read -r program _; do
		case $program in
		'#'* | '' | runtime_printf_assert) continue ;;
		esac
		[ -x "$build/tests/programs/$program" ] || continue
		case " ${programs:-$program} " in
		*" $program "*) record_program "$program" "$build/tests/programs/$program" ;;
		esac
	done <"$here/../e2e/programs.list"
	[ ! -x "$tools/fault_operations" ] || record_program fault_operations "$tools/fault_operations"
}

# ---- one replay ---------------------------------------------------------------------------------------

# replay RESULT TRACE: the text of the report is RESULT.txt.
replay()
{
	status=0
	rm -f "$1"
	timeout 120 "$cutrace" replay --isolated --driver "$tools/libcuda_with_fault.so" -o "$1" "$2" >"$1.txt" 2>&1 || status=$?
}

query()
{
	sqlite3 -batch -noheader -separator '	' "$1" "$2"
}

# What the target makes without a fault, once for each program and target.
clean_result()
{
	clean=$work/clean/$1.$2.db
	[ -e "$clean" ] && return
	mkdir -p "$work/clean"
	CUTRACE_DEVICE=$2 FAULT_RULE='' replay "$clean.$shard.part" "$traces/$1.trace"
	[ "$status" = 0 ] || {
		cat "$clean.$shard.part.txt" >&2
		echo "$1 on $2: what has no fault differs from the recording" >&2
		exit 1
	}
	mv "$clean.$shard.part.txt" "$clean.txt"
	mv "$clean.$shard.part" "$clean"
}

# Rows that the fault changed, in order. A row that has the device's own results, which are legal, is in both.
changed="SELECT m.launch, m.kernel_name, m.kind FROM verdict m WHERE m.kind IN ('written', 'fault', 'copy') AND m.pass = 1
	AND m.grade <> 'unverified' AND m.launch > 0 AND NOT EXISTS (SELECT 1 FROM clean.verdict c WHERE c.process = m.process AND c.call = m.call
	AND c.kind = m.kind AND c.base IS m.base AND c.differing IS m.differing AND c.max_abs IS m.max_abs AND c.got IS m.got)
	ORDER BY m.launch, m.id"

has_column()
{
	[ "$(query "$1" "SELECT count(*) FROM pragma_table_info('verdict') WHERE name = '$2'")" -gt 0 ]
}

# ---- the score of one fault --------------------------------------------------------------------------------

# The lines that were changed, one a line, into $work/lines.$shard.
changed_lines()
{
	if [ "$level" = ptx ]; then
		find "$modules/$program" -name '*.ptx' -exec "$tools/faults" lines "$rule" {} + | cut -d' ' -f1
	else
		find "$modules/$program" -name '*.ptx' -exec stat -c '%s' {} + | sort -u >"$work/sizes.$shard"
		touch "$cache/lines"
		awk 'NR == FNR { size[$1]; next } $1 in size { print $3 }' "$work/sizes.$shard" "$cache/lines"
	fi | sort -u >"$work/lines.$shard"
}

# The first difference as the report has it: kernel, line, how the line is known.
read_report()
{
	named=$(sed -n '/^first difference/,$s/^  kernel *\([^ ,]*\).*/\1/p' "$result.txt" | head -n 1)
	line='' how=none
	[ -n "$named" ] || return 0
	columns="NULL, 'none'"
	if has_column "$result" wrong_line; then
		columns="coalesce(wrong_line, line), coalesce(wrong_how, CASE WHEN line IS NULL THEN 'none' ELSE 'fault' END)"
	fi
	row=$(query "$result" "SELECT $columns FROM verdict WHERE grade IN ('differs', 'fault') AND kind IN ('written', 'fault')
		AND kernel_name = '$named' ORDER BY call, wrong_line IS NULL, id LIMIT 1" 2>/dev/null ||
		query "$result" "SELECT $columns FROM verdict WHERE grade IN ('differs', 'fault') AND kernel_name = '$named' ORDER BY call, id LIMIT 1")
	line=${row%%	*} how=${row#*	}
}

score()
{
	truth=$(query "$result" "ATTACH '$clean' AS clean; $changed LIMIT 1")
	[ -n "$truth" ] || {
		outcome=unobservable
		grep -q 'could not be loaded\|is not replayed\|INVALID_PTX' "$result.txt" && outcome=invalid
		return 0
	}
	outcome=seen kernel=$(printf '%s' "$truth" | cut -f2)
	read_report
	[ "$named" = "$kernel" ] && right_kernel=1 || right_kernel=0
	changed_lines
	right_line=0
	if [ "$right_kernel" = 1 ] && [ -n "$line" ] && grep -qx "$line" "$work/lines.$shard"; then
		right_line=1
	fi
}

# one_fault NUMBER RULE LEVEL PROGRAM TARGET KIND
one_fault()
{
	number=$1 rule=$2 level=$3 program=$4 target=$5 kind=$6
	kernel='' named='' line='' how='' right_kernel='' right_line='' outcome=''
	result=$work/result.$shard.db
	cache=$work/cache.$shard
	clean_result "$program" "$target"
	start=$(date +%s%N)
	if [ "$level" = llvm ]; then
		rm -rf "$cache"
		mkdir -p "$cache"
		echo "$rule${FAULT_SPARE_LOG:+ spare-log}" >"$cache/rule"
		CUTRACE_DEVICE=$target CUTRACE_COMPILER=$tools/cutrace-compile CUTRACE_CACHE=$cache FAULT_RULE="" replay "$result" "$traces/$program.trace"
	else
		FAULT_RULE=$rule CUTRACE_DEVICE=$target replay "$result" "$traces/$program.trace"
	fi
	score
	ms=$((($(date +%s%N) - start) / 1000000))
	printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$number" "$outcome" "$rule" "$level" "$program" "$target" "$kind" \
		"$kernel" "$named" "$right_kernel" "$right_line" "$line" "$how" "$ms" >>"$scores"
	[ "$outcome" = unobservable ] || cp "$result.txt" "$work/reports/$number.txt"
}

# ---- all faults ----------------------------------------------------------------------------------------------

run_faults()
{
	scores=$work/faults.$shard.tsv part=$((count / shards))
	mkdir -p "$work/reports"
	[ "$again" = 0 ] || rm -f "$scores"
	touch "$scores"
	[ -n "$list" ] || {
		list=$work/list.$shard
		"$tools/faults" list "$seed" "$modules" >"$list"
	}
	seen=$(awk -F '\t' '$2 == "seen"' "$scores" | wc -l)
	number=0
	while [ "$seen" -lt "$part" ] && IFS='	' read -r rule level program target kind; do
		number=$((number + 1))
		[ $((number % shards)) -eq $((shard % shards)) ] || continue
		grep -q "^$number	" "$scores" && continue
		case $level-$target in
		llvm-* | *-amdemu*) [ -x "$build/lib/cutrace/cutrace-compile" ] || continue ;;
		esac
		one_fault "$number" "$rule" "$level" "$program" "$target" "$kind"
		[ "$outcome" != seen ] || seen=$((seen + 1))
		printf '%d of %d: %s %s on %s: %s\n' "$seen" "$part" "$rule" "$program" "$target" \
			"$outcome${named:+, $named}${right_kernel:+, kernel $right_kernel, line $right_line}" >&2
	done <"$list"
}

# ---- clean runs -----------------------------------------------------------------------------------------------

run_clean()
{
	scores=$work/clean.$shard.tsv
	mkdir -p "$work/alarms"
	[ "$again" = 0 ] || rm -f "$scores"
	touch "$scores"
	set -- "$traces"/*.trace
	number=0
	while [ "$number" -lt "$count" ]; do
		number=$((number + 1))
		trace=$1
		shift
		set -- "$@" "$trace"
		[ $((number % shards)) -eq $((shard % shards)) ] || continue
		grep -q "^$number	" "$scores" && continue
		n=$((1000 * seed + number)) program=$(basename "$trace" .trace) result=$work/clean.$shard.db
		CUTRACE_DEVICE="interp:contract=seed:$n,order=seed:$n,tensor=seed:$n,approx=seed:$n" FAULT_RULE='' replay "$result" "$trace"
		case $status in
		0) outcome=clean ;;
		1) outcome=alarm ;;
		*) outcome="could not" ;;
		esac
		inside=$(query "$result" "SELECT count(*) FROM verdict WHERE grade IN ('inside', 'chaotic')")
		printf '%s\t%s\t%s\t%s\t%s\n' "$number" "$outcome" "$program" "$n" "$inside" >>"$scores"
		[ "$outcome" = clean ] || cp "$result.txt" "$work/alarms/$number.txt"
		printf '%d of %d: %s: %s\n' "$number" "$count" "$program" "$outcome" >&2
	done
}

# ---- the score ----------------------------------------------------------------------------------------------------

report()
{
	sqlite3 -batch :memory: 2>/dev/null <<-SQL
		.mode tabs
		CREATE TABLE f (number INTEGER, outcome, rule, level, program, target, kind, kernel, named, k INTEGER, l INTEGER, line, how, ms INTEGER);
		CREATE TABLE c (number INTEGER, outcome, program, n, inside INTEGER);
		$(for file in "$work"/faults.*.tsv; do [ ! -e "$file" ] || printf '.import "%s" f\n' "$file"; done)
		$(for file in "$work"/clean.*.tsv; do [ ! -e "$file" ] || printf '.import "%s" c\n' "$file"; done)
		DELETE FROM f WHERE outcome <> 'seen';
		.mode column
		.headers on
		SELECT kind, count(*) AS seeded, sum(k) AS kernel, sum(l) AS line, sum(how = 'instruction') AS instruction,
			sum(how = 'values') AS "values", sum(how = 'store') AS store FROM f GROUP BY kind;
		.print
		SELECT CASE WHEN target = 'interp' THEN 'PTX, interpreter' WHEN level = 'ptx' THEN 'PTX, AMD code' ELSE 'LLVM IR, AMD code' END AS executor,
			count(*) AS seeded, sum(k) AS kernel, sum(l) AS line, sum(ms) / 1000 AS seconds FROM f GROUP BY 1;
		.print
		.headers off
		.mode list
		SELECT printf('%d faults that change a result: right kernel %.1f %%, right PTX line %.1f %%',
			count(*), 100.0 * sum(k) / count(*), 100.0 * sum(l) / count(*)) FROM f;
		SELECT printf('%d clean replays: %d false alarms, %d could not; %d buffers differed and were found legal',
			count(*), sum(outcome = 'alarm'), sum(outcome = 'could not'), sum(inside)) FROM c HAVING count(*) > 0;
		.print
		SELECT 'missed: ' || number || ': ' || rule || ' in ' || program || ' on ' || target || ': ' || kernel ||
			CASE WHEN k = 0 THEN ' is wrong, named: ' || CASE named WHEN '' THEN 'none' ELSE named END
			ELSE ', line named: ' || line || ' (' || how || ')' END FROM f WHERE k = 0 OR l = 0 ORDER BY k, number;
		SELECT 'false alarm: ' || number || ': ' || program || ', seed ' || n || ': ' || outcome FROM c WHERE outcome <> 'clean';
	SQL
}

# One of each way in which a line is found: all kernels and lines have to be right.
few='sub-f32-swapped ptx driver_fft interp operands
scale-short ptx driver_compaction interp address
tid-axes ptx driver_saxpy interp special_register
bar-sync-lost ptx driver_fft interp barrier
bar-sync-lost ptx driver_bitonic_sort interp barrier
div-f32-by-rcp ptx runtime_attention_wmma interp precision
red-max-as-add ptx fault_operations interp atomic
mul-hi-signed ptx fault_operations amdemu:gfx1100 integers
shfl-idx-segment-lost ptx fault_operations amdemu:gfx1100 shuffle
ir-fma-split llvm driver_saxpy amdemu:gfx1100 fusing
ir-fsub-fused llvm driver_fft amdemu:gfx1100 fusing
ir-maxnum-maximum llvm fault_operations amdemu:gfx90a NaN'

few_of_both()
{
	rm -rf "$work"
	mkdir -p "$work"
	programs="driver_saxpy driver_fft driver_compaction driver_out_of_bounds driver_bitonic_sort runtime_attention_wmma"
	printf '%s\n' "$few" | tr ' ' '	' >"$work/few"
	[ -x "$build/lib/cutrace/cutrace-compile" ] || sed -i '/amdemu/d' "$work/few"
	[ -x "$build/tests/programs/runtime_attention_wmma" ] || sed -i '/	runtime_/d' "$work/few"
	count=$(wc -l <"$work/few")
	record_programs
	list=$work/few
	run_faults 2>"$work/faults.log"
	run_clean 2>"$work/clean.log"
	report >"$work/report"
	cat "$work/report"
	grep -q "^$count faults that change a result: right kernel 100.0 %, right PTX line 100.0 %" "$work/report" &&
		grep -q "^$count clean replays: 0 false alarms, 0 could not" "$work/report"
}

mkdir -p "$work"
case $step in
test) few_of_both ;;
faults) record_programs && run_faults ;;
clean) record_programs && run_clean ;;
report) report ;;
*) exit 2 ;;
esac
