#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: dry_run.sh BUILD
#
# The whole round trip of pack.sh, run.sh and check_returned.sh, with our own driver in the place of NVIDIA's.
set -eu

build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$build/tests/nvidia/round_trip
rm -rf "$work"
mkdir -p "$work"
sh "$here/pack.sh" "$build" "$work/packed"
EVIDENCE='driver_reduction driver_fft runtime_histogram' STRIDE=97 SAMPLES=0 STEPS=2 TARGET=sm_90a \
	DRIVER=$work/packed/lib/cutrace/zluda/libcuda.so.1 sh "$work/packed/run.sh" "$work/out"
[ "$(find "$work/out" -type f | wc -l)" -le 8 ]
sh "$here/check_returned.sh" "$work/out" "$build"
