/* SPDX-License-Identifier: Apache-2.0
 *
 * harness: makes one PTX module of a suite, one kernel a form, runs them on the interpreter and compares.
 * Threads read their inputs from 8-byte cells and write results into 8-byte cells that hold a pattern before,
 * so a result that is stored too wide is seen.
 */
#include "form.h"
#include "reference.h"
#include "texture_model.h"
#include "values.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "zluda_core/device.h"

#define INPUT_BASE   0x550000000000ull
#define OUTPUT_BASE  0x550010000000ull
#define GLOBALS_BASE 0x550020000000ull
#define BUFFER_BYTES (1u << 21)
#define PATTERN      0xa5

/* Everything that forms are made of; gone with suite_free. */
static struct arena texts;

char *text_of(const char *fmt, ...)
{
	va_list ap;
	char buf[8192];
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(buf))
		abort();
	return arena_strdup(&texts, buf);
}

void suite_free(struct suite *s)
{
	free(s->forms);
	arena_free(&texts);
	memset(s, 0, sizeof(*s));
}

struct form *form_add(struct suite *s, const char *sig, lane_ref ref, const char *text, const char *name, ...)
{
	const char *eq = strchr(sig, '=');
	struct form *f;
	char buf[256];
	va_list ap;

	if (s->n == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 64;
		s->forms = realloc(s->forms, s->cap * sizeof(*s->forms));
		if (!s->forms)
			abort();
	}
	f = &s->forms[s->n++];
	memset(f, 0, sizeof(*f));
	va_start(ap, name);
	vsnprintf(buf, sizeof(buf), name, ap);
	va_end(ap);
	f->name = text_of("%s", buf);
	f->outs = text_of("%.*s", (int)(eq - sig), sig);
	f->ins = text_of("%s", eq + 1);
	f->text = text_of("%s", text);
	f->ref = ref;
	return f;
}

static const char *reg_type(char reg)
{
	return reg == 'h' ? "b16" : reg == 'd' ? "b64" : reg == 'p' ? "pred" : "b32";
}

static void emit_body(FILE *o, const char *text)
{
	for (const char *c = text; *c; c++) {
		if (*c == '%' && c[1] >= '0' && c[1] <= '9')
			fputs("v", o);
		else
			fputc(*c, o);
	}
}

static void emit_load(FILE *o, unsigned v, unsigned slot, char reg)
{
	if (reg == 'p')
		fprintf(o, "\tld.global.u32 tmp, [inp+%u];\n\tsetp.ne.u32 v%u, tmp, 0;\n", slot * 8, v);
	else
		fprintf(o, "\tld.global.%s v%u, [inp+%u];\n", reg_type(reg), v, slot * 8);
}

static void emit_store(FILE *o, unsigned v, char reg)
{
	if (reg == 'p')
		fprintf(o, "\tselp.u32 tmp, 1, 0, v%u;\n\tst.global.u32 [outp+%u], tmp;\n", v, v * 8);
	else
		fprintf(o, "\tst.global.%s [outp+%u], v%u;\n", reg_type(reg), v * 8, v);
}

static void emit_index(FILE *o, const struct form *f)
{
	if (!f->dims[0]) {
		fputs("\tmov.u32 idx, %tid.x;\n\tmov.u32 tmp, %ctaid.x;\n\tmov.u32 dim, %ntid.x;\n"
		      "\tmad.lo.u32 idx, tmp, dim, idx;\n",
		      o);
		return;
	}
	fputs("\tmov.u32 idx, 0;\n", o);
	for (int i = 5; i >= 0; i--) {
		static const char axis[] = "xyz";

		fprintf(o, "\tmov.u32 tmp, %%%s.%c;\n\tmad.lo.u32 idx, idx, %u, tmp;\n",
			i < 3 ? "tid" : "ctaid", axis[i % 3], f->dims[i]);
	}
}

