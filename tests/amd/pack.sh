#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: pack.sh BUILD [FOLDER]
#
# Collects in FOLDER (default: BUILD/amd) what run.sh needs on a machine with an AMD GPU and ROCm: cutrace with its
# compiler, libraries that such a machine may lack, the test programs, the test of instructions. Nothing has to be
# installed there but ROCm.
set -eu

build=$(cd "$1" && pwd)
folder=${2:-$build/amd}
here=$(cd "$(dirname "$0")" && pwd)

RUN=$here/run.sh sh "$here/../nvidia/pack.sh" "$build" "$folder"
