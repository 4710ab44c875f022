#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Programs built by nvcc, with static and with shared cudart, run on our libcuda.so.1.
# usage: nvcc_programs.sh NVCC SOURCE_DIR LIBRARY_DIR WORK_DIR
set -eu
nvcc=$1 source=$2 library=$3 work=$4/nvcc_programs
if grep -q libasan "$library/libcuda.so.1" || grep -q libtsan "$library/libcuda.so.1"; then
	echo "skipped: a program of nvcc can't load a library with a sanitizer"
	exit 77
fi
mkdir -p "$work"
status=0

# try NAME EXPECTED_LINE nvcc-options...
try()
{
	name=$1 expected=$2
	shift 2
	if ! "$nvcc" -std=c++17 "$@" -o "$work/$name" "$source/nvcc_program.cu" >"$work/$name.log" 2>&1; then
		echo "FAIL $name: does not build"
		cat "$work/$name.log"
		status=1
		return
	fi
	LD_LIBRARY_PATH=$library:$(dirname "$nvcc")/../lib64 timeout 60 "$work/$name" >"$work/$name.out" 2>&1 || true
	if [ "$expected" = "all right" ] && grep -q "cutrace:" "$work/$name.out"; then
		echo "FAIL $name: complaints of the driver in"
		cat "$work/$name.out"
		status=1
	elif grep -qF "$expected" "$work/$name.out"; then
		echo "ok $name"
	else
		echo "FAIL $name: expected '$expected' in"
		cat "$work/$name.out"
		status=1
	fi
}

ptx80="-gencode arch=compute_80,code=compute_80"
# shellcheck disable=SC2086
{
	try static "all right" $ptx80
	try shared "all right" $ptx80 -cudart shared
	try per_thread "all right" $ptx80 --default-stream per-thread
	try lz4 "all right" $ptx80 --compress-mode speed
	try stored "all right" $ptx80 --compress-mode none
	try several "all right" -gencode arch=compute_75,code=compute_75 $ptx80
	try machine_code "has no PTX, only elf:80" -gencode arch=compute_80,code=sm_80
	try newer "PTX for sm_100 is run on a device of compute capability 9.0" -gencode arch=compute_100,code=compute_100
}
exit $status
