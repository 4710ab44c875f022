/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/replayability.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay/report.h"

const char *const replay_class_names[CLASS_COUNT] = {"translatable", "semantic", "injected", "refused",
						     "not_needed"};

#define TARGET_KERNELS 65536 /* that are asked for; what is behind counts by its PTX */

/* A kernel that is launched, of one process. */
struct asked {
	uint64_t kernel, module, launches, with_contents, in_libraries;
	char name[192]; /* as much of it as is shown */
};

struct reading {
	struct replayability *out;
	struct session *s;
	struct engine *e; /* of one process: its modules and their PTX */
	struct asked *kernels;
	size_t nkernels;
	int32_t *target; /* shared: what the driver says of kernels[i], 0 or an error; NULL: not asked */
};

/* ---- reasons --------------------------------------------------------------------------------- */

static void add_reason(struct replayability *p, bool launch, enum replay_class class, const char *name,
		       uint64_t count, const char *why)
{
	struct replay_reason *r;

	for (size_t i = 0; i < p->nreasons; i++) {
		r = &p->reasons[i];
		if (r->launch == launch && r->class == class &&
		    !strncmp(r->name, name, sizeof(r->name) - 1) &&
		    !strncmp(r->why, why, sizeof(r->why) - 1)) {
			r->count += count;
			return;
		}
	}
	r = realloc(p->reasons, (p->nreasons + 1) * sizeof(*r));
	if (!r)
		return;
	p->reasons = r;
	r += p->nreasons++;
	*r = (struct replay_reason){.launch = launch, .class = class, .count = count};
	snprintf(r->name, sizeof(r->name), "%s", name);
	snprintf(r->why, sizeof(r->why), "%s", why);
}

/* ---- launches --------------------------------------------------------------------------------- */

/* Of this process. A launch without a row of `launch` had no parameters recorded. */
static const char kernels_sql[] =
	"SELECT l.kernel, k.module, k.name, count(*), sum(EXISTS (SELECT 1 FROM payload p WHERE p.call = l.call AND "
	"p.kind = 'written' AND p.buffer IS NOT NULL)), sum(EXISTS (SELECT 1 FROM call u JOIN function f ON f.id = "
	"u.func WHERE u.id = c.parent AND f.library <> 'cuda')) FROM launch l JOIN call c ON c.id = l.call JOIN thread t "
	"ON t.id = c.thread LEFT JOIN kernel k ON k.id = l.kernel WHERE t.process = ? GROUP BY l.kernel";

static int read_kernels(struct reading *r)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(trace_db(r->e->trace), kernels_sql, -1, &st, NULL), step = SQLITE_DONE;

	sqlite3_bind_int64(st, 1, r->e->process);
	while (rc == SQLITE_OK && (step = sqlite3_step(st)) == SQLITE_ROW) {
		struct asked *k = realloc(r->kernels, (r->nkernels + 1) * sizeof(*k));
		const char *name = (const char *)sqlite3_column_text(st, 2);

		if (!k)
			break;
		r->kernels = k;
		k += r->nkernels++;
		*k = (struct asked){.kernel = (uint64_t)sqlite3_column_int64(st, 0),
				    .module = (uint64_t)sqlite3_column_int64(st, 1),
				    .launches = (uint64_t)sqlite3_column_int64(st, 3),
				    .with_contents = (uint64_t)sqlite3_column_int64(st, 4),
				    .in_libraries = (uint64_t)sqlite3_column_int64(st, 5)};
		snprintf(k->name, sizeof(k->name), "%s", name ? name : "(unnamed)");
	}
	sqlite3_finalize(st);
	return step == SQLITE_DONE
		       ? 0
		       : diag_set(&r->s->error, CUTRACE_ECORRUPT, r->s->opt->trace_path,
				  "its launches can't be read: %s", sqlite3_errmsg(trace_db(r->e->trace)));
}

/* NULL: the PTX front end translates it. */
static const char *why_no_ptx(struct reading *r, const struct asked *k, char *out, size_t size)
{
	const struct trace_kernel *row = k->kernel ? trace_kernel(r->e->trace, k->kernel) : NULL;
	struct ptx_module *m = NULL;
	struct ptx_func *f = row ? recorded_ptx_func(r->e, row, &m) : NULL;

	if (f)
		return NULL;
	f = m ? ptx_func_find(m, row->name) : NULL;
	if (!row)
		return "its kernel is not known";
	if (!m)
		return "machine code only: the trace has no PTX of it";
	snprintf(out, size, "its PTX can't be translated: %.250s",
		 f ? f->error.what : "it is not in its module's PTX");
	return out;
}

