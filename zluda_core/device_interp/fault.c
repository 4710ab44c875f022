/* SPDX-License-Identifier: Apache-2.0
 *
 * Faults: the first one of a launch is kept, with everything the user needs to
 * find it: kernel, PTX line and its text, source line, block, thread, address,
 * nearest allocation.
 */
#include <stdarg.h>
#include <string.h>

#include "zluda_core/device_interp/interp.h"

const struct ptx_inst *xinst_ptx(const struct warp *w, const struct xinst *i)
{
	const struct ptx_func *f = w->frame->code->func;

	return i->index < f->ninsts ? &f->insts[i->index] : NULL;
}

/* With the grid's lock held and no fault yet. */
static struct dev_fault *fault_begin(struct grid *g, enum dev_fault_kind kind)
{
	struct dev_fault *f = g->fault;

	memset(f, 0, sizeof(*f));
	f->kind = kind;
	snprintf(f->kernel, sizeof(f->kernel), "%s", g->program->kernel->name);
	snprintf(f->module, sizeof(f->module), "%s", g->program->module->ptx->name);
	g->has_fault = true;
	return f;
}

static void fault_place(struct dev_fault *f, struct warp *w, const struct xinst *i, unsigned lane)
{
	const struct ptx_inst *in = xinst_ptx(w, i);
	struct dev_module *m = w->block->grid->program->module;

	memcpy(f->block, w->block->index, sizeof(f->block));
	for (unsigned k = 0; k < 3; k++)
		f->thread[k] = w->tids[k][lane];
	if (!in)
		return;
	f->line = in->line;
	pthread_mutex_lock(&m->dev->code_lock);
	ptx_line_text(m->ptx, in->line, f->ptx, sizeof(f->ptx));
	if (!ptx_inst_source(m->ptx, in, f->source, sizeof(f->source)))
		f->source[0] = 0;
	pthread_mutex_unlock(&m->dev->code_lock);
}

/* "kernel K, m.ptx:12 `text` (file.cu:3), block (0,0,0), thread (1,0,0)" */
static void describe_place(const struct dev_fault *f, char *buf, size_t n)
{
	char at[400] = "", src[170] = "";

	if (f->line)
		snprintf(at, sizeof(at), ", %s:%u `%s`", f->module, f->line, f->ptx);
	if (f->source[0])
		snprintf(src, sizeof(src), " (%s)", f->source);
	snprintf(buf, n, "kernel %s%s%s, block (%u,%u,%u), thread (%u,%u,%u)", f->kernel, at, src,
		 f->block[0], f->block[1], f->block[2], f->thread[0], f->thread[1], f->thread[2]);
}

static const struct xinst *stop(struct warp *w)
{
	w->stop = STOP_FAULT;
	atomic_store(&w->block->grid->stopped, true);
	return NULL;
}

const struct xinst *fault_lane(struct warp *w, const struct xinst *i, enum dev_fault_kind kind, unsigned lane,
			       const char *fmt, ...)
{
	struct grid *g = w->block->grid;
	char why[400], place[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&g->lock);
	if (!g->has_fault) {
		struct dev_fault *f = fault_begin(g, kind);

		fault_place(f, w, i, lane);
		describe_place(f, place, sizeof(place));
		if (kind == DEV_FAULT_ASSERT)
			snprintf(f->message, sizeof(f->message), "%s", why);
		else
			snprintf(f->message, sizeof(f->message), "%.250s: %.250s", why, place);
	}
	pthread_mutex_unlock(&g->lock);
	return stop(w);
}

/* ", 4 bytes behind the allocation [0x..., 0x...) of N bytes" */
static void describe_nearest(struct dev_fault *f, const struct map_node *mappings, uint64_t addr, char *buf,
			     size_t n)
{
	const struct mapping *m = map_nearest(mappings, addr);

	buf[0] = 0;
	if (!m)
		return;
	f->has_nearest = true;
	f->nearest_base = m->base;
	f->nearest_bytes = m->end - m->base;
	if (addr >= m->end)
		snprintf(buf, n, ", %llu bytes behind the end of", (unsigned long long)(addr - m->end));
	else if (addr < m->base)
		snprintf(buf, n, ", %llu bytes before", (unsigned long long)(m->base - addr));
	else
		snprintf(buf, n, ", %llu bytes into", (unsigned long long)(addr - m->base));
	size_t len = strlen(buf);
	snprintf(buf + len, n - len, " the nearest allocation 0x%llx of %llu bytes",
		 (unsigned long long)m->base, (unsigned long long)(m->end - m->base));
}

/* For the small spaces: what the limit is. */
static void describe_limit(const struct warp *w, const struct access *a, char *buf, size_t n)
{
	unsigned long long limit = !strcmp(a->space, "shared")  ? w->block->shared_bytes
				   : !strcmp(a->space, "local") ? w->local_stride
								: w->block->grid->launch->param_bytes;

	snprintf(buf, n, ", there are %llu bytes", limit);
}

