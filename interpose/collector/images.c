/* SPDX-License-Identifier: Apache-2.0
 *
 * images: what a code image says about its kernels: from PTX where there is any for analysis, else from the
 * ELF attributes of machine code (offsets and sizes only). Each image is read once, however often it is
 * loaded; those that no module uses any more are kept while they are few.
 */
#include <stdlib.h>
#include <string.h>

#include "base/image.h"
#include "interpose/collector/internal.h"
#include "ptx/cubin.h"
#include "ptx/fatbin.h"
#include "ptx/ir.h"
#include "ptx/link.h"
#include "ptx/written.h"

#define DEFAULT_CC 90 /* what our own devices report */

struct text {
	struct text *next;
	char name[64]; /* of the source file, where the fatbin has it */
	char *p;
	size_t n;
	struct ptx_module *module; /* parsed when first asked */
	bool parsed;
};

struct machine {
	struct machine *next;
	void *p;
	size_t n;
	unsigned arch;
	struct cubin cubin;
	bool open, tried;
};

/* Of images that nobody holds. A parsed module takes a multiple of its text. */
#define KEEP_IMAGES 8u
#define KEEP_BYTES  (16u << 20)

struct image {
	struct image *next;
	unsigned holders;
	uint64_t buffer;
	struct bytes data;
	enum image_kind kind;
	bool chosen;
	char archs[512];          /* of a fatbin */
	struct text *texts;       /* PTX, the preferred one first */
	struct machine *machines; /* ELF, the best one first */
};

static void free_texts(struct image *i)
{
	for (struct text *t = i->texts, *next; t; t = next) {
		next = t->next;
		ptx_module_free(t->module);
		free(t->p);
		free(t);
	}
	i->texts = NULL;
}

static void image_free(struct image *i)
{
	free_texts(i);
	for (struct machine *m = i->machines, *next; m; m = next) {
		next = m->next;
		if (m->tried)
			cubin_close(&m->cubin);
		free(m->p);
		free(m);
	}
	free(i->data.p);
	free(i);
}

void images_free(struct collector *c)
{
	while (c->images) {
		struct image *i = c->images;

		c->images = i->next;
		image_free(i);
	}
}

static size_t image_bytes(const struct image *i)
{
	size_t n = i->data.n;

	for (const struct text *t = i->texts; t; t = t->next)
		n += t->n;
	for (const struct machine *m = i->machines; m; m = m->next)
		n += m->n;
	return n;
}

/* Those that were used longest ago go first. */
static void forget_images(struct collector *c)
{
	struct image **at = &c->images, *i;
	unsigned unused = 0;
	size_t bytes = 0;

	while ((i = *at)) {
		if (!i->holders) {
			unused++;
			bytes += image_bytes(i);
		}
		if (!i->holders && (unused > KEEP_IMAGES || bytes > KEEP_BYTES)) {
			*at = i->next;
			image_free(i);
		} else {
			at = &i->next;
		}
	}
}

struct image *image_hold(struct image *i)
{
	if (i)
		i->holders++;
	return i;
}

void image_drop(struct collector *c, struct image *i)
{
	if (i && !--i->holders)
		forget_images(c);
}

/* To the front of the list. */
static struct image *find_image(struct collector *c, uint64_t buffer)
{
	struct image **at = &c->images, *i;

	while (*at && (*at)->buffer != buffer)
		at = &(*at)->next;
	i = *at;
	if (i) {
		*at = i->next;
		i->next = c->images;
		c->images = i;
	}
	return i;
}

struct image *image_add(struct collector *c, uint64_t buffer, struct bytes *data)
{
	struct image *i = buffer ? find_image(c, buffer) : NULL;

	if (i)
		return image_hold(i);
	i = calloc(1, sizeof(*i));
	if (!i)
		return NULL;
	i->holders = 1;
	i->buffer = buffer;
	i->data = *data;
	*data = (struct bytes){0};
	i->kind = i->data.n ? image_probe(i->data.p, i->data.n) : IMAGE_UNKNOWN;
	i->next = c->images;
	c->images = i;
	return i;
}

