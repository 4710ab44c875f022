/* SPDX-License-Identifier: Apache-2.0
 *
 * isa_table: the instruction forms of PTX ISA 9.0, written from the syntax paragraphs of chapter 9.7, not from the
 * implementation. {a|b} stands for each of its alternatives (one may be empty), $name for a set of `sets`.
 *
 * Spellings that change no result are not multiplied with everything else: caching hints of loads and stores are
 * rows of their own, on the global space. Spellings of one meaning (.shared and .shared::cta, .param and
 * .param::entry, .weak and nothing) are one form: coverage.c makes them equal.
 */
#include "isa_table.h"

#include <stddef.h>

const struct isa_set isa_sets[] = {
	{"ints", "{.u16|.u32|.u64|.s16|.s32|.s64}"},
	{"words", "{.u32|.u64|.s32|.s64}"},
	{"any8", "{.u8|.s8|.u16|.s16|.u32|.s32|.u64|.s64}"},
	{"bits", "{.b16|.b32|.b64}"},
	{"rnd", "{.rn|.rz|.rm|.rp}"},
	{"irnd", "{.rni|.rzi|.rmi|.rpi}"},
	{"ftz", "{|.ftz}"},
	{"sat", "{|.sat}"},
	{"i32x", "{.u32|.s32}"},
	{"regs", "{.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64}"},
	{"mem", "{.b8|.b16|.b32|.b64|.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|.f32|.f64}"},
	/* at most 128 bits */
	{"vmem", "{{|.v2|.v4}{.b8|.b16|.b32|.u8|.u16|.u32|.s8|.s16|.s32|.f32}|{|.v2}{.b64|.u64|.s64|.f64}}"},
	{"wide", "{.v8{.b32|.u32|.s32|.f32}|.v4{.b64|.u64|.s64|.f64}}"},
	{"fcmp", "{.eq|.ne|.lt|.le|.gt|.ge|.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan}"},
	{"scmp", "{.eq|.ne|.lt|.le|.gt|.ge}"},
	{"ucmp", "{.eq|.ne|.lt|.le|.gt|.ge|.lo|.ls|.hi|.hs}"},
	{"bool", "{|.and|.or|.xor}"},
	{"scope", "{.cta|.cluster|.gpu|.sys}"},
	{"SCOPE", "{|.cta|.cluster|.gpu|.sys}"},
	{"SEM", "{|.relaxed|.acquire|.release|.acq_rel}"},
	{"RSEM", "{|.relaxed|.release}"},
	{"spaces", "{|.global|.shared|.shared::cluster}"},
	{"half", "{.f16|.f16x2}"},
	{"bhalf", "{.bf16|.bf16x2}"},
	{"hint", "{.L1::evict_normal|.L1::evict_unchanged|.L1::evict_first|.L1::evict_last|.L1::no_allocate|"
		 ".L2::cache_hint}"},
	{"prefetch", "{.L2::64B|.L2::128B|.L2::256B}"},
	{"rc", "{.row|.col}"},
	{"wshape", "{.m16n16k16|.m8n32k16|.m32n8k16}"},
	{"wspace", "{|.global|.shared}"},
	{"f8", "{.e4m3|.e5m2}"},
	{"f8x2", "{.e4m3x2|.e5m2x2}"},
	{"f864", "{.e4m3|.e5m2|.e3m2|.e2m3|.e2m1}"},
	{"byte", "{.u8|.s8}"},
	{"nibble", "{.u4|.s4}"},
	{"geom", "{.1d|.2d|.3d|.a1d|.a2d}"},
	{"trap", "{.trap|.clamp|.zero}"},
	{"cg", "{.cta_group::1|.cta_group::2}"},
	{"n8", "{8|16|24|32|40|48|56|64|72|80|88|96|104|112|120|128|136|144|152|160|168|176|184|192|200|208|"
	       "216|224|"
	       "232|240|248|256}"},
	{"vop", "{|.add|.min|.max}"},
	{"sp", "{.sp|.sp::ordered_metadata}"},
	{"mcta", "{|.shared|.shared::cluster}"},
	{"n5", "{.1d|.2d|.3d|.4d|.5d}"},
	{NULL, NULL},
};

