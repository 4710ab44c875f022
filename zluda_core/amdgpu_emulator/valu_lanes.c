/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops of VALU ops, from valu.def. Compiled for the baseline and for AVX2: VARIANT names the table.
 */
#include "zluda_core/amdgpu_emulator/lanes.h"
#include "zluda_core/amdgpu_emulator/valu.h"

/* How an element of each type is read, what C computes with, and how a result is stored. */
#define C_NO   uint32_t
#define C_U32  uint32_t
#define C_I32  int32_t
#define C_F32  float
#define C_U16  uint32_t
#define C_I16  int32_t
#define C_F16  float
#define C_F16D double
#define C_U64  uint64_t
#define C_I64  int64_t
#define C_F64  double

#define READ_NO(p)  0
#define READ_U32(p) ((const uint32_t *)(p))[l]
#define READ_I32(p) ((const int32_t *)(p))[l]
#define READ_F32(p) ((const float *)(p))[l]
#define READ_U16(p) (uint16_t)((const uint32_t *)(p))[l]
#define READ_I16(p) (int16_t)((const uint32_t *)(p))[l]
#define READ_F16(p) f16_to_f32((uint16_t)((const uint32_t *)(p))[l])
#define READ_U64(p) ((const uint64_t *)(p))[l]
#define READ_I64(p) ((const int64_t *)(p))[l]
#define READ_F64(p) ((const double *)(p))[l]

#define WRITE_U32(v)  ((uint32_t *)x->r)[l] = (v)
#define WRITE_I32(v)  ((int32_t *)x->r)[l] = (v)
#define WRITE_F32(v)  ((float *)x->r)[l] = (v)
#define WRITE_U16(v)  ((uint32_t *)x->r)[l] = (uint16_t)(v)
#define WRITE_I16(v)  ((uint32_t *)x->r)[l] = (uint16_t)(v)
#define WRITE_F16(v)  ((uint32_t *)x->r)[l] = f16_of((double)(v))
#define WRITE_F16D(v) ((uint32_t *)x->r)[l] = f16_of(v)
#define WRITE_U64(v)  ((uint64_t *)x->r)[l] = (v)
#define WRITE_I64(v)  ((int64_t *)x->r)[l] = (v)
#define WRITE_F64(v)  ((double *)x->r)[l] = (v)

#define LOW_U32  0
#define HIGH_U32 UINT32_MAX
#define LOW_I32  INT32_MIN
#define HIGH_I32 INT32_MAX
#define LOW_U16  0
#define HIGH_U16 65535
#define LOW_I16  (-32768)
#define HIGH_I16 32767

#define MIN(p, q)     ((p) < (q) ? (p) : (q))
#define MAX(p, q)     ((p) > (q) ? (p) : (q))
#define ABSDIFF(p, q) ((p) > (q) ? (p) - (q) : (q) - (p))
#define IN            (in >> l & 1)
#define OUT           out

/* l runs to 32 or 64: both are multiples of what vectors hold. */
#define LOOP for (unsigned l = 0; l < (x->n & ~31u); l++)

#define SOURCES(A, B, C)          \
	C_##A a = READ_##A(x->a); \
	C_##B b = READ_##B(x->b); \
	C_##C c = READ_##C(x->c); \
	(void)a, (void)b, (void)c;

#define V(name, R, A, B, C, flags, meaning)             \
	static void lanes_##name(struct lanes *x)       \
	{                                               \
		uint64_t in = x->in, outs = 0;          \
		(void)in;                               \
		LOOP                                    \
		{                                       \
			uint64_t out = 0;               \
			SOURCES(A, B, C)                \
			WRITE_##R(meaning);             \
			if ((flags)&OPF_COUT)           \
				outs |= (out & 1) << l; \
		}                                       \
		x->out = outs;                          \
	}
#define SAT(name, R, A, B, C, flags, meaning)                                  \
	static void lanes_##name(struct lanes *x)                              \
	{                                                                      \
		if (!x->clamp) {                                               \
			LOOP                                                   \
			{                                                      \
				SOURCES(A, B, C)                               \
				WRITE_##R((C_##R)(meaning));                   \
			}                                                      \
			return;                                                \
		}                                                              \
		LOOP                                                           \
		{                                                              \
			SOURCES(A, B, C)                                       \
			WRITE_##R((C_##R)clamp_i(meaning, LOW_##R, HIGH_##R)); \
		}                                                              \
	}
#define COMPARE(name, A, B, meaning)                      \
	static void lanes_cmp_##name(struct lanes *x)     \
	{                                                 \
		uint64_t outs = 0;                        \
		LOOP                                      \
		{                                         \
			SOURCES(A, B, NO)                 \
			outs |= (uint64_t)(meaning) << l; \
		}                                         \
		x->out = outs;                            \
	}
#define C(name, T, flags, meaning) COMPARE(name, T, T, meaning)
#define CLASS(name, T, meaning)    COMPARE(name, T, U32, meaning)
#include "zluda_core/amdgpu_emulator/valu.def"
#undef V
#undef SAT
#undef C
#undef CLASS

#define V(name, R, A, B, C, flags, meaning) \
	{#name, T_##R, {T_##A, T_##B, T_##C}, flags, exec_valu, lanes_##name},
#define SAT V
#define C(name, T, flags, meaning) \
	{"v_cmp_" #name, T_##T, {T_##T, T_##T, T_NO}, (flags) | OPF_COMPARE, exec_compare, lanes_cmp_##name},
#define CLASS(name, T, meaning) \
	{"v_cmp_" #name, T_##T, {T_##T, T_U32, T_NO}, OPF_COMPARE, exec_compare, lanes_cmp_##name},
#define TABLE_NAME_(v) valu_ops_##v
#define TABLE_NAME(v)  TABLE_NAME_(v)
const struct op TABLE_NAME(VARIANT)[] = {
#include "zluda_core/amdgpu_emulator/valu.def"
	{NULL, 0, {0}, 0, NULL, NULL},
};
