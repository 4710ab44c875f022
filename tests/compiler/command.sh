#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# command.sh CUTRACE PTX-FOLDER PROGRAM-FOLDER: `cutrace compile` and `cutrace cache` as a user sees them. PROGRAM-FOLDER
# has programs made by nvcc, or is empty.
set -eu

cutrace=$1 ptx=$2 programs=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export CUTRACE_CACHE="$dir/cache"
failed=0

fail()
{
	echo "command.sh: $*" >&2
	failed=1
}

# status N COMMAND...: runs it into $dir/out and $dir/err, and expects that exit status.
status()
{
	want=$1 is=0
	shift
	"$@" >"$dir/out" 2>"$dir/err" || is=$?
	[ "$is" -eq "$want" ] || {
		fail "status $is instead of $want: $*"
		cat "$dir/out" "$dir/err" >&2
	}
}

has()
{
	grep -q -- "$1" "$dir/$2" || {
		fail "'$1' is not in what '$3' says:"
		cat "$dir/$2" >&2
	}
}

rows()
{
	grep -c '"vgprs"' "$dir/out" || :
}

# ---- every target, with a few kernels: compiled, and of the right kind ---------------------------------------
targets=$("$cutrace" compile --help | sed -n '/^Targets:/,/^Exit/p' | grep -o 'gfx[a-z0-9-]*')
n=$(echo "$targets" | wc -l)
[ "$n" -ge 30 ] || fail "only $n targets"
# Kernels that have so many values alive at a barrier.
for live in 5 60 110 200; do
	cat >"$dir/registers$live.ptx" <<END
.version 8.0
.target sm_80
.address_size 64
.visible .entry registers$live(.param .u64 p)
.maxntid 256, 1, 1
{
	.reg .f32 %f<$((live + 1))>;
	.reg .b64 %d<4>;
	.reg .b32 %r<2>;
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %d2, %r1, 4096;
	ld.param.u64 %d1, [p];
	add.u64 %d1, %d1, %d2;
$(for k in $(seq "$live"); do echo "	ld.volatile.global.f32 %f$k, [%d1+$((4 * k))];"; done)
	bar.sync 0;
$(for k in $(seq "$live"); do echo "	st.volatile.global.f32 [%d1+$((4 * (live - k)))], %f$k;"; done)
	ret;
}
END
done
counted="registers5 registers60 registers110 registers200"
kernels="saxpy matmul fft $counted"
cp "$ptx/saxpy.ptx" "$ptx/matmul.ptx" "$ptx/fft.ptx" "$dir"
for kernel in $kernels; do
	status 0 "$cutrace" compile "$dir/$kernel.ptx" --arch all -o "$dir/all" --json
	[ "$(rows)" -eq "$n" ] || fail "$kernel: $(rows) code objects for $n targets"
	cp "$dir/out" "$dir/$kernel.json"
done
for target in $targets; do
	co=$dir/all/matmul.$target.co
	grep -aq "amdgcn-amd-amdhsa--$target" "$co" || fail "$target: the code object is not for it"
	# ELF: the ABI version is 3 for code object version 5, 4 for 6 (AMDGPUUsage).
	version=$(od -An -tu1 -j8 -N1 "$co" | tr -d ' ')
	case $target in
	*generic) [ "$version" -eq 4 ] || fail "$target: ABI version $version" ;;
	*) [ "$version" -eq 3 ] || fail "$target: ABI version $version" ;;
	esac
	for extension in ll opt.ll s; do
		[ -s "$dir/all/matmul.$target.$extension" ] || fail "matmul.$target.$extension is missing"
	done
	# LLVM counts waves, too; of kernels with blocks of a size that fills a SIMD, so that nothing but registers limits them.
	for kernel in $counted; do
		llvm=$(sed -n 's/^; Occupancy: //p' "$dir/all/$kernel.$target.s")
		ours=$(grep "\"target\":\"$target\"" "$dir/$kernel.json" | sed 's/.*"waves_per_simd":\([0-9]*\).*/\1/')
		[ "$llvm" = "$ours" ] || fail "$kernel, $target: $ours waves a SIMD, LLVM says $llvm"
	done
done
grep -q 'PTX [0-9]*: .*ld\.global' "$dir/all/saxpy.gfx1100.s" || fail "no PTX in the assembly"

# ---- the cache -------------------------------------------------------------------------------------------------
status 0 "$cutrace" compile "$ptx/saxpy.ptx" --arch gfx1100,gfx90a --json
[ "$(grep -c '"cached":true' "$dir/out")" -eq 2 ] || fail "saxpy was compiled again"
status 0 "$cutrace" compile "$ptx/saxpy.ptx" --arch gfx1100 --fresh --json
has '"cached":false' out --fresh
status 0 "$cutrace" compile "$ptx/saxpy.ptx" --arch gfx1100 --options contract=all --json
has '"cached":false' out '--options contract=all'
status 0 "$cutrace" cache --json
has "\"kernels\":$((7 * n))" out 'cache --json'
status 0 "$cutrace" cache list
has 'saxpy .*gfx942 .*code object' out 'cache list'
status 0 "$cutrace" cache verify
has ' 0 damaged' out 'cache verify'
printf 'broken' | dd of="$dir/cache/code-objects.sqlite" bs=1 seek=0 conv=notrunc 2>/dev/null
status 0 "$cutrace" compile "$ptx/saxpy.ptx"
has '^saxpy ' out 'compile with a broken cache'
status 0 "$cutrace" cache clear
status 0 "$cutrace" cache --json
has '"entries":0' out 'cache after clear'
CUTRACE_CACHE=off status 125 "$cutrace" cache
CUTRACE_CACHE=off status 0 "$cutrace" compile "$ptx/saxpy.ptx"

