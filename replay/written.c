/* SPDX-License-Identifier: Apache-2.0
 *
 * What launches wrote when they were recorded (`record --check=contents`): compared with what they write here; in an
 * isolated replay put back where it differs, so that the next launch begins with what it had when it was recorded;
 * and put in place of a launch that is not made, because it can't be or because it is another shard's.
 *
 * What stands in for a launch is written when something may look at it: of many launches before a shard's first one
 * only the last contents are.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/engine.h"

#define PIECE    (4u << 20)
#define KEPT_MAX 4096

/* The payloads that are contents; malloc'ed. What trace_payloads gives is gone with the next question. */
static unsigned contents_of(struct engine *e, uint64_t call, const char *kind, struct written **out)
{
	unsigned n, kept = 0;
	const struct trace_payload *p = trace_payloads(e->trace, call, &n);

	*out = n ? calloc(n, sizeof(**out)) : NULL;
	for (unsigned i = 0; *out && i < n; i++)
		if (!strcmp(p[i].kind, kind) && p[i].buffer)
			(*out)[kept++] = (struct written){p[i].device_address, p[i].width, p[i].buffer};
	return kept;
}

unsigned written_of(struct engine *e, uint64_t call, struct written **out)
{
	return contents_of(e, call, "written", out);
}

unsigned reruns_of(struct engine *e, uint64_t call, struct written **out)
{
	return contents_of(e, call, "rerun", out);
}

/* ---- putting contents where they were ------------------------------------------------ */

static const char *put(struct engine *e, const struct written *w)
{
	uint8_t *data = malloc(PIECE);
	struct diag d = DIAG_INIT;
	const char *why = data ? NULL : "out of memory";

	for (uint64_t at = 0; !why && at < w->bytes; at += PIECE) {
		size_t n = w->bytes - at < PIECE ? w->bytes - at : PIECE;
		uint64_t live = addresses_to_live(&e->addresses, w->base) + at;

		if (trace_buffer_read(e->trace, w->buffer, at, data, n, &d)) {
			why = "the recorded contents can't be read";
			break;
		}
		e->addresses.rewritten_words += addresses_rewrite(&e->addresses, data, n);
		if (driver_plain(&e->drv, "cuMemcpyHtoD_v2", 3, live, word(data), (uint64_t)n))
			why = "the recorded contents can't be written";
	}
	free(data);
	return why;
}

/* Launches before a keyframe are not made: at its call, memory becomes what it was. */
static void put_keyframe(struct engine *e, struct call *c)
{
	const char *why = NULL;
	struct written *w;
	unsigned n;

	if (!e->next_keyframe || c->rec->id < e->next_keyframe || e->dead)
		return;
	e->keyframe_at = e->next_keyframe;
	e->next_keyframe = shard_keyframe_behind(e, e->keyframe_at);
	n = contents_of(e, e->keyframe_at, "keyframe", &w);
	if (!contexts_enter(e, c->thread) ||
	    engine_sync_failed(e, c->rec->id, driver_plain(&e->drv, "cuCtxSynchronize", 0)))
		why = "the device can't be waited for";
	for (unsigned i = 0; !why && i < n; i++) {
		struct address_range *r = addresses_find(&e->addresses, w[i].base);

		e->keyframe_has_variables |= r && r->owner;
		why = put(e, &w[i]);
	}
	free(w);
	if (why)
		engine_taint(e, c->rec->id, "the keyframe could not be put in place: %s", why);
}

void written_flush(struct engine *e, struct call *c)
{
	const char *why = NULL;

	put_keyframe(e, c);
	if (!e->nwritten || e->dead)
		return;
	if (!contexts_enter(e, c->thread) ||
	    engine_sync_failed(e, c->rec->id, driver_plain(&e->drv, "cuCtxSynchronize", 0)))
		why = "the device can't be waited for";
	for (size_t i = 0; !why && i < e->nwritten; i++)
		why = put(e, &e->written[i]);
	e->nwritten = 0;
	if (why)
		engine_taint(e, c->rec->id, "what launches before it wrote could not be put there: %s", why);
}

/* Those that are overwritten whole are not kept; of others the order stays, so that the last one to write a byte is it
 * here, too. False: there are enough of them, or no memory. */
static bool keep(struct engine *e, const struct written *w)
{
	size_t n = 0;

	for (size_t i = 0; i < e->nwritten; i++)
		if (e->written[i].base < w->base ||
		    e->written[i].base + e->written[i].bytes > w->base + w->bytes)
			e->written[n++] = e->written[i];
	e->nwritten = n;
	if (n == e->written_capacity) {
		size_t more = n ? 2 * n : 16;
		struct written *p = n < KEPT_MAX ? realloc(e->written, more * sizeof(*p)) : NULL;

		if (!p)
			return false;
		e->written = p;
		e->written_capacity = more;
	}
	e->written[e->nwritten++] = *w;
	return true;
}

