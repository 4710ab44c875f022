# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced by the run.sh scripts for machines with GPUs, which pack.sh has put beside it: how programs are run, and how what
# they leave is packed. Expects $here, $out, $work, $cutrace, $deadline; counts in $failures.

# The libraries that were packed serve where the system has none of its own.
LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$here/system
export LD_LIBRARY_PATH
failures=0

# timed SECONDS COMMAND...: output is kept for messages.txt; prints the exit status.
timed()
{
	limit=$1 status=0
	shift
	printf '\n$ %s\n' "$*" >>"$out/messages.txt"
	timeout -k 5 "$limit" "$@" >>"$out/messages.txt" 2>&1 || status=$?
	printf '%s\n' "$status"
}

# all_programs FUNCTION: calls it with the name of each program that was packed.
all_programs()
{
	for name in $(awk '/^[a-z]/ { print $1 }' "$here/programs.list"); do
		if [ ! -x "$here/programs/$name" ]; then
			printf '%-28s not packed\n' "$name"
		elif [ "$(date +%s)" -ge "$deadline" ]; then
			printf '%-28s no time left\n' "$name"
			failures=$((failures + 1))
		else
			"$1" "$name" || failures=$((failures + 1))
		fi
	done
}

# Fills archives up to 15 MiB, three at most (the other files are text). A trace that is larger stays behind, by name.
pack_traces()
{
	number=1 bytes=0 list=
	cd "$work/traces"
	for trace in *.trace; do
		[ -e "$trace" ] || break
		size=$(gzip -c "$trace" | wc -c)
		if [ "$size" -gt 15728640 ] || [ "$number" -gt 3 ]; then
			printf '%-28s trace left behind: %s bytes\n' "$trace" "$size"
			continue
		fi
		if [ $((bytes + size)) -gt 15728640 ]; then
			# shellcheck disable=SC2086 # a list
			tar -czf "$out/traces-$number.tar.gz" $list
			number=$((number + 1)) bytes=0 list=
		fi
		bytes=$((bytes + size)) list="$list $trace"
	done
	# shellcheck disable=SC2086
	[ -z "$list" ] || [ "$number" -gt 3 ] || tar -czf "$out/traces-$number.tar.gz" $list
}
