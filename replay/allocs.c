/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that make or free memory the device can address. For each, the recorded address is asked for in the
 * way that the target allows; what can't be had there is entered as moved and translated from then on.
 */
#include <string.h>
#include <sys/mman.h>

#include "replay/engine.h"
#include "replay/extension_client.h"

#define PAGE           4096u
#define ALREADY_MAPPED 208 /* CUDA_ERROR_ALREADY_MAPPED */

enum alloc_op {
	OP_DEVICE,
	OP_PITCH,
	OP_HOST,
	OP_REGISTER,
	OP_RESERVE,
	OP_GLOBAL,
	OP_HOST_DEVPTR,
	OP_FREE,
	OP_FREE_HOST,
	OP_UNREGISTER,
	OP_FREE_RESERVED,
};

static const struct alloc_rule {
	const char *base;
	enum alloc_op op;
	int8_t addr, size; /* parameters: address (out when made, in when freed), bytes */
	const char *kind;
} rules[] = {
	{"cuMemAlloc", OP_DEVICE, 0, 1, "device"},
	{"cuMemAllocPitch", OP_PITCH, 0, -1, "device"},
	{"cuMemAllocManaged", OP_DEVICE, 0, 1, "managed"},
	{"cuMemAllocAsync", OP_DEVICE, 0, 1, "pool"},
	{"cuMemAllocFromPoolAsync", OP_DEVICE, 0, 1, "pool"},
	{"cuMemAllocHost", OP_HOST, 0, 1, "host"},
	{"cuMemHostAlloc", OP_HOST, 0, 1, "host"},
	{"cuMemHostRegister", OP_REGISTER, 0, 1, "registered"},
	{"cuMemHostGetDevicePointer", OP_HOST_DEVPTR, 0, -1, "host"},
	{"cuMemAddressReserve", OP_RESERVE, 0, 1, "vmm"},
	{"cuModuleGetGlobal", OP_GLOBAL, 0, 1, "global"},
	{"cuLibraryGetGlobal", OP_GLOBAL, 0, 1, "global"},
	{"cuLibraryGetManaged", OP_GLOBAL, 0, 1, "managed"},
	{"cuMemFree", OP_FREE, 0, -1, NULL},
	{"cuMemFreeAsync", OP_FREE, 0, -1, NULL},
	{"cuMemFreeHost", OP_FREE_HOST, 0, -1, NULL},
	{"cuMemHostUnregister", OP_UNREGISTER, 0, -1, NULL},
	{"cuMemAddressFree", OP_FREE_RESERVED, 0, -1, NULL},
};

static const struct alloc_rule *rule_find(const struct api_func *f)
{
	for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!strcmp(rules[i].base, f->base))
			return &rules[i];
	return NULL;
}

static uint64_t out_value(const struct call *c, int p)
{
	uint64_t v = 0;

	if (c->args[p])
		memcpy(&v, (const void *)(uintptr_t)c->args[p], sizeof(v));
	return v;
}

static void enter_range(struct engine *e, const struct call *c, struct address_range *r)
{
	r->created = c->rec->id;
	plan_allocation(e, c->rec->id, r->base, &r->id, &r->kind);
	addresses_add(&e->addresses, r);
	result_allocation(e->out, r);
}

static enum address_policy policy_of(bool placed, uint64_t recorded, uint64_t live)
{
	if (recorded != live)
		return ADDRESS_TRANSLATED;
	return placed ? ADDRESS_PLACED : ADDRESS_SAME;
}

/* Device memory on a driver that takes no wishes: virtual memory management does. True: it is there. */
static bool place_by_vmm(struct engine *e, const struct call *c, struct address_range *r)
{
	if (e->drv.ext || strcmp(r->kind, "device") || !contexts_enter(e, c->thread) ||
	    !vmm_place(e, r->base, r->bytes))
		return false;
	r->live = r->base;
	r->policy = ADDRESS_VMM;
	e->counts.issued++;
	return true;
}

/* Issues a call that allocates, at the recorded address where our device can do so. */
static bool issue_placed(struct engine *e, struct call *c, uint64_t address)
{
	bool placed = extension_place(e, address);

	call_issue(e, c);
	if (!placed || c->result != ALREADY_MAPPED)
		return placed;
	call_issue(e, c); /* its end ran into something else: anywhere, then */
	return false;
}

/* The second replay of --verify-addresses must not get the addresses of the first: where nothing else moves
 * them, an allocation that is never freed does. */
