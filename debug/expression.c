/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions of commands and conditions: C's operators over registers, special registers, variables and memory.
 *
 * A register has the type as which the code uses it; a literal takes the type of what it meets. A cast of a register, a
 * variable or memory reads the same bits as another type of that width, as PTX does; of a result it converts. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/session.h"

enum { MAX_NODES = 256, MAX_NEST = 64 };

enum kind {
	LITERAL,
	REGISTER,
	SPECIAL,
	VARIABLE,
	MAGIC,
	UNARY,
	BINARY,
	CAST,
	DEREF,
	INDEX,
	ADDRESS,
	IN_SPACE
};
enum operator{
	OP_NONE,
	OP_OR,
	OP_AND,
	OP_BOR,
	OP_XOR,
	OP_BAND,
	OP_EQ,
	OP_NE,
	OP_LE,
	OP_GE,
	OP_LT,
	OP_GT,
	OP_SHL,
	OP_SHR,
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_DIV,
	OP_REM,
	OP_NEG,
	OP_NOT,
	OP_INV
};
enum magic { MAGIC_TIME, MAGIC_STEPS, MAGIC_LINE, MAGIC_DEPTH };

struct node {
	uint8_t kind, op, type, space;
	bool pointer;
	uint32_t a, b; /* operands; of registers: slot */
	struct value literal;
	struct variable variable;
};

struct expression {
	uint32_t func, n, root;
	struct node nodes[MAX_NODES];
};

struct parser {
	const struct session *s;
	struct expression *e;
	const char *text, *p;
	unsigned nest;
	struct diag *d;
};

static int fail(struct parser *p, const char *what)
{
	if (!p->d->code)
		diag_set(p->d, CUTRACE_EINVAL, "", "%s at '%.40s' of '%.100s'", what, p->p, p->text);
	return CUTRACE_EINVAL;
}

static int parse_binary(struct parser *p, unsigned level, uint32_t *out);
static int parse_unary(struct parser *p, uint32_t *out);

static void blanks(struct parser *p)
{
	while (isspace((unsigned char)*p->p))
		p->p++;
}

static bool accept(struct parser *p, const char *token)
{
	blanks(p);
	if (strncmp(p->p, token, strlen(token)))
		return false;
	p->p += strlen(token);
	return true;
}

static int make(struct parser *p, const struct node *n, uint32_t *out)
{
	if (p->e->n == MAX_NODES)
		return fail(p, "the expression is too long");
	p->e->nodes[p->e->n] = *n;
	*out = p->e->n++;
	return 0;
}

/* ---- values ------------------------------------------------------------------------------ */

static void set_integer(struct value *v, enum ptx_type t, uint64_t bits)
{
	*v = (struct value){.type = (uint8_t)t};
	memcpy(v->bytes, &bits, type_bytes(t) < 8 ? type_bytes(t) : 8);
}

static void set_float(struct value *v, enum ptx_type t, double x)
{
	float f = (float)x;

	*v = (struct value){.type = (uint8_t)t};
	if (t == PTX_F32)
		memcpy(v->bytes, &f, 4);
	else
		memcpy(v->bytes, &x, 8);
}

uint64_t value_integer(const struct value *v)
{
	unsigned n = v->pointer ? 8 : type_bytes((enum ptx_type)v->type);
	uint64_t bits = 0;

	if (!v->pointer && typed_is_float((enum ptx_type)v->type)) {
		double x = typed_float(v->bytes, (enum ptx_type)v->type);

		return !(x > -0x1p63 && x < 0x1p63) ? 0 : (uint64_t)(int64_t)x;
	}
	memcpy(&bits, v->bytes, n < 8 ? n : 8);
	if (!v->pointer && ptx_type_is_signed((enum ptx_type)v->type) && n < 8)
		bits = (uint64_t)((int64_t)(bits << (64 - 8 * n)) >> (64 - 8 * n));
	return bits;
}

static bool is_float(const struct value *v)
{
	return !v->pointer && typed_is_float((enum ptx_type)v->type);
}

static bool is_unsigned(const struct value *v)
{
	return v->pointer || !ptx_type_is_signed((enum ptx_type)v->type);
}

