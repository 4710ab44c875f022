/* SPDX-License-Identifier: Apache-2.0
 *
 * check_device: hashes and sketches of device memory, computed on the device by kernels of the recorder's own, so that
 * only what a launch changed crosses the bus. They are loaded into a context when it is first needed, on no stream that
 * is being captured, and run on the program's stream, before and behind its launch. Where any of it fails, or takes
 * other threads too long, the host does it (check.c), and the trace says so, once.
 */
#include "interpose/recorder.h"

#include <sched.h>

#define HEAD ".version 6.0\n.target sm_60\n.address_size 64\n"
/* A block takes a chunk: a3 first byte, a4 bytes, a5 address, a2 where its results are. */
#define CHUNK_OF_BLOCK                                                                                         \
	".reg .b64 a<24>; .reg .b32 r<10>; .reg .pred p<8>; .reg .f64 f<6>; .reg .f32 s<2>; .reg .b16 h<2>;\n" \
	"ld.param.u64 a0, [base]; ld.param.u64 a1, [bytes]; ld.param.u64 a2, [out];\n"                         \
	"cvta.to.global.u64 a0, a0; cvta.to.global.u64 a2, a2;\n"                                              \
	"mov.u32 r0, %ctaid.x; mov.u32 r1, %tid.x; mov.u32 r2, %ntid.x;\n"                                     \
	"mul.wide.u32 a3, r0, 65536; sub.u64 a4, a1, a3; min.u64 a4, a4, 65536; add.u64 a5, a0, a3;\n"         \
	"mul.wide.u32 a6, r0, 64; add.u64 a2, a2, a6; cvt.u64.u32 a9, r1; cvt.u64.u32 a10, r2;\n"
#define PARAMS "(.param .u64 base, .param .u64 bytes, .param .u64 out)\n{\n"
#define MIX(x)                                                                                              \
	"shr.u64 a20, " x ", 32; xor.b64 " x ", " x ", a20; mul.lo.u64 " x ", " x ", 0xd6e8feb86659fd93;\n" \
	"shr.u64 a20, " x ", 32; xor.b64 " x ", " x ", a20; mul.lo.u64 " x ", " x ", 0xd6e8feb86659fd93;\n" \
	"shr.u64 a20, " x ", 32; xor.b64 " x ", " x ", a20;\n"

/* As sketch_hash_chunk does it; the last word may be cut. */
static const char hash_ptx[] = HEAD
	".visible .entry cutrace_hash" PARAMS CHUNK_OF_BLOCK "mov.u64 a7, 0; mov.u64 a8, 0;\n"
	"NEXT:\nshl.b64 a11, a9, 3; setp.ge.u64 p0, a11, a4; @p0 bra DONE;\n"
	"add.u64 a12, a5, a11; add.u64 a13, a11, 8; setp.gt.u64 p1, a13, a4; @p1 bra CUT;\nld.global.u64 a14, [a12];\n"
	"WHOLE:\nadd.u64 a15, a9, 1; mul.lo.u64 a16, a15, 0x9e3779b97f4a7c15; add.u64 a16, a14, a16;\n" MIX("a16") "add.u64 a7, a7, a16; mul.lo.u64 a17, a15, 0xd1b54a32d192ed03; xor.b64 a17, a14, a17;\n" MIX(
		"a17") "add.u64 a8, a8, a17; add.u64 a9, a9, a10; bra NEXT;\n"
		       "CUT:\nmov.u64 a14, 0; mov.u32 r3, 0;\nBYTE:\nld.global.u8 a19, [a12]; shl.b64 a19, a19, r3; or.b64 a14, a14, a19;\n"
		       "add.u32 r3, r3, 8; add.u64 a12, a12, 1; add.u64 a11, a11, 1; setp.lt.u64 p2, a11, a4; @p2 bra BYTE; bra WHOLE;\n"
		       "DONE:\nred.global.add.u64 [a2], a7; red.global.add.u64 [a2+8], a8; ret;\n}\n";