static void space(struct engine *e)
{
	uint64_t unused = 0;

	if (e->pass != 2 || e->drv.ext || e->spaced)
		return;
	driver_plain(&e->drv, "cuMemAlloc_v2", 2, word(&unused), UINT64_C(66) << 20);
	e->spaced = true;
}

static void make_device(struct engine *e, struct call *c, const struct alloc_rule *rule)
{
	struct address_range r = {.kind = rule->kind, .bytes = c->rec->args[rule->size]};
	bool placed;

	if (!call_recorded_out(e, c, (unsigned)rule->addr, &r.base) || !call_rebuild(e, c))
		return;
	if (place_by_vmm(e, c, &r)) {
		enter_range(e, c, &r);
		return;
	}
	if (contexts_enter(e, c->thread))
		space(e);
	placed = issue_placed(e, c, r.base);
	if (c->result)
		return;
	r.live = out_value(c, rule->addr);
	r.policy = policy_of(placed, r.base, r.live);
	r.host_visible = !strcmp(rule->kind, "managed");
	enter_range(e, c, &r);
}

/* The recorded pitch is a fact that the program computed with: plain memory of that size is asked for. */
static void make_pitch(struct engine *e, struct call *c, const struct alloc_rule *rule)
{
	struct address_range r = {.kind = rule->kind};
	uint64_t pitch;
	bool placed;

	if (!call_recorded_out(e, c, 0, &r.base) || !call_recorded_out(e, c, 1, &pitch) ||
	    __builtin_mul_overflow(pitch, c->rec->args[3], &r.bytes)) {
		c->refused = "the pitch it returned was not recorded";
		return;
	}
	if (!contexts_enter(e, c->thread))
		return;
	if (place_by_vmm(e, c, &r)) {
		enter_range(e, c, &r);
		return;
	}
	placed = extension_place(e, r.base);
	c->result = driver_plain(&e->drv, "cuMemAlloc_v2", 2, word(&r.live), r.bytes);
	if (placed && c->result == ALREADY_MAPPED)
		c->result = driver_plain(&e->drv, "cuMemAlloc_v2", 2, word(&r.live), r.bytes);
	e->counts.issued++;
	if (c->result)
		return;
	r.policy = policy_of(placed, r.base, r.live);
	enter_range(e, c, &r);
}

static void make_host(struct engine *e, struct call *c, const struct alloc_rule *rule)
{
	struct address_range r = {
		.kind = rule->kind, .bytes = c->rec->args[rule->size], .host_visible = true};
	bool placed;

	if (!call_recorded_out(e, c, 0, &r.base) || !call_rebuild(e, c))
		return;
	placed = issue_placed(e, c, r.base);
	if (c->result)
		return;
	r.live = out_value(c, 0);
	r.policy = policy_of(placed, r.base, r.live);
	enter_range(e, c, &r);
}

