/* SPDX-License-Identifier: Apache-2.0
 *
 * suld, sust and sured, PTX ISA 9.7.11. Without a modifier that says what happens outside, it traps.
 */
#include <math.h>
#include <string.h>

#include "zluda_core/device_interp/exec_mem.h"
#include "zluda_core/device_interp/exec_tex.h"
#include "zluda_core/device_interp/half.h"
#include "zluda_core/device_interp/lane.h"

enum outside { OUTSIDE_TRAP, OUTSIDE_CLAMP, OUTSIDE_ZERO };

struct surface_op {
	struct tex_ref ref;
	struct tex_geometry geometry;
	enum outside outside;
	bool formatted; /* .p: coordinates count texels */
	uint8_t vec, bytes, sub, type;
	uint32_t layer, at[3], data[4];
};

/* ---- places ----------------------------------------------------------------------- */

static const struct xinst *fault_outside(struct warp *w, const struct xinst *i, unsigned lane,
					 const struct dev_texture *t, const int64_t at[3], uint32_t bytes)
{
	const struct dev_texture_level *l = &t->level[0];
	const struct ptx_inst *in = xinst_ptx(w, i);

	return fault_lane(
		w, i, DEV_FAULT_ILLEGAL_ADDRESS, lane,
		"%s of %u bytes at byte %lld, row %lld, plane %lld is outside of surface 0x%llx: %llu bytes, "
		"%u rows, %u planes",
		in && in->op == PTX_OP_SULD ? "load" : "store", bytes, (long long)at[0], (long long)at[1],
		(long long)at[2], (unsigned long long)t->handle, (unsigned long long)l->row, l->height,
		t->layers ? t->layers : l->depth);
}

/* Byte, row and plane of a lane's access. */
static void coordinates(struct warp *w, const struct surface_op *op, const struct dev_texture *t,
			unsigned lane, int64_t at[3])
{
	for (unsigned k = 0; k < 3; k++)
		at[k] = op->at[k] == OPERAND_NONE ? 0 : ((const int32_t *)cell(w, op->at[k]))[lane];
	if (op->formatted)
		at[0] *= op->sub ? op->bytes : t->texel_bytes;
	if (op->layer != OPERAND_NONE)
		at[2] = ((const uint32_t *)cell(w, op->layer))[lane];
}

enum place { PLACE_FAULT, PLACE_OUTSIDE, PLACE_INSIDE };

/* Address of `bytes` bytes, brought inside where the instruction says so. */
static enum place find_place(struct warp *w, const struct xinst *i, const struct surface_op *op,
			     const struct dev_texture *t, unsigned lane, uint32_t bytes, uint64_t *address)
{
	const struct dev_texture_level *l = &t->level[0];
	const int64_t size[3] = {(int64_t)l->row, l->height, t->layers ? t->layers : l->depth};
	int64_t at[3];
	bool off = false;

	coordinates(w, op, t, lane, at);
	if (at[0] % bytes) {
		fault_lane(w, i, DEV_FAULT_MISALIGNED, lane,
			   "byte %lld of a surface is no place for %u bytes", (long long)at[0], bytes);
		return PLACE_FAULT;
	}
	for (unsigned k = 0; k < 3; k++) {
		int64_t last = size[k] - (k ? 1 : (int64_t)bytes);

		off |= at[k] < 0 || at[k] > last;
		if (op->outside == OUTSIDE_CLAMP)
			at[k] = at[k] < 0 || last < 0 ? 0
				: at[k] > last        ? k ? last : last / bytes * bytes
						      : at[k];
	}
	if (off && op->outside == OUTSIDE_TRAP) {
		fault_outside(w, i, lane, t, at, bytes);
		return PLACE_FAULT;
	}
	if ((off && op->outside == OUTSIDE_ZERO) || size[0] < (int64_t)bytes)
		return PLACE_OUTSIDE;
	*address = l->base + (uint64_t)at[2] * l->slice + (uint64_t)at[1] * l->row + (uint64_t)at[0];
	return PLACE_INSIDE;
}

/* ---- unformatted -------------------------------------------------------------------------- */

