/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/cfg: cuts a body into blocks and connects them. */
#include <stdlib.h>
#include <string.h>

#include "ptx/body.h"

/* Nothing after it is executed by a thread for which the guard holds. */
static bool is_noreturn_call(const struct body *b, const struct ptx_inst *i)
{
	if (i->op != PTX_OP_CALL)
		return false;
	if (i->target != PTX_NONE)
		return b->p.m->funcs[i->target]->noreturn;
	return i->table != PTX_NONE && b->list_noreturn[i->table];
}

static bool ends_block(const struct body *b, const struct ptx_inst *i)
{
	return i->op == PTX_OP_BRA || i->op == PTX_OP_BRX_IDX || i->op == PTX_OP_RET ||
	       i->op == PTX_OP_EXIT || is_noreturn_call(b, i);
}

static bool is_branch_list(const struct body *b, const struct ptx_inst *i)
{
	return i->op == PTX_OP_BRX_IDX && i->table != PTX_NONE && i->table < b->nlists;
}

static bool entry_is_target(const struct body *b)
{
	for (uint32_t k = 0; k < b->ninsts; k++) {
		const struct ptx_inst *i = &b->insts[k];
		if (i->op == PTX_OP_BRA && i->target == 0)
			return true;
		for (uint32_t n = 0; is_branch_list(b, i) && n < b->lists[i->table].n; n++)
			if (b->lists[i->table].items[n] == 0)
				return true;
	}
	return false;
}

/* Lists of labels hold instruction indices until blocks exist; those of functions must be left alone. */
static void mark_branch_lists(const struct body *b, bool *is_labels)
{
	for (uint32_t k = 0; k < b->ninsts; k++)
		if (is_branch_list(b, &b->insts[k]))
			is_labels[b->insts[k].table] = true;
}

/* A `bra` in front, so that no edge leads to the entry block. */
static int add_entry_branch(struct body *b, const bool *is_labels)
{
	static struct ptx_operand none;
	if (!grow(&b->insts, &b->insts_capacity, b->ninsts, sizeof(*b->insts)))
		return parser_out_of_memory(&b->p);
	for (uint32_t k = 0; k < b->ninsts; k++)
		if (b->insts[k].op == PTX_OP_BRA)
			b->insts[k].target++;
	for (uint32_t l = 0; l < b->nlists; l++)
		for (uint32_t n = 0; is_labels[l] && n < b->lists[l].n; n++)
			b->lists[l].items[n]++;
	for (uint32_t l = 0; l < b->labels.nlabels; l++)
		if (!b->labels.labels[l].is_list)
			b->labels.labels[l].inst++;
	memmove(&b->insts[1], &b->insts[0], b->ninsts * sizeof(*b->insts));
	b->insts[0] = (struct ptx_inst){.op = PTX_OP_BRA,
					.vec = 1,
					.target = 1,
					.table = PTX_NONE,
					.guard = PTX_NONE,
					.line = b->p.f->body_line,
					.col = 1,
					.loc = PTX_NONE,
					.mods = "bra",
					.dst = &none,
					.src = &none};
	b->ninsts++;
	return 0;
}

/* After this block_of[i] is the block that instruction i begins or lies in. */
static uint32_t number_blocks(const struct body *b, const bool *is_labels, uint32_t *block_of)
{
	memset(block_of, 0, (b->ninsts + 1) * sizeof(*block_of));
	for (uint32_t k = 0; k < b->ninsts; k++) {
		if (b->insts[k].op == PTX_OP_BRA)
			block_of[b->insts[k].target] = 1;
		if (ends_block(b, &b->insts[k]))
			block_of[k + 1] = 1;
	}
	for (uint32_t l = 0; l < b->nlists; l++)
		for (uint32_t n = 0; is_labels[l] && n < b->lists[l].n; n++)
			block_of[b->lists[l].items[n]] = 1;
	uint32_t block = 0;
	for (uint32_t k = 0; k < b->ninsts; k++) {
		block += k && block_of[k];
		block_of[k] = block;
	}
	return block + 1;
}

static uint32_t successors(const struct body *b, const struct ptx_block *block, uint32_t next, uint32_t *out)
{
	const struct ptx_inst *last = &b->insts[block->first + block->ninsts - 1];
	uint32_t n = 0;
	if (last->op == PTX_OP_BRA)
		out[n++] = last->target;
	else if (last->op == PTX_OP_BRX_IDX)
		for (; n < b->lists[last->table].n; n++)
			out[n] = b->lists[last->table].items[n];
	else if (!ends_block(b, last))
		out[n++] = next;
	if (ends_block(b, last) && last->guarded)
		out[n++] = next;
	return n;
}

static uint32_t max_successors(const struct body *b)
{
	uint32_t max = 2;
	for (uint32_t l = 0; l < b->nlists; l++)
		max = b->lists[l].n + 2 > max ? b->lists[l].n + 2 : max;
	return max;
}

