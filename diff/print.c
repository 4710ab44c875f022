/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison as text and as JSON.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff/compare.h"
#include "dump/json.h"

static const char *const kind_names[] = {"changed", "only in A", "only in B"};

/* ---- text ------------------------------------------------------------------------------- */

static void print_side(const char *name, const struct side *s)
{
	unsigned threads, processes;
	const char *command = trace_meta_text(s->trace, "command");

	trace_threads(s->trace, &threads);
	trace_processes(s->trace, &processes);
	printf("%s: %s: %" PRIu64 " calls, %u thread%s, %u process%s%s%s\n", name, s->path, s->calls, threads,
	       threads == 1 ? "" : "s", processes, processes == 1 ? "" : "es", command ? ": " : "",
	       command ? command : "");
}

static void print_place(const struct difference *d)
{
	char a[24] = "-", b[24] = "-";

	if (d->hunk.a)
		snprintf(a, sizeof(a), "#%" PRIu64, d->hunk.a);
	if (d->hunk.b)
		snprintf(b, sizeof(b), "#%" PRIu64, d->hunk.b);
	printf("  %8s %8s  ", a, b);
	if (d->thread_a && d->thread_b && d->thread_a != d->thread_b)
		printf("t%u/t%u  ", d->thread_a, d->thread_b);
	else
		printf("t%u  ", d->thread_a ? d->thread_a : d->thread_b);
	printf("%s", d->function ? d->function : "?");
	if (d->kernel)
		printf(" <%s>", d->kernel);
	if (d->hunk.kind != HUNK_CHANGED)
		printf("  %s", kind_names[d->hunk.kind]);
	putchar('\n');
}

static void print_difference(const struct difference *d)
{
	enum { SHOWN = 8 };

	print_place(d);
	for (unsigned i = 0; i < d->nvalues && i < SHOWN; i++) {
		const struct value_pair *v = &d->values[i];

		printf("%21s%s: %s | %s\n", "", v->path, v->a ? v->a : "(none)", v->b ? v->b : "(none)");
	}
	if (d->nvalues > SHOWN)
		printf("%21s... %u more values\n", "", d->nvalues - SHOWN);
}

static void print_differences(const struct comparison *c)
{
	uint64_t all = c->count[0] + c->count[1] + c->count[2];

	if (!all)
		return;
	printf("\nDifferences, in A's order%s (A, B, thread, call; value in A | in B):\n",
	       c->n < all ? ", the first" : "");
	for (unsigned i = 0; i < c->n; i++)
		print_difference(&c->v[i]);
	if (c->n < all)
		printf("  ... %" PRIu64 " more: --limit %" PRIu64 " shows them\n", all - c->n, all);
}

static void print_kernels(const struct comparison *c, bool all)
{
	bool head = false;

	for (unsigned i = 0; i < c->kernels.n; i++) {
		const struct table_row *r = &c->kernels.v[i];

		if (!all && r->in[0] && r->in[1] && r->count[0] == r->count[1] && r->same_code)
			continue;
		if (!head)
			printf("\nKernels: launches in A, in B\n");
		head = true;
		printf("  %8" PRIu64 " %8" PRIu64 "  %s%s\n", r->count[0], r->count[1], r->name,
		       !r->in[0]       ? "  only in B"
		       : !r->in[1]     ? "  only in A"
		       : !r->same_code ? "  its code differs"
				       : "");
	}
}

static void print_code(const struct comparison *c, bool all)
{
	bool head = false;

	for (unsigned i = 0; i < c->code.n; i++) {
		const struct table_row *r = &c->code.v[i];

		if (!all && r->in[0] && r->in[1])
			continue;
		if (!head)
			printf("\nCode images: XXH3, kind, contents\n");
		head = true;
		printf("  %s%s\n", r->name, !r->in[0] ? "  only in B" : !r->in[1] ? "  only in A" : "");
	}
}

static int by_time(const void *x, const void *y)
{
	const struct table_row *a = *(const struct table_row *const *)x,
			       *b = *(const struct table_row *const *)y;
	int64_t p = a->ns[0] > a->ns[1] ? a->ns[0] : a->ns[1], q = b->ns[0] > b->ns[1] ? b->ns[0] : b->ns[1];

	return p < q ? 1 : p > q ? -1 : strcmp(a->name, b->name);
}

static void print_functions(const struct comparison *c, bool all)
{
	enum { SHOWN = 10 };
	unsigned n = c->functions.n;
	const struct table_row **v = calloc(n + 1, sizeof(*v));

	for (unsigned i = 0; v && i < n; i++)
		v[i] = &c->functions.v[i];
	if (v && n) {
		qsort(v, n, sizeof(*v), by_time);
		printf("\nTime in calls: ms in A, in B, ratio; calls in A, in B\n");
	}
	for (unsigned i = 0; v && i < n && (all || i < SHOWN || comparison_slower(c, v[i])); i++) {
		char ratio[24] = "-";
		int slower = comparison_slower(c, v[i]);

		if (v[i]->ns[0] > 0 && v[i]->ns[1] > 0)
			snprintf(ratio, sizeof(ratio), "%.2f", (double)v[i]->ns[1] / (double)v[i]->ns[0]);
		printf("  %10.3f %10.3f %8s  %8" PRIu64 " %8" PRIu64 "  %s%s\n", (double)v[i]->ns[0] / 1e6,
		       (double)v[i]->ns[1] / 1e6, ratio, v[i]->count[0], v[i]->count[1], v[i]->name,
		       slower > 0 ? "  slower in B"
		       : slower   ? "  slower in A"
				  : "");
	}
	free(v);
}

