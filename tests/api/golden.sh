# SPDX-License-Identifier: Apache-2.0
# golden/NAME.api, described, must give golden/NAME.OUTPUT for every OUTPUT that lies beside it.
# usage: golden.sh APIGEN [--accept]
apigen=$1 status=0 n=0
cd "$(dirname "$0")/golden" || exit 1
for want in *.abi *.tables *.stubs *.entries *.sql *.check *.ids; do
	[ -e "$want" ] || continue
	n=$((n + 1))
	kind=${want##*.}
	if [ "$2" = --accept ]; then
		"$apigen" -p "$kind" "${want%.*}.api" >"$want" || status=1
	elif ! "$apigen" -p "$kind" "${want%.*}.api" | diff -u "$want" -; then
		echo "FAILED: $want"
		status=1
	fi
done
echo "$n outputs compared"
[ "$n" -gt 0 ] || status=1
exit $status