const struct xinst *fault_access(struct warp *w, const struct xinst *i, unsigned lane,
				 enum dev_fault_kind kind, const struct access *a)
{
	struct grid *g = w->block->grid;
	char near[160], place[600];

	pthread_mutex_lock(&g->lock);
	if (!g->has_fault) {
		struct dev_fault *f = fault_begin(g, kind);
		const char *what = a->atomic ? "atomic operation" : a->store ? "store" : "load";

		fault_place(f, w, i, lane);
		f->address = a->addr;
		f->access_bytes = a->bytes;
		f->is_store = a->store || a->atomic;
		f->is_atomic = a->atomic;
		snprintf(f->space, sizeof(f->space), "%s", a->space);
		if (!strcmp(a->space, "global") || !strcmp(a->space, "const"))
			describe_nearest(f, w->worker->mappings, a->addr, near, sizeof(near));
		else
			describe_limit(w, a, near, sizeof(near));
		describe_place(f, place, sizeof(place));
		snprintf(f->message, sizeof(f->message),
			 "%s %s of %u bytes at %s address 0x%llx%.120s: %.300s",
			 kind == DEV_FAULT_MISALIGNED ? "misaligned" : "illegal", what, a->bytes, a->space,
			 (unsigned long long)a->addr, near, place);
	}
	pthread_mutex_unlock(&g->lock);
	return stop(w);
}

/* Lines at which a block's threads wait: "12 (31 threads), 40 (1 thread)", most first is not needed: in code
 * order. */
static void describe_waiting(const struct block *b, char *buf, size_t n, uint32_t *first_line)
{
	struct {
		uint32_t line, threads;
	} at[16];
	uint32_t count = 0;
	size_t len = 0;

	for (uint32_t k = 0; k < b->nwarps; k++) {
		for (uint32_t j = 0; j < LANES; j++) {
			const struct fragment *f = &b->warps[k].frags[j];
			uint32_t c = 0, threads = (uint32_t)__builtin_popcount(f->mask);

			if (f->state == FRAG_FREE)
				continue;
			const struct ptx_func *fn = f->frame->code->func;
			const struct xinst *pc = f->pc;

			if (f->state == FRAG_BARRIER ||
			    (pc > f->frame->code->insts && exec_mbarrier_waits(pc - 1)))
				pc--; /* the wait, not the branch back to it */
			uint32_t line = pc->index < fn->ninsts ? fn->insts[pc->index].line : 0;

			while (c < count && at[c].line != line)
				c++;
			if (c == count && count < 16) {
				at[count].line = line;
				at[count++].threads = 0;
			}
			if (c < 16)
				at[c].threads += threads;
		}
	}
	*first_line = count ? at[0].line : 0;
	buf[0] = 0;
	for (uint32_t c = 0; c < count && len < n; c++)
		len += (size_t)snprintf(buf + len, n - len, "%s%u (%u thread%s)", c ? ", " : "", at[c].line,
					at[c].threads, at[c].threads == 1 ? "" : "s");
}

void fault_timeout(struct grid *g, struct block *b, const char *why)
{
	char lines[300];

	pthread_mutex_lock(&g->lock);
	if (!g->has_fault) {
		struct dev_fault *f = fault_begin(g, DEV_FAULT_TIMEOUT);
		struct dev_module *m = g->program->module;

		describe_waiting(b, lines, sizeof(lines), &f->line);
		memcpy(f->block, b->index, sizeof(f->block));
		pthread_mutex_lock(&m->dev->code_lock);
		if (f->line)
			ptx_line_text(m->ptx, f->line, f->ptx, sizeof(f->ptx));
		pthread_mutex_unlock(&m->dev->code_lock);
		snprintf(f->message, sizeof(f->message),
			 "%.60s: kernel %.120s, block (%u,%u,%u) is at lines %.200s of %.80s", why, f->kernel,
			 b->index[0], b->index[1], b->index[2], lines, f->module);
	}
	pthread_mutex_unlock(&g->lock);
	atomic_store(&g->stopped, true);
}

void fault_where(struct warp *w, const struct xinst *i, unsigned lane, char *buf, size_t n)
{
	struct dev_fault f = {0};

	snprintf(f.kernel, sizeof(f.kernel), "%s", w->block->grid->program->kernel->name);
	snprintf(f.module, sizeof(f.module), "%s", w->block->grid->program->module->ptx->name);
	fault_place(&f, w, i, lane);
	describe_place(&f, buf, n);
}

void fault_nearest(struct warp *w, uint64_t addr, char *buf, size_t n)
{
	struct dev_fault f = {0};

	describe_nearest(&f, w->worker->mappings, addr, buf, n);
}

/* With or without the lock: only before blocks run, or with it. */
void fault_internal(struct grid *g, const char *why)
{
	if (!g->has_fault) {
		struct dev_fault *f = fault_begin(g, DEV_FAULT_INTERNAL);

		snprintf(f->message, sizeof(f->message), "kernel %s: %s", f->kernel, why);
	}
	atomic_store(&g->stopped, true);
}