static double value_float(const struct value *v)
{
	if (is_float(v))
		return typed_float(v->bytes, (enum ptx_type)v->type);
	return is_unsigned(v) ? (double)value_integer(v) : (double)(int64_t)value_integer(v);
}

bool value_true(const struct value *v)
{
	return is_float(v) ? value_float(v) != 0 : value_integer(v) != 0;
}

/* ---- reading text --------------------------------------------------------------------------- */

static int parse_literal(struct parser *p, uint32_t *out)
{
	struct node n = {.kind = LITERAL};
	char *end, *whole;
	uint64_t bits;
	double x;

	errno = 0;
	if (p->p[0] == '0' && strchr("fFdD", p->p[1]) && p->p[1]) { /* PTX ISA 4.5.2 */
		bool single = p->p[1] == 'f' || p->p[1] == 'F';

		bits = strtoull(p->p + 2, &end, 16);
		if (end - p->p != (single ? 10 : 18))
			return fail(p, "0f wants 8 digits, 0d 16");
		set_integer(&n.literal, single ? PTX_B32 : PTX_B64, bits);
		n.literal.type = single ? PTX_F32 : PTX_F64;
		p->p = end;
		return make(p, &n, out);
	}
	bits = strtoull(p->p, &whole, 0);
	if (errno)
		return fail(p, "the number is too large");
	x = strtod(p->p, &end);
	if (end > whole && !(p->p[0] == '0' && (p->p[1] | 32) == 'x'))
		set_float(&n.literal, PTX_F64, x);
	else
		set_integer(&n.literal, bits >> 63 ? PTX_U64 : PTX_S64, bits);
	n.literal.literal = true;
	p->p = end > whole ? end : whole;
	while (*p->p == 'u' || *p->p == 'U' || *p->p == 'l' || *p->p == 'L')
		p->p++;
	if (isalnum((unsigned char)*p->p) || *p->p == '_')
		return fail(p, "no number");
	return make(p, &n, out);
}

static size_t word_length(const char *p)
{
	size_t n = *p == '%';

	while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '$' ||
	       (p[n] == '.' && isalpha((unsigned char)p[n + 1])))
		n++;
	return n;
}

static int find_special(const char *word)
{
	static const struct {
		const char *cuda, *ptx;
	} also[] = {{"threadIdx.", "%tid."},
		    {"blockIdx.", "%ctaid."},
		    {"blockDim.", "%ntid."},
		    {"gridDim.", "%nctaid."}};
	char name[300];

	snprintf(name, sizeof(name), "%s%s", *word == '%' ? "" : "%", word);
	for (size_t k = 0; k < sizeof(also) / sizeof(also[0]); k++)
		if (!strncmp(word, also[k].cuda, strlen(also[k].cuda)))
			snprintf(name, sizeof(name), "%s%s", also[k].ptx, word + strlen(also[k].cuda));
	for (int r = 0; r < PTX_NSREGS; r++)
		if (!strcmp(ptx_sreg_name((enum ptx_sreg)r), name))
			return r;
	return -1;
}

static int find_magic(const char *word)
{
	static const char *const names[] = {[MAGIC_TIME] = "$time",
					    [MAGIC_STEPS] = "$steps",
					    [MAGIC_LINE] = "$line",
					    [MAGIC_DEPTH] = "$depth"};

	for (int k = 0; k < (int)(sizeof(names) / sizeof(names[0])); k++)
		if (!strcmp(names[k], word))
			return k;
	return -1;
}

