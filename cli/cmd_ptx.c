/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace ptx: the report of ptx_report.h as text or as JSON. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ptx_report.h"
#include "dump/json.h"

enum { EXIT_OK = 0, EXIT_USAGE = 2, EXIT_COULD_NOT = 125 };

static const char usage[] =
	"usage: cutrace ptx [options] FILE.ptx\n"
	"\n"
	"Says what kernels a PTX file has: parameters and what is done with them, memory, synchronisation, which values\n"
	"and branches differ between threads, products and sums that may be fused; and which kernels the interpreter\n"
	"can't execute, and why. (cutrace dump --modules DIR writes the PTX of a trace.)\n"
	"\n"
	"  --kernel NAME  only this kernel\n"
	"  --ir           the code of each kernel in SSA form, too\n"
	"  --json         one JSON object\n"
	"  -h, --help     this text\n"
	"\n"
	"Exit status: 0, 2 wrong usage, 125 the file can't be read, is no PTX, or has no such kernel.\n";

/* Properties of a kernel that are either there or not. */
static const struct feature {
	const char *name, *text;
	size_t offset;
} features[] = {
#define FEATURE(field, words)                                    \
	{                                                        \
#		field, words, offsetof(struct ptx_touch, field) \
	}
	FEATURE(barriers, "block barriers"),
	FEATURE(warp_ops, "warp operations"),
	FEATURE(matrix_ops, "matrix operations"),
	FEATURE(async_copies, "asynchronous copies"),
	FEATURE(mbarriers, "mbarriers"),
	FEATURE(clusters, "clusters"),
	FEATURE(fences, "fences"),
	FEATURE(grid_sync, "grid synchronisation"),
	FEATURE(textures, "textures"),
	FEATURE(surfaces, "surfaces"),
	FEATURE(uses_printf, "printf"),
	FEATURE(uses_assert, "assert"),
	FEATURE(uses_malloc, "malloc"),
	FEATURE(launches, "launches of its own"),
	FEATURE(traps, "trap"),
	FEATURE(clocks, "clocks"),
	FEATURE(sleeps, "nanosleep"),
	FEATURE(recursive, "recursion"),
	FEATURE(calls_indirect, "calls through pointers"),
	FEATURE(calls_unknown, "calls of unknown functions"),
	FEATURE(writes_unknown, "stores through pointers of unknown origin"),
#undef FEATURE
};
enum { NFEATURES = sizeof(features) / sizeof(features[0]) };

static bool has(const struct ptx_touch *t, const struct feature *f)
{
	return *(const bool *)((const char *)t + f->offset);
}

static void kinds_text(uint8_t kinds, char *out, size_t n)
{
	static const char *const names[] = {"read", "written", "atomic", "address taken"};
	size_t at = 0;
	out[0] = 0;
	for (unsigned k = 0; k < 4; k++)
		if (kinds >> k & 1)
			at += (size_t)snprintf(out + at, n - at, "%s%s", at ? ", " : "", names[k]);
}

static uint8_t access_kinds(const struct ptx_access *a)
{
	return (uint8_t)((a->is_read ? PTX_TOUCH_READ : 0) | (a->is_written ? PTX_TOUCH_WRITE : 0) |
			 (a->is_atomic ? PTX_TOUCH_ATOMIC : 0));
}

static void print_param(const struct ptx_param *p, const struct ptx_access *a)
{
	char type[40], kinds[64];
	snprintf(type, sizeof(type), p->count > 1 ? "%s[%u]" : "%s", ptx_type_name(p->type), p->count);
	printf("  %6u  %-8s %s", p->offset, type, p->name);
	if (a && a->is_pointer) {
		kinds_text(access_kinds(a), kinds, sizeof(kinds));
		printf("  pointer%s%s%s%s", a->elem_type ? " to " : "",
		       a->elem_type ? ptx_type_name(a->elem_type) : "", kinds[0] ? ": " : "", kinds);
	}
	putchar('\n');
}

