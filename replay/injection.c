/* SPDX-License-Identifier: Apache-2.0
 *
 * --inject: one bit of one instruction's result is flipped (by the device; CUTRACE_INJECT). A misspelt injection
 * must not look like one that no result shows: the kernel has to be launched, and where the trace has its PTX, the
 * line must have a result with such a bit. Afterwards it is said when nothing came of it.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/analysis.h"
#include "ptx/ir.h"
#include "replay/engine.h"

struct place {
	char kernel[4096]; /* mangled names are long */
	uint32_t line;
	uint64_t bit;
};

/* The form has been checked: KERNEL:PTXLINE:BIT... */
static void parse(const char *text, struct place *p)
{
	const char *colon = strchr(text, ':');
	char *end;

	snprintf(p->kernel, sizeof(p->kernel), "%.*s", (int)(colon - text), text);
	p->line = (uint32_t)strtoul(colon + 1, &end, 10);
	p->bit = strtoull(end + 1, NULL, 10);
}

/* Bits of what the instruction makes: its first result, or what it stores. 0: it has neither. */
static unsigned result_bits(const struct ptx_func *f, const struct ptx_inst *i)
{
	if (i->ndst)
		return i->dst[0].kind == PTX_OPND_VALUE ? f->values[i->dst[0].index].bits : 0;
	return i->op == PTX_OP_ST || i->op == PTX_OP_RED ? ptx_type_bits(i->type) : 0;
}

static const struct ptx_inst *find_line(struct ptx_module *m, uint32_t line, const struct ptx_func **f)
{
	for (uint32_t k = 0; k < m->nfuncs; k++) {
		*f = m->funcs[k];
		if (ptx_func_build(m, m->funcs[k]))
			continue;
		for (uint32_t i = 0; i < (*f)->ninsts; i++)
			if ((*f)->insts[i].line == line && result_bits(*f, &(*f)->insts[i]))
				return &(*f)->insts[i];
	}
	return NULL;
}

static int check_bit(struct session *s, struct ptx_module *m, const struct place *p)
{
	const struct ptx_func *f;
	const struct ptx_inst *i = find_line(m, p->line, &f);
	unsigned bits = i ? result_bits(f, i) : 0;
	char text[160] = "";

	if (i && p->bit < bits)
		return 0;
	if (i)
		diag_set(&s->error, CUTRACE_EINVAL, s->opt->trace_path,
			 "--inject %s: the result of PTX line %u (%s) has %u bit%s: there is no bit %llu",
			 s->opt->inject, p->line, i->mods ? i->mods : "?", bits, bits == 1 ? "" : "s",
			 (unsigned long long)p->bit);
	else if (ptx_line_text(m, p->line, text, sizeof(text)))
		diag_set(&s->error, CUTRACE_EINVAL, s->opt->trace_path,
			 "--inject %s: PTX line %u has no result: %s", s->opt->inject, p->line,
			 *text ? text : "it is empty");
	else
		diag_set(&s->error, CUTRACE_EINVAL, s->opt->trace_path,
			 "--inject %s: the PTX ends before line %u", s->opt->inject, p->line);
	diag_hint(&s->error, "cutrace dump --modules DIR writes the PTX");
	return CUTRACE_EINVAL;
}

/* Of the kernel's module: its own image, or its library's. 0: the trace has none. */
static uint64_t ptx_buffer(struct trace *t, const char *kernel, bool *launched)
{
	static const char sql[] =
		"WITH RECURSIVE up(module, depth) AS (SELECT k.module, 0 FROM launch l JOIN kernel k ON k.id "
		"= l.kernel"
		" WHERE k.name = ?1 GROUP BY k.module UNION SELECT m.parent, depth + 1 FROM up JOIN module m "
		"ON m.id = up.module"
		" WHERE m.parent IS NOT NULL AND depth < 4)"
		"SELECT (SELECT i.ptx FROM up JOIN module m ON m.id = up.module JOIN image i ON i.buffer = "
		"m.image"
		" WHERE i.ptx IS NOT NULL ORDER BY depth LIMIT 1), (SELECT count(*) FROM up)";
	sqlite3_stmt *st = NULL;
	uint64_t buffer = 0;

	*launched = false;
	if (sqlite3_prepare_v2(trace_db(t), sql, -1, &st, NULL) == SQLITE_OK) {
		sqlite3_bind_text(st, 1, kernel, -1, SQLITE_STATIC);
		if (sqlite3_step(st) == SQLITE_ROW) {
			buffer = (uint64_t)sqlite3_column_int64(st, 0);
			*launched = sqlite3_column_int(st, 1) > 0;
		}
	}
	sqlite3_finalize(st);
	return buffer;
}

