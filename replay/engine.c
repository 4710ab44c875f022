/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "replay/engine.h"
#include "replay/extension_client.h"
#include "replay/repeat.h"

static int open_memory(struct engine *e)
{
	for (int phase = 0; phase < 2; phase++) {
		e->memory[phase] = trace_memory_new(e->trace);
		if (!e->memory[phase])
			return CUTRACE_ENOMEM;
		e->memory_view[phase] = (struct api_memory){trace_memory_read, e->memory[phase]};
	}
	return 0;
}

/* The caller has set opt, process, pass, out and, if wanted, blame, results, progress. */
int engine_init(struct engine *e, const char *driver_path, struct diag *d)
{
	int rc = trace_open(&e->trace, e->opt->trace_path, d);

	if (rc)
		return rc;
	e->contexts.current = UINT64_MAX;
	e->scratch = calloc(1, sizeof(*e->scratch));
	if (!e->scratch || handles_init(&e->handles) || open_memory(e))
		return diag_set(d, CUTRACE_ENOMEM, e->opt->trace_path, "out of memory");
	rc = plan_make(e, d);
	if (rc)
		return rc;
	rc = shard_plan(e, d);
	if (rc)
		return rc;
	result_of_shard(e->out, e);
	if (e->opt->driver && reserve_plan(e))
		return diag_set(d, CUTRACE_ECORRUPT, e->opt->trace_path, "cannot read its allocations");
	if (e->reserve_clashes && e->opt->may_restart && !getenv("CUTRACE_REPLAY_NO_ASLR"))
		return ENGINE_RESTART;
	if (e->reserve_clashes)
		engine_say(e, 0, "info", "%llu granules of recorded addresses are taken in this process",
			   (unsigned long long)e->reserve_clashes);
	rc = driver_open(&e->drv, driver_path, d);
	if (rc)
		return rc;
	extension_find(&e->drv);
	if (e->drv.ext)
		reserve_drop(e);
	return 0;
}

void engine_free(struct engine *e)
{
	transfers_abandon(e);
	captures_free(e);
	for (int phase = 0; phase < 2; phase++)
		if (e->memory[phase])
			trace_memory_free(e->memory[phase]);
	doubt_free(e);
	contexts_free(&e->contexts);
	handles_free(&e->handles);
	addresses_free(&e->addresses);
	map_free(&e->missing_modules);
	map_free(&e->functions);
	map_free(&e->kept_of);
	for (size_t i = 0; i < e->nreasons; i++)
		free(e->reasons[i]);
	free(e->reasons);
	free(e->scratch);
	free(e->written);
	repeat_free(e);
	free(e->unsettled);
	module_free_images(e);
	reserve_drop(e);
	recorded_ptx_free(e);
	plan_free(e);
	driver_close(&e->drv);
	if (e->trace)
		trace_close(e->trace);
	arena_free(&e->arena);
}

void engine_write_counts(struct engine *e)
{
	const struct counts *c = &e->counts;
	const struct {
		const char *what;
		uint64_t n;
	} rows[] = {
		{"calls", c->calls},
		{"issued", c->issued},
		{"skipped", c->skipped},
		{"nested", c->nested},
		{"in_flight", c->in_flight},
		{"foreign", c->foreign},
		{"refused", c->refused},
		{"launches", c->launches},
		{"launches_refused", c->launches_refused},
		{"launches_left_out", c->launches_left_out},
		{"launches_injected", c->launches_injected},
		{"written", c->written},
		{"hashes", c->hashes},
		{"copies", c->copies},
		{"captured", c->captured},
		{"captured_alive", c->captured_alive},
		{"images_alive", e->images.used},
		{"faults", c->faults},
		{"failed_skipped", c->failed_skipped},
		{"result_differs", c->result_differs},
		{"rewritten_params", e->addresses.rewritten_params},
		{"rewritten_words", e->addresses.rewritten_words},
		{"tainted", e->tainted},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		result_count(e->out, rows[i].what, rows[i].n);
}
