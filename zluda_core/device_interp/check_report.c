/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings: said once for each kernel and pair of lines, counted always. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "zluda_core/device_interp/check.h"

static void say(struct grid *g, const char *text)
{
	const struct dev_host *host = &g->dev->host;

	if (host->report)
		host->report(host->ctx, g->launch->launch_id, text);
}

/* Whether this pair of lines is new; notes it. Either access of a race may be the one that is seen second. */
static bool note(struct check_kernel *k, enum check_kind kind, uint32_t line, uint32_t other)
{
	if (kind == FINDING_RACE && other > line) {
		uint32_t swap = line;

		line = other;
		other = swap;
	}
	for (uint32_t n = 0; n < k->nfound; n++)
		if (k->found[n].kind == kind && k->found[n].line == line && k->found[n].other == other)
			return false;
	if (k->nfound == CHECK_FINDINGS) {
		k->more = true;
		return false;
	}
	k->found[k->nfound++] = (struct check_finding){(uint8_t)kind, line, other};
	return true;
}

void check_report(struct warp *w, const struct xinst *i, unsigned lane, enum check_kind kind,
		  uint32_t other_line, const char *fmt, ...)
{
	static const char *const names[] = {"uninitialised", "race", "divergent barrier", "member mask"};
	struct grid *g = w->block->grid;
	struct check_grid *cg = g->check;
	const struct ptx_inst *in = xinst_ptx(w, i);
	char what[700], where[700], text[1500];
	va_list ap;

	cg->count++;
	if (!cg->kernel)
		return;
	cg->kernel->total++;
	bool is_new = note(cg->kernel, kind, in ? in->line : 0, other_line);

	if (!is_new && (cg->count > 1 || !g->dev->check_error))
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	fault_where(w, i, lane, where, sizeof(where));
	snprintf(text, sizeof(text), "check: %s: %s: %s", names[kind], what, where);
	if (cg->count == 1)
		snprintf(cg->first, sizeof(cg->first), "%.500s", text);
	if (!is_new)
		return;
	say(g, text);
	cg->said = true;
}

void check_members_lack(struct warp *w, const struct xinst *i, unsigned lane, uint32_t members)
{
	struct checker *c = w->worker->dev->checker;

	if (!w->block->check)
		return;
	pthread_mutex_lock(&c->lock);
	check_report(w, i, lane, FINDING_MEMBERS, 0, "lane %u is not in the mask 0x%x of this operation",
		     lane, members);
	pthread_mutex_unlock(&c->lock);
}

void check_describe_line(struct warp *w, uint32_t line, char *buf, size_t n)
{
	struct dev_module *m = w->block->grid->program->module;
	char text[120] = "";

	pthread_mutex_lock(&m->dev->code_lock);
	ptx_line_text(m->ptx, line, text, sizeof(text));
	pthread_mutex_unlock(&m->dev->code_lock);
	snprintf(buf, n, "%s:%u `%s`", m->ptx->name, line, text);
}

void check_describe_place(struct warp *w, const struct check_place *p, char *buf, size_t n)
{
	char near[160] = "";

	if (!p->is_shared && p->host)
		fault_nearest(w, p->address, near, sizeof(near));
	snprintf(buf, n, "%s address 0x%" PRIx64 "%s",
		 p->is_shared ? "shared"
		 : p->host    ? "global"
			      : "local",
		 p->address, near);
}

void check_summary(struct grid *g)
{
	struct check_kernel *k = g->check->kernel;
	char text[400];

	if (!k || (k->total <= 1 && !k->more && !g->dev->checker->cells_refused))
		return;
	snprintf(text, sizeof(text), "check: kernel %s: %" PRIu64 " finding%s in all, at %u place%s%s%s",
		 k->name, k->total, k->total == 1 ? "" : "s", k->nfound, k->nfound == 1 ? "" : "s",
		 k->more ? " and others that are not shown" : "",
		 g->dev->checker->cells_refused ? "; not all of its memory was watched for races" : "");
	say(g, text);
}
