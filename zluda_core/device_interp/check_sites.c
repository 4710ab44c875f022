/* SPDX-License-Identifier: Apache-2.0
 *
 * What an instruction accesses, worked out when it is decoded. Its addresses are evaluated into cells of their own
 * ahead of it; then the one instruction among those emitted that is no conversion of an operand or a result gets
 * exec_checked as its handler. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zluda_core/device_interp/check.h"
#include "zluda_core/device_interp/matrix.h"

/* The stack is the thread's from here on: its variables hold nothing yet, parameters and results do. */
int check_function_entry(struct decode *c)
{
	if (!(c->check & CHECK_UNINIT) || !c->code->local_bytes)
		return 0;
	struct xinst *x = emit(c, exec_check_entry);

	if (!x)
		return refuse(c, "out of memory");
	x->imm = (int64_t)(uintptr_t)c->code;
	return 0;
}

static bool is_strong(const struct ptx_inst *in)
{
	return in->sem != PTX_SEM_NONE && in->sem != PTX_WEAK;
}

static bool is_release(const struct ptx_inst *in)
{
	return in->sem == PTX_RELEASE || in->sem == PTX_ACQ_REL || in->sem == PTX_SC;
}

/* Parameters lie at fixed places, which were checked when they were decoded. */
static bool is_parameter(const struct decode *c, const struct ptx_inst *in, const struct ptx_operand *o)
{
	return o->kind == PTX_OPND_PARAM || in->space == PTX_SPACE_PARAM ||
	       (o->kind == PTX_OPND_SYMBOL && c->module->ptx->symbols[o->index]->space == PTX_SPACE_PARAM);
}

static int add_access(struct decode *c, struct check_site *s, unsigned operand, enum ptx_space space,
		      uint32_t bytes, bool read, bool write)
{
	const struct ptx_operand *o = &c->in->src[operand];
	struct check_access *a = &s->a[s->naccesses];
	int64_t offset = operand ? (int64_t)o->imm : c->in->offset;
	int rc;

	*a = (struct check_access){
		.read = read, .write = write, .bytes = bytes, .length = OPERAND_NONE, .stride = OPERAND_NONE};
	rc = address(c, o, offset, &space, &a->address, &a->offset);
	a->space = (uint8_t)space;
	s->naccesses++;
	return rc;
}

static int load_or_store(struct decode *c, struct check_site *s)
{
	const struct ptx_inst *in = c->in;
	const bool store = in->op == PTX_OP_ST;
	const uint32_t vec = in->vec ? in->vec : 1, bits = ptx_type_bits(in->type);
	int rc = add_access(c, s, 0, (enum ptx_space)in->space, vec * bits / 8, !store, store);

	s->strong = is_strong(in);
	s->acquires = s->strong && !store;
	s->publishes = s->strong && store;
	s->releases = is_release(in);
	for (uint32_t k = 0;
	     store && !s->strong && bits <= 128 && k < vec && k + 1 < in->nsrc && !rc && vec <= 8; k++) {
		rc = source(c, &in->src[1 + k], bits, false, &s->data[k]);
		s->ndata = (uint8_t)vec;
		s->data_bytes = (uint8_t)(bits / 8);
	}
	return rc;
}

static int atomic_operation(struct decode *c, struct check_site *s)
{
	const struct ptx_inst *in = c->in;

	s->strong = s->acquires = s->publishes = true;
	s->releases = is_release(in);
	return add_access(c, s, 0, (enum ptx_space)in->space,
			  (in->vec ? in->vec : 1) * ptx_type_bits(in->type) / 8, true, true);
}

/* Objects of 8 bytes in shared memory. Arriving releases, waiting acquires (ISA 9.7.13.15). */
static int mbarrier(struct decode *c, struct check_site *s)
{
	const uint16_t op = c->in->op;
	const bool fresh = op == PTX_OP_MBARRIER_INIT;

	s->strong = s->acquires = s->publishes = s->releases = true;
	return add_access(c, s, 0, (enum ptx_space)c->in->space, 8, !fresh, true);
}

static int asynchronous_copy(struct decode *c, struct check_site *s)
{
	const struct ptx_inst *in = c->in;
	const uint32_t bytes = in->nsrc > 2 && in->src[2].kind == PTX_OPND_IMM ? (uint32_t)in->src[2].imm : 0;
	unsigned extra = in->nsrc - (in->flags & PTX_F_CACHE_HINT ? 1 : 0);
	int rc = add_access(c, s, 1, PTX_SPACE_GLOBAL, bytes, true, false);

	if (!rc && extra > 3 && operand_bits(c, &in->src[3]) == 1)
		s->naccesses = 0; /* lanes that ignore the source are not told apart */
	else if (!rc && extra > 3)
		rc = source(c, &in->src[3], 32, false, &s->a[0].length);
	return rc ? rc : add_access(c, s, 0, PTX_SPACE_SHARED, bytes, false, true);
}

