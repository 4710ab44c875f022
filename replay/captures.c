/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies captured into graphs. Their buffers are read and written by each launch of the graph, so they live
 * until the graph and all that was instantiated from it are destroyed. What graph launches returned is not
 * compared.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/engine.h"

struct capture {
	struct capture *next;
	struct pending *copies;
	uint64_t graph; /* recorded handle */
	unsigned execs; /* instantiated from it and alive */
	bool destroyed; /* the graph itself */
};

void captures_keep(struct engine *e, struct pending *p)
{
	p->next = e->captured;
	e->captured = p;
	e->counts.captured++;
	e->counts.captured_alive++;
}

static bool starts(const struct call *c, const char *prefix)
{
	return !strncmp(c->f->base, prefix, strlen(prefix));
}

/* Nodes of one graph that become nodes of another, which keeps the buffers. Then they are kept for good. */
static bool shares_nodes(const struct call *c)
{
	static const char *const prefixes[] = {"cuGraphClone",
					       "cuGraphAddChildGraphNode",
					       "cuGraphAddNode",
					       "cuGraphNodeSetParams",
					       "cuGraphExecUpdate",
					       "cuGraphExecChildGraphNode",
					       "cuGraphExecNodeSetParams",
					       "cuStreamBeginCaptureToGraph"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (starts(c, prefixes[i]))
			return true;
	return false;
}

/* With two captures under way which one a copy went into is not known: its buffer stays. */
static void end_capture(struct engine *e, const struct call *c)
{
	struct capture *k;
	uint64_t graph;
	bool mixed = e->captures_overlap;

	if (e->capturing > 1)
		return;
	e->captures_overlap = false;
	k = e->captured ? calloc(1, sizeof(*k)) : NULL;
	if (!k)
		return;
	if (!mixed && call_recorded_out(e, c, 1, &graph))
		k->graph = graph;
	else
		k->execs = 1; /* for ever */
	k->copies = e->captured;
	e->captured = NULL;
	k->next = e->captures;
	e->captures = k;
}

static struct capture *of_graph(struct engine *e, uint64_t graph)
{
	struct capture *k = e->captures;

	while (k && (k->destroyed || k->graph != graph))
		k = k->next;
	return k;
}

static void instantiate(struct engine *e, const struct call *c)
{
	struct capture *k = of_graph(e, c->rec->args[1]);
	uint64_t exec;

	if (!k)
		return;
	k->execs++; /* when the handle is not known, for ever */
	if (call_recorded_out(e, c, 0, &exec))
		map_set(&e->graph_execs, exec, word(k));
}

static void destroy_exec(struct engine *e, uint64_t exec)
{
	uint64_t k;

	if (!map_get(&e->graph_execs, exec, &k))
		return;
	((struct capture *)(uintptr_t)k)->execs--;
	map_remove(&e->graph_execs, exec);
}

static void free_copies(struct engine *e, struct pending *p)
{
	while (p) {
		struct pending *next = p->next;

		pending_free(p);
		e->counts.captured_alive--;
		p = next;
	}
}

static bool can_be_freed(const struct engine *e, const struct capture *k)
{
	if (!k->destroyed || k->execs || e->capturing)
		return false;
	for (const struct pending *p = k->copies; p; p = p->next)
		if (p->live_context != e->contexts.current)
			return false;
	return true;
}

/* A graph may be destroyed while its last launch runs. What can't be waited for stays; a fault that the wait
 * meets stays in the context, for the next call to meet. */
static void sweep(struct engine *e)
{
	struct capture **at = &e->captures, *k;
	bool waited = false;

	while ((k = *at)) {
		if (!can_be_freed(e, k)) {
			at = &k->next;
			continue;
		}
		if (!waited && driver_plain(&e->drv, "cuCtxSynchronize", 0))
			return;
		waited = true;
		*at = k->next;
		free_copies(e, k->copies);
		free(k);
	}
}

void captures_follow(struct engine *e, const struct call *c)
{
	struct capture *k;

	if (starts(c, "cuStreamBeginCapture"))
		e->captures_overlap |= e->capturing > 0;
	if (shares_nodes(c))
		e->captures_shared = true;
	if (!strcmp(c->f->base, "cuStreamEndCapture")) {
		end_capture(e, c);
	} else if (starts(c, "cuGraphInstantiate")) {
		instantiate(e, c);
	} else if (starts(c, "cuGraphExecDestroy") || !strcmp(c->f->base, "cuGraphDestroy")) {
		k = of_graph(e, c->rec->args[0]);
		if (starts(c, "cuGraphExecDestroy"))
			destroy_exec(e, c->rec->args[0]);
		else if (k)
			k->destroyed = true;
		if (!e->captures_shared)
			sweep(e);
	}
}

void captures_free(struct engine *e)
{
	struct capture *k;

	while ((k = e->captures)) {
		e->captures = k->next;
		free_copies(e, k->copies);
		free(k);
	}
	free_copies(e, e->captured);
	e->captured = NULL;
	map_free(&e->graph_execs);
}
