/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions of commands and conditions: C's operators over registers, special registers, variables and memory.
 *
 * A register has the type as which the code uses it; a literal takes the type of what it meets. A cast of a register, a
 * variable or memory reads the same bits as another type of that width, as PTX does; of a result it converts. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/expression.h"

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
		value_set_integer(&n.literal, single ? PTX_B32 : PTX_B64, bits);
		n.literal.type = single ? PTX_F32 : PTX_F64;
		p->p = end;
		return make(p, &n, out);
	}
	bits = strtoull(p->p, &whole, 0);
	if (errno)
		return fail(p, "the number is too large");
	x = strtod(p->p, &end);
	if (end > whole && !(p->p[0] == '0' && (p->p[1] | 32) == 'x'))
		value_set_float(&n.literal, PTX_F64, x);
	else
		value_set_integer(&n.literal, bits >> 63 ? PTX_U64 : PTX_S64, bits);
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