static const struct xinst *suld(struct warp *w, const struct xinst *i)
{
	const struct surface_op *op = (const struct surface_op *)(uintptr_t)i->imm;
	const uint32_t bytes = (uint32_t)op->bytes * op->vec;

	FOR_LANES(l, w->exec)
	{
		const struct dev_texture *t = tex_find(w, i, l, &op->ref, DEV_SURFACE);
		uint8_t data[32] = {0};
		uint64_t a;
		enum place place = t ? find_place(w, i, op, t, l, bytes, &a) : PLACE_FAULT;

		if (place == PLACE_INSIDE) {
			const uint8_t *p = mem_resolve_lane(w, i, PTX_SPACE_GLOBAL, a, bytes, 1, 0, l);

			if (p)
				memcpy(data, p, bytes);
			else
				place = PLACE_FAULT;
		}
		if (place == PLACE_FAULT)
			return NULL;
		for (unsigned k = 0; k < op->vec; k++)
			memcpy((uint8_t *)cell(w, op->data[k]) + (size_t)l * op->bytes, data + k * op->bytes,
			       op->bytes);
	}
	return i + 1;
}

static bool store_bytes(struct warp *w, const struct xinst *i, const struct surface_op *op,
			const struct dev_texture *t, unsigned lane, const uint8_t *data, uint32_t bytes)
{
	uint64_t a;
	enum place place = find_place(w, i, op, t, lane, bytes, &a);
	uint8_t *p = NULL;

	if (place == PLACE_INSIDE)
		p = mem_resolve_lane(w, i, PTX_SPACE_GLOBAL, a, bytes, 1, MEM_STORE, lane);
	if (p)
		memcpy(p, data, bytes);
	return p || place == PLACE_OUTSIDE;
}

static const struct xinst *sust(struct warp *w, const struct xinst *i)
{
	const struct surface_op *op = (const struct surface_op *)(uintptr_t)i->imm;

	FOR_LANES(l, w->exec)
	{
		const struct dev_texture *t = tex_find(w, i, l, &op->ref, DEV_SURFACE);
		uint8_t data[32];

		if (!t)
			return NULL;
		for (unsigned k = 0; k < op->vec; k++)
			memcpy(data + k * op->bytes,
			       (const uint8_t *)cell(w, op->data[k]) + (size_t)l * op->bytes, op->bytes);
		if (!store_bytes(w, i, op, t, l, data, (uint32_t)op->bytes * op->vec))
			return NULL;
	}
	return i + 1;
}

/* ---- formatted ------------------------------------------------------------------------------- */

/* Nearest integer of [low, high] to a scaled float; NaN is 0. */
static int64_t quantised(uint32_t bits, double scale, double low, double high)
{
	double v = (double)f32_from(bits) * scale;

	if (v != v)
		return 0;
	return (int64_t)nearbyint(v < low ? low : v > high ? high : v);
}

static int64_t clamped(int64_t v, int64_t low, int64_t high)
{
	return v < low ? low : v > high ? high : v;
}

/* A channel as the surface stores it: .f32 to fractions and floats, .u32 and .s32 to integers (ISA 9.7.11.2). */
static uint32_t formatted(enum dev_texel texel, uint32_t bits)
{
	switch (texel) {
	case DEV_TEXEL_U8: return bits > 255 ? 255 : bits;
	case DEV_TEXEL_U16: return bits > 65535 ? 65535 : bits;
	case DEV_TEXEL_S8: return (uint32_t)clamped((int32_t)bits, -128, 127);
	case DEV_TEXEL_S16: return (uint32_t)clamped((int32_t)bits, -32768, 32767);
	case DEV_TEXEL_F16: return f16_from_f32(f32_from(bits));
	case DEV_TEXEL_UN8: return (uint32_t)quantised(bits, 255, 0, 255);
	case DEV_TEXEL_UN16: return (uint32_t)quantised(bits, 65535, 0, 65535);
	case DEV_TEXEL_SN8: return (uint32_t)quantised(bits, 127, -127, 127);
	case DEV_TEXEL_SN16: return (uint32_t)quantised(bits, 32767, -32767, 32767);
	default: return bits;
	}
}

