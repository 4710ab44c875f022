/* SPDX-License-Identifier: Apache-2.0
 *
 * The pass: a trace of the launch alone is replayed with the kernel compiled by the first N of LLVM's passes that may be left
 * out (opt-bisect), and N is halved. What the passes are called, `cutrace compile` of that side lists.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay/bisect/bisect.h"
#include "replay/excerpt.h"
#include "trace/trace.h"

#define ALL_PASSES UINT64_C(999999999)
enum { NEIGHBOURS = 8 /* that are tried where a number of passes makes code that can't be judged */ };

struct search {
	struct bisect *b;
	const char *kernel;
	const char *trace; /* of the launch alone, or the whole */
	uint64_t first, last;
	char target[64];
};

/* ---- one number of passes ------------------------------------------------------------------------ */

static enum verdict_of try(struct search *s, uint64_t passes)
{
	struct replay_request q = {.side = &s->b->bad, .trace = s->trace, .first = s->first, .last = s->last};
	char compile[4200];

	snprintf(compile, sizeof(compile), "%s:opt-bisect=%llu", s->kernel, (unsigned long long)passes);
	q.compile = compile;
	if (bisect_replay(s->b, &q, "passes.db") < 0)
		return IS_UNKNOWN;
	return bisect_verdict(s->b, "passes.db", 0, false);
}

/* ---- their names ------------------------------------------------------------------------------------ */

static int write_ptx(const struct search *s, const char *path)
{
	struct diag d = DIAG_INIT;
	sqlite3_stmt *st = NULL;
	size_t bytes = 0;
	void *text = NULL;
	struct trace *t;
	FILE *f;

	if (trace_open(&t, s->trace, &d))
		return -1;
	sqlite3_prepare_v2(
		trace_db(t),
		"SELECT i.ptx FROM kernel k, module m, image i WHERE k.name = ?1 AND m.id = k.module AND "
		"i.buffer = m.image AND i.ptx IS NOT NULL LIMIT 1",
		-1, &st, NULL);
	sqlite3_bind_text(st, 1, s->kernel, -1, SQLITE_STATIC);
	if (st && sqlite3_step(st) == SQLITE_ROW)
		text = trace_buffer_load(t, (uint64_t)sqlite3_column_int64(st, 0), &bytes, &d);
	sqlite3_finalize(st);
	trace_close(t);
	f = text ? fopen(path, "wb") : NULL;
	if (f)
		fwrite(text, 1, bytes, f);
	free(text);
	return f && !fclose(f) ? 0 : -1;
}

struct listing {
	const struct search *s;
	const char *command, *ptx, *folder, *options;
};

/* In a child: the side's own command, so that its compiler is asked in its own words. */
static int list(void *ctx)
{
	const struct listing *l = ctx;

	if (l->s->b->bad.compiler[0])
		setenv("CUTRACE_COMPILER", l->s->b->bad.compiler, 1);
	setenv("CUTRACE_CACHE", "off", 1);
	execl(l->command, l->command, "compile", l->ptx, "--kernel", l->s->kernel, "--arch", l->s->target,
	      "--options", l->options, "-o", l->folder, (char *)NULL);
	return 125;
}

/* LLVM's list with so many passes; malloc'ed. */
static char *list_passes(struct search *s, uint64_t passes)
{
	char options[256], name[300], own[4200];
	const char *ptx = workroom_path(s->b->w, "kernel.ptx"), *folder = workroom_path(s->b->w, "passes");
	struct listing l = {s, s->b->bad.command, ptx, folder, options};
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	size_t bytes = 0, got;
	char *text = NULL;
	FILE *f;

	own[n > 0 ? n : 0] = '\0';
	if (!l.command[0])
		l.command = own;
	side_compile_options(&s->b->bad, options, sizeof(options) - 32);
	snprintf(options + strlen(options), 32, ",opt-bisect=%llu", (unsigned long long)passes);
	if (!s->target[0] || write_ptx(s, ptx) || workroom_run(s->b->w, list, &l, "list.out", "list.err", 0))
		return NULL;
	snprintf(name, sizeof(name), "passes/%.200s.%s.passes", s->kernel, s->target);
	f = fopen(workroom_path(s->b->w, name), "rb");
	while (f && (text = realloc(text, bytes + 65537)) && (got = fread(text + bytes, 1, 65536, f)) > 0)
		bytes += got;
	if (f)
		fclose(f);
	if (text)
		text[bytes] = '\0';
	return text;
}

