#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The command line: help of every sub-command, and wrong usage, which is always exit status 2 and a message.
set -eu
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
fresh_work usage

expect 0 "$cutrace" --help
says out '^usage: cutrace '
expect 0 "$cutrace" --version
says out '^cutrace [0-9]+\.[0-9]+\.[0-9]+$'
for command in record run info dump replay; do
	expect 0 "$cutrace" "$command" --help
	says out "usage: cutrace $command"
	expect 2 "$cutrace" "$command" --no-such-option
	says err 'no-such-option'
	expect 2 "$cutrace" "$command"
	says err .
done
expect 2 "$cutrace"
expect 2 "$cutrace" replya
says err "did you mean 'replay'"
expect 2 "$cutrace" xyzzy
says err "unknown command 'xyzzy'"
finish