static void print_touch(const struct ptx_module *m, const struct ptx_touch *t)
{
	char kinds[64];
	printf("  memory: %" PRIu64 " bytes of shared%s, ", t->shared_bytes,
	       t->dynamic_shared ? " and dynamic shared" : "");
	if (t->local_bytes == UINT64_MAX)
		printf("an unbounded stack\n");
	else
		printf("%" PRIu64 " bytes of stack a thread\n", t->local_bytes);
	for (uint32_t k = 0; k < t->nsymbols; k++) {
		kinds_text(t->symbols[k].kinds, kinds, sizeof(kinds));
		printf("  variable %s: %s\n", m->symbols[t->symbols[k].symbol]->name, kinds);
	}
	bool any = false;
	for (unsigned k = 0; k < NFEATURES; k++)
		if (has(t, &features[k])) {
			printf("%s%s", any ? ", " : "  uses: ", features[k].text);
			any = true;
		}
	if (any)
		putchar('\n');
}

static void print_counts(const struct kernel_report *r)
{
	uint32_t divergent = 0;
	printf("  code: %u instructions in %u function%s, %u branches, %u of them divergent; at most %u "
	       "registers live\n",
	       r->touch.ninsts, r->touch.nfuncs, r->touch.nfuncs == 1 ? "" : "s", r->branches,
	       r->divergent_branches, r->most_live);
	printf("  values: %u; the same in the grid %u, block %u, warp %u; of the other %u, %u have a "
	       "stride\n",
	       r->values, r->level[PTX_LEVEL_GRID], r->level[PTX_LEVEL_BLOCK], r->level[PTX_LEVEL_WARP],
	       r->level[PTX_LEVEL_THREAD], r->affine);
	for (uint32_t k = 0; k < r->barriers.n; k++)
		divergent += r->barriers.at[k].control > PTX_LEVEL_BLOCK;
	if (r->barriers.n)
		printf("  barriers: %u, %u of them in control flow that differs within a block\n",
		       r->barriers.n, divergent);
	if (r->contractions)
		printf("  mul and add that may be fused: %u, %u of them with no other use of the product\n",
		       r->contractions, r->contractions_only_use);
}

static void print_kernel(const struct ptx_module *m, const struct kernel_report *r)
{
	const struct ptx_func *f = r->func;
	printf("\nkernel %s, line %u\n", f->name, f->line);
	for (uint32_t k = 0; k < f->nparams; k++)
		print_param(&f->params[k], f->access ? &f->access[k] : NULL);
	if (!r->built) {
		printf("  not translated: %s: %s\n", f->error.where, f->error.what);
		return;
	}
	print_touch(m, &r->touch);
	print_counts(r);
	if (!r->executed)
		printf("  not executed by interp: %s%s%s\n", r->refused.where,
		       r->refused.where[0] ? ": " : "", r->refused.what);
}

static void print_text(const struct ptx_module *m, const struct kernel_report *reports, uint32_t n, bool ir)
{
	uint32_t refused = 0, functions = 0;
	for (uint32_t k = 0; k < n; k++)
		refused += !reports[k].built || !reports[k].executed;
	for (uint32_t k = 0; k < m->nfuncs; k++)
		functions += !m->funcs[k]->is_entry && !m->funcs[k]->is_decl;
	printf("%s: PTX %u.%u for sm_%u", m->name, m->version / 10, m->version % 10, m->target);
	if (m->target_suffix)
		putchar(m->target_suffix);
	printf(", %u kernel%s, %u function%s", n, n == 1 ? "" : "s", functions, functions == 1 ? "" : "s");
	printf(refused ? "; %u not executed by interp\n" : "; all executed by interp\n", refused);
	for (uint32_t k = 0; k < n; k++) {
		print_kernel(m, &reports[k]);
		if (ir && reports[k].built)
			ptx_func_dump(m, reports[k].func, stdout);
	}
}

static void json_kinds(struct json *j, uint8_t kinds)
{
	static const char *const names[] = {"read", "written", "atomic", "address_taken"};
	for (unsigned k = 0; k < 4; k++) {
		json_key(j, names[k]);
		json_bool(j, kinds >> k & 1);
	}
}

