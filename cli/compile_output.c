/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/compile.h"
#include "dump/json.h"

/* ---- files ------------------------------------------------------------------------------------------ */

/* Names of kernels may be longer than names of files, and are the input's: long or odd ones end in a hash. */
static void file_stem(const char *kernel, char *stem, size_t room)
{
	enum { KEEP = 150 };
	size_t n = strlen(kernel);
	bool plain = n <= KEEP && !strchr(kernel, '/') && kernel[0] != '.';
	uint8_t hash[16];

	snprintf(stem, room, "%.*s", KEEP, kernel);
	for (char *c = stem; *c; c++)
		*c = *c == '/' ? '_' : *c;
	if (stem[0] == '.')
		stem[0] = '_';
	if (plain)
		return;
	service_hash(kernel, n, hash);
	n = strlen(stem);
	for (unsigned k = 0; k < 8; k++, n += 2)
		snprintf(stem + n, room - n, "%02x", hash[k]);
}

/* DIR/KERNEL.TARGET.EXTENSION; with several modules DIR/N-MODULE/… */
static int file_path(const struct compile_output *o, const struct compile_task *t, const char *extension,
		     char *path, size_t room, struct diag *d)
{
	char stem[200], folder[4096] = "";

	file_stem(t->kernel, stem, sizeof(stem));
	snprintf(folder, sizeof(folder), "%s", o->folder);
	if (o->run->code.nmodules > 1) {
		char module[200];

		file_stem(o->run->code.modules[t->module].name, module, sizeof(module));
		snprintf(folder, sizeof(folder), "%.3800s/%u-%s", o->folder, t->module + 1, module);
		if (mkdir(folder, 0777) && errno != EEXIST)
			return diag_set(d, CUTRACE_EIO, folder, "can't make the folder: %s", strerror(errno));
	}
	if ((size_t)snprintf(path, room, "%s/%s.%s.%s", folder, stem, t->target->name, extension) >= room)
		return diag_set(d, CUTRACE_EIO, folder, "the path is too long");
	return 0;
}

static int write_file(const struct compile_output *o, const struct compile_task *t, const char *extension,
		      const void *data, size_t bytes, struct diag *d)
{
	char path[4400];
	int rc = file_path(o, t, extension, path, sizeof(path), d);
	FILE *out = rc ? NULL : fopen(path, "wb");
	bool ok = out && fwrite(data, 1, bytes, out) == bytes;

	if (out)
		ok &= fclose(out) == 0;
	return rc || ok ? rc : diag_set(d, CUTRACE_EIO, path, "can't write: %s", strerror(errno));
}

/* The n-th line of the text, 1 is the first; *bytes without its end. */
static const char *line_of(const char *text, unsigned n, size_t *bytes)
{
	while (text && n-- > 1 && (text = strchr(text, '\n')))
		text++;
	*bytes = text ? strcspn(text, "\n") : 0;
	return text;
}

/* Behind each `.loc FILE LINE COLUMN` stands what the PTX says there. */
static void annotate_line(const char *line, size_t n, const char *ptx, FILE *out)
{
	unsigned file, number;
	size_t bytes;

	fprintf(out, "%.*s\n", (int)n, line);
	if (sscanf(line, " .loc %u %u", &file, &number) != 2 || !number)
		return;
	const char *source = line_of(ptx, number, &bytes);
	while (bytes && (*source == ' ' || *source == '\t')) {
		source++;
		bytes--;
	}
	if (bytes)
		fprintf(out, "\t\t; PTX %u: %.*s\n", number, (int)bytes, source);
}

static char *annotate(const char *assembly, const char *ptx, size_t *bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);

	for (const char *at = assembly; out && *at;) {
		size_t n = strcspn(at, "\n");

		annotate_line(at, n, ptx, out);
		at += n + (at[n] == '\n');
	}
	if (!out || fclose(out))
		return NULL;
	return text;
}

static int write_files(const struct compile_output *o, const struct compile_task *t, struct diag *d)
{
	const struct service_answer *a = &t->answer;
	int rc = write_file(o, t, "co", a->code_object, a->bytes, d);
	size_t bytes = 0;

	if (!rc && a->ir)
		rc = write_file(o, t, "ll", a->ir, strlen(a->ir), d);
	if (!rc && a->optimized)
		rc = write_file(o, t, "opt.ll", a->optimized, strlen(a->optimized), d);
	if (!rc && a->passes)
		rc = write_file(o, t, "passes", a->passes, strlen(a->passes), d);
	if (rc || !a->assembly)
		return rc;
	char *text = annotate(a->assembly, o->run->code.modules[t->module].text, &bytes);
	rc = text ? write_file(o, t, "s", text, bytes, d)
		  : diag_set(d, CUTRACE_ENOMEM, t->kernel, "out of memory");
	free(text);
	return rc;
}

/* ---- rows ------------------------------------------------------------------------------------------- */

static unsigned waves_of(const struct compile_task *t)
{
	return occupancy_waves(t->target->name, t->contract.vgprs, t->contract.agprs, t->contract.sgprs);
}

