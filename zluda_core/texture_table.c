/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of textures, surfaces and samplers: handles, and the descriptors that devices know. A handle is the
 * number of its entry (from 1) and, above, how often the entry was used before: a program that goes on using a
 * destroyed object is found out.
 */
#include "texture.h"

#include <stdlib.h>
#include <string.h>

static struct {
	pthread_mutex_t lock;
	struct texture *entries[DEV_TEXTURES];
	uint16_t uses[DEV_TEXTURES];
	uint32_t next; /* entries are used again as late as possible */
	uint32_t top;  /* no entry at or above was ever used */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER, .next = 1};

/* Keeps a texture from being destroyed by one thread while another, which destroys its array, has it in hand. Outermost
 * of all locks; held while the device is waited for. */
static pthread_mutex_t lifetime = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static __thread uint64_t wanted;

void texture_place_next(uint64_t handle)
{
	wanted = handle;
}

static uint64_t handle_of(uint32_t i)
{
	return (uint64_t)table.uses[i] * DEV_TEXTURES + i;
}

/* References count down from the end, so that the handles of objects are the same with and without them. */
static uint64_t reference_handle(void)
{
	for (uint32_t i = DEV_TEXTURES - 1; i; i--)
		if (!table.entries[i])
			return handle_of(i);
	return 0;
}

/* With the lock held. 0 = the table is full. */
static uint64_t object_handle(uint64_t want)
{
	uint32_t i = (uint32_t)(want % DEV_TEXTURES);

	if (i && want <= UINT32_MAX && !table.entries[i]) {
		table.uses[i] = (uint16_t)(want / DEV_TEXTURES);
		return want;
	}
	for (uint32_t tried = 0; tried < DEV_TEXTURES; tried++) {
		i = table.next;
		table.next = (i + 1) % DEV_TEXTURES;
		if (i && !table.entries[i])
			return handle_of(i);
	}
	return 0;
}

static CUresult tell_device(struct texture *t)
{
	struct gpu *gpu = t->ctx->gpu;
	struct diag d = DIAG_INIT;
	int e;

	if (!gpu->ops->texture_set) {
		say("the %s device has no textures and surfaces", gpu->ops->name);
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	e = gpu->ops->texture_set(gpu->dev, &t->dev, &d);
	if (e)
		say_diag(&d);
	return result_of(e);
}

CUresult texture_add(const struct texture *from, struct texture **out)
{
	struct texture *t = malloc(sizeof(*t));
	uint64_t want = from->is_reference ? 0 : wanted;
	CUresult r;

	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*t = *from;
	if (!from->is_reference)
		wanted = 0;
	pthread_mutex_lock(&table.lock);
	t->dev.handle = from->is_reference ? reference_handle() : object_handle(want);
	if (t->dev.handle) {
		uint32_t i = (uint32_t)(t->dev.handle % DEV_TEXTURES);

		table.entries[i] = t;
		table.top = i >= table.top ? i + 1 : table.top;
	}
	pthread_mutex_unlock(&table.lock);
	if (!t->dev.handle) {
		free(t);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	r = tell_device(t);
	if (r)
		texture_remove(t);
	else
		*out = t;
	return r;
}

CUresult texture_update(struct texture *t)
{
	CUresult r;

	pthread_mutex_lock(&lifetime);
	gpu_wait(t->ctx->gpu);
	r = tell_device(t);
	pthread_mutex_unlock(&lifetime);
	return r;
}

void texture_remove(struct texture *t)
{
	uint32_t i = (uint32_t)(t->dev.handle % DEV_TEXTURES);

	pthread_mutex_lock(&lifetime);
	t->dev.state = DEV_TEXTURE_DESTROYED;
	if (t->ctx->gpu->ops->texture_set)
		texture_update(t);
	pthread_mutex_lock(&table.lock);
	table.entries[i] = NULL;
	table.uses[i]++;
	pthread_mutex_unlock(&table.lock);
	free(t);
	pthread_mutex_unlock(&lifetime);
}

CUresult texture_object(const struct texture *t, unsigned long long *handle)
{
	struct texture *made;
	CUresult r = texture_add(t, &made);

	if (!r)
		*handle = made->dev.handle;
	return r;
}

CUresult texture_enter(uint64_t handle, enum dev_texture_kind kind, const void *out, struct texture **t)
{
	CUresult r = core_check();

	if (r)
		return r;
	*t = texture_find(handle, kind);
	return *t && out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult texture_resource(uint64_t handle, enum dev_texture_kind kind, CUDA_RESOURCE_DESC *out)
{
	struct texture *t;
	CUresult r = texture_enter(handle, kind, out, &t);

	if (!r)
		*out = t->resource;
	return r;
}

CUresult texture_destroy(uint64_t handle, enum dev_texture_kind kind)
{
	CUresult r = core_check();
	struct texture *t;

	if (r)
		return r;
	pthread_mutex_lock(&lifetime);
	t = texture_find(handle, kind);
	if (t)
		texture_remove(t);
	pthread_mutex_unlock(&lifetime);
	return t ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

struct texture *texture_find(uint64_t handle, enum dev_texture_kind kind)
{
	struct texture *t;

	pthread_mutex_lock(&table.lock);
	t = table.entries[handle % DEV_TEXTURES];
	if (t && (t->dev.handle != handle || t->is_reference || t->dev.kind != kind))
		t = NULL;
	pthread_mutex_unlock(&table.lock);
	return t;
}

/* The next entry from `from` on that is made of `backing`; without one, that is an object of the context. */
static struct texture *next_of(uint32_t *from, const void *backing, const struct context *ctx)
{
	struct texture *t = NULL;

	pthread_mutex_lock(&table.lock);
	for (; *from < table.top && !t; ++*from) {
		struct texture *e = table.entries[*from];

		if (e && (backing ? e->backing == backing : e->ctx == ctx && !e->is_reference))
			t = e;
	}
	pthread_mutex_unlock(&table.lock);
	return t;
}

void textures_lose(const void *backing)
{
	struct texture *t;
	uint32_t at = 0;

	pthread_mutex_lock(&lifetime);
	while ((t = next_of(&at, backing, NULL))) {
		t->dev.state = DEV_TEXTURE_ARRAY_GONE;
		t->backing = NULL;
		texture_update(t);
	}
	pthread_mutex_unlock(&lifetime);
}

void textures_destroy(struct context *ctx)
{
	struct texture *t;
	uint32_t at = 0;

	pthread_mutex_lock(&lifetime);
	while ((t = next_of(&at, NULL, ctx)))
		texture_remove(t);
	pthread_mutex_unlock(&lifetime);
}
