#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# ptxas.sh EXCEPTIONS EMITTER... -- FILE|DIR...: the toolkit's ptxas must accept our test PTX.
#
# An EMITTER is a test program that writes modules with `--emit DIR`. EXCEPTIONS names what ptxas refuses and why we keep
# it: lines "text of the offending line | message", as parts. Only text is judged: nothing is generated (-arch compute_XX).
set -eu
exceptions=$1
shift
ptxas=$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)
if ! [ -x "$ptxas" ]; then
	echo "skipped: ptxas is not installed"
	exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	mkdir "$dir/$n"
	"$1" --emit "$dir/$n" >/dev/null
	n=$((n + 1))
	shift
done
[ $# -eq 0 ] || shift
grep -v '^#' "$exceptions" >"$dir/exceptions" || true

# The architecture a module is for; ptxas begins at 75.
architecture() {
	sm=$(sed -n 's/^[[:space:]]*\.target *sm_\([0-9]*[af]*\).*/\1/p' "$1" | head -n 1)
	case $sm in
	? | [1-6]? | 7[0-4]) echo compute_75 ;;
	*) echo "compute_$sm" ;;
	esac
}

failures=0 modules=0 excused=0
for arg; do # a folder stands for its modules
	shift
	if [ -d "$arg" ]; then
		set -- "$@" "$arg"/*.ptx
	else
		set -- "$@" "$arg"
	fi
done
for file in "$dir"/*/*.ptx "$@"; do
	[ -e "$file" ] || continue
	modules=$((modules + 1))
	"$ptxas" -arch "$(architecture "$file")" "$file" -o /dev/null >"$dir/log" 2>&1 && continue
	grep -E 'error|fatal' "$dir/log" | grep -v 'aborted due to errors' >"$dir/errors" || cp "$dir/log" "$dir/errors"
	while IFS= read -r error; do
		line=$(echo "$error" | sed -n 's/.*, line \([0-9]*\);.*/\1/p')
		text=$(sed -n "${line:-1}p" "$file")
		message="$text | $error"
		if awk -v m="$message" -F ' [|] ' 'BEGIN { rc = 1 }
			index(m, $1) && index(m, $2) { rc = 0 } END { exit rc }' "$dir/exceptions"; then
			excused=$((excused + 1))
		else
			failures=$((failures + 1))
			echo "$(basename "$file"):${line:-?}: $text"
			echo "    ${error#*; }"
		fi
	done <"$dir/errors"
done
echo "$modules modules, $failures errors, $excused known exceptions"
[ "$failures" -eq 0 ] && [ "$modules" -gt 0 ]