static void emit_kernel(FILE *o, const struct form *f, unsigned index)
{
	unsigned nout = (unsigned)strlen(f->outs), nin = (unsigned)strlen(f->ins);

	fprintf(o, "%s\n// %s\n.visible .entry k%u(.param .u64 pin, .param .u64 pout%s)\n{\n",
		f->decl ? f->decl : "", f->name, index, f->params ? f->params : "");
	fputs("\t.reg .b64 inp, outp, off;\n\t.reg .b32 idx, tmp, dim;\n", o);
	for (unsigned i = 0; i < nout + nin; i++)
		fprintf(o, "\t.reg .%s v%u;\n",
			reg_type(letter_reg(i < nout ? f->outs[i] : f->ins[i - nout])), i);
	fputs("\tld.param.u64 inp, [pin];\n\tld.param.u64 outp, [pout];\n", o);
	emit_index(o, f);
	fprintf(o, "\tmul.wide.u32 off, idx, %u;\n\tadd.u64 inp, inp, off;\n", nin * 8);
	fprintf(o, "\tmul.wide.u32 off, idx, %u;\n\tadd.u64 outp, outp, off;\n", nout * 8);
	for (unsigned i = 0; i < nin; i++)
		emit_load(o, nout + i, i, letter_reg(f->ins[i]));
	fputs("\t", o);
	emit_body(o, f->text);
	fputs("\n", o);
	for (unsigned i = 0; i < nout; i++)
		emit_store(o, i, letter_reg(f->outs[i]));
	fputs("\tret;\n}\n", o);
}

static char *suite_text(const struct suite *s, size_t *bytes)
{
	char *text = NULL;
	FILE *o = open_memstream(&text, bytes);

	fprintf(o, ".version %s\n.target %s\n.address_size 64\n", s->version ? s->version : "9.0", s->target);
	for (unsigned i = 0; i < s->n; i++)
		emit_kernel(o, &s->forms[i], i);
	fclose(o);
	return text;
}

int suite_emit(struct suite *s, const char *path)
{
	size_t bytes;
	char *text = suite_text(s, &bytes);
	FILE *o = fopen(path, "w");

	if (o) {
		fwrite(text, 1, bytes, o);
		fclose(o);
	}
	free(text);
	return o ? 0 : -1;
}

enum { INPUT, OUTPUT, GLOBALS, TEXELS, NBUFFERS };
static const uint64_t bases[NBUFFERS] = {INPUT_BASE, OUTPUT_BASE, GLOBALS_BASE, TEXEL_BASE};

struct machine {
	const struct device_ops *ops;
	struct device *dev;
	struct ptx_module *module;
	struct dev_module *loaded;
	struct dev_mem *mem[NBUFFERS];
	uint64_t base[NBUFFERS];
	bool lost; /* a launch failed: hardware does nothing more in this context */
	uint64_t *symbols;
	uint64_t *in, *out;
	struct want *want;
};

static void drop_text(void *ctx, const char *text, size_t bytes)
{
	(void)ctx;
	(void)text;
	(void)bytes;
}

static uint64_t no_heap(void *ctx, uint64_t bytes)
{
	(void)ctx;
	(void)bytes;
	return 0;
}

static int no_free(void *ctx, uint64_t addr)
{
	(void)ctx;
	(void)addr;
	return 0;
}

static const struct dev_host host = {.print = drop_text, .heap_alloc = no_heap, .heap_free = no_free};

static int map_buffer(struct machine *m, unsigned i, struct diag *d)
{
	int rc = m->ops->mem_create(m->dev, BUFFER_BYTES, &m->mem[i], d);

	return rc ? rc : m->ops->map(m->dev, m->base[i], BUFFER_BYTES, m->mem[i], 0, false, d);
}

/* Addresses in initialisers: of variables only. */
static int relocate(struct machine *m, struct diag *d)
{
	struct ptx_module *mod = m->module;
	int rc = 0;

	for (uint32_t i = 0; i < mod->nsymbols; i++)
		for (uint32_t k = 0; k < mod->symbols[i]->nrelocs && !rc; k++) {
			const struct ptx_reloc *r = &mod->symbols[i]->relocs[k];
			uint64_t v = (m->symbols[r->symbol] + (uint64_t)r->addend) >> r->shift;

			if (!r->is_func && m->symbols[i])
				rc = m->ops->write(m->dev, m->symbols[i] + r->offset, &v, r->bytes, d);
		}
	return rc;
}

