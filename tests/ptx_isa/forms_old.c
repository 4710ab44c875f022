/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions of earlier versions and targets: mad.f32 without rounding (9.7.3.7), shfl and vote without .sync
 * (9.7.9.5, 9.7.13.8).
 */
#include "form.h"
#include "reference.h"

#include <string.h>

/* k[0] bit 0 .ftz, bit 1 .sat */
static void ref_mad(const struct form *f, const uint64_t *in, struct want *out)
{
	struct float_mods m = {.rnd = MPFR_RNDN, .ftz = f->k[0] & 1, .sat = f->k[0] & 2};

	float_op(OP_FMA, FORMAT_F32, FORMAT_F32, &m, in, out);
}

/* "mad.f32 requires one of the .rnd modifiers" from PTX 3.1 on; before, and for sm_20, it is the fused .rn. */
void forms_old(struct suite *s)
{
	for (unsigned i = 0; i < 4; i++) {
		struct form *f = form_add(
			s, "f=fff", ref_mad,
			text_of("mad%s%s.f32 %%0, %%1, %%2, %%3;", i & 1 ? ".ftz" : "", i & 2 ? ".sat" : ""),
			"mad%s%s.f32", i & 1 ? ".ftz" : "", i & 2 ? ".sat" : "");

		f->k[0] = (long)i;
	}
}

/* 9.7.9.5's pseudocode, all lanes active; c: clamp in bits 0..4, segment mask in bits 8..12. */
static void ref_shfl(const struct form *f, const uint64_t *in, struct want *out)
{
	for (unsigned lane = 0; lane < 32; lane++) {
		unsigned b = in[lane * 3 + 1] & 31, c = (unsigned)in[lane * 3 + 2], seg = c >> 8 & 31,
			 clamp = c & 31, max = (lane & seg) | (clamp & ~seg), min = lane & seg, from = 0;
		bool ok = false;

		switch (f->k[0]) {
		case 0:
			from = lane - b;
			ok = (int)from >= (int)max;
			break;
		case 1:
			from = lane + b;
			ok = from <= max;
			break;
		case 2:
			from = lane ^ b;
			ok = from <= max;
			break;
		default:
			from = min | (b & ~seg);
			ok = from <= max;
			break;
		}
		out[lane * 2].bits = in[(ok ? from : lane) * 3];
		out[lane * 2 + 1].bits = ok;
	}
}

static void fill_shfl(const struct form *f, unsigned t, uint64_t *in)
{
	static const unsigned segs[] = {0, 16, 24, 28, 30};
	uint64_t h = t / 32 * 0x9e3779b97f4a7c15ull;

	in[0] = (uint32_t)(t * 2654435761u);
	in[1] = f->k[0] == 3 ? (t * 7 + h) % 32 : h >> 20 & 31;
	in[2] = segs[h >> 40 & 3] << 8 | (f->k[0] == 0 ? 0 : h >> 50 & 1 ? 31 : h >> 51 & 31);
}

/* k[0]: all, any, uni, ballot */
static void ref_vote(const struct form *f, const uint64_t *in, struct want *out)
{
	uint32_t ballot = 0;

	for (unsigned i = 0; i < 32; i++)
		ballot |= (uint32_t)(in[i] != 0) << i;
	for (unsigned i = 0; i < 32; i++)
		out[i].bits = f->k[0] == 0   ? ballot == UINT32_MAX
			      : f->k[0] == 1 ? ballot != 0
			      : f->k[0] == 2 ? ballot == 0 || ballot == UINT32_MAX
					     : ballot;
}

static void fill_vote(const struct form *f, unsigned t, uint64_t *in)
{
	(void)f;
	in[0] = t / 32 == 0 ? 0 : t / 32 == 1 ? 1 : t * 2654435761u >> 9 & 1;
}

void forms_unsynchronised(struct suite *s)
{
	static const char *const shuffles[] = {"up", "down", "bfly", "idx"}, *const votes[] = {"all", "any",
											       "uni",
											       "ballot"};

	for (unsigned i = 0; i < 4; i++) {
		struct form *f = form_add(s, "wp=www", NULL,
					  text_of("shfl.%s.b32 %%0|%%1, %%2, %%3, %%4;", shuffles[i]),
					  "shfl.%s.b32", shuffles[i]);

		f->gref = ref_shfl;
		f->fill = fill_shfl;
		f->ntuples = 32 * 64;
		f->k[0] = (long)i;
		f = form_add(s, i == 3 ? "w=p" : "p=p", NULL,
			     text_of("vote.%s.%s %%0, %%1;", votes[i], i == 3 ? "b32" : "pred"), "vote.%s.%s",
			     votes[i], i == 3 ? "b32" : "pred");
		f->gref = ref_vote;
		f->fill = fill_vote;
		f->ntuples = 32 * 8;
		f->k[0] = (long)i;
	}
}
