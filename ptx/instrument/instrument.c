/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the instrumented text: the module's own, with code between its statements.
 */
#include "ptx/instrument/instrument.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/instrument/sites.h"

/* In the code below '$' stands for the beginning of our registers' names, '#' for the variable's. */
#define PREFIX "%cutrace_"

/* on: this thread logs; at: where in its area, end: the last place at which a record may begin; word: of its own before
 * the areas. The others serve one statement, or the beginning; p: the record at hand is written. */
static const char declarations[] = "\n.reg .pred $p, $on;\n.reg .b32 $u, $v, $w;\n"
				   ".reg .b64 $at, $end, $area, $word, $to, $n, $x, $y;\n";

/* ISA 10.1 to 10.6: numbers of threads and blocks, x first. Offsets: struct ptx_log_control. */
static const char beginning[] =
	/* x: the block's number among the chosen ones, n: how many these are */
	"mov.u32 $w, %ctaid.z;\nmov.u32 $v, %nctaid.y;\nmov.u32 $u, %ctaid.y;\nmad.lo.u32 $w, $w, $v, $u;\n"
	"mov.u32 $v, %nctaid.x;\nmul.wide.u32 $x, $w, $v;\nmov.u32 $v, %ctaid.x;\ncvt.u64.u32 $y, $v;\n"
	"add.s64 $x, $x, $y;\nld.global.u64 $y, [#+8];\nsub.s64 $x, $x, $y;\nld.global.u64 $n, [#+16];\n"
	"setp.lt.u64 $on, $x, $n;\nld.global.u64 $word, [#];\nsetp.ne.and.u64 $on, $word, 0, $on;\n"
	/* area: behind the words, one a thread; x: times the block's size */
	"mov.u32 $w, %ntid.x;\nmov.u32 $v, %ntid.y;\nmul.lo.u32 $v, $w, $v;\nmov.u32 $u, %ntid.z;\n"
	"mul.lo.u32 $v, $v, $u;\ncvt.u64.u32 $y, $v;\nmul.lo.s64 $x, $x, $y;\nmul.lo.s64 $n, $n, $y;\n"
	"shl.b64 $n, $n, 3;\nadd.s64 $area, $word, $n;\n"
	/* x: the thread's number */
	"mov.u32 $v, %ntid.y;\nmov.u32 $u, %tid.z;\nmul.lo.u32 $v, $v, $u;\nmov.u32 $u, %tid.y;\n"
	"add.s32 $v, $v, $u;\nmov.u32 $u, %tid.x;\nmad.lo.u32 $w, $v, $w, $u;\ncvt.u64.u32 $y, $w;\n"
	"add.s64 $x, $x, $y;\n"
	"ld.global.u64 $n, [#+24];\nmul.lo.s64 $y, $x, $n;\nadd.s64 $area, $area, $y;\nshl.b64 $y, $x, 3;\n"
	"add.s64 $word, $word, $y;\n";

static const char first_place[] = "ld.global.u64 $at, [#+32];\nneg.s64 $at, $at;\n";
static const char place_of_caller[] = "@$on ld.global.u64 $at, [$word];\n";
static const char keep_place[] = "@$on st.global.u64 [$word], $at;\n";

struct writer {
	FILE *out;
	const struct ptx_module *m;
	uint32_t line; /* of what comes next */
	uint32_t max_words;
	const char *name; /* for '~' in code */
	unsigned at;      /* for '^' */
};

static void put(struct writer *w, const char *s, size_t n)
{
	for (size_t k = 0; k < n; k++)
		w->line += s[k] == '\n';
	fwrite(s, 1, n, w->out);
}

static void code(struct writer *w, const char *s)
{
	char number[16];

	for (; *s; s++) {
		snprintf(number, sizeof(number), "%u", w->at);
		const char *word = *s == '$'   ? PREFIX
				   : *s == '#' ? PTX_LOG_VARIABLE
				   : *s == '~' ? w->name
				   : *s == '^' ? number
					       : NULL;
		put(w, word ? word : s, word ? strlen(word) : 1);
	}
}

static void begin_function(struct writer *w, const struct ptx_func *f)
{
	code(w, declarations);
	code(w, beginning);
	w->at = 4 * w->max_words;
	code(w, "add.s64 $n, $n, -^;\nselp.b64 $end, $n, 0, $on;\n");
	code(w, f->is_entry ? first_place : place_of_caller);
}

