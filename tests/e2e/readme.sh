#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What the README shows is what a reader gets: each of its `console` blocks is run again and compared. Sizes in bytes, which depend on
# versions of compilers and libraries, may differ.
set -eu
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
fresh_work readme
here=$(cd "$(dirname "$0")" && pwd)
readme=$here/../../README.md

without_sizes()
{
	sed -E 's/[0-9.]+ (KB|bytes)/N \1/g'
}

# block N: the N-th console block.
block()
{
	awk -v n="$1" '/^```console$/ { block++; inside = 1; next } /^```$/ { inside = 0 } inside && block == n' "$readme"
}

# Both outputs together, as on a terminal.
expect 0 sh -c "sh '$here/demo.sh' '$build' 2>&1"
tail -n +2 "$work/out" | without_sizes >"$work/demo.shown"
block 1 | without_sizes >"$work/demo.said"
diff -u "$work/demo.said" "$work/demo.shown" >&2 || fail "the README's demo is not what the demo shows"

for program in nbody out_of_bounds; do
	expect 0 "$cutrace" record -o "$work/$program.trace" --device interp -- "$programs/driver_$program"
done
blocks=$(grep -c '^```console$' "$readme")
[ "$blocks" -ge 4 ] || fail "the README has $blocks console blocks instead of the demo and three queries"
number=2
while [ "$number" -le "$blocks" ]; do
	# The command is the first line and those after it up to the closing quote.
	block "$number" | awk 'NR == 1 { sub(/^\$ /, "") } { print } /"$/ { exit }' >"$work/query.sh"
	block "$number" | awk 'shown { print } /"$/ { shown = 1 }' >"$work/said"
	(cd "$work" && sh ./query.sh) >"$work/shown" || fail "block $number does not run"
	# The size of the module's text is the compiler's; and a call's number is one more when a thread of the driver's began
	# before it (docs/format.md, call.id).
	for file in said shown; do
		sed -E '/image/s/[0-9]+ +│$/N │/; /_ERROR_/s/^│ [0-9]+ /│ N /' "$work/$file" >"$work/$file.sizeless"
	done
	diff -u "$work/said.sizeless" "$work/shown.sizeless" >&2 || fail "query block $number gives something else"
	number=$((number + 1))
done

# Prose is wrapped; blocks, tables and addresses are as long as they are.
long=$(awk '/^```/ { block = !block } !block && !/^\|/ && !/\]\(http/ && length($0) > 140 { print FNR }' "$readme" | tr '\n' ' ')
[ -z "$long" ] || fail "lines of the README that are too long: $long"
finish
