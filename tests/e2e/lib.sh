# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced by the scripts of this folder that test the command line: lib.sh NAME, with the build directory in $1.

build=$1
# shellcheck disable=SC2034 # used by who sources this
cutrace=$build/bin/cutrace
# shellcheck disable=SC2034
programs=$build/tests/programs
failures=0

fail()
{
	printf '%s\n' "FAIL: $*" >&2
	failures=$((failures + 1))
}

# An empty directory of this test's own.
fresh_work()
{
	work=$build/tests/e2e/$1
	rm -rf "$work"
	mkdir -p "$work"
}

# expect STATUS COMMAND...: leaves the output in $work/out and $work/err.
expect()
{
	expected=$1 status=0
	shift
	"$@" >"$work/out" 2>"$work/err" || status=$?
	if [ "$status" -ne "$expected" ]; then
		fail "exit status $status instead of $expected from: $*"
		sed 's/^/  | /' "$work/out" "$work/err" >&2
	fi
}

# says FILE REGEX: the last command's output (out) or error output (err).
says()
{
	grep -qE -- "$2" "$work/$1" || {
		fail "std$1 does not say /$2/:"
		sed 's/^/  | /' "$work/$1" >&2
	}
}

finish()
{
	[ "$failures" -eq 0 ] || exit 1
	printf 'ok\n'
}