# ---- a part of LLVM's passes: all of them are the code without the option, fewer another; single kernels -----------------
status 0 "$cutrace" compile "$ptx/saxpy.ptx" --fresh -o "$dir/whole"
status 0 "$cutrace" compile "$ptx/saxpy.ptx" --options opt-bisect=100000 -o "$dir/all_passes"
cmp "$dir/whole/saxpy.gfx1100.s" "$dir/all_passes/saxpy.gfx1100.s" || fail "opt-bisect without a limit makes other code"
status 0 "$cutrace" compile "$ptx/saxpy.ptx" --options opt-bisect=7 -o "$dir/part"
cmp "$dir/whole/saxpy.gfx1100.s" "$dir/part/saxpy.gfx1100.s" >/dev/null && fail "opt-bisect=7 makes the same code"
[ "$(grep -c '^BISECT: running pass' "$dir/part/saxpy.gfx1100.passes")" -eq 7 ] || fail "not seven passes were run"
grep -q '^BISECT: NOT running pass (8) ' "$dir/part/saxpy.gfx1100.passes" || fail "the eighth pass is not listed"
CUTRACE_COMPILE_OPTIONS='other:opt=0;sax*:opt-bisect=7' status 0 "$cutrace" compile "$ptx/saxpy.ptx" -o "$dir/one"
cmp "$dir/one/saxpy.gfx1100.s" "$dir/part/saxpy.gfx1100.s" || fail "CUTRACE_COMPILE_OPTIONS is not followed"
CUTRACE_COMPILE_OPTIONS='saxpy:opt=0' status 0 "$cutrace" compile "$ptx/saxpy.ptx" --json
has '"cached":false' out 'a kernel with options of its own'
CUTRACE_COMPILE_OPTIONS='saxpy' status 125 "$cutrace" compile "$ptx/saxpy.ptx"
has 'GLOB:OPTIONS' err 'CUTRACE_COMPILE_OPTIONS without options'
CUTRACE_COMPILE_OPTIONS='saxpy:compiler=/nonexistent' status 125 "$cutrace" compile "$ptx/saxpy.ptx" --fresh
has '/nonexistent' err 'another compiler that is not there'

# ---- what can't be done ------------------------------------------------------------------------------------------
status 2 "$cutrace" compile
status 2 "$cutrace" compile "$ptx/saxpy.ptx" --arch gfx9999
has "no target 'gfx9999'" err '--arch gfx9999'
status 2 "$cutrace" cache nonsense
status 125 "$cutrace" compile "$dir/nothing.ptx"
has 'nothing.ptx' err 'a missing file'
status 125 "$cutrace" compile "$ptx/saxpy.ptx" --kernel nobody
has 'nobody' err '--kernel nobody'
status 2 "$cutrace" compile "$ptx/saxpy.ptx" --options no=such
has 'contract=all' err '--options no=such'
status 125 "$cutrace" compile "$cutrace"
has 'no device code' err 'a program without device code'
status 125 "$cutrace" compile /dev/null
head -c 3000 /dev/urandom >"$dir/noise"
status 125 "$cutrace" compile "$dir/noise"
printf '.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(\n' >"$dir/broken.ptx"
status 125 "$cutrace" compile "$dir/broken.ptx"
has 'broken.ptx:' err 'broken PTX'
# A kernel that needs more shared memory than there is: with the numbers; the other one is compiled.
cat >"$dir/shared.ptx" <<END
.version 8.0
.target sm_80
.address_size 64
.visible .entry small() { ret; }
.visible .entry large() {
	.shared .align 4 .b8 tile[100000];
	.reg .b32 %r<2>;
	mov.u32 %r1, %tid.x;
	st.shared.u32 [tile+4], %r1;
	ret;
}
END
status 1 "$cutrace" compile "$dir/shared.ptx" --arch gfx1100
has 'large .*refused: shared.ptx:5: .*100000.*65536' out 'too much shared memory'
has '^1 compiled, 1 refused, 0 failed' out 'too much shared memory'
for wrong in '-j 0' '--cc 9' '--arch ,'; do
	# shellcheck disable=SC2086 # words
	status 2 "$cutrace" compile "$ptx/saxpy.ptx" $wrong
	has "error: ${wrong%% *}" err "compile $wrong"
done
status 2 "$cutrace" compile
has 'name one file' err 'compile without a file'
CUTRACE_COMPILER=/nonexistent status 125 "$cutrace" compile "$ptx/saxpy.ptx"
has 'CUTRACE_COMPILER' err 'a compiler that is not there'

# ---- programs that nvcc made ---------------------------------------------------------------------------------------
program=$programs/runtime_vector_add
if [ -x "$program" ]; then
	status 0 "$cutrace" compile "$program" --arch gfx1100 --json
	[ "$(rows)" -ge 1 ] || fail "no kernels in $program"
	status 125 "$cutrace" compile "${program}_machine_code"
	has 'machine code only' err 'a program without PTX'
	# What was compiled ahead is what the driver asks for when the program runs: nothing is compiled then.
	for name in vector_add linked_files_static linked_files_shared; do
		program=$programs/runtime_$name
		[ -x "$program" ] || continue
		status 0 "$cutrace" cache clear
		status 0 "$cutrace" compile "$program" --arch gfx1100 --json
		compiled=$(rows)
		[ "$compiled" -ge 1 ] || fail "no kernels in $program"
		CUTRACE_DEVICE=amdemu:gfx1100 status 0 "$cutrace" run -- "$program"
		status 0 "$cutrace" cache --json
		has "\"kernels\":$compiled," out "cache after running $name"
	done
else
	echo "no nvcc: programs with device code in them were not compiled"
fi
exit $failed
