/* SPDX-License-Identifier: Apache-2.0
 *
 * Other values of the same kind. Of floating-point numbers sign and exponent are drawn from those that are there, and the
 * mantissa is chance; zeros, infinities and NaN are as frequent as they were. Integers are chance between the least and
 * the largest. Words that point into buffers stay. All numbers come from one generator with one seed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ir.h"
#include "reduce/fit.h"

/* splitmix64: G. Steele, D. Lea, C. Flood, Fast Splittable Pseudorandom Number Generators, 2014 */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* How elements of a type are laid out. mantissa 0: an integer. */
static const struct format {
	const char *type;
	unsigned bytes, mantissa;
	bool is_signed;
} formats[] = {
	{"f64", 8, 52, false}, {"f32", 4, 23, false},   {"f16", 2, 10, false},  {"f16x2", 2, 10, false},
	{"bf16", 2, 7, false}, {"bf16x2", 2, 7, false}, {"tf32", 4, 23, false}, {"s64", 8, 0, true},
	{"u64", 8, 0, false},  {"b64", 8, 0, false},    {"s32", 4, 0, true},    {"u32", 4, 0, false},
	{"s16", 2, 0, true},   {"u16", 2, 0, false},    {"b16", 2, 0, false},   {"s8", 1, 0, true},
	{"u8", 1, 0, false},   {"b8", 1, 0, false},
};

static const struct format *format_find(const char *type)
{
	for (unsigned i = 0; type && i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(formats[i].type, type))
			return &formats[i];
	return NULL;
}

static uint64_t get(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;

	memcpy(&v, p, bytes);
	return v;
}

static bool points_somewhere(const struct scene *s, uint64_t w)
{
	for (unsigned i = 0; i < s->nbuffers; i++)
		if (w - s->buffers[i].base <= s->buffers[i].bytes)
			return true;
	return false;
}

static int64_t sign_extend(uint64_t v, unsigned bytes)
{
	unsigned shift = 64 - 8 * bytes;

	return (int64_t)(v << shift) >> shift;
}

/* b32 without a type: numbers of f32 where most words look like such of everyday size, else integers. */
static const struct format *guess(const uint8_t *data, uint64_t bytes)
{
	uint64_t floats = 0, others = 0;

	for (uint64_t at = 0; at + 4 <= bytes; at += 4) {
		uint32_t exponent = (uint32_t)get(data + at, 4) >> 23 & 0xff;

		if (get(data + at, 4) == 0)
			continue;
		floats += exponent > 64 && exponent < 192;
		others += exponent <= 64 || exponent >= 192;
	}
	return format_find(bytes % 4 ? "u8" : floats > others ? "f32" : "u32");
}

static void other_floats(const struct format *f, const uint8_t *from, uint8_t *to, uint64_t n, uint64_t *seed)
{
	uint64_t mask = (UINT64_C(1) << f->mantissa) - 1;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t v = get(from + next_random(seed) % n * f->bytes, f->bytes), exponent = v & ~mask;
		uint64_t whole = f->bytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * f->bytes) - 1;
		bool special = !(v & (whole >> 1)) || (exponent & (whole >> 1)) == ((whole >> 1) & ~mask);

		v = special ? v & ~(mask >> 1)
			    : exponent | (next_random(seed) & mask); /* NaN: its first bit alone */
		memcpy(to + i * f->bytes, &v, f->bytes);
	}
}

static void other_integers(const struct format *f, const uint8_t *from, uint8_t *to, uint64_t n,
			   uint64_t *seed)
{
	uint64_t least = UINT64_MAX, most = 0, flip = f->is_signed ? UINT64_C(1) << 63 : 0;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t v = get(from + i * f->bytes, f->bytes);

		v = f->is_signed ? (uint64_t)sign_extend(v, f->bytes) ^ flip : v;
		least = v < least ? v : least;
		most = v > most ? v : most;
	}
	for (uint64_t i = 0; i < n; i++) {
		uint64_t span = most - least + 1,
			 v = least + (span ? next_random(seed) % span : next_random(seed));

		v ^= flip;
		memcpy(to + i * f->bytes, &v, f->bytes);
	}
}