static int place_symbols(struct machine *m, struct diag *d)
{
	struct ptx_module *mod = m->module;
	uint64_t at = m->base[GLOBALS];
	int rc = 0;

	m->symbols = calloc(mod->nsymbols + 1, sizeof(*m->symbols));
	for (uint32_t i = 0; i < mod->nsymbols && !rc; i++) {
		struct ptx_symbol *y = mod->symbols[i];

		if (y->space != PTX_SPACE_GLOBAL && y->space != PTX_SPACE_CONST)
			continue;
		at = (at + 255) / 256 * 256;
		m->symbols[i] = at;
		if (y->init)
			rc = m->ops->write(m->dev, at, y->init, y->size, d);
		else if (y->size)
			rc = m->ops->fill(m->dev, at, 0, 1, y->size, d);
		at += y->size;
	}
	return rc ? rc : relocate(m, d);
}

/* Hardware maps in one window. Descriptors of textures hold addresses: these want the window where it is asked for. */
static int take_window(struct machine *m, const struct suite *s, struct diag *d)
{
	uint64_t base = INPUT_BASE, bytes = 4ull << 30;
	int rc = m->ops->window ? m->ops->window(m->dev, &base, &bytes, d) : 0;

	if (!rc && s->ntextures && base != INPUT_BASE)
		rc = diag_set(d, CUTRACE_ENOTSUP, m->ops->name, "the device gives no memory at %#llx",
			      INPUT_BASE);
	for (unsigned i = 0; i < NBUFFERS; i++)
		m->base[i] = bases[i] - INPUT_BASE + base;
	return rc;
}

static int machine_open(struct machine *m, const struct suite *s, const struct device_ops *ops,
			const char *options, struct diag *d)
{
	struct dev_module_env env;
	size_t bytes;
	char *text = suite_text(s, &bytes);
	int rc;

	m->ops = ops;
	rc = m->ops->open(&m->dev, 0, options, &host, d);
	if (!rc)
		rc = take_window(m, s, d);
	if (rc)
		goto out;
	for (unsigned i = 0; i < NBUFFERS && !rc; i++)
		rc = map_buffer(m, i, d);
	if (rc)
		goto out;
	m->module = ptx_module_parse(text, bytes, s->name, d);
	if (!m->module) {
		rc = d->code;
		goto out;
	}
	for (uint32_t i = 0; i < m->module->nerrors && i < 10; i++)
		printf("  module %s: %s: %s\n", s->name, m->module->errors[i].where,
		       m->module->errors[i].what);
	rc = place_symbols(m, d);
	if (!rc && s->texel_bytes)
		rc = m->ops->write(m->dev, m->base[TEXELS], s->texels, s->texel_bytes, d);
	for (unsigned i = 0; i < s->ntextures && !rc; i++)
		rc = m->ops->texture_set(m->dev, &s->textures[i], d);
	env.symbol_addr = m->symbols;
	env.nsymbols = m->module->nsymbols;
	if (!rc)
		rc = m->ops->module_load(m->dev, m->module, &env, &m->loaded, d);
	m->in = malloc(BUFFER_BYTES);
	m->out = malloc(BUFFER_BYTES);
	m->want = malloc(BUFFER_BYTES / 8 * sizeof(*m->want));
out:
	free(text);
	return rc;
}

static void machine_close(struct machine *m)
{
	struct diag d = DIAG_INIT;

	if (m->loaded)
		m->ops->module_unload(m->dev, m->loaded);
	if (m->module)
		ptx_module_free(m->module);
	for (unsigned i = 0; i < NBUFFERS && m->mem[i]; i++) {
		m->ops->unmap(m->dev, m->base[i], BUFFER_BYTES, &d);
		m->ops->mem_destroy(m->dev, m->mem[i]);
	}
	if (m->dev)
		m->ops->close(m->dev);
	free(m->symbols);
	free(m->in);
	free(m->out);
	free(m->want);
}

/* Does one element of a result satisfy what is wanted? Bits above the element are zero in both. */
static bool element_ok(const struct want *w, enum float_format fmt, uint64_t got, uint64_t bits,
		       uint64_t mask)
{
	if (w->kind == WANT_ZERO && fmt != FORMAT_NONE && is_zero(fmt, bits))
		return is_zero(fmt, got);
	if (w->kind != WANT_CANONICAL && fmt != FORMAT_NONE && is_nan(fmt, bits))
		return is_nan(fmt, got);
	return (got & mask) == (bits & mask);
}

