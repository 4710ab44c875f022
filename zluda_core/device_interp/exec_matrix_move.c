/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices between memory and fragments, PTX ISA 9.7.14: ldmatrix, stmatrix and
 * movmatrix (8 x 8 matrices of 16 bits: lane 4r + t holds elements 2t and 2t + 1 of
 * row r), wmma.load and wmma.store (layouts: matrix.h).
 */
#include <string.h>

#include "zluda_core/device_interp/exec_mem.h"
#include "zluda_core/device_interp/lane.h"
#include "zluda_core/device_interp/matrix.h"

bool matrix_converged(struct warp *w, const struct xinst *i)
{
	for (uint32_t k = 0; k < LANES; k++) {
		struct fragment *f = &w->frags[k];

		if (f != w->cur && f->state == FRAG_COLLECTIVE && f->pc == i && f->frame == w->frame)
			warp_absorb(w, f);
	}
	if ((w->mask | w->exited) == FULL_MASK)
		return true;
	w->cur->state = FRAG_COLLECTIVE;
	w->cur->members = FULL_MASK;
	w->cur->pc = i;
	w->stop = STOP_SWITCH;
	return false;
}

/* ldmatrix, stmatrix: lane 8 m + r gives the address of row r of matrix m. o = address, registers; u = count |
 * space << 8 | transposed << 16. */
#define U_COUNT(u) ((u)&0xff)
#define U_SPACE(u) ((enum ptx_space)((u) >> 8 & 0xff))
#define U_TRANS(u) ((u) >> 16 & 1)

static bool resolve_rows(struct warp *w, const struct xinst *i, uint32_t how, uint8_t **rows)
{
	const uint64_t *a = cell(w, i->o[0]);

	for (unsigned l = 0; l < 8 * U_COUNT(i->u); l++)
		if (!(rows[l] = mem_resolve_lane(w, i, U_SPACE(i->u), a[l], 16, 16, how, l)))
			return false;
	return true;
}

static const struct xinst *ldmatrix(struct warp *w, const struct xinst *i)
{
	uint8_t *rows[LANES];
	uint16_t m[4][8][8];

	if (!matrix_converged(w, i) || !resolve_rows(w, i, 0, rows))
		return NULL;
	for (unsigned l = 0; l < 8 * U_COUNT(i->u); l++)
		memcpy(m[l / 8][l % 8], rows[l], 16);
	for (unsigned n = 0; n < U_COUNT(i->u); n++) {
		uint32_t *d = cell(w, i->o[1 + n]);

		FOR_LANES(l, w->mask)
		{
			const unsigned r = l / 4, t = l % 4 * 2;

			d[l] = U_TRANS(i->u) ? m[n][t][r] | (uint32_t)m[n][t + 1][r] << 16
					     : m[n][r][t] | (uint32_t)m[n][r][t + 1] << 16;
		}
	}
	return i + 1;
}

static const struct xinst *stmatrix(struct warp *w, const struct xinst *i)
{
	uint8_t *rows[LANES];
	uint16_t m[8][8];

	if (!matrix_converged(w, i) || !resolve_rows(w, i, MEM_STORE, rows))
		return NULL;
	for (unsigned n = 0; n < U_COUNT(i->u); n++) {
		const uint32_t *s = cell(w, i->o[1 + n]);

		for (unsigned l = 0; l < LANES; l++) {
			const unsigned r = l / 4, t = l % 4 * 2;

			*(U_TRANS(i->u) ? &m[t][r] : &m[r][t]) = (uint16_t)s[l];
			*(U_TRANS(i->u) ? &m[t + 1][r] : &m[r][t + 1]) = (uint16_t)(s[l] >> 16);
		}
		for (unsigned r = 0; r < 8; r++)
			memcpy(rows[8 * n + r], m[r], 16);
	}
	return i + 1;
}

static const struct xinst *movmatrix(struct warp *w, const struct xinst *i)
{
	const uint32_t *s = cell(w, i->o[1]);
	uint32_t *d = cell(w, i->o[0]), result[LANES];

	if (!matrix_converged(w, i))
		return NULL;
	for (unsigned l = 0; l < LANES; l++) {
		const unsigned row = l / 4,
			       col = l % 4 * 2; /* element (col, row) and (col + 1, row) of the source */
		const unsigned shift = 16 * (row & 1);

		result[l] = (s[4 * col + row / 2] >> shift & 0xffff) |
			    (s[4 * (col + 1) + row / 2] >> shift & 0xffff) << 16;
	}
	FOR_LANES(l, w->mask) d[l] = result[l];
	return i + 1;
}

