/* SPDX-License-Identifier: Apache-2.0
 *
 * Which row of which table executes an instruction. The tables are indexed by
 * operation once per instruction-set variant.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "zluda_core/device_interp/decode.h"

#define NFAMILIES 20
#define FAMILIES(v)                                                                                         \
	{                                                                                                   \
		&exec_int_##v, &exec_bits_##v, &exec_compare_##v, &exec_float_##v, &exec_transcend_##v,     \
			&exec_half_##v, &exec_cvt_##v, &exec_mem_##v, &exec_atomic, &exec_copy, &exec_warp, \
			&exec_control, &exec_mma_##v, &exec_matrix_move, &exec_mbarrier, &exec_stack,       \
			&exec_video, &exec_tex, &exec_tex_query, &exec_tex_surface                          \
	}
static const struct exec_family *const families[2][NFAMILIES] = {FAMILIES(base), FAMILIES(v3)};

static struct exec_set sets[2];
static bool have_v3;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void build_set(struct exec_set *set, const struct exec_family *const *f)
{
	uint32_t n = 0, fill[PTX_NOPS];

	for (unsigned k = 0; k < NFAMILIES; k++) {
		n += f[k]->n;
		for (uint32_t r = 0; r < f[k]->n; r++)
			set->start[f[k]->rows[r].op + 1]++;
	}
	for (unsigned op = 0; op < PTX_NOPS; op++)
		set->start[op + 1] += set->start[op];
	set->rows = malloc(n * sizeof(*set->rows));
	if (!set->rows)
		return;
	memcpy(fill, set->start, sizeof(fill));
	for (unsigned k = 0; k < NFAMILIES; k++)
		for (uint32_t r = 0; r < f[k]->n; r++)
			set->rows[fill[f[k]->rows[r].op]++] = &f[k]->rows[r];
}

static void build_sets(void)
{
	have_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
		  __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
	for (unsigned v = 0; v < 2; v++)
		build_set(&sets[v], families[v]);
	sets[0].resize = cvt_resize_base;
	sets[1].resize = cvt_resize_v3;
}

const struct exec_set *exec_choose(bool simd)
{
	pthread_once(&once, build_sets);
	const struct exec_set *s = &sets[simd && have_v3];

	return s->rows ? s : NULL;
}

static bool counts_match(const struct exec_row *row, const struct ptx_inst *in)
{
	const char *colon = strchr(row->sig, ':');

	return colon && (size_t)(colon - row->sig) == in->ndst && strlen(colon + 1) == in->nsrc;
}

static bool rounding_matches(const struct exec_row *row, const struct ptx_inst *in)
{
	if (row->any_rnd)
		return true;
	if (row->match & MATCH_RND)
		return in->rnd == row->rnd;
	return in->rnd == PTX_RND_NONE || in->rnd == PTX_RN ||
	       (row->rounds && (in->rnd == PTX_RZ || in->rnd == PTX_RM || in->rnd == PTX_RP));
}

static bool row_matches(const struct exec_row *row, const struct ptx_inst *in)
{
	/* ".xorsign.abs" is one modifier of two words */
	const uint32_t ignored = PTX_F_UNI | PTX_F_ALIGNED | (in->flags & PTX_F_XORSIGN_ABS ? PTX_F_ABS : 0u);

	if ((in->flags & row->need) != row->need || (in->flags & ~(row->need | row->ok | ignored)))
		return false;
	if (((row->match & MATCH_TYPE) && in->type != row->type) ||
	    ((row->match & MATCH_TYPE2) && in->type2 != row->type2) ||
	    ((row->match & MATCH_SUB) && in->sub != row->sub) ||
	    ((row->match & MATCH_CMP) && in->cmp != row->cmp) ||
	    ((row->match & MATCH_SPACE) && in->space != row->space))
		return false;
	if (!rounding_matches(row, in))
		return false;
	if (row->emit)
		return true;
	if (!(row->match & MATCH_TYPE2) && in->type2 != PTX_TYPE_NONE && in->type2 != in->type)
		return false;
	return counts_match(row, in);
}

const struct exec_row *exec_find(const struct exec_set *s, const struct ptx_inst *in)
{
	for (uint32_t k = s->start[in->op]; k < s->start[in->op + 1]; k++)
		if (row_matches(s->rows[k], in))
			return s->rows[k];
	return NULL;
}
