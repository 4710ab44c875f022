/* SPDX-License-Identifier: Apache-2.0
 *
 * ldmatrix, stmatrix, movmatrix with 16-bit elements: PTX ISA 9.7.14.5.15 to 9.7.14.5.17. A lane l has the address of
 * row l % 8 of matrix l / 8; those addresses are given in a scrambled order, so that a row's place in memory is not
 * its number.
 */
#include "form.h"

#include <string.h>

/* The slot of 16 bytes whose address lane l gives, and the lane that gives the address of a slot: 5 * 13 = 65. */
static unsigned slot_of(unsigned lane)
{
	return lane * 5 % 32;
}

static unsigned lane_of(unsigned slot)
{
	return slot * 13 % 32;
}

#define ADDRESS                                                                                           \
	"mov.u32 lane, %%tid.x; mul.lo.u32 t, lane, 5; and.b32 t, t, 31; mov.u64 a, mmrows; "             \
	"mul.wide.u32 b, t, 16; add.u64 a, a, b; mul.wide.u32 b, lane, 16; mov.u64 own, mmrows; add.u64 " \
	"own, own, b;"
#define TEMPS "{ .reg .b64 a, b, own; .reg .b32 lane, t;\n\t" ADDRESS "\n\t"

/* Element c of the row in a slot; a slot is two inputs of the lane of its number. */
static uint64_t slot_element(const uint64_t *in, unsigned stride, unsigned first, unsigned slot, unsigned c)
{
	return in[slot * stride + first + c / 4] >> (16 * (c % 4)) & 0xffff;
}

/* k[0] matrices, k[1] .trans; in: the lane's slot */
static void ref_ldmatrix(const struct form *f, const uint64_t *in, struct want *out)
{
	unsigned n = (unsigned)f->k[0];

	for (unsigned lane = 0; lane < 32; lane++)
		for (unsigned m = 0; m < n; m++)
			for (unsigned j = 0; j < 2; j++) {
				unsigned row = lane / 4, col = lane % 4 * 2 + j, r = f->k[1] ? col : row,
					 c = f->k[1] ? row : col;

				out[lane * n + m].bits |= slot_element(in, 2, 0, slot_of(m * 8 + r), c)
							  << (16 * j);
			}
}

static char *list(unsigned first, unsigned n)
{
	char *s = text_of("{%%%u", first);

	for (unsigned i = 1; i < n; i++)
		s = text_of("%s, %%%u", s, first + i);
	return text_of("%s}", s);
}

static void add_ldmatrix(struct suite *s, unsigned n, bool trans, const char *space)
{
	char sig[10] = {0};
	struct form *f;

	memset(sig, 'w', n);
	strcat(sig, "=dd");
	f = form_add(s, sig, NULL,
		     text_of(TEMPS "st.shared.v2.b64 [own], {%%%u, %%%u}; bar.warp.sync 0xffffffff;\n\t%s"
				   "ldmatrix.sync.aligned.m8n8.x%u%s%s.b16 %s, [a]; }",
			     n, n + 1, *space ? "" : "cvta.shared.u64 a, a; ", n, trans ? ".trans" : "",
			     space, list(0, n)),
		     "ldmatrix.sync.aligned.m8n8.x%u%s%s.b16", n, trans ? ".trans" : "", space);
	f->gref = ref_ldmatrix;
	f->k[0] = (long)n;
	f->k[1] = trans;
	f->most = 128;
}

/* in: the lane's slot before (2), registers; out: the lane's slot after */
static void ref_stmatrix(const struct form *f, const uint64_t *in, struct want *out)
{
	unsigned n = (unsigned)f->k[0], stride = 2 + n;

	for (unsigned slot = 0; slot < 32; slot++) {
		unsigned lane = lane_of(slot), m = lane / 8, row = lane % 8;

		for (unsigned c = 0; c < 8; c++) {
			unsigned r = f->k[1] ? c : row, e = f->k[1] ? row : c;
			uint64_t v = m < n ? in[(r * 4 + e / 2) * stride + 2 + m] >> (16 * (e % 2)) & 0xffff
					   : slot_element(in, stride, 0, slot, c);

			out[slot * 2 + c / 4].bits |= v << (16 * (c % 4));
		}
	}
}

static void add_stmatrix(struct suite *s, unsigned n, bool trans, const char *space)
{
	char sig[10] = "dd=dd";
	struct form *f;

	memset(sig + 5, 'w', n);
	f = form_add(
		s, sig, NULL,
		text_of(TEMPS "st.shared.v2.b64 [own], {%%2, %%3}; bar.warp.sync 0xffffffff;\n\t%s"
			      "stmatrix.sync.aligned.m8n8.x%u%s%s.b16 [a], %s;\n\tbar.warp.sync 0xffffffff; "
			      "ld.shared.v2.b64 {%%0, %%1}, [own]; }",
			*space ? "" : "cvta.shared.u64 a, a; ", n, trans ? ".trans" : "", space, list(4, n)),
		"stmatrix.sync.aligned.m8n8.x%u%s%s.b16", n, trans ? ".trans" : "", space);
	f->gref = ref_stmatrix;
	f->k[0] = (long)n;
	f->k[1] = trans;
	f->most = 128;
}

static void ref_movmatrix(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	for (unsigned lane = 0; lane < 32; lane++)
		for (unsigned j = 0; j < 2; j++) {
			unsigned row = lane / 4, col = lane % 4 * 2 + j;

			out[lane].bits |= (in[col * 4 + row / 2] >> (16 * (row % 2)) & 0xffff) << (16 * j);
		}
}

void forms_matrix_move(struct suite *s)
{
	static const char *const spaces[] = {".shared", "", ".shared::cta"};
	struct form *f;

	for (unsigned i = 0; i < 18; i++) {
		unsigned n = 1u << i % 3;

		add_ldmatrix(s, n, i / 3 % 2, spaces[i / 6]);
		add_stmatrix(s, n, i / 3 % 2, spaces[i / 6]);
	}
	s->forms[0].decl = ".shared .align 16 .b8 mmrows[512];";
	f = form_add(s, "w=w", NULL, "movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;",
		     "movmatrix.sync.aligned.m8n8.trans.b16");
	f->gref = ref_movmatrix;
}
