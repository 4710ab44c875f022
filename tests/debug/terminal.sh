#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What only happens at a terminal, or between processes: an empty line repeats, errors don't end the session, Ctrl-C stops the kernel,
# a killed process is reported and leaves none behind.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work debug_terminal
trace=$work/saxpy.trace
expect 0 "$cutrace" record -q -o "$trace" --device interp -- "$programs/driver_saxpy"

if command -v script >/dev/null; then
	printf 'stepi\n\n\nfrobnicate\ninfo time\nhalf a line\003\necho still here\nreverse-stepi\n\ninfo time\nquit\n' >"$work/typed"
	mkfifo "$work/keys"
	{
		sleep 1
		while IFS= read -r line; do
			printf '%s\n' "$line"
			sleep 0.2
		done <"$work/typed"
	} >"$work/keys" &
	# exec: a shell that waits for the debugger would end by the Ctrl-C too.
	expect 0 timeout 60 script -qec "exec $cutrace debug $trace" /dev/null <"$work/keys"
	says out '\(cutrace\) '
	says out "there is no command 'frobnicate'"
	says out '^time 3,'
	says out '^still here'
	says out '^time 1,'
else
	echo 'no terminal: script (package bsdutils) is not here'
fi

# Conditions that are never true make a loop slow: the kernel is interrupted in the middle.
last=$work/spinlock.trace
expect 0 "$cutrace" record -q -o "$last" --device interp -- "$programs/driver_spinlock_warp"
launch=$(sqlite3 "$last" 'SELECT min(call) FROM launch')
line=$(grep -n 'atom.*cas' "$programs/driver/spinlock_warp.ptx" | head -n 1 | cut -d: -f1)
mkfifo "$work/commands"
setsid timeout 60 "$cutrace" debug "$last" --launch "$launch" <"$work/commands" >"$work/out" 2>"$work/err" &
debugger=$!
exec 3>"$work/commands"
{
	k=0
	while [ "$k" -lt 40 ]; do
		echo "break $line if {u32}param_1 == 123456 && tid.x == 77 || tid.x == 1000 + $k"
		k=$((k + 1))
	done
	echo 'goto 10'
	echo 'echo ready'
} >&3
waits=0
while ! grep -q ready "$work/out" && [ "$waits" -lt 300 ]; do
	sleep 0.1
	waits=$((waits + 1))
done
inner=$(ps -o pid= --ppid "$debugger" | head -n 1 | tr -d ' ')
[ -n "$inner" ] || fail 'no debugger is running'
echo 'continue' >&3
sleep 0.3
kill -INT -"$(ps -o pgid= -p "$inner" | tr -d ' ')" || fail 'there is nobody to interrupt'
sleep 0.2
printf 'info time\nreverse-stepi\nquit\n' >&3
exec 3>&-
status=0
wait "$debugger" || status=$?
[ "$status" -eq 0 ] || fail "exit status $status after an interruption"
says out '^Interrupted\.'
says out '^time [0-9]+'

# A process that dies takes the session with it, and is named; nobody is left.
mkfifo "$work/more"
timeout 60 "$cutrace" debug "$trace" <"$work/more" >"$work/out" 2>"$work/err" &
debugger=$!
exec 3>"$work/more"
printf 'stepi 5\nreverse-stepi\necho ready\n' >&3
waits=0
while ! grep -q ready "$work/out" && [ "$waits" -lt 300 ]; do
	sleep 0.1
	waits=$((waits + 1))
done
tree=$debugger newest=$debugger
while newest=$(ps -o pid= --ppid "$newest" | head -n 1 | tr -d ' ') && [ -n "$newest" ]; do tree="$tree $newest"; done
# shellcheck disable=SC2086 # words
set -- $tree
[ "$#" -ge 4 ] || fail "no checkpoint: processes $tree"
for last in "$@"; do :; done
kill -SEGV "$last"
status=0
wait "$debugger" || status=$?
exec 3>&-
[ "$status" -eq 125 ] || fail "exit status $status after the process died"
says err 'was ended by signal 11'
for pid in "$@"; do
	if kill -0 "$pid" 2>/dev/null; then fail "process $pid is still there"; fi
done
finish
