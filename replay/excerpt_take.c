/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes an excerpt out of a replay: before each launch of the range, the memory that it may look at, as it is on the
 * device; then the launch, and what it wrote: as it was recorded, or (opt->excerpt_remake) as it is made here.
 *
 * Which memory a launch may look at is found by its pointers: words of its parameters, of its module's variables and of
 * what is reached so, that lie in an allocation. An address that a kernel computes otherwise is missed; whoever asked for
 * the excerpt replays it and sees.
 */
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "replay/engine.h"
#include "replay/excerpt.h"

#define PIECE       (1u << 20)
#define GRANULE     (UINT64_C(2) << 20)   /* of memory that may be mapped in parts */
#define MOST_HASHED (UINT64_C(256) << 20) /* bytes, at once */

/* A range that the excerpt has, and its contents there. */
struct kept {
	uint64_t base, bytes;
	struct trace_hash hash;
	bool needed;
};

struct taking {
	struct excerpt *x;
	struct kept *kept;
	size_t nkept, capacity;
	struct map modules, kernels; /* row of the old trace -> number in the excerpt */
	uint8_t *piece, *marked;     /* marked: by index in addresses.by_base */
	size_t *queue, nqueue;
	struct written *written; /* of the launch at hand */
	unsigned nwritten;
	bool failed;
};

static bool fail(struct engine *e, const struct call *c, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	if (e->taking->failed)
		return false;
	e->taking->failed = true;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* Of no call: those of this range are another replay's to judge. */
	engine_say(e, 0, "fatal", "the launch of call %llu can't be taken out of its program: %s",
		   (unsigned long long)c->rec->id, text);
	return false;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

bool excerpt_wants(const struct engine *e, uint64_t call)
{
	const struct replay_options *o = e->opt;

	return o->excerpt && !e->blame && call >= o->first_launch && call <= o->last_launch &&
	       (!o->excerpt_calls ||
		bsearch(&call, o->excerpt_calls, o->excerpt_ncalls, sizeof(call), by_number));
}

/* ---- memory --------------------------------------------------------------------------------- */

static bool read_range(struct engine *e, const struct address_range *r, uint64_t at, size_t bytes)
{
	struct taking *t = e->taking;

	if (!engine_read_device(e, r->live + at, t->piece, bytes)) {
		if (!r->host_visible || !strcmp(r->kind, "vmm"))
			return false;
		memcpy(t->piece, (const void *)(uintptr_t)(r->live + at), bytes);
	}
	addresses_rewrite_back(&e->addresses, t->piece, bytes);
	return true;
}

static void mark(struct engine *e, uint64_t address)
{
	struct taking *t = e->taking;
	const struct address_range *r;
	size_t low = 0, high = e->addresses.n;

	if (address < e->addresses.lo || address > e->addresses.hi)
		return;
	r = addresses_find(&e->addresses, address);
	if (!r)
		return;
	while (low + 1 < high) {
		size_t mid = (low + high) / 2;

		if (e->addresses.by_base[mid]->base <= r->base)
			low = mid;
		else
			high = mid;
	}
	if (t->marked[low])
		return;
	t->marked[low] = 1;
	t->queue[t->nqueue++] = low;
}

static void mark_words(struct engine *e, const void *data, size_t bytes)
{
	for (size_t at = 0; at + 8 <= bytes; at += 8) {
		uint64_t w;

		memcpy(&w, (const char *)data + at, 8);
		mark(e, w);
	}
}

/* Runs of a range that can be read: all of it, but for address space of which parts are mapped. */
static bool for_each_run(struct engine *e, const struct address_range *r,
			 bool (*fn)(struct engine *e, const struct address_range *r, uint64_t at,
				    uint64_t bytes))
{
	uint64_t begin = 0;
	bool ok = true;

	if (strcmp(r->kind, "vmm") || !r->bytes)
		return !r->bytes || fn(e, r, 0, r->bytes);
	for (uint64_t at = 0; ok && at < r->bytes; at += GRANULE) {
		uint8_t byte;

		if (engine_read_device(e, r->live + at, &byte, 1))
			continue;
		if (at > begin)
			ok = fn(e, r, begin, at - begin);
		begin = at + GRANULE;
	}
	if (ok && begin < r->bytes)
		ok = fn(e, r, begin, r->bytes - begin);
	return ok;
}

static bool scan_run(struct engine *e, const struct address_range *r, uint64_t at, uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += PIECE) {
		size_t n = bytes - done < PIECE ? (size_t)(bytes - done) : PIECE;

		if (!read_range(e, r, at + done, n))
			return false;
		mark_words(e, e->taking->piece, n);
	}
	return true;
}