static void print_row(const struct compile_task *t)
{
	const struct contract *c = &t->contract;
	char time[32];

	snprintf(time, sizeof(time), "%.1f", t->answer.seconds * 1e3);
	printf("%-28.60s %-15s %6u %6u %8u %8u %8u %5u %9s\n", t->kernel, t->target->name,
	       c->vgprs + c->agprs, c->sgprs, c->shared_bytes, c->scratch_bytes, c->code_bytes, waves_of(t),
	       t->answer.cached ? "cached" : time);
}

static void begin_json(const struct compile_output *o, const struct compile_task *t, struct json *j)
{
	json_begin(j, '{');
	json_key_text(j, "kernel", t->kernel);
	json_key_text(j, "target", t->target->name);
	json_key_text(j, "module", o->run->code.modules[t->module].name);
}

static void print_json_row(const struct compile_output *o, const struct compile_task *t)
{
	const struct contract *c = &t->contract;
	struct json j = {.out = stdout};

	begin_json(o, t, &j);
	json_key_uint(&j, "vgprs", c->vgprs);
	json_key_uint(&j, "agprs", c->agprs);
	json_key_uint(&j, "sgprs", c->sgprs);
	json_key_uint(&j, "lds_bytes", c->shared_bytes);
	json_key_uint(&j, "scratch_bytes", c->scratch_bytes);
	json_key_uint(&j, "spilled_vgprs", c->spilled_vgprs);
	json_key_uint(&j, "spilled_sgprs", c->spilled_sgprs);
	json_key_uint(&j, "kernarg_bytes", c->kernarg_bytes);
	json_key_uint(&j, "code_bytes", c->code_bytes);
	json_key_uint(&j, "waves_per_simd", waves_of(t));
	json_key(&j, "cached");
	json_bool(&j, t->answer.cached);
	json_key(&j, "compile_ms");
	json_double(&j, t->answer.seconds * 1e3, 3);
	json_end(&j, '}');
	json_line(&j);
}

static void print_refused(const struct compile_output *o, const struct compile_task *t)
{
	const struct service_answer *a = &t->answer;
	uint32_t line = a->line ? a->line : t->line;
	const char *reason = a->reason[0] ? a->reason : t->d.what;

	if (!o->json) {
		printf("%-28.60s %-15s refused: %s:%u: %s%s%s\n", t->kernel, t->target->name,
		       o->run->code.modules[t->module].name, line, a->op, a->op[0] ? ": " : "", reason);
		return;
	}
	struct json j = {.out = stdout};
	begin_json(o, t, &j);
	json_key(&j, "refused");
	json_begin(&j, '{');
	json_key_uint(&j, "line", line);
	json_key_text(&j, "op", a->op);
	json_key_text(&j, "reason", reason);
	json_end(&j, '}');
	json_end(&j, '}');
	json_line(&j);
}

static void print_failed(const struct compile_output *o, const struct compile_task *t, const struct diag *d)
{
	if (o->json) {
		struct json j = {.out = stdout};
		begin_json(o, t, &j);
		json_key_text(&j, "failed", d->what);
		json_end(&j, '}');
		json_line(&j);
	} else {
		printf("%-28.60s %-15s failed: %s\n", t->kernel, t->target->name, d->what);
	}
	diag_print(d, stderr);
}

void compile_output_head(const struct compile_output *o)
{
	if (!o->json)
		printf("%-28s %-15s %6s %6s %8s %8s %8s %5s %9s\n", "kernel", "target", "VGPRs", "SGPRs",
		       "LDS", "scratch", "code", "waves", "ms");
}

static void count_compiled(struct compile_output *o, struct compile_task *t)
{
	struct diag d = DIAG_INIT;

	if (o->folder && write_files(o, t, &d)) {
		o->failed++;
		print_failed(o, t, &d);
		return;
	}
	o->compiled++;
	o->cached += t->answer.cached;
	if (o->json)
		print_json_row(o, t);
	else
		print_row(t);
}

/* A kernel of PTX that can't be read, or be lowered, is refused; anything else failed. */
void compile_output_task(void *ctx, struct compile_task *t)
{
	struct compile_output *o = ctx;

	if (!t->rc && t->has_contract) {
		count_compiled(o, t);
	} else if (t->answer.reason[0] || t->rc == CUTRACE_ENOTSUP) {
		o->refused++;
		print_refused(o, t);
	} else {
		o->failed++;
		print_failed(o, t, &t->d);
	}
}

void compile_output_foot(const struct compile_output *o)
{
	if (o->json)
		return;
	printf("%u compiled", o->compiled);
	if (o->cached)
		printf(" (%u were cached)", o->cached);
	printf(", %u refused, %u failed\n", o->refused, o->failed);
	if (o->run->code.without_ptx)
		printf("%u container%s machine code only\n", o->run->code.without_ptx,
		       o->run->code.without_ptx == 1 ? " has" : "s have");
}
