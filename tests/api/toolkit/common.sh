# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of this folder: INCLUDE GEN CC HERE
include=$1 gen=$2 cc=$3 here=$4
case $include in
"" | *NOTFOUND)
	echo "skipped: no CUDA toolkit (cuda.h not found)"
	exit 77
	;;
esac
version=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$include/cuda.h")
if [ "$version" != 13000 ]; then
	echo "skipped: the toolkit is CUDA $version; the description is of 13000"
	exit 77
fi
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export LC_ALL=C
# What a compiler sees of the vendor's headers, all versions included. The shims stand in for GL, EGL
# and VDPAU headers, which need not be installed.
vendor() { "$cc" -E -P "$@" -I"$here/shim" -I"$include" "$here/vendor.h"; }
ours() { "$cc" -E -P "$@" -I"$gen" -DCUDA_ABI_NO_MAPPING "$gen/api/gen/cuda_abi.h"; }
declared() { tr '\n;' ' \n' | grep -oE 'CUresult +cu[A-Z][A-Za-z0-9_]* *\(' | sed 's/CUresult *//; s/ *(//' | sort -u; }
