/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions and their parameters.
 *
 *   func NAME [as BASE] [like NAME] [since N] [ptsz N | ptds N] [current | macro NAME] [returns TYPE]
 *             [do | skip | wait | poll] [async] [launch] [interop] [obsolete] [private]
 *       [in | out | inout] TYPE NAME [len [after] EXPR] [attributes]
 */
#include "apigen.h"

#include <stdlib.h>
#include <string.h>

struct word {
	const char *name;
	unsigned value;
};

static const struct word param_flags[] = {
	{"nullable", API_PARAM_NULLABLE},
	{"stream", API_PARAM_STREAM},
	{"creates", API_PARAM_CREATES},
	{"destroys", API_PARAM_DESTROYS},
	{"userdata", API_PARAM_USERDATA},
	{"hostaddr", API_PARAM_HOSTADDR},
	{NULL, 0},
};
static const struct word payloads[] = {
	{"h2d", API_PAYLOAD_H2D},       {"d2h", API_PAYLOAD_D2H},     {"image", API_PAYLOAD_IMAGE},
	{"params", API_PAYLOAD_PARAMS}, {"extra", API_PAYLOAD_EXTRA}, {NULL, 0},
};
static const struct word replays[] = {
	{"do", API_REPLAY_DO},
	{"skip", API_REPLAY_SKIP},
	{"wait", API_REPLAY_WAIT},
	{"poll", API_REPLAY_POLL},
	{NULL, 0},
};
static const struct word func_flags[] = {
	{"async", API_FUNC_ASYNC},       {"launch", API_FUNC_LAUNCH},   {"interop", API_FUNC_INTEROP},
	{"obsolete", API_FUNC_OBSOLETE}, {"private", API_FUNC_PRIVATE}, {NULL, 0},
};
static const struct word dirs[] = {{"in", API_IN}, {"out", API_OUT}, {"inout", API_INOUT}, {NULL, 0}};

static const struct word *accept_word(struct parser *p, const struct word *words)
{
	for (; words->name; words++)
		if (accept_name(p, words->name))
			return words;
	return NULL;
}

/* ---- parameters -------------------------------------------------------- */

struct attributes {
	bool opaque, each;
	struct def *means; /* enum or mask */
	struct token *means_at;
};

static void parse_means(struct parser *p, struct attributes *a)
{
	struct token *t = expect_name(p, "the name of an enum or a mask");
	a->means = t ? def_find(p->g, t->text) : NULL;
	a->means_at = t;
	if (t && (!a->means || (a->means->kind != DEF_ENUM && a->means->kind != DEF_MASK))) {
		error_at(p->g, t->loc, "'%s' is not an enum or a mask", t->text);
		a->means = NULL;
	}
}

static void parse_poly_use(struct parser *p, struct param *q, struct attributes *a)
{
	struct token *table = expect_name(p, "a poly table");
	if (!table)
		return;
	struct symbol *s = symbol_find(p->g, arena_printf(&p->g->arena, "poly %s", table->text));
	if (!s) {
		error_at(p->g, table->loc, "there is no poly table '%s'", table->text);
		return;
	}
	q->poly_name = table->text;
	if (!accept_name(p, "by")) {
		error_at(p->g, p->t->loc, "expected 'by PARAMETER', found %s", p->t->text);
		return;
	}
	q->selector = expect_name(p, "a parameter");
	a->each = accept_name(p, "each");
}

static bool parse_param_attribute(struct parser *p, struct param *q, struct attributes *a)
{
	const struct word *w;
	unsigned errors = p->g->errors;
	if (accept_name(p, "len")) {
		if (accept_name(p, "after"))
			q->flags |= API_PARAM_LEN_AFTER;
		struct token *at = p->t;
		parse_expr(p, NULL);
		q->len_at = p->g->errors == errors ? at : NULL;
	} else if ((w = accept_word(p, param_flags))) {
		q->flags |= w->value;
	} else if ((w = accept_word(p, payloads))) {
		q->payload = (uint8_t)w->value;
	} else if (accept_name(p, "opaque")) {
		a->opaque = true;
	} else if (accept_name(p, "mask") || accept_name(p, "enum")) {
		parse_means(p, a);
	} else if (accept_name(p, "poly")) {
		parse_poly_use(p, q, a);
	} else {
		error_at(p->g, p->t->loc, "unknown attribute '%s' of a parameter", p->t->text);
	}
	return p->g->errors == errors;
}

