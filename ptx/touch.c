/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/touch: what a kernel and all it may call may touch. Addresses of variables are followed through a
 * function's values; one that is stored, passed on or returned may be used by any access that isn't placed. */
#include <stdlib.h>
#include <string.h>

#include "ptx/analysis.h"
#include "ptx/provenance.h"

enum { NO_SYMBOL = 0, MANY_SYMBOLS = UINT32_MAX };

struct toucher {
	struct ptx_module *m;
	struct ptx_touch *t;
	uint8_t *kinds; /* by symbol; bodies that are built on the way bring more of them */
	uint32_t nkinds;
	uint8_t *state;     /* by function: 0 new, 1 open, 2 done */
	uint64_t *stack_of; /* by function: bytes of it and its deepest callee */
	/* one function's values */
	const struct ptx_func *f;
	struct ptx_uses uses;
	uint32_t *origin; /* by value: symbol + 1, NO_SYMBOL or MANY_SYMBOLS */
	uint32_t *queue, nqueue;
};

/* Where the addresses of several variables meet, each may be used in ways that aren't told apart. */
static void come_from(struct toucher *t, uint32_t value, uint32_t origin)
{
	uint32_t *old = &t->origin[value];
	if (!value || origin == NO_SYMBOL || *old == origin || *old == MANY_SYMBOLS)
		return;
	if (*old != NO_SYMBOL) {
		t->kinds[*old - 1] |= PTX_TOUCH_ADDRESS;
		if (origin != MANY_SYMBOLS)
			t->kinds[origin - 1] |= PTX_TOUCH_ADDRESS;
		origin = MANY_SYMBOLS;
	}
	*old = origin;
	t->queue[t->nqueue++] = value; /* at most twice each */
}

static bool passes_address(const struct ptx_inst *i)
{
	bool moves = i->op <= PTX_OP_SHR || i->op == PTX_OP_MOV || i->op == PTX_OP_CVTA ||
		     i->op == PTX_OP_CVT || i->op == PTX_OP_PRMT || i->op == PTX_OP_SHFL ||
		     i->op == PTX_OP_MAPA;
	return moves && !ptx_type_is_float(i->type);
}

static uint32_t origin_of(const struct toucher *t, const struct ptx_operand *o)
{
	if (o->kind == PTX_OPND_SYMBOL)
		return o->index + 1;
	return o->kind == PTX_OPND_VALUE ? t->origin[o->index] : (uint32_t)NO_SYMBOL;
}

static void flow(struct toucher *t, const struct ptx_inst *i)
{
	if (!passes_address(i))
		return;
	for (unsigned d = 0; d < i->ndst; d++) {
		if (i->dst[d].kind != PTX_OPND_VALUE || t->f->values[i->dst[d].index].bits < 32)
			continue;
		for (unsigned s = 0; s < i->nsrc; s++)
			come_from(t, i->dst[d].index, origin_of(t, &i->src[s]));
		if (i->prev && i->prev[d] != PTX_NONE)
			come_from(t, i->dst[d].index, t->origin[i->prev[d]]);
	}
}

static void follow_addresses(struct toucher *t)
{
	for (uint32_t n = 0; n < t->f->ninsts; n++)
		flow(t, &t->f->insts[n]);
	while (t->nqueue) {
		uint32_t v = t->queue[--t->nqueue];
		for (uint32_t k = t->uses.first[v]; k < t->uses.first[v + 1]; k++) {
			if (t->uses.at[k].inst == PTX_NONE)
				come_from(t, t->uses.at[k].phi, t->origin[v]);
			else
				flow(t, &t->f->insts[t->uses.at[k].inst]);
		}
	}
}

static void escape(struct toucher *t, const struct ptx_operand *o)
{
	uint32_t origin = origin_of(t, o);
	if (origin != NO_SYMBOL && origin != MANY_SYMBOLS)
		t->kinds[origin - 1] |= PTX_TOUCH_ADDRESS;
}

