#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# link.sh LINK KERNELS OBJECT...: what elf_link makes of clang's objects runs as what ld.lld makes of them: KERNELS is the
# emulator's test of those kernels, which compares with C. Tools that know the format find nothing odd in it.
set -eu

link=$1 kernels=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

for object in "$@"; do
	"$link" "$object" "$dir/co"
	"$kernels" "$dir/co" >"$dir/out" 2>&1 || {
		echo "$object: linked by elf_link, the kernels' test fails:" >&2
		cat "$dir/out" >&2
		exit 1
	}
	if command -v llvm-readelf-19 >/dev/null; then
		llvm-readelf-19 -a "$dir/co" >/dev/null 2>"$dir/warnings"
		if [ -s "$dir/warnings" ]; then
			cat "$dir/warnings" >&2
			exit 1
		fi
	fi
done
echo "$# objects"