/* As sketch_numbers does it, but for the order of sums. `load` brings the element at a12 into f0. */
#define NUMBERS(type, log_bytes, load)                                                                             \
	HEAD ".visible .entry cutrace_numbers" PARAMS CHUNK_OF_BLOCK "shr.u64 a4, a4, " log_bytes ";\n"            \
	     "mov.f64 f1, 0d0000000000000000; mov.f64 f2, f1; mov.u64 a7, 0; mov.u64 a8, 0;\n"                     \
	     "mov.u32 r4, 0; mov.u32 r5, 0; mov.u32 r6, 0;\n"                                                      \
	     "NEXT:\nsetp.ge.u64 p0, a9, a4; @p0 bra DONE;\n"                                                      \
	     "shl.b64 a11, a9, " log_bytes "; add.u64 a12, a5, a11;\n" load "\n"                                   \
	     "add.u64 a9, a9, a10; testp.notanumber.f64 p1, f0; testp.infinite.f64 p2, f0;\n"                      \
	     "setp.eq.f64 p3, f0, 0d0000000000000000;\n"                                                           \
	     "@p1 add.u32 r4, r4, 1; @p2 add.u32 r5, r5, 1; @p3 add.u32 r6, r6, 1;\n"                              \
	     "or.pred p4, p1, p2; @p4 bra NEXT;\n"                                                                 \
	     "add.rn.f64 f1, f1, f0; abs.f64 f3, f0; add.rn.f64 f2, f2, f3;\n"                                     \
	     "mov.b64 a14, f0; setp.lt.s64 p5, a14, 0; not.b64 a15, a14; or.b64 a16, a14, 0x8000000000000000;\n"   \
	     "selp.b64 a14, a15, a16, p5; max.u64 a7, a7, a14; not.b64 a14, a14; max.u64 a8, a8, a14; bra NEXT;\n" \
	     "DONE:\nred.global.add.f64 [a2+16], f1; red.global.add.f64 [a2+24], f2;\n"                            \
	     "red.global.max.u64 [a2+32], a7; red.global.max.u64 [a2+40], a8;\n"                                   \
	     "red.global.add.u32 [a2+48], r4; red.global.add.u32 [a2+52], r5; red.global.add.u32 [a2+56], r6; ret;\n}\n"

static const char *const numbers_ptx[] = {
	[SKETCH_F16] =
		NUMBERS("f16", "1", "ld.global.b16 h0, [a12]; cvt.f32.f16 s0, h0; cvt.f64.f32 f0, s0;"),
	[SKETCH_BF16] =
		NUMBERS("bf16", "1",
			"ld.global.u16 r7, [a12]; shl.b32 r7, r7, 16; mov.b32 s0, r7; cvt.f64.f32 f0, s0;"),
	[SKETCH_F32] = NUMBERS("f32", "2", "ld.global.f32 s0, [a12]; cvt.f64.f32 f0, s0;"),
	[SKETCH_F64] = NUMBERS("f64", "3", "ld.global.f64 f0, [a12];"),
	[SKETCH_S32] = NUMBERS("s32", "2", "ld.global.u32 r7, [a12]; cvt.rn.f64.s32 f0, r7;"),
	[SKETCH_U32] = NUMBERS("u32", "2", "ld.global.u32 r7, [a12]; cvt.rn.f64.u32 f0, r7;"),
	[SKETCH_S64] = NUMBERS("s64", "3", "ld.global.u64 a17, [a12]; cvt.rn.f64.s64 f0, a17;"),
	[SKETCH_U64] = NUMBERS("u64", "3", "ld.global.u64 a17, [a12]; cvt.rn.f64.u64 f0, a17;"),
};

enum { DEVICES = 32, NTYPES = SKETCH_U64 + 1, THREADS = 256 };

/* The kernels in one context. */
struct rec_device {
	_Atomic(CUcontext) context; /* NULL: free */
	_Atomic bool busy;
	bool broken, works;
	CUfunction hash, numbers[NTYPES];
	CUdeviceptr results; /* of `capacity` chunks */
	uint64_t capacity;
};

static struct rec_device devices[DEVICES];
static _Atomic bool said;

static CUresult load(const char *ptx, const char *name, CUfunction *f)
{
	CUmodule m;
	CUresult r;

	if (*f)
		return CUDA_SUCCESS;
	r = REAL(cuModuleLoadData)(&m, ptx);
	return r != CUDA_SUCCESS ? r : REAL(cuModuleGetFunction)(f, m, name);
}

static struct rec_device *find(CUcontext context)
{
	for (unsigned i = 0; i < DEVICES; i++) {
		CUcontext none = NULL;

		if (atomic_load(&devices[i].context) == context ||
		    atomic_compare_exchange_strong(&devices[i].context, &none, context))
			return &devices[i];
	}
	return NULL;
}

/* Another thread may be at it. */
static bool take(struct rec_device *d)
{
	for (unsigned n = 0; atomic_exchange(&d->busy, true); n++) {
		if (n == 100000)
			return false;
		sched_yield();
	}
	return true;
}

static bool results_for(struct rec_device *d, uint64_t chunks)
{
	if (chunks <= d->capacity)
		return true;
	if (d->results)
		REAL(cuMemFree_v2)(d->results);
	d->capacity = 0;
	if (REAL(cuMemAlloc_v2)(&d->results, chunks * sizeof(struct sketch_chunk)) != CUDA_SUCCESS) {
		d->results = 0;
		return false;
	}
	d->capacity = chunks;
	return true;
}

void rec_device_close(struct rec_device *d)
{
	atomic_store(&d->busy, false);
}

