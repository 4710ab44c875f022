#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# An installed cutrace, moved to another place afterwards, finds its libraries beside itself: it records and replays, and nothing of the
# build folder is loaded.
set -eu
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
fresh_work install

expect 0 cmake --install "$build" --prefix "$work/first"
mv "$work/first" "$work/prefix"
installed=$work/prefix/bin/cutrace
expect 0 "$installed" record -o "$work/saxpy.trace" --device interp -- "$programs/driver_saxpy"
expect 0 "$installed" replay --device interp "$work/saxpy.trace"
says out '^match'
driver=$(sqlite3 -readonly "$work/saxpy.trace" "SELECT value FROM meta WHERE key = 'driver_path'")
case $driver in
"$work"/prefix/*) ;;
*) fail "the recording used $driver" ;;
esac
if find "$work/prefix" -name '*.a' -o -name 'test_*' -o -name 'driver_*' -o -name check_ptx | grep .; then
	fail "things were installed that belong to the build only"
fi
finish