static int refuse_later(struct decode *c)
{
	const struct ptx_inst *in = c->in;
	unsigned m = 0, n = 0, k = 0;

	if (!matrix_shape(in, &m, &n, &k) || m != 8 || n != 8 || in->type != PTX_B16)
		return refuse(c, "shapes and types other than .m8n8 and .b16 need target sm_100a or later, "
				 "which is not executed");
	if (in->vec > 4)
		return refuse(c, "it moves 1, 2 or 4 matrices");
	return 0;
}

static int matrix_address(struct decode *c, uint32_t *pos, enum ptx_space *space)
{
	uint32_t base;
	int64_t imm;

	*space = (enum ptx_space)c->in->space;
	int rc = address(c, &c->in->src[0], c->in->offset, space, &base, &imm);
	return rc ? rc : add_offset(c, base, imm, pos);
}

static int emit_ldmatrix(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	enum ptx_space space = PTX_SPACE_GENERIC;
	struct dest d[4];
	uint32_t pos = 0;
	int rc = refuse_later(c);

	if (!rc && in->ndst != in->vec)
		rc = refuse(c, "it needs %u registers", in->vec);
	if (!rc)
		rc = matrix_address(c, &pos, &space);
	for (unsigned k = 0; !rc && k < in->ndst; k++)
		rc = dest(c, &in->dst[k], 32, false, &d[k]);
	if (rc)
		return rc;
	struct xinst *x = emit(c, row->fn);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = pos;
	for (unsigned k = 0; k < in->ndst; k++)
		x->o[1 + k] = d[k].pos;
	x->u = in->ndst | (uint32_t)space << 8 | (in->flags & PTX_F_TRANS ? 1u << 16 : 0);
	for (unsigned k = 0; k < in->ndst && !rc; k++)
		rc = dest_done(c, &d[k]);
	return rc;
}

static int emit_stmatrix(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	enum ptx_space space = PTX_SPACE_GENERIC;
	uint32_t pos = 0, data[4];
	int rc = refuse_later(c);

	if (!rc && in->nsrc != 1u + in->vec)
		rc = refuse(c, "it needs %u registers", in->vec);
	if (!rc)
		rc = matrix_address(c, &pos, &space);
	for (unsigned k = 0; !rc && k < in->vec; k++)
		rc = source(c, &in->src[1 + k], 32, false, &data[k]);
	if (!rc)
		rc = inject_stored(c, &data[0], 32);
	if (rc)
		return rc;
	struct xinst *x = emit(c, row->fn);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = pos;
	for (unsigned k = 0; k < in->vec; k++)
		x->o[1 + k] = data[k];
	x->u = in->vec | (uint32_t)space << 8 | (in->flags & PTX_F_TRANS ? 1u << 16 : 0);
	return 0;
}

static int emit_movmatrix(struct decode *c, const struct exec_row *row)
{
	struct dest d;
	uint32_t s = 0;
	int rc = refuse_later(c);

	if (!rc && !(c->in->flags & PTX_F_TRANS))
		rc = refuse(c, "it needs .trans");
	if (!rc)
		rc = source(c, &c->in->src[0], 32, false, &s);
	if (!rc)
		rc = dest(c, &c->in->dst[0], 32, false, &d);
	if (rc)
		return rc;
	struct xinst *x = emit(c, row->fn);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = d.pos;
	x->o[1] = s;
	return dest_done(c, &d);
}

/* wmma.load, wmma.store: a matrix in memory, line after line (rows or columns), `stride` elements apart. */
struct matrix_memory {
	enum { OPERAND_A, OPERAND_B, OPERAND_C } operand;
	const struct matrix_element *type; /* of A and B */
	uint16_t m, n, k;                  /* k in elements */
	uint8_t bits, per;                 /* of an element; elements in a register */
	uint8_t registers, used;
	uint8_t space;
	bool col;
	uint16_t lines, line; /* how many, elements in one */
	uint32_t regs[MATRIX_REGS], address, stride;
};

enum { MATRIX_BYTES = 2048 }; /* 32 x 16 of 16 bits are 1024, 16 x 16 of 32 bits 1024 */

static bool resolve_lines(struct warp *w, const struct xinst *i, uint32_t how, uint8_t **lines)
{
	const struct matrix_memory *x = (const void *)(uintptr_t)i->imm;
	const unsigned lane = first_lane(w->mask);
	const uint64_t base = ((const uint64_t *)cell(w, x->address))[lane];
	const uint64_t stride =
		x->stride == OPERAND_NONE ? x->line : ((const uint32_t *)cell(w, x->stride))[lane];
	const uint32_t align = x->bits < 8 ? 4 : x->bits / 8;

	for (unsigned k = 0; k < x->lines; k++)
		if (!(lines[k] = mem_resolve_lane(w, i, (enum ptx_space)x->space,
						  base + k * stride * x->bits / 8, x->line * x->bits / 8u,
						  align, how, lane)))
			return false;
	return true;
}

