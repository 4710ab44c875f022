/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/extension_client.h"

#include <stdlib.h>
#include <string.h>

#include "api/extension.h"
#include "replay/engine.h"
#include "replay/narrow.h"

/* A library of another version may have fewer members. */
#define HAS(x, member) \
	((x) && (x)->size >= offsetof(struct cutrace_extension, member) + sizeof((x)->member) && (x)->member)

const struct cutrace_extension *extension_table_of(const struct engine *e)
{
	return (const struct cutrace_extension *)e->drv.ext;
}

static const struct cutrace_extension *extension(struct engine *e)
{
	return extension_table_of(e);
}

void extension_find(struct driver *drv)
{
	static const struct {
		char bytes[16];
	} uuid = {{'c', 'u', 't', 'r', 'a', 'c', 'e', ' ', 'e', 'x', 't', 'e', 'n', 's', 'i', 1}};
	const char *off =
		getenv("CUTRACE_REPLAY_NO_EXTENSION"); /* a test aid: our library as a foreign one */
	const void *x = NULL;

	drv->ext = NULL;
	if ((!off || !*off || *off == '0') &&
	    !driver_plain(drv, "cuGetExportTable", 2, word(&x), word(&uuid)))
		drv->ext = x;
}

bool extension_place(struct engine *e, uint64_t address)
{
	const struct cutrace_extension *x = extension(e);

	return HAS(x, place_next) && x->place_next(address) == 0;
}

/* Behind n others; where there is no memory for it, it goes where it likes. */
static unsigned add_global(const char *name, uint64_t address, unsigned n, const char ***names,
			   uint64_t **addresses)
{
	const char **more_names = realloc(*names, (n + 1) * sizeof(**names));
	uint64_t *more_addresses = realloc(*addresses, (n + 1) * sizeof(**addresses));

	*names = more_names ? more_names : *names;
	*addresses = more_addresses ? more_addresses : *addresses;
	if (!more_names || !more_addresses)
		return n;
	more_names[n] = name;
	more_addresses[n] = address;
	return n + 1;
}

void extension_place_globals(struct engine *e, uint64_t load_call)
{
	const struct cutrace_extension *x = extension(e);
	const char **names;
	uint64_t *addresses;
	unsigned n;

	if (!HAS(x, place_module_globals))
		return;
	n = plan_globals_of(e, load_call, &names, &addresses);
	if (e->narrow && e->narrow->variable && HAS(x, address_is_free) &&
	    x->address_is_free(e->narrow->variable, sizeof(struct ptx_log_control)))
		n = add_global(PTX_LOG_VARIABLE, e->narrow->variable, n, &names, &addresses);
	if (n)
		x->place_module_globals(n, names, addresses);
	free(names);
	free(addresses);
}

void extension_place_texture(struct engine *e, uint64_t handle)
{
	const struct cutrace_extension *x = extension(e);

	if (HAS(x, place_next_texture))
		x->place_next_texture(handle);
}

uint64_t extension_launch_count(struct engine *e)
{
	const struct cutrace_extension *x = extension(e);

	return HAS(x, launch_count) ? x->launch_count() : 0;
}

/* clang writes tabs between operation and operands. */
static void copy_line(char *out, size_t size, const char *line)
{
	snprintf(out, size, "%s", line);
	for (; *out; out++)
		if (*out == '\t')
			*out = ' ';
}

bool extension_last_fault(struct engine *e, struct extension_fault *out)
{
	const struct cutrace_extension *x = extension(e);
	struct dev_fault f;

	memset(out, 0, sizeof(*out));
	if (!HAS(x, last_fault) || x->last_fault(&f))
		return false;
	snprintf(out->kernel, sizeof(out->kernel), "%s", f.kernel);
	snprintf(out->message, sizeof(out->message), "%s", f.message);
	copy_line(out->text, sizeof(out->text), f.ptx);
	snprintf(out->source, sizeof(out->source), "%s", f.source);
	out->line = f.line;
	memcpy(out->block, f.block, sizeof(out->block));
	memcpy(out->thread, f.thread, sizeof(out->thread));
	return true;
}

bool extension_watch(struct engine *e, uint64_t address, unsigned bytes)
{
	const struct cutrace_extension *x = extension(e);
	char value[64];

	snprintf(value, sizeof(value), "0x%llx:%u", (unsigned long long)address, bytes);
	return HAS(x, set_control) && x->set_control("watch", value) == 0;
}

bool extension_watch_result(struct engine *e, struct extension_hit *out)
{
	const struct cutrace_extension *x = extension(e);
	struct dev_watch_hit hit;

	memset(out, 0, sizeof(*out));
	if (!HAS(x, watch_result) || x->watch_result(&hit))
		return false;
	out->launch = hit.launch_id;
	out->line = hit.line;
	snprintf(out->kernel, sizeof(out->kernel), "%s", hit.kernel);
	copy_line(out->text, sizeof(out->text), hit.ptx);
	snprintf(out->source, sizeof(out->source), "%s", hit.source);
	memcpy(out->block, hit.block, sizeof(out->block));
	memcpy(out->thread, hit.thread, sizeof(out->thread));
	return true;
}