/* The address that the statement names: a variable, and an offset. */
static void put_address(struct writer *w, const struct ptx_site *s)
{
	const struct ptx_inst *i = &s->f->insts[s->first + s->n - 1];
	char offset[32];

	w->name = w->m->symbols[i->src[0].index]->name;
	code(w, "mov.u64 $x, ~;\n");
	snprintf(offset, sizeof(offset), "%" PRId64, (int64_t)i->src[0].imm);
	w->name = offset;
	code(w, "add.s64 $x, $x, ~;\n@$p st.global.u64 [$to+^], $x;\n");
	w->name = NULL;
}

static const char *form_of(const char *name, unsigned bits)
{
	if (!strcmp(name, PTX_CARRY_NAME)) /* addc without .cc leaves the carry as it is */
		return "addc.u32 $w, 0, 0;\n@$p st.global.u32 [$to+^], $w;\n";
	switch (bits) {
	case 1: return "selp.u32 $w, 1, 0, ~;\n@$p st.global.u32 [$to+^], $w;\n";
	case 8: return "cvt.u32.u8 $w, ~;\n@$p st.global.u32 [$to+^], $w;\n";
	case 16: return "@$p st.global.b16 [$to+^], ~;\n";
	case 32: return "@$p st.global.b32 [$to+^], ~;\n";
	case 64: return "@$p st.global.b64 [$to+^], ~;\n";
	default:
		return "mov.b128 {$x, $y}, ~;\nadd.s64 $n, $to, 8;\n@$p st.global.b64 [$to+^], $x;\n"
		       "@$p st.global.b64 [$n+^], $y;\n";
	}
}

static void put_registers(struct writer *w, const struct ptx_site *s, bool results)
{
	for (unsigned k = 0; k < s->nregisters; k++) {
		const struct ptx_site_register *r = &s->registers[k];

		if (r->is_result != results)
			continue;
		w->at = 4u * r->at;
		if (r->slot == PTX_NONE) {
			put_address(w, s);
			continue;
		}
		w->name = ptx_site_register_name(s, r);
		code(w, form_of(w->name, r->bits));
	}
}

static void begin_record(struct writer *w, const struct ptx_site *s, uint32_t id)
{
	code(w, "\nsetp.lt.u64 $p, $at, $end;\nadd.s64 $to, $area, $at;\n");
	w->at = id + 1;
	code(w, "mov.u32 $w, ^;\n@$p st.global.u32 [$to], $w;\n");
	put_registers(w, s, false);
}

static void end_record(struct writer *w, const struct ptx_site *s)
{
	w->at = 4u * s->words;
	code(w, "add.s64 $at, $at, ^;\n");
}

static uint16_t op_of(const struct ptx_site *s)
{
	return s->f->insts[s->first + s->n - 1].op;
}

/* With the statement's guard. */
static void put_stop(struct writer *w, struct ptx_site *s, uint32_t id)
{
	begin_record(w, s, id);
	end_record(w, s);
	code(w, "\n");
	code(w, keep_place);
	s->new_line = w->line;
	put(w, w->m->text + s->begin, s->opcode - s->begin);
	code(w, "exit;");
}

static void put_site(struct writer *w, struct ptx_site *s, uint32_t id)
{
	uint16_t op = op_of(s);
	bool keeps = op == PTX_OP_RET || op == PTX_OP_EXIT || op == PTX_OP_CALL;

	if (s->words)
		begin_record(w, s, id);
	if (s->words && s->leaves)
		end_record(w, s);
	if (keeps) {
		code(w, "\n");
		code(w, keep_place);
	}
	s->new_line = w->line;
	for (size_t k = s->begin; k < s->opcode; k++)
		s->new_line += w->m->text[k] == '\n';
	put(w, w->m->text + s->begin, s->end - s->begin);
	if (s->words && !s->leaves) {
		code(w, "\n");
		put_registers(w, s, true);
		end_record(w, s);
	}
	if (op == PTX_OP_CALL) {
		code(w, "\n");
		code(w, place_of_caller);
	}
}

static void put_function(struct writer *w, const struct ptx_func *f, struct ptx_instrumented *out,
			 uint32_t first, uint32_t n)
{
	const char *text = w->m->text;
	size_t at = f->body_begin;

	begin_function(w, f);
	for (uint32_t k = first; k < first + n; k++) {
		struct ptx_site *s = &out->sites[k];

		put(w, text + at, s->begin - at);
		if (s->stops && s->words)
			put_stop(w, s, k);
		else
			put_site(w, s, k);
		at = s->end;
	}
	put(w, text + at, f->body_end - at);
	code(w, "\n");
	code(w, keep_place);
}

