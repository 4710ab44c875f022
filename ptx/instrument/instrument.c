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

/* In the code below '$' stands for the beginning of our registers' names, '#' for the variable's. The operations are few,
 * in forms that compilers seldom write: a fault in what the program uses should leave the log readable. */
#define PREFIX "%cutrace_"

/* on: this thread logs; at: where in its area, end: the last place at which a record may begin; word: of its own before
 * the areas. The others serve one statement, or the beginning; p: the record at hand is written. */
static const char declarations[] = "\n.reg .pred $p, $q, $on;\n.reg .b32 $w;\n"
				   ".reg .b64 $at, $end, $area, $word, $to, $n, $x, $y, $z;\n";

/* ISA 10.1 to 10.6: numbers of threads and blocks, x first. Offsets: struct ptx_log_control. */
static const char beginning[] =
	/* x: the block's number among the chosen ones, n: how many these are, z: the variable */
	"mov.b32 $w, %ctaid.z;\ncvt.s64.u32 $x, $w;\nmov.b32 $w, %nctaid.y;\ncvt.s64.u32 $y, $w;\n"
	"mov.b32 $w, %ctaid.y;\ncvt.s64.u32 $n, $w;\nmad.lo.s64 $x, $x, $y, $n;\n"
	"mov.b32 $w, %nctaid.x;\ncvt.s64.u32 $y, $w;\nmov.b32 $w, %ctaid.x;\ncvt.s64.u32 $n, $w;\n"
	"mad.lo.s64 $x, $x, $y, $n;\nmov.u64 $z, #;\ncvta.global.u64 $z, $z;\n"
	"ld.b64 $y, [$z+8];\nmad.lo.s64 $x, $y, -1, $x;\nld.b64 $n, [$z+16];\n"
	"setp.ge.s64 $on, $x, 0;\nsetp.lt.and.s64 $on, $x, $n, $on;\n"
	"ld.b64 $word, [$z];\nsetp.ne.and.s64 $on, $word, 0, $on;\n"
	/* area: behind the words, one a thread; x: times the block's size */
	"mov.b32 $w, %ntid.x;\ncvt.s64.u32 $area, $w;\nmov.b32 $w, %ntid.y;\ncvt.s64.u32 $y, $w;\n"
	"mad.lo.s64 $y, $y, $area, 0;\nmov.b32 $w, %ntid.z;\ncvt.s64.u32 $to, $w;\nmad.lo.s64 $y, $y, $to, 0;\n"
	"mad.lo.s64 $x, $x, $y, 0;\nmad.lo.s64 $n, $n, $y, 0;\n"
	/* x: the thread's number */
	"mov.b32 $w, %tid.z;\ncvt.s64.u32 $y, $w;\nmov.b32 $w, %ntid.y;\ncvt.s64.u32 $to, $w;\n"
	"mad.lo.s64 $y, $y, $to, 0;\nmov.b32 $w, %tid.y;\ncvt.s64.u32 $to, $w;\nmad.lo.s64 $y, $y, 1, $to;\n"
	"mad.lo.s64 $y, $y, $area, $x;\nmov.b32 $w, %tid.x;\ncvt.s64.u32 $x, $w;\nmad.lo.s64 $x, $x, 1, $y;\n"
	"mad.lo.s64 $area, $n, 8, $word;\nld.b64 $n, [$z+24];\nmad.lo.s64 $area, $x, $n, $area;\n"
	"mad.lo.s64 $word, $x, 8, $word;\n";

static const char first_place[] = "ld.b64 $at, [$z+32];\nmad.lo.s64 $at, $at, -1, 0;\n";
static const char place_of_caller[] = "@$on ld.b64 $at, [$word];\n";
static const char keep_place[] = "@$on st.b64 [$word], $at;\n";

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
	code(w, "mad.lo.s64 $n, $n, 1, -^;\nmov.b64 $end, 0;\n@$on mov.b64 $end, $n;\n");
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
	code(w, "mad.lo.s64 $x, $x, 1, ~;\n@$p st.b64 [$to+^], $x;\n");
	w->name = NULL;
}