static void count_kernel(struct reading *r, const struct asked *k, const char *why)
{
	uint64_t *n = r->out->launches, rest = k->launches - k->in_libraries;
	uint64_t injected = r->s->opt->isolated ? k->with_contents : 0;

	n[CLASS_SEMANTIC] += k->in_libraries;
	if (!why) {
		n[CLASS_TRANSLATABLE] += rest;
		return;
	}
	injected = injected < rest ? injected : rest;
	n[CLASS_INJECTED] += injected;
	n[CLASS_REFUSED] += rest - injected;
	if (injected)
		add_reason(r->out, true, CLASS_INJECTED, k->name, injected, why);
	if (rest > injected)
		add_reason(r->out, true, CLASS_REFUSED, k->name, rest - injected, why);
}

static void count_kernels(struct reading *r)
{
	char text[320];

	for (size_t i = 0; i < r->nkernels; i++) {
		const char *why = why_no_ptx(r, &r->kernels[i], text, sizeof(text));

		if (!why && r->target && i < TARGET_KERNELS && r->target[i] > 0) {
			snprintf(text, sizeof(text), "the target refuses it: %s",
				 driver_error_name(r->target[i]));
			why = text;
		}
		count_kernel(r, &r->kernels[i], why);
	}
}

/* ---- what the target says ----------------------------------------------------------------------- */

static uint64_t image_buffer(struct engine *e, uint64_t module)
{
	const struct trace_module *m = plan_module(e, module);

	while (m && !m->image && m->parent && m->parent != m->id)
		m = plan_module(e, m->parent);
	return m ? m->image : 0;
}

/* The module of the image, loaded once; 0 with *error. */
static uint64_t load_module(struct engine *e, struct map *loaded, uint64_t image, int32_t *error)
{
	struct diag d = DIAG_INIT;
	uint64_t module = 0;
	size_t bytes;
	void *data;

	if (map_get(loaded, image, &module)) {
		*error = module ? 0 : 300; /* it was said with the first kernel */
		return module;
	}
	data = image ? trace_buffer_load(e->trace, image, &bytes, &d) : NULL;
	*error =
		data ? (int32_t)driver_plain(&e->drv, "cuModuleLoadData", 2, word(&module), word(data)) : 300;
	map_set(loaded, image, *error ? 0 : module);
	return *error ? 0 : module; /* the image stays: drivers may go on reading it */
}

/* In the child. Answers are in r->target, -1 where a crash ended it before. */
static void ask_driver(struct reading *r)
{
	struct engine *e = r->e;
	struct map loaded = {0};
	struct diag d = DIAG_INIT;
	uint64_t context = 0;

	if (r->s->opt->device)
		setenv("CUTRACE_DEVICE", r->s->opt->device, 1);
	unsetenv("LD_AUDIT");
	if (driver_open(&e->drv, r->s->driver_path, &d) || driver_plain(&e->drv, "cuInit", 1, UINT64_C(0)) ||
	    driver_plain(&e->drv, "cuDevicePrimaryCtxRetain", 2, word(&context), UINT64_C(0)) ||
	    driver_plain(&e->drv, "cuCtxSetCurrent", 1, context))
		return;
	for (size_t i = 0; i < r->nkernels && i < TARGET_KERNELS; i++) {
		const struct trace_kernel *k = trace_kernel(e->trace, r->kernels[i].kernel);
		uint64_t function = 0, module;
		int32_t error;

		module = load_module(e, &loaded, image_buffer(e, r->kernels[i].module), &error);
		if (module)
			error = (int32_t)driver_plain(&e->drv, "cuModuleGetFunction", 3, word(&function),
						      module, word(k ? k->name : r->kernels[i].name));
		r->target[i] = error;
	}
}

static int ask_target(struct reading *r)
{
	size_t bytes = TARGET_KERNELS * sizeof(*r->target);
	pid_t pid;
	int status;

	r->target = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r->target == MAP_FAILED) {
		r->target = NULL;
		return diag_set(&r->s->error, CUTRACE_ENOMEM, "", "out of memory");
	}
	memset(r->target, 0xff, bytes);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		ask_driver(r);
		_exit(0);
	}
	if (pid > 0)
		session_wait(r->s, pid, &status);
	r->out->asked_target = pid > 0 && (!r->nkernels || r->target[0] >= 0);
	return 0;
}

