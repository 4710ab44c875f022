/* SPDX-License-Identifier: Apache-2.0
 *
 * Strong loads and stores of vectors and of 128 bits. PTX ISA 8.2.2 takes a
 * vector for separate accesses of its elements in any order, but on every GPU an
 * aligned vector of up to 16 bytes is one access, and programs count on it: CUB's
 * decoupled look-back publishes a value and its status as one v2.u64 or v4.u32.
 */
#include <emmintrin.h>
#include <string.h>

#include "zluda_core/device_interp/exec_mem.h"

#define WHOLE_BYTES 16
#define MAX_BYTES   64

static bool is_aligned(const void *p, uint32_t bytes)
{
	return !((uintptr_t)p & (bytes - 1));
}

/* x86-64 CPUs with AVX access 16 aligned bytes at once; the assembler keeps the compiler from halving it. */
static void load_16(uint8_t *to, const uint8_t *p)
{
	__m128i v;

	__asm__ volatile("movdqa %1, %0" : "=x"(v) : "m"(*(const __m128i *)p) : "memory");
	_mm_storeu_si128((__m128i *)to, v);
}

static void store_16(uint8_t *p, const uint8_t *from)
{
	__m128i v = _mm_loadu_si128((const __m128i *)from);

	__asm__ volatile("movdqa %1, %0" : "=m"(*(__m128i *)p) : "x"(v) : "memory");
}

#define SMALL(T)                                                       \
	static void load_##T(uint8_t *to, const uint8_t *p)            \
	{                                                              \
		T v = __atomic_load_n((const T *)p, __ATOMIC_ACQUIRE); \
		memcpy(to, &v, sizeof(v));                             \
	}                                                              \
	static void store_##T(uint8_t *p, const uint8_t *from)         \
	{                                                              \
		T v;                                                   \
		memcpy(&v, from, sizeof(v));                           \
		__atomic_store_n((T *)p, v, __ATOMIC_RELEASE);         \
	}
SMALL(uint16_t)
SMALL(uint32_t)
SMALL(uint64_t)

/* Host memory that is less aligned than the device address belongs to one thread: its stack. */
static void load_whole(uint8_t *to, const uint8_t *p, uint32_t bytes)
{
	const bool aligned = is_aligned(p, bytes < WHOLE_BYTES ? bytes : WHOLE_BYTES);

	switch (aligned ? bytes : 0) {
	case 2: load_uint16_t(to, p); break;
	case 4: load_uint32_t(to, p); break;
	case 8: load_uint64_t(to, p); break;
	case 16: load_16(to, p); break;
	case 32:
		load_16(to, p);
		load_16(to + WHOLE_BYTES, p + WHOLE_BYTES);
		break;
	default: memcpy(to, p, bytes);
	}
}

static void store_whole(uint8_t *p, const uint8_t *from, uint32_t bytes)
{
	const bool aligned = is_aligned(p, bytes < WHOLE_BYTES ? bytes : WHOLE_BYTES);

	switch (aligned ? bytes : 0) {
	case 2: store_uint16_t(p, from); break;
	case 4: store_uint32_t(p, from); break;
	case 8: store_uint64_t(p, from); break;
	case 16: store_16(p, from); break;
	case 32:
		store_16(p, from);
		store_16(p + WHOLE_BYTES, from + WHOLE_BYTES);
		break;
	default: memcpy(p, from, bytes);
	}
}

static bool resolve(struct warp *w, const struct xinst *i, uint32_t address, uint32_t how, uint8_t **p)
{
	const uint64_t *base = cell(w, address);
	const uint32_t bytes = U_VEC(i->u) * U_ELEMENT(i->u);
	uint64_t a[LANES];

	for (uint32_t l = 0; l < LANES; l++)
		a[l] = base[l] + (uint64_t)i->imm;
	return mem_resolve(w, i, U_SPACE(i->u), a, bytes, bytes, how, p);
}

const struct xinst *exec_ld_whole(struct warp *w, const struct xinst *i)
{
	const uint32_t vec = U_VEC(i->u), element = U_ELEMENT(i->u);
	uint8_t *p[LANES], v[MAX_BYTES];

	if (!resolve(w, i, i->o[vec], 0, p))
		return NULL;
	FOR_LANES(l, w->exec)
	{
		load_whole(v, p[l], vec * element);
		for (uint32_t k = 0; k < vec; k++)
			memcpy((uint8_t *)cell(w, i->o[k]) + l * element, v + k * element, element);
	}
	if (U_STRONG(i->u))
		spin(w);
	return i + 1;
}

const struct xinst *exec_st_whole(struct warp *w, const struct xinst *i)
{
	const uint32_t vec = U_VEC(i->u), element = U_ELEMENT(i->u);
	uint8_t *p[LANES], v[MAX_BYTES];

	if (!resolve(w, i, i->o[0], MEM_STORE, p))
		return NULL;
	FOR_LANES(l, w->exec)
	{
		for (uint32_t k = 0; k < vec; k++)
			memcpy(v + k * element, (uint8_t *)cell(w, i->o[1 + k]) + l * element, element);
		store_whole(p[l], v, vec * element);
	}
	return i + 1;
}
