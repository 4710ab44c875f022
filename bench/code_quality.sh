#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench/code_quality.sh BUILD [KERNEL...]: code for AMD GPUs, from PTX by `cutrace compile` and from the same source
# directly by clang, side by side: instructions, VGPRs, bytes of scratch. Contraction is off and division exact on
# both sides. Exits 1 when the geometric mean of instructions is above 1.10, or a kernel has scratch that clang's has not.
#
# KEEP=DIR keeps what was compared: DIR/ptx, DIR/TARGET/KERNEL.s (ours), DIR/TARGET/SOURCE.clang.s
set -eu
build=${1:?usage: code_quality.sh BUILD [KERNEL...]}
shift
here=$(cd "$(dirname "$0")/.." && pwd)
clang=$(command -v clang-19) || { echo "clang-19 is not installed" >&2; exit 125; }
dir=${KEEP:-$(mktemp -d)}
[ -n "${KEEP:-}" ] || trap 'rm -rf "$dir"' EXIT
targets=${TARGETS:-gfx90a gfx1100}
programs=$here/tests/programs/driver
# Not compared: printf, spin locks, code of several files, and what names intrinsics of one side.
sources="$here/bench/kernels/*.cu $programs/bitonic_sort.cu $programs/fft.cu $programs/matmul.cu
	$programs/nbody.cu $programs/pipeline.cu $programs/reduction.cu $programs/saxpy.cu
	$programs/sha256_search.cu $programs/spmv.cu"
common="-I $programs --cuda-device-only -O3 -ffp-contract=off -S -nogpulib -nogpuinc"

# TARGET SIDE FILE.s: a line "KERNEL TARGET SIDE INSTRUCTIONS VGPRS SCRATCH" for each kernel of an assembly text.
measure() {
	awk -v target="$1" -v side="$2" '
		/^[A-Za-z_][A-Za-z0-9_]*:/ { name = $1; sub(/:.*/, "", name); n[name] = 0; next }
		/^\.Lfunc_end/ { name = "" }
		name != "" && /^[ \t]+[a-z]+_[a-z0-9_]+/ { n[name]++ }
		/^[ \t]+\.private_segment_fixed_size:/ { scratch = $2 }
		/^[ \t]+\.vgpr_count:/ { vgprs = $2 }
		/^[ \t]+\.agpr_count:/ { agprs = $2 }
		/^[ \t]+(- )?\.name:/ { kernel = $NF }
		/^[ \t]+\.symbol:/ { symbol = $2; sub(/\.kd.*/, "", symbol); sub(/^.?/, "", symbol) }
		/^[ \t]+\.wavefront_size:/ { k = kernel }
		/^[ \t]+\.vgpr_spill_count:/ { v[kernel] = vgprs; s[kernel] = scratch }
		END { for (k in v) print k, target, side, n[k], v[k], s[k] }' "$3"
}

mkdir -p "$dir/ptx"
: >"$dir/rows"
for source in $sources; do
	name=$(basename "$source" .cu)
	$clang -x cuda $common ${PTX_FLAGS--mllvm -unroll-runtime=false} --cuda-gpu-arch=sm_80 -nocudainc -nocudalib --cuda-path=/nonexistent --cuda-feature=+ptx85 \
		-o "$dir/ptx/$name.ptx" "$source" 2>"$dir/log" || { cat "$dir/log" >&2; exit 125; }
	for target in $targets; do
		mkdir -p "$dir/$target"
		$clang -x hip $common --offload-arch="$target" -DPROGRAMS_DEVICE_H -include "$here/bench/kernels/amd.h" \
			-o "$dir/$target/$name.clang.s" "$source" 2>"$dir/log" || { cat "$dir/log" >&2; exit 125; }
		measure "$target" clang "$dir/$target/$name.clang.s" >>"$dir/rows"
		mkdir -p "$dir/$target/$name"
		"$build/bin/cutrace" compile "$dir/ptx/$name.ptx" --fresh --arch "$target" -o "$dir/$target/$name" >"$dir/log" 2>&1 ||
			cat "$dir/log" >&2
		for s in "$dir/$target/$name"/*.s; do
			[ ! -e "$s" ] || measure "$target" ours "$s" >>"$dir/rows"
		done
	done
done

awk -v wanted=" $* " '
	wanted ~ /[^ ]/ && index(wanted, " " $1 " ") == 0 { next }
	{ key = $1 " " $2; seen[key] = 1; n[key, $3] = $4; v[key, $3] = $5; s[key, $3] = $6 }
	END {
		printf "%-20s %-8s %16s %6s %12s %6s %12s\n", "kernel", "target", "instructions", "ratio", "VGPRs", "ratio", "scratch"
		for (key in seen) {
			split(key, w, " ")
			if (!((key, "ours") in n) || !((key, "clang") in n)) {
				printf "%-20s %-8s only by %s\n", w[1], w[2], (key, "clang") in n ? "clang" : "us" | "sort"
				missing++
				continue
			}
			ri = n[key, "ours"] / n[key, "clang"]
			rv = v[key, "ours"] / v[key, "clang"]
			worse = s[key, "ours"] > s[key, "clang"]
			printf "%-20s %-8s %7d / %6d %6.2f %5d / %4d %6.2f %5d / %4d%s\n", w[1], w[2], n[key, "ours"], n[key, "clang"],
				ri, v[key, "ours"], v[key, "clang"], rv, s[key, "ours"], s[key, "clang"], worse ? " more" : "" | "sort"
			li[w[2]] += log(ri); lv[w[2]] += log(rv); count[w[2]]++
			all += log(ri); allv += log(rv); total++; spills += worse
		}
		close("sort")
		for (t in count)
			printf "%s: %d kernels, geometric mean: instructions %.3f, VGPRs %.3f\n", t, count[t], exp(li[t] / count[t]), exp(lv[t] / count[t])
		printf "all: instructions %.3f, VGPRs %.3f, more scratch than clang: %d, missing: %d\n", exp(all / total), exp(allv / total), spills, missing
		exit exp(all / total) > 1.10 || spills > 0 || missing > 0
	}' "$dir/rows"