static bool is_variable_of(const struct engine *e, const struct address_range *r,
			   const struct trace_module *root)
{
	return r->owner && (r->owner == root->handle || e->opt->excerpt_all_memory);
}

/* All that the launch may reach. */
static bool find_memory(struct engine *e, const struct call *c, const void *params, size_t bytes,
			const struct trace_module *root)
{
	struct taking *t = e->taking;
	size_t n = e->addresses.n;

	free(t->marked);
	free(t->queue);
	t->marked = calloc(n + 1, 1);
	t->queue = calloc(n + 1, sizeof(*t->queue));
	t->nqueue = 0;
	if (!t->marked || !t->queue)
		return fail(e, c, "out of memory");
	mark_words(e, params, bytes);
	for (unsigned i = 0; i < t->nwritten; i++)
		mark(e, t->written[i].base);
	for (size_t i = 0; i < n; i++)
		if (e->opt->excerpt_all_memory || (root && is_variable_of(e, e->addresses.by_base[i], root)))
			mark(e, e->addresses.by_base[i]->base);
	for (size_t i = 0; i < t->nqueue; i++)
		if (!for_each_run(e, e->addresses.by_base[t->queue[i]], scan_run))
			t->marked[t->queue[i]] = 0; /* nothing can look at what can't be read */
	return true;
}

static struct kept *find_kept(struct taking *t, uint64_t base, uint64_t bytes)
{
	for (size_t i = 0; i < t->nkept; i++)
		if (t->kept[i].base == base && t->kept[i].bytes == bytes)
			return &t->kept[i];
	return NULL;
}

static struct kept *add_kept(struct taking *t, uint64_t base, uint64_t bytes)
{
	if (t->nkept == t->capacity) {
		size_t more = t->capacity ? 2 * t->capacity : 64;
		struct kept *grown = reallocarray(t->kept, more, sizeof(*grown));

		if (!grown)
			return NULL;
		t->kept = grown;
		t->capacity = more;
	}
	t->kept[t->nkept] = (struct kept){base, bytes, {{0}}, true};
	return &t->kept[t->nkept++];
}

/* Addresses are given again: what lay there must go first. */
static bool note_needed(struct engine *e, const struct address_range *r, uint64_t at, uint64_t bytes)
{
	struct taking *t = e->taking;
	struct kept *k = find_kept(t, r->base + at, bytes);

	if (k) {
		k->needed = true;
		return true;
	}
	for (size_t i = 0; i < t->nkept; i++) {
		struct kept *old = &t->kept[i];

		if (old->base >= r->base + at + bytes || r->base + at >= old->base + old->bytes)
			continue;
		excerpt_free(t->x, old->base);
		*old = t->kept[--t->nkept];
		i--;
	}
	return true;
}

/* ---- code ------------------------------------------------------------------------------------ */

static const struct trace_module *root_of(struct engine *e, const struct trace_module *m)
{
	while (m && m->parent && m->parent != m->id && plan_module(e, m->parent))
		m = plan_module(e, m->parent);
	return m;
}

static bool load_image(struct engine *e, const struct call *c, const struct trace_image *i, unsigned *number)
{
	struct diag d = DIAG_INIT;
	size_t bytes = 0, ptx_bytes = 0;
	char *ptx = i->ptx ? trace_buffer_load(e->trace, i->ptx, &ptx_bytes, &d) : NULL;
	void *image = NULL;
	bool ok = true;

	if (ptx && e->opt->excerpt_edit) {
		char *edited = e->opt->excerpt_edit(ptx, ptx_bytes);

		free(ptx);
		ptx = edited;
		ptx_bytes = ptx ? strlen(ptx) : 0;
	}
	if (e->opt->excerpt_ptx_only && !ptx)
		ok = fail(e, c, "its code is not there as PTX, and machine code can't be shown or changed");
	else if (e->opt->excerpt_ptx_only || (ptx && i->ptx == i->buffer))
		*number = excerpt_module(e->taking->x, ptx, ptx_bytes, "ptx",
					 i->kind && !strcmp(i->kind, "ptx") ? i->archs : "ptx", NULL, 0);
	else if ((image = trace_buffer_load(e->trace, i->buffer, &bytes, &d)))
		*number = excerpt_module(e->taking->x, image, bytes, i->kind, i->archs, ptx, ptx_bytes);
	else
		ok = fail(e, c, "its image can't be read: %s", d.what);
	free(image);
	free(ptx);
	return ok;
}

