#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: demo.sh BUILD
#
# The main job on one small program: a tiled matrix product on the driver API, recorded and replayed on the CPU
# interpreter, then replayed with one bit of one instruction's result flipped.
set -eu

build=$(cd "$1" && pwd)
work=$build/demo
PATH=$build/bin:$PATH
program=$build/tests/programs/driver_matmul

if [ -t 1 ]; then
	bold=$(printf '\033[1m') plain=$(printf '\033[0m')
else
	bold='' plain=''
fi

step()
{
	printf '\n%s== %s%s\n' "$bold" "$*" "$plain"
}

# Shows a command, runs it, and checks its exit status: shown STATUS COMMAND...
shown()
{
	expected=$1 status=0
	shift
	printf '$ %s\n' "$*"
	"$@" || status=$?
	if [ "$status" -ne "$expected" ]; then
		printf 'demo: exit status %s instead of %s\n' "$status" "$expected" >&2
		exit 1
	fi
}

rm -rf "$work"
mkdir -p "$work"
cd "$work"
ln -s "$program" matmul

step "Record: the program runs on the CPU interpreter and checks its own result"
shown 0 cutrace record -o matmul.trace --device interp -- ./matmul

step "The calls"
shown 0 cutrace dump --stable matmul.trace

step "Replay: the calls are issued again, what comes back is compared"
shown 0 cutrace replay --device interp matmul.trace

# The first fused multiply-add of the kernel, in the PTX that the trace holds.
cutrace dump --modules modules matmul.trace >/dev/null
line=$(awk '/fma\.rn\.f32/ { print NR; exit }' modules/*.ptx)
step "Replay with a fault: bit 20 of the result of PTX line $line is flipped"
sed -n "${line}p" modules/*.ptx
shown 1 cutrace replay --device interp --inject "matmul:$line:20" matmul.trace
printf '\nThe exit status is 1: it ran, and it differs.\n'
