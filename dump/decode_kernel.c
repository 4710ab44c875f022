/* SPDX-License-Identifier: Apache-2.0
 * The arguments of a kernel: the packed parameter block, by the kernel's parameter table. */
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "dump/decode.h"

/* PTX types that are shown as numbers. Others are bits. */
enum shape { SHAPE_BITS, SHAPE_UNSIGNED, SHAPE_SIGNED, SHAPE_FLOAT };

static const struct ptx_scalar {
	const char *name;
	enum shape shape;
	uint32_t bytes;
} scalars[] = {
	{"u8", SHAPE_UNSIGNED, 1},  {"u16", SHAPE_UNSIGNED, 2}, {"u32", SHAPE_UNSIGNED, 4},
	{"u64", SHAPE_UNSIGNED, 8}, {"s8", SHAPE_SIGNED, 1},    {"s16", SHAPE_SIGNED, 2},
	{"s32", SHAPE_SIGNED, 4},   {"s64", SHAPE_SIGNED, 8},   {"f32", SHAPE_FLOAT, 4},
	{"f64", SHAPE_FLOAT, 8},    {"f16", SHAPE_FLOAT, 2},    {"bf16", SHAPE_FLOAT, 2},
	{"b8", SHAPE_UNSIGNED, 1},  {"b16", SHAPE_UNSIGNED, 2}, {"b32", SHAPE_UNSIGNED, 4},
	{"b64", SHAPE_UNSIGNED, 8},
};

static const struct ptx_scalar *scalar_of(const struct trace_kernel_param *p)
{
	size_t i;

	for (i = 0; p->type && i < sizeof(scalars) / sizeof(scalars[0]); i++)
		if (strcmp(p->type, scalars[i].name) == 0)
			return scalars[i].bytes == p->bytes ? &scalars[i] : NULL; /* else an array of them */
	return NULL;
}

static void set_float(struct value *v, const char *type, uint64_t u)
{
	v->kind = strcmp(type, "f64") == 0 ? VALUE_F64 : VALUE_F32;
	if (v->kind == VALUE_F64)
		v->f = f64_from(u);
	else if (strcmp(type, "f16") == 0)
		v->f = (double)f16_to_f32((uint16_t)u);
	else if (strcmp(type, "bf16") == 0)
		v->f = (double)bf16_to_f32((uint16_t)u);
	else
		v->f = (double)f32_from((uint32_t)u);
}

static struct value *bytes_of(struct decoder *d, const uint8_t *p, uint32_t n)
{
	struct value *v = decode_value(d, VALUE_BYTES);

	v->text = arena_strndup(&d->arena, (const char *)p, n);
	v->n = v->text ? n : 0;
	return v;
}

/* What a parameter is that holds a texture or surface object, else NULL. */
static const struct api_handle *opaque_handle(const struct trace_kernel_param *p)
{
	bool texture = p->elem_type && !strcmp(p->elem_type, "texref");
	bool surface = p->elem_type && !strcmp(p->elem_type, "surfref");

	if (p->is_pointer || p->bytes != 8 || (!texture && !surface))
		return NULL;
	for (unsigned i = 0; i < api_nhandles; i++)
		if (!strcmp(api_handles[i].name, texture ? "CUtexObject" : "CUsurfObject"))
			return &api_handles[i];
	return NULL;
}

static struct value *decode_kernel_arg(struct decoder *d, const struct trace_kernel_param *p,
				       const uint8_t *block)
{
	const struct ptx_scalar *s = scalar_of(p);
	struct value *v;
	const char *variable;
	uint64_t u = 0, offset;

	if (p->bytes > 8 || (!s && !p->is_pointer && p->bytes != 8 && p->bytes != 4))
		return bytes_of(d, block + p->offset, p->bytes);
	memcpy(&u, block + p->offset, p->bytes);
	if (p->is_pointer)
		return decode_device(d, u);
	if (opaque_handle(p))
		return decode_handle(d, opaque_handle(p), u);
	/* machine code only: a word that is an address of something alive is most likely one */
	if (p->bytes == 8 && (!s || s->shape == SHAPE_UNSIGNED) && u &&
	    live_allocation_at(d->allocations, d->process, u, false, d->call->id, &offset, &variable))
		return decode_device(d, u);
	v = decode_value(d, VALUE_RAW);
	v->u = u;
	if (s && s->shape == SHAPE_UNSIGNED)
		v->kind = VALUE_UINT;
	if (s && s->shape == SHAPE_SIGNED) {
		unsigned shift = 64 - s->bytes * 8;

		v->kind = VALUE_INT;
		v->i = (int64_t)(u << shift) >> shift;
	}
	if (s && s->shape == SHAPE_FLOAT)
		set_float(v, p->type, u);
	return v;
}

/* "f32*", "u32", "b8[12]" */
static const char *type_name(struct decoder *d, const struct trace_kernel_param *p)
{
	const struct ptx_scalar *s;
	size_t i;

	if (opaque_handle(p))
		return opaque_handle(p)->name;
	if (p->is_pointer)
		return arena_printf(&d->arena, "%s*", p->elem_type ? p->elem_type : "void");
	for (i = 0; p->type && i < sizeof(scalars) / sizeof(scalars[0]); i++) {
		s = &scalars[i];
		if (strcmp(p->type, s->name) == 0 && p->bytes > s->bytes)
			return arena_printf(&d->arena, "%s[%u]", s->name, p->bytes / s->bytes);
	}
	return p->type;
}

static void decode_args(struct decoder *d, struct row *r, const struct trace_kernel *k)
{
	struct value **at = &r->kernel_args;
	size_t bytes = 0;
	uint8_t *block = NULL;
	unsigned i;

	r->kernel_args_known = !k->nparams && !k->param_bytes;
	if (!r->launch.params || !(block = trace_buffer_load(d->t, r->launch.params, &bytes, NULL)))
		return;
	r->kernel_args_known = true;
	for (i = 0; i < k->nparams; i++) {
		const struct trace_kernel_param *p = &k->params[i];

		if (p->offset > bytes || p->bytes > bytes - p->offset)
			*at = decode_value(d, VALUE_UNKNOWN);
		else
			*at = decode_kernel_arg(d, p, block);
		(*at)->name = p->name && *p->name ? p->name : arena_printf(&d->arena, "param_%u", i);
		(*at)->type = type_name(d, p);
		at = &(*at)->next;
	}
	if (!k->nparams && bytes)
		*at = bytes_of(d, block, (uint32_t)bytes);
	free(block);
}

void decode_launch(struct decoder *d, struct row *r)
{
	const struct trace_kernel *k;

	if (trace_launch_get(d->t, r->call.id, &r->launch)) {
		memset(&r->launch, 0, sizeof(r->launch));
		return;
	}
	k = r->launch.kernel ? trace_kernel(d->t, r->launch.kernel) : NULL;
	if (!k)
		return;
	r->kernel = k->name;
	r->kernel_has_ptx = k->has_ptx;
	decode_args(d, r, k);
}
