#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: check_returned.sh OUT BUILD
#
# What run.sh brought back in OUT from a machine with an AMD GPU: the traces, which were recorded on that GPU, are replayed
# on the interpreter. The programs use operations that PTX defines to the bit, so a difference is a fault of ours: of the
# code that was generated, or of the interpreter. Exit status 0: every trace replays without one.
exec sh "$(dirname "$0")/../nvidia/check_returned.sh" "$@"