static bool module_number(struct engine *e, const struct call *c, const struct trace_module *root,
			  unsigned *number)
{
	const struct trace_image *image = root ? trace_image(e->trace, root->image) : NULL;
	uint64_t known;

	if (root && map_get(&e->taking->modules, root->id, &known)) {
		*number = (unsigned)known;
		return true;
	}
	if (!image)
		return fail(e, c, "the trace does not have its code");
	return load_image(e, c, image, number) && !map_set(&e->taking->modules, root->id, *number);
}

static bool kernel_number(struct engine *e, const struct call *c, const struct trace_kernel *k,
			  unsigned module, unsigned *number)
{
	uint64_t known;

	if (map_get(&e->taking->kernels, k->id, &known)) {
		*number = (unsigned)known;
		return true;
	}
	*number = excerpt_kernel(e->taking->x, module, k);
	return !map_set(&e->taking->kernels, k->id, *number) || fail(e, c, "out of memory");
}

/* The module that the variable at hand belongs to. */
static const struct trace_module *owner_of(struct engine *e, const struct address_range *r)
{
	for (size_t i = e->nmodule_rows; i-- > 0;)
		if (e->module_rows[i].handle == r->owner && e->module_rows[i].created <= r->created)
			return root_of(e, &e->module_rows[i]);
	return NULL;
}

/* ---- into the excerpt ------------------------------------------------------------------------- */

static struct call *at_hand; /* of for_each_run's functions */

static bool make_room(struct engine *e, const struct address_range *r, uint64_t at, uint64_t bytes,
		      bool *fresh)
{
	const char *name = r->owner ? plan_global_name(e, r->base) : NULL;
	unsigned module;

	*fresh = !find_kept(e->taking, r->base + at, bytes);
	if (!*fresh)
		return true;
	if (!add_kept(e->taking, r->base + at, bytes))
		return fail(e, at_hand, "out of memory");
	if (!name) {
		excerpt_allocate(e->taking->x, r->base + at, bytes);
		return true;
	}
	if (!module_number(e, at_hand, owner_of(e, r), &module))
		return false;
	excerpt_variable(e->taking->x, module, name, r->base, bytes);
	return true;
}

static bool take_run(struct engine *e, const struct address_range *r, uint64_t at, uint64_t bytes)
{
	struct taking *t = e->taking;
	struct kept *k;
	bool fresh;

	if (!make_room(e, r, at, bytes, &fresh))
		return false;
	excerpt_copy_begin(t->x);
	for (uint64_t done = 0; done < bytes; done += PIECE) {
		size_t n = bytes - done < PIECE ? (size_t)(bytes - done) : PIECE;

		if (!read_range(e, r, at + done, n))
			return fail(e, at_hand, "the memory at 0x%llx can't be read",
				    (unsigned long long)(r->base + at + done));
		excerpt_piece(t->x, t->piece, n);
	}
	k = find_kept(t, r->base + at, bytes);
	k->hash = excerpt_copy_end(t->x, k->base, bytes, fresh ? NULL : &k->hash);
	return true;
}

static bool take_memory(struct engine *e)
{
	struct taking *t = e->taking;
	bool ok = true;

	for (size_t i = 0; i < t->nkept; i++)
		t->kept[i].needed = false;
	for (size_t i = 0; i < t->nqueue; i++)
		if (t->marked[t->queue[i]])
			for_each_run(e, e->addresses.by_base[t->queue[i]], note_needed);
	for (size_t i = 0; ok && i < t->nqueue; i++)
		if (t->marked[t->queue[i]])
			ok = for_each_run(e, e->addresses.by_base[t->queue[i]], take_run);
	return ok;
}

/* ---- a launch ----------------------------------------------------------------------------------- */