uint64_t image_buffer(const struct image *i)
{
	return i->buffer;
}

const char *image_archs(const struct image *i)
{
	return i->archs;
}

bool image_is_text(const struct image *i)
{
	return i->kind == IMAGE_PTX;
}

static struct text *add_text(struct image *i, char *p, size_t n)
{
	struct text **at = &i->texts, *t = calloc(1, sizeof(*t));

	if (!t) {
		free(p);
		return NULL;
	}
	while (*at)
		at = &(*at)->next;
	t->p = p;
	t->n = n;
	*at = t;
	return t;
}

static void add_machine(struct image *i, void *p, size_t n, unsigned arch, unsigned cc)
{
	struct machine **at = &i->machines, *m = calloc(1, sizeof(*m));

	if (!m) {
		free(p);
		return;
	}
	m->p = p;
	m->n = n;
	m->arch = arch;
	/* Those that the device can run first, the newest of them before the others. */
	while (*at && ((*at)->arch <= cc) >= (arch <= cc) && ((*at)->arch > arch) == (arch <= cc))
		at = &(*at)->next;
	m->next = *at;
	*at = m;
}

static char *copy(const void *p, size_t n)
{
	char *s = malloc(n + 1);

	if (s) {
		memcpy(s, p, n);
		s[n] = '\0';
	}
	return s;
}

static void unpack_text(struct image *i, const struct fatbin *fb, unsigned index)
{
	const struct fatbin_entry *e = &fb->entries[index];
	struct text *t;
	void *p;
	size_t n;

	if (fatbin_entry_load(e, &p, &n, NULL) == 0 && (t = add_text(i, p, n)))
		snprintf(t->name, sizeof(t->name), "%.*s.ptx",
			 (int)strnlen(e->name ? e->name : "", e->name_bytes), e->name ? e->name : "");
}

/* Relocatable device code: the module that a driver makes of it, so that the trace has the text whose lines are named, and
 * kernels are looked at together with what they call. False when it does not link, or for want of memory. */
static bool link_texts(struct image *i)
{
	struct ptx_link_input *inputs;
	struct ptx_linked linked;
	unsigned n = 0;
	int rc;

	for (struct text *t = i->texts; t; t = t->next)
		n++;
	inputs = calloc(n + 1, sizeof(*inputs));
	if (!inputs)
		return false;
	n = 0;
	for (struct text *t = i->texts; t; t = t->next)
		inputs[n++] = (struct ptx_link_input){t->name, t->p, t->n};
	rc = ptx_link(inputs, n, &linked);
	free(inputs);
	if (!rc) {
		free_texts(i);
		add_text(i, linked.text, linked.bytes);
		linked.text = NULL;
	}
	ptx_linked_free(&linked);
	return !rc;
}

static void unpack_ptx(struct image *i, const struct fatbin *fb, unsigned cc)
{
	unsigned *indexes = calloc(fb->ncontainers + 1, sizeof(*indexes)), n, left_out;

	n = indexes ? fatbin_link_set(fb, cc, indexes, &left_out) : 0;
	for (unsigned k = 0; k < n; k++)
		unpack_text(i, fb, indexes[k]);
	free(indexes);
	if (n > 1)
		link_texts(i);
}

static void unpack_fatbin(struct image *i, unsigned cc, char *archs, size_t max)
{
	struct fatbin fb;

	if (fatbin_open(&fb, i->data.p, i->data.n, NULL) == 0) {
		fatbin_describe(&fb, archs, max);
		unpack_ptx(i, &fb, cc);
		for (unsigned k = 0; k < fb.nentries; k++) {
			void *p;
			size_t n;

			/* Machine code is needed only where there is no PTX. */
			if (fb.entries[k].kind == FATBIN_ELF && !i->texts &&
			    fatbin_entry_load(&fb.entries[k], &p, &n, NULL) == 0)
				add_machine(i, p, n, fb.entries[k].arch, cc);
		}
	}
	fatbin_close(&fb);
}

