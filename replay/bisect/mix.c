/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel whose code is to blame for a result of the whole program: of the kernels, in order of their first launch, the
 * first N have the bad side's code and the others the good side's. The driver is the bad one's.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/bisect/bisect.h"
#include "trace/trace.h"

enum { MAX_KERNELS = 4096 };

struct mix {
	struct bisect *b;
	const char *kernels[MAX_KERNELS];
	unsigned n;
	char good[4800]; /* options of the good side's code */
};

static int list_kernels(struct mix *m, struct diag *d)
{
	sqlite3_stmt *st = NULL;
	struct trace *t;
	int rc = trace_open(&t, m->b->input, d);

	if (rc)
		return rc;
	sqlite3_prepare_v2(
		trace_db(t),
		"SELECT k.name FROM launch l, kernel k WHERE k.id = l.kernel GROUP BY k.name ORDER BY "
		"min(l.call)",
		-1, &st, NULL);
	while (st && m->n < MAX_KERNELS && sqlite3_step(st) == SQLITE_ROW)
		m->kernels[m->n++] = arena_strdup(&m->b->arena, (const char *)sqlite3_column_text(st, 0));
	sqlite3_finalize(st);
	trace_close(t);
	return m->n ? 0 : diag_set(d, CUTRACE_EINVAL, m->b->input, "it has no launches");
}

/* The first `bad` kernels, and those behind them. malloc'ed. */
static char *options_of(const struct mix *m, unsigned bad)
{
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	for (unsigned k = 0; f && k < bad; k++)
		fprintf(f, "%s:;", m->kernels[k]);
	if (f)
		fprintf(f, "*:%s", m->good);
	return f && !fclose(f) ? text : NULL;
}

static enum verdict_of try(struct mix *m, unsigned bad)
{
	struct replay_request q = {.side = &m->b->bad, .trace = m->b->input, .stream = true};
	char *compile = options_of(m, bad);
	int status;

	q.compile = compile;
	status = compile ? bisect_replay(m->b, &q, "mix.db") : -1;
	free(compile);
	bisect_say(m->b, "bad code in %u of %u kernels: %s", bad, m->n,
		   status == REPLAY_MATCH     ? "good"
		   : status == REPLAY_DIFFERS ? "bad"
					      : "can't be judged");
	return status == REPLAY_MATCH ? IS_GOOD : status == REPLAY_DIFFERS ? IS_BAD : IS_UNKNOWN;
}

static void halve(struct mix *m, struct found_kernel *out)
{
	unsigned low = 0, high = m->n;

	while (high - low > 1 && !workroom_interrupted()) {
		unsigned middle = low + (high - low) / 2;
		enum verdict_of v = try(m, middle);

		if (v == IS_UNKNOWN) {
			out->why_not = "code of both sides in one program can't be judged";
			return;
		}
		*(v == IS_BAD ? &high : &low) = middle;
	}
	out->found = !workroom_interrupted();
	out->kernel = m->kernels[high - 1];
	out->number = high;
}

int bisect_mix(struct bisect *b, struct found_kernel *out, struct diag *d)
{
	struct mix *m = calloc(1, sizeof(*m));
	char room[64];
	int rc = 0;

	memset(out, 0, sizeof(*out));
	if (!m)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	m->b = b;
	out->looked = true;
	side_compile_options(&b->good, m->good, 256);
	if (b->good.compiler[0] && strcmp(b->good.compiler, b->bad.compiler) != 0)
		snprintf(m->good + strlen(m->good), sizeof(m->good) - 256, ",compiler=%s", b->good.compiler);
	if (!side_target(&b->bad, room, sizeof(room)) || !side_target(&b->good, room, sizeof(room)))
		rc = diag_set(
			d, CUTRACE_ENOTSUP, "--mix",
			"code of both sides can be mixed only where both are compiled by cutrace-compile: devices "
			"amdemu and hip");
	if (!rc)
		rc = list_kernels(m, d);
	if (!rc) {
		out->of = m->n;
		if (try(m, m->n) != IS_BAD)
			out->why_not = "with the bad side's code the results of the program do not differ";
		else if (try(m, 0) != IS_GOOD)
			out->why_not =
				"with the good side's code they differ, too: the difference is in the driver, not "
				"in what it compiles";
		else
			halve(m, out);
	}
	free(m);
	return rc;
}