static bool find_space(const char *word, uint8_t *space)
{
	static const char *const names[] = {[DEBUG_GENERIC] = "generic",
					    [DEBUG_GLOBAL] = "global",
					    [DEBUG_SHARED] = "shared",
					    [DEBUG_LOCAL] = "local",
					    [DEBUG_PARAM] = "param"};

	for (uint8_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
		if (!strcmp(names[k], word)) {
			*space = k;
			return true;
		}
	return false;
}

static int unknown_name(struct parser *p, const char *word)
{
	const struct ptx_func *f = code_func(p->s, p->e->func);

	diag_set(p->d, CUTRACE_EINVAL, "", "%s has no %s %s", f ? f->name : "the kernel",
		 *word == '%' ? "register" : "register, variable or parameter", word);
	diag_hint(p->d, "`info registers all` and `info variables` list them");
	return CUTRACE_EINVAL;
}

static int parse_word(struct parser *p, uint32_t *out)
{
	const struct ptx_func *f = code_func(p->s, p->e->func);
	struct node n = {0};
	char word[256];
	size_t len = word_length(p->p);
	uint32_t slot;
	int found;

	if (!len || len >= sizeof(word))
		return fail(p, *p->p ? "this is not understood" : "something is missing");
	memcpy(word, p->p, len);
	word[len] = '\0';
	if (p->p[len] == ':' && find_space(word, &n.space)) {
		p->p += len + 1;
		n.kind = IN_SPACE;
		return parse_unary(p, &n.a) ? CUTRACE_EINVAL : make(p, &n, out);
	}
	slot = f ? code_register(f, word) : PTX_NONE;
	if (slot != PTX_NONE) {
		n = (struct node){.kind = REGISTER, .a = slot, .type = (uint8_t)code_register_type(f, slot)};
	} else if (place_find(p->s, p->e->func, word, len, &n.variable)) {
		n.kind = VARIABLE;
	} else if ((found = find_special(word)) >= 0) {
		n = (struct node){.kind = SPECIAL, .a = (uint32_t)found};
	} else if ((found = find_magic(word)) >= 0) {
		n = (struct node){.kind = MAGIC, .a = (uint32_t)found};
	} else {
		return unknown_name(p, word);
	}
	p->p += len;
	return make(p, &n, out);
}

/* "f32)", "f32 *)", "shared f32}": true when it is one. */
static bool parse_type(struct parser *p, char closing, struct node *n)
{
	const char *start = p->p;
	char word[32];

	for (unsigned k = 0; k < 2; k++) {
		size_t len;

		blanks(p);
		len = word_length(p->p);
		if (!len || len >= sizeof(word))
			break;
		memcpy(word, p->p, len);
		word[len] = '\0';
		if ((n->type = (uint8_t)typed_by_name(word, len))) {
			p->p += len;
			n->pointer = accept(p, "*");
			if (accept(p, (char[]){closing, 0}))
				return true;
			break;
		}
		if (k || !find_space(word, &n->space))
			break;
		p->p += len;
	}
	p->p = start;
	return false;
}

static int parse_primary(struct parser *p, uint32_t *out)
{
	struct node n = {0};
	int rc;

	if (accept(p, "{")) {
		if (!parse_type(p, '}', &n))
			return fail(p, "expected a type, as in {f32}");
		n.kind = DEREF;
		return parse_unary(p, &n.a) ? CUTRACE_EINVAL : make(p, &n, out);
	}
	if (accept(p, "(")) {
		if (parse_type(p, ')', &n)) {
			n.kind = CAST;
			return parse_unary(p, &n.a) ? CUTRACE_EINVAL : make(p, &n, out);
		}
		rc = parse_binary(p, 0, out);
		return rc ? rc : accept(p, ")") ? 0 : fail(p, "expected ')'");
	}
	blanks(p);
	return isdigit((unsigned char)*p->p) || *p->p == '.' ? parse_literal(p, out) : parse_word(p, out);
}

static int parse_postfix(struct parser *p, uint32_t *out)
{
	int rc = parse_primary(p, out);

	while (!rc && accept(p, "[")) {
		struct node n = {.kind = INDEX, .a = *out};

		rc = parse_binary(p, 0, &n.b);
		if (!rc && !accept(p, "]"))
			rc = fail(p, "expected ']'");
		if (!rc)
			rc = make(p, &n, out);
	}
	return rc;
}

static int parse_unary(struct parser *p, uint32_t *out)
{
	static const struct {
		const char *token;
		uint8_t kind, op;
	} prefixes[] = {{"-", UNARY, OP_NEG},
			{"!", UNARY, OP_NOT},
			{"~", UNARY, OP_INV},
			{"*", DEREF, 0},
			{"&", ADDRESS, 0}};
	int rc;

	if (++p->nest > MAX_NEST)
		return fail(p, "too many levels");
	for (size_t k = 0; k < sizeof(prefixes) / sizeof(prefixes[0]); k++) {
		struct node n = {.kind = prefixes[k].kind, .op = prefixes[k].op};

		if (!accept(p, prefixes[k].token))
			continue;
		rc = parse_unary(p, &n.a);
		p->nest--;
		return rc ? rc : make(p, &n, out);
	}
	rc = parse_postfix(p, out);
	p->nest--;
	return rc;
}

/* Weakest first; longer tokens of a level first. */
static const struct {
	uint8_t level, op;
	const char *token, *unless; /* not when this follows */
} operators[] = {
	{0, OP_OR, "||", ""},   {1, OP_AND, "&&", ""}, {2, OP_BOR, "|", "|"}, {3, OP_XOR, "^", ""},
	{4, OP_BAND, "&", "&"}, {5, OP_EQ, "==", ""},  {5, OP_NE, "!=", ""},  {6, OP_LE, "<=", ""},
	{6, OP_GE, ">=", ""},   {6, OP_LT, "<", "<"},  {6, OP_GT, ">", ">"},  {7, OP_SHL, "<<", ""},
	{7, OP_SHR, ">>", ""},  {8, OP_ADD, "+", ""},  {8, OP_SUB, "-", ""},  {9, OP_MUL, "*", ""},
	{9, OP_DIV, "/", ""},   {9, OP_REM, "%", ""},
};
enum { LEVELS = 10 };

static uint8_t accept_operator(struct parser *p, unsigned level)
{
	blanks(p);
	for (size_t k = 0; k < sizeof(operators) / sizeof(operators[0]); k++) {
		size_t n = strlen(operators[k].token);

		if (operators[k].level != level || strncmp(p->p, operators[k].token, n) ||
		    (operators[k].unless[0] && p->p[n] == operators[k].unless[0]))
			continue;
		p->p += n;
		return operators[k].op;
	}
	return OP_NONE;
}

static int parse_binary(struct parser *p, unsigned level, uint32_t *out)
{
	uint8_t op;
	int rc;

	if (level == LEVELS)
		return parse_unary(p, out);
	if (level == 0 && ++p->nest > MAX_NEST)
		return fail(p, "too many levels");
	rc = parse_binary(p, level + 1, out);
	while (!rc && (op = accept_operator(p, level))) {
		struct node n = {.kind = BINARY, .op = op, .a = *out};

		rc = parse_binary(p, level + 1, &n.b);
		if (!rc)
			rc = make(p, &n, out);
	}
	p->nest -= level == 0;
	return rc;
}

int expression_parse(const struct session *s, uint32_t func, const char *text, struct expression **out,
		     struct diag *d)
{
	struct parser p = {.s = s, .text = text, .p = text, .d = d, .e = calloc(1, sizeof(*p.e))};
	int rc;

	*out = NULL;
	if (!p.e)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	p.e->func = func;
	rc = parse_binary(&p, 0, &p.e->root);
	blanks(&p);
	if (!rc && *p.p)
		rc = fail(&p, "this is not understood");
	if (rc)
		free(p.e);
	else
		*out = p.e;
	return rc;
}

void expression_free(struct expression *e)
{
	free(e);
}

/* ---- evaluation -------------------------------------------------------------------------------- */

struct evaluation {
	const struct session *s;
	const struct expression *e;
	const struct focus *f;
	struct diag *d;
};

static int eval(const struct evaluation *v, uint32_t node, struct value *out);

static int eval_register(const struct evaluation *v, const struct node *n, struct value *out)
{
	const struct ptx_func *f = code_func(v->s, v->e->func);
	unsigned bytes = type_bytes((enum ptx_type)n->type), bits = f->slots[n->a].bits;
	uint8_t all[DEBUG_LANES * 16];
	struct debug_frame frame;
	const struct debug_view *view = &v->s->view;

	if (!view->frame(view->state, v->f->block, v->f->warp, v->f->lane, v->f->level, &frame) ||
	    frame.func != v->e->func)
		return diag_set(v->d, CUTRACE_EINVAL, "", "the thread is not in %s: %s has no value", f->name,
				f->slots[n->a].name);
	if (!view->reg(view->state, v->f->block, v->f->warp, v->f->lane, v->f->level, n->a, all,
		       bits == 1 ? 4 : DEBUG_LANES * bits / 8))
		return diag_set(v->d, CUTRACE_EINVAL, "", "%s can't be read", f->slots[n->a].name);
	*out = (struct value){.type = n->type, .stored = true};
	if (bits == 1)
		out->bytes[0] = all[v->f->lane / 8] >> v->f->lane % 8 & 1;
	else
		memcpy(out->bytes, all + (size_t)v->f->lane * (bits / 8), bytes < 16 ? bytes : 16);
	return 0;
}

static uint64_t lane_mask(int r, uint32_t lane)
{
	uint32_t below = (1u << lane) - 1, self = 1u << lane;

	switch (r) {
	case PTX_SREG_LANEMASK_EQ: return self;
	case PTX_SREG_LANEMASK_LT: return below;
	case PTX_SREG_LANEMASK_LE: return below | self;
	case PTX_SREG_LANEMASK_GE: return ~below;
	default: return ~(below | self); /* gt */
	}
}

static int eval_special(const struct evaluation *v, int r, struct value *out)
{
	const struct debug_launch *l = &v->s->launch;
	uint32_t tid[3], ctaid[3];
	uint64_t bits;

	thread_index(v->s, v->f->warp, v->f->lane, tid);
	block_index(v->s, v->f->block, ctaid);
	if (r >= PTX_SREG_TID_X && r <= PTX_SREG_TID_Z)
		bits = tid[r - PTX_SREG_TID_X];
	else if (r >= PTX_SREG_NTID_X && r <= PTX_SREG_NTID_Z)
		bits = l->block[r - PTX_SREG_NTID_X];
	else if (r >= PTX_SREG_CTAID_X && r <= PTX_SREG_CTAID_Z)
		bits = ctaid[r - PTX_SREG_CTAID_X];
	else if (r >= PTX_SREG_NCTAID_X && r <= PTX_SREG_NCTAID_Z)
		bits = l->grid[r - PTX_SREG_NCTAID_X];
	else if (r == PTX_SREG_LANEID)
		bits = v->f->lane;
	else if (r == PTX_SREG_WARPID)
		bits = v->f->warp;
	else if (r == PTX_SREG_NWARPID)
		bits = (l->block[0] * l->block[1] * l->block[2] + DEBUG_LANES - 1) / DEBUG_LANES;
	else if (r >= PTX_SREG_LANEMASK_EQ && r <= PTX_SREG_LANEMASK_GT)
		bits = lane_mask(r, v->f->lane);
	else
		return diag_set(v->d, CUTRACE_EINVAL, "",
				"%s is not known here: read the register that it was moved to",
				ptx_sreg_name((enum ptx_sreg)r));
	set_integer(out, PTX_U32, bits);
	return 0;
}

static int eval_magic(const struct evaluation *v, uint32_t which, struct value *out)
{
	const struct session *s = v->s;
	struct debug_frame frame = {0};
	struct debug_warp w = {0};
	const struct ptx_inst *i;
	uint64_t n = s->now;

	s->view.warp(s->view.state, v->f->block, v->f->warp, &w);
	if (which != MAGIC_TIME && which != MAGIC_STEPS &&
	    !s->view.frame(s->view.state, v->f->block, v->f->warp, v->f->lane, v->f->level, &frame))
		return diag_set(v->d, CUTRACE_EINVAL, "", "the thread is nowhere");
	i = code_inst(s, frame.func, frame.inst);
	if (which == MAGIC_STEPS)
		n = w.steps;
	if (which == MAGIC_LINE)
		n = i ? i->line : 0;
	if (which == MAGIC_DEPTH)
		for (n = 0; s->view.frame(s->view.state, v->f->block, v->f->warp, v->f->lane,
					  v->f->level + (uint32_t)n + 1, &frame);)
			n++;
	set_integer(out, PTX_U64, n);
	return 0;
}

static int read_at(const struct evaluation *v, uint64_t address, uint8_t space, enum ptx_type t,
		   struct value *out)
{
	struct debug_place p = {.space = (enum debug_space)space,
				.address = address,
				.block = v->f->block,
				.warp = v->f->warp,
				.lane = v->f->lane};
	unsigned n = type_bytes(t);

	*out = (struct value){
		.type = (uint8_t)t, .stored = true, .space = space, .address = address, .count = 1};
	if (place_read(v->s, &p, out->bytes, n < 16 ? n : 16))
		return 0;
	diag_set(v->d, CUTRACE_EINVAL, "", "no %s memory of %u bytes at 0x%llx", space_name(p.space), n,
		 (unsigned long long)address);
	if (p.space == DEBUG_GENERIC && address < 1u << 20)
		diag_hint(v->d, "shared and local addresses need their space: shared:0x%llx",
			  (unsigned long long)address);
	return CUTRACE_EINVAL;
}

static int eval_variable(const struct evaluation *v, const struct variable *x, struct value *out)
{
	struct debug_place p;
	unsigned n = type_bytes((enum ptx_type)x->type);
	int rc;

	if (!place_of(v->s, x, v->f, &p))
		return diag_set(v->d, CUTRACE_EINVAL, "",
				"%s has no place: its thread is not in its function", x->name);
	rc = read_at(v, p.address, (uint8_t)p.space, (enum ptx_type)x->type, out);
	out->count = n && x->bytes / n ? x->bytes / n : 1;
	return rc;
}

static int eval_unary(const struct evaluation *v, const struct node *n, struct value *out)
{
	struct value a;
	int rc = eval(v, n->a, &a);

	if (rc)
		return rc;
	if (n->op == OP_NOT)
		set_integer(out, PTX_S32, !value_true(&a));
	else if (is_float(&a) && n->op == OP_NEG)
		set_float(out, a.type == PTX_F64 ? PTX_F64 : PTX_F32, -value_float(&a));
	else
		set_integer(out, a.pointer ? PTX_U64 : (enum ptx_type)a.type,
			    n->op == OP_NEG ? 0 - value_integer(&a) : ~value_integer(&a));
	out->literal = a.literal;
	return 0;
}

static double float_op(uint8_t op, double a, double b)
{
	switch (op) {
	case OP_ADD: return a + b;
	case OP_SUB: return a - b;
	case OP_MUL: return a * b;
	default: return a / b;
	}
}

static int compare_result(uint8_t op, bool less, bool equal, bool unordered)
{
	switch (op) {
	case OP_EQ: return equal;
	case OP_NE: return !equal;
	case OP_LT: return less && !unordered;
	case OP_LE: return (less || equal) && !unordered;
	case OP_GT: return !less && !equal && !unordered;
	default: return !less && !unordered; /* >= */
	}
}

static bool compares(uint8_t op)
{
	return op >= OP_EQ && op <= OP_GT;
}

static int float_binary(const struct evaluation *v, uint8_t op, const struct value *a, const struct value *b,
			struct value *out)
{
	bool wide = (a->type == PTX_F64 && !a->literal) || (b->type == PTX_F64 && !b->literal) ||
		    (a->literal && b->literal);
	double x = value_float(a), y = value_float(b);

	if (!wide) { /* a literal meets single precision or less */
		x = (double)(float)x;
		y = (double)(float)y;
	}
	if (compares(op)) {
		set_integer(out, PTX_S32, (uint64_t)compare_result(op, x < y, x == y, isnan(x) || isnan(y)));
		return 0;
	}
	if (op < OP_ADD || op > OP_DIV)
		return diag_set(v->d, CUTRACE_EINVAL, "", "this operator is not for floats");
	set_float(out, wide ? PTX_F64 : PTX_F32, float_op(op, x, y));
	return 0;
}

static const uint8_t signed_types[] = {[1] = PTX_S8, [2] = PTX_S16, [4] = PTX_S32, [8] = PTX_S64};
static const uint8_t unsigned_types[] = {[1] = PTX_U8, [2] = PTX_U16, [4] = PTX_U32, [8] = PTX_U64};

static unsigned width_of(const struct value *v)
{
	unsigned n = v->pointer ? 8 : type_bytes((enum ptx_type)v->type);

	return n == 1 || n == 2 || n == 4 ? n : 8;
}

/* A literal has the width and sign of the other, where it fits. */
static enum ptx_type common_type(const struct value *a, const struct value *b)
{
	unsigned wa = width_of(a), wb = width_of(b), w = wa > wb ? wa : wb;
	bool un = (is_unsigned(a) && wa == w) || (is_unsigned(b) && wb == w);

	if (a->literal != b->literal) {
		const struct value *typed = a->literal ? b : a, *lit = a->literal ? a : b;
		unsigned wt = width_of(typed);
		uint64_t bits = value_integer(lit), top = wt < 8 ? bits >> 8 * wt : 0;

		if (!top || (lit->type == PTX_S64 && (int64_t)bits < 0 &&
			     (int64_t)bits >= -(int64_t)(1ull << (8 * wt - 1)))) {
			w = wt;
			un = is_unsigned(typed);
		}
	}
	return (enum ptx_type)(un ? unsigned_types : signed_types)[w];
}

static uint64_t cut(uint64_t v, enum ptx_type t)
{
	unsigned shift = 64 - ptx_type_bits(t);

	return ptx_type_is_signed(t) ? (uint64_t)((int64_t)(v << shift) >> shift) : v << shift >> shift;
}

static uint64_t integer_op(uint8_t op, uint64_t x, uint64_t y, bool un, unsigned bits)
{
	switch (op) {
	case OP_BOR: return x | y;
	case OP_XOR: return x ^ y;
	case OP_BAND: return x & y;
	case OP_SHL: return y < bits ? x << y : 0;
	case OP_SHR: return y < bits ? (un ? x >> y : (uint64_t)((int64_t)x >> y)) : 0;
	case OP_ADD: return x + y;
	case OP_SUB: return x - y;
	case OP_MUL: return x * y;
	case OP_DIV: return un ? x / y : y == UINT64_MAX ? 0 - x : (uint64_t)((int64_t)x / (int64_t)y);
	default: return un ? x % y : y == UINT64_MAX ? 0 : (uint64_t)((int64_t)x % (int64_t)y);
	}
}

static int integer_binary(const struct evaluation *v, uint8_t op, const struct value *a,
			  const struct value *b, struct value *out)
{
	enum ptx_type t = common_type(a, b);
	bool un = !ptx_type_is_signed(t);
	uint64_t x = cut(value_integer(a), t), y = cut(value_integer(b), t);
	const struct value *base = a->pointer || a->space ? a : b->pointer || b->space ? b : NULL;

	if (compares(op)) {
		set_integer(
			out, PTX_S32,
			(uint64_t)compare_result(op, un ? x < y : (int64_t)x < (int64_t)y, x == y, false));
		return 0;
	}
	if ((op == OP_DIV || op == OP_REM) && !y)
		return diag_set(v->d, CUTRACE_EINVAL, "", "division by zero");
	if (a->pointer != b->pointer && (op == OP_ADD || op == OP_SUB)) { /* in elements, as in C */
		uint64_t size = type_bytes((enum ptx_type)(a->pointer ? a : b)->type);

		x *= a->pointer ? 1 : size;
		y *= b->pointer ? 1 : size;
	}
	set_integer(out, t, integer_op(op, x, y, un, ptx_type_bits(t)));
	out->literal = a->literal && b->literal;
	if (base && !base->stored && (op == OP_ADD || op == OP_SUB)) {
		out->space = base->space;
		if (base->pointer) {
			set_integer(out, PTX_U64, integer_op(op, x, y, un, 64));
			out->type = base->type;
			out->pointer = true;
			out->space = base->space;
		}
	}
	return 0;
}

static int eval_binary(const struct evaluation *v, const struct node *n, struct value *out)
{
	struct value a, b;
	int rc = eval(v, n->a, &a);

	if (rc)
		return rc;
	if (n->op == OP_OR || n->op == OP_AND) {
		bool yes = value_true(&a);

		if (yes == (n->op == OP_AND)) {
			rc = eval(v, n->b, &b);
			yes = !rc && value_true(&b);
		}
		set_integer(out, PTX_S32, yes);
		return rc;
	}
	rc = eval(v, n->b, &b);
	if (rc)
		return rc;
	return is_float(&a) || is_float(&b) ? float_binary(v, n->op, &a, &b, out)
					    : integer_binary(v, n->op, &a, &b, out);
}

static int eval_cast(const struct evaluation *v, const struct node *n, struct value *out)
{
	enum ptx_type t = (enum ptx_type)n->type;
	struct value a;
	int rc = eval(v, n->a, &a);

	if (rc)
		return rc;
	if (n->pointer) {
		set_integer(out, PTX_U64, value_integer(&a));
		out->type = n->type;
		out->pointer = true;
		out->space = n->space ? n->space : a.stored ? 0 : a.space;
		return 0;
	}
	if (a.stored && !a.pointer && type_bytes((enum ptx_type)a.type) == type_bytes(t)) {
		*out = a;
		out->type = n->type;
		return 0;
	}
	if (typed_is_float(t) && t != PTX_F32 && t != PTX_F64)
		return diag_set(v->d, CUTRACE_EINVAL, "", "only what is stored in %u bits can be read as %s",
				ptx_type_bits(t), ptx_type_name(t));
	if (typed_is_float(t))
		set_float(out, t, value_float(&a));
	else
		set_integer(out, t, is_float(&a) ? (uint64_t)(int64_t)value_integer(&a) : value_integer(&a));
	return 0;
}

static int eval_deref(const struct evaluation *v, const struct node *n, struct value *out)
{
	struct value a;
	int rc = eval(v, n->a, &a);
	uint8_t space;

	if (rc)
		return rc;
	if (!n->type && !a.pointer) {
		diag_set(v->d, CUTRACE_EINVAL, "", "the type of what lies there is not known");
		diag_hint(v->d, "say it: *(f32 *)ADDRESS, or {f32}ADDRESS");
		return CUTRACE_EINVAL;
	}
	space = n->space ? n->space : a.stored ? 0 : a.space;
	rc = read_at(v, value_integer(&a), space, (enum ptx_type)(n->type ? n->type : a.type), out);
	return rc;
}

static int eval_index(const struct evaluation *v, const struct node *n, struct value *out)
{
	struct value a, k;
	int rc = eval(v, n->a, &a);
	uint64_t base;

	if (!rc)
		rc = eval(v, n->b, &k);
	if (rc)
		return rc;
	if (is_float(&k) || (!a.pointer && !(a.stored && a.count)))
		return diag_set(v->d, CUTRACE_EINVAL, "",
				"[] needs a variable or a pointer, and a whole number");
	base = a.pointer ? value_integer(&a) : a.address;
	return read_at(v, base + value_integer(&k) * type_bytes((enum ptx_type)a.type), a.space,
		       (enum ptx_type)a.type, out);
}

static int eval_address(const struct evaluation *v, const struct node *n, struct value *out)
{
	struct value a;
	int rc = eval(v, n->a, &a);

	if (rc)
		return rc;
	if (!a.stored || !a.count)
		return diag_set(v->d, CUTRACE_EINVAL, "", "only variables and memory have addresses");
	set_integer(out, PTX_U64, a.address);
	out->type = a.type;
	out->pointer = true;
	out->space = a.space;
	return 0;
}

static int eval(const struct evaluation *v, uint32_t node, struct value *out)
{
	const struct node *n = &v->e->nodes[node];
	int rc;

	switch (n->kind) {
	case LITERAL: *out = n->literal; return 0;
	case REGISTER: return eval_register(v, n, out);
	case SPECIAL: return eval_special(v, (int)n->a, out);
	case VARIABLE: return eval_variable(v, &n->variable, out);
	case MAGIC: return eval_magic(v, n->a, out);
	case UNARY: return eval_unary(v, n, out);
	case BINARY: return eval_binary(v, n, out);
	case CAST: return eval_cast(v, n, out);
	case DEREF: return eval_deref(v, n, out);
	case INDEX: return eval_index(v, n, out);
	case ADDRESS: return eval_address(v, n, out);
	default: /* IN_SPACE */
		rc = eval(v, n->a, out);
		if (!rc && !out->pointer) {
			uint64_t bits = value_integer(out);

			set_integer(out, PTX_U64, bits);
		}
		out->space = n->space;
		return rc;
	}
}

int expression_eval(const struct session *s, const struct expression *e, const struct focus *f,
		    struct value *out, struct diag *d)
{
	const struct evaluation v = {s, e, f, d};

	return eval(&v, e->root, out);
}

int evaluate(const struct session *s, const char *text, struct value *out, struct diag *d)
{
	const struct focus *f = &s->sh->focus;
	struct debug_frame frame;
	struct expression *e;
	uint32_t func = s->entry->index;
	int rc;

	if (focus_is_there(s, f, &frame))
		func = frame.func;
	rc = expression_parse(s, func, text, &e, d);
	if (rc)
		return rc;
	rc = expression_eval(s, e, f, out, d);
	expression_free(e);
	return rc;
}