static void apply_means(struct parser *p, struct param *q, const struct attributes *a)
{
	struct def *b = q->ctype.base;
	struct type t = {.name = b->name, .size = b->size, .align = b->align, .d = a->means};
	if (b->kind != DEF_SCALAR || b->is_float || q->ctype.stars > 1) {
		error_at(p->g, a->means_at->loc,
			 "only an integer, or a pointer to one, can be an enum or a mask");
		return;
	}
	t.kind = a->means->kind == DEF_MASK ? API_KIND_MASK : API_KIND_ENUM;
	q->type = type_intern(p->g, &t);
	if (q->ctype.stars)
		q->type = type_pointer(p->g, q->ctype.text, q->type);
}

static void choose_type(struct parser *p, struct param *q, const struct attributes *a)
{
	bool bytes = q->len_at || q->poly_name || q->payload == API_PAYLOAD_H2D ||
		     q->payload == API_PAYLOAD_D2H || q->payload == API_PAYLOAD_IMAGE;
	if (q->ctype.stars &&
	    (a->opaque || q->payload == API_PAYLOAD_PARAMS || q->payload == API_PAYLOAD_EXTRA))
		q->type = type_intern(
			p->g, &(struct type){
				      .name = q->ctype.text, .kind = API_KIND_OPAQUE, .size = 8, .align = 8});
	else if (a->means)
		apply_means(p, q, a);
	else
		q->type = type_of_ctype(p->g, &q->ctype, bytes);
	if (a->each)
		q->flags |= API_PARAM_POLY_EACH;
}

static void choose_abi(struct parser *p, struct param *q)
{
	const struct def *d = q->ctype.base;
	q->abi = API_ABI_INT;
	if (q->ctype.stars || (d->kind != DEF_STRUCT && d->kind != DEF_UNION))
		q->abi = !q->ctype.stars && d->is_float ? API_ABI_FLOAT : API_ABI_INT;
	else if (d->size > 16)
		q->abi = API_ABI_MEMORY;
	else if (d->size > 8)
		error_at(p->g, q->loc, "a struct of %u bytes by value takes two registers: not supported",
			 d->size);
}

static void check_param(struct parser *p, const struct param *q, bool has_dir)
{
	uint8_t kind = p->g->types.v[q->type].kind;
	if (!has_dir && q->ctype.stars && kind != API_KIND_STRING && kind != API_KIND_CALLBACK)
		error_at(p->g, q->loc, "'%s' is a pointer: say in, out or inout", q->name);
	if (!q->ctype.stars && q->dir != API_IN)
		error_at(p->g, q->loc, "'%s' is a value, which is always in", q->name);
	if (q->len_at && !q->ctype.stars)
		error_at(p->g, q->len_at->loc, "only a pointer has a length");
	if ((q->payload == API_PAYLOAD_H2D || q->payload == API_PAYLOAD_D2H) && !q->len_at)
		error_at(p->g, q->loc, "the payload '%s' needs a length", q->name);
	if ((q->dir & API_OUT) && q->ctype.is_const && q->ctype.stars == 1)
		error_at(p->g, q->loc, "'%s' points to const: it can't be written", q->name);
}

static void parse_param(struct parser *p, struct func *f)
{
	const struct word *dir = accept_word(p, dirs);
	struct param q = {.dir = dir ? (uint8_t)dir->value : API_IN, .len = -1, .poly = -1};
	struct attributes a = {0};
	if (!parse_ctype(p, &q.ctype))
		return;
	struct token *name = expect_name(p, "a parameter's name");
	if (!name)
		return;
	q.name = name->text;
	q.loc = name->loc;
	bool good = true;
	while (good && p->t->kind != TOK_END)
		good = parse_param_attribute(p, &q, &a);
	choose_type(p, &q, &a);
	choose_abi(p, &q);
	if (good)
		check_param(p, &q, dir != NULL);
	for (size_t i = 0; i < f->params.n; i++)
		if (!strcmp(f->params.v[i].name, q.name)) {
			error_at(p->g, q.loc, "'%s' already has a parameter '%s'", f->name, q.name);
			return;
		}
	*list_add(p->g, &f->params) = q;
}