/* The log's variable stands before the first function that uses it: behind the module's directives. */
static size_t place_of_variable(const struct ptx_module *m)
{
	const char *p = strstr(m->text, ".address_size"), *end = p ? strchr(p, '\n') : NULL;

	return end ? (size_t)(end + 1 - m->text) : 0;
}

static int by_body(const void *a, const void *b)
{
	const struct ptx_func *x = *(const struct ptx_func *const *)a,
			      *y = *(const struct ptx_func *const *)b;

	return x->body_begin < y->body_begin ? -1 : x->body_begin > y->body_begin;
}

static void write_text(struct writer *w, struct ptx_func **f, uint32_t nf, struct ptx_instrumented *out)
{
	size_t at = place_of_variable(w->m);
	uint32_t site = 0;

	put(w, w->m->text, at);
	code(w, ".visible .global .align 8 .b64 #[5];\n");
	for (uint32_t k = 0; k < nf; k++) {
		uint32_t first = site;

		while (site < out->nsites && out->sites[site].f == f[k])
			site++;
		put(w, w->m->text + at, f[k]->body_begin - at);
		put_function(w, f[k], out, first, site - first);
		at = f[k]->body_end;
	}
	put(w, w->m->text + at, w->m->text_bytes - at);
}

static int write_module(const struct ptx_module *m, const struct ptx_func *entry,
			struct ptx_instrumented *out, struct diag *d)
{
	struct ptx_func **f = calloc(m->nfuncs + 1, sizeof(struct ptx_func *));
	struct writer w = {.m = m, .line = 1, .max_words = out->max_words};
	uint32_t n = 0;

	w.out = f ? open_memstream(&out->text, &out->bytes) : NULL;
	if (!w.out) {
		free(f);
		return diag_set(d, CUTRACE_ENOMEM, m->name, "out of memory");
	}
	for (uint32_t k = 0; k < m->nfuncs; k++)
		if (ptx_sites_has(entry, m->funcs[k]))
			f[n++] = m->funcs[k];
	qsort(f, n, sizeof(*f), by_body);
	write_text(&w, f, n, out);
	free(f);
	if (fclose(w.out))
		return diag_set(d, CUTRACE_ENOMEM, m->name, "out of memory");
	return 0;
}

/* What no text of ours can be put into. */
static int check_module(const struct ptx_module *m, struct diag *d)
{
	if (m->address_size != 64 || !place_of_variable(m) || m->version < 20)
		return diag_set(d, CUTRACE_ENOTSUP, m->name,
				"only PTX with .address_size 64 is instrumented");
	if (strstr(m->text, PREFIX) || strstr(m->text, PTX_LOG_VARIABLE))
		return diag_set(d, CUTRACE_ENOTSUP, m->name, "it is instrumented already");
	return 0;
}

int ptx_instrument(struct ptx_module *m, struct ptx_func *entry,
		   bool (*wanted)(void *ctx, struct ptx_site *s), void *ctx, struct ptx_instrumented *out,
		   struct diag *d)
{
	int rc;

	memset(out, 0, sizeof(*out));
	rc = check_module(m, d);
	if (!rc && ptx_func_build(m, entry)) {
		*d = entry->error;
		rc = entry->error.code;
	}
	for (uint32_t k = 0; !rc && entry->calls_indirect && k < m->nfuncs; k++)
		if (!m->funcs[k]->is_entry && !m->funcs[k]->is_decl)
			ptx_func_build(m, m->funcs[k]); /* what can't be built isn't called */
	if (!rc)
		rc = ptx_sites_find(m, entry, out, d);
	for (uint32_t k = 0; k < out->nsites && !rc; k++) {
		if (wanted && !wanted(ctx, &out->sites[k]))
			out->sites[k].kind = PTX_SITE_NONE;
		ptx_site_layout(&out->sites[k]);
		if (out->sites[k].words > out->max_words)
			out->max_words = out->sites[k].words;
	}
	if (!rc)
		rc = write_module(m, entry, out, d);
	if (rc)
		ptx_instrumented_free(out);
	return rc;
}

void ptx_instrumented_free(struct ptx_instrumented *i)
{
	free(i->text);
	arena_free(&i->arena);
	memset(i, 0, sizeof(*i));
}
