#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# ./setup where things are missing: with apt it updates and installs just those packages, through sudo when it has to; without apt
# it names them. The system around it is a folder of links and fakes; nothing is installed.
set -eu
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
fresh_work setup_script
setup=$(cd "$(dirname "$0")/../.." && pwd)/setup

# A PATH with the usual tools, but no compiler, cmake, sqlite3...
tools=$work/tools
mkdir "$tools"
for tool in sh dirname id env mktemp cat rm mkdir tail printf nproc pwd touch grep; do
	path=$(command -v "$tool")
	case $path in
	/*) ln -s "$path" "$tools/$tool" ;;
	esac
done

# Takes the place of a link above, never of the file it points to.
fake()
{
	rm -f "$tools/$1"
	printf '#!/bin/sh\n%s\n' "$2" >"$tools/$1"
	chmod +x "$tools/$1"
}

expect 0 sh "$setup" --help
says out '^usage: ./setup demo'
expect 2 sh "$setup"
expect 2 sh "$setup" frobnicate

expect 125 env PATH="$tools" sh "$setup" build
says err 'cmake ninja-build gcc .*libcmocka-dev'

# With apt, as an ordinary user with sudo: both calls of apt-get go through sudo, and name what is missing.
fake id 'echo 1000'
# shellcheck disable=SC2016 # expanded by the fakes
{
	fake sudo 'echo "sudo $*" >>"$CALLS"; exec "$@"'
	fake apt-get 'echo "apt-get $*" >>"$CALLS"'
}
expect 125 env PATH="$tools" CALLS="$work/calls" sh "$setup" build
says err 'still missing after the installation'
grep -q '^sudo apt-get update' "$work/calls" || fail "no update through sudo"
grep -qE '^apt-get install .*cmake .*clang-19 .*libzstd-dev' "$work/calls" || fail "apt-get was not asked for the packages"

# As an ordinary user without sudo.
rm "$tools/sudo"
expect 125 env PATH="$tools" CALLS="$work/calls" sh "$setup" build
says err 'no sudo here'

# apt-get fails: its words are shown.
fake id 'echo 0'
fake apt-get 'echo "E: the mirror is on fire" >&2; exit 100'
expect 125 env PATH="$tools" sh "$setup" build
says err 'mirror is on fire'

# A build that has nothing to do says nothing.
fake cmake 'exit 0'
fake ninja 'echo "ninja: no work to do."'
copy=$work/copy
mkdir "$copy"
sed '/^missing_packages()/,/^}/c missing_packages() { :; }' "$setup" >"$copy/setup"
expect 0 env PATH="$tools" sh "$copy/setup" build
[ ! -s "$work/out" ] && [ ! -s "$work/err" ] || fail "an idle build is not quiet: $(cat "$work/out" "$work/err")"
fake ninja 'echo "[1/1] Linking"'
expect 0 env PATH="$tools" sh "$copy/setup" build
says out 'built .*bin/cutrace'
finish