void image_choose(struct collector *c, struct image *i, unsigned cc)
{
	struct trace_image row = {.buffer = i->buffer};

	if (i->chosen)
		return;
	i->chosen = true;
	row.kind = image_kind_name(i->kind);
	cc = cc ? cc : DEFAULT_CC;
	if (i->kind == IMAGE_PTX) {
		char *p = copy(i->data.p, i->data.n);

		if (p)
			add_text(i, p, strnlen(p, i->data.n));
		row.ptx = i->buffer;
	} else if (i->kind == IMAGE_CUBIN) {
		void *p = copy(i->data.p, i->data.n);

		if (p)
			add_machine(i, p, i->data.n, 0, cc);
	} else if (i->kind == IMAGE_FATBIN) {
		unpack_fatbin(i, cc, i->archs, sizeof(i->archs));
		if (i->texts && c->w)
			trace_writer_buffer(c->w, i->texts->p, i->texts->n, &row.ptx);
	} else {
		row.kind = "unknown";
	}
	row.archs = i->archs[0] ? i->archs : NULL;
	if (c->w && i->buffer)
		trace_writer_image(c->w, &row);
	free(i->data.p);
	i->data = (struct bytes){0};
}

/* ---- kernels -------------------------------------------------------------------- */

static const char *param_type(const struct ptx_param *p, char *buf, size_t n)
{
	if (p->count > 1)
		snprintf(buf, n, "%s[%u]", ptx_type_name(p->type), p->count);
	else
		snprintf(buf, n, "%s", ptx_type_name(p->type));
	return buf;
}

static bool fill_from_ptx(struct kernel *k, struct ptx_module *m, struct ptx_func *f)
{
	bool analysed = ptx_func_analyse(m, f) == 0 && f->access;

	k->row.has_ptx = true;
	k->row.param_bytes = f->param_bytes;
	k->row.line = f->line;
	k->row.params = calloc(f->nparams ? f->nparams : 1, sizeof(*k->row.params));
	if (!k->row.params)
		return false;
	k->row.nparams = f->nparams;
	for (uint32_t i = 0; i < f->nparams; i++) {
		const struct ptx_param *p = &f->params[i];
		struct trace_kernel_param *q = &k->row.params[i];
		char type[64];

		q->name = strdup(p->name ? p->name : "");
		q->type = strdup(param_type(p, type, sizeof(type)));
		q->offset = p->offset;
		q->bytes = p->size;
		if (analysed) {
			const struct ptx_access *a = &f->access[i];

			q->is_pointer = a->is_pointer;
			q->is_read = a->is_read;
			q->is_written = a->is_written;
			q->elem_type = a->elem_type ? ptx_type_name(a->elem_type) : NULL;
		}
	}
	k->known = true;
	/* Variables of the module are not parameters: what is stored there is unknown to a hash per
	 * parameter. */
	k->writes_unknown = !analysed || f->writes_unknown || f->writes_module_vars;
	return true;
}

static struct ptx_module *parsed(struct text *t)
{
	if (!t->parsed) {
		t->parsed = true;
		t->module = ptx_module_parse(t->p, t->n, "image.ptx", NULL);
	}
	return t->module;
}

static struct image *image_of(const struct module *m)
{
	while (m && !m->image)
		m = m->parent;
	return m ? m->image : NULL;
}

static bool from_ptx(struct kernel *k, struct image *i, const char *name)
{
	for (struct text *t = i->texts; t; t = t->next) {
		struct ptx_module *m = parsed(t);
		struct ptx_func *f = m ? ptx_func_find(m, name) : NULL;

		if (f)
			return fill_from_ptx(k, m, f);
	}
	return false;
}

struct ptx_func *kernel_ptx(const struct kernel *k, struct ptx_module **m)
{
	const struct image *i = image_of(k->owner);

	for (struct text *t = i ? i->texts : NULL; t; t = t->next) {
		struct ptx_func *f = (*m = parsed(t)) ? ptx_func_find(*m, k->name) : NULL;

		if (f)
			return f;
	}
	return NULL;
}

