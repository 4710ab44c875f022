#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# cutrace ptx: what it says of a file whose kernels are known, as text and as JSON, and of files that are no PTX.
set -eu
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
fresh_work ptx

file=$work/two.ptx
cat >"$file" <<END
.version 8.3
.target sm_90a
.address_size 64
.global .align 4 .u32 counter;
.visible .entry sum(.param .u64 in, .param .u64 out, .param .u32 n) {
	.reg .pred p<3>; .reg .b32 r<9>; .reg .b64 d<9>; .reg .f32 f<9>;
	.shared .align 4 .b8 part[128];
	ld.param.u64 d1, [in]; ld.param.u64 d2, [out]; ld.param.u32 r1, [n];
	mov.u32 r2, %tid.x; mul.wide.u32 d3, r2, 4; add.s64 d4, d1, d3; add.s64 d5, d2, d3;
	setp.ge.u32 p1, r2, r1;
	@p1 bra END;
	ld.global.f32 f1, [d4]; mul.f32 f2, f1, f1; add.f32 f3, f2, f1; st.shared.f32 [part], f3;
	bar.sync 0;
	st.global.f32 [d5], f3; red.global.add.u32 [counter], 1;
END:
	ret;
}
.visible .entry refused() {
	wgmma.fence.sync.aligned;
	ret;
}
END
expect 0 "$cutrace" ptx "$file"
says out 'PTX 8\.3 for sm_90a, 2 kernels, 0 functions; 1 not executed by interp'
says out '^ +0  u64 +in  pointer to f32: read$'
says out '^ +8  u64 +out  pointer to f32: written$'
says out '^ +16  u32 +n$'
says out 'memory: 128 bytes of shared, 0 bytes of stack a thread'
says out 'variable counter: read, written, atomic'
says out 'barriers: 1, 1 of them in control flow that differs'
says out 'mul and add that may be fused: 1, 1 of them'
says out "not executed by interp: .*two\.ptx:19:2: wgmma"
expect 0 "$cutrace" ptx --ir --kernel sum "$file"
says out '^entry sum$'
expect 0 "$cutrace" ptx --json "$file"
for query in '$.kernels[0].parameters[1].written|1' '$.kernels[0].parameters[0].written|0' '$.kernels[0].contractible|1' \
	'$.kernels[0].barriers[0].reached_by_all_of|thread' '$.kernels[1].executed|0' '$.kernels[0].variables[0].atomic|1'; do
	got=$(sqlite3 :memory: "SELECT json_extract(readfile('$work/out'), '${query%|*}')")
	[ "$got" = "${query#*|}" ] || fail "${query%|*} is $got, not ${query#*|}"
done
expect 125 "$cutrace" ptx --kernel none "$file"
says err 'there is no kernel none'
expect 125 "$cutrace" ptx "$work/nothing.ptx"
says err 'nothing.ptx: error: can.t be read'
expect 125 "$cutrace" ptx "$cutrace"
says err 'not PTX text'
echo 'no PTX at all' >"$work/text"
expect 125 "$cutrace" ptx "$work/text"
expect 2 "$cutrace" ptx --ir --json "$file"
says err 'exclude each other'
finish