bool written_stand_in(struct engine *e, struct call *c)
{
	struct written *w;
	unsigned n;
	bool ok;

	put_keyframe(e, c);
	if (c->rec->id < e->keyframe && !e->capturing)
		return c->stood_in = true;
	n = written_of(e, c->rec->id, &w);
	ok = n > 0 && !e->capturing;
	for (unsigned i = 0; ok && i < n; i++) {
		if (keep(e, &w[i]))
			continue;
		written_flush(e, c);
		ok = keep(e, &w[i]);
	}
	for (unsigned i = 0; ok && i < n; i++) {
		struct address_range *r = addresses_find(&e->addresses, w[i].base);

		doubt_write(e, w[i].base, w[i].bytes, 0);
		if (r)
			doubt_carry(r, w[i].base, w[i].bytes, 0);
	}
	free(w);
	c->stood_in = ok;
	return ok;
}

void written_injected(struct engine *e, struct call *c, const char *why, uint64_t kernel)
{
	const struct trace_kernel *k = kernel ? trace_kernel(e->trace, kernel) : NULL;
	struct verdict v = {.call = c->rec->id,
			    .kind = "launch",
			    .grade = "injected",
			    .func = c->name,
			    .launch = c->rec->id,
			    .kernel = kernel,
			    .kernel_name = k ? k->name : NULL,
			    .note = why};

	result_verdict(e->out, &v);
	e->counts.launches_injected++;
}

/* ---- comparing --------------------------------------------------------------------------- */

/* 0, or why it can't be compared. */
static const char *compare(struct engine *e, const struct written *w, const struct elem_type *t,
			   const struct compare_limits *limits, struct compare_result *r)
{
	uint8_t *want = malloc(2 * (size_t)PIECE), *got = want ? want + PIECE : NULL;
	struct diag d = DIAG_INIT;
	const char *why = want ? NULL : "out of memory";

	for (uint64_t at = 0; !why && at < w->bytes; at += PIECE) {
		size_t n = w->bytes - at < PIECE ? w->bytes - at : PIECE;
		uint64_t live = addresses_to_live(&e->addresses, w->base) + at;
		struct compare_result piece = {0};

		if (!engine_read_device(e, live, got, n))
			why = "its contents can't be read";
		else if (trace_buffer_read(e->trace, w->buffer, at, want, n, &d))
			why = "the recorded contents can't be read";
		if (why)
			break;
		addresses_rewrite_back(&e->addresses, got, n);
		compare_buffers(t, limits, want, got, n, &piece);
		compare_merge(r, &piece, at / t->bytes);
	}
	free(want);
	return why;
}

struct judged {
	bool differs, beyond; /* the limits that are given, and nobody knows why */
};

/* Where the driver that was recorded gives now this, now that, the PTX leaves something open that was not seen. */
static bool is_exact(struct engine *e, uint64_t call, uint64_t kernel)
{
	struct written *w = NULL;
	bool exact = recorded_ptx_is_exact(e, kernel) && !reruns_of(e, call, &w);

	free(w);
	return exact;
}

static struct judged check_one(struct engine *e, struct call *c, const struct written *w)
{
	struct address_range *range = addresses_find(&e->addresses, w->base);
	const char *elem = range && range->elem_type[0] ? range->elem_type : w->bytes % 4 ? "b8" : "b32";
	const struct elem_type *t = elem_type_find(elem);
	struct verdict v = {.call = c->rec->id,
			    .kind = "written",
			    .func = c->name,
			    .launch = c->rec->id,
			    .kernel = e->last_kernel,
			    .kernel_name = check_kernel_name(e, c),
			    .allocation = range ? range->id : 0,
			    .base = range ? range->base : w->base,
			    .bytes = w->bytes,
			    .elem_type = t->name};
	const struct compare_limits *limits;
	unsigned rule;

