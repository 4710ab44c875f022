/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory instructions: addresses of the lanes, then loads, stores and atomics. RDNA 3 ISA, chapters 8 to 12; CDNA 3
 * ISA, chapters 8 to 11. Global memory is checked against the caller's windows, LDS and scratch against what the
 * launch allocated: the hardware would return 0 or wrap.
 */
#include <stdio.h>
#include <string.h>

#include "zluda_core/amdgpu_emulator/atomic.h"
#include "zluda_core/amdgpu_emulator/wave.h"

/* Workgroups run on several threads: aligned pieces of up to 4 bytes are moved at once, as hardware does. */
static inline void peek(void *to, const uint8_t *from, unsigned bytes)
{
	if (bytes == 4 && (uintptr_t)from % 4 == 0) {
		uint32_t v = __atomic_load_n((const uint32_t *)from, __ATOMIC_RELAXED);
		memcpy(to, &v, 4);
	} else if (bytes == 2 && (uintptr_t)from % 2 == 0) {
		uint16_t v = __atomic_load_n((const uint16_t *)from, __ATOMIC_RELAXED);
		memcpy(to, &v, 2);
	} else {
		for (unsigned i = 0; i < bytes; i++)
			((uint8_t *)to)[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
	}
}

static inline void poke(uint8_t *to, const void *from, unsigned bytes)
{
	if (bytes == 4 && (uintptr_t)to % 4 == 0) {
		uint32_t v;
		memcpy(&v, from, 4);
		__atomic_store_n((uint32_t *)to, v, __ATOMIC_RELAXED);
	} else if (bytes == 2 && (uintptr_t)to % 2 == 0) {
		uint16_t v;
		memcpy(&v, from, 2);
		__atomic_store_n((uint16_t *)to, v, __ATOMIC_RELAXED);
	} else {
		for (unsigned i = 0; i < bytes; i++)
			__atomic_store_n(to + i, ((const uint8_t *)from)[i], __ATOMIC_RELAXED);
	}
}

static bool in_window(const struct amdgpu_window *win, uint64_t addr, unsigned bytes)
{
	return addr - win->address < win->bytes && win->bytes - (addr - win->address) >= bytes;
}

static bool find_window(struct wave *w, uint64_t addr, unsigned bytes)
{
	struct group *g = w->group;
	struct amdgpu_window win = {DISPATCH_ADDRESS, g->dispatch_bytes, g->dispatch, false};

	if (!in_window(&win, addr, bytes)) {
		const struct amdgpu_memory *m = &g->launch->memory;
		if (!m->find || !m->find(m->ctx, addr, &win) || !in_window(&win, addr, bytes))
			return false;
	}
	w->window = win;
	return true;
}

/* A fault of the access that executes: message, and what it was. */
#define access_fault(w, kind, lane, addr, where, ...)             \
	do {                                                      \
		if (wave_fault(w, kind, lane, addr, __VA_ARGS__)) \
			note_access(w, where, (w)->group->fault); \
	} while (0)

static void note_access(const struct wave *w, const char *where, struct amdgpu_fault *f)
{
	const struct memory_op *m = &w->current->mem;

	f->access_bytes = m->bytes;
	f->is_store = m->action == ACTION_STORE;
	f->is_atomic = m->action == ACTION_ATOMIC;
	snprintf(f->space, sizeof f->space, "%s", where);
}

static const char *verb(const struct wave *w)
{
	static const char *const names[] = {"load", "store", "atomic"};

	return names[w->current->mem.action];
}

uint8_t *global_pointer(struct wave *w, uint64_t addr, unsigned bytes, bool write, unsigned lane)
{
	if (!in_window(&w->window, addr, bytes) && !find_window(w, addr, bytes)) {
		access_fault(w, AMDGPU_FAULT_ADDRESS, lane, addr, "global",
			     "%s of %u bytes at 0x%llx, which is in no allocation", verb(w), bytes,
			     (unsigned long long)addr);
		return NULL;
	}
	if (write && !w->window.writable) {
		access_fault(w, AMDGPU_FAULT_ADDRESS, lane, addr, "global",
			     "%s of %u bytes at 0x%llx, which is read-only", verb(w), bytes,
			     (unsigned long long)addr);
		return NULL;
	}
	return w->window.host + (addr - w->window.address);
}

static uint8_t *lds_pointer(struct wave *w, uint64_t addr, unsigned bytes, unsigned lane)
{
	uint32_t size = w->group->lds_bytes;

	if (addr > size || size - addr < bytes) {
		access_fault(w, AMDGPU_FAULT_ADDRESS, lane, addr, "shared",
			     "%s of %u bytes at LDS address 0x%llx of a workgroup that has %u", verb(w),
			     bytes, (unsigned long long)addr, size);
		return NULL;
	}
	return w->group->lds + addr;
}

static uint8_t *backing_pointer(struct wave *w, uint64_t offset, unsigned bytes, unsigned lane)
{
	uint64_t size = 4ull * w->scratch_dwords * w->size;

	if (offset > size || size - offset < bytes) {
		access_fault(w, AMDGPU_FAULT_ADDRESS, lane, offset, "local",
			     "%s of %u bytes at scratch offset 0x%llx of 0x%llx", verb(w), bytes,
			     (unsigned long long)offset, (unsigned long long)size);
		return NULL;
	}
	return (uint8_t *)w->scratch + offset;
}

/* One byte of a lane's scratch: dwords of the lanes are interleaved. */
static uint8_t *scratch_byte(struct wave *w, uint64_t offset, unsigned lane)
{
	if (offset >= 4ull * w->scratch_dwords) {
		access_fault(w, AMDGPU_FAULT_ADDRESS, lane, offset, "local",
			     "%s at scratch offset 0x%llx of a work-item that has %u bytes", verb(w),
			     (unsigned long long)offset, 4 * w->scratch_dwords);
		return NULL;
	}
	return (uint8_t *)(w->scratch + (offset / 4) * w->size + lane) + offset % 4;
}

/* Where an access goes: a place in host memory, or (NULL) a lane's scratch, or (split) windows side by side. */
struct place {
	uint8_t *host;
	uint64_t address;
	bool split;
};

/* Begins in a window and ends beyond it. */
static bool crosses_windows(struct wave *w, uint64_t addr, unsigned bytes)
{
	return !in_window(&w->window, addr, bytes) && find_window(w, addr, 1) &&
	       !in_window(&w->window, addr, bytes);
}

static bool resolve_split(struct wave *w, uint64_t addr, unsigned bytes, bool write, unsigned lane,
			  struct place *out)
{
	for (unsigned i = 0; i < bytes; i++) {
		if (!find_window(w, addr + i, 1))
			return global_pointer(w, addr, bytes, write, lane) != NULL;
		if (!global_pointer(w, addr + i, 1, write, lane))
			return false;
	}
	out->address = addr;
	out->split = true;
	return true;
}

static uint8_t *one_byte(struct wave *w, const struct place *p, unsigned i, bool write, unsigned lane)
{
	return p->split ? global_pointer(w, p->address + i, 1, write, lane)
			: scratch_byte(w, p->address + i, lane);
}

static bool resolve(struct wave *w, unsigned space, uint64_t addr, unsigned bytes, bool write, unsigned lane,
		    struct place *out)
{
	out->host = NULL;
	out->split = false;
	if (space == SPACE_FLAT) {
		uint32_t high = (uint32_t)(addr >> 32);
		if (high == APERTURE_SHARED >> 32)
			space = SPACE_LDS;
		else if (high == APERTURE_PRIVATE >> 32)
			space = SPACE_SCRATCH;
		if (space != SPACE_FLAT)
			addr = (uint32_t)addr;
	}
	if (space == SPACE_SCRATCH) {
		out->address = addr;
		return true;
	}
	if (space == SPACE_LDS)
		out->host = lds_pointer(w, addr, bytes, lane);
	else if (addr - SCRATCH_BACKING < 1ull << 40)
		out->host = backing_pointer(w, addr - SCRATCH_BACKING, bytes, lane);
	else if (crosses_windows(w, addr, bytes))
		return resolve_split(w, addr, bytes, write, lane, out);
	else
		out->host = global_pointer(w, addr, bytes, write, lane);
	return out->host != NULL;
}

static bool copy_in(struct wave *w, const struct place *p, void *data, unsigned bytes, unsigned lane)
{
	if (p->host) {
		for (unsigned i = 0; i < bytes; i += 4)
			peek((uint8_t *)data + i, p->host + i, bytes - i < 4 ? bytes - i : 4);
		return true;
	}
	for (unsigned i = 0; i < bytes; i++) {
		uint8_t *b = one_byte(w, p, i, false, lane);
		if (!b)
			return false;
		((uint8_t *)data)[i] = *b;
	}
	return true;
}

static bool copy_out(struct wave *w, const struct place *p, const void *data, unsigned bytes, unsigned lane)
{
	if (p->host) {
		for (unsigned i = 0; i < bytes; i += 4)
			poke(p->host + i, (const uint8_t *)data + i, bytes - i < 4 ? bytes - i : 4);
		return true;
	}
	for (unsigned i = 0; i < bytes; i++) {
		uint8_t *b = one_byte(w, p, i, true, lane);
		if (!b)
			return false;
		*b = ((const uint8_t *)data)[i];
	}
	return true;
}

/* ---- buffer resources (RDNA 2 ISA, 8.1.5 to 8.1.8; CDNA 3 ISA, 9.1.5) */

struct buffer {
	uint64_t base;
	uint32_t stride, records, index_stride, soffset;
	bool swizzle, add_tid;
};

static struct buffer buffer_of(const struct wave *w, const struct insn *in)
{
	const uint32_t *r = &w->s[in->src[2].kind == OPD_SGPR ? in->src[2].reg : 0];
	unsigned swizzle = w->gfx >= 11 ? r[1] >> 30 & 3 : r[1] >> 31;

	return (struct buffer){r[0] | (uint64_t)(r[1] & 0xffff) << 32,
			       r[1] >> 16 & 0x3fff,
			       r[2],
			       8u << (r[3] >> 21 & 3),
			       scalar_read32(w, &in->src[3]),
			       swizzle != 0,
			       r[3] >> 23 & 1};
}

/* Address of `bytes` at `part` within the access, or 0 when it is outside of the buffer: loads give 0 there, stores
 * are dropped. */
static uint64_t buffer_address(const struct wave *w, const struct insn *in, const struct buffer *b,
			       unsigned lane, unsigned part, unsigned bytes)
{
	const struct operand *v = &in->src[0];
	uint32_t index = b->add_tid ? lane : 0, offset = (uint32_t)in->offset + part;
	uint64_t at;

	if (in->idxen)
		index += w->v[v->reg][lane];
	if (in->offen)
		offset += w->v[v->reg + in->idxen][lane];
	if (b->swizzle) {
		at = ((uint64_t)(index / b->index_stride) * b->stride + (offset & ~3u)) * b->index_stride +
		     index % b->index_stride * 4 + offset % 4;
		/* a swizzled scratch buffer is checked by its extent */
		return b->base + b->soffset + at;
	}
	at = (uint64_t)index * b->stride + offset;
	if (b->stride && in->idxen ? index >= b->records : at + bytes > b->records)
		return 0;
	return b->base + b->soffset + at;
}

/* ---- addresses */

static void flat_addresses(const struct wave *w, const struct insn *in, uint64_t *addr)
{
	const struct operand *v = &in->src[0], *s = &in->src[2];
	uint64_t base = (uint64_t)(int64_t)in->offset;
	bool wide = s->kind == OPD_NULL || s->kind == OPD_NONE;

	if (in->mem.space == SPACE_SCRATCH) {
		uint32_t off = (uint32_t)in->offset + scalar_read32(w, s);
		for (unsigned l = 0; l < w->size; l++)
			addr[l] = (uint32_t)(off +
					     (v->kind == OPD_VGPR ? w->v[v->reg][l] : scalar_read32(w, v)));
		return;
	}
	if (!wide)
		base += scalar_read64(w, s);
	for (unsigned l = 0; l < w->size; l++)
		addr[l] = base + w->v[v->reg][l] + (wide ? (uint64_t)w->v[v->reg + 1][l] << 32 : 0);
}

static void lds_addresses(const struct wave *w, const struct insn *in, uint64_t *addr, int32_t offset)
{
	const struct operand *v = &in->src[0];

	for (unsigned l = 0; l < w->size; l++)
		addr[l] = (uint32_t)((v->kind == OPD_VGPR ? w->v[v->reg][l] : scalar_read32(w, v)) +
				     (uint32_t)offset);
}

/* ---- loads and stores */

static uint32_t widen(const struct memory_op *m, uint32_t v, uint32_t old)
{
	if (m->bytes == 1)
		v = m->sign ? (uint32_t)(int8_t)v : v & 0xff;
	else if (m->bytes == 2)
		v = m->sign ? (uint32_t)(int16_t)v : v & 0xffff;
	if (m->half == HALF_LOW)
		return (old & 0xffff0000) | (v & 0xffff);
	if (m->half == HALF_HIGH)
		return (old & 0xffff) | v << 16;
	return v;
}

/* The common case, quickly: whole dwords, all of them in LDS or in the window of the last access. */
struct run {
	uint8_t *host;
	uint64_t origin, limit; /* the last offset at which an access fits */
};

static bool quick_run(const struct wave *w, const struct insn *in, bool write, struct run *r)
{
	const struct memory_op *m = &in->mem;
	uint64_t bytes;

	if (m->space == SPACE_LDS) {
		*r = (struct run){w->group->lds, 0, 0};
		bytes = w->group->lds_bytes;
	} else if ((m->space == SPACE_GLOBAL || m->space == SPACE_FLAT) && (!write || w->window.writable)) {
		*r = (struct run){w->window.host, w->window.address, 0};
		bytes = w->window.bytes;
	} else {
		return false;
	}
	r->limit = bytes - m->bytes;
	return m->bytes >= 4 && bytes >= m->bytes;
}

/* False: not all lanes are inside. What was moved until then is moved again by the careful way. */
static inline __attribute__((always_inline)) bool move_dwords(struct wave *w, const struct run *r,
							      const uint64_t *addr, unsigned reg,
							      const unsigned dwords, const bool write)
{
	uint64_t exec = wave_exec(w);

	for (unsigned l = 0; l < w->size; l++) {
		uint64_t at = addr[l] - r->origin;
		if (!(exec >> l & 1))
			continue;
		if (at > r->limit)
			return false;
		for (unsigned i = 0; i < dwords; i++) {
			if (write)
				poke(r->host + at + 4ul * i, &w->v[reg + i][l], 4);
			else
				peek(&w->v[reg + i][l], r->host + at + 4ul * i, 4);
		}
	}
	return true;
}

static bool quick_load(struct wave *w, const struct insn *in, const uint64_t *addr, unsigned reg)
{
	struct run r;

	if (!quick_run(w, in, false, &r))
		return false;
	switch (in->mem.bytes) {
	case 4: return move_dwords(w, &r, addr, reg, 1, false);
	case 8: return move_dwords(w, &r, addr, reg, 2, false);
	case 12: return move_dwords(w, &r, addr, reg, 3, false);
	default: return move_dwords(w, &r, addr, reg, 4, false);
	}
}

static bool quick_store(struct wave *w, const struct insn *in, const uint64_t *addr, unsigned reg)
{
	struct run r;

	if (!quick_run(w, in, true, &r))
		return false;
	switch (in->mem.bytes) {
	case 4: return move_dwords(w, &r, addr, reg, 1, true);
	case 8: return move_dwords(w, &r, addr, reg, 2, true);
	case 12: return move_dwords(w, &r, addr, reg, 3, true);
	default: return move_dwords(w, &r, addr, reg, 4, true);
	}
}

static void load(struct wave *w, const struct insn *in, const uint64_t *addr, unsigned reg)
{
	uint64_t exec = wave_exec(w);
	unsigned bytes = in->mem.bytes, dwords = (bytes + 3) / 4;
	uint32_t data[4];
	struct place p;

	if (quick_load(w, in, addr, reg))
		return;
	for (unsigned l = 0; l < w->size; l++) {
		if (!(exec >> l & 1))
			continue;
		data[0] = 0;
		if (!resolve(w, in->mem.space, addr[l], bytes, false, l, &p) ||
		    !copy_in(w, &p, data, bytes, l))
			return;
		w->v[reg][l] = bytes < 4 ? widen(&in->mem, data[0], w->v[reg][l]) : data[0];
		for (unsigned i = 1; i < dwords; i++)
			w->v[reg + i][l] = data[i];
	}
}

static void store(struct wave *w, const struct insn *in, const uint64_t *addr, const struct operand *from)
{
	uint64_t exec = wave_exec(w);
	unsigned bytes = in->mem.bytes, dwords = (bytes + 3) / 4;
	uint32_t data[4];
	struct place p;

	if (from->kind == OPD_VGPR && quick_store(w, in, addr, from->reg))
		return;
	for (unsigned l = 0; l < w->size; l++) {
		if (!(exec >> l & 1))
			continue;
		for (unsigned i = 0; i < dwords; i++)
			data[i] = from->kind == OPD_VGPR ? w->v[from->reg + i][l] : scalar_read32(w, from);
		if (in->mem.half == HALF_HIGH)
			data[0] >>= 16;
		if (!resolve(w, in->mem.space, addr[l], bytes, true, l, &p) ||
		    !copy_out(w, &p, data, bytes, l))
			return;
	}
}

/* Buffers go dword by dword: swizzling may part them. */
static void buffer_move(struct wave *w, const struct insn *in)
{
	struct buffer b = buffer_of(w, in);
	uint64_t exec = wave_exec(w);
	unsigned bytes = in->mem.bytes, step = bytes < 4 ? bytes : 4;
	bool is_store = in->mem.action == ACTION_STORE;
	uint64_t addr[LANES_MAX][4];
	struct place p;

	for (unsigned l = 0; l < w->size; l++)
		for (unsigned i = 0; (exec >> l & 1) && i * 4 < bytes; i++)
			addr[l][i] = buffer_address(w, in, &b, l, i * 4, step);
	for (unsigned l = 0; l < w->size; l++) {
		for (unsigned i = 0; (exec >> l & 1) && i * 4 < bytes; i++) {
			uint32_t *v = &w->v[in->src[1].reg + i][l], data = 0;
			if (is_store)
				data = in->mem.half == HALF_HIGH ? *v >> 16 : *v;
			if (addr[l][i]) {
				if (!resolve(w, SPACE_GLOBAL, addr[l][i], step, is_store, l, &p))
					return;
				if (!(is_store ? copy_out(w, &p, &data, step, l)
					       : copy_in(w, &p, &data, step, l)))
					return;
			}
			if (!is_store)
				*v = step < 4 ? widen(&in->mem, data, *v) : data;
		}
	}
}

/* ---- atomics */

static uint64_t lane_data(const struct wave *w, const struct operand *o, unsigned at, unsigned bytes,
			  unsigned lane)
{
	if (o->kind != OPD_VGPR)
		return 0;
	uint64_t v = w->v[o->reg + at][lane];
	return bytes == 8 ? v | (uint64_t)w->v[o->reg + at + 1][lane] << 32 : v;
}

/* Compare-and-swap: flat and buffer forms hold data, then the comparand, in one register tuple; LDS forms have two. */
static void atomic(struct wave *w, const struct insn *in, const uint64_t *addr, int dst)
{
	const struct memory_op *m = &in->mem;
	bool two = m->atomic == AT_CMPSWAP || m->atomic == AT_FCMPSWAP, lds = m->space == SPACE_LDS;
	uint64_t exec = wave_exec(w), data, data2 = 0;
	struct place p;

	for (unsigned l = 0; l < w->size; l++) {
		if (!(exec >> l & 1) || !addr[l])
			if (!(exec >> l & 1) || m->space == SPACE_BUFFER)
				continue;
		data = lane_data(w, &in->src[1], 0, m->bytes, l);
		if (lds)
			data2 = lane_data(w, &in->src[3], 0, m->bytes, l);
		else if (two)
			data2 = lane_data(w, &in->src[1], m->bytes / 4, m->bytes, l);
		/* ds_cmpst (up to RDNA 2, CDNA) has the comparand first, ds_cmpstore (RDNA 3 on) last. */
		if (lds && two && in->mem.comparand_first) {
			uint64_t t = data;
			data = data2;
			data2 = t;
		}
		if (addr[l] % m->bytes) {
			access_fault(w, AMDGPU_FAULT_ALIGNMENT, l, addr[l], lds ? "shared" : "global",
				     "misaligned atomic of %u bytes at 0x%llx", m->bytes,
				     (unsigned long long)addr[l]);
			return;
		}
		if (!resolve(w, m->space == SPACE_BUFFER ? SPACE_GLOBAL : m->space, addr[l], m->bytes, true,
			     l, &p))
			return;
		uint64_t old, own = 0;
		if (!p.host && !copy_in(w, &p, &own, m->bytes, l))
			return;
		old = atomic_apply(p.host ? (void *)p.host : &own, m, data, data2);
		if (!p.host && !copy_out(w, &p, &own, m->bytes, l))
			return;
		if (dst < 0)
			continue;
		w->v[dst][l] = (uint32_t)old;
		if (m->bytes == 8)
			w->v[dst + 1][l] = (uint32_t)(old >> 32);
	}
}

/* ---- drivers */

/* Two elements at offset0 and offset1, in units of the element (or of 64 elements). */
static void lds_pair(struct wave *w, const struct insn *in)
{
	int32_t unit = in->mem.bytes * (in->mem.stride64 ? 64 : 1);
	uint64_t first[LANES_MAX], second[LANES_MAX];

	lds_addresses(w, in, first, in->offset * unit);
	lds_addresses(w, in, second, in->offset1 * unit);
	if (in->mem.action == ACTION_STORE) {
		store(w, in, first, &in->src[1]);
		store(w, in, second, &in->src[3]);
		return;
	}
	load(w, in, first, in->dst.reg);
	load(w, in, second, in->dst.reg + in->mem.bytes / 4u);
}

static void buffer_atomic(struct wave *w, const struct insn *in)
{
	struct buffer b = buffer_of(w, in);
	uint64_t addr[LANES_MAX], exec = wave_exec(w);

	for (unsigned l = 0; l < w->size; l++)
		addr[l] = exec >> l & 1 ? buffer_address(w, in, &b, l, 0, in->mem.bytes) : 0;
	atomic(w, in, addr, in->mem.returns ? in->src[1].reg : -1);
}

void exec_memory(struct wave *w, const struct insn *in)
{
	uint64_t addr[LANES_MAX];

	if (in->mem.space == SPACE_BUFFER) {
		if (in->mem.action == ACTION_ATOMIC)
			buffer_atomic(w, in);
		else
			buffer_move(w, in);
		return;
	}
	if (in->mem.pair) {
		lds_pair(w, in);
		return;
	}
	if (in->mem.space == SPACE_LDS)
		lds_addresses(w, in, addr, in->offset);
	else
		flat_addresses(w, in, addr);
	switch (in->mem.action) {
	case ACTION_LOAD: load(w, in, addr, in->dst.reg); break;
	case ACTION_STORE: store(w, in, addr, &in->src[1]); break;
	case ACTION_ATOMIC: atomic(w, in, addr, in->mem.returns ? in->dst.reg : -1); break;
	}
}

/* S_LOAD, S_BUFFER_LOAD: the base's low two address bits are ignored for dwords (RDNA 3 ISA, 7.1). */
void exec_scalar_load(struct wave *w, const struct insn *in)
{
	unsigned bytes = in->mem.bytes, step = bytes < 4 ? bytes : 4;
	uint64_t base = scalar_read64(w, &in->src[0]);
	uint64_t offset = (uint64_t)(int64_t)in->offset, limit = UINT64_MAX;

	if (in->src[1].kind == OPD_SGPR)
		offset += scalar_read32(w, &in->src[1]);
	else
		offset += (uint64_t)(int64_t)(int32_t)scalar_read32(w, &in->src[1]);
	if (in->mem.space == SPACE_SCALAR_BUFFER) {
		const uint32_t *r = &w->s[in->src[0].reg];
		uint32_t stride = r[1] >> 16 & 0x3fff;
		base = r[0] | (uint64_t)(r[1] & 0xffff) << 32;
		limit = stride ? (uint64_t)stride * r[2] : r[2];
	}
	if (step == 4)
		base &= ~3ull;
	for (unsigned i = 0; i < (bytes + 3u) / 4; i++) {
		uint64_t at = offset + 4 * i;
		uint32_t v = 0;
		if (at + step <= limit) {
			uint8_t *p = global_pointer(w, base + at, step, false, 0);
			if (!p)
				return;
			peek(&v, p, step);
		}
		if (in->dst.kind == OPD_SGPR && in->dst.reg + i < SREG_COUNT)
			w->s[in->dst.reg + i] = step < 4 ? widen(&in->mem, v, 0) : v;
	}
}
