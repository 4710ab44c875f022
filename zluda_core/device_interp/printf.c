/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions that the device provides to kernels: vprintf, __assertfail,
 * malloc, free (CUDA programming guide, "Formatted Output", "Assertion",
 * "Dynamic Global Memory Allocation"). Each runs lane by lane, in order.
 */
#include <stdlib.h>
#include <string.h>

#include "zluda_core/device_interp/debug.h"
#include "zluda_core/device_interp/exec_mem.h"
#include "zluda_core/print_format.h"

#define TEXT_MAX 65536

static uint64_t argument(struct warp *w, const struct xcall *call, uint32_t k, unsigned lane)
{
	const struct xarg *a = &call->args[k];
	uint64_t v = 0;
	const uint8_t *p = a->cell != OPERAND_NONE
				   ? (const uint8_t *)cell(w, a->cell) + (size_t)lane * a->bytes
				   : w->local + (size_t)lane * w->local_stride + w->local_base + a->offset;

	memcpy(&v, p, a->bytes < 8 ? a->bytes : 8);
	return v;
}

static void give_back(struct warp *w, const struct xcall *call, unsigned lane, uint64_t v)
{
	if (!call->nrets)
		return;
	const struct xarg *a = &call->rets[0];
	uint8_t *p = a->cell != OPERAND_NONE
			     ? (uint8_t *)cell(w, a->cell) + (size_t)lane * a->bytes
			     : w->local + (size_t)lane * w->local_stride + w->local_base + a->offset;

	memcpy(p, &v, a->bytes < 8 ? a->bytes : 8);
}

/* A guest string; false when it can't be read (a fault was recorded). */
static bool guest_string(struct warp *w, const struct xinst *i, uint64_t addr, unsigned lane,
			 struct print_text *out)
{
	for (uint32_t n = 0; n < TEXT_MAX; n++) {
		const uint8_t *p = mem_resolve_lane(w, i, PTX_SPACE_GENERIC, addr + n, 1, 1, 0, lane);

		if (!p)
			return false;
		if (!*p)
			break;
		print_text_append(out, (const char *)p, 1);
	}
	print_text_append(out, "", 0);
	return true;
}

/* The argument buffer of vprintf: naturally aligned values, one after the other. */
struct args {
	struct warp *w;
	const struct xinst *i;
	uint64_t at;
	unsigned lane;
};

static bool next_arg(void *ctx, unsigned bytes, uint64_t *value)
{
	struct args *a = ctx;

	a->at = (a->at + bytes - 1) & ~(uint64_t)(bytes - 1);
	const uint8_t *p = mem_resolve_lane(a->w, a->i, PTX_SPACE_GENERIC, a->at, bytes, bytes, 0, a->lane);

	if (p)
		memcpy(value, p, bytes);
	a->at += bytes;
	return p != NULL;
}

static bool string_arg(void *ctx, uint64_t address, struct print_text *out)
{
	const struct args *a = ctx;

	return guest_string(a->w, a->i, address, a->lane, out);
}

/* The host may take its time, and may change the memory map. */
static void host_print(struct warp *w, const struct print_text *t)
{
	const struct dev_host *h = &w->block->grid->dev->host;

	if (unlikely(w->block->grid->debug) && t->n) {
		debug_print(w->block->grid, t->s, t->n);
		return;
	}
	if (!h->print || !t->n)
		return;
	worker_pause(w->worker);
	h->print(h->ctx, t->s, t->n);
	worker_refresh(w->worker);
}

static const struct xinst *builtin_vprintf(struct warp *w, const struct xinst *i)
{
	const struct xcall *call = (const void *)(uintptr_t)i->imm;

	FOR_LANES(l, w->mask)
	{
		struct print_text fmt = {0}, out = {0};
		struct args a = {w, i, argument(w, call, 1, l), l};
		const struct print_source source = {&a, next_arg, string_arg};
		bool ok = guest_string(w, i, argument(w, call, 0, l), l, &fmt);

		if (ok && fmt.s) {
			int count = print_format(&out, fmt.s, &source);

			give_back(w, call, l, (uint64_t)count);
			ok = count >= 0;
			if (ok)
				host_print(w, &out);
		}
		free(fmt.s);
		free(out.s);
		if (!ok)
			return NULL;
	}
	return i + 1;
}