static void access_at(struct toucher *t, const struct ptx_operand *o, uint8_t space, uint8_t kinds)
{
	uint32_t origin = origin_of(t, o);
	if (origin != NO_SYMBOL && origin != MANY_SYMBOLS) {
		t->kinds[origin - 1] |= kinds;
		space = space == PTX_SPACE_GENERIC ? t->m->symbols[origin - 1]->space : space;
	} else if (o->kind == PTX_OPND_PARAM) {
		space = PTX_SPACE_PARAM;
	}
	t->t->space[space] |= kinds;
}

static void touch_memory(struct toucher *t, const struct ptx_inst *i, const struct memory_effect *e)
{
	uint8_t atomic = e->atomic ? PTX_TOUCH_ATOMIC : 0;
	if (e->read && e->read <= i->nsrc)
		access_at(t, &i->src[e->read - 1], e->read == 2 ? i->space2 : i->space,
			  (uint8_t)(PTX_TOUCH_READ | (e->write == e->read ? PTX_TOUCH_WRITE | atomic : 0)));
	if (e->write && e->write != e->read && e->write <= i->nsrc)
		access_at(t, &i->src[e->write - 1], i->space,
			  (uint8_t)(PTX_TOUCH_WRITE | (atomic ? atomic | PTX_TOUCH_READ : 0)));
	if (e->read == 2 && !e->write) /* cp.async: to shared memory */
		access_at(t, &i->src[0], i->space, PTX_TOUCH_WRITE);
	for (unsigned k = 1; i->op == PTX_OP_ST && k < i->nsrc; k++)
		escape(t, &i->src[k]);
}

static void touch_call(struct toucher *t, const struct ptx_inst *i)
{
	static const struct {
		const char *name;
		size_t flag;
	} known[] = {{"vprintf", offsetof(struct ptx_touch, uses_printf)},
		     {"malloc", offsetof(struct ptx_touch, uses_malloc)},
		     {"free", offsetof(struct ptx_touch, uses_malloc)},
		     {"__assertfail", offsetof(struct ptx_touch, uses_assert)},
		     {"__cudaCDP2LaunchDeviceV2", offsetof(struct ptx_touch, launches)},
		     {"__cudaCDP2GetParameterBufferV2", offsetof(struct ptx_touch, launches)}};
	for (unsigned k = 0; k < i->nsrc; k++)
		escape(t, &i->src[k]);
	if (i->target == PTX_NONE) {
		t->t->calls_indirect = true;
		return;
	}
	const struct ptx_func *callee = t->m->funcs[i->target];
	bool found = false;
	for (size_t k = 0; callee->is_decl && k < sizeof(known) / sizeof(known[0]); k++)
		if (!strcmp(callee->name, known[k].name)) {
			*(bool *)((char *)t->t + known[k].flag) = true;
			found = true;
		}
	t->t->calls_unknown |= callee->is_decl && !found;
}

static void touch_features(struct ptx_touch *t, const struct ptx_inst *i)
{
	uint16_t op = i->op;
	t->barriers |= op == PTX_OP_BAR || op == PTX_OP_BARRIER;
	t->warp_ops |= op == PTX_OP_SHFL || op == PTX_OP_VOTE || op == PTX_OP_MATCH ||
		       op == PTX_OP_ACTIVEMASK || op == PTX_OP_REDUX || op == PTX_OP_ELECT ||
		       op == PTX_OP_BAR_WARP_SYNC;
	t->matrix_ops |= op >= PTX_OP_WMMA_LOAD && op <= PTX_OP_TCGEN05_COMMIT;
	t->async_copies |= op >= PTX_OP_CP_ASYNC && op <= PTX_OP_CP_ASYNC_MBARRIER_ARRIVE;
	t->mbarriers |= op >= PTX_OP_MBARRIER_INIT && op <= PTX_OP_MBARRIER_PENDING_COUNT;
	t->clusters |= op == PTX_OP_BARRIER_CLUSTER_ARRIVE || op == PTX_OP_BARRIER_CLUSTER_WAIT ||
		       op == PTX_OP_MAPA || i->space == PTX_SPACE_SHARED_CLUSTER;
	t->fences |= op == PTX_OP_MEMBAR || op == PTX_OP_FENCE;
	t->textures |= op >= PTX_OP_TEX && op <= PTX_OP_ISTYPEP;
	t->surfaces |= op >= PTX_OP_SULD && op <= PTX_OP_SUQ;
	t->traps |= op == PTX_OP_TRAP || op == PTX_OP_BRKPT;
	t->sleeps |= op == PTX_OP_NANOSLEEP;
	for (unsigned k = 0; k < i->nsrc; k++) {
		uint32_t r = i->src[k].kind == PTX_OPND_SREG ? i->src[k].index : PTX_NSREGS;
		t->grid_sync |= r == PTX_SREG_ENVREG1 || r == PTX_SREG_ENVREG2;
		t->clocks |= r >= PTX_SREG_CLOCK && r <= PTX_SREG_GLOBALTIMER_HI;
	}
}

