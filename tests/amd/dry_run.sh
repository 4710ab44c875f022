#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: dry_run.sh BUILD
#
# The whole round trip of pack.sh, run.sh and check_returned.sh, with a stand-in for ROCm 6 (tests/hip) in the place of a
# GPU's.
set -eu

build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$build/tests/amd/round_trip
rm -rf "$work"
mkdir -p "$work"
sh "$here/pack.sh" "$build" "$work/packed"
ROCM_PATH=$build/tests/hip/rocm6 STRIDE=500 sh "$work/packed/run.sh" "$work/out"
[ "$(find "$work/out" -type f | wc -l)" -le 10 ]
sh "$here/check_returned.sh" "$work/out" "$build"