/* NULL: the trace has no PTX of the kernel, or none that can be read. */
static struct ptx_module *module_with(struct trace *t, const char *kernel, bool *launched)
{
	uint64_t buffer = ptx_buffer(t, kernel, launched);
	struct diag d = DIAG_INIT;
	size_t bytes = 0;
	char *text = buffer ? trace_buffer_load(t, buffer, &bytes, &d) : NULL;
	struct ptx_module *m = text ? ptx_module_parse(text, bytes, "recorded.ptx", &d) : NULL;

	free(text);
	return m;
}

static int check_in(struct session *s, struct trace *t)
{
	struct ptx_module *m;
	struct place p;
	bool launched;
	int rc = 0;

	parse(s->opt->inject, &p);
	m = module_with(t, p.kernel, &launched);
	if (!launched)
		return diag_set(&s->error, CUTRACE_EINVAL, s->opt->trace_path,
				"--inject %s: the trace launches no kernel of that name", s->opt->inject);
	if (m) {
		rc = check_bit(s, m, &p);
		ptx_module_free(m);
	}
	return rc;
}

/* Another driver may be ours; that it was not is noted when nothing came of the injection. */
static int check_device(struct session *s)
{
	const char *device = s->opt->device ? s->opt->device : "interp";

	if (strncmp(device, "amdemu", 6) && strncmp(device, "hip", 3))
		return 0;
	diag_set(&s->error, CUTRACE_ENOTSUP, s->opt->trace_path,
		 "--inject %s: the device %s can't damage a result", s->opt->inject, device);
	diag_hint(&s->error, "--device interp can");
	return CUTRACE_ENOTSUP;
}

int injection_check(struct session *s)
{
	struct trace *t;
	int rc = check_device(s);

	if (!rc)
		rc = trace_open(&t, s->opt->trace_path, &s->error);
	if (rc)
		return rc;
	rc = check_in(s, t);
	trace_close(t);
	return rc;
}

/* Whether a value is live behind the instruction that makes it. */
static bool is_live_behind(const struct ptx_func *f, const struct ptx_liveness *l, uint32_t inst)
{
	uint32_t value = f->insts[inst].dst[0].index, block = 0;
	struct ptx_live_walk w;
	bool live = true;

	while (block + 1 < f->nblocks && inst - f->blocks[block].first >= f->blocks[block].ninsts)
		block++;
	if (ptx_live_walk_open(&w, f))
		return true;
	ptx_live_walk_begin(&w, l, block);
	while (w.inst != inst && ptx_live_walk_back(&w))
		;
	live = w.place[value] != 0;
	ptx_live_walk_close(&w);
	return live;
}

/* The first result alone is damaged. True too where it can't be told. */
static bool result_is_read(struct ptx_module *m, uint32_t line)
{
	const struct ptx_func *f;
	const struct ptx_inst *i = find_line(m, line, &f);
	struct ptx_liveness l;
	bool read = true;

	if (i && i->ndst && !ptx_liveness_find(f, &l)) {
		read = is_live_behind(f, &l, (uint32_t)(i - f->insts));
		ptx_liveness_free(&l);
	}
	return read;
}

/* Why nothing came of it, as far as the recorded PTX tells. */
static const char *why_nothing(struct session *s)
{
	const char *why = "is the instruction executed, and does its result reach a buffer?";
	struct diag d = DIAG_INIT;
	struct ptx_module *m;
	struct trace *t;
	struct place p;
	bool launched;

	if (trace_open(&t, s->opt->trace_path, &d))
		return why;
	parse(s->opt->inject, &p);
	m = module_with(t, p.kernel, &launched);
	if (m && !result_is_read(m, p.line))
		why = "no instruction reads its result; choose a line whose result is read";
	if (m)
		ptx_module_free(m);
	trace_close(t);
	return why;
}

void injection_note(struct session *s)
{
	struct result_db *db;
	struct diag d = DIAG_INIT;
	char text[512];

	if (result_open(&db, s->result_path, false, &d))
		return;
	if (report_status(result_sqlite(db)) == REPLAY_MATCH && !report_tolerated(result_sqlite(db))) {
		snprintf(text, sizeof(text), "--inject %s changed no compared result: %s", s->opt->inject,
			 why_nothing(s));
		result_scope(db, 0, 1);
		result_diagnostic(db, 0, "warning", text);
	}
	result_close(db);
}