	limits = check_limits(e, v.kernel_name, range, &rule);
	v.note = compare(e, w, t, limits, &v.r);
	v.grade = v.note ? "unverified" : check_grade(e, &v.r, doubt_of(e, range));
	if (!v.note)
		v.inherited = doubt_inherited(e, range, c->rec->id, v.r.beyond);
	if (!v.note && !strcmp(v.grade, "unverified"))
		v.note = check_why_unverified(e, doubt_of(e, range));
	if (rule && v.r.differing && !v.r.beyond && !v.note)
		v.note = check_tolerance_note(rule);
	if (v.r.beyond && e->probe_folder && e->opt->envelope && !e->probe_calls && !v.note &&
	    is_exact(e, c->rec->id, v.kernel))
		v.note = "nothing in this kernel is left open by the PTX ISA: any difference counts";
	if (v.r.differing) {
		v.address = w->base + v.r.first * t->bytes;
		v.live = addresses_to_live(&e->addresses, v.address);
		v.offset = v.address - v.base;
		elem_format(t, v.r.want, v.want, sizeof(v.want));
		elem_format(t, v.r.got, v.got, sizeof(v.got));
	}
	e->counts.written++;
	result_verdict(e->out, &v);
	return (struct judged){v.r.differing, !strcmp(v.grade, "differs")};
}

/* More are not looked at (probe.c, narrow.c), and a long trace would fill the disk. */
static bool are_wanted(struct engine *e, uint64_t call)
{
	uint64_t before = 0;

	if (e->probe_calls)
		return true;
	if (is_exact(e, call, e->last_kernel))
		return e->nkept_exact++ < PROBE_EXACT;
	map_get(&e->kept_of, e->last_kernel, &before);
	return (!map_set(&e->kept_of, e->last_kernel, before + 1) && before < PROBE_OF_KERNEL) |
	       (e->nkept++ < e->opt->most_judged || !e->opt->most_judged);
}

static bool write_range(struct engine *e, const struct written *w, FILE *f)
{
	uint8_t *data = malloc(PIECE);
	bool ok = f && data;

	for (uint64_t at = 0; ok && at < w->bytes; at += PIECE) {
		size_t bytes = w->bytes - at < PIECE ? w->bytes - at : PIECE;

		ok = engine_read_device(e, addresses_to_live(&e->addresses, w->base) + at, data, bytes);
		addresses_rewrite_back(&e->addresses, data, bytes);
		ok = ok && fwrite(data, 1, bytes, f) == bytes;
	}
	free(data);
	return ok;
}

/* For the envelope. */
static void keep_results(struct engine *e, uint64_t call, const struct written *w, unsigned n)
{
	FILE *f = probe_file(e, call);
	bool ok = f != NULL;

	for (unsigned i = 0; ok && i < n; i++)
		ok = write_range(e, &w[i], f);
	if (f)
		fclose(f);
}

/* For who asked (--keep). */
static void keep_range(struct engine *e, uint64_t call, const struct written *w)
{
	char path[PATH_MAX];
	bool ok;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u.%" PRIu64 ".%" PRIx64, e->opt->keep, e->process, call, w->base);
	f = fopen(path, "wb");
	ok = write_range(e, w, f);
	if (f && fclose(f))
		ok = false;
	if (!ok)
		engine_say(e, call, "error", "what it wrote can't be kept in %s", path);
}

static void check_all(struct engine *e, struct call *c, const struct written *w, unsigned n)
{
	bool differs = e->opt->no_compare, beyond = false;

	for (unsigned i = 0; i < n && !e->opt->no_compare; i++) {
		struct judged j = check_one(e, c, &w[i]);

		differs |= j.differs;
		beyond |= j.beyond;
		if (j.differs && e->opt->keep && !e->probe_calls)
			keep_range(e, c->rec->id, &w[i]);
	}
	if (e->probe_folder && (beyond || e->probe_calls) && shard_has(e, c->rec->id) &&
	    are_wanted(e, c->rec->id))
		keep_results(e, c->rec->id, w, n);
	for (unsigned i = 0; differs && e->opt->isolated && i < n; i++)
		if (put(e, &w[i]))
			engine_taint(e, c->rec->id,
				     "its recorded results could not be put in place of those here");
}

/* Once: the report's names are worth less then. */
static void say_unjudged(struct engine *e, const struct call *c)
{
	if (e->unjudged || c->result || !e->opt->isolated || e->opt->no_compare || e->probe_calls)
		return;
	e->unjudged = true;
	engine_say(e, c->rec->id, "warning",
		   "this launch was recorded without what it wrote: it is not judged, and what it makes "
		   "wrong shows in "
		   "launches behind it (record --check=contents, without every:, launch: or kernel:, keeps "
		   "all)");
}

bool written_check(struct engine *e, struct call *c)
{
	struct written *w;
	unsigned n;

	if (c->stood_in)
		return true;
	n = written_of(e, c->rec->id, &w);
	if (!n)
		say_unjudged(e, c);
	if (n && !c->refused && !c->result && !e->dead && !e->capturing &&
	    !engine_sync_failed(e, c->rec->id, driver_plain(&e->drv, "cuCtxSynchronize", 0)))
		check_all(e, c, w, n);
	free(w);
	return n > 0;
}