/* Element `element` of what the store has stored. */
static void put_stored(struct writer *w, const struct ptx_site *s, const struct ptx_site_register *r,
		       unsigned element)
{
	const struct ptx_inst *i = &s->f->insts[s->first + s->n - 1];
	bool is_value = i->src[0].kind == PTX_OPND_VALUE;
	int64_t offset = (is_value ? i->offset : (int64_t)i->src[0].imm) + (int64_t)element * r->bits / 8;
	char load[64];

	put(w, w->m->text + s->begin, s->opcode - s->begin);
	snprintf(load, sizeof(load), "%s%u %s, [~+%" PRId64 "];\n",
		 i->space == PTX_SPACE_SHARED ? "ld.volatile.shared.u" : "ld.local.u", r->bits,
		 r->bits == 64 ? "$x" : "$w", offset);
	w->name = is_value ? s->f->slots[s->f->values[i->src[0].index].slot].name
			   : w->m->symbols[i->src[0].index]->name;
	code(w, load);
	code(w, r->bits == 64 ? "@$p st.b64 [$to+^], $x;\n" : "@$p st.b32 [$to+^], $w;\n");
}

static const char *form_of(const char *name, unsigned bits)
{
	if (!strcmp(name, PTX_CARRY_NAME)) /* madc without .cc leaves the carry as it is */
		return "madc.lo.u32 $w, 0, 0, 0;\n@$p st.b32 [$to+^], $w;\n";
	switch (bits) {
	case 1: /* memory is 0; in no other forms than begin a record: a fault in selp would make selp look right */
		return "setp.ge.and.s64 $q, $at, 0, ~;\nsetp.lt.and.s64 $q, $at, $end, $q;\nmov.b32 $w, 1;\n"
		       "@$q st.b32 [$to+^], $w;\n";
	case 8: return "cvt.u32.u8 $w, ~;\n@$p st.b32 [$to+^], $w;\n";
	case 16: return "@$p st.b16 [$to+^], ~;\n";
	case 32: return "@$p st.b32 [$to+^], ~;\n";
	case 64: return "@$p st.b64 [$to+^], ~;\n";
	default:
		return "mov.b128 {$x, $y}, ~;\nmad.lo.s64 $n, $to, 1, 8;\n@$p st.b64 [$to+^], $x;\n"
		       "@$p st.b64 [$n+^], $y;\n";
	}
}

static void put_registers(struct writer *w, const struct ptx_site *s, bool results)
{
	unsigned element = 0;

	for (unsigned k = 0; k < s->nregisters; k++) {
		const struct ptx_site_register *r = &s->registers[k];

		if (r->is_result != results)
			continue;
		w->at = 4u * r->at;
		if (r->slot == PTX_NONE && r->is_result) {
			put_stored(w, s, r, element++);
			continue;
		}
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
	code(w,
	     "\nsetp.ge.s64 $p, $at, 0;\nsetp.lt.and.s64 $p, $at, $end, $p;\nmad.lo.s64 $to, $at, 1, $area;\n");
	w->at = id + 1;
	code(w, "mov.b32 $w, ^;\n@$p st.b32 [$to], $w;\n");
	put_registers(w, s, false);
}

static void end_record(struct writer *w, const struct ptx_site *s)
{
	w->at = 4u * s->words;
	code(w, "mad.lo.s64 $at, $at, 1, ^;\n");
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

/* The kernel, and what it may call by its address; what can't be built isn't called. */
static int build(struct ptx_module *m, struct ptx_func *entry, struct diag *d)
{
	if (entry && ptx_func_build(m, entry)) {
		*d = entry->error;
		return d->code;
	}
	for (uint32_t k = 0; (!entry || entry->calls_indirect) && k < m->nfuncs; k++)
		if (!(entry && m->funcs[k]->is_entry) && !m->funcs[k]->is_decl)
			ptx_func_build(m, m->funcs[k]);
	return 0;
}

int ptx_instrument(struct ptx_module *m, struct ptx_func *entry,
		   bool (*wanted)(void *ctx, struct ptx_site *s), void *ctx, struct ptx_instrumented *out,
		   struct diag *d)
{
	int rc;

	memset(out, 0, sizeof(*out));
	rc = check_module(m, d);
	if (!rc)
		rc = build(m, entry, d);
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
