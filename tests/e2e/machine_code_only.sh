#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A program whose module has machine code only can't run on the interpreter; it is told so by name.
set -eu
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
fresh_work machine_code_only

program=$programs/runtime_vector_add_machine_code
[ -x "$program" ] || {
	echo "skipped: $program is not built here (no nvcc)"
	exit 77
}
# The program's own exit status: the runtime reports an error.
expect 1 "$cutrace" run --device interp -- "$program"
says err '[Nn]o PTX|without PTX|only machine code|machine code only'
finish