/* The last pass that was run: its number and, after that, "NAME on WHAT". */
static uint64_t last_run(const char *text, const char **rest)
{
	static const char begin[] = "BISECT: running pass (";
	uint64_t n = 0;
	char *end;

	for (const char *at = text; at && (at = strstr(at, begin)); at = end) {
		n = strtoull(at + sizeof(begin) - 1, &end, 10);
		*rest = *end == ')' ? end + 2 : end;
	}
	return n;
}

static void name_pass(struct search *s, struct found_pass *out)
{
	char *text = list_passes(s, out->number);
	const char *rest = NULL, *on;

	if (text && last_run(text, &rest) == out->number && rest) {
		size_t n = strcspn(rest, "\n");
		char *line = arena_strndup(&s->b->arena, rest, n);

		on = line ? strstr(line, " on ") : NULL;
		out->on = on ? on + 4 : NULL;
		if (on)
			line[on - line] = '\0';
		out->name = line;
	}
	free(text);
}

static uint64_t count_passes(struct search *s)
{
	char *text = list_passes(s, ALL_PASSES);
	const char *rest;
	uint64_t n = text ? last_run(text, &rest) : 0;

	free(text);
	return n;
}

/* ---- halving ------------------------------------------------------------------------------------------ */

/* A number between that can be judged; *at: which. */
static enum verdict_of try_near(struct search *s, uint64_t low, uint64_t high, uint64_t *at)
{
	uint64_t middle = low + (high - low) / 2;

	for (unsigned k = 0; k < 2 * NEIGHBOURS; k++) {
		uint64_t step = (k + 1) / 2, n = k % 2 ? middle + step : middle - step;
		enum verdict_of v;

		if ((!(k % 2) && step > middle) || n <= low || n >= high)
			continue;
		v = try(s, n);
		bisect_say(s->b, "%llu passes: %s", (unsigned long long)n,
			   v == IS_BAD    ? "bad"
			   : v == IS_GOOD ? "good"
					  : "can't be judged");
		*at = n;
		if (v != IS_UNKNOWN || workroom_interrupted())
			return v;
	}
	return IS_UNKNOWN;
}

/* low is good, high bad. */
static void halve(struct search *s, uint64_t low, uint64_t high, struct found_pass *out)
{
	while (high - low > 1 && !workroom_interrupted()) {
		uint64_t at = 0;
		enum verdict_of v = try_near(s, low, high, &at);

		if (v == IS_UNKNOWN)
			break;
		*(v == IS_BAD ? &high : &low) = at;
	}
	out->found = !workroom_interrupted();
	out->number = high;
	out->first = high - low > 1 ? low + 1 : 0;
	name_pass(s, out);
}

/* A trace of the launch alone is the faster one; what can't be taken out is replayed in its place. */
static void take_out(struct search *s, uint64_t call)
{
	const char *out = arena_strdup(&s->b->arena, workroom_path(s->b->w, "launch.trace"));
	const struct excerpt_request q = {.trace = s->b->trace, .out = out, .first = call, .last = call};
	struct diag ignored = DIAG_INIT;

	s->trace = s->b->trace;
	s->first = s->last = call;
	if (!out || excerpt_make(s->b->w, &q, &ignored))
		return;
	s->trace = out;
	s->first = s->last = 0;
}

void bisect_passes(struct bisect *b, const struct found_launch *l, struct found_pass *out)
{
	struct search s = {.b = b, .kernel = l->kernel};
	const char *target = side_target(&b->bad, s.target, sizeof(s.target));

	memset(out, 0, sizeof(*out));
	if (!target || !l->kernel)
		return;
	out->looked = true;
	take_out(&s, l->call);
	if (try(&s, ALL_PASSES) != IS_BAD) {
		out->why_not =
			"with passes counted the difference is not there, or that side's compiler can't "
			"count them";
		return;
	}
	if (try(&s, 0) != IS_GOOD) {
		out->why_not =
			"the difference is there without any pass that may be left out: it is not made by an "
			"optimisation of LLVM";
		return;
	}
	out->of = count_passes(&s);
	bisect_say(b, "%llu passes", (unsigned long long)out->of);
	if (!out->of) /* the list can't be had: any number that is large enough */
		for (out->of = 64; out->of < ALL_PASSES && try(&s, out->of) != IS_BAD;)
			out->of *= 2;
	halve(&s, 0, out->of, out);
}
