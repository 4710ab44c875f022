/* SPDX-License-Identifier: Apache-2.0
 *
 * The set of live handles: an open-addressing hash table from pointer to kind. A handle that a program
 * made up, or destroyed, is found out without touching what it points to.
 */
#include "core.h"

#include <stdlib.h>

struct slot {
	uintptr_t p; /* 0 = never used, 1 = removed */
	enum handle_kind kind;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct slot *slots;
static size_t nslots, nused; /* nused counts removed slots too */

static size_t hash(uintptr_t p)
{
	return (size_t)((p >> 4) * 0x9e3779b97f4a7c15ull >> 20);
}

static struct slot *find(uintptr_t p)
{
	if (!nslots || p <= 1)
		return NULL;
	for (size_t i = hash(p);; i++) {
		struct slot *s = &slots[i & (nslots - 1)];

		if (s->p == p)
			return s;
		if (!s->p)
			return NULL;
	}
}

static void insert(uintptr_t p, enum handle_kind kind)
{
	size_t i = hash(p);

	while (slots[i & (nslots - 1)].p)
		i++;
	slots[i & (nslots - 1)] = (struct slot){p, kind};
	nused++;
}

static bool grow(void)
{
	struct slot *old = slots;
	size_t old_n = nslots;
	size_t live = 0;

	for (size_t i = 0; i < old_n; i++)
		live += old[i].p > 1;
	nslots = 256;
	while (nslots < live * 4)
		nslots *= 2;
	slots = calloc(nslots, sizeof(*slots));
	if (!slots) {
		slots = old;
		nslots = old_n;
		return false;
	}
	nused = 0;
	for (size_t i = 0; i < old_n; i++)
		if (old[i].p > 1)
			insert(old[i].p, old[i].kind);
	free(old);
	return true;
}

bool handle_add(const void *p, enum handle_kind kind)
{
	bool ok = true;

	pthread_rwlock_wrlock(&lock);
	if (nused * 2 >= nslots)
		ok = grow();
	if (ok)
		insert((uintptr_t)p, kind);
	pthread_rwlock_unlock(&lock);
	return ok;
}

void handle_remove(const void *p)
{
	struct slot *s;

	pthread_rwlock_wrlock(&lock);
	s = find((uintptr_t)p);
	if (s)
		s->p = 1;
	pthread_rwlock_unlock(&lock);
}

bool handle_is(const void *p, enum handle_kind kind)
{
	struct slot *s;
	bool yes;

	pthread_rwlock_rdlock(&lock);
	s = find((uintptr_t)p);
	yes = s && s->kind == kind;
	pthread_rwlock_unlock(&lock);
	return yes;
}

CUresult handle_enter(const void *p, enum handle_kind kind)
{
	CUresult r = core_check();

	if (r || handle_is(p, kind))
		return r;
	return kind == HANDLE_POOL || kind == HANDLE_MEM ? CUDA_ERROR_INVALID_VALUE
							 : CUDA_ERROR_INVALID_HANDLE;
}
