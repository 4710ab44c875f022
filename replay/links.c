/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the just-in-time linker. Inputs are handed over as recorded, those from files too; options are
 * not, for they name buffers of the program. What a linker on another driver made may be machine code: then the module
 * that was loaded from it is made of what comes out of the linker here.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/engine.h"

static bool is(const struct call *c, const char *base)
{
	return !strcmp(c->f->base, base);
}

static void drop_options(struct call *c)
{
	int n = call_param_index(c->f, "numOptions"), options = call_param_index(c->f, "options"),
	    values = call_param_index(c->f, "optionValues");

	if (n < 0 || options < 0 || values < 0)
		return;
	c->args[n] = c->args[options] = c->args[values] = 0;
}

/* cuLinkAddFile(state, type, path, ...) becomes cuLinkAddData(state, type, data, size, name, ...). */
static bool as_data(struct call *c)
{
	const struct api_func *f = api_func_find("cuLinkAddData_v2");

	if (!f)
		return false;
	c->f = f;
	c->args[4] = c->args[2]; /* the path is the name */
	return true;
}

static void add_input(struct engine *e, struct call *c)
{
	struct diag d = DIAG_INIT;
	size_t bytes = 0;
	char *data = c->image.buffer ? trace_buffer_load(e->trace, c->image.buffer, &bytes, &d) : NULL, *text;

	if (!data) {
		c->refused = arena_printf(&c->arena, "what it links can't be read: %s",
					  d.what[0]        ? d.what
					  : c->unavailable ? c->why_unavailable
							   : "it was not recorded");
		return;
	}
	text = realloc(data, bytes + 1);
	data = text ? text : data;
	if (text)
		text[bytes] = 0; /* PTX is text: files have no NUL at their end */
	if (is(c, "cuLinkAddFile") && (!text || !as_data(c))) {
		c->refused = "out of memory";
	} else {
		c->args[2] = word(data);
		c->args[3] = bytes + (text && c->args[1] == 1 /* CU_JIT_INPUT_PTX */);
		drop_options(c);
		call_issue(e, c);
	}
	free(data);
}

static void complete(struct engine *e, struct call *c)
{
	const struct trace_image *recorded;

	call_issue(e, c);
	if (c->refused || c->result || c->rec->result || !c->image.buffer)
		return;
	recorded = trace_image(e->trace, c->image.buffer);
	if (!recorded || !recorded->kind || strcmp(recorded->kind, "ptx"))
		module_use_image(e, c->image.buffer, *(void **)(uintptr_t)c->args[1],
				 *(size_t *)(uintptr_t)c->args[2]);
}

bool link_replay(struct engine *e, struct call *c)
{
	if (strncmp(c->f->base, "cuLink", 6) || is(c, "cuLinkDestroy"))
		return false;
	if (!call_rebuild(e, c))
		return true;
	if (is(c, "cuLinkAddData") || is(c, "cuLinkAddFile")) {
		add_input(e, c);
	} else if (is(c, "cuLinkComplete") && c->args[1] && c->args[2]) {
		complete(e, c);
	} else {
		drop_options(c);
		call_issue(e, c);
	}
	return true;
}
