#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A program of relocatable device code hands over several containers at once; the trace has them one after the
# other, and the replay must find the one with the kernels.
set -eu
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
fresh_work relocatable_code

program=$programs/runtime_vector_add_relocatable
[ -x "$program" ] || {
	echo "skipped: $program is not built here (no nvcc)"
	exit 77
}
expect 0 "$cutrace" record -q --device interp -o "$work/t.cutrace" -- "$program"
expect 0 "$cutrace" replay --device interp "$work/t.cutrace"
says out '^match: [1-9][0-9]* launch'
finish