/* ---- what needs all parameters ----------------------------------------- */

static int use_poly(struct parser *p, struct func *f, struct param *q)
{
	struct apigen *g = p->g;
	struct symbol *s = symbol_find(g, arena_printf(&g->arena, "poly %s", q->poly_name));
	struct poly_use use = {s->what, 0};
	for (use.selector = 0; use.selector < f->params.n; use.selector++)
		if (!strcmp(f->params.v[use.selector].name, q->selector->text))
			break;
	if (use.selector == f->params.n) {
		error_at(g, q->selector->loc, "'%s' is not a parameter", q->selector->text);
		return -1;
	}
	for (size_t i = 0; i < g->poly_uses.n; i++)
		if (g->poly_uses.v[i].block == use.block && g->poly_uses.v[i].selector == use.selector)
			return (int)i;
	*list_add(g, &g->poly_uses) = use;
	return (int)g->poly_uses.n - 1;
}

static void resolve_param(struct parser *p, struct func *f, struct param *q)
{
	struct scope scope = {f, NULL};
	if (q->len_at) {
		struct parser at = *p;
		at.t = q->len_at;
		q->len = parse_expr(&at, &scope);
	} else if (q->payload == API_PAYLOAD_IMAGE) {
		q->len = expr_make(p->g, API_EXPR_IMAGE, -1, -1, -1, q - f->params.v);
	} else if (q->poly_name) {
		q->len = expr_const(p->g, 0); /* of a value that the table doesn't know */
	}
	if (q->selector)
		q->poly = use_poly(p, f, q);
}

static void resolve_func(struct parser *p, struct func *f)
{
	for (size_t i = 0; i < f->params.n; i++) {
		struct param *q = &f->params.v[i];
		resolve_param(p, f, q);
		uint8_t kind = p->g->types.v[q->type].kind;
		if (q->payload ||
		    (kind != API_KIND_POINTER && kind != API_KIND_STRING && q->abi != API_ABI_MEMORY))
			continue;
		f->flags |=
			(q->dir & API_IN ? API_FUNC_HAS_IN : 0) | (q->dir & API_OUT ? API_FUNC_HAS_OUT : 0);
	}
}

/* ---- functions --------------------------------------------------------- */

/* "cuMemAlloc_v2" -> "cuMemAlloc" */
static const char *base_name(struct apigen *g, const char *name)
{
	size_t n = strlen(name), digits = strspn(name + n - (n > 0), "0123456789");
	if (n > 3 && digits == 1 && name[n - 2] == 'v' && name[n - 3] == '_')
		return arena_strndup(&g->arena, name, n - 3);
	return name;
}

static void parse_like(struct parser *p, struct func *f)
{
	struct token *t = expect_name(p, "a function");
	struct symbol *s = t ? symbol_find(p->g, t->text) : NULL;
	if (t && (!s || s->kind != SYM_FUNC)) {
		error_at(p->g, t->loc, "'%s' is not a function described above", t->text);
		return;
	}
	if (!t)
		return;
	const struct func *model = s->what;
	for (size_t i = 0; i < model->params.n; i++)
		*list_add(p->g, &f->params) = model->params.v[i];
	f->replay = model->replay;
	f->flags |= model->flags & (API_FUNC_ASYNC | API_FUNC_LAUNCH | API_FUNC_INTEROP | API_FUNC_HAS_IN |
				    API_FUNC_HAS_OUT);
}

static void parse_returns(struct parser *p, struct func *f)
{
	struct ctype c = {.text = "void"};
	if (accept_name(p, "void")) {
		f->ret = 0;
		f->ret_text = "void";
	} else if (parse_ctype(p, &c)) {
		f->ret = type_of_ctype(p->g, &c, false);
		f->ret_text = c.text;
	}
}

static void parse_version(struct parser *p, unsigned *version)
{
	struct token *t = p->t;
	int64_t n;
	if (!expect_number(p, &n, "a CUDA version such as 12040"))
		return;
	if (n < 1000 || n > 0xffff)
		error_at(p->g, t->loc, "'%s' is not a CUDA version (12.4 is 12040)", t->text);
	*version = (unsigned)n;
}

