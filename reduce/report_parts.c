/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/report_parts.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "replay/excerpt.h"
#include "replay/replay.h"
#include "trace/trace.h"

#define TEXT_RUN 8 /* printable bytes in a row that look like text */

static const char *path_of(const struct report_job *r, const char *name)
{
	return workroom_path(r->j->room, name);
}

static int64_t count_in(const char *trace, const char *sql)
{
	struct diag d = DIAG_INIT;
	struct trace *t;
	sqlite3_stmt *st = NULL;
	int64_t n = 0;

	if (trace_open(&t, trace, &d))
		return 0;
	if (sqlite3_prepare_v2(trace_db(t), sql, -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	trace_close(t);
	return n;
}

/* ---- what is left in the buffers -------------------------------------------------------------------- */

static uint64_t count_text(const uint8_t *data, uint64_t bytes)
{
	uint64_t run = 0, all = 0;

	for (uint64_t i = 0; i <= bytes; i++) {
		if (i < bytes && data[i] >= 32 && data[i] < 127) {
			run++;
			continue;
		}
		all += run >= TEXT_RUN ? run : 0;
		run = 0;
	}
	return all;
}

void report_note_scene(struct report_job *r, const struct scene *s)
{
	scene_measure(s, &r->size);
	for (unsigned i = 0; i < s->nbuffers; i++) {
		const struct scene_buffer *b = &s->buffers[i];
		uint64_t text = count_text(b->data, b->bytes);

		r->texts += text;
		r->char_buffers += text > 0;
		if (!r->suspect)
			r->suspect = scrub_look(&r->scrub, b->data, b->bytes);
	}
}

/* ---- the texts ------------------------------------------------------------------------------------------ */

/* The replay's own report, and its database; both without paths. */
static int replay_bundle(struct report_job *r, struct diag *d)
{
	const char *const args[] = {"replay",
				    "--isolated",
				    "-o",
				    path_of(r, "result.db"),
				    r->j->driver ? "--driver" : "--device",
				    r->j->driver ? r->j->driver : r->j->device,
				    "--",
				    r->trace,
				    NULL};
	int status = workroom_cutrace(r->j->room, args, "verdict.txt", "verdict.err", 0);
	bool shows = r->differs ? judge_shows(r->j, path_of(r, "result.db")) : status == REPLAY_MATCH;

	if (status == WORKROOM_SIGNAL && workroom_interrupted())
		return diag_set(d, CUTRACE_EIO, r->input, "interrupted");
	if (!shows)
		return diag_set(
			d, CUTRACE_EINVAL, r->input,
			"without the rest of its program the launch does not show the same any more: a bundle would be of no use");
	if (r->differs)
		culprit_find(&r->culprit, path_of(r, "result.db"));
	return scrub_database(&r->scrub, path_of(r, "result.db"), d) ||
			       scrub_file(&r->scrub, path_of(r, "verdict.txt"), d)
		       ? d->code
		       : 0;
}

static void put_file(FILE *out, const char *path)
{
	char line[1024];
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f))
		fprintf(out, "  %s", line);
	if (f)
		fclose(f);
}

static void put_first_line(FILE *out, const char *title, const char *path, const char *key)
{
	char line[512];
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f)) {
		char *value = strpbrk(line, ":=");

		if (!value || strncmp(line, key, strlen(key)))
			continue;
		value += strspn(value, ":= \t\"");
		value[strcspn(value, "\"\n")] = '\0';
		fprintf(out, "  %-10s %s\n", title, value);
		break;
	}
	if (f)
		fclose(f);
}

static void put_machine(FILE *out)
{
	struct utsname u;

	fputs("\nMachine\n", out);
	if (!uname(&u))
		fprintf(out, "  %-10s %s %s, %s\n", "kernel", u.sysname, u.release, u.machine);
	put_first_line(out, "system", "/etc/os-release", "PRETTY_NAME");
	put_first_line(out, "processor", "/proc/cpuinfo", "model name");
}

