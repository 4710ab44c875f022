/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dump/content.h"
#include "dump/decode.h"
#include "dump/dump.h"
#include "dump/options.h"
#include "dump/row.h"

#define TEXT_ELEMENTS 16u
#define JSON_ELEMENTS 4096u

static bool match_result(const struct dump_options *o, const struct trace_call *c)
{
	switch (o->result) {
	case RESULT_ANY: return true;
	case RESULT_IN_FLIGHT: return !c->done;
	case RESULT_OK: return c->done && !c->result;
	case RESULT_ERROR: return c->done && c->result;
	case RESULT_VALUE: return c->done && c->result == o->result_value;
	}
	return false;
}

static bool match(struct trace *t, const struct dump_options *o, const struct trace_call *c)
{
	const struct trace_function *f;
	const struct trace_thread *th;
	struct trace_launch l;
	double ms = (double)c->t_enter / 1e6;

	if ((o->thread && c->thread != o->thread) || !match_result(o, c))
		return false;
	if (o->has_time && (ms < o->time_from_ms || ms > o->time_to_ms))
		return false;
	if (o->process && (!(th = trace_thread(t, c->thread)) || th->process != o->process))
		return false;
	if (o->functions &&
	    (!(f = trace_function(t, c->func)) || !dump_match_function(o->functions, f->name)))
		return false;
	return !o->launches || trace_launch_get(t, c->id, &l) == 0;
}

/* Stable numbers must not depend on what is shown: then every call is decoded from the first one on. */
static int print_calls(struct trace *t, const struct dump_options *o, struct decoder *dec,
		       struct trace_call_iter *it)
{
	struct print_options p = {.out = stdout, .stable = o->stable};
	struct json j = {.out = stdout};
	struct trace_call c;
	unsigned n;
	int rc = 0;

	trace_processes(t, &n);
	p.many_process = n > 1;
	while (!ferror(stdout) && (rc = trace_call_next(it, &c)) == 1) {
		bool shown = c.id >= o->first && match(t, o, &c);
		const struct row *r = shown || o->stable ? decode_call(dec, &c) : NULL;

		if (!shown || !r)
			continue;
		if (o->json)
			print_json(&p, &j, r);
		else
			print_text(&p, r);
	}
	return rc;
}

/* A thread or process that isn't there is a mistake, not an empty answer. */
static int check_numbers(struct trace *t, const struct dump_options *o, struct diag *d)
{
	const struct trace_process *p;
	unsigned n, i;

	if (o->thread && !trace_thread(t, o->thread)) {
		diag_set(d, CUTRACE_EINVAL, "--thread", "%s has no thread %u", o->file, o->thread);
		diag_hint(d, "cutrace info --all lists them");
		return CUTRACE_EINVAL;
	}
	p = trace_processes(t, &n);
	for (i = 0; o->process && i < n && p[i].id != o->process; i++)
		;
	if (o->process && i == n) {
		diag_set(d, CUTRACE_EINVAL, "--process", "%s has no process %u", o->file, o->process);
		diag_hint(d, "cutrace info --all lists them");
		return CUTRACE_EINVAL;
	}
	return 0;
}

/* "cuMemAlloc" for "*memalloc*": what a pattern that matches nothing may have meant. */
static bool is_near(const char *globs, const char *name)
{
	char letters[64];
	size_t n = 0;

	for (const char *p = globs; *p && *p != ',' && n < sizeof(letters) - 1; p++)
		if (isalnum((unsigned char)*p) || *p == '_')
			letters[n++] = *p;
	letters[n] = '\0';
	return n > 2 && (strcasestr(name, letters) || !strncasecmp(name, letters, n > 6 ? n * 2 / 3 : n));
}

/* An empty answer is right for a trace without such calls, and a surprise after a slip. */
static void warn_of_no_match(struct trace *t, const struct dump_options *o)
{
	const struct trace_function *f;
	char near[160] = "";
	size_t used = 0;

	for (uint32_t id = 1; (f = trace_function(t, id)); id++) {
		if (dump_match_function(o->functions, f->name))
			return;
		if (is_near(o->functions, f->name) && used + strlen(f->name) + 3 < sizeof(near))
			used += (size_t)snprintf(near + used, sizeof(near) - used, "%s%s", used ? ", " : "",
						 f->name);
	}
	fflush(stdout);
	fprintf(stderr, "--func: warning: no function of %s matches '%s'\n", o->file, o->functions);
	if (used)
		fprintf(stderr, "  hint: it has %s\n", near);
	else
		fputs("  hint: `cutrace info` lists its functions; '*' stands for anything\n", stderr);
}

static int dump_calls(struct trace *t, const struct dump_options *o, struct diag *d)
{
	struct decoder *dec = decoder_new(t, o->json ? JSON_ELEMENTS : TEXT_ELEMENTS);
	struct trace_call_iter *it = trace_calls(t, o->stable ? 0 : o->first, o->last);
	int rc = 0;

	if (!dec || !it)
		rc = diag_set(d, CUTRACE_ENOMEM, o->file, "out of memory");
	else if (print_calls(t, o, dec, it) < 0)
		rc = diag_set(d, CUTRACE_ECORRUPT, o->file,
			      "the trace is damaged: not all calls can be read");
	trace_call_iter_free(it);
	decoder_free(dec);
	if (!rc && o->functions)
		warn_of_no_match(t, o);
	return rc;
}

static int verify(struct trace *t, const struct dump_options *o, struct diag *d)
{
	if (trace_has_row_hashes(t))
		return trace_check_rows(t, NULL, NULL, d);
	diag_set(d, CUTRACE_ENOTSUP, o->file, "the trace has no hashes of its rows: they can't be verified");
	diag_hint(d, "a recording that was cut off gets them from cutrace info --finish");
	return CUTRACE_ENOTSUP;
}

static int run(struct trace *t, const struct dump_options *o, struct diag *d)
{
	if (o->modules)
		return dump_modules(t, o, d);
	if (o->has_buffer)
		return dump_buffer(t, o->buffer, o, d);
	if (o->has_payload)
		return dump_payload(t, o, d);
	return check_numbers(t, o, d) ? CUTRACE_EINVAL : dump_calls(t, o, d);
}

int dump_finish_output(const char *command)
{
	if (!fflush(stdout) && !ferror(stdout))
		return DUMP_OK;
	if (errno == EPIPE)
		return DUMP_OK;
	fprintf(stderr, "cutrace %s: error: cannot write the output: %s\n", command, strerror(errno));
	return DUMP_CANNOT;
}

int cmd_dump(int argc, char **argv)
{
	struct diag d = DIAG_INIT;
	struct dump_options o;
	struct trace *t;
	int rc;

	if (dump_options_parse(&o, argc, argv, &d)) {
		diag_print(&d, stderr);
		fputs("  cutrace dump --help tells what there is\n", stderr);
		return DUMP_USAGE;
	}
	if (o.help) {
		fputs(dump_usage, stdout);
		return dump_finish_output("dump");
	}
	if (trace_open(&t, o.file, &d)) {
		diag_print(&d, stderr);
		return DUMP_CANNOT;
	}
	rc = o.verify ? verify(t, &o, &d) : 0;
	if (!rc)
		rc = run(t, &o, &d);
	trace_close(t);
	if (rc) {
		fflush(stdout);
		diag_print(&d, stderr);
		return rc == CUTRACE_EINVAL ? DUMP_USAGE : DUMP_CANNOT;
	}
	return dump_finish_output("dump");
}
