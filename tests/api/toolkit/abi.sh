# SPDX-License-Identifier: Apache-2.0
# Prototypes, layout, constants and versions compile against the vendor's headers unchanged.
. "${4}/common.sh"
# A claim that is wrong on purpose: the check must be able to fail.
if echo 'API_CHECK_VALUE(CUDA_VERSION, 1)' | cat "$gen/api/gen/abi_check.inc" - >"$tmp/wrong.inc" &&
	sed "s,api/gen/abi_check.inc,$tmp/wrong.inc," "$here/abi.c" >"$tmp/wrong.c" &&
	"$cc" -fsyntax-only -I"$here" -I"$here/shim" -I"$include" "$tmp/wrong.c" 2>/dev/null; then
	echo "the check accepts a wrong claim"
	exit 1
fi
"$cc" -fsyntax-only -I"$here/shim" -I"$include" -I"$gen" "$here/abi.c" || exit 1
echo "$(grep -c ^API_CHECK_ "$gen/api/gen/abi_check.inc") claims hold"