void rec_device_context_ended(CUcontext context)
{
	for (unsigned i = 0; i < DEVICES; i++)
		if (atomic_load(&devices[i].context) == context) {
			memset(devices[i].numbers, 0, sizeof(devices[i].numbers));
			devices[i].hash = NULL;
			devices[i].results = devices[i].capacity = 0;
			devices[i].broken = devices[i].works = false;
			atomic_store(&devices[i].context, NULL);
		}
}

static bool launch(CUfunction f, const struct rec_range *r, CUdeviceptr out, CUstream stream, bool per_thread)
{
	uint64_t base = r->base, bytes = r->bytes;
	void *params[] = {&base, &bytes, &out};
	unsigned blocks = (unsigned)((bytes + SKETCH_CHUNK - 1) / SKETCH_CHUNK);
	__typeof__(&cuLaunchKernel) fn =
		per_thread && rec_driver_has(API_ID_cuLaunchKernel_ptsz)
			? (__typeof__(&cuLaunchKernel))rec_true(API_ID_cuLaunchKernel_ptsz)
			: REAL(cuLaunchKernel);

	return fn(f, blocks, 1, 1, THREADS, 1, 1, 0, stream, params, NULL) == CUDA_SUCCESS;
}

static bool clear(CUdeviceptr at, size_t bytes, CUstream stream, bool per_thread)
{
	if (per_thread && rec_driver_has(API_ID_cuMemsetD8Async_ptsz))
		return REAL(cuMemsetD8Async_ptsz)(at, 0, bytes, stream) == CUDA_SUCCESS;
	return REAL(cuMemsetD8Async)(at, 0, bytes, stream) == CUDA_SUCCESS;
}

/* Once in a context: whether the hash of zeros is what it has to be. */
static bool try_out(struct rec_device *d, CUstream stream, bool per_thread)
{
	static const uint8_t zeros[sizeof(struct sketch_chunk)];
	struct rec_range r = {d->results + sizeof(zeros), sizeof(zeros), SKETCH_NONE};
	struct sketch_chunk want = {0}, got = {0};

	sketch_hash_chunk(&want, zeros, sizeof(zeros));
	d->works = clear(d->results, 2 * sizeof(zeros), stream, per_thread) &&
		   launch(d->hash, &r, d->results, stream, per_thread) &&
		   (per_thread && rec_driver_has(API_ID_cuStreamSynchronize_ptsz)
			    ? REAL(cuStreamSynchronize_ptsz)(stream)
			    : REAL(cuStreamSynchronize)(stream)) == CUDA_SUCCESS &&
		   REAL(cuMemcpyDtoH_v2)(&got, d->results, sizeof(got)) == CUDA_SUCCESS && got.a == want.a &&
		   got.b == want.b;
	return d->works;
}

struct rec_device *rec_device_open(uint64_t seq, uint64_t chunks, CUstream stream, bool per_thread)
{
	struct rec_thread *t = rec_own_begin();
	CUcontext context = NULL;
	struct rec_device *d = NULL;
	bool ok;

	if (REAL(cuCtxGetCurrent)(&context) == CUDA_SUCCESS && context)
		d = find(context);
	if (d && (d->broken || !take(d)))
		d = NULL;
	ok = d && load(hash_ptx, "cutrace_hash", &d->hash) == CUDA_SUCCESS &&
	     results_for(d, chunks < 2 ? 2 : chunks) && (d->works || try_out(d, stream, per_thread));
	rec_own_end(t);
	if (d && !ok) {
		d->broken = true;
		atomic_store(&d->busy, false);
	}
	if (!ok && !atomic_exchange(&said, true))
		rec_diag(1, seq,
			 "what launches wrote is copied to the host and hashed there: the recorder's kernels "
			 "can't be had in this context");
	return ok ? d : NULL;
}

bool rec_device_enqueue(struct rec_device *d, const struct rec_range *r, uint64_t first, bool numbers,
			CUstream stream, bool per_thread)
{
	CUdeviceptr out = d->results + first * sizeof(struct sketch_chunk);
	uint64_t chunks = (r->bytes + SKETCH_CHUNK - 1) / SKETCH_CHUNK;
	struct rec_thread *t = rec_own_begin();
	bool ok = clear(out, chunks * sizeof(struct sketch_chunk), stream, per_thread) &&
		  launch(d->hash, r, out, stream, per_thread);

	if (ok && numbers && r->type != SKETCH_NONE)
		ok = load(numbers_ptx[r->type], "cutrace_numbers", &d->numbers[r->type]) == CUDA_SUCCESS &&
		     launch(d->numbers[r->type], r, out, stream, per_thread);
	rec_own_end(t);
	return ok;
}

bool rec_device_results(struct rec_device *d, uint64_t first, uint64_t n, struct sketch_chunk *to)
{
	struct rec_thread *t = rec_own_begin();
	CUresult r = REAL(cuMemcpyDtoH_v2)(to, d->results + first * sizeof(*to), n * sizeof(*to));

	rec_own_end(t);
	return r == CUDA_SUCCESS;
}
