# SPDX-License-Identifier: Apache-2.0
# Every type, constant and macro that a program can take from the vendor's headers is in ours.
. "${4}/common.sh"
constants() { grep -oE '\b(CU|CUDA|NVCL|CUEGL)_[A-Z0-9_a-z]+\b' | grep -vE '_(st|enum|union)$' | sort -u; }
types() { tr '\n' ' ' | sed 's/;/;\n/g' | sed -nE 's/.*[ }*](CU[A-Za-z0-9_]+|cl_[a-z_]+|cuuint[0-9]+_t) *;$/\1/p; s/.*\( *\* *(CU[A-Za-z0-9_]+)\).*/\1/p' | sort -u; }
macros() { sed -nE 's/^#define ((CU|CUDA|cu)[A-Za-z0-9_]+)( .*)?$/\1/p' | grep -vE '^(CUDA[A-Z]*_H|CUDAAPI|CUDA_CB|CU_UUID_HAS_BEEN_DEFINED|CUDA(GL|EGL|VDPAU|PROFILER)_H)$' | sort -u; }
status=0
compare() {
	comm -23 "$tmp/vendor" "$tmp/ours" >"$tmp/missing"
	echo "$1: $(wc -l <"$tmp/vendor") in the headers, $(wc -l <"$tmp/missing") missing"
	cat "$tmp/missing"
	[ -s "$tmp/vendor" ] && [ ! -s "$tmp/missing" ] || status=1
}
vendor | constants >"$tmp/vendor"
ours | constants >"$tmp/ours"
compare constants
vendor | types >"$tmp/vendor"
ours | types >"$tmp/ours"
compare types
# Macros as an ordinary program sees them, with and without the per-thread default stream.
for flavour in ORDINARY CUDA_API_PER_THREAD_DEFAULT_STREAM; do
	"$cc" -E -dM -D$flavour -I"$here/shim" -I"$include" -include cuda.h -include cudaGL.h -x c /dev/null | macros >"$tmp/vendor"
	"$cc" -E -dM -D$flavour -I"$gen" -include "$gen/api/gen/cuda_abi.h" -x c /dev/null | macros >"$tmp/ours"
	# cuGetProcAddress_v2 is an inline function in the vendor's per-thread flavour, which adds a flag; in ours it is
	# always the exported function.
	sed -i "/^$flavour\$/d; /^cuGetProcAddress_v2\$/d" "$tmp/vendor"
	compare "macros ($flavour)"
done
exit $status