/* Place of element e of register r in the lines, as a number of elements. */
static unsigned line_place(const struct matrix_memory *x, unsigned r, unsigned e, unsigned lane)
{
	struct matrix_place p;

	r %= x->used;
	if (x->operand == OPERAND_A) {
		p = place_a(x->m, x->per, r, lane);
		p.col += e;
	} else if (x->operand == OPERAND_B) {
		p = place_b(x->k, x->per, r, lane);
		p.row += e;
	} else {
		p = place_c(x->m, r * x->per + e, lane);
	}
	return x->col ? p.col * x->line + p.row : p.row * x->line + p.col;
}

static uint64_t get_element(const uint8_t *bytes, unsigned bits, unsigned at)
{
	uint64_t v = 0;

	if (bits < 8)
		return bytes[at * bits / 8] >> (at * bits % 8) & ((1u << bits) - 1);
	memcpy(&v, bytes + at * (bits / 8), bits / 8);
	return v;
}

static const struct xinst *wmma_load(struct warp *w, const struct xinst *i)
{
	const struct matrix_memory *x = (const void *)(uintptr_t)i->imm;
	uint8_t *lines[LANES], bytes[MATRIX_BYTES];
	const unsigned length = x->line * x->bits / 8u;

	if (!matrix_converged(w, i) || !resolve_lines(w, i, 0, lines))
		return NULL;
	for (unsigned k = 0; k < x->lines; k++)
		memcpy(bytes + k * length, lines[k], length);
	for (unsigned r = 0; r < x->registers; r++)
		FOR_LANES(l, w->mask)
		{
			uint64_t v = 0;

			for (unsigned e = 0; e < x->per; e++)
				v |= get_element(bytes, x->bits, line_place(x, r, e, l))
				     << (e * x->bits % 64);
			if (x->bits == 64)
				((uint64_t *)cell(w, x->regs[r]))[l] = v;
			else
				((uint32_t *)cell(w, x->regs[r]))[l] = (uint32_t)v;
		}
	return i + 1;
}

static const struct xinst *wmma_store(struct warp *w, const struct xinst *i)
{
	const struct matrix_memory *x = (const void *)(uintptr_t)i->imm;
	uint8_t *lines[LANES];
	const unsigned size = x->bits / 8u;

	if (!matrix_converged(w, i) || !resolve_lines(w, i, MEM_STORE, lines))
		return NULL;
	for (unsigned r = 0; r < x->registers; r++)
		for (unsigned l = 0; l < LANES; l++) {
			const uint64_t v = x->bits == 64 ? ((const uint64_t *)cell(w, x->regs[r]))[l]
							 : ((const uint32_t *)cell(w, x->regs[r]))[l];

			for (unsigned e = 0; e < x->per; e++) {
				const unsigned at = line_place(x, r, e, l);
				const uint64_t part = v >> (e * x->bits % 64);

				memcpy(lines[at / x->line] + at % x->line * size, &part, size);
			}
		}
	return i + 1;
}

/* Which types a shape has as A and B: ISA 9.7.14.1. */
static bool memory_shape_exists(const struct matrix_memory *x, unsigned type)
{
	const bool large = x->m * x->n == 256 && x->k == 16;

	if (x->operand == OPERAND_C)
		switch (type) {
		case PTX_F64: return x->k == 4;
		case PTX_F32: return large || x->k == 8;
		case PTX_F16: return large;
		case PTX_S32: return large || x->k == 32 || x->k == 128;
		default: return false;
		}
	switch (type) {
	case PTX_F16:
	case PTX_BF16:
	case PTX_S8:
	case PTX_U8: return large;
	case PTX_TF32: return x->k == 8;
	case PTX_F64: return x->k == 4;
	case PTX_S4:
	case PTX_U4: return x->k == 32 && x->col == (x->operand == OPERAND_B);
	case PTX_B1: return x->k == 128 && x->col == (x->operand == OPERAND_B);
	default: return false;
	}
}

static bool is_wmma_shape(unsigned m, unsigned n, unsigned k)
{
	if (k == 16)
		return (m == 16 && n == 16) || (m == 8 && n == 32) || (m == 32 && n == 8);
	return k == 8 ? m == 16 && n == 16 : m == 8 && n == 8 && (k == 4 || k == 32 || k == 128);
}

