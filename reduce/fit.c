/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/passes.h"
#include "replay/excerpt.h"

#define MOST_SHRUNK 32 /* buffers; each takes some tens of replays on the interpreter */

/* ---- the same results as at first ------------------------------------------------------------- */

static const uint8_t *contents_at(const struct scene *s, uint64_t base, uint64_t bytes)
{
	for (unsigned i = 0; i < s->nbuffers; i++) {
		const struct scene_buffer *b = &s->buffers[i];

		if (base >= b->base && base - b->base <= b->bytes && bytes <= b->bytes - (base - b->base))
			return (b->after ? b->after : b->data) + (base - b->base);
	}
	return NULL;
}

static bool same_results(const struct judge *j, const char *made)
{
	struct diag d = DIAG_INIT;
	struct scene s;
	bool same;

	if (scene_load(&s, made, &d))
		return false;
	same = true;
	for (unsigned i = 0; i < s.nbuffers && same; i++) {
		const struct scene_buffer *b = &s.buffers[i];
		const uint8_t *want = b->after ? contents_at(j->accept_ctx, b->base, b->bytes) : NULL;

		same = !b->after || (want && !memcmp(want, b->after, b->bytes));
	}
	scene_free(&s);
	return same;
}

/* What the interpreter makes of the launch as it is. */
static int make_base(struct judge *j, struct scene *base, struct diag *d)
{
	const char *candidate = workroom_path(j->room, "candidate.trace"),
		   *made = workroom_path(j->room, "base.trace");
	const struct excerpt_request q = {.trace = candidate,
					  .out = made,
					  .first = 1,
					  .last = UINT64_MAX,
					  .remake = true,
					  .scratch = true,
					  .device = j->reference};
	int rc = scene_save(j->current, candidate, NULL, d);

	if (!rc)
		rc = excerpt_make(j->room, &q, d);
	return rc ? rc : scene_load(base, made, d);
}

/* ---- texts ------------------------------------------------------------------------------------------ */

static int redact_texts(struct scene *s, bool strings, struct ptx_redaction *counts)
{
	memset(counts, 0, sizeof(*counts));
	for (unsigned i = 0; i < s->nmodules; i++) {
		struct scene_module *m = &s->modules[i];
		char *text = scene_keep(s, ptx_redact(m->ptx, m->bytes, strings, counts));

		if (!text)
			return CUTRACE_ENOMEM;
		m->ptx = text;
	}
	return 0;
}

static int redact(struct judge *j, bool compared, struct fit_notes *notes, struct diag *d)
{
	for (int strings = 1; strings >= 0; strings--) {
		struct scene s;

		if (scene_copy(&s, j->current) || redact_texts(&s, strings, &notes->ptx))
			return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
		notes->strings_kept = !strings;
		if (compared) {
			if (judge_take(j, &s))
				return 0;
			continue;
		}
		scene_drop(j->current);
		*j->current = s;
		return 0;
	}
	return diag_set(d, CUTRACE_ENOTSUP, j->kernel,
			"without comments and names of files its PTX does something else");
}

int fit_scene(struct judge *j, const struct scene *first, struct fit_notes *notes, struct diag *d)
{
	struct diag why = DIAG_INIT;
	struct scene base = {0};
	int rc = scene_copy(j->current, first);
	double begin = judge_now(), patience = j->step_s;

	j->reference = "interp";
	if (!rc && make_base(j, &base, &why)) {
		notes->uncut = true;
		snprintf(notes->why_uncut, sizeof(notes->why_uncut), "%.250s", why.what);
	}
	j->keep_lines = true;
	/* What takes much longer than the whole does not come to an end. */
	j->step_s = 5 + 20 * (judge_now() - begin);
	j->accept = same_results;
	j->accept_ctx = &base;
	if (!rc)
		rc = redact(j, !notes->uncut, notes, d);
	if (!rc && !notes->uncut) {
		pass_unused_code(j);
		pass_drop_buffers(j);
		if (j->current->nbuffers <= MOST_SHRUNK)
			pass_shrink_buffers(j);
	}
	if (!rc && workroom_interrupted())
		rc = diag_set(d, CUTRACE_EIO, "", "interrupted");
	j->accept = NULL;
	j->step_s = patience;
	scene_free(&base);
	return rc;
}