static void json_params(struct json *j, const struct ptx_func *f)
{
	json_key(j, "parameters");
	json_begin(j, '[');
	for (uint32_t k = 0; k < f->nparams; k++) {
		const struct ptx_param *p = &f->params[k];
		json_begin(j, '{');
		json_key_text(j, "name", p->name);
		json_key_text(j, "type", ptx_type_name(p->type));
		json_key_uint(j, "count", p->count);
		json_key_uint(j, "offset", p->offset);
		json_key_uint(j, "bytes", p->size);
		json_key(j, "pointer");
		json_bool(j, f->access && f->access[k].is_pointer);
		if (f->access && f->access[k].is_pointer) {
			json_key_text(j, "element",
				      f->access[k].elem_type ? ptx_type_name(f->access[k].elem_type) : NULL);
			json_kinds(j, access_kinds(&f->access[k]));
		}
		json_end(j, '}');
	}
	json_end(j, ']');
}

static void json_touch(struct json *j, const struct ptx_module *m, const struct ptx_touch *t)
{
	json_key_uint(j, "shared_bytes", t->shared_bytes);
	json_key(j, "dynamic_shared");
	json_bool(j, t->dynamic_shared);
	json_key(j, "stack_bytes");
	if (t->local_bytes == UINT64_MAX)
		json_null(j);
	else
		json_uint(j, t->local_bytes);
	json_key(j, "variables");
	json_begin(j, '[');
	for (uint32_t k = 0; k < t->nsymbols; k++) {
		json_begin(j, '{');
		json_key_text(j, "name", m->symbols[t->symbols[k].symbol]->name);
		json_kinds(j, t->symbols[k].kinds);
		json_end(j, '}');
	}
	json_end(j, ']');
	json_key(j, "uses");
	json_begin(j, '[');
	for (unsigned k = 0; k < NFEATURES; k++)
		if (has(t, &features[k]))
			json_text(j, features[k].name);
	json_end(j, ']');
}

static void json_barriers(struct json *j, const struct kernel_report *r)
{
	json_key(j, "barriers");
	json_begin(j, '[');
	for (uint32_t k = 0; k < r->barriers.n; k++) {
		json_begin(j, '{');
		json_key_uint(j, "line", r->func->insts[r->barriers.at[k].inst].line);
		json_key_text(j, "reached_by_all_of", ptx_level_name(r->barriers.at[k].control));
		json_end(j, '}');
	}
	json_end(j, ']');
}

static void json_kernel(struct json *j, const struct ptx_module *m, const struct kernel_report *r)
{
	json_begin(j, '{');
	json_key_text(j, "name", r->func->name);
	json_key_uint(j, "line", r->func->line);
	json_params(j, r->func);
	json_key(j, "executed");
	json_bool(j, r->built && r->executed);
	if (!r->built || !r->executed) {
		json_key_text(j, "where", r->built ? r->refused.where : r->func->error.where);
		json_key_text(j, "reason", r->built ? r->refused.what : r->func->error.what);
	}
	if (r->built) {
		json_touch(j, m, &r->touch);
		json_barriers(j, r);
		json_key_uint(j, "instructions", r->touch.ninsts);
		json_key_uint(j, "branches", r->branches);
		json_key_uint(j, "divergent_branches", r->divergent_branches);
		json_key_uint(j, "registers_live", r->most_live);
		json_key_uint(j, "values", r->values);
		for (unsigned k = 0; k < PTX_LEVEL_THREAD; k++) {
			char key[32];
			snprintf(key, sizeof(key), "values_same_in_%s", ptx_level_name((enum ptx_level)k));
			json_key_uint(j, key, r->level[k]);
		}
		json_key_uint(j, "values_with_stride", r->affine);
		json_key_uint(j, "contractible", r->contractions);
	}
	json_end(j, '}');
}

static void print_json(const struct ptx_module *m, const struct kernel_report *reports, uint32_t n)
{
	struct json j = {.out = stdout};
	char target[16];
	snprintf(target, sizeof(target), m->target_suffix ? "sm_%u%c" : "sm_%u", m->target, m->target_suffix);
	json_begin(&j, '{');
	json_key_text(&j, "file", m->name);
	json_key_uint(&j, "version", m->version);
	json_key_text(&j, "target", target);
	json_key(&j, "kernels");
	json_begin(&j, '[');
	for (uint32_t k = 0; k < n; k++)
		json_kernel(&j, m, &reports[k]);
	json_end(&j, ']');
	json_end(&j, '}');
	json_line(&j);
}

enum { MAX_TEXT = 1 << 28 }; /* more is no PTX, but a disk or /dev/zero */