static void print_summary(const struct comparison *c)
{
	printf("\n%" PRIu64 " calls equal, %" PRIu64 " changed, %" PRIu64 " only in A, %" PRIu64
	       " only in B.\n",
	       c->equal, c->count[HUNK_CHANGED], c->count[HUNK_ONLY_A], c->count[HUNK_ONLY_B]);
	if (c->a.polls || c->b.polls)
		printf("%s were left out: %" PRIu64 " in A, %" PRIu64 " in B.\n",
		       c->a.loose ? "Queries, waits and switches of context, of which a replay has others,"
				  : "Polls, whose number is chance,",
		       c->a.polls, c->b.polls);
	puts(comparison_differs(c) ? "The traces differ." : "The traces do the same.");
}

void comparison_print_text(const struct comparison *c, const struct diff_print *o)
{
	print_side("A", &c->a);
	print_side("B", &c->b);
	print_differences(c);
	print_kernels(c, o->all);
	print_code(c, o->all);
	print_functions(c, o->all);
	print_summary(c);
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void json_call(struct json *j, const char *key, uint64_t call, uint32_t thread)
{
	json_key(j, key);
	if (!call) {
		json_null(j);
		return;
	}
	json_begin(j, '{');
	json_key_uint(j, "call", call);
	json_key_uint(j, "thread", thread);
	json_end(j, '}');
}

static void json_difference(struct json *j, const struct difference *d)
{
	json_begin(j, '{');
	json_key_text(j, "kind", kind_names[d->hunk.kind]);
	json_call(j, "a", d->hunk.a, d->thread_a);
	json_call(j, "b", d->hunk.b, d->thread_b);
	json_key_text(j, "function", d->function);
	json_key_text(j, "kernel", d->kernel);
	json_key(j, "values");
	json_begin(j, '[');
	for (unsigned i = 0; i < d->nvalues; i++) {
		json_begin(j, '{');
		json_key_text(j, "path", d->values[i].path);
		json_key_text(j, "a", d->values[i].a);
		json_key_text(j, "b", d->values[i].b);
		json_end(j, '}');
	}
	json_end(j, ']');
	json_end(j, '}');
}

static void json_side(struct json *j, const char *key, const struct side *s)
{
	json_key(j, key);
	json_begin(j, '{');
	json_key_text(j, "file", s->path);
	json_key_text(j, "command", trace_meta_text(s->trace, "command"));
	json_key_uint(j, "calls", s->calls);
	json_key_uint(j, "polls", s->polls);
	json_end(j, '}');
}

static void json_pair(struct json *j, const char *key, uint64_t a, uint64_t b)
{
	json_key(j, key);
	json_begin(j, '[');
	json_uint(j, a);
	json_uint(j, b);
	json_end(j, ']');
}

static void json_table(struct json *j, const char *key, const struct table *t)
{
	json_key(j, key);
	json_begin(j, '[');
	for (unsigned i = 0; i < t->n; i++) {
		const struct table_row *r = &t->v[i];

		json_begin(j, '{');
		json_key_text(j, "name", r->name);
		json_pair(j, "count", r->count[0], r->count[1]);
		json_pair(j, "ns", (uint64_t)r->ns[0], (uint64_t)r->ns[1]);
		json_key(j, "in_a");
		json_bool(j, r->in[0]);
		json_key(j, "in_b");
		json_bool(j, r->in[1]);
		json_key(j, "same_code");
		json_bool(j, r->same_code);
		json_end(j, '}');
	}
	json_end(j, ']');
}

void comparison_print_json(const struct comparison *c)
{
	struct json j = {.out = stdout};

	json_begin(&j, '{');
	json_side(&j, "a", &c->a);
	json_side(&j, "b", &c->b);
	json_key(&j, "differs");
	json_bool(&j, comparison_differs(c));
	json_key_uint(&j, "equal", c->equal);
	json_key_uint(&j, "changed", c->count[HUNK_CHANGED]);
	json_key_uint(&j, "only_a", c->count[HUNK_ONLY_A]);
	json_key_uint(&j, "only_b", c->count[HUNK_ONLY_B]);
	json_key(&j, "differences");
	json_begin(&j, '[');
	for (unsigned i = 0; i < c->n; i++)
		json_difference(&j, &c->v[i]);
	json_end(&j, ']');
	json_table(&j, "kernels", &c->kernels);
	json_table(&j, "code", &c->code);
	json_table(&j, "functions", &c->functions);
	json_end(&j, '}');
	json_line(&j);
}
