/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose context and whose default stream a call means. The program had a stack of contexts per thread; the
 * replayer has one thread, follows the recorded stacks and sets the one context that a call needs. Likewise
 * each recorded thread's own default stream (per-thread mode) becomes a stream that is created here.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/engine.h"

#define NO_CONTEXT UINT64_MAX

struct context_stack {
	uint64_t *v;
	size_t n, cap;
	struct map streams; /* recorded context -> live stream: the thread's default stream in it */
};

void contexts_free(struct contexts *c)
{
	for (size_t i = 0; i < c->nstacks; i++) {
		free(c->stacks[i].v);
		map_free(&c->stacks[i].streams);
	}
	free(c->stacks);
	map_free(&c->threads);
	map_free(&c->primaries);
	memset(c, 0, sizeof(*c));
}

static struct context_stack *stack_of(struct contexts *c, uint32_t thread)
{
	struct context_stack *grown;
	uint64_t i;

	if (map_get(&c->threads, thread, &i))
		return &c->stacks[i];
	grown = realloc(c->stacks, (c->nstacks + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	c->stacks = grown;
	if (map_set(&c->threads, thread, c->nstacks))
		return NULL;
	memset(&grown[c->nstacks], 0, sizeof(*grown));
	return &grown[c->nstacks++];
}

static void push(struct context_stack *s, uint64_t ctx)
{
	if (s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 8;
		uint64_t *v = realloc(s->v, cap * sizeof(*v));

		if (!v)
			return;
		s->v = v;
		s->cap = cap;
	}
	s->v[s->n++] = ctx;
}

uint64_t contexts_recorded(struct contexts *c, uint32_t thread)
{
	struct context_stack *s = stack_of(c, thread);

	return s && s->n ? s->v[s->n - 1] : 0;
}

enum stack_effect { STACK_SET, STACK_PUSH, STACK_POP, STACK_CREATE, STACK_DESTROY };
static const struct {
	const char *base;
	enum stack_effect effect;
	bool only; /* the call does nothing else */
} effects[] = {
	{"cuCtxSetCurrent", STACK_SET, true},   {"cuCtxPushCurrent", STACK_PUSH, true},
	{"cuCtxPopCurrent", STACK_POP, true},   {"cuCtxCreate", STACK_CREATE, false},
	{"cuCtxDestroy", STACK_DESTROY, false}, {"cuGLCtxCreate", STACK_CREATE, false},
};

static int effect_of(const struct api_func *f)
{
	for (unsigned i = 0; i < sizeof(effects) / sizeof(effects[0]); i++)
		if (!strcmp(effects[i].base, f->base))
			return (int)i;
	return -1;
}

bool contexts_is_stack_call(const struct api_func *f)
{
	int i = effect_of(f);

	return i >= 0 && effects[i].only;
}

static void follow_created(struct engine *e, const struct call *c, struct context_stack *s)
{
	uint64_t ctx;

	if (call_recorded_out(e, c, 0, &ctx))
		push(s, ctx);
	e->contexts.current = NO_CONTEXT;
}

static void follow_set(struct context_stack *s, uint64_t ctx)
{
	if (s->n)
		s->n--;
	if (ctx)
		push(s, ctx);
}

/* They ended with their context; its handle may be given again. */
static void forget_streams(struct contexts *c, uint64_t ctx)
{
	for (size_t i = 0; i < c->nstacks; i++)
		map_remove(&c->stacks[i].streams, ctx);
}

void contexts_follow(struct engine *e, const struct call *c)
{
	int i = effect_of(c->f);
	struct context_stack *s = i < 0 ? NULL : stack_of(&e->contexts, c->thread);

	if (!s)
		return;
	switch (effects[i].effect) {
	case STACK_SET: follow_set(s, c->rec->args[0]); break;
	case STACK_PUSH: push(s, c->rec->args[0]); break;
	case STACK_POP: s->n -= s->n > 0; break;
	case STACK_CREATE: follow_created(e, c, s); break;
	case STACK_DESTROY:
		if (s->n && s->v[s->n - 1] == c->rec->args[0])
			s->n--;
		forget_streams(&e->contexts, c->rec->args[0]);
		e->contexts.current = NO_CONTEXT;
		break;
	}
}

static uint64_t primary_context(struct engine *e, uint64_t device)
{
	uint64_t ctx = 0;

	if (map_get(&e->contexts.primaries, device, &ctx))
		return ctx;
	if (driver_plain(&e->drv, "cuDevicePrimaryCtxRetain", 2, word(&ctx), device))
		return 0;
	map_set(&e->contexts.primaries, device, ctx);
	return ctx;
}

uint64_t contexts_live(struct engine *e, uint64_t recorded)
{
	uint64_t live, device;

	if (!recorded)
		return 0;
	if (handles_get(&e->handles, e->handles.context_kind, recorded, &live))
		return live;
	/* The trace's context table tells of which device a context was whose creation no replayable call
	 * shows: the runtime of CUDA 11 gets the primary context through a private table. */
	if (!plan_context_device(e, recorded, &device))
		return 0;
	live = primary_context(e, device);
	if (live)
		handles_set(&e->handles, e->handles.context_kind, recorded, live);
	return live;
}

bool contexts_enter(struct engine *e, uint32_t thread)
{
	uint64_t recorded = contexts_recorded(&e->contexts, thread), live;

	if (!recorded)
		return true; /* the call needed none, or failed for want of one */
	live = contexts_live(e, recorded);
	if (!live)
		return false;
	if (live == e->contexts.current)
		return true;
	if (driver_plain(&e->drv, "cuCtxSetCurrent", 1, live))
		return false;
	e->contexts.current = live;
	return true;
}

uint64_t contexts_thread_stream(struct engine *e, uint32_t thread)
{
	uint64_t ctx = contexts_recorded(&e->contexts, thread), stream = 0;
	struct context_stack *s = stack_of(&e->contexts, thread);

	if (!s)
		return 0;
	if (map_get(&s->streams, ctx, &stream))
		return stream;
	/* Flags 0: such a stream synchronises with the legacy default stream, as a per-thread one does. */
	if (driver_plain(&e->drv, "cuStreamCreate", 2, word(&stream), UINT64_C(0)))
		return 0;
	map_set(&s->streams, ctx, stream);
	return stream;
}