/* ldmatrix, stmatrix: the first 8, 16 or 32 lanes name a row of 16 bytes each. */
static int matrix_rows(struct decode *c, struct check_site *s)
{
	const struct ptx_inst *in = c->in;
	const bool load = in->op == PTX_OP_LDMATRIX;
	int rc = add_access(c, s, 0, (enum ptx_space)in->space, 16, load, !load);

	s->a[0].rows = 8 * (in->vec ? in->vec : load ? in->ndst : 1);
	s->afterwards = true;
	return rc;
}

/* wmma.load, wmma.store: rows (or columns) of a matrix with a stride in elements behind one address. */
static int matrix_tile(struct decode *c, struct check_site *s)
{
	const struct ptx_inst *in = c->in;
	const bool load = in->op == PTX_OP_WMMA_LOAD;
	unsigned m, n, k, rows, columns, bits = ptx_type_bits(in->type);
	const char *which = strstr(in->mods, load ? "load." : "store.");

	if (!matrix_shape(in, &m, &n, &k) || !k)
		return 0;
	char matrix = which ? strchr(which, '.')[1] : 'd';

	rows = matrix == 'b' ? k : m;
	columns = matrix == 'a' ? k : n;
	if (in->layout & 1) {
		unsigned swap = rows;

		rows = columns;
		columns = swap;
	}
	int rc = add_access(c, s, 0, (enum ptx_space)in->space, columns * bits / 8, load, !load);

	s->a[0].rows = rows;
	s->a[0].stride_bytes = columns * bits / 8;
	unsigned at =
		1 + (load ? 0 : m * n * bits / LANES / (bits > 32 ? bits : 32)); /* behind the fragment */

	if (bits < 8 && in->nsrc > at)
		s->naccesses = 0; /* strides of less than a byte are not followed */
	else if (!rc && in->nsrc > at) {
		s->a[0].stride_bytes = bits / 8;
		rc = source(c, &in->src[at], 32, false, &s->a[0].stride);
	}
	s->afterwards = true;
	return rc;
}

static int describe(struct decode *c, struct check_site *s)
{
	const struct ptx_inst *in = c->in;

	switch (in->op) {
	case PTX_OP_LD:
	case PTX_OP_LDU:
	case PTX_OP_ST: return is_parameter(c, in, &in->src[0]) ? 0 : load_or_store(c, s);
	case PTX_OP_ATOM:
	case PTX_OP_RED: return atomic_operation(c, s);
	case PTX_OP_CP_ASYNC: return asynchronous_copy(c, s);
	case PTX_OP_CP_ASYNC_MBARRIER_ARRIVE: return mbarrier(c, s);
	case PTX_OP_LDMATRIX:
	case PTX_OP_STMATRIX: return matrix_rows(c, s);
	case PTX_OP_WMMA_LOAD:
	case PTX_OP_WMMA_STORE: return matrix_tile(c, s);
	case PTX_OP_MEMBAR:
	case PTX_OP_FENCE: s->fence = true; return 0;
	default: break;
	}
	if (in->op >= PTX_OP_MBARRIER_INIT && in->op <= PTX_OP_MBARRIER_TRY_WAIT && in->nsrc)
		return mbarrier(c, s);
	return 0;
}

int check_site_begin(struct decode *c, struct check_site **site)
{
	struct check_site s = {0};
	int rc = c->check & (CHECK_UNINIT | CHECK_RACES) ? describe(c, &s) : 0;

	*site = NULL;
	if (rc || (!s.naccesses && !s.fence))
		return rc;
	*site = arena_alloc(&c->program->arena, sizeof(s), 16);
	if (!*site)
		return refuse(c, "out of memory");
	**site = s;
	return 0;
}

static bool is_resize(const struct decode *c, exec_fn fn)
{
	static const unsigned bits[] = {8, 16, 32, 64, 128};

	for (unsigned k = 0; k < 50; k++)
		if (c->exec->resize(bits[k / 10], bits[k / 2 % 5], k % 2) == fn)
			return true;
	return fn == exec_guard || fn == exec_unguard || fn == exec_guard_not || fn == exec_not_pred;
}

int check_site_end(struct decode *c, struct check_site *site, uint32_t first)
{
	struct xcode *code = c->code;
	uint32_t at = code->ninsts;

	while (at > first && is_resize(c, code->insts[at - 1].fn))
		at--;
	if (at == first)
		return 0; /* nothing was emitted: a hint */
	if (at > code->nsites) {
		uint32_t n = at < 64 ? 64 : 2 * at;
		struct check_site **more = realloc(code->sites, n * sizeof(struct check_site *));

		if (!more)
			return refuse(c, "out of memory");
		memset(more + code->nsites, 0, (n - code->nsites) * sizeof(struct check_site *));
		code->sites = more;
		code->nsites = n;
	}
	site->fn = code->insts[at - 1].fn;
	code->insts[at - 1].fn = exec_checked;
	code->sites[at - 1] = site;
	return 0;
}
