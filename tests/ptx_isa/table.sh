#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# table.sh NAME=FILE...: forms x targets of what `test_ptx_isa --results FILE` wrote for each target: how many have the
# interpreter's bits, other bits within the document's bounds, wrong ones, are refused, or are refused by the interpreter as
# well; then why, commonest first. A NAME may have several files, of shards (--stride).
set -eu

for arg in "$@"; do
	sed "s/^/${arg%%=*}\t/" "${arg#*=}"
done | awk -F '\t' '
	{
		if (!($1 in seen)) { seen[$1] = 1; targets[++ntargets] = $1 }
		if (!($3 in suites)) { suites[$3] = 1; names[++nsuites] = $3 }
		count[$1, $3, $2]++
		count[$1, "all", $2]++
		if ($2 == "refused" || $2 == "neither" || $2 == "differs") {
			reason = $5
			sub(/^[^:]*:[0-9]*:[0-9]*: /, "", reason)
			sub(/^[^:]*:[0-9]+: /, "", reason)
			sub(/^kernel k[0-9]+ can.t be compiled for [^:]*: /, "", reason)
			if ($2 == "differs") reason = $3 ": " $4
			reasons[$2 ": " reason]++
			if (!(where[$2 ": " reason] ~ $1)) where[$2 ": " reason] = where[$2 ": " reason] " " $1
		}
	}
	function row(suite,    t, k) {
		printf "| %s |", suite
		for (t = 1; t <= ntargets; t++) {
			k = targets[t]
			printf " %d / %d / %d / %d / %d |", count[k, suite, "equal"], count[k, suite, "bound"], count[k, suite, "differs"], count[k, suite, "refused"], count[k, suite, "neither"]
		}
		printf "\n"
	}
	END {
		printf "equal / within bounds / differs / refused / refused by the interpreter, too\n\n| forms |"
		for (t = 1; t <= ntargets; t++) printf " %s |", targets[t]
		printf "\n|---|"
		for (t = 1; t <= ntargets; t++) printf "---|"
		printf "\n"
		for (s = 1; s <= nsuites; s++) row(names[s])
		row("all")
		printf "\n"
		for (r in reasons) printf "%6d %s (%s)\n", reasons[r], r, substr(where[r], 2) | "sort -rn"
	}'
