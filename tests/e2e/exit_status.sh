#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Recording and running are transparent: output, exit status and death by a signal are the program's own.
set -eu
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
fresh_work exit_status

for how in run record; do
	case $how in
	run) set -- run --device interp ;;
	record) set -- record -o "$work/trace" --device interp ;;
	esac
	for status in 0 1 7 125; do
		expect "$status" "$cutrace" "$@" -- sh -c "echo out; echo err >&2; exit $status"
		says out '^out$'
		says err '^err$'
	done
	# As a shell sees it: 128 + SIGTERM, 128 + SIGKILL.
	# shellcheck disable=SC2016 # for the inner shell
	expect 143 "$cutrace" "$@" -- sh -c 'kill -TERM $$'
	# shellcheck disable=SC2016
	expect 137 "$cutrace" "$@" -- sh -c 'kill -KILL $$'
	# shellcheck disable=SC2016
	expect 0 "$cutrace" "$@" -- sh -c 'cat >/dev/null; test "$1" = "a  b"' sh 'a  b' </dev/null
	rm -f "$work/trace"*
done
expect 125 "$cutrace" record -o "$work/absent/trace" --device interp -- true
says err 'absent/trace'
finish