static const struct xinst *sust_p(struct warp *w, const struct xinst *i)
{
	const struct surface_op *op = (const struct surface_op *)(uintptr_t)i->imm;

	FOR_LANES(l, w->exec)
	{
		const struct dev_texture *t = tex_find(w, i, l, &op->ref, DEV_SURFACE);
		uint8_t data[16] = {0};

		if (!t)
			return NULL;
		unsigned bytes = t->texel_bytes / t->channels;

		for (unsigned k = 0; k < op->vec && k < t->channels; k++) {
			uint32_t v = formatted((enum dev_texel)t->texel,
					       ((const uint32_t *)cell(w, op->data[k]))[l]);

			memcpy(data + k * bytes, &v, bytes);
		}
		if (!store_bytes(w, i, op, t, l, data, t->texel_bytes))
			return NULL;
	}
	return i + 1;
}

/* ---- reductions --------------------------------------------------------------------------------- */

static bool is_signed(const struct surface_op *op, const struct dev_texture *t)
{
	if (op->formatted)
		return t->texel == DEV_TEXEL_S8 || t->texel == DEV_TEXEL_S16 || t->texel == DEV_TEXEL_S32;
	return op->type == PTX_S32 || op->type == PTX_S64;
}

#define REDUCE(T, S)                                                                                   \
	static T reduce_##T(unsigned sub, bool sign, T x, T y)                                         \
	{                                                                                              \
		bool less = sign ? (S)x < (S)y : x < y;                                                \
                                                                                                       \
		switch (sub) {                                                                         \
		case PTX_SUB_ADD: return x + y;                                                        \
		case PTX_SUB_MIN: return less ? x : y;                                                 \
		case PTX_SUB_MAX: return less ? y : x;                                                 \
		case PTX_SUB_AND: return x & y;                                                        \
		default: return x | y;                                                                 \
		}                                                                                      \
	}                                                                                              \
	static void atomic_##T(uint8_t *p, const struct surface_op *op, bool sign, T y)                \
	{                                                                                              \
		T *q = (T *)(void *)p, old = __atomic_load_n(q, __ATOMIC_RELAXED);                     \
                                                                                                       \
		while (!__atomic_compare_exchange_n(q, &old, reduce_##T(op->sub, sign, old, y), false, \
						    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))               \
			;                                                                              \
	}
REDUCE(uint32_t, int32_t)
REDUCE(uint64_t, int64_t)

static const struct xinst *sured(struct warp *w, const struct xinst *i)
{
	const struct surface_op *op = (const struct surface_op *)(uintptr_t)i->imm;

	FOR_LANES(l, w->exec)
	{
		const struct dev_texture *t = tex_find(w, i, l, &op->ref, DEV_SURFACE);
		uint64_t a;
		enum place place = t ? find_place(w, i, op, t, l, op->bytes, &a) : PLACE_FAULT;
		uint8_t *p = NULL;

		if (place == PLACE_INSIDE)
			p = mem_resolve_lane(w, i, PTX_SPACE_GLOBAL, a, op->bytes, op->bytes, MEM_ATOMIC, l);
		if (!p && place != PLACE_OUTSIDE)
			return NULL;
		if (p && op->bytes == 4)
			atomic_uint32_t(p, op, is_signed(op, t), ((const uint32_t *)cell(w, op->data[0]))[l]);
		else if (p)
			atomic_uint64_t(p, op, is_signed(op, t), ((const uint64_t *)cell(w, op->data[0]))[l]);
	}
	return i + 1;
}

/* ---- decoding -------------------------------------------------------------------------------------- */

static bool has(const struct decode *c, const char *modifier)
{
	const char *at = strstr(c->in->mods, modifier);
	size_t n = strlen(modifier);

	return at && (at[n] == '.' || !at[n]);
}

