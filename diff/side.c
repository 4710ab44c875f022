/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/side.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"

enum { MAX_THREADS = 1 << 24 }; /* as of numbers: roles are an array */

/* "cutrace replay ..." */
static bool is_replay(const struct side *s)
{
	const char *command = trace_meta_text(s->trace, "command"),
		   *end = command ? strchr(command, ' ') : NULL;

	return end && end - command >= 7 && !strncmp(end - 7, "cutrace replay ", 15);
}

int side_open(struct side *s, const char *path, struct diag *d)
{
	const struct trace_thread *threads;
	unsigned n;
	int rc;

	memset(s, 0, sizeof(*s));
	s->path = path;
	s->file.fd = -1;
	rc = trace_open(&s->trace, path, d);
	if (!rc)
		rc = trace_check_rows(s->trace, NULL, NULL, d);
	if (rc)
		return rc;
	s->replay = is_replay(s);
	threads = trace_threads(s->trace, &n);
	for (unsigned i = 0; i < n; i++) {
		if (threads[i].id >= MAX_THREADS)
			return diag_set(d, CUTRACE_ECORRUPT, path,
					"the trace is damaged: a thread has number %u", threads[i].id);
		if (threads[i].id >= s->nthreads)
			s->nthreads = threads[i].id + 1;
	}
	s->roles = calloc(s->nthreads + 1, sizeof(*s->roles));
	return s->roles ? 0 : diag_set(d, CUTRACE_ENOMEM, path, "out of memory");
}

void side_close(struct side *s)
{
	for (unsigned k = 0; s->lists && k < s->nroles; k++)
		call_list_free(&s->lists[k]);
	call_file_close(&s->file);
	free(s->lists);
	free(s->roles);
	if (s->trace)
		trace_close(s->trace);
}

/* ---- reading ---------------------------------------------------------------------------- */

/* A replay has an order of calls of its own, so other waits; it switches contexts as it needs them, and asks its driver. */
static bool is_of_replay(const char *name)
{
	static const char *const names[] = {"cuDriverGetVersion",  "cuGetExportTable",   "cuCtxSetCurrent",
					    "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuCtxGetCurrent"};

	for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
		if (!strcmp(name, names[k]))
			return true;
	return !strncmp(name, "export:", 7);
}

bool side_leaves_out(const struct side *s, const struct trace_call *c)
{
	const struct trace_function *f = trace_function(s->trace, c->func);
	const struct api_func *known = f && f->known ? api_func_find(f->name) : NULL;

	if (known && known->replay == API_REPLAY_POLL)
		return true;
	if (!s->loose || !f)
		return false;
	return is_of_replay(f->name) ||
	       (known && (known->replay == API_REPLAY_SKIP || known->replay == API_REPLAY_WAIT));
}

static uint64_t hash_text(uint64_t h, const char *s)
{
	for (; s && *s; s++)
		h = (h ^ (uint8_t)*s) * 1099511628211u;
	return h * 31 + 7;
}

unsigned side_role(const struct side *s, uint32_t thread)
{
	return thread < s->nthreads && s->roles[thread] < s->nroles ? s->roles[thread] : 0;
}

static bool read_calls(struct side *s, struct decoder *dec, struct object_names *names,
		       struct trace_call_iter *it, void (*progress)(void *, uint64_t), void *ctx, int *rc)
{
	struct leaves l = {0};
	struct trace_call c;
	bool ok = true;

	while (ok && (*rc = trace_call_next(it, &c)) == 1) {
		const struct row *r;
		unsigned role = side_role(s, c.thread);

		if (++s->calls % 65536 == 0 && progress)
			progress(ctx, s->calls);
		if (side_leaves_out(s, &c) && ++s->polls)
			continue;
		r = decode_call(dec, &c);
		leaves_of(&l, names, r, role);
		struct entry e = {c.id, hash_text(hash_text(14695981039346656037u, r->function), r->kernel),
				  leaves_hash(&l)};
		e.whole ^= e.kind;
		ok = !l.failed && call_list_append(&s->lists[role], &s->file, &e);
	}
	leaves_free(&l);
	return ok;
}

int side_read(struct side *s, unsigned nroles, void (*progress)(void *ctx, uint64_t calls), void *ctx,
	      struct diag *d)
{
	struct decoder *dec = decoder_new(s->trace, 4096);
	struct object_names *names = object_names_new(s->trace, s->hashes);
	struct trace_call_iter *it = trace_calls(s->trace, 0, UINT64_MAX);
	int rc = call_file_open(&s->file, d), next = 0;

	s->lists = calloc(nroles + 1, sizeof(*s->lists));
	s->nroles = nroles;
	if (!rc && (!dec || !names || !it || !s->lists))
		rc = diag_set(d, CUTRACE_ENOMEM, s->path, "out of memory");
	if (!rc && !read_calls(s, dec, names, it, progress, ctx, &next)) {
		rc = diag_set(d, CUTRACE_EIO, s->path, "can't keep the list of its calls: %s",
			      strerror(errno ? errno : ENOMEM));
		diag_hint(d, "TMPDIR names the folder of temporary files: 24 bytes a call are needed");
	}
	if (!rc && next < 0)
		rc = diag_set(d, CUTRACE_ECORRUPT, s->path,
			      "the trace is damaged: not all calls can be read");
	trace_call_iter_free(it);
	object_names_free(names);
	decoder_free(dec);
	return rc;
}