/* Operations on shared memory alone, whatever address form they are given. */
static uint8_t shared_kinds(uint16_t op)
{
	if (op == PTX_OP_LDMATRIX)
		return PTX_TOUCH_READ;
	if (op == PTX_OP_STMATRIX || op == PTX_OP_ST_BULK)
		return PTX_TOUCH_WRITE;
	bool mbarrier = op >= PTX_OP_MBARRIER_INIT && op <= PTX_OP_MBARRIER_TRY_WAIT;
	return mbarrier ? PTX_TOUCH_READ | PTX_TOUCH_WRITE | PTX_TOUCH_ATOMIC : 0;
}

static void touch_inst(struct toucher *t, const struct ptx_inst *i)
{
	const struct memory_effect *e = memory_effect_of(i);
	touch_features(t->t, i);
	if (shared_kinds(i->op) && i->nsrc)
		access_at(t, &i->src[0], PTX_SPACE_SHARED, shared_kinds(i->op));
	if (e)
		touch_memory(t, i, e);
	else if (i->op == PTX_OP_CALL)
		touch_call(t, i);
	else if (i->op == PTX_OP_RET)
		for (unsigned k = 0; k < i->nsrc; k++)
			escape(t, &i->src[k]);
	t->t->writes_unknown |= memory_written_elsewhere(i);
}

static int touch_func(struct toucher *t, struct ptx_func *f)
{
	size_t n = (size_t)f->nvalues + 1;
	t->f = f;
	t->nqueue = 0;
	int rc = ptx_uses_find(f, &t->uses);
	t->origin = calloc(n, sizeof(*t->origin));
	t->queue = malloc(2 * n * sizeof(*t->queue));
	if (!rc && t->origin && t->queue) {
		follow_addresses(t);
		for (uint32_t k = 0; k < f->ninsts; k++)
			touch_inst(t, &f->insts[k]);
		t->t->ninsts += f->ninsts;
		t->t->nfuncs++;
		t->t->writes_unknown |= f->writes_unknown;
	} else {
		rc = CUTRACE_ENOMEM;
	}
	ptx_uses_free(&t->uses);
	free(t->origin);
	free(t->queue);
	return rc;
}

/* A place in the walk over the call graph: function, next instruction to look at. */
struct visit {
	uint32_t func, next;
	uint64_t below;
};

/* The next function that instruction `next` or a later one names: called, or by its address. */
static uint32_t next_callee(const struct ptx_func *f, uint32_t *next)
{
	for (; *next < f->ninsts; (*next)++) {
		const struct ptx_inst *i = &f->insts[*next];
		uint32_t found = i->op == PTX_OP_CALL ? i->target : PTX_NONE;
		for (unsigned k = 0; k < i->nsrc && found == PTX_NONE; k++)
			if (i->src[k].kind == PTX_OPND_FUNC)
				found = i->src[k].index;
		if (found != PTX_NONE) {
			(*next)++;
			return found;
		}
	}
	return PTX_NONE;
}

