/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the statements are in the text, what kind each is, and which registers it reads and writes.
 */
#include "ptx/instrument/sites.h"

#include <stdlib.h>
#include <string.h>

/* ---- kinds ---------------------------------------------------------------------------- */

static const struct {
	uint16_t first, last; /* operations, in the order of ops.def */
	uint8_t kind;
	bool collective;
} kinds[] = {
	{PTX_OP_ADD, PTX_OP_SHR, PTX_SITE_PURE, false},
	{PTX_OP_SHFL, PTX_OP_SHFL, PTX_SITE_PURE, true},
	{PTX_OP_PRMT, PTX_OP_PRMT, PTX_SITE_PURE, false},
	{PTX_OP_LD, PTX_OP_LDU, PTX_SITE_LOAD, false},
	{PTX_OP_ST, PTX_OP_ST, PTX_SITE_STORE, false},
	{PTX_OP_CVT, PTX_OP_CVT_PACK, PTX_SITE_PURE, false},
	{PTX_OP_TEX, PTX_OP_SULD, PTX_SITE_LOAD, false},
	{PTX_OP_SUQ, PTX_OP_SUQ, PTX_SITE_LOAD, false},
	{PTX_OP_BRA, PTX_OP_BRX_IDX, PTX_SITE_BRANCH, false},
	{PTX_OP_CALL, PTX_OP_EXIT, PTX_SITE_NONE, false},
	{PTX_OP_BAR, PTX_OP_BARRIER_CLUSTER_WAIT, PTX_SITE_BARRIER, false},
	{PTX_OP_MEMBAR, PTX_OP_FENCE_PROXY, PTX_SITE_NONE, false},
	{PTX_OP_ATOM, PTX_OP_RED, PTX_SITE_ATOMIC, false},
	{PTX_OP_VOTE, PTX_OP_MATCH, PTX_SITE_PURE, true},
	{PTX_OP_REDUX, PTX_OP_REDUX, PTX_SITE_PURE, true},
	{PTX_OP_WMMA_LOAD, PTX_OP_WMMA_LOAD, PTX_SITE_LOAD, true},
	{PTX_OP_WMMA_MMA, PTX_OP_MMA_SP_ORDERED_METADATA, PTX_SITE_PURE, true},
	{PTX_OP_LDMATRIX, PTX_OP_LDMATRIX, PTX_SITE_LOAD, true},
	{PTX_OP_MOVMATRIX, PTX_OP_MOVMATRIX, PTX_SITE_PURE, true},
	{PTX_OP_VADD, PTX_OP_VSET4, PTX_SITE_PURE, false},
	{PTX_OP_BRKPT, PTX_OP_SETMAXNREG, PTX_SITE_NONE, false},
};

