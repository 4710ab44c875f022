#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: pack.sh BUILD [FOLDER]
#
# RUN= names another run.sh to be packed (tests/amd has one).
#
# Collects in FOLDER (default: BUILD/nvidia) what run.sh needs on another machine: cutrace, its libraries (also the
# system's that such a machine may lack), the test programs, and the tests of instructions. Nothing has to be installed there.
set -eu

build=$(cd "$1" && pwd)
folder=${2:-$build/nvidia}
here=$(cd "$(dirname "$0")" && pwd)

rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/lib" "$folder/programs" "$folder/system"
cp "$build/bin/cutrace" "$folder/bin/"
cp -R "$build/lib/cutrace" "$folder/lib/"
find "$build/tests/programs" -maxdepth 1 -type f -perm -u+x -exec cp {} "$folder/programs/" \;
cp "${RUN:-$here/run.sh}" "$here/lib.sh" "$here/../e2e/programs.list" "$folder/"

cmake --build "$build" --target training_step >/dev/null || echo 'pack.sh: no training_step: its cost is not measured' >&2
for tool in "$build/tests/ptx_isa/test_ptx_isa" "$build/tests/sweep/sweep" "$build/bench/training_step"; do
	[ ! -x "$tool" ] || cp "$tool" "$folder/bin/"
done

# Shared libraries, but for those that belong to the C library and must match the kernel's loader.
{
	for program in "$folder"/bin/*; do ldd "$program"; done
	find "$folder/lib" -name '*.so*' -exec ldd {} \;
	find "$folder/lib" -type f -perm -u+x ! -name '*.so*' -exec ldd {} \; 2>/dev/null || true
	for program in "$folder"/programs/runtime_*; do
		[ ! -e "$program" ] || ldd "$program"
	done
} | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
	grep -vE '/(ld-linux[^/]*|libc|libm|libdl|libpthread|librt|libresolv|libcuda|libcutrace-[a-z]*)\.so' |
	while IFS= read -r library; do
		cp -L "$library" "$folder/system/"
	done
find "$folder" -type f -exec strip --strip-debug {} \; 2>/dev/null || true
du -sh "$folder"
