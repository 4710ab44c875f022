#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# ptxas_targets.sh EMITTER CHECK_PTX: what a target lacks, the toolkit's ptxas and we must say alike. The table of all
# forms (isa_forms.txt) has modules by the lowest target that takes them; each is offered for the target before, and
# the lines that are refused are compared. Operands that need a target (a third one of min, registers of clusters) are
# not looked at when opcodes are decoded: those lines are excused.
set -eu
emitter=$1 check=$2
ptxas=$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)
if ! [ -x "$ptxas" ]; then
	echo "skipped: ptxas is not installed"
	exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/forms"
"$emitter" --emit "$dir/forms" >/dev/null
excused='^(min|max)(.ftz)?(.NaN)?(.abs)?.f32 |^mov.(u32|pred) |^mbarrier.arrive(_drop)?.shared.b64 |cp_mask|^T:'

before() {
	case $1 in
	80) echo 75 ;;
	86) echo 80 ;;
	89) echo 86 ;;
	90) echo 89 ;;
	100) echo 90 ;;
	esac
}

failures=0 refused=0
for file in "$dir"/forms/*.ptx; do
	sm=$(sed -n 's/^\.target sm_\([0-9]*\)$/\1/p' "$file")
	lower=$(before "$sm")
	[ -n "$lower" ] || continue
	sed "s/^\.target sm_.*/.target sm_$lower/" "$file" >"$dir/low.ptx"
	"$ptxas" -arch "compute_$lower" "$dir/low.ptx" -o /dev/null 2>&1 |
		sed -n 's/.*, line \([0-9]*\);.*/\1/p' | sort -u >"$dir/theirs"
	"$check" "$dir/low.ptx" 2>&1 | sed -n 's/.*low\.ptx:\([0-9]*\):[0-9]*: error.*/\1/p' | sort -u >"$dir/ours"
	refused=$((refused + $(wc -l <"$dir/theirs")))
	for line in $(comm -3 "$dir/theirs" "$dir/ours"); do
		text=$(sed -n "${line}s/^[[:space:]]*//p" "$dir/low.ptx")
		echo "$text" | grep -Eq "$excused" && continue
		failures=$((failures + 1))
		echo "sm_$lower: only $(grep -qx "$line" "$dir/ours" && echo we || echo ptxas) refuse: $text"
	done
done
echo "$refused lines refused, $failures by one of the two alone"
[ "$failures" -eq 0 ] && [ "$refused" -gt 1000 ]
