/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of logs.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/narrow.h"

bool narrow_log_open(struct narrow_log *l, const char *path, const struct ptx_instrumented *code,
		     uint64_t threads)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*l = (struct narrow_log){.map = MAP_FAILED, .code = code};
	if (fd >= 0 && !fstat(fd, &st) && (size_t)st.st_size > sizeof(l->control)) {
		l->bytes = (size_t)st.st_size;
		l->map = mmap(NULL, l->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	if (fd >= 0)
		close(fd);
	if (l->map == MAP_FAILED)
		return false;
	memcpy(&l->control, l->map, sizeof(l->control));
	l->nthreads = l->control.nblocks * threads;
	if (sizeof(l->control) + l->nthreads * (8 + l->control.capacity) == l->bytes)
		return true;
	narrow_log_close(l);
	return false;
}

void narrow_log_close(struct narrow_log *l)
{
	if (l->map != MAP_FAILED)
		munmap(l->map, l->bytes);
	l->map = MAP_FAILED;
}

int64_t narrow_log_used(const struct narrow_log *l, uint64_t thread)
{
	int64_t used;

	memcpy(&used, l->map + sizeof(l->control) + 8 * thread, 8);
	return used;
}

bool narrow_log_is_cut(const struct narrow_log *l, uint64_t thread)
{
	return narrow_log_used(l, thread) > (int64_t)(l->control.capacity - 4ull * l->code->max_words);
}

static const uint32_t *words_at(const struct narrow_log *l, uint64_t thread, uint64_t at)
{
	return (const uint32_t *)(const void *)(l->map + sizeof(l->control) + 8 * l->nthreads +
						thread * l->control.capacity + at);
}

/* What is at r->at. */
static bool read_record(const struct narrow_log *l, struct narrow_record *r)
{
	uint32_t id;

	if (r->at + 4 > l->control.capacity)
		return false;
	r->words = words_at(l, r->thread, r->at);
	id = r->words[0];
	if (!id || id > l->code->nsites)
		return false;
	r->site = &l->code->sites[id - 1];
	return r->site->words && r->at + 4u * r->site->words <= l->control.capacity;
}

/* The first record of a part of the log begins a little behind the part's beginning: it is the first one not left out. */
bool narrow_first(const struct narrow_log *l, uint64_t thread, struct narrow_record *r)
{
	*r = (struct narrow_record){.thread = thread};
	while (l->control.skip && r->at < 4u * l->code->max_words && r->at + 8 <= l->control.capacity &&
	       !words_at(l, thread, r->at)[0])
		r->at += 8;
	return read_record(l, r);
}

bool narrow_next(const struct narrow_log *l, struct narrow_record *r)
{
	r->at += 4u * r->site->words;
	return read_record(l, r);
}

const struct ptx_inst *narrow_inst(const struct ptx_site *s)
{
	return &s->f->insts[s->first + s->n - 1];
}

static uint64_t masked(uint64_t v, unsigned bits)
{
	return bits >= 64 ? v : v & ((1ull << bits) - 1);
}

uint64_t narrow_register(const struct narrow_record *r, const struct ptx_site_register *s)
{
	uint64_t v = r->words[s->at];

	if (s->bits > 32)
		v |= (uint64_t)r->words[s->at + 1] << 32;
	return masked(v, s->bits);
}

bool narrow_guard_holds(const struct narrow_record *r)
{
	const struct ptx_inst *i = narrow_inst(r->site);

	for (unsigned k = 0; k < r->site->nregisters; k++)
		if (r->site->registers[k].is_guard)
			return (narrow_register(r, &r->site->registers[k]) != 0) != i->guard_negate;
	return true;
}

static bool same(const struct narrow_record *a, const struct narrow_record *b, bool results)
{
	for (unsigned k = 0; k < a->site->nregisters; k++) {
		const struct ptx_site_register *r = &a->site->registers[k];

		if (r->is_result != results)
			continue;
		if (narrow_register(a, r) != narrow_register(b, r))
			return false;
		if (r->bits > 64 && memcmp(&a->words[r->at], &b->words[r->at], 16))
			return false;
	}
	return true;
}

bool narrow_same_results(const struct narrow_record *a, const struct narrow_record *b)
{
	return same(a, b, true);
}

bool narrow_same_operands(const struct narrow_record *a, const struct narrow_record *b)
{
	return same(a, b, false);
}

static const struct ptx_site_register *operand_register(const struct ptx_site *s, unsigned k)
{
	const struct ptx_operand *o = &narrow_inst(s)->src[k];

	for (unsigned r = 0; r < s->nregisters; r++)
		if (!s->registers[r].is_result &&
		    s->registers[r].slot ==
			    (o->kind == PTX_OPND_VALUE ? s->f->values[o->index].slot : PTX_NONE))
			return &s->registers[r];
	return NULL;
}

bool narrow_address(const struct narrow_record *r, uint8_t *space, uint64_t *address)
{
	const struct ptx_inst *i = narrow_inst(r->site);
	const struct ptx_site_register *s;

	if (i->op != PTX_OP_LD && i->op != PTX_OP_ST && i->op != PTX_OP_ATOM && i->op != PTX_OP_RED)
		return false;
	*space = i->space == PTX_SPACE_GENERIC || i->space == PTX_SPACE_CONST ? PTX_SPACE_GLOBAL : i->space;
	if (i->src[0].kind == PTX_OPND_PARAM || i->src[0].kind == PTX_OPND_IMM) {
		*address = i->src[0].imm;
		return true;
	}
	s = operand_register(r->site, 0);
	if (!s)
		return false;
	*address = narrow_register(r, s) + (s->slot == PTX_NONE ? 0 : (uint64_t)i->offset);
	return true;
}

unsigned narrow_access_bytes(const struct ptx_site *s)
{
	const struct ptx_inst *i = narrow_inst(s);

	return ptx_type_bits(i->type) / 8 * (i->vec ? i->vec : 1);
}