/* CUlaunchConfig: 6 sizes, bytes of shared memory, stream, attributes, their number; CUlaunchAttribute: number, 64 bytes. */
static void read_cluster(struct engine *e, const struct call *c, struct excerpt_launch *x)
{
	const uint8_t *config, *attributes;
	uint64_t address;
	uint32_t n, id;

	if (!c->f || strcmp(c->f->base, "cuLaunchKernelEx") ||
	    !(config = trace_memory_read(e->memory[0], c->rec->args[0], 56)))
		return;
	memcpy(&address, config + 40, 8);
	memcpy(&n, config + 48, 4);
	for (uint32_t i = 0; i < n && i < 64; i++) {
		attributes = trace_memory_read(e->memory[0], address + 72 * (uint64_t)i, 72);
		if (!attributes)
			return;
		memcpy(&id, attributes, 4);
		if (id == 4) /* CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION */
			memcpy(x->cluster, attributes + 8, sizeof(x->cluster));
	}
}

static bool uses_textures(struct engine *e, const struct trace_kernel *k)
{
	for (unsigned i = 0; i < k->nparams; i++)
		if (k->params[i].elem_type && strstr(k->params[i].elem_type, "ref"))
			return true;
	return recorded_ptx_uses_textures(e, k);
}

static bool open_excerpt(struct engine *e, const struct call *c)
{
	struct trace_device device = {.process = 1};
	struct diag d = DIAG_INIT;
	sqlite3_stmt *st = NULL;
	bool known = false;
	const char *of = trace_meta_text(e->trace, "excerpt_of"), *uuid = trace_meta_text(e->trace, "uuid");
	const char *note = trace_meta_text(e->trace, "note");

	sqlite3_prepare_v2(trace_db(e->trace),
			   "SELECT name, cc, bytes, sm_count FROM device WHERE process = ? ORDER BY ordinal",
			   -1, &st, NULL);
	sqlite3_bind_int64(st, 1, e->process);
	if (st && sqlite3_step(st) == SQLITE_ROW) {
		known = true;
		device.name = (const char *)sqlite3_column_text(st, 0);
		device.cc = (unsigned)sqlite3_column_int(st, 1);
		device.bytes = (uint64_t)sqlite3_column_int64(st, 2);
		device.sm_count = (unsigned)sqlite3_column_int(st, 3);
	}
	if (excerpt_open(&e->taking->x, e->opt->excerpt, known ? &device : NULL, e->opt->excerpt_scratch, &d))
		fail(e, c, "%s", d.what);
	else
		excerpt_meta(e->taking->x, "excerpt_of", of ? of : uuid ? uuid : "");
	if (note && !e->taking->failed)
		excerpt_meta(e->taking->x, "note", note);
	sqlite3_finalize(st);
	return !e->taking->failed;
}

static bool begin(struct engine *e, const struct call *c)
{
	if (e->taking)
		return !e->taking->failed;
	e->taking = calloc(1, sizeof(*e->taking));
	if (!e->taking)
		return false;
	e->taking->piece = malloc(PIECE);
	return e->taking->piece ? open_excerpt(e, c) : fail(e, c, "out of memory");
}

static bool take(struct engine *e, struct call *c, const struct trace_launch *l, const struct trace_kernel *k)
{
	struct excerpt_launch x = {.row = *l};
	const struct trace_module *root = root_of(e, plan_module(e, k->module));
	struct diag d = DIAG_INIT;
	unsigned module, kernel;
	void *params = NULL;
	bool ok;

	read_cluster(e, c, &x);
	if (l->params && !(params = trace_buffer_load(e->trace, l->params, &x.param_bytes, &d)))
		return fail(e, c, "its parameters can't be read: %s", d.what);
	x.params = params;
	at_hand = c;
	ok = module_number(e, c, root, &module) && find_memory(e, c, params, x.param_bytes, root) &&
	     take_memory(e) && kernel_number(e, c, k, module, &kernel);
	if (ok)
		excerpt_launch(e->taking->x, kernel, &x);
	free(params);
	return ok;
}

static void note_contents(struct taking *t, const struct written *w, const struct trace_hash *hash)
{
	for (size_t i = 0; i < t->nkept; i++) {
		struct kept *k = &t->kept[i];

		if (k->base == w->base && k->bytes == w->bytes)
			k->hash = *hash;
		else if (k->base < w->base + w->bytes && w->base < k->base + k->bytes)
			memset(&k->hash, 0, sizeof(k->hash)); /* not known: copied again where it is needed */
	}
}