static bool fill_from_cubin(struct kernel *k, const struct cubin_kernel *q)
{
	k->row.param_bytes = q->param_bytes;
	k->writes_unknown = true;
	k->known = q->params_known;
	k->row.params = calloc(q->nparams ? q->nparams : 1, sizeof(*k->row.params));
	if (!k->row.params)
		return false;
	k->row.nparams = q->nparams;
	for (unsigned i = 0; i < q->nparams; i++) {
		k->row.params[i].offset = q->params[i].offset;
		k->row.params[i].bytes = q->params[i].bytes;
		k->row.params[i].is_pointer = q->params[i].maybe_pointer;
	}
	return true;
}

static struct cubin *opened(struct machine *m)
{
	if (!m->tried) {
		m->tried = true;
		m->open = cubin_open(&m->cubin, m->p, m->n, NULL) == 0;
	}
	return m->open ? &m->cubin : NULL;
}

static bool from_machine(struct kernel *k, struct image *i, const char *name)
{
	for (struct machine *m = i->machines; m; m = m->next) {
		struct cubin *q = opened(m);
		const struct cubin_kernel *found = q ? cubin_kernel_find(q, name) : NULL;

		if (found)
			return fill_from_cubin(k, found);
	}
	return false;
}

struct kernel *module_kernel(struct collector *c, struct module *m, const char *name)
{
	struct module *owner = m->parent ? m->parent : m;
	struct image *i = image_of(m);
	struct kernel *k;

	/* A library and the module of its context hold the same kernels. */
	for (k = owner->kernels; k; k = k->next)
		if (!strcmp(k->name, name))
			return k;
	k = calloc(1, sizeof(*k));
	if (!k || !(k->name = strdup(name))) {
		free(k);
		return NULL;
	}
	k->owner = owner;
	k->row.module = owner->row;
	k->row.name = k->name;
	k->writes_unknown = true;
	if (i && !from_ptx(k, i, name))
		from_machine(k, i, name);
	k->next = owner->kernels;
	owner->kernels = k;
	if (c->w)
		trace_writer_kernel(c->w, &k->row);
	return k;
}

uint64_t module_variable_bytes(const struct module *m, const char *name)
{
	struct image *i = image_of(m);

	for (struct text *t = i ? i->texts : NULL; t; t = t->next) {
		struct ptx_module *p = parsed(t);
		struct ptx_symbol *s = p ? ptx_symbol_find(p, name) : NULL;

		if (s)
			return s->size;
	}
	for (struct machine *x = i ? i->machines : NULL; x; x = x->next) {
		const struct cubin *q = opened(x);

		for (unsigned k = 0; q && k < q->nvariables; k++)
			if (!strcmp(q->variables[k].name, name))
				return q->variables[k].bytes;
	}
	return 0;
}

bool kernel_is_opaque(const struct kernel *k)
{
	return k && !k->row.has_ptx && k->owner && k->owner->image;
}

void kernel_answer(const struct kernel *k, struct ring_params *out)
{
	if (!k || !k->known || k->row.nparams > sizeof(out->p) / sizeof(out->p[0]))
		return;
	out->known = 1;
	out->nparams = k->row.nparams;
	out->total_bytes = k->row.param_bytes;
	out->writes_unknown = k->writes_unknown;
	for (unsigned i = 0; i < k->row.nparams; i++) {
		const struct trace_kernel_param *p = &k->row.params[i];

		out->p[i].offset = p->offset;
		out->p[i].bytes = p->bytes;
		out->p[i].is_pointer = p->is_pointer;
		out->p[i].is_written = p->is_written;
	}
}

static void kernel_free(struct kernel *k)
{
	for (unsigned i = 0; i < k->row.nparams; i++) {
		free((char *)(uintptr_t)k->row.params[i].name);
		free((char *)(uintptr_t)k->row.params[i].type);
	}
	free(k->row.params);
	ptx_written_close(k->written);
	free(k->name);
	free(k);
}

void module_free(struct collector *c, struct module *m)
{
	for (struct kernel *k = m->kernels, *next; k; k = next) {
		next = k->next;
		kernel_free(k);
	}
	image_drop(c, m->image);
	free(m);
}