/* (message, file, line, function, size of a char) */
static const struct xinst *builtin_assertfail(struct warp *w, const struct xinst *i)
{
	const struct xcall *call = (const void *)(uintptr_t)i->imm;
	unsigned l = first_lane(w->mask);
	struct print_text s[3] = {0};
	static const uint8_t which[3] = {0, 1, 3};
	bool ok = true;

	for (unsigned k = 0; k < 3; k++) {
		uint64_t addr = argument(w, call, which[k], l);

		if (!addr)
			print_text_append(&s[k], "?", 1);
		else
			ok = ok && guest_string(w, i, addr, l, &s[k]);
	}
	if (ok)
		fault_lane(w, i, DEV_FAULT_ASSERT, l,
			   "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.", s[1].s,
			   (unsigned)argument(w, call, 2, l), s[2].s, w->block->index[0], w->block->index[1],
			   w->block->index[2], w->tids[0][l], w->tids[1][l], w->tids[2][l], s[0].s);
	for (unsigned k = 0; k < 3; k++)
		free(s[k].s);
	return NULL;
}

static const struct xinst *builtin_malloc(struct warp *w, const struct xinst *i)
{
	const struct xcall *call = (const void *)(uintptr_t)i->imm;
	const struct dev_host *h = &w->block->grid->dev->host;

	worker_pause(w->worker);
	FOR_LANES(l, w->mask)
	{
		uint64_t n = argument(w, call, 0, l);

		give_back(w, call, l, h->heap_alloc && n ? h->heap_alloc(h->ctx, n) : 0);
	}
	worker_refresh(w->worker);
	return i + 1;
}

static const struct xinst *builtin_free(struct warp *w, const struct xinst *i)
{
	const struct xcall *call = (const void *)(uintptr_t)i->imm;
	const struct dev_host *h = &w->block->grid->dev->host;
	uint64_t wrong = 0;
	unsigned lane = 0;

	worker_pause(w->worker);
	FOR_LANES(l, w->mask)
	{
		uint64_t p = argument(w, call, 0, l);

		if (p && !wrong && (!h->heap_free || h->heap_free(h->ctx, p))) {
			wrong = p;
			lane = l;
		}
	}
	worker_refresh(w->worker);
	if (wrong)
		return fault_lane(w, i, DEV_FAULT_ILLEGAL_ADDRESS, lane,
				  "free of 0x%llx, which is not on the device's heap",
				  (unsigned long long)wrong);
	return i + 1;
}

/* Sizes in bytes, one digit each. */
static bool sizes_are(const struct ptx_param *p, uint32_t n, const char *sizes)
{
	bool ok = n == strlen(sizes);

	for (uint32_t k = 0; ok && k < n; k++)
		ok = p[k].type != PTX_PRED && p[k].size == (uint32_t)(sizes[k] - '0');
	return ok;
}

exec_fn builtin_find(const struct ptx_func *declared)
{
	static const struct {
		const char *name;
		exec_fn fn;
		const char *params, *rets;
	} table[] = {
		{"vprintf", builtin_vprintf, "88", "4"},
		{"__assertfail", builtin_assertfail, "88488", ""},
		{"malloc", builtin_malloc, "8", "8"},
		{"free", builtin_free, "8", ""},
	};

	for (unsigned k = 0; k < sizeof(table) / sizeof(table[0]); k++)
		if (!strcmp(table[k].name, declared->name))
			return sizes_are(declared->params, declared->nparams, table[k].params) &&
					       sizes_are(declared->rets, declared->nrets, table[k].rets)
				       ? table[k].fn
				       : NULL;
	return NULL;
}
