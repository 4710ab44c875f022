#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Tolerances by kernel and buffer: what they accept, what they don't, and what is no rule.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work tolerances

trace=$work/saxpy.trace rules=$work/rules
expect 0 "$cutrace" record -q --check=contents -o "$trace" --device interp -- "$programs/driver_saxpy"
expect 0 "$cutrace" dump --modules "$work/modules" "$trace"
line=$(cat "$work"/modules/*.ptx | awk '/fma\.rn\.f32/ { print NR; exit }')
# Bit 20 of a float: less than a quarter of it.
wrong="--inject saxpy:$line:20"
buffer=$(sqlite3 "$trace" "SELECT name FROM kernel_param WHERE is_written AND kernel = (SELECT kernel FROM launch LIMIT 1)")
allocation=$(sqlite3 "$trace" "SELECT a.id FROM payload p JOIN allocation a ON a.base = p.device_address WHERE p.kind = 'written' LIMIT 1")

# replays STATUS RULES: of the fault, in a stream and isolated.
replays()
{
	printf '%b' "$2" >"$rules"
	for how in '' --isolated; do
		# shellcheck disable=SC2086 # words
		expect "$1" "$cutrace" replay $how $wrong --tolerances "$rules" -o "$work/result.db" "$trace"
	done
}
replays 0 "# comment\n\nsaxpy $buffer rtol=0.3 # a quarter\n"
says out '^match: .*; [0-9]+ differ within the limits'
says out "^limits loosened: tolerances $rules \(1 rule"
n=$(sqlite3 "$work/result.db" "SELECT count(*) FROM verdict WHERE grade = 'tolerated' AND kind = 'written' AND note LIKE '%line 3 of the tolerances%'")
[ "$n" -gt 0 ] || fail 'no verdict says which line accepts it'
replays 0 "s*y * rtol=0.3\n"
replays 0 "* #$allocation atol=1e30\n"
replays 0 "sax?y nothing rtol=0\nsaxpy * ulp=4000000\n"
# Of another kernel, another buffer, too small; the first rule that matches counts.
replays 1 "gemm* * rtol=0.3\n"
replays 1 "saxpy other rtol=0.3\n"
replays 1 "* #999999 atol=1e30\n"
replays 1 "saxpy * rtol=1e-6\nsaxpy * rtol=0.3\n"
# A rule comes before the limits for all.
printf 'saxpy * rtol=1e-6\n' >"$rules"
# shellcheck disable=SC2086
expect 1 "$cutrace" replay $wrong --rtol 0.3 --tolerances "$rules" "$trace"
# Nothing is loosened that equals.
expect 0 "$cutrace" replay --tolerances "$rules" "$trace"
! grep -q 'within the limits' "$work/out" || fail 'something differs without a fault'

while IFS='|' read -r rule message; do
	printf '# first\n%b\n' "$rule" >"$rules"
	expect 2 "$cutrace" replay --tolerances "$rules" "$trace"
	says err "$message"
done <<END
saxpy|$rules:2: error: the rule names no buffer
saxpy y|$rules:2: error: the rule has no limit
saxpy y rtol|$rules:2: error: this is no limit: 'rtol'
saxpy y rtol=x|$rules:2: error: this is no limit: 'rtol=x'
saxpy y rtol=-1|$rules:2: error: this is no limit: 'rtol=-1'
saxpy y ulp=1.5|$rules:2: error: this is no limit: 'ulp=1.5'
saxpy y rtol=nan|$rules:2: error: this is no limit: 'rtol=nan'
END
printf '# only\n' >"$rules"
expect 2 "$cutrace" replay --tolerances "$rules" "$trace"
says err 'there is no rule in it'
expect 125 "$cutrace" replay --tolerances "$work/none" "$trace"
says err "can't be read: No such file"
finish