static bool grow_kinds(struct toucher *t)
{
	uint8_t *more = realloc(t->kinds, (size_t)t->m->nsymbols + 1);
	if (!more)
		return false;
	memset(more + t->nkinds, 0, t->m->nsymbols + 1 - t->nkinds);
	t->kinds = more;
	t->nkinds = t->m->nsymbols + 1;
	return true;
}

static int open_func(struct toucher *t, uint32_t func, struct visit *v)
{
	struct ptx_func *f = t->m->funcs[func];
	*v = (struct visit){.func = func};
	t->state[func] = 1;
	int rc = ptx_func_analyse(t->m, f);
	if (rc) { /* can't be translated: nothing is known of it */
		t->t->calls_unknown = true;
		v->next = UINT32_MAX;
		return rc == CUTRACE_ENOMEM ? rc : 0;
	}
	if (t->nkinds <= t->m->nsymbols && !grow_kinds(t))
		return CUTRACE_ENOMEM;
	return touch_func(t, f);
}

static int walk_calls(struct toucher *t, uint32_t entry, struct visit *stack)
{
	uint32_t depth = 1;
	int rc = open_func(t, entry, &stack[0]);
	while (depth && !rc) {
		struct visit *v = &stack[depth - 1];
		const struct ptx_func *f = t->m->funcs[v->func];
		uint32_t callee = v->next == UINT32_MAX ? PTX_NONE : next_callee(f, &v->next);
		if (callee == PTX_NONE) {
			t->state[v->func] = 2;
			t->stack_of[v->func] = f->local_bytes + f->call_param_bytes + v->below;
			if (--depth && t->stack_of[v->func] > stack[depth - 1].below)
				stack[depth - 1].below = t->stack_of[v->func];
		} else if (t->state[callee] == 1) {
			t->t->recursive = true;
		} else if (t->state[callee] == 2) {
			v->below = t->stack_of[callee] > v->below ? t->stack_of[callee] : v->below;
		} else if (!t->m->funcs[callee]->is_decl) {
			rc = open_func(t, callee, &stack[depth++]);
		}
	}
	return rc;
}

static int publish(struct toucher *t, const struct ptx_func *f)
{
	struct ptx_touch *out = t->t;
	uint32_t n = 0;
	for (uint32_t s = 0; s < t->m->nsymbols; s++)
		n += t->kinds[s] && t->m->symbols[s]->space != PTX_SPACE_PARAM;
	out->symbols = malloc(((size_t)n + 1) * sizeof(*out->symbols));
	if (!out->symbols)
		return CUTRACE_ENOMEM;
	for (uint32_t s = 0; s < t->m->nsymbols; s++)
		if (t->kinds[s] && t->m->symbols[s]->space != PTX_SPACE_PARAM)
			out->symbols[out->nsymbols++] = (struct ptx_touched_symbol){s, t->kinds[s]};
	out->dynamic_shared = f->uses_dynamic_shared;
	out->shared_bytes = f->shared_bytes;
	bool open = out->recursive || out->calls_indirect || out->calls_unknown;
	out->local_bytes = open ? UINT64_MAX : t->stack_of[f->index];
	return 0;
}

int ptx_touch_find(struct ptx_module *m, struct ptx_func *f, struct ptx_touch *out)
{
	struct toucher t = {.m = m, .t = out};
	*out = (struct ptx_touch){0};
	int rc = ptx_func_build(m, f);
	if (rc)
		return rc;
	struct visit *stack = malloc(((size_t)m->nfuncs + 1) * sizeof(*stack));
	t.state = calloc((size_t)m->nfuncs + 1, 1);
	t.stack_of = calloc((size_t)m->nfuncs + 1, sizeof(*t.stack_of));
	rc = stack && t.state && t.stack_of && grow_kinds(&t) ? 0 : CUTRACE_ENOMEM;
	if (!rc)
		rc = walk_calls(&t, f->index, stack);
	if (!rc)
		rc = publish(&t, f);
	free(stack);
	free(t.kinds);
	free(t.state);
	free(t.stack_of);
	return rc;
}

void ptx_touch_free(struct ptx_touch *t)
{
	free(t->symbols);
	*t = (struct ptx_touch){0};
}