static void keep_pointers(const struct scene *s, const struct scene_buffer *b, uint8_t *to)
{
	for (uint64_t at = 0; at + 8 <= b->bytes; at += 8)
		if (points_somewhere(s, get(b->data + at, 8)))
			memcpy(to + at, b->data + at, 8);
}

static uint8_t *other_values(const struct scene *s, const struct scene_buffer *b, const struct format *f,
			     uint64_t seed)
{
	uint8_t *to = calloc(1, b->bytes + 8);
	uint64_t n = b->bytes / f->bytes;

	if (!to || !n)
		return to;
	if (f->mantissa)
		other_floats(f, b->data, to, n, &seed);
	else
		other_integers(f, b->data, to, n, &seed);
	keep_pointers(s, b, to);
	return to;
}

/* As what the kernel loads and stores there, by its parameters. */
static const struct format *format_of(const struct scene *s, const struct scene_buffer *b)
{
	const struct scene_module *text = &s->modules[s->module];
	struct ptx_module *m = ptx_module_parse(text->ptx, text->bytes, "report.ptx", NULL);
	struct ptx_func *f = m ? ptx_func_find(m, s->kernel) : NULL;
	const struct format *found = NULL;

	for (uint32_t i = 0; f && !ptx_func_analyse(m, f) && f->access && i < f->nparams && !found; i++)
		if (f->access[i].is_pointer && f->access[i].elem_type &&
		    f->params[i].offset + 8 <= s->param_bytes &&
		    get(s->params + f->params[i].offset, 8) - b->base < b->bytes)
			found = format_find(ptx_type_name(f->access[i].elem_type));
	if (m)
		ptx_module_free(m);
	return found && b->bytes % found->bytes == 0 ? found : guess(b->data, b->bytes);
}

static bool is_all_zero(const struct scene_buffer *b)
{
	for (uint64_t i = 0; i < b->bytes; i++)
		if (b->data[i])
			return false;
	return true;
}

/* With several seeds: not any values show it. */
static bool try_buffer(struct judge *j, unsigned i)
{
	const struct format *f = format_of(j->current, &j->current->buffers[i]);

	for (uint64_t seed = 1; seed <= 3 && !judge_stopped(j); seed++) {
		struct scene s;

		if (scene_copy(&s, j->current))
			return false;
		s.buffers[i].data = scene_keep(&s, other_values(&s, &s.buffers[i], f, seed * 1000 + i));
		if (!s.buffers[i].data) {
			scene_drop(&s);
			return false;
		}
		if (judge_take(j, &s))
			return true;
	}
	return false;
}

int fit_synthetic(struct judge *j, struct fit_notes *notes, struct diag *d)
{
	double begin = judge_now(), patience = j->step_s;
	size_t at = 0;

	if (!judge_scene(j, j->current, d))
		return d->code ? d->code
			       : diag_set(
					 d, CUTRACE_EINVAL, j->kernel,
					 "with the interpreter's results instead of the recorded ones nothing differs, so other "
					 "values can't be judged (--synthetic)");
	j->step_s = 5 + 20 * (judge_now() - begin);
	for (unsigned i = 0; i < j->current->nbuffers && !judge_stopped(j); i++) {
		const struct scene_buffer *b = &j->current->buffers[i];

		if (is_all_zero(b) || try_buffer(j, i)) {
			notes->synthetic++;
			continue;
		}
		notes->kept++;
		b = &j->current->buffers[i];
		at += (size_t)snprintf(notes->kept_list + at,
				       at < sizeof(notes->kept_list) ? sizeof(notes->kept_list) - at : 0,
				       "%s0x%llx (%llu bytes)", at ? ", " : "", (unsigned long long)b->base,
				       (unsigned long long)b->bytes);
		at = at < sizeof(notes->kept_list) ? at : sizeof(notes->kept_list) - 1;
	}
	j->step_s = patience;
	return workroom_interrupted() ? diag_set(d, CUTRACE_EIO, "", "interrupted") : 0;
}