static int describe_memory(struct decode *c, struct matrix_memory *x)
{
	const struct ptx_inst *in = c->in;
	const bool load = in->op == PTX_OP_WMMA_LOAD;
	unsigned m = 0, n = 0, k = 0;

	if (!matrix_shape(in, &m, &n, &k) || !is_wmma_shape(m, n, k))
		return refuse(c, "wmma has no such shape (ISA 9.7.14.1)");
	x->operand = load && matrix_has_word(in, "a")   ? OPERAND_A
		     : load && matrix_has_word(in, "b") ? OPERAND_B
							: OPERAND_C;
	x->m = (uint16_t)m;
	x->n = (uint16_t)n;
	x->k = (uint16_t)k;
	x->bits = (uint8_t)ptx_type_bits(in->type);
	x->col = in->layout & 1;
	if (!memory_shape_exists(x, in->type))
		return refuse(c, "wmma has no such shape, type and layout (ISA 9.7.14.1)");
	const unsigned rows = x->operand == OPERAND_B ? k : m, cols = x->operand == OPERAND_A ? k : n;

	x->per = (uint8_t)(x->bits < 32 ? 32 / x->bits : 1);
	x->used = x->registers = (uint8_t)matrix_registers(rows, cols, x->bits);
	if (in->type == PTX_F16 && x->operand != OPERAND_C)
		x->registers = MATRIX_REGS;
	x->lines = (uint16_t)(x->col ? cols : rows);
	x->line = (uint16_t)(x->col ? rows : cols);
	return 0;
}

static int memory_operands(struct decode *c, struct matrix_memory *x, unsigned before)
{
	const struct ptx_inst *in = c->in;
	enum ptx_space space = PTX_SPACE_GENERIC;
	int rc = 0;

	x->stride = OPERAND_NONE;
	if (in->nsrc != before && in->nsrc != before + 1)
		return refuse(c, "it has %u registers", x->registers);
	rc = matrix_address(c, &x->address, &space);
	x->space = (uint8_t)space;
	if (!rc && in->nsrc > before)
		rc = source(c, &in->src[before], 32, false, &x->stride);
	return rc;
}

static int emit_wmma_load(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	struct matrix_memory *x = arena_zalloc(&c->program->arena, sizeof(*x));
	struct dest d[MATRIX_REGS];
	int rc = x ? describe_memory(c, x) : refuse(c, "out of memory");

	if (!rc && in->ndst != x->registers)
		rc = refuse(c, "it has %u registers", x->registers);
	if (!rc)
		rc = memory_operands(c, x, 1);
	for (unsigned k = 0; !rc && k < x->registers; k++) {
		rc = dest(c, &in->dst[k], x->bits == 64 ? 64 : 32, false, &d[k]);
		x->regs[k] = d[k].pos;
	}
	if (rc)
		return rc;
	struct xinst *i = emit(c, row->fn);
	if (!i)
		return refuse(c, "out of memory");
	i->imm = (int64_t)(uintptr_t)x;
	for (unsigned k = 0; k < x->registers && !rc; k++)
		rc = dest_done(c, &d[k]);
	return rc;
}

static int emit_wmma_store(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	struct matrix_memory *x = arena_zalloc(&c->program->arena, sizeof(*x));
	int rc = x ? describe_memory(c, x) : refuse(c, "out of memory");
	unsigned bits;

	if (!rc)
		rc = memory_operands(c, x, 1u + x->registers);
	if (rc)
		return rc;
	bits = x->bits == 64 ? 64 : 32;
	for (unsigned k = 0; k < x->registers && !rc; k++)
		rc = source(c, &in->src[1 + k], bits, false, &x->regs[k]);
	if (!rc)
		rc = inject_stored(c, &x->regs[0], bits);
	if (rc)
		return rc;
	struct xinst *i = emit(c, row->fn);
	if (!i)
		return refuse(c, "out of memory");
	i->imm = (int64_t)(uintptr_t)x;
	return 0;
}

#define MOVE(OP, FN, EMIT)                                                                            \
	{                                                                                             \
		.op = PTX_OP_##OP, .ok = PTX_F_SYNC | PTX_F_TRANS, .sig = "", .fn = FN, .emit = EMIT, \
		.splits = true                                                                        \
	}
static const struct exec_row rows[] = {
	MOVE(LDMATRIX, ldmatrix, emit_ldmatrix),       MOVE(STMATRIX, stmatrix, emit_stmatrix),
	MOVE(MOVMATRIX, movmatrix, emit_movmatrix),    MOVE(WMMA_LOAD, wmma_load, emit_wmma_load),
	MOVE(WMMA_STORE, wmma_store, emit_wmma_store),
};

const struct exec_family exec_matrix_move = {rows, sizeof(rows) / sizeof(rows[0])};