static bool range_ok(const struct want *w, enum float_format fmt, uint64_t got)
{
	double v;

	if (is_nan(fmt, got))
		return false;
	v = to_double(fmt, got);
	return v >= w->lo && v <= w->hi;
}

static bool result_ok(char letter, const struct want *w, uint64_t got)
{
	enum float_format fmt = letter_format(letter);
	unsigned bits = letter_bits(letter), step;

	if (letter_reg(letter) == 'p')
		bits = 32;
	/* The rest of the cell must be as it was. */
	for (unsigned b = bits; b < 64; b += 8)
		if ((got >> b & 0xff) != PATTERN)
			return false;
	if (w->kind == WANT_ANY)
		return true;
	got = low_bits(got, bits);
	if (w->kind == WANT_RANGE)
		return range_ok(w, fmt, got);
	step = fmt == FORMAT_NONE ? bits : format_info(fmt)->bits;
	for (unsigned at = 0; at < bits; at += step)
		if (!element_ok(w, fmt, low_bits(got >> at, step), low_bits(w->bits >> at, step),
				low_bits(w->mask >> at, step)))
			return false;
	return true;
}

static unsigned volume(const unsigned *d)
{
	return d[0] * d[1] * d[2];
}

/* Threads that gref judges together. */
static unsigned group_size(const struct form *f)
{
	if (f->dims[0])
		return volume(f->dims) * volume(f->dims + 3);
	return f->block ? f->block : 32;
}

static void fill_inputs(struct machine *m, const struct form *f, unsigned total)
{
	unsigned nin = (unsigned)strlen(f->ins), nout = (unsigned)strlen(f->outs), block = group_size(f);

	for (unsigned t = 0; t < total; t++) {
		if (f->fill)
			f->fill(f, t, m->in + (size_t)t * nin);
		else
			values_of(f->ins, t, total, m->in + (size_t)t * nin);
	}
	for (unsigned i = 0; i < total * nout; i++)
		m->want[i] = (struct want){.mask = UINT64_MAX};
	for (unsigned t = 0; f->ref && t < total; t++)
		f->ref(f, m->in + (size_t)t * nin, m->want + (size_t)t * nout);
	for (unsigned t = 0; f->gref && t < total; t += block)
		f->gref(f, m->in + (size_t)t * nin, m->want + (size_t)t * nout);
}

static int launch(struct machine *m, struct dev_kernel *k, const struct form *f, unsigned total, char *why,
		  size_t bytes)
{
	static uint64_t launch_id;
	uint64_t params[32] = {m->base[INPUT], m->base[OUTPUT]};
	unsigned block = group_size(f);
	struct dev_launch l = {.kernel = k,
			       .grid = {total / block, 1, 1},
			       .block = {block, 1, 1},
			       .params = params,
			       .param_bytes = 16 + f->param_bytes,
			       .shared_bytes = f->shared_bytes,
			       .launch_id = ++launch_id};
	if (f->dims[0]) {
		memcpy(l.block, f->dims, sizeof(l.block));
		memcpy(l.grid, f->dims + 3, sizeof(l.grid));
	}
	struct dev_fault fault;
	struct diag d = DIAG_INIT;
	size_t in_bytes = total * strlen(f->ins) * 8, out_bytes = total * strlen(f->outs) * 8;

	if (f->param_bytes)
		memcpy(params + 2, f->param_data, f->param_bytes);
	memset(&fault, 0, sizeof(fault));
	memset(m->out, PATTERN, out_bytes);
	if ((in_bytes && m->ops->write(m->dev, m->base[INPUT], m->in, in_bytes, &d)) ||
	    m->ops->write(m->dev, m->base[OUTPUT], m->out, out_bytes, &d)) {
		snprintf(why, bytes, "write: %s", d.what);
		return -1;
	}
	if (m->ops->launch(m->dev, &l, &fault)) {
		m->lost = m->ops != &device_interp;
		if (f->faults && fault.kind == DEV_FAULT_TRAP)
			return 0;
		snprintf(why, bytes, "fault: %s", fault.message);
		return -1;
	}
	if (f->faults) {
		snprintf(why, bytes, "the launch did not trap");
		return -1;
	}
	if (m->ops->read(m->dev, m->out, m->base[OUTPUT], out_bytes, &d)) {
		snprintf(why, bytes, "read: %s", d.what);
		return -1;
	}
	return 0;
}

