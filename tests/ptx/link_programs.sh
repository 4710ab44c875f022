#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: link_programs.sh LINK_PTX CHECK_PTX CLANG PROGRAMS
#
# What clang and, where it is installed, nvcc make of our programs of several files is linked; every function of the
# result can be built, and the toolkit's assembler takes it.
set -eu
link=$1 check=$2 clang=$3 programs=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$PATH:/usr/local/cuda/bin

assemble()
{
	"$check" "$1"
	if command -v ptxas >/dev/null; then
		ptxas -arch=sm_80 -o "$work/out.cubin" "$1"
	else
		echo "not assembled: ptxas is not installed"
	fi
}

cd "$programs/driver"
for debug in -g0 -gline-tables-only -g; do
	for name in linked_pieces linked_pieces_rules; do
		"$clang" -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -nocudainc -nocudalib --cuda-path=/nonexistent \
			-fgpu-rdc -O2 $debug -S -o "$work/$name.ptx" "$name.cu"
	done
	"$link" "$work/clang$debug.ptx" "$work/linked_pieces.ptx" "$work/linked_pieces_rules.ptx"
	assemble "$work/clang$debug.ptx"
done
if ! command -v nvcc >/dev/null; then
	echo "without nvcc's code: it is not installed"
	exit 0
fi
cd "$programs/runtime"
for debug in "" -lineinfo -G; do
	for name in linked_files linked_files_math linked_files_tables; do
		nvcc -rdc=true -arch=sm_80 $debug -ptx -o "$work/$name.ptx" "$name.cu"
	done
	"$link" "$work/nvcc$debug.ptx" "$work/linked_files.ptx" "$work/linked_files_math.ptx" "$work/linked_files_tables.ptx"
	assemble "$work/nvcc$debug.ptx"
done
# One of them alone is not complete, and each name that is missing is said.
if "$link" "$work/none.ptx" "$work/linked_files_tables.ptx" 2>"$work/errors"; then
	echo "half of a program was linked" >&2
	exit 1
fi
for name in _Z3addff _Z8multiplyff _Z6largerff; do
	grep -q "undefined function '$name'" "$work/errors"
done