/* What the launch wrote, from the trace or from the device. */
static bool take_written(struct engine *e, const struct call *c, bool here)
{
	struct taking *t = e->taking;
	bool ok = true;

	for (unsigned i = 0; ok && i < t->nwritten; i++) {
		const struct written *w = &t->written[i];
		uint64_t live = addresses_to_live(&e->addresses, w->base);
		struct diag d = DIAG_INIT;
		struct trace_hash hash;

		excerpt_copy_begin(t->x);
		for (uint64_t at = 0; ok && at < w->bytes; at += PIECE) {
			size_t n = w->bytes - at < PIECE ? (size_t)(w->bytes - at) : PIECE;

			ok = here ? engine_read_device(e, live + at, t->piece, n)
				  : !trace_buffer_read(e->trace, w->buffer, at, t->piece, n, &d);
			if (here)
				addresses_rewrite_back(&e->addresses, t->piece, n);
			excerpt_piece(t->x, t->piece, n);
		}
		hash = excerpt_written_end(t->x, w->base, w->bytes);
		note_contents(t, w, &hash);
	}
	return ok || fail(e, c, "what it wrote can't be read");
}

/* Of ranges that were written in part: as they are now on the device, which is as they will be where the excerpt is
 * replayed. Then the next launch needs no copy of what nobody else has changed. */
static void know_contents(struct engine *e, struct call *c)
{
	struct taking *t = e->taking;
	static const struct trace_hash unknown;

	written_flush(e, c);
	for (size_t i = 0; i < t->nkept; i++) {
		struct kept *k = &t->kept[i];
		uint8_t *data;

		if (memcmp(&k->hash, &unknown, sizeof(unknown)) || k->bytes > MOST_HASHED ||
		    !(data = malloc(k->bytes + 1)))
			continue;
		if (engine_read_device(e, addresses_to_live(&e->addresses, k->base), data, k->bytes)) {
			addresses_rewrite_back(&e->addresses, data, k->bytes);
			k->hash = trace_hash_bytes(data, k->bytes);
		}
		free(data);
	}
}

void excerpt_before(struct engine *e, struct call *c, const struct trace_launch *l)
{
	const struct trace_kernel *k = l->kernel ? trace_kernel(e->trace, l->kernel) : NULL;

	written_flush(e, c);
	if (!begin(e, c))
		return;
	free(e->taking->written);
	e->taking->nwritten = written_of(e, c->rec->id, &e->taking->written);
	if (!k)
		fail(e, c, "the trace does not know its kernel");
	else if (e->capturing)
		fail(e, c, "it was captured into a graph");
	else if (!e->taking->nwritten)
		fail(e, c, "the trace does not have what it wrote (record it with --check=contents)");
	else if (uses_textures(e, k))
		fail(e, c, "its module reads textures or surfaces, which excerpts do not have");
	else if (!contexts_enter(e, c->thread) ||
		 engine_sync_failed(e, c->rec->id, driver_plain(&e->drv, "cuCtxSynchronize", 0)))
		fail(e, c, "the device can't be waited for");
	else if (take(e, c, l, k) && !e->opt->excerpt_remake)
		take_written(e, c, false);
}

void excerpt_after(struct engine *e, struct call *c)
{
	if (!e->taking || e->taking->failed)
		return;
	if (!e->opt->excerpt_remake) {
		if (c->stood_in)
			know_contents(e, c);
		return;
	}
	if (c->refused)
		fail(e, c, "%s", c->refused);
	else if (c->left_out || c->stood_in || c->result || e->dead)
		fail(e, c, "it can't be made here");
	else if (!engine_sync_failed(e, c->rec->id, driver_plain(&e->drv, "cuCtxSynchronize", 0)))
		take_written(e, c, true);
	else
		fail(e, c, "it faults here");
}

int excerpt_take_end(struct engine *e, bool whole, struct diag *d)
{
	struct taking *t = e->taking;
	int rc = 0;

	if (!t)
		return 0;
	if (t->x && whole && !t->failed)
		rc = excerpt_close(t->x, d);
	else if (t->x)
		excerpt_abandon(t->x);
	map_free(&t->modules);
	map_free(&t->kernels);
	free(t->kept);
	free(t->piece);
	free(t->marked);
	free(t->queue);
	free(t->written);
	free(t);
	e->taking = NULL;
	return rc;
}
