// SPDX-License-Identifier: Apache-2.0
// Small floats, matrices, asynchronous copies, inline assembly.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <mma.h>
#include <cuda_pipeline.h>
extern "C" __global__ void halves(__half *h, __half2 *h2, __nv_bfloat16 *b, __nv_bfloat162 *b2, float *f)
{
	h[0] = __hfma(h[1], h[2], h[3]) + h[4] * h[5] - h[6] / h[7] + hsqrt(h[8]) + hexp(h[9]) + htanh(h[1]) + __habs(h[2]) + hsin(h[3]);
	h2[0] = __hfma2(h2[1], h2[2], h2[3]) + h2[4] * h2[5] + __hmax2(h2[6], h2[7]) + __hmin2_nan(h2[1], h2[2]) + __hadd2_sat(h2[1], h2[2]) + h2exp2(h2[3]);
	b[0] = __hfma(b[1], b[2], b[3]) + b[4] * b[5] + __hmax(b[6], b[7]) + hlog(b[1]);
	b2[0] = __hfma2_relu(b2[1], b2[2], b2[3]) + __hmul2(b2[4], b2[5]);
	f[0] = __half2float(h[1]) + __bfloat162float(b[1]) + __low2float(h2[1]) + (h[1] < h[2]) + __hbeq2(h2[1], h2[2]) + __hisnan(h[3]) + (int)h[4] + (short)b[4];
	h[1] = __float2half_rz(f[1]); h[2] = (__half)3; b[2] = __float2bfloat16_rn(f[2]); h2[1] = __float22half2_rn(make_float2(f[1], f[2]));
	atomicAdd(h, h[1]); atomicAdd(h2, h2[1]); atomicAdd(b2, b2[1]);
}
extern "C" __global__ void fp8(__nv_fp8_e4m3 *a, __nv_fp8_e5m2 *b, float *f, __nv_fp8x2_e4m3 *a2, float2 *f2)
{
	a[0] = __nv_fp8_e4m3(f[0]); f[1] = float(a[1]); b[0] = __nv_fp8_e5m2(f[2]); f[3] = float(b[1]); a2[0] = __nv_fp8x2_e4m3(f2[0]); f2[1] = float2(a2[1]);
}
extern "C" __global__ void wmma(const half *a, const half *b, float *c)
{
	using namespace nvcuda::wmma;
	fragment<matrix_a, 16, 16, 16, half, row_major> fa;
	fragment<matrix_b, 16, 16, 16, half, col_major> fb;
	fragment<accumulator, 16, 16, 16, float> fc;
	fill_fragment(fc, 0.0f);
	load_matrix_sync(fa, a, 16);
	load_matrix_sync(fb, b, 16);
	mma_sync(fc, fa, fb, fc);
	store_matrix_sync(c, fc, 16, mem_row_major);
}
extern "C" __global__ void copies(const float4 *in, float4 *out)
{
	__shared__ float4 tile[128];
	__pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 16);
	__pipeline_commit();
	__pipeline_wait_prior(0);
	__syncthreads();
	out[threadIdx.x] = tile[127 - threadIdx.x];
	__stcs(&out[0], __ldg(&in[1])); __stcg(&out[1], __ldca(&in[2]));
}
extern "C" __global__ void assembly(unsigned *p, unsigned long long *q)
{
	unsigned lo, hi, r = p[0];
	asm volatile("{\n\t.reg .pred p;\n\t.reg .u32 t;\n\tadd.cc.u32 %0, %2, %3;\n\taddc.u32 %1, 0, 0;\n\tsetp.ne.u32 p, %0, 0;\n\t@p mov.u32 t, 5;\n\t@!p mov.u32 t, 6;\n\tadd.u32 %0, %0, t;\n\t}" : "=&r"(lo), "=r"(hi) : "r"(p[1]), "r"(p[2]));
	asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(r) : "r"(lo), "r"(hi));
	asm volatile("mad.lo.cc.u32 %0, %1, %2, %0; madc.hi.u32 %0, %1, %2, 0;" : "+r"(r) : "r"(lo), "r"(hi));
	asm volatile("{ .reg .pred P1; LAB_WAIT: mbarrier.test_wait.parity.shared.b64 P1, [%0], %1; @P1 bra.uni DONE; bra.uni LAB_WAIT; DONE: }" ::"r"(r), "r"(0));
	asm volatile("{ .reg .pred P1; LAB_WAIT: mbarrier.test_wait.parity.shared.b64 P1, [%0], %1; @P1 bra.uni DONE; bra.uni LAB_WAIT; DONE: }" ::"r"(r), "r"(1));
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(lo), "=r"(hi), "=r"(p[4]), "=r"(p[5]) : "r"(r));
	asm volatile("atom.add.release.gpu.u32 %0, [%1], %2;" : "=r"(r) : "l"(q), "r"(lo));
	asm volatile("ld.global.acquire.gpu.u32 %0, [%1];" : "=r"(r) : "l"(q));
	asm volatile("bfind.shiftamt.u32 %0, %1; bar.arrive 1, 64; bar.sync 1, 64; prefetch.global.L2 [%2];" : "=r"(r) : "r"(lo), "l"(q)) ;
	p[3] = r + lo + hi;
}