/* Memory of the program that it lets the device use: it needs counterparts of the same page offset. */
static void make_registered(struct engine *e, struct call *c, const struct alloc_rule *rule)
{
	struct address_range r = {
		.kind = rule->kind, .base = c->rec->args[0], .bytes = c->rec->args[1], .host_visible = true};
	uint64_t start = r.base & ~(uint64_t)(PAGE - 1), offset = r.base - start;
	void *p;

	r.host_bytes = (offset + r.bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	p = mmap((void *)(uintptr_t)start, r.host_bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (p == MAP_FAILED)
		p = mmap(NULL, r.host_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		c->refused = "no host memory for it";
		return;
	}
	r.host_mapping = p;
	r.live = word(p) + offset;
	r.policy = policy_of(false, r.base, r.live);
	if (call_rebuild(e, c)) {
		c->args[0] = r.live;
		call_issue(e, c);
	}
	if (c->refused || c->result)
		munmap(p, r.host_bytes);
	else
		enter_range(e, c, &r);
}

/* The device's address of host memory. Where both are the same (unified addressing) it is known already. */
static void make_host_devptr(struct engine *e, struct call *c)
{
	const struct address_range *host = addresses_find(&e->addresses, c->rec->args[1]);
	struct address_range r = {.kind = "host", .host_visible = true};

	if (!call_recorded_out(e, c, 0, &r.base) || !call_rebuild(e, c))
		return;
	call_issue(e, c);
	if (c->result || addresses_find(&e->addresses, r.base))
		return;
	r.live = out_value(c, 0);
	r.bytes = host ? host->bytes - (c->rec->args[1] - host->base) : 1;
	r.policy = policy_of(false, r.base, r.live);
	enter_range(e, c, &r);
}

static void make_reserved(struct engine *e, struct call *c, const struct alloc_rule *rule)
{
	struct address_range r = {.kind = rule->kind, .bytes = c->rec->args[rule->size]};
	int hint = 3; /* cuMemAddressReserve(ptr, size, alignment, addr, flags) */
	bool placed;

	if (!call_recorded_out(e, c, 0, &r.base) || !call_rebuild(e, c))
		return;
	c->args[hint] = r.base;
	placed = issue_placed(e, c, r.base);
	if (c->result)
		return;
	r.live = out_value(c, 0);
	r.policy = policy_of(placed, r.base, r.live);
	enter_range(e, c, &r);
}

static void make_global(struct engine *e, struct call *c, const struct alloc_rule *rule)
{
	struct address_range r = {.kind = rule->kind};
	uint64_t live = 0, bytes = 0;

	if (!call_rebuild(e, c))
		return;
	c->args[0] = word(&live);
	c->args[1] = word(&bytes);
	call_issue(e, c);
	if (c->result || !call_recorded_out(e, c, 0, &r.base))
		return;
	r.live = live;
	if (!call_recorded_out(e, c, 1, &r.bytes))
		r.bytes = bytes;
	r.policy = policy_of(e->drv.ext != NULL, r.base, r.live);
	r.owner = c->rec->args[2];
	r.host_visible = !strcmp(rule->kind, "managed");
	if (!addresses_find(&e->addresses, r.base) || addresses_find(&e->addresses, r.base)->base != r.base)
		enter_range(e, c, &r);
}

static void release(struct engine *e, struct call *c, enum alloc_op op)
{
	struct address_range *found = addresses_find(&e->addresses, c->rec->args[0]);
	struct address_range r;

	if (found && found->base != c->rec->args[0])
		found = NULL; /* an address inside an allocation, or right behind one, is not that one */
	if (!found && c->rec->args[0] && !c->rec->result) {
		c->refused = "nothing that was replayed allocated it";
		return;
	}
	if (found && found->policy == ADDRESS_VMM && !c->rec->result) {
		transfers_drain(e);
		vmm_release(e, found->base, found->bytes);
		addresses_remove(&e->addresses, found->base);
		return;
	}
	if (!call_rebuild(e, c))
		return;
	if (found)
		c->args[0] = addresses_to_live(&e->addresses, c->rec->args[0]);
	call_issue(e, c);
	if (c->result || !found)
		return;
	r = *found;
	addresses_remove(&e->addresses, r.base);
	if (op == OP_UNREGISTER && r.host_mapping)
		munmap(r.host_mapping, r.host_bytes);
}

bool alloc_is_query(const struct api_func *f)
{
	const struct alloc_rule *rule = rule_find(f);

	return rule && (rule->op == OP_GLOBAL || rule->op == OP_HOST_DEVPTR);
}

/* There is no address to ask for: to see whether it fails again, it is issued as it was. */
static bool made_nothing(const struct alloc_rule *rule, const struct call *c)
{
	return c->rec->result && (rule->op == OP_DEVICE || rule->op == OP_PITCH || rule->op == OP_HOST ||
				  rule->op == OP_RESERVE || rule->op == OP_HOST_DEVPTR);
}

bool alloc_replay(struct engine *e, struct call *c)
{
	const struct alloc_rule *rule = rule_find(c->f);

	if (!rule || made_nothing(rule, c))
		return false;
	switch (rule->op) {
	case OP_DEVICE: make_device(e, c, rule); break;
	case OP_PITCH: make_pitch(e, c, rule); break;
	case OP_HOST: make_host(e, c, rule); break;
	case OP_REGISTER: make_registered(e, c, rule); break;
	case OP_RESERVE: make_reserved(e, c, rule); break;
	case OP_GLOBAL: make_global(e, c, rule); break;
	case OP_HOST_DEVPTR: make_host_devptr(e, c); break;
	default: release(e, c, rule->op); break;
	}
	return true;
}

void allocs_forget_globals(struct engine *e, uint64_t owner)
{
	for (size_t i = e->addresses.n; i-- > 0;) {
		const struct address_range *r = e->addresses.by_base[i];

		if (r->owner == owner)
			addresses_remove(&e->addresses, r->base);
	}
}
