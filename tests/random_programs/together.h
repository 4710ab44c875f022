/* SPDX-License-Identifier: Apache-2.0
 *
 * together: a thread's state, and what the threads of a block do together, for the emitted C programs. Written from the
 * PTX ISA document: 9.7.9.6 shfl.sync, 9.7.13 barriers, votes, match, redux.
 */
#include "meaning.h"

#define WARP    32
#define THREADS 64
#define BLOCKS  2
#define CELLS   28

struct state {
	int p[4];
	uint16_t h[4], rs[4];
	uint32_t r[4];
	uint64_t rd[4];
	float f[4];
	double fd[4];
	unsigned char memory[64];
};

HELPER void load_block(struct state *block, const uint64_t *in)
{
	memset(block, 0, THREADS * sizeof(*block));
	for (int t = 0; t < THREADS; t++, in += CELLS) {
		for (int i = 0; i < 4; i++) {
			block[t].p[i] = in[i] != 0;
			block[t].h[i] = (uint16_t)in[4 + i];
			block[t].rs[i] = (uint16_t)in[8 + i];
			block[t].r[i] = (uint32_t)in[12 + i];
			block[t].rd[i] = in[16 + i];
			block[t].f[i] = bits_f32((uint32_t)in[20 + i]);
			block[t].fd[i] = bits_f64(in[24 + i]);
		}
	}
}

HELPER void store_block(const struct state *block, uint64_t *out)
{
	for (int t = 0; t < THREADS; t++, out += CELLS) {
		for (int i = 0; i < 4; i++) {
			out[i] = block[t].p[i] != 0;
			out[4 + i] = same_nan_f16(block[t].h[i]);
			out[8 + i] = block[t].rs[i];
			out[12 + i] = block[t].r[i];
			out[16 + i] = block[t].rd[i];
			out[20 + i] = same_nan_f32(block[t].f[i]);
			out[24 + i] = same_nan_f64(block[t].fd[i]);
		}
	}
}

/* mode: up, down, bfly, idx; lane distance in register b, or the constant. */
HELPER void shuffle(struct state *block, unsigned mode, unsigned dst, unsigned a, int b, unsigned constant,
		    unsigned c)
{
	uint32_t result[THREADS];
	int inside[THREADS];

	for (int t = 0; t < THREADS; t++) {
		int lane = t % WARP, bval = (int)((b < 0 ? constant : block[t].r[b]) & 31),
		    cval = (int)(c & 31), segment = (int)(c >> 8 & 31);
		int most = (lane & segment) | (cval & ~segment), least_lane = lane & segment, j;

		switch (mode) {
		case 0:
			j = lane - bval;
			inside[t] = j >= most;
			break;
		case 1:
			j = lane + bval;
			inside[t] = j <= most;
			break;
		case 2:
			j = lane ^ bval;
			inside[t] = j <= most;
			break;
		default:
			j = least_lane | (bval & ~segment);
			inside[t] = j <= most;
			break;
		}
		if (!inside[t])
			j = lane;
		result[t] = block[t - lane + j].r[a];
	}
	for (int t = 0; t < THREADS; t++) {
		block[t].r[dst] = result[t];
		block[t].p[dst] = inside[t];
	}
}

HELPER uint32_t ballot_of(const struct state *warp, unsigned a)
{
	uint32_t ballot = 0;

	for (int lane = 0; lane < WARP; lane++)
		ballot |= (uint32_t)(warp[lane].p[a] != 0) << lane;
	return ballot;
}

/* mode: all, any, uni, ballot. */
HELPER void vote(struct state *block, unsigned mode, unsigned dst, unsigned a)
{
	for (struct state *warp = block; warp < block + THREADS; warp += WARP) {
		uint32_t ballot = ballot_of(warp, a);
		int result = mode == 0   ? ballot == UINT32_MAX
			     : mode == 1 ? ballot != 0
					 : ballot == 0 || ballot == UINT32_MAX;

		for (int lane = 0; lane < WARP; lane++) {
			if (mode == 3)
				warp[lane].r[dst] = ballot;
			else
				warp[lane].p[dst] = result;
		}
	}
}

HELPER void match(struct state *block, unsigned any, unsigned dst, unsigned a, uint32_t mask)
{
	uint32_t equal[THREADS];

	for (int t = 0; t < THREADS; t++) {
		equal[t] = 0;
		for (int lane = 0; lane < WARP; lane++)
			equal[t] |=
				(uint32_t)(((block[t / WARP * WARP + lane].r[a] ^ block[t].r[a]) & mask) == 0)
				<< lane;
	}
	for (int t = 0; t < THREADS; t++) {
		int all = equal[t] == UINT32_MAX;

		block[t].r[dst] = any || all ? equal[t] : 0;
		if (!any)
			block[t].p[dst] = all;
	}
}

HELPER uint32_t combination(unsigned mode, uint32_t x, uint32_t y)
{
	switch (mode) {
	case 0: return x + y;
	case 1: return x < y ? x : y;
	case 2: return (int32_t)x > (int32_t)y ? x : y;
	case 3: return x & y;
	case 4: return x | y;
	case 5: return x ^ y;
	case 6: return (int32_t)x < (int32_t)y ? x : y;
	default: return x > y ? x : y;
	}
}

HELPER void reduce(struct state *block, unsigned mode, unsigned dst, unsigned a)
{
	for (struct state *warp = block; warp < block + THREADS; warp += WARP) {
		uint32_t result = warp[0].r[a];

		for (int lane = 1; lane < WARP; lane++)
			result = combination(mode, result, warp[lane].r[a]);
		for (int lane = 0; lane < WARP; lane++)
			warp[lane].r[dst] = result;
	}
}

HELPER void exchange(struct state *block, unsigned dst, unsigned a, unsigned factor, unsigned add)
{
	uint32_t cells[THREADS];

	for (int t = 0; t < THREADS; t++)
		cells[t] = block[t].r[a];
	for (unsigned t = 0; t < THREADS; t++)
		block[t].r[dst] = cells[(t * factor + add) % THREADS];
}

/* mode: popc, and, or. */
HELPER void barrier_reduce(struct state *block, unsigned mode, unsigned dst, unsigned a)
{
	uint32_t count = 0;

	for (int t = 0; t < THREADS; t++)
		count += block[t].p[a] != 0;
	for (int t = 0; t < THREADS; t++) {
		if (mode == 0)
			block[t].r[dst] = count;
		else
			block[t].p[dst] = mode == 1 ? count == THREADS : count > 0;
	}
}

HELPER void combine(struct state *block, unsigned mode, unsigned dst, unsigned a, uint32_t start)
{
	for (int t = 0; t < THREADS; t++)
		start = combination(mode, start, block[t].r[a]);
	for (int t = 0; t < THREADS; t++)
		block[t].r[dst] = start;
}