static int set_place(struct decode *c, struct surface_op *op)
{
	const struct ptx_inst *in = c->in;
	unsigned at = 1;
	int rc;

	if (!tex_geometry(in, &op->geometry) || op->geometry.cube)
		return refuse(c, "there are no surfaces of geometry .%s", ptx_shape_name(in->shape));
	if (in->layout < 1u + op->geometry.dims + op->geometry.layered)
		return refuse(c, "a coordinate is missing");
	op->outside = has(c, ".clamp") ? OUTSIDE_CLAMP : has(c, ".zero") ? OUTSIDE_ZERO : OUTSIDE_TRAP;
	op->layer = op->at[0] = op->at[1] = op->at[2] = OPERAND_NONE;
	rc = tex_ref_source(c, &in->src[0], &op->ref);
	if (!rc && op->geometry.layered)
		rc = source(c, &in->src[at++], 32, false, &op->layer);
	for (unsigned k = 0; k < op->geometry.dims && !rc; k++)
		rc = source(c, &in->src[at++], 32, true, &op->at[k]);
	return rc;
}

static int set_data(struct decode *c, struct surface_op *op)
{
	const struct ptx_inst *in = c->in;
	int rc = 0;

	op->type = in->type;
	op->sub = in->op == PTX_OP_SURED ? in->sub : 0;
	op->bytes = (uint8_t)(ptx_type_bits((enum ptx_type)in->type) / 8);
	op->vec = in->vec ? in->vec : 1;
	op->formatted = has(c, ".p");
	if (op->vec > 4 || !op->bytes || op->bytes > 8)
		return refuse(c, "surfaces are accessed by up to four elements of 8 to 64 bits");
	if (in->op == PTX_OP_SULD)
		return in->ndst == op->vec ? 0 : refuse(c, "expected %u results", op->vec);
	if (in->nsrc != in->layout + op->vec)
		return refuse(c, "expected %u values", op->vec);
	for (unsigned k = 0; k < op->vec && !rc; k++)
		rc = source(c, &in->src[in->layout + k], op->bytes * 8u, false, &op->data[k]);
	return rc;
}

static int check_form(struct decode *c, const struct surface_op *op)
{
	const struct ptx_inst *in = c->in;
	bool minmax = op->sub == PTX_SUB_MIN || op->sub == PTX_SUB_MAX;
	bool bits = op->sub == PTX_SUB_AND || op->sub == PTX_SUB_OR;

	if (in->op == PTX_OP_SULD && op->formatted)
		return refuse(c, "formatted loads of surfaces are no longer part of PTX");
	if (in->op == PTX_OP_SUST && op->formatted && (op->bytes != 4 || op->geometry.layered))
		return refuse(c, "formatted stores take .b32 and no layers");
	if (in->op == PTX_OP_SURED && ((op->bytes != 4 && op->bytes != 8) || op->vec != 1 ||
				       op->geometry.layered || !(minmax || bits || op->sub == PTX_SUB_ADD)))
		return refuse(c, "no reduction of surfaces has this form");
	return 0;
}

static int emit_surface(struct decode *c, const struct exec_row *row)
{
	struct surface_op *op = arena_zalloc(&c->program->arena, sizeof(*op));
	const bool load = c->in->op == PTX_OP_SULD;
	struct dest d[4];
	int rc = op ? set_place(c, op) : refuse(c, "out of memory");

	if (!rc)
		rc = set_data(c, op);
	if (!rc)
		rc = check_form(c, op);
	for (unsigned k = 0; load && !rc && k < op->vec; k++) {
		rc = dest(c, &c->in->dst[k], op->bytes * 8u, false, &d[k]);
		op->data[k] = d[k].pos;
	}
	if (!rc && !load && op->vec)
		rc = inject_stored(c, &op->data[0], op->bytes * 8u);
	if (rc)
		return rc;
	struct xinst *x = emit(c, op->formatted && c->in->op == PTX_OP_SUST ? sust_p : row->fn);
	if (!x)
		return refuse(c, "out of memory");
	x->imm = (int64_t)(uintptr_t)op;
	for (unsigned k = 0; load && k < op->vec && !rc; k++)
		rc = dest_done(c, &d[k]);
	return rc;
}

#define SURFACE(OP, handler)                                                                        \
	{                                                                                           \
		.op = PTX_OP_##OP, .ok = UINT32_MAX, .sig = "", .fn = handler, .emit = emit_surface \
	}
static const struct exec_row rows[] = {
	SURFACE(SULD, suld),
	SURFACE(SUST, sust),
	SURFACE(SURED, sured),
};

const struct exec_family exec_tex_surface = {rows, sizeof(rows) / sizeof(rows[0])};
