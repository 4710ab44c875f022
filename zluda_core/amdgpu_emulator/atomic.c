/* SPDX-License-Identifier: Apache-2.0
 *
 * What atomics make of the old value: the DS, FLAT and MUBUF opcodes of the ISA documents.
 */
#include "zluda_core/amdgpu_emulator/atomic.h"

#include "zluda_core/amdgpu_emulator/lanes.h"

static uint32_t add_halves(uint32_t a, uint32_t b)
{
	return pack16(f16_of((double)(half_of(a, 0) + half_of(b, 0))),
		      f16_of((double)(half_of(a, 1) + half_of(b, 1))));
}

static uint16_t bf16_of(float f)
{
	uint32_t u = f32_bits(f);

	if (f != f)
		return (uint16_t)(u >> 16 | 0x40);
	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static uint32_t add_bf16(uint32_t a, uint32_t b)
{
	uint16_t lo = bf16_of(bf16_to_f32((uint16_t)a) + bf16_to_f32((uint16_t)b));
	uint16_t hi = bf16_of(bf16_to_f32((uint16_t)(a >> 16)) + bf16_to_f32((uint16_t)(b >> 16)));

	return pack16(lo, hi);
}

static uint32_t apply32(unsigned op, uint32_t old, uint32_t data, uint32_t data2)
{
	switch (op) {
	case AT_SWAP: return data;
	case AT_CMPSWAP: return old == data2 ? data : old;
	case AT_ADD: return old + data;
	case AT_SUB: return old - data;
	case AT_RSUB: return data - old;
	case AT_SMIN: return (int32_t)data < (int32_t)old ? data : old;
	case AT_SMAX: return (int32_t)data > (int32_t)old ? data : old;
	case AT_UMIN: return data < old ? data : old;
	case AT_UMAX: return data > old ? data : old;
	case AT_AND: return old & data;
	case AT_OR: return old | data;
	case AT_XOR: return old ^ data;
	case AT_INC: return old >= data ? 0 : old + 1;
	case AT_DEC: return old == 0 || old > data ? data : old - 1;
	case AT_CSUB: return old < data ? 0 : old - data;
	case AT_COND_SUB: return old >= data ? old - data : old;
	case AT_FADD: return f32_bits(f32_from(old) + f32_from(data));
	case AT_FMIN: return f32_from(data) < f32_from(old) ? data : old;
	case AT_FMAX: return f32_from(data) > f32_from(old) ? data : old;
	case AT_FMIN_NUM: return f32_bits(min_f32(f32_from(data), f32_from(old), NAN_IS_QUIETED));
	case AT_FMAX_NUM: return f32_bits(max_f32(f32_from(data), f32_from(old), NAN_IS_QUIETED));
	case AT_FCMPSWAP: return f32_from(old) == f32_from(data2) ? data : old;
	case AT_PK_ADD_F16: return add_halves(old, data);
	case AT_PK_ADD_BF16: return add_bf16(old, data);
	case AT_MSKOR: return (old & ~data) | data2;
	case AT_WRAP: return old >= data ? old - data : old + data2;
	}
	return old;
}

static uint64_t apply64(unsigned op, uint64_t old, uint64_t data, uint64_t data2)
{
	switch (op) {
	case AT_SWAP: return data;
	case AT_CMPSWAP: return old == data2 ? data : old;
	case AT_ADD: return old + data;
	case AT_SUB: return old - data;
	case AT_RSUB: return data - old;
	case AT_SMIN: return (int64_t)data < (int64_t)old ? data : old;
	case AT_SMAX: return (int64_t)data > (int64_t)old ? data : old;
	case AT_UMIN: return data < old ? data : old;
	case AT_UMAX: return data > old ? data : old;
	case AT_AND: return old & data;
	case AT_OR: return old | data;
	case AT_XOR: return old ^ data;
	case AT_INC: return old >= data ? 0 : old + 1;
	case AT_DEC: return old == 0 || old > data ? data : old - 1;
	case AT_FADD: return f64_bits(f64_from(old) + f64_from(data));
	case AT_FMIN: return f64_from(data) < f64_from(old) ? data : old;
	case AT_FMAX: return f64_from(data) > f64_from(old) ? data : old;
	case AT_FMIN_NUM: return f64_bits(min_f64(f64_from(data), f64_from(old), NAN_IS_QUIETED));
	case AT_FMAX_NUM: return f64_bits(max_f64(f64_from(data), f64_from(old), NAN_IS_QUIETED));
	case AT_FCMPSWAP: return f64_from(old) == f64_from(data2) ? data : old;
	case AT_MSKOR: return (old & ~data) | data2;
	}
	return old;
}

uint64_t atomic_apply(void *at, const struct memory_op *m, uint64_t data, uint64_t data2)
{
	if (m->bytes == 4) {
		uint32_t *p = at, old = __atomic_load_n(p, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(p, &old,
						    apply32(m->atomic, old, (uint32_t)data, (uint32_t)data2),
						    false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			;
		return old;
	}
	uint64_t *p = at, old = __atomic_load_n(p, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(p, &old, apply64(m->atomic, old, data, data2), false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	return old;
}