static void put_device(FILE *out, const char *trace)
{
	struct diag d = DIAG_INIT;
	struct trace *t;
	sqlite3_stmt *st = NULL;

	if (trace_open(&t, trace, &d))
		return;
	if (sqlite3_prepare_v2(trace_db(t), "SELECT name, cc / 10, cc % 10, sm_count FROM device LIMIT 1", -1,
			       &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		fprintf(out, "  %-10s %s, compute capability %d.%d, %d multiprocessors\n", "recorded",
			sqlite3_column_text(st, 0), sqlite3_column_int(st, 1), sqlite3_column_int(st, 2),
			sqlite3_column_int(st, 3));
	sqlite3_finalize(st);
	trace_close(t);
}

/* What is in the bundle's trace, what went, what stayed. */
static void put_contents(const struct report_job *r, FILE *out)
{
	const struct ptx_redaction *p = &r->notes.ptx;

	fprintf(out, "  launches   %lld of %lld, of %lld calls\n",
		(long long)count_in(r->trace, "SELECT count(*) FROM launch"),
		(long long)count_in(r->input, "SELECT count(*) FROM launch"),
		(long long)count_in(r->input, "SELECT count(*) FROM call"));
	fprintf(out, "  buffers    %lld of %lld, %lld bytes of %lld\n",
		(long long)count_in(r->trace, "SELECT count(*) FROM allocation"),
		(long long)count_in(r->input, "SELECT count(*) FROM allocation"),
		(long long)count_in(r->trace, "SELECT sum(bytes) FROM allocation"),
		(long long)count_in(r->input, "SELECT sum(bytes) FROM allocation"));
	if (r->first == r->last)
		fprintf(out,
			"  code       PTX of the kernel and what it calls, %u function%s; without %u comments, %u source paths, %u "
			"debug sections; letters of %u strings are x\n",
			r->size.functions, r->size.functions == 1 ? "" : "s", p->comments, p->files,
			p->sections, p->strings);
	else
		fputs("  code       PTX of the modules; without comments, source paths, debug sections; letters of strings are x\n",
		      out);
	fputs("  left out   all other calls, machine code, command line, environment, folders, names of host, user, files and "
	      "threads, process ids, diagnostics\n",
	      out);
	if (r->notes.strings_kept)
		fputs("  kept       strings in the PTX: the kernel computes with them\n", out);
	if (r->notes.uncut)
		fprintf(out, "  kept       whole buffers: the interpreter can't make this launch (%s)\n",
			r->notes.why_uncut);
	fputs("  kept       names of kernels, parameters and variables; sizes and addresses of buffers; values of parameters\n",
	      out);
}

static void put_values(const struct report_job *r, FILE *out)
{
	if (r->synthetic && !r->notes.kept) {
		fputs("  values     of all buffers are others of the same kind; results are the interpreter's\n",
		      out);
		return;
	}
	if (r->synthetic)
		fprintf(out,
			"  values     of %u of %u buffers are others of the same kind, results are the interpreter's; those of the "
			"rest are the program's own, since with the values that were tried nothing differed: %s\n",
			r->notes.synthetic, r->notes.synthetic + r->notes.kept, r->notes.kept_list);
	else
		fputs("  values     in the buffers are the program's own: the launch reads them (--synthetic replaces them)\n",
		      out);
	if (r->texts)
		fprintf(out,
			"  look at    %llu bytes in %u of them look like text: cutrace dump --payload shows them\n",
			(unsigned long long)r->texts, r->char_buffers);
	if (r->suspect)
		fprintf(out, "  look at    a buffer holds what this machine or the recording calls its %s\n",
			r->suspect);
}

static void put_verdict(const struct report_job *r, FILE *out)
{
	const struct culprit *c = &r->culprit;

	fputs("\nVerdict\n", out);
	if (!r->differs)
		fputs("  nothing differs\n", out);
	else
		fprintf(out, "  %s %s%s%s\n", c->kernel, c->fault ? "faults" : "differs",
			c->line[0] ? "; first wrong: " : "", c->line);
	put_file(out, path_of(r, "verdict.txt"));
}

static void put_how(const struct report_job *r, FILE *out)
{
	char *target = scrub_text(&r->scrub, r->j->driver ? r->j->driver : r->j->device);

	fprintf(out, "\nTo see it\n  cutrace replay --isolated %s %s trace\n",
		r->j->driver ? "--driver" : "--device", target ? target : "");
	fputs("  cutrace dump --modules FOLDER trace     writes the kernel's PTX\n"
	      "  cutrace reduce trace -o OUT             looks for a smaller launch that differs\n",
	      out);
	free(target);
}

static int write_summary(struct report_job *r, struct diag *d)
{
	const char *const doctor[] = {"doctor", NULL}, *const version[] = {"--version", NULL};
	const char *path = path_of(r, "summary.txt");
	FILE *out = fopen(path, "w");

	if (!out)
		return diag_set(d, CUTRACE_EIO, path, "%s", strerror(errno));
	workroom_cutrace(r->j->room, version, "version.txt", "version.err", 60);
	workroom_cutrace(r->j->room, doctor, "doctor.txt", "doctor.err", 60);
	fputs("A launch that differs, as cutrace reports it\n\ncutrace\n", out);
	put_file(out, path_of(r, "version.txt"));
	put_verdict(r, out);
	fputs("\nTrace\n", out);
	put_device(out, r->trace);
	put_contents(r, out);
	put_values(r, out);
	put_machine(out);
	fputs("\nWhat cutrace can use here (cutrace doctor)\n", out);
	put_file(out, path_of(r, "doctor.txt"));
	put_how(r, out);
	if (fclose(out))
		return diag_set(d, CUTRACE_EIO, path, "it can't be written: %s", strerror(errno));
	return scrub_file(&r->scrub, path, d);
}

int report_make_texts(struct report_job *r, struct diag *d)
{
	int rc = replay_bundle(r, d);

	return rc ? rc : write_summary(r, d);
}

/* ---- what is shown ----------------------------------------------------------------------------------- */

unsigned report_files(const struct report_job *r, struct bundle_file *files)
{
	static char paths[3][4200];
	unsigned n = 0;

	snprintf(paths[0], sizeof(paths[0]), "%s", path_of(r, "summary.txt"));
	snprintf(paths[1], sizeof(paths[1]), "%s", path_of(r, "verdict.txt"));
	snprintf(paths[2], sizeof(paths[2]), "%s", path_of(r, "result.db"));
	files[n++] =
		(struct bundle_file){"summary.txt", paths[0], "for people: verdict, machine, what this is"};
	files[n++] = (struct bundle_file){"verdict.txt", paths[1], "what the replay of the trace says"};
	files[n++] = (struct bundle_file){"trace", r->trace, "the launch, its code and memory"};
	files[n++] = (struct bundle_file){"result.db", paths[2], "the replay's results, SQLite"};
	return n;
}

void report_show(const struct report_job *r, const struct bundle_file *files, unsigned n, FILE *out)
{
	struct stat st;

	if (r->differs)
		fprintf(out, "%s %s in call %llu of %s%s%s\n\n", r->culprit.kernel,
			r->culprit.fault ? "faults" : "differs", (unsigned long long)r->first, r->input,
			r->culprit.line[0] ? ": " : "", r->culprit.line);
	fputs("The bundle holds\n", out);
	for (unsigned i = 0; i < n; i++)
		if (!stat(files[i].path, &st))
			fprintf(out, "  %-12s %9lld bytes  %s\n", files[i].name, (long long)st.st_size,
				files[i].what);
	fputs("\nThe trace in it\n", out);
	put_contents(r, out);
	put_values(r, out);
	fputc('\n', out);
}