static char *read_file(const char *path, size_t *bytes, struct diag *d)
{
	FILE *f = fopen(path, "rb");
	size_t room = 1 << 16, n;
	char *text = f ? malloc(room) : NULL;
	*bytes = 0;
	while (text && (n = fread(text + *bytes, 1, room - *bytes - 1, f)) > 0) {
		*bytes += n;
		if (*bytes > MAX_TEXT) {
			errno = EFBIG;
			free(text);
			text = NULL;
			break;
		}
		if (room - *bytes > 1)
			continue;
		char *more = realloc(text, room *= 2);
		if (!more)
			free(text);
		text = more;
	}
	if (!f || !text || ferror(f)) {
		diag_set(d, CUTRACE_EIO, path, "can't be read: %m");
		free(text);
		text = NULL;
	} else {
		text[*bytes] = 0;
	}
	if (f)
		fclose(f);
	return text;
}

static int report_module(struct ptx_module *m, const char *kernel, bool ir, bool json, struct diag *d)
{
	struct kernel_report *reports = calloc((size_t)m->nfuncs + 1, sizeof(*reports));
	uint32_t n = 0;
	int rc = reports ? 0 : diag_set(d, CUTRACE_ENOMEM, m->name, "out of memory");
	for (uint32_t k = 0; k < m->nfuncs && !rc; k++)
		if (m->funcs[k]->is_entry && !m->funcs[k]->is_decl &&
		    (!kernel || !strcmp(m->funcs[k]->name, kernel)))
			if (kernel_report_make(m, m->funcs[k], &reports[n++]))
				rc = diag_set(d, CUTRACE_ENOMEM, m->name, "out of memory");
	if (!rc && kernel && !n)
		rc = diag_set(d, CUTRACE_ENOENT, m->name, "there is no kernel %s", kernel);
	if (!rc)
		rc = report_executed(m, reports, n, d);
	if (!rc && json)
		print_json(m, reports, n);
	else if (!rc)
		print_text(m, reports, n, ir);
	for (uint32_t k = 0; k < n; k++)
		kernel_report_free(&reports[k]);
	free(reports);
	return rc;
}

static int report_file(const char *path, const char *kernel, bool ir, bool json, struct diag *d)
{
	size_t bytes;
	char *text = read_file(path, &bytes, d);
	if (!text)
		return CUTRACE_EIO;
	if (bytes > 3 && (!memcmp(text, "\177ELF", 4) || !memcmp(text, "\x50\xed\x55\xba", 4))) {
		free(text);
		return diag_set(d, CUTRACE_EINVAL, path,
				"is machine code or a fat binary, not PTX text (cuobjdump -ptx extracts it)");
	}
	struct ptx_module *m = ptx_module_parse(text, bytes, path, d);
	free(text);
	if (!m)
		return d->code ? d->code : CUTRACE_EINVAL;
	int rc = 0;
	if (m->nerrors) {
		*d = m->errors[0];
		rc = CUTRACE_EINVAL;
	}
	if (!rc)
		rc = report_module(m, kernel, ir, json, d);
	ptx_module_free(m);
	return rc;
}

int cmd_ptx(int argc, char **argv)
{
	static const struct option longs[] = {{"kernel", required_argument, NULL, 'k'},
					      {"ir", no_argument, NULL, 'i'},
					      {"json", no_argument, NULL, 'j'},
					      {"help", no_argument, NULL, 'h'},
					      {NULL, 0, NULL, 0}};
	const char *kernel = NULL;
	bool ir = false, json = false;
	struct diag d = DIAG_INIT;
	int o;

	while ((o = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (o) {
		case 'k': kernel = optarg; break;
		case 'i': ir = true; break;
		case 'j': json = true; break;
		case 'h': fputs(usage, stdout); return EXIT_OK;
		default: fputs("try 'cutrace ptx --help'\n", stderr); return EXIT_USAGE;
		}
	}
	if (optind + 1 != argc || (ir && json)) {
		fprintf(stderr, "cutrace ptx: error: %s\n",
			ir && json ? "--ir and --json exclude each other" : "needs one PTX file");
		return EXIT_USAGE;
	}
	if (!report_file(argv[optind], kernel, ir, json, &d))
		return EXIT_OK;
	fputs("cutrace ptx: ", stderr);
	diag_print(&d, stderr);
	return EXIT_COULD_NOT;
}