static void describe(char *why, size_t bytes, const struct machine *m, const struct form *f, unsigned cell)
{
	unsigned nin = (unsigned)strlen(f->ins), nout = (unsigned)strlen(f->outs), t = cell / nout;
	const struct want *w = &m->want[cell];
	FILE *o = fmemopen(why, bytes, "w");

	fprintf(o, "thread %u in", t);
	for (unsigned i = 0; i < nin; i++)
		fprintf(o, " %#llx", (unsigned long long)m->in[t * nin + i]);
	fprintf(o, " out%u got %#llx", cell % nout, (unsigned long long)m->out[cell]);
	if (w->kind == WANT_RANGE)
		fprintf(o, " (%.17g) expected %.17g .. %.17g",
			to_double(letter_format(f->outs[cell % nout]),
				  low_bits(m->out[cell], letter_bits(f->outs[cell % nout]))),
			w->lo, w->hi);
	else
		fprintf(o, " expected %#llx", (unsigned long long)w->bits);
	fclose(o);
}

/* 0 passed, 1 failed. */
static int compare(const struct machine *m, const struct form *f, unsigned total, char *why, size_t bytes)
{
	unsigned nout = (unsigned)strlen(f->outs), bad = 0, first = 0, pinned = 0;

	for (unsigned i = 0; i < total * nout; i++) {
		pinned += m->want[i].kind != WANT_ANY;
		if (result_ok(f->outs[i % nout], &m->want[i], m->out[i]))
			continue;
		if (!bad++)
			first = i;
	}
	if (!pinned) {
		snprintf(why, bytes, "no result was pinned down: the form tests nothing");
		return 1;
	}
	if (!bad)
		return 0;
	int n = snprintf(why, bytes, "%u of %u results; ", bad, total * nout);

	describe(why + n, bytes - (size_t)n, m, f, first);
	return 1;
}

/* The same bits, or NaNs. */
static bool same_result(char letter, uint64_t a, uint64_t b)
{
	enum float_format fmt = letter_format(letter);
	unsigned step = fmt == FORMAT_NONE ? 64 : format_info(fmt)->bits;

	for (unsigned at = 0; at < 64; at += step) {
		uint64_t x = low_bits(a >> at, step), y = low_bits(b >> at, step);
		if (x != y && (fmt == FORMAT_NONE || !is_nan(fmt, x) || !is_nan(fmt, y)))
			return false;
	}
	return true;
}

/* Whether the interpreter, given the same inputs, has the same results where the document says what they are. */
static bool equals_twin(const struct machine *m, struct machine *twin, const struct form *f, unsigned total,
			const char *name)
{
	unsigned nout = (unsigned)strlen(f->outs);
	struct diag d = DIAG_INIT;
	struct dev_kernel *k;
	char why[1024];

	memcpy(twin->in, m->in, total * strlen(f->ins) * 8);
	if (twin->ops->kernel_get(twin->dev, twin->loaded, name, &k, &d) ||
	    launch(twin, k, f, total, why, sizeof(why)))
		return false;
	for (unsigned i = 0; i < total * nout; i++)
		if (m->want[i].kind != WANT_ANY && !same_result(f->outs[i % nout], m->out[i], twin->out[i]))
			return false;
	return true;
}

static unsigned form_threads(const struct form *f)
{
	unsigned total = f->fill ? f->ntuples : values_count(f->ins), block = group_size(f);

	if (f->dims[0])
		return block;
	if (f->most && total > f->most)
		total = f->most;
	return (total + block - 1) / block * block;
}

