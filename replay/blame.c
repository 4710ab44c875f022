/* SPDX-License-Identifier: Apache-2.0
 *
 * The PTX line that stored a wrong element. Our devices can watch an address: the trace is replayed once more
 * up to the launch or copy that showed the difference, and the device tells the last store. Other drivers
 * can't; there the recorded PTX of the last writer is searched for stores that may reach the buffer.
 */
#include <stdlib.h>
#include <string.h>

#include "ptx/ir.h"
#include "replay/engine.h"
#include "replay/extension_client.h"

#define MAX_CANDIDATES 16

/* Before each launch: the device can be told once it is initialised. */
void blame_arm(struct engine *e)
{
	if (e->blame && e->blame->live && !e->watching)
		e->watching = extension_watch(e, e->blame->live, e->blame->bytes);
}

/* The device numbers its launches, the trace its calls. */
void blame_note_launch(struct engine *e, uint64_t call)
{
	uint64_t number = extension_launch_count(e);
	struct extension_hit hit;

	if (!e->watching || !extension_watch_result(e, &hit) ||
	    hit.launch != (number ? number : e->counts.launches))
		return;
	e->watched_launch = hit.launch;
	e->watched_call = call;
}

static bool collect_watched(struct engine *e)
{
	struct extension_hit hit;
	struct store_row row = {.verdict = e->blame->verdict, .how = "watched", .has_place = true};
	uint64_t call = 0;

	if (!e->watching || !extension_watch_result(e, &hit))
		return false;
	if (hit.launch == e->watched_launch)
		call = row.launch = e->watched_call;
	row.kernel_name = hit.kernel;
	row.text = hit.text;
	row.source = hit.source;
	row.line = hit.line;
	memcpy(row.block, hit.block, sizeof(row.block));
	memcpy(row.thread, hit.thread, sizeof(row.thread));
	if (e->blame->by_hash && call != e->blame->launch)
		row.note = "not in the launch after which the buffer first differed";
	result_store(e->out, &row);
	return true;
}

/* ---- by analysis -------------------------------------------------------- */

/* Parameter of the launch through which the element was reached: the one whose value lies in its allocation.
 */
static const struct trace_kernel_param *reaching_param(struct engine *e, const struct trace_kernel *k)
{
	const struct trace_kernel_param *only = NULL;

	(void)e;
	for (unsigned i = 0; i < k->nparams; i++) {
		if (!k->params[i].is_written)
			continue;
		if (only)
			return NULL; /* several: the store can't be told apart by its parameter */
		only = &k->params[i];
	}
	return only;
}

static bool may_store(const struct ptx_inst *i)
{
	bool global = i->space == PTX_SPACE_GLOBAL || i->space == PTX_SPACE_GENERIC;

	return global && (i->op == PTX_OP_ST || i->op == PTX_OP_ATOM || i->op == PTX_OP_RED);
}

/* Why the device has not told the store. */
static const char *why_not_watched(const struct engine *e)
{
	if (e->watching)
		return "no kernel stored it in this replay";
	return e->blame->live ? "this driver can't watch an address" : "the element is not known";
}

static unsigned list_stores(struct engine *e, struct ptx_module *m, struct ptx_func *f,
			    const struct trace_kernel *k)
{
	const struct trace_kernel_param *p = reaching_param(e, k);
	char text[160], source[160], note[256];
	unsigned n = 0;

	snprintf(note, sizeof(note), "%s; %s%s", why_not_watched(e),
		 p ? "stores of the kernel; it writes through parameter " : "stores of the kernel",
		 p && p->name ? p->name : "");
	for (uint32_t i = 0; i < f->ninsts && n < MAX_CANDIDATES; i++) {
		struct store_row row = {.verdict = e->blame->verdict,
					.how = "analysis",
					.launch = e->blame->launch,
					.kernel_name = k->name,
					.line = f->insts[i].line,
					.text = text,
					.source = source,
					.note = note};

		if (!may_store(&f->insts[i]))
			continue;
		text[0] = source[0] = '\0';
		ptx_line_text(m, row.line, text, sizeof(text));
		ptx_inst_source(m, &f->insts[i], source, sizeof(source));
		result_store(e->out, &row);
		n++;
	}
	return n;
}

static void none(struct engine *e, const char *why)
{
	struct store_row row = {
		.verdict = e->blame->verdict, .how = "unknown", .launch = e->blame->launch, .note = why};

	result_store(e->out, &row);
}

static void collect_by_analysis(struct engine *e)
{
	struct trace_launch l;
	const struct trace_kernel *k = NULL;
	struct ptx_module *m;
	struct ptx_func *f;

	if (e->blame->launch && !trace_launch_get(e->trace, e->blame->launch, &l) && l.kernel)
		k = trace_kernel(e->trace, l.kernel);
	if (!k) {
		none(e, "no recorded launch is known to have written it");
		return;
	}
	f = recorded_ptx_func(e, k, &m);
	if (!f || !list_stores(e, m, f, k))
		none(e, m ? "its PTX shows no store to global memory" : "the trace has no PTX of the kernel");
}

void blame_collect(struct engine *e)
{
	if (!collect_watched(e))
		collect_by_analysis(e);
}
