# SPDX-License-Identifier: Apache-2.0
# Each bad/*.api says in its own comments which errors it must give, all of them and no others:
#     #! LINE:COL MESSAGE
# usage: bad.sh APIGEN
apigen=$1 status=0 n=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
cd "$(dirname "$0")/bad" || exit 1
for f in *.api; do
	n=$((n + 1))
	"$apigen" -c "$f" >"$tmp/out" 2>"$tmp/err"
	rc=$?
	[ $rc = 1 ] || { echo "FAILED: $f: exit status $rc, not 1" && status=1; }
	sed -n 's/^#! *\([0-9]*:[0-9]*\) */\1: error: /p' "$f" | sort >"$tmp/want"
	sed -n "s/^$f:\([0-9]*:[0-9]*: error: .*\)/\1/p" "$tmp/err" | sort >"$tmp/got"
	[ -s "$tmp/want" ] || { echo "FAILED: $f expects nothing" && status=1; }
	diff -u "$tmp/want" "$tmp/got" || { echo "FAILED: $f" && status=1; }
	# each error shows its line and a caret
	[ "$(grep -c '^ *| *	*\^' "$tmp/err")" -ge "$(wc -l <"$tmp/got")" ] || { echo "FAILED: $f: no carets" && status=1; }
done
echo "$n files"
exit $status