static int connect(struct body *b)
{
	struct ptx_func *f = b->p.f;
	uint32_t *out = malloc(max_successors(b) * sizeof(*out));
	if (!out)
		return parser_out_of_memory(&b->p);
	uint64_t nedges = 0;
	for (uint32_t k = 0; k < f->nblocks; k++) {
		struct ptx_block *block = &f->blocks[k];
		block->nsuccs = successors(b, block, k + 1, out);
		nedges += block->nsuccs;
		if (nedges > PTX_MAX_EDGES) {
			free(out);
			return body_fail(b, b->p.lx.p,
					 "the control flow of this function has too many branches");
		}
		block->succs = arena_array(&b->p.m->arena, block->nsuccs, sizeof(*out));
		if (block->nsuccs && !block->succs) {
			free(out);
			return parser_out_of_memory(&b->p);
		}
		if (block->nsuccs)
			memcpy(block->succs, out, block->nsuccs * sizeof(*out));
	}
	free(out);
	return 0;
}

static int make_blocks(struct body *b, const bool *is_labels, uint32_t *block_of)
{
	struct ptx_func *f = b->p.f;
	f->nblocks = number_blocks(b, is_labels, block_of);
	f->blocks = arena_array(&b->p.m->arena, f->nblocks, sizeof(*f->blocks));
	if (!f->blocks)
		return parser_out_of_memory(&b->p);
	for (uint32_t k = b->ninsts; k-- > 0;) {
		f->blocks[block_of[k]].first = k;
		f->blocks[block_of[k]].ninsts++;
	}
	for (uint32_t k = 0; k < f->nblocks; k++)
		f->blocks[k].idom = f->blocks[k].ipdom = PTX_NONE;
	for (uint32_t k = 0; k < b->ninsts; k++)
		if (b->insts[k].op == PTX_OP_BRA)
			b->insts[k].target = block_of[b->insts[k].target];
	for (uint32_t l = 0; l < b->nlists; l++)
		for (uint32_t n = 0; is_labels[l] && n < b->lists[l].n; n++)
			b->lists[l].items[n] = block_of[b->lists[l].items[n]];
	return connect(b);
}

static int name_blocks(struct body *b, const uint32_t *block_of)
{
	struct ptx_func *f = b->p.f;
	for (uint32_t k = 0; k < b->labels.nlabels; k++) {
		const struct label *l = &b->labels.labels[k];
		if (l->is_list || l->inst >= b->ninsts)
			continue;
		struct ptx_block *block = &f->blocks[block_of[l->inst]];
		if (block->first != l->inst || block->label)
			continue;
		block->label = arena_strndup(&b->p.m->arena, l->s, l->n);
		if (!block->label)
			return parser_out_of_memory(&b->p);
	}
	return 0;
}

static int keep_lists(struct body *b)
{
	struct ptx_func *f = b->p.f;
	f->nlists = b->nlists;
	f->lists = arena_array(&b->p.m->arena, b->nlists, sizeof(*f->lists));
	if (b->nlists && !f->lists)
		return parser_out_of_memory(&b->p);
	for (uint32_t l = 0; l < b->nlists; l++) {
		f->lists[l] = b->lists[l];
		f->lists[l].items = arena_array(&b->p.m->arena, b->lists[l].n, sizeof(uint32_t));
		if (b->lists[l].n && !f->lists[l].items)
			return parser_out_of_memory(&b->p);
		if (b->lists[l].n)
			memcpy(f->lists[l].items, b->lists[l].items, b->lists[l].n * sizeof(uint32_t));
	}
	return 0;
}

static int keep_insts(struct body *b)
{
	struct ptx_func *f = b->p.f;
	f->insts = arena_array(&b->p.m->arena, b->ninsts, sizeof(*f->insts));
	if (!f->insts)
		return parser_out_of_memory(&b->p);
	memcpy(f->insts, b->insts, b->ninsts * sizeof(*f->insts));
	f->ninsts = b->ninsts;
	return 0;
}

int build_blocks(struct body *b)
{
	bool *is_labels = calloc(b->nlists + 1, sizeof(*is_labels));
	uint32_t *block_of = malloc((b->ninsts + 2) * sizeof(*block_of));
	int rc = is_labels && block_of ? 0 : parser_out_of_memory(&b->p);
	if (!rc)
		mark_branch_lists(b, is_labels);
	if (!rc && entry_is_target(b))
		rc = add_entry_branch(b, is_labels);
	if (!rc)
		rc = make_blocks(b, is_labels, block_of);
	if (!rc)
		rc = name_blocks(b, block_of);
	if (!rc)
		rc = keep_lists(b);
	if (!rc)
		rc = keep_insts(b);
	free(is_labels);
	free(block_of);
	return rc;
}