const struct isa_row isa_rows[] = {
	/* integers */
	{"9.7.1.1", "{add|sub}$ints"},
	{"9.7.1.1", "add{.u16x2|.s16x2}"},
	{"9.7.1.1", "{add|sub}.sat.s32"},
	{"9.7.1.3", "{mul|mad}{.hi|.lo}$ints"},
	{"9.7.1.3", "{mul|mad}.wide{.u16|.u32|.s16|.s32}"},
	{"9.7.1.4", "mad.hi.sat.s32"},
	{"9.7.1.5", "{mul24|mad24}{.hi|.lo}$i32x"},
	{"9.7.1.6", "mad24.hi.sat.s32"},
	{"9.7.1.7", "{sad|div|rem}$ints"},
	{"9.7.1.10", "{abs|neg}{.s16|.s32|.s64}"},
	{"9.7.1.12", "{min|max}{.u16|.u32|.u64|.s16|.s64|.u16x2}"},
	{"9.7.1.12", "{min|max}{|.relu}{.s16x2|.s32}"},
	{"9.7.1.14", "{popc|clz|brev|bfi}{.b32|.b64}"},
	{"9.7.1.16", "bfind{|.shiftamt}$words"},
	{"9.7.1.17", "fns.b32"},
	{"9.7.1.19", "bfe$words"},
	{"9.7.1.21", "szext{.clamp|.wrap}$i32x"},
	{"9.7.1.22", "bmsk{.clamp|.wrap}.b32"},
	{"9.7.1.23", "dp4a$i32x$i32x"},
	{"9.7.1.24", "dp2a{.lo|.hi}$i32x$i32x"},
	{"9.7.2", "{add|sub}.cc$words"},
	{"9.7.2", "{addc|subc}{|.cc}$words"},
	{"9.7.2.5", "mad{.lo|.hi}.cc$words"},
	{"9.7.2.6", "madc{.lo|.hi}{|.cc}$words"},
	/* floating point */
	{"9.7.3.1", "testp{.finite|.infinite|.number|.notanumber|.normal|.subnormal}{.f32|.f64}"},
	{"9.7.3.2", "copysign{.f32|.f64}"},
	{"9.7.3.3", "{add|sub|mul}{|.rn|.rz|.rm|.rp}$ftz$sat.f32"},
	{"9.7.3.3", "{add|sub|mul}{|.rn|.rz|.rm|.rp}$ftz.f32x2"},
	{"9.7.3.3", "{add|sub|mul}{|.rn|.rz|.rm|.rp}.f64"},
	{"9.7.3.6", "fma$rnd$ftz$sat.f32"},
	{"9.7.3.6", "fma$rnd$ftz.f32x2"},
	{"9.7.3.6", "{fma|mad}$rnd.f64"},
	{"9.7.3.7", "mad{|.rn|.rz|.rm|.rp}$ftz$sat.f32"},
	{"9.7.3.8", "div{.approx|.full|.rn|.rz|.rm|.rp}$ftz.f32"},
	{"9.7.3.8", "div$rnd.f64"},
	{"9.7.3.9", "{abs|neg}{.f32|.ftz.f32|.f64}"},
	{"9.7.3.11", "{min|max}$ftz{|.NaN}{|.xorsign.abs}.f32"},
	{"9.7.3.11", "{min|max}$ftz{|.NaN}.abs.f32"},
	{"9.7.3.11", "{min|max}.f64"},
	{"9.7.3.13", "{rcp|sqrt}{.approx|.rn|.rz|.rm|.rp}$ftz.f32"},
	{"9.7.3.13", "{rcp|sqrt}$rnd.f64"},
	{"9.7.3.14", "{rcp|rsqrt}.approx.ftz.f64"},
	{"9.7.3.16", "rsqrt.approx{.f32|.ftz.f32|.f64}"},
	{"9.7.3.18", "{sin|cos|lg2|ex2}.approx$ftz.f32"},
	{"9.7.3.22", "tanh.approx{.f32|.f16|.f16x2|.bf16|.bf16x2}"},
	/* half precision */
	{"9.7.4.1", "{add|sub|mul}{|.rn}$ftz$sat$half"},
	{"9.7.4.1", "{add|sub|mul}{|.rn}$bhalf"},
	{"9.7.4.4", "fma.rn$ftz{|.sat|.relu}$half"},
	{"9.7.4.4", "fma.rn{|.relu}$bhalf"},
	{"9.7.4.4", "fma.rn.oob{|.relu}{.f16|.f16x2|.bf16|.bf16x2}"},
	{"9.7.4.5", "{neg|abs}$ftz$half"},
	{"9.7.4.5", "{neg|abs}$bhalf"},
	{"9.7.4.7", "{min|max}$ftz{|.NaN}{|.xorsign.abs}$half"},
	{"9.7.4.7", "{min|max}{|.NaN}{|.xorsign.abs}$bhalf"},
	{"9.7.4.10", "ex2.approx$half"},
	{"9.7.4.10", "ex2.approx.ftz$bhalf"},
	{"9.7.5.1", "{add|sub}{|.rn|.rz|.rm|.rp}$sat.f32{.f16|.bf16}"},
	{"9.7.5.3", "fma$rnd$sat.f32{.f16|.bf16}"},
	/* comparison and selection */
	{"9.7.6.1", "set$scmp$bool{.u32|.s32|.f32}{.s16|.s32|.s64}"},
	{"9.7.6.1", "set$ucmp$bool{.u32|.s32|.f32}{.u16|.u32|.u64}"},
	{"9.7.6.1", "set{.eq|.ne}$bool{.u32|.s32|.f32}$bits"},
	{"9.7.6.1", "set$fcmp$bool{.u32|.s32|.f32}.f64"},
	{"9.7.6.1", "set$fcmp$bool$ftz{.u32|.s32|.f32}.f32"},
	{"9.7.6.2", "setp$scmp$bool{.s16|.s32|.s64}"},
	{"9.7.6.2", "setp$ucmp$bool{.u16|.u32|.u64}"},
	{"9.7.6.2", "setp{.eq|.ne}$bool$bits"},
	{"9.7.6.2", "setp$fcmp$bool.f64"},
	{"9.7.6.2", "setp$fcmp$bool$ftz.f32"},
	{"9.7.6.3", "selp$regs"},
	{"9.7.6.4", "slct$regs.s32"},
	{"9.7.6.4", "slct$ftz$regs.f32"},
	{"9.7.7.1", "set$scmp$bool{.f16|.bf16}$ints"},
	{"9.7.7.1", "set{.eq|.ne}$bool{.f16|.bf16}$bits"},
	{"9.7.7.1", "set$fcmp$bool$ftz{.f16|.u16|.s16|.u32|.s32}.f16"},
	{"9.7.7.1", "set$fcmp$bool$ftz.f16.f32"},
	{"9.7.7.1", "set$fcmp$bool{.f16.f64|.bf16.f64|.bf16.f32}"},
	{"9.7.7.1", "set$fcmp$bool{.bf16|.u16|.s16|.u32|.s32}.bf16"},
	{"9.7.7.1", "set$fcmp$bool$ftz{.f16x2|.u32|.s32}.f16x2"},
	{"9.7.7.1", "set$fcmp$bool{.bf16x2|.u32|.s32}.bf16x2"},
	{"9.7.7.2", "setp$fcmp$bool$ftz$half"},
	{"9.7.7.2", "setp$fcmp$bool$bhalf"},
	/* logic and shifts */
	{"9.7.8.1", "{and|or|xor|not}{.pred|.b16|.b32|.b64}"},
	{"9.7.8.5", "{cnot|shl}$bits"},
	{"9.7.8.6", "lop3{|.or|.and}.b32"},
	{"9.7.8.7", "shf{.l|.r}{.clamp|.wrap}.b32"},
	{"9.7.8.9", "shr{.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64}"},
	/* data movement */
	{"9.7.9.3", "mov{.pred|.b16|.b32|.b64|.b128|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64}"},
	{"9.7.9.5", "shfl{|.sync}{.up|.down|.bfly|.idx}.b32"},
	{"9.7.9.7", "prmt.b32{|.f4e|.b4e|.rc8|.ecl|.ecr|.rc16}"},
	{"9.7.9.8", "ld{|.const|.global|.local|.param|.param::func|.shared|.shared::cluster}$vmem"},
	{"9.7.9.8", "ld{|.global|.const|.local|.shared}.b128"},
	{"9.7.9.8", "ld.volatile{|.global|.local|.shared}$vmem"},
	{"9.7.9.8", "ld{.relaxed|.acquire}$scope$spaces$vmem"},
	{"9.7.9.8", "ld.mmio.relaxed.sys{|.global}$mem"},
	{"9.7.9.8", "ld{|.global}{.ca|.cg|.cs|.lu|.cv}$vmem"},
	{"9.7.9.8", "ld.global{$hint|$prefetch}$vmem"},
	{"9.7.9.8", "ld.global{|.nc}{|.L2::evict_last|.L2::evict_normal|.L2::evict_first}$wide"},
	{"9.7.9.9", "ld.global{|.ca|.cg|.cs}.nc$vmem"},
	{"9.7.9.9", "ld.global.nc{$hint|$prefetch}$vmem"},
	{"9.7.9.10", "ldu{|.global}$vmem"},
	{"9.7.9.10", "ldu{|.global}.b128"},
	{"9.7.9.11", "st{|.global|.local|.param|.param::func|.shared|.shared::cluster}$vmem"},
	{"9.7.9.11", "st{|.global|.local|.shared}.b128"},
	{"9.7.9.11", "st.volatile{|.global|.local|.shared}$vmem"},
	{"9.7.9.11", "st{.relaxed|.release}$scope$spaces$vmem"},
	{"9.7.9.11", "st.mmio.relaxed.sys{|.global}$mem"},
	{"9.7.9.11", "st{|.global}{.wb|.cg|.cs|.wt}$vmem"},
	{"9.7.9.11", "st.global$hint$vmem"},
	{"9.7.9.11", "st.global{|.L2::evict_last|.L2::evict_normal|.L2::evict_first}$wide"},
	{"9.7.9.12", "st.async{|.weak}{|.cluster}{|.shared::cluster}.mbarrier::complete_tx::bytes{|.v2|.v4}"
		     "{.b32|.b64|.u32|.u64|.s32|.s64|.f32|.f64}"},
	{"9.7.9.12", "st.async{|.mmio}.release{.gpu|.sys}{|.global}$mem"},
	{"9.7.9.13", "st.bulk{|.shared}"},
	{"9.7.9.14", "multimem.ld_reduce{|.weak|{.relaxed|.acquire}$scope}{|.global}"
		     "{{.min|.max|.add}{.u32|.s32|.u64}|{.min|.max}.s64|{.and|.or|.xor}{.b32|.b64}}"},
	{"9.7.9.14",
	 "multimem.st{|.weak|{.relaxed|.release}$scope}{|.global}{.b32|.b64|.u32|.u64|.s32|.s64}"},
	{"9.7.9.14", "multimem.red{|{.relaxed|.release}$scope}{|.global}"
		     "{{.min|.max|.add}{.u32|.s32|.u64}|{.min|.max}.s64|{.and|.or|.xor}{.b32|.b64}}"},
	{"9.7.9.14", "multimem.ld_reduce{|.weak|{.relaxed|.acquire}$scope}{|.global}"
		     "{.add{|.v2|.v4}.f32|.add.f64|{.min|.max|.add}{{|.v2|.v4|.v8}{.f16|.bf16}|{|.v2|.v4}{."
		     "f16x2|.bf16x2}}}"},
	{"9.7.9.14", "multimem.ld_reduce{|.weak|{.relaxed|.acquire}$scope}{|.global}.add"
		     "{.acc::f32{{|.v2|.v4|.v8}{.f16|.bf16}|{|.v2|.v4}{.f16x2|.bf16x2}}|"
		     ".acc::f16{.e5m2|.e5m2x2|.e5m2x4|.e4m3|.e4m3x2|.e4m3x4}}"},
	{"9.7.9.14", "multimem.st{|.weak|{.relaxed|.release}$scope}{|.global}"
		     "{{|.v2|.v4}.f32|.f64|{|.v2|.v4|.v8}{.f16|.bf16}|{|.v2|.v4}{.f16x2|.bf16x2}}"},
	{"9.7.9.14", "multimem.red{|{.relaxed|.release}$scope}{|.global}.add"
		     "{{|.v2|.v4}.f32|.f64|{|.v2|.v4|.v8}{.f16|.bf16}|{|.v2|.v4}{.f16x2|.bf16x2}}"},
	{"9.7.9.15", "prefetch{|.global|.local}{.L1|.L2}"},
	{"9.7.9.15", "prefetch.global{.L2::evict_last|.L2::evict_normal}"},
	{"9.7.9.15", "prefetch{|.const|.param}.tensormap"},
	{"9.7.9.15", "prefetchu.L1"},
	{"9.7.9.16", "applypriority{|.global}.L2::evict_normal"},
	{"9.7.9.17", "discard{|.global}.L2"},
	{"9.7.9.18",
	 "createpolicy.fractional{.L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::evict_unchanged}"
	 "{|.L2::evict_first|.L2::evict_unchanged}.b64"},
	{"9.7.9.18", "createpolicy.range{|.global}{.L2::evict_last|.L2::evict_normal|.L2::evict_first|"
		     ".L2::evict_unchanged}{|.L2::evict_first|.L2::evict_unchanged}.b64"},
	{"9.7.9.18", "createpolicy.cvt.L2.b64"},
	{"9.7.9.19", "isspacep{.const|.global|.local|.shared|.shared::cluster|.param}"},
	{"9.7.9.20", "cvta{|.to}{.const|.global|.local|.shared|.shared::cluster|.param}{.u32|.u64}"},
	/* cvt */
	{"9.7.9.21", "cvt$any8$any8"},
	{"9.7.9.21", "cvt.sat{.u8|.s8}{.u16|.s16|.u32|.s32|.u64|.s64}"},
	{"9.7.9.21", "cvt.sat{.u16|.s16}{.u32|.s32|.u64|.s64}"},
	{"9.7.9.21", "cvt.sat{.u32|.s32}{.u64|.s64}"},
	{"9.7.9.21", "cvt.sat{.u8.s8|.s8.u8|.u16.s16|.s16.u16|.u32.s32|.s32.u32|.u64.s64|.s64.u64}"},
	{"9.7.9.21", "cvt.sat{.u16.s8|.u32.s8|.u64.s8|.u32.s16|.u64.s16|.u64.s32}"},
	{"9.7.9.21", "cvt$irnd$sat$any8{.f16|.f64}"},
	{"9.7.9.21", "cvt$irnd$ftz$sat$any8.f32"},
	{"9.7.9.21", "cvt$irnd{.u16|.s16|.u32|.s32|.u64|.s64}.bf16"},
	{"9.7.9.21", "cvt$rnd$sat{.f16|.f32|.f64}$any8"},
	{"9.7.9.21", "cvt$rnd.bf16$ints"},
	{"9.7.9.21", "cvt$irnd$sat{.f16.f16|.f64.f64}"},
	{"9.7.9.21", "cvt{|.sat}{.f16.f16|.f64.f64}"},
	{"9.7.9.21", "cvt$irnd$ftz$sat.f32.f32"},
	{"9.7.9.21", "cvt$ftz$sat.f32.f32"},
	{"9.7.9.21", "cvt$irnd.bf16.bf16"},
	{"9.7.9.21", "cvt$sat.f64.f16"},
	{"9.7.9.21", "cvt$ftz$sat{.f32.f16|.f64.f32}"},
	{"9.7.9.21", "cvt$rnd$sat.f16.f64"},
	{"9.7.9.21", "cvt$rnd$ftz$sat{.f32.f64|.f16.f32}"},
	{"9.7.9.21", "cvt{.f32.bf16|.ftz.f32.bf16|.f64.bf16|$rnd{.bf16.f64|.bf16.f16|.f16.bf16}}"},
	{"9.7.9.21", "cvt{.rn|.rz}{|.relu}{|.satfinite}{.f16|.f16x2|.bf16|.bf16x2}.f32"},
	{"9.7.9.21", "cvt.rs{|.relu}{|.satfinite}{.f16x2|.bf16x2}.f32"},
	{"9.7.9.21", "cvt.rna{|.satfinite}.tf32.f32"},
	{"9.7.9.21", "cvt{.rn|.rz}{|.satfinite}{|.relu}.tf32.f32"},
	{"9.7.9.21", "cvt.rn.satfinite{|.relu}{.e4m3x2|.e5m2x2|.e2m1x2|.e2m3x2|.e3m2x2}.f32"},
	{"9.7.9.21", "cvt.rn.satfinite{|.relu}$f8x2.f16x2"},
	{"9.7.9.21", "cvt.rn{|.relu}.f16x2{.e4m3x2|.e5m2x2|.e2m1x2|.e2m3x2|.e3m2x2}"},
	{"9.7.9.21", "cvt.rs{|.relu}.satfinite{.e4m3x4|.e5m2x4|.e2m1x4|.e2m3x4|.e3m2x4}.f32"},
	{"9.7.9.21", "cvt{.rz|.rp}{|.satfinite}.ue8m0x2{.f32|.bf16x2}"},
	{"9.7.9.21", "cvt.rn.bf16x2.ue8m0x2"},
	{"9.7.9.22", "cvt.pack.sat{.u16|.s16}.s32"},
	{"9.7.9.22", "cvt.pack.sat{.u2|.s2|.u4|.s4|.u8|.s8}.s32.b32"},
	{"9.7.9.23", "{mapa|getctarank}{|.shared::cluster}{.u32|.u64}"},
	/* asynchronous copies */
	{"9.7.9.25.3", "cp.async{.ca|.cg}.shared.global{|.L2::cache_hint}{|.L2::64B|.L2::128B|.L2::256B}"},
	{"9.7.9.25.3", "cp.async{.commit_group|.wait_group|.wait_all}"},
	{"9.7.9.25.4", "cp.async.bulk{.shared|.shared::cluster}.global.mbarrier::complete_tx::bytes"
		       "{|.multicast::cluster}{|.L2::cache_hint}"},
	{"9.7.9.25.4", "cp.async.bulk.shared::cluster.shared.mbarrier::complete_tx::bytes"},
	{"9.7.9.25.4", "cp.async.bulk.global.shared.bulk_group{|.L2::cache_hint}{|.cp_mask}"},
	{"9.7.9.25.4", "cp.async.bulk.prefetch.L2.global{|.L2::cache_hint}"},
	{"9.7.9.25.4", "cp.reduce.async.bulk.shared::cluster.shared.mbarrier::complete_tx::bytes"
		       "{.and|.or|.xor|.add|.inc|.dec|.min|.max}{.b32|.u32|.s32|.b64|.u64}"},
	{"9.7.9.25.4",
	 "cp.reduce.async.bulk.global.shared.bulk_group{|.L2::cache_hint}"
	 "{.and|.or|.xor|.add|.inc|.dec|.min|.max}{.b32|.u32|.s32|.b64|.u64|.s64|.f16|.bf16|.f32|.f64}"},
	{"9.7.9.25.4",
	 "cp.reduce.async.bulk.global.shared.bulk_group{|.L2::cache_hint}.add.noftz{.f16|.bf16}"},
	{"9.7.9.25.4", "cp.async.bulk{.commit_group|.wait_group|.wait_group.read}"},
	{"9.7.9.25.5",
	 "cp.async.bulk.tensor$n5{.shared|.shared::cluster}.global"
	 "{|.tile|.tile::gather4|.im2col|.im2col::w|.im2col::w::128}.mbarrier::complete_tx::bytes"
	 "{|.multicast::cluster}{|$cg}{|.L2::cache_hint}"},
	{"9.7.9.25.5",
	 "cp.async.bulk.tensor$n5.global.shared{|.tile|.tile::scatter4|.im2col_no_offs}.bulk_group"
	 "{|.L2::cache_hint}"},
	{"9.7.9.25.5", "cp.reduce.async.bulk.tensor$n5.global.shared{.add|.min|.max|.inc|.dec|.and|.or|.xor}"
		       "{|.tile|.im2col_no_offs}.bulk_group{|.L2::cache_hint}"},
	{"9.7.9.25.5", "cp.async.bulk.prefetch.tensor$n5.L2.global"
		       "{|.tile|.tile::gather4|.im2col|.im2col::w|.im2col::w::128}{|.L2::cache_hint}"},
	{"9.7.9.26",
	 "tensormap.replace.tile{.global_address|.rank|.box_dim|.global_dim|.global_stride|.element_stride|"
	 ".elemtype|.interleave_layout|.swizzle_mode|.swizzle_atomicity|.fill_mode}{|.global|.shared}.b1024"
	 "{.b32|.b64}"},
	/* textures and surfaces */
	{"9.7.10.3", "tex{|.base|.level|.grad}{.1d|.2d|.3d|.a1d|.a2d}.v4{.u32|.s32|.f32|.f16}.f32"},
	{"9.7.10.3", "tex{.1d|.2d|.3d|.a1d|.a2d}.v4{.u32|.s32|.f32|.f16}.s32"},
	{"9.7.10.3", "tex{|.base|.level|.grad}{.cube|.acube}.v4{.u32|.s32|.f32|.f16}.f32"},
	{"9.7.10.3", "tex{|.base}{.2dms|.a2dms}.v4{.u32|.s32|.f32|.f16}.s32"},
	{"9.7.10.3", "tex{|.base|.level|.grad}{.1d|.2d|.3d|.a1d|.a2d|.cube|.acube}.v2.f16x2.f32"},
	{"9.7.10.4", "tld4{.r|.g|.b|.a}{.2d|.a2d|.cube|.acube}.v4{.u32|.s32|.f32}.f32"},
	{"9.7.10.5",
	 "txq{.width|.height|.depth|.channel_data_type|.channel_order|.normalized_coords|.array_size|"
	 ".num_mipmap_levels|.num_samples}.b32"},
	{"9.7.10.5", "txq.level{.width|.height|.depth}.b32"},
	{"9.7.10.5",
	 "txq{.force_unnormalized_coords|.filter_mode|.addr_mode_0|.addr_mode_1|.addr_mode_2}.b32"},
	{"9.7.10.6", "istypep{.texref|.samplerref|.surfref}"},
	{"9.7.11.1", "suld.b$geom{|.ca|.cg|.cs|.cv}{{|.v2|.v4}{.b8|.b16|.b32}|{|.v2}.b64}$trap"},
	{"9.7.11.2", "sust.b$geom{|.wb|.cg|.cs|.wt}{{|.v2|.v4}{.b8|.b16|.b32}|{|.v2}.b64}$trap"},
	{"9.7.11.2", "sust.p{.1d|.2d|.3d}{|.v2|.v4}.b32$trap"},
	{"9.7.11.3", "sured.b{.add{.1d|.2d|.3d}{.u32|.u64|.s32}|{.min|.max}{.1d|.2d|.3d}$words|{.and|.or}{."
		     "1d|.2d|.3d}.b32}$trap"},
	{"9.7.11.3", "sured.p{{.add|.min|.max|.and|.or}{.1d|.2d|.3d}.b32|{.min|.max}{.1d|.2d|.3d}.b64}$trap"},
	{"9.7.11.4",
	 "suq{.width|.height|.depth|.channel_data_type|.channel_order|.array_size|.memory_layout}.b32"},
	/* control */
	{"9.7.12", "{bra|brx.idx|call|ret}{|.uni}"},
	{"9.7.12", "exit"},
	/* synchronisation */
	{"9.7.13.1",
	 "{bar|bar.cta|barrier|barrier.cta}{.sync|.arrive|.red.popc.u32|.red.and.pred|.red.or.pred}"},
	{"9.7.13.1", "{barrier|barrier.cta}{.sync|.arrive|.red.popc.u32|.red.and.pred|.red.or.pred}.aligned"},
	{"9.7.13.2", "bar.warp.sync"},
	{"9.7.13.3",
	 "barrier.cluster{.arrive|.arrive.release|.arrive.relaxed|.wait|.wait.acquire}{|.aligned}"},
	{"9.7.13.4", "membar{.cta|.gl|.sys}"},
	{"9.7.13.4", "fence{|.sc|.acq_rel|.acquire|.release}$scope"},
	{"9.7.13.4", "membar.proxy.alias"}, /* assemblers take no other kind */
	{"9.7.13.4", "fence.proxy{.alias|.async|.async.global|.async.shared|.async.shared::cluster}"},
	{"9.7.13.4", "fence.proxy.tensormap::generic{.acquire|.release}$scope"},
	{"9.7.13.4", "fence.mbarrier_init.release.cluster"},
	{"9.7.13.4",
	 "fence{.acquire.sync_restrict::shared::cluster|.release.sync_restrict::shared::cta}.cluster"},
	{"9.7.13.4", "fence.proxy.async::generic"
		     "{.acquire.sync_restrict::shared::cluster|.release.sync_restrict::shared::cta}.cluster"},
	{"9.7.13.5", "atom$SEM$SCOPE$spaces{.and|.or|.xor|.cas|.exch}{.b32|.b64}"},
	{"9.7.13.5", "atom$SEM$SCOPE$spaces{{.add|.min|.max}{.u32|.s32|.u64}|{.min|.max}.s64}"},
	{"9.7.13.5",
	 "atom$SEM$SCOPE$spaces{.inc.u32|.dec.u32|.add.f32|.add.f64|.cas.b16|.cas.b128|.exch.b128}"},
	{"9.7.13.5", "atom$SEM$SCOPE$spaces.add.noftz{.f16|.f16x2|.bf16|.bf16x2}"},
	{"9.7.13.5", "atom$SEM$SCOPE{|.global}.add{.v2|.v4}.f32"},
	{"9.7.13.5", "atom$SEM$SCOPE{|.global}{.add|.min|.max}.noftz"
		     "{{.v2|.v4|.v8}{.f16|.bf16}|{.v2|.v4}{.f16x2|.bf16x2}}"},
	{"9.7.13.5",
	 "atom{|.global}{{.and|.or|.xor|.exch}.L2::cache_hint{.b32|.b64}|{.add|.min|.max}.L2::cache_hint{."
	 "u32|.s32|.u64}|"
	 "{.min|.max}.L2::cache_hint.s64|"
	 "{.inc|.dec}.L2::cache_hint.u32|.add.L2::cache_hint{.f32|.f64}|.exch.L2::cache_hint.b128|"
	 ".add.noftz.L2::cache_hint{.f16|.f16x2|.bf16|.bf16x2}}"},
	{"9.7.13.6", "red{|.global}{{.and|.or|.xor}.L2::cache_hint{.b32|.b64}|{.add|.min|.max}.L2::cache_"
		     "hint{.u32|.s32|.u64}|{.min|.max}.L2::cache_hint.s64|"
		     "{.inc|.dec}.L2::cache_hint.u32|.add.L2::cache_hint{.f32|.f64}|"
		     ".add.noftz.L2::cache_hint{.f16|.f16x2|.bf16|.bf16x2}}"},
	{"9.7.13.6", "red$RSEM$SCOPE$spaces{.and|.or|.xor}{.b32|.b64}"},
	{"9.7.13.6", "red$RSEM$SCOPE$spaces{{.add|.min|.max}{.u32|.s32|.u64}|{.min|.max}.s64}"},
	{"9.7.13.6", "red$RSEM$SCOPE$spaces{.inc.u32|.dec.u32|.add.f32|.add.f64}"},
	{"9.7.13.6", "red$RSEM$SCOPE$spaces.add.noftz{.f16|.f16x2|.bf16|.bf16x2}"},
	{"9.7.13.6", "red$RSEM$SCOPE{|.global}.add{.v2|.v4}.f32"},
	{"9.7.13.6", "red$RSEM$SCOPE{|.global}{.add|.min|.max}.noftz"
		     "{{.v2|.v4|.v8}{.f16|.bf16}|{.v2|.v4}{.f16x2|.bf16x2}}"},
	{"9.7.13.7",
	 "red.async.relaxed.cluster{|.shared::cluster}.mbarrier::complete_tx::bytes"
	 "{.inc.u32|.dec.u32|.min.u32|.min.s32|.max.u32|.max.s32|.and.b32|.or.b32|.xor.b32|.add.u32|.add.s32|"
	 ".add.u64}"},
	{"9.7.13.7", "red.async{|.mmio}.release{.gpu|.sys}{|.global}.add{.u32|.s32|.u64|.s64}"},
	{"9.7.13.8", "vote{|.sync}{.all.pred|.any.pred|.uni.pred|.ballot.b32}"},
	{"9.7.13.10", "match{.any|.all}.sync{.b32|.b64}"},
	{"9.7.13.11", "activemask.b32"},
	{"9.7.13.12", "redux.sync{{.add|.min|.max}$i32x|{.and|.or|.xor}.b32}"},
	{"9.7.13.12", "redux.sync{.min|.max}{|.abs}{|.NaN}.f32"},
	{"9.7.13.13", "griddepcontrol{.launch_dependents|.wait}"},
	{"9.7.13.14", "elect.sync"},
	{"9.7.13.15", "mbarrier{.init|.inval}{|.shared}.b64"},
	{"9.7.13.15", "mbarrier{.expect_tx|.complete_tx}{|.relaxed.cta|.relaxed.cluster}$mcta.b64"},
	{"9.7.13.15",
	 "mbarrier{.arrive|.arrive_drop}{|.expect_tx}{|.release.cta|.release.cluster|.relaxed.cta|"
	 ".relaxed.cluster}$mcta.b64"},
	{"9.7.13.15", "mbarrier{.arrive|.arrive_drop}.noComplete{|.release.cta}{|.shared}.b64"},
	{"9.7.13.15", "cp.async.mbarrier.arrive{|.noinc}{|.shared}.b64"},
	{"9.7.13.15", "mbarrier{.test_wait|.try_wait}{|.parity}{|.acquire.cta|.acquire.cluster|.relaxed.cta|"
		      ".relaxed.cluster}{|.shared}.b64"},
	{"9.7.13.15", "mbarrier.pending_count.b64"},
	{"9.7.13.16",
	 "tensormap.cp_fenceproxy.global.shared.tensormap::generic.release{.cta|.cluster|.gpu|.sys}.sync."
	 "aligned"},
	{"9.7.13.17", "clusterlaunchcontrol.try_cancel.async{|.shared}.mbarrier::complete_tx::bytes"
		      "{|.multicast::cluster::all}.b128"},
	{"9.7.13.18",
	 "clusterlaunchcontrol.query_cancel{.is_canceled.pred.b128|.get_first_ctaid.v4.b32.b128|"
	 ".get_first_ctaid::x.b32.b128|.get_first_ctaid::y.b32.b128|.get_first_ctaid::z.b32.b128}"},
	/* matrices */
	{"9.7.14.4.3", "wmma.load{.a|.b}.sync.aligned$rc$wshape$wspace{.f16|.s8|.u8|.bf16}"},
	{"9.7.14.4.3", "wmma.load.c.sync.aligned$rc$wshape$wspace{.f16|.f32|.s32}"},
	{"9.7.14.4.3",
	 "wmma.load{{.a|.b}.sync.aligned$rc.m16n16k8$wspace.tf32|.c.sync.aligned$rc.m16n16k8$wspace.f32}"},
	{"9.7.14.4.3", "wmma.load{.a|.b|.c}.sync.aligned$rc.m8n8k4$wspace.f64"},
	{"9.7.14.4.3",
	 "wmma.load{.a.sync.aligned.row|.b.sync.aligned.col}{.m8n8k32$wspace$nibble|.m8n8k128$wspace.b1}"},
	{"9.7.14.4.3", "wmma.load.c.sync.aligned$rc{.m8n8k32|.m8n8k128}$wspace.s32"},
	{"9.7.14.4.4",
	 "wmma.store.d.sync.aligned$rc{$wshape$wspace{.f16|.f32|.s32}|{.m8n8k32|.m8n8k128}$wspace.s32|"
	 ".m16n16k8$wspace.f32|.m8n8k4$wspace.f64}"},
	{"9.7.14.4.5", "wmma.mma.sync.aligned$rc$rc$wshape{.f16|.f32}{.f16|.f32}"},
	{"9.7.14.4.5", "wmma.mma.sync.aligned$rc$rc$wshape{.s32.u8.u8.s32|.s32.s8.s8.s32}{|.satfinite}"},
	{"9.7.14.4.5", "wmma.mma.sync.aligned$rc$rc{$wshape.f32.bf16.bf16.f32|.m16n16k8.f32.tf32.tf32.f32}"},
	{"9.7.14.4.5", "wmma.mma.sync.aligned$rc$rc.m8n8k4{|.rn|.rz|.rm|.rp}.f64.f64.f64.f64"},
	{"9.7.14.4.5", "wmma.mma.sync.aligned.row.col.m8n8k32{.s32.u4.u4.s32|.s32.s4.s4.s32}{|.satfinite}"},
	{"9.7.14.4.5", "wmma.mma{.xor|.and}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"},
	{"9.7.14.5.14", "mma.sync.aligned.m8n8k4$rc$rc{.f16.f16.f16.f16|.f32.f16.f16.f16|.f32.f16.f16.f32}"},
	{"9.7.14.5.14", "mma.sync.aligned{.m16n8k8|.m16n8k16}.row.col{.f16.f16.f16.f16|.f32.f16.f16.f32}"},
	{"9.7.14.5.14",
	 "mma.sync.aligned{.m16n8k4.row.col.f32.tf32.tf32.f32|.m16n8k8.row.col.f32.tf32.tf32.f32|"
	 ".m16n8k8.row.col.f32.bf16.bf16.f32|.m16n8k16.row.col.f32.bf16.bf16.f32}"},
	{"9.7.14.5.14", "mma.sync.aligned{.m16n8k16|.m16n8k32}.row.col{.f32$f8$f8.f32|.f16$f8$f8.f16}"},
	{"9.7.14.5.14",
	 "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4{.f32$f864$f864.f32|.f16$f864$f864.f16}"},
	{"9.7.14.5.14",
	 "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale{|.scale_vec::2X}.f32.e2m1.e2m1.f32."
	 "ue8m0"},
	{"9.7.14.5.14",
	 "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale{.scale_vec::2X.f32.e2m1.e2m1.f32."
	 "ue8m0|.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3}"},
	{"9.7.14.5.14",
	 "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale{|.scale_vec::1X}.f32$f864$f864.f32."
	 "ue8m0"},
	{"9.7.14.5.14",
	 "mma.sync.aligned{.m8n8k4|.m16n8k4|.m16n8k8|.m16n8k16}.row.col{|.rn|.rz|.rm|.rp}.f64.f64.f64."
	 "f64"},
	{"9.7.14.5.14",
	 "mma.sync.aligned{.m8n8k16|.m16n8k16|.m16n8k32}.row.col{|.satfinite}.s32$byte$byte.s32"},
	{"9.7.14.5.14",
	 "mma.sync.aligned{.m8n8k32|.m16n8k32|.m16n8k64}.row.col{|.satfinite}.s32$nibble$nibble.s32"},
	{"9.7.14.5.14",
	 "mma.sync.aligned{.m8n8k128|.m16n8k128|.m16n8k256}.row.col.s32.b1.b1.s32{.xor|.and}.popc"},
	{"9.7.14.5.15", "ldmatrix.sync.aligned.m8n8{.x1|.x2|.x4}{|.trans}{|.shared}.b16"},
	{"9.7.14.5.15",
	 "ldmatrix.sync.aligned.m8n16{.x1|.x2|.x4}{|.shared}{.b8x16.b6x16_p32|.b8x16.b4x16_p64}"},
	{"9.7.14.5.15",
	 "ldmatrix.sync.aligned.m16n16{.x1|.x2}.trans{|.shared}{.b8|.b8x16.b6x16_p32|.b8x16.b4x16_p64}"},
	{"9.7.14.5.16", "stmatrix.sync.aligned.m8n8{.x1|.x2|.x4}{|.trans}{|.shared}.b16"},
	{"9.7.14.5.16", "stmatrix.sync.aligned.m16n8{.x1|.x2|.x4}.trans{|.shared}.b8"},
	{"9.7.14.5.17", "movmatrix.sync.aligned.m8n8.trans.b16"},
	{"9.7.14.6", "mma$sp.sync.aligned{.m16n8k16|.m16n8k32}.row.col{.f16.f16.f16.f16|.f32.f16.f16.f32|"
		     ".f32.bf16.bf16.f32}"},
	{"9.7.14.6", "mma$sp.sync.aligned{.m16n8k8|.m16n8k16}.row.col.f32.tf32.tf32.f32"},
	{"9.7.14.6", "mma$sp.sync.aligned.m16n8k64.row.col.f32$f8$f8.f32"},
	{"9.7.14.6", "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4{.f32$f864$f864.f32|"
		     ".f16$f864$f864.f16}"},
	{"9.7.14.6", "mma$sp.sync.aligned{.m16n8k32|.m16n8k64}.row.col{|.satfinite}.s32$byte$byte.s32"},
	{"9.7.14.6", "mma$sp.sync.aligned{.m16n8k64|.m16n8k128}.row.col{|.satfinite}.s32$nibble$nibble.s32"},
	{"9.7.14.6",
	 "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col{.kind::mxf4.block_scale{|.scale_vec::2X}|"
	 ".kind::mxf4nvf4.block_scale.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0"},
	{"9.7.14.6", "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale."
		     "scale_vec::4X.f32."
		     "e2m1.e2m1.f32.ue4m3"},
	{"9.7.14.6",
	 "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::mxf8f6f4.block_scale{|.scale_vec::1X}."
	 "f32$f864$f864.f32.ue8m0"},
	{"9.7.15", "wgmma.mma_async.sync.aligned.m64n$n8{k16{.f16.f16.f16|.f32.f16.f16|.f32.bf16.bf16}|k8."
		   "f32.tf32.tf32|"
		   "k32{.f16|.f32}$f8$f8}"},
	{"9.7.15",
	 "wgmma.mma_async.sp.sync.aligned.m64n$n8{k32{.f16.f16.f16|.f32.f16.f16|.f32.bf16.bf16}|k16.f32.tf32."
	 "tf32|k64{.f16|.f32}$f8$f8}"},
	{"9.7.15",
	 "wgmma.mma_async{.sync.aligned.m64n{8|16|24|32|48|64|80|96|112|128|144|160|176|192|208|224|240|256}"
	 "{k32{|.satfinite}.s32$byte$byte|k256.s32.b1.b1.and.popc}|"
	 ".sp.sync.aligned.m64n{8|16|24|32|48|64|80|96|112|128|144|160|176|192|208|224|240|256}"
	 "k64{|.satfinite}.s32$byte$byte}"},
	{"9.7.15", "wgmma{.fence|.commit_group|.wait_group}.sync.aligned"},
	{"9.7.16", "tcgen05.alloc$cg.sync.aligned{|.shared}.b32"},
	{"9.7.16", "tcgen05{.dealloc$cg.sync.aligned.b32|.relinquish_alloc_permit$cg.sync.aligned}"},
	{"9.7.16", "tcgen05{.ld|.st}.sync.aligned{.16x64b|.16x128b|.16x256b|.32x32b|.16x32bx2}"
		   "{.x1|.x2|.x4|.x8|.x16|.x32|.x64|.x128}.b32"},
	{"9.7.16", "tcgen05{.ld.sync.aligned{.16x64b|.16x128b|.16x256b|.32x32b|.16x32bx2}"
		   "{.x1|.x2|.x4|.x8|.x16|.x32|.x64|.x128}.pack::16b.b32|"
		   ".st.sync.aligned{.16x64b|.16x128b|.16x256b|.32x32b|.16x32bx2}"
		   "{.x1|.x2|.x4|.x8|.x16|.x32|.x64|.x128}.unpack::16b.b32}"},
	{"9.7.16",
	 "tcgen05.ld.red.sync.aligned{.32x32b|.16x32bx2}{.x2|.x4|.x8|.x16|.x32|.x64|.x128}{.min|.max}"
	 "{{|.abs}{|.NaN}.f32|.u32|.s32}"},
	{"9.7.16", "tcgen05{.wait::ld|.wait::st}.sync.aligned"},
	{"9.7.16", "tcgen05{.fence::before_thread_sync|.fence::after_thread_sync}"},
	{"9.7.16", "tcgen05.cp$cg{.128x256b|.4x256b|.128x128b|.64x128b.warpx2::02_13|.64x128b.warpx2::01_23|"
		   ".32x128b.warpx4}{|.b8x16.b6x16_p32|.b8x16.b4x16_p64}"},
	{"9.7.16", "tcgen05.shift$cg.down"},
	{"9.7.16", "tcgen05.commit$cg.mbarrier::arrive::one{|.shared::cluster}{|.multicast::cluster}.b64"},
	{"9.7.16", "tcgen05.mma{|.sp}$cg{.kind::f16|.kind::tf32|.kind::f8f6f4|.kind::i8}{|.ashift}"
		   "{|.collector::a::fill|.collector::a::use|.collector::a::lastuse|.collector::a::discard}"},
	{"9.7.16", "tcgen05.mma{|.sp}$cg{.kind::mxf8f6f4|.kind::mxf4|.kind::mxf4nvf4}.block_scale"
		   "{|.scale_vec::1X|.scale_vec::2X|.scale_vec::4X|.block16|.block32}"
		   "{|.collector::a::fill|.collector::a::use|.collector::a::lastuse|.collector::a::discard}"},
	{"9.7.16", "tcgen05.mma.ws{|.sp}.cta_group::1{.kind::f16|.kind::tf32|.kind::f8f6f4|.kind::i8}"
		   "{|.collector{::b0|::b1|::b2|::b3}{::fill|::use|::lastuse|::discard}}"},
	/* stack */
	{"9.7.17", "{stacksave|stackrestore|alloca}{.u32|.u64}"},
	/* video */
	{"9.7.18.1", "{vadd|vsub|vabsdiff|vmin|vmax}$i32x$i32x$i32x$sat$vop"},
	{"9.7.18.1", "{vshl|vshr}$i32x$i32x.u32$sat{.clamp|.wrap}$vop"},
	{"9.7.18.1", "vmad$i32x$i32x$i32x{|.po}$sat{|.shr7|.shr15}"},
	{"9.7.18.1", "vset$i32x$i32x$scmp$vop"},
	{"9.7.18.2",
	 "{vadd2|vsub2|vavrg2|vabsdiff2|vmin2|vmax2|vadd4|vsub4|vavrg4|vabsdiff4|vmin4|vmax4}$i32x$i32x$i32x"
	 "{|.sat|.add}"},
	{"9.7.18.2", "{vset2|vset4}$i32x$i32x$scmp{|.add}"},
	{"9.7.19", "{brkpt|trap|pmevent|pmevent.mask|nanosleep.u32}"},
	{"9.7.19.5", "setmaxnreg{.inc|.dec}.sync.aligned.u32"},
	{NULL, NULL},
};