/* ---- calls --------------------------------------------------------------------------------------- */

static bool is_issued(const struct api_func *f)
{
	return f && !(f->flags & API_FUNC_PRIVATE) && f->replay != API_REPLAY_SKIP;
}

static void count_calls(struct reading *r, const char *name, bool known, bool in_cuda, uint64_t n,
			uint64_t failed, bool nested)
{
	const struct api_func *f = known ? api_func_find(name) : NULL;
	const char *why = f ? call_why_not_replayed(f) : NULL;
	enum replay_class class = CLASS_TRANSLATABLE;

	if (nested || (f && !is_issued(f)) || !strncmp(name, "export:", 7))
		class = CLASS_NOT_NEEDED;
	else if (!f || why)
		class = CLASS_REFUSED;
	else if (!in_cuda)
		class = CLASS_SEMANTIC;
	if (class != CLASS_NOT_NEEDED) {
		r->out->calls[CLASS_NOT_NEEDED] += failed; /* it did nothing */
		n -= failed;
	}
	r->out->calls[class] += n;
	if (class == CLASS_REFUSED && n)
		add_reason(r->out, false, class, name, n, why ? why : "its description is not known");
}

static int read_calls(struct reading *r, struct trace *t)
{
	static const char sql[] =
		"SELECT f.name, f.known, f.library = 'cuda', count(*), sum(c.result IS NULL OR c.result <> 0), p.name "
		"FROM call c JOIN function f ON f.id = c.func LEFT JOIN call u ON u.id = c.parent LEFT JOIN function p ON "
		"p.id = u.func GROUP BY c.func, u.func";
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(trace_db(t), sql, -1, &st, NULL), step = SQLITE_DONE;

	while (rc == SQLITE_OK && (step = sqlite3_step(st)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(st, 0);
		const char *parent = (const char *)sqlite3_column_text(st, 5);

		count_calls(r, name ? name : "", sqlite3_column_int(st, 1), sqlite3_column_int(st, 2),
			    (uint64_t)sqlite3_column_int64(st, 3), (uint64_t)sqlite3_column_int64(st, 4),
			    parent && is_issued(api_func_find(parent)));
	}
	sqlite3_finalize(st);
	return step == SQLITE_DONE ? 0
				   : diag_set(&r->s->error, CUTRACE_ECORRUPT, r->s->opt->trace_path,
					      "its calls can't be read: %s", sqlite3_errmsg(trace_db(t)));
}

/* ---- all of it ------------------------------------------------------------------------------------ */

static int read_process(struct reading *r, struct trace *t, uint32_t process, bool ask)
{
	struct engine *e = calloc(1, sizeof(*e));
	int rc = e ? 0 : diag_set(&r->s->error, CUTRACE_ENOMEM, "", "out of memory");

	if (rc)
		return rc;
	e->trace = t;
	e->opt = r->s->opt;
	e->process = process;
	e->memory[0] = trace_memory_new(t);
	r->e = e;
	rc = plan_make(e, &r->s->error);
	if (!rc)
		rc = read_kernels(r);
	if (!rc && ask && r->nkernels)
		rc = ask_target(r);
	if (!rc)
		count_kernels(r);
	if (r->target)
		munmap(r->target, TARGET_KERNELS * sizeof(*r->target));
	free(r->kernels);
	r->target = NULL;
	r->kernels = NULL;
	r->nkernels = 0;
	recorded_ptx_free(e);
	plan_free(e);
	trace_memory_free(e->memory[0]);
	arena_free(&e->arena);
	free(e);
	return rc;
}

static int by_count(const void *x, const void *y)
{
	const struct replay_reason *a = x, *b = y;

	if (a->launch != b->launch)
		return b->launch - a->launch;
	return a->count != b->count ? (a->count < b->count ? 1 : -1) : strcmp(a->name, b->name);
}

int replayability_read(struct replayability *p, struct session *s, bool ask)
{
	struct reading r = {.out = p, .s = s};
	const struct trace_process *processes;
	struct trace *t;
	unsigned n = 0;
	int rc = trace_open(&t, s->opt->trace_path, &s->error);

	*p = (struct replayability){.isolated = s->opt->isolated};
	if (rc)
		return rc;
	processes = trace_processes(t, &n);
	for (unsigned i = 0; i < n && !rc; i++)
		rc = read_process(&r, t, processes[i].id, ask);
	if (!rc)
		rc = read_calls(&r, t);
	trace_close(t);
	if (p->nreasons)
		qsort(p->reasons, p->nreasons, sizeof(*p->reasons), by_count);
	return rc;
}

void replayability_free(struct replayability *p)
{
	free(p->reasons);
	p->reasons = NULL;
}

/* ---- told ------------------------------------------------------------------------------------------ */

static uint64_t sum(const uint64_t *n)
{
	uint64_t all = 0;

	for (int c = 0; c < CLASS_COUNT; c++)
		all += n[c];
	return all;
}

static void print_share(FILE *out, const char *before, uint64_t n, uint64_t all, const char *what)
{
	fprintf(out, "%s%" PRIu64 " %s", before, n, what);
	if (n && n < all)
		fprintf(out, " (%.1f %%)", 100. * (double)n / (double)all);
}

void replayability_text(const struct replayability *p, FILE *out, bool brief)
{
	const uint64_t *l = p->launches, *c = p->calls;
	uint64_t launches = sum(l), calls = sum(c);

	fprintf(out, "%" PRIu64 " launch%s: ", launches, launches == 1 ? "" : "es");
	print_share(out, "", l[CLASS_TRANSLATABLE], launches, "translatable");
	print_share(out, ", ", l[CLASS_SEMANTIC], launches, "semantic");
	print_share(out, ", ", l[CLASS_INJECTED], launches, "injected");
	print_share(out, ", ", l[CLASS_REFUSED], launches, "refused");
	fprintf(out, "\n%" PRIu64 " call%s: ", calls, calls == 1 ? "" : "s");
	print_share(out, "", c[CLASS_TRANSLATABLE], calls, "issued again");
	print_share(out, ", ", c[CLASS_SEMANTIC], calls, "semantic");
	print_share(out, ", ", c[CLASS_REFUSED], calls, "refused");
	print_share(out, ", ", c[CLASS_NOT_NEEDED], calls, "not needed");
	fputc('\n', out);
	if (!brief && !l[CLASS_SEMANTIC] && !c[CLASS_SEMANTIC])
		fputs("  semantic: of libraries whose functions are implemented; no library is yet\n", out);
	for (size_t i = 0; i < p->nreasons && i < (brief ? 1 : SIZE_MAX); i++) {
		const struct replay_reason *r = &p->reasons[i];

		fprintf(out, "  %s: %" PRIu64 " %s%s of %s: %s\n", replay_class_names[r->class], r->count,
			r->launch ? "launch" : "call",
			r->count == 1 ? ""
			: r->launch   ? "es"
				      : "s",
			r->name, r->why);
	}
	if (brief && p->nreasons > 1)
		fprintf(out, "  and %zu more reasons: cutrace replay --plan lists them\n", p->nreasons - 1);
}

static void json_counts(FILE *out, const char *name, const uint64_t *n)
{
	fprintf(out, " \"%s\": {\"all\": %" PRIu64, name, sum(n));
	for (int c = 0; c < CLASS_COUNT; c++)
		fprintf(out, ", \"%s\": %" PRIu64, replay_class_names[c], n[c]);
	fputs("},\n", out);
}

void replayability_json(const struct replayability *p, FILE *out)
{
	fprintf(out, "{\"isolated\": %s, \"target_asked\": %s,\n", p->isolated ? "true" : "false",
		p->asked_target ? "true" : "false");
	json_counts(out, "launches", p->launches);
	json_counts(out, "calls", p->calls);
	fputs(" \"reasons\": [", out);
	for (size_t i = 0; i < p->nreasons; i++) {
		const struct replay_reason *r = &p->reasons[i];

		fprintf(out, "%s\n  {\"of\": \"%s\", \"class\": \"%s\", \"count\": %" PRIu64 ", \"name\": ",
			i ? "," : "", r->launch ? "launch" : "call", replay_class_names[r->class], r->count);
		report_json_string(out, r->name);
		fputs(", \"reason\": ", out);
		report_json_string(out, r->why);
		fputc('}', out);
	}
	fputs(p->nreasons ? "\n ]}\n" : "]}\n", out);
}
