/* SPDX-License-Identifier: Apache-2.0
 *
 * Linking from end to end: read, resolve, write. */
#include "ptx/link.h"

#include <stdlib.h>
#include <string.h>

#include "ptx/link_parts.h"

enum { MAX_ERRORS = 64, MAX_MODULES = 4096 };

static uint32_t link_line(const struct link_module *m, const char *at)
{
	uint32_t line = 1;
	for (const char *p = m->ptx->text; p < at && (p = memchr(p, '\n', (size_t)(at - p))); p++)
		line++;
	return line;
}

static struct diag *new_error(struct link *l, int code)
{
	if (!l->code)
		l->code = code;
	if (!l->errors)
		l->errors = calloc(MAX_ERRORS, sizeof(*l->errors));
	return l->errors && l->nerrors < MAX_ERRORS ? &l->errors[l->nerrors++] : NULL;
}

int link_fail(struct link *l, const struct link_module *m, int code, const char *at, const char *fmt, ...)
{
	struct diag *d = new_error(l, code);
	char where[sizeof(d->where)];
	const char *start = at;
	va_list ap;
	if (!d)
		return code;
	while (start > m->ptx->text && start[-1] != '\n')
		start--;
	snprintf(where, sizeof(where), "%.200s:%u:%u", m->name, link_line(m, at), (unsigned)(at - start) + 1);
	va_start(ap, fmt);
	diag_vset(d, code, where, fmt, ap);
	va_end(ap);
	return code;
}

int link_out_of_memory(struct link *l)
{
	return diag_set(new_error(l, CUTRACE_ENOMEM), CUTRACE_ENOMEM, "", "out of memory");
}

bool ptx_is_linked(const char *text, size_t bytes)
{
	size_t n = strlen(LINK_FIRST_LINE);
	return bytes >= n && !memcmp(text, LINK_FIRST_LINE, n);
}

bool ptx_is_system_function(const char *name)
{
	static const char *const names[] = {"vprintf", "__assertfail", "malloc", "free",
					    "cudaGraphSetConditional"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return true;
	return !strncmp(name, "__cudaCDP2", 10); /* device-side launch */
}

/* ---- reading ----------------------------------------------------------------- */

static void keep_errors(struct link *l, const struct diag *errors, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct diag *d = new_error(l, errors[i].code ? errors[i].code : CUTRACE_EFORMAT);
		if (d)
			*d = errors[i];
	}
}

/* It stands in comments of the result. */
static char *clean_name(struct link *l, const char *name)
{
	char *copy = arena_strdup(&l->arena, name ? name : "input");
	for (char *p = copy; p && *p; p++)
		if ((unsigned char)*p < ' ')
			*p = '?';
	return copy;
}

static int read_module(struct link *l, struct link_module *m, const struct ptx_link_input *in)
{
	struct diag d = DIAG_INIT;
	m->name = clean_name(l, in->name);
	if (!m->name)
		return link_out_of_memory(l);
	m->ptx = ptx_module_parse(in->text, in->bytes, m->name, &d);
	if (!m->ptx) {
		keep_errors(l, &d, 1);
		return d.code == CUTRACE_ENOMEM ? CUTRACE_ENOMEM : 0;
	}
	keep_errors(l, m->ptx->errors, m->ptx->nerrors);
	if (m->ptx->nerrors)
		return 0;
	int rc = link_scan(l, m);
	return rc == CUTRACE_ENOMEM ? rc : 0;
}

/* ---- do the modules as such fit? ------------------------------------------------- */

static const char *text_of(const struct link_module *m)
{
	return m->ptx->text;
}

static bool is_specific(const struct ptx_module *m)
{
	return m->target_suffix == 'a' || m->target_suffix == 'f';
}

/* Code for sm_90a runs there only, that for sm_100f in its family (ISA 11.1.2): together with other code it must be
 * able to run somewhere. */
static bool targets_fit(const struct ptx_module *a, const struct ptx_module *b)
{
	const struct ptx_module *low = a->target < b->target ? a : b, *high = low == a ? b : a;
	if (low->target == high->target || !is_specific(low))
		return true;
	return low->target_suffix == 'f' && low->target / 10 == high->target / 10;
}

static void check_module(struct link *l, const struct link_module *m, const struct link_module *first)
{
	if (m->ptx->address_size != first->ptx->address_size)
		link_fail(l, m, CUTRACE_EINVAL, text_of(m),
			  "this module has %u-bit addresses, %s has %u-bit ones", m->ptx->address_size,
			  first->name, first->ptx->address_size);
	if (m->texmode_independent != first->texmode_independent)
		link_fail(l, m, CUTRACE_EINVAL, text_of(m),
			  "texmode_independent is a target option of one module only: see %s", first->name);
}

static void check_modules(struct link *l)
{
	for (unsigned k = 1; k < l->nmodules; k++) {
		const struct link_module *m = &l->modules[k];
		check_module(l, m, &l->modules[0]);
		for (unsigned i = 0; i < k; i++) {
			const struct ptx_module *other = l->modules[i].ptx;
			if (targets_fit(m->ptx, other))
				continue;
			link_fail(l, m, CUTRACE_EINVAL, text_of(m),
				  "target sm_%u%.1s does not go together with sm_%u%.1s of %s",
				  m->ptx->target, &m->ptx->target_suffix, other->target,
				  &other->target_suffix, l->modules[i].name);
			break;
		}
	}
}

/* ---- all together -------------------------------------------------------------------- */

static int run(struct link *l, const struct ptx_link_input *inputs, unsigned n, struct ptx_linked *out)
{
	int rc = 0;
	if (n > MAX_MODULES || !n)
		return diag_set(new_error(l, CUTRACE_ENOTSUP), CUTRACE_ENOTSUP, "",
				"%u inputs to link: 1 to %d are supported", n, MAX_MODULES);
	l->modules = calloc(n, sizeof(*l->modules));
	if (!l->modules)
		return link_out_of_memory(l);
	l->nmodules = n;
	for (unsigned k = 0; k < n && !rc; k++)
		rc = read_module(l, &l->modules[k], &inputs[k]);
	if (rc || l->nerrors)
		return rc ? rc : l->code;
	check_modules(l);
	rc = link_resolve(l);
	return rc ? rc : link_write(l, out);
}

static void drop(struct link *l)
{
	for (unsigned k = 0; k < l->nmodules; k++) {
		ptx_module_free(l->modules[k].ptx);
		name_table_free(&l->modules[k].names);
		free(l->modules[k].symbols);
	}
	free(l->modules);
	free(l->globals);
	name_table_free(&l->names);
	name_table_free(&l->taken);
	arena_free(&l->arena);
}

int ptx_link(const struct ptx_link_input *inputs, unsigned n, struct ptx_linked *out)
{
	struct link l = {0};
	*out = (struct ptx_linked){0};
	lex_seed();
	int rc = run(&l, inputs, n, out);
	out->errors = l.errors;
	out->nerrors = l.nerrors;
	drop(&l);
	return rc;
}

void ptx_linked_free(struct ptx_linked *l)
{
	free(l->text);
	free(l->errors);
	*l = (struct ptx_linked){0};
}
