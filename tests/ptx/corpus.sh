#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# corpus.sh CHECK_PTX CORPUS CLANG: what the compilers make of the corpus must be understood whole.
# clang is always there; nvcc is tried when it is.
set -eu
check=$1 corpus=$2 clang=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

for opt in "-O0 -g" "-O1" "-O2 -gline-tables-only" "-O3"; do
	# shellcheck disable=SC2086
	"$clang" --target=nvptx64-nvidia-cuda -march=sm_70 $opt -S "$corpus/clang_nvptx.c" \
		-o "$dir/clang$(echo "$opt" | tr -d ' ').ptx"
done

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [ -x "$nvcc" ]; then
	compile() { # SOURCE ARCHITECTURE [OPTION]
		"$nvcc" -std=c++17 -w -ptx -arch="$2" ${3:+"$3"} "$corpus/$1.cu" -o "$dir/$1.$2${3:-}.ptx"
	}
	for arch in sm_75 sm_80 sm_90 sm_100; do
		compile basics $arch
	done
	compile basics sm_80 -G
	compile basics sm_90 -lineinfo
	compile math sm_80
	compile half sm_80
	compile half sm_90
	compile half sm_100a
	compile cooperative sm_75
	compile cooperative sm_90
else
	echo "nvcc is not here: clang's output only"
fi
"$check" "$dir"/*.ptx