/* twin: NULL or a device that may refuse it as well. */
static void form_refused(struct machine *twin, struct form *f, const char *kernel, const char *suite,
			 struct tally *t, const struct diag *d)
{
	struct diag ignored = DIAG_INIT;
	struct dev_kernel *k;
	char reason[800];
	bool neither = twin && twin->ops->kernel_get(twin->dev, twin->loaded, kernel, &k, &ignored) ==
				       CUTRACE_ENOTSUP;

	snprintf(reason, sizeof(reason), "%s: %s", d->where, d->what);
	t->refused++;
	t->neither += neither;
	f->result = FORM_REFUSED;
	printf("refused %s: %s%s\n", f->name, d->what, neither ? " (the interpreter refuses it, too)" : "");
	runner_note(neither ? "neither" : "refused", suite, f->name, reason);
}

static void form_judged(struct form *f, const char *suite, struct tally *t, bool equal, const char *why)
{
	f->result = *why ? FORM_FAILED : FORM_PASSED;
	t->passed += !*why;
	t->failed += *why != 0;
	t->bound += !*why && !equal;
	runner_note(*why ? "differs" : equal ? "equal" : "bound", suite, f->name, why);
	if (*why)
		printf("FAILED  %s: %s\n", f->name, why);
	else
		printf("%s %s\n", equal ? "ok     " : "bound  ", f->name);
}

/* twin: the interpreter, beside another device; or NULL. */
static void form_run(struct machine *m, struct machine *twin, struct form *f, unsigned index,
		     const char *suite, struct tally *t)
{
	struct diag d = DIAG_INIT;
	struct dev_kernel *k;
	char name[16], why[1024] = "";
	unsigned total = form_threads(f);
	bool equal = true;
	int rc;

	snprintf(name, sizeof(name), "k%u", index);
	rc = m->ops->kernel_get(m->dev, m->loaded, name, &k, &d);
	if (rc == CUTRACE_ENOTSUP) {
		form_refused(twin, f, name, suite, t, &d);
		return;
	}
	if (rc)
		snprintf(why, sizeof(why), "kernel: %s: %s", d.where, d.what);
	if (!rc) {
		f->inputs = m->in;
		fill_inputs(m, f, total);
		rc = launch(m, k, f, total, why, sizeof(why));
	}
	if (!rc && !f->faults)
		rc = compare(m, f, total, why, sizeof(why));
	if (!rc && !f->faults && twin)
		equal = equals_twin(m, twin, f, total, name);
	form_judged(f, suite, t, equal, rc && !*why ? "?" : why);
}

static bool open_or_say(struct machine *m, const struct suite *s, const struct device_ops *ops,
			const char *options)
{
	struct diag d = DIAG_INIT;

	if (!machine_open(m, s, ops, options, &d))
		return true;
	printf("FAILED  suite %s: %s: %s\n", s->name, d.where, d.what);
	return false;
}

static bool is_wanted(const struct form *f, const char *filter)
{
	return (!filter || strstr(f->name, filter)) && runner_wants();
}

/* Not with a device that has no textures. */
static bool left_out(const struct suite *s, const char *filter, struct tally *t)
{
	if (!s->ntextures || runner.device->texture_set)
		return false;
	printf("left out suite %s: device %s has no textures\n", s->name, runner.device->name);
	for (unsigned i = 0; i < s->n; i++)
		t->refused += is_wanted(&s->forms[i], filter);
	return true;
}

static bool reopen(struct machine *m, const struct suite *s)
{
	machine_close(m);
	memset(m, 0, sizeof(*m));
	return open_or_say(m, s, runner.device, runner.options);
}

void suite_run(struct suite *s, const char *filter, struct tally *t)
{
	struct machine m = {0}, twin = {0};
	bool other = runner.device != &device_interp, open;

	if (left_out(s, filter, t))
		return;
	open = open_or_say(&m, s, runner.device, runner.options) &&
	       (!other || open_or_say(&twin, s, &device_interp, NULL));
	for (unsigned i = 0; i < s->n && open; i++) {
		if (!is_wanted(&s->forms[i], filter))
			continue;
		form_run(&m, other ? &twin : NULL, &s->forms[i], i, s->name, t);
		open = !m.lost || reopen(&m, s);
	}
	t->failed += !open;
	machine_close(&m);
	if (other)
		machine_close(&twin);
}