static bool parse_func_attribute(struct parser *p, struct func *f)
{
	const struct word *w;
	struct token *t;
	unsigned errors = p->g->errors;
	if (accept_name(p, "since")) {
		parse_version(p, &f->since);
	} else if (at_name(p, "ptsz") || at_name(p, "ptds")) {
		f->pt_suffix = arena_printf(&p->g->arena, "_%s", p->t++->text);
		parse_version(p, &f->pt_since);
	} else if (accept_name(p, "as")) {
		t = expect_name(p, "the name that cuGetProcAddress knows");
		f->base = t ? t->text : f->base;
	} else if (accept_name(p, "like")) {
		parse_like(p, f);
	} else if (accept_name(p, "returns")) {
		parse_returns(p, f);
	} else if (accept_name(p, "current")) {
		f->macro = f->base;
	} else if (accept_name(p, "macro")) {
		t = expect_name(p, "the name that source code uses");
		f->macro = t ? t->text : NULL;
	} else if ((w = accept_word(p, replays))) {
		f->replay = (uint8_t)w->value;
	} else if ((w = accept_word(p, func_flags))) {
		f->flags |= w->value;
	} else {
		error_at(p->g, p->t->loc, "unknown attribute '%s' of a function", p->t->text);
	}
	return p->g->errors == errors;
}

void parse_func(struct parser *p)
{
	struct apigen *g = p->g;
	struct token *name = expect_name(p, "a function's name");
	unsigned indent = 0;
	if (!name)
		return;
	struct func *f = arena_zalloc(&g->arena, sizeof(*f));
	struct def *result = g->result_type ? def_find(g, g->result_type) : NULL;
	f->name = name->text;
	f->loc = name->loc;
	f->base = base_name(g, f->name);
	f->ret_text = g->result_type ? g->result_type : "int";
	f->ret = type_of_def(g, result ? result : def_find(g, "int"), f->ret_text);
	if (!symbol_add(g, f->name, SYM_FUNC, f->loc, f, 0))
		return;
	while (p->t->kind != TOK_END)
		if (!parse_func_attribute(p, f))
			break;
	unsigned errors = g->errors;
	while (next_line(p, 0, &indent))
		parse_param(p, f);
	if (g->errors == errors) /* else a missing parameter would be reported again and again */
		resolve_func(p, f);
	if (f->params.n > 16)
		error_at(g, f->loc, "'%s' has %zu parameters; 16 are the most that a call record holds",
			 f->name, f->params.n);
	*list_add(g, &g->funcs) = f;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct func *const *)a)->name, (*(struct func *const *)b)->name);
}

static int by_value(const void *a, const void *b)
{
	const struct api_poly_case *x = a, *y = b;
	return (x->value > y->value) - (x->value < y->value);
}

static void check_polys(struct apigen *g)
{
	for (size_t i = 0; i < g->polys.n; i++) {
		struct poly_block *b = g->polys.v[i];
		b->index = (unsigned)i;
		qsort(b->cases.v, b->cases.n, sizeof(*b->cases.v), by_value);
		for (size_t j = 1; j < b->cases.n; j++)
			if (b->cases.v[j].value == b->cases.v[j - 1].value)
				error_at(g, b->loc, "'%s' has two types for the value %lld", b->name,
					 (long long)b->cases.v[j].value);
	}
}

void finish_funcs(struct apigen *g)
{
	size_t described = g->funcs.n;
	for (size_t i = 0; i < described; i++) {
		struct func *f = g->funcs.v[i];
		if (!f->pt_suffix)
			continue;
		struct func *v = arena_zalloc(&g->arena, sizeof(*v));
		*v = *f;
		v->name = arena_printf(&g->arena, "%s%s", f->name, f->pt_suffix);
		v->since = f->pt_since;
		v->flags |= API_FUNC_PTSZ;
		v->macro = NULL;
		v->legacy = f;
		if (symbol_add(g, v->name, SYM_FUNC, v->loc, v, 0))
			*list_add(g, &g->funcs) = v;
	}
	qsort(g->funcs.v, g->funcs.n, sizeof(*g->funcs.v), by_name);
	for (size_t i = 0; i < g->funcs.n; i++)
		g->funcs.v[i]->index = (unsigned)i;
	check_polys(g);
}