static bool tells_place(uint32_t sreg)
{
	const char *name = ptx_sreg_name((enum ptx_sreg)sreg);
	static const char *const names[] = {"%tid", "%ntid", "%ctaid", "%nctaid", "%laneid", "%lanemask"};

	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

/* A move of numbers and registers; others are of addresses, which are the device's affair. */
static uint8_t kind_of_move(const struct ptx_inst *i)
{
	for (unsigned k = 0; k < i->nsrc; k++) {
		if (i->src[k].kind == PTX_OPND_SREG && i->nsrc == 1)
			return tells_place(i->src[k].index) ? PTX_SITE_PLACE : PTX_SITE_OTHER;
		if (i->src[k].kind != PTX_OPND_VALUE && i->src[k].kind != PTX_OPND_IMM)
			return PTX_SITE_OTHER;
	}
	return PTX_SITE_PURE;
}

static bool reads_only_registers(const struct ptx_inst *i)
{
	for (unsigned k = 0; k < i->nsrc; k++)
		if (i->src[k].kind != PTX_OPND_VALUE && i->src[k].kind != PTX_OPND_IMM)
			return false;
	return true;
}

static void set_kind(struct ptx_site *s)
{
	const struct ptx_inst *i = &s->f->insts[s->first + s->n - 1];

	s->kind = PTX_SITE_OTHER;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		if (i->op >= kinds[k].first && i->op <= kinds[k].last) {
			s->kind = kinds[k].kind;
			s->collective = kinds[k].collective;
		}
	if (i->op == PTX_OP_MOV)
		s->kind = kind_of_move(i);
	else if (s->kind == PTX_SITE_PURE && !reads_only_registers(i))
		s->kind = PTX_SITE_OTHER;
	/* Without .sync it is the hardware's affair which lanes are there. */
	if (s->collective && i->op != PTX_OP_WMMA_MMA && !(i->flags & PTX_F_SYNC) &&
	    (i->op == PTX_OP_SHFL || i->op == PTX_OP_VOTE))
		s->kind = PTX_SITE_OTHER;
	if (s->kind == PTX_SITE_BRANCH && i->op == PTX_OP_BRA && !i->guarded)
		s->kind = PTX_SITE_NONE;
	s->leaves = i->op == PTX_OP_BRA || i->op == PTX_OP_BRX_IDX || i->op == PTX_OP_RET ||
		    i->op == PTX_OP_EXIT || i->op == PTX_OP_TRAP;
}

/* ---- registers -------------------------------------------------------------------------- */

/* In the order of the text, each once as operand and once as result. */
struct collected {
	struct ptx_site *s;
	struct ptx_site_register r[512];
	unsigned n;
};

const char *ptx_site_register_name(const struct ptx_site *s, const struct ptx_site_register *r)
{
	return s->f->slots[r->slot].name;
}

static void collect(struct collected *c, uint32_t value, bool is_result, bool is_guard)
{
	const struct ptx_func *f = c->s->f;
	uint32_t slot = f->values[value].slot;

	/* %element: of the parser's own, see expand.c */
	if (!slot || !strcmp(f->slots[slot].name, "%element") || c->n == sizeof(c->r) / sizeof(c->r[0]))
		return;
	for (unsigned k = 0; k < c->n; k++)
		if (c->r[k].slot == slot && c->r[k].is_result == is_result)
			return;
	c->r[c->n++] = (struct ptx_site_register){slot, 0, f->slots[slot].bits, is_result, is_guard};
}

/* A variable that is accessed by its name: which address it has the text alone can tell. */
static bool accesses_variable(const struct ptx_site *s, const struct ptx_inst *i)
{
	return (s->kind == PTX_SITE_LOAD || s->kind == PTX_SITE_STORE || s->kind == PTX_SITE_ATOMIC) &&
	       !s->collective && i->nsrc && i->src[0].kind == PTX_OPND_SYMBOL &&
	       (i->op == PTX_OP_LD || i->op == PTX_OP_ST || i->op == PTX_OP_ATOM || i->op == PTX_OP_RED) &&
	       i->space != PTX_SPACE_PARAM;
}

/* What a store left is read again: only who stored it can tell a wrong store from a wrong load. */
static void collect_stored(struct collected *c, const struct ptx_inst *i)
{
	unsigned bits = ptx_type_bits((enum ptx_type)i->type);

	if (i->op != PTX_OP_ST || (i->space != PTX_SPACE_SHARED && i->space != PTX_SPACE_LOCAL) ||
	    bits > 64 || (i->src[0].kind != PTX_OPND_VALUE && i->src[0].kind != PTX_OPND_SYMBOL) ||
	    c->n + i->nsrc > 500)
		return;
	if (i->src[0].kind == PTX_OPND_VALUE && !c->s->f->values[i->src[0].index].slot)
		return; /* never written: its name isn't known */
	if (i->src[0].kind == PTX_OPND_VALUE &&
	    !strcmp(c->s->f->slots[c->s->f->values[i->src[0].index].slot].name, "%element"))
		return;
	for (unsigned k = 1; k < i->nsrc; k++)
		c->r[c->n++] = (struct ptx_site_register){PTX_NONE, 0, (uint8_t)bits, true, false};
}

static int set_registers(struct ptx_site *s, struct ptx_instrumented *out)
{
	struct collected c = {.s = s};
	const struct ptx_func *f = s->f;

	for (uint32_t k = s->first; k < s->first + s->n; k++) {
		const struct ptx_inst *i = &f->insts[k];

		if (i->guarded)
			collect(&c, i->guard, false, true);
		for (unsigned j = 0; j < i->nsrc; j++)
			if (i->src[j].kind == PTX_OPND_VALUE)
				collect(&c, i->src[j].index, false, false);
	}
	if (accesses_variable(s, &f->insts[s->first + s->n - 1]) && c.n < 511)
		c.r[c.n++] = (struct ptx_site_register){PTX_NONE, 0, 64, false, false};
	for (uint32_t k = s->first; k < s->first + s->n && !s->leaves; k++)
		for (unsigned j = 0; j < f->insts[k].ndst; j++)
			if (f->insts[k].dst[j].kind == PTX_OPND_VALUE)
				collect(&c, f->insts[k].dst[j].index, true, false);
	if (s->kind == PTX_SITE_STORE)
		collect_stored(&c, &f->insts[s->first + s->n - 1]);
	s->registers = arena_array(&out->arena, c.n + 1, sizeof(c.r[0]));
	if (!s->registers)
		return CUTRACE_ENOMEM;
	memcpy(s->registers, c.r, c.n * sizeof(c.r[0]));
	s->nregisters = (uint16_t)c.n;
	if (!c.n && s->kind != PTX_SITE_BARRIER)
		s->kind = PTX_SITE_NONE;
	return 0;
}

void ptx_site_layout(struct ptx_site *s)
{
	unsigned at = 1;

	if (s->kind == PTX_SITE_NONE) {
		s->words = 0;
		return;
	}
	for (unsigned k = 0; k < s->nregisters; k++) {
		struct ptx_site_register *r = &s->registers[k];

		if (r->bits > 32)
			at = (at + 1) & ~1u;
		r->at = (uint16_t)at;
		at += r->bits > 64 ? 4 : r->bits > 32 ? 2 : 1;
	}
	s->words = (uint16_t)((at + 1) & ~1u);
}

/* ---- where they are ---------------------------------------------------------------------- */

/* Offsets of the lines of the module's text. */
struct lines {
	size_t *at;
	uint32_t n;
};

static int find_lines(const struct ptx_module *m, struct lines *l)
{
	uint32_t n = 2;

	for (size_t k = 0; k < m->text_bytes; k++)
		n += m->text[k] == '\n';
	l->at = malloc(n * sizeof(*l->at));
	if (!l->at)
		return CUTRACE_ENOMEM;
	l->n = 0;
	l->at[l->n++] = 0;
	for (size_t k = 0; k < m->text_bytes; k++)
		if (m->text[k] == '\n')
			l->at[l->n++] = k + 1;
	return 0;
}

/* Past a comment that begins here; else as it was. */
static size_t skip_comment(const char *s, size_t at, size_t end)
{
	if (s[at] != '/' || at + 1 >= end)
		return at;
	if (s[at + 1] == '/') {
		while (at < end && s[at] != '\n')
			at++;
		return at;
	}
	if (s[at + 1] != '*')
		return at;
	for (at += 2; at + 1 < end && (s[at] != '*' || s[at + 1] != '/'); at++)
		;
	return at + 2 < end ? at + 2 : end;
}

/* False: the parser made it, it isn't written there. */
static bool locate(const struct ptx_module *m, const struct lines *l, struct ptx_site *s)
{
	const struct ptx_inst *i = &s->f->insts[s->first + s->n - 1];
	size_t at, end = s->f->body_end, n = i->mods ? strlen(i->mods) : 0;

	if (!n || !i->line || i->line > l->n)
		return false;
	at = l->at[i->line - 1] + i->col - 1;
	if (at < s->f->body_begin || at >= end || n > end - at || memcmp(m->text + at, i->mods, n))
		return false;
	s->opcode = s->begin = at;
	s->line = i->line;
	while (i->guarded && m->text[s->begin] != '@' && s->begin > s->f->body_begin)
		s->begin--;
	while (at < end && m->text[at] != ';') {
		size_t next = skip_comment(m->text, at, end);

		at = next > at ? next : at + 1;
	}
	s->end = at + 1;
	return at < end;
}

/* ---- all of them --------------------------------------------------------------------------- */

bool ptx_sites_has(const struct ptx_func *entry, const struct ptx_func *f)
{
	return f == entry || (!(entry && f->is_entry) && !f->is_decl && f->state == PTX_BUILT && f->body_end);
}

static int by_place(const void *a, const void *b)
{
	const struct ptx_site *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static bool same_statement(const struct ptx_inst *a, const struct ptx_inst *b)
{
	return a->line == b->line && a->col == b->col;
}

static int sites_of(struct ptx_module *m, const struct lines *l, const struct ptx_func *f,
		    struct ptx_instrumented *out)
{
	for (uint32_t k = 0; k < f->ninsts;) {
		struct ptx_site *s = &out->sites[out->nsites];

		*s = (struct ptx_site){.f = f, .first = k};
		while (k < f->ninsts && same_statement(&f->insts[k], &f->insts[s->first]))
			k++;
		s->n = k - s->first;
		if (!locate(m, l, s))
			continue;
		set_kind(s);
		if (set_registers(s, out))
			return CUTRACE_ENOMEM;
		out->nsites++;
	}
	return 0;
}

int ptx_sites_find(struct ptx_module *m, struct ptx_func *entry, struct ptx_instrumented *out, struct diag *d)
{
	struct lines l = {0};
	size_t n = 0;
	int rc = find_lines(m, &l);

	for (uint32_t k = 0; k < m->nfuncs; k++)
		n += ptx_sites_has(entry, m->funcs[k]) ? m->funcs[k]->ninsts : 0;
	out->sites = arena_array(&out->arena, n + 1, sizeof(*out->sites));
	if (!out->sites)
		rc = CUTRACE_ENOMEM;
	for (uint32_t k = 0; k < m->nfuncs && !rc; k++)
		if (ptx_sites_has(entry, m->funcs[k]))
			rc = sites_of(m, &l, m->funcs[k], out);
	free(l.at);
	if (rc)
		return diag_set(d, rc, m->name, "out of memory");
	qsort(out->sites, out->nsites, sizeof(*out->sites), by_place);
	return 0;
}
