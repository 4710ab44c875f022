/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

/* FIPS 180-4, 4.2.2: filled by the host through cuModuleGetGlobal. */
__constant__ u32 round_constants[64];

DEVICE_INLINE u32 rotate_right(u32 x, u32 n)
{
	return (x >> n) | (x << (32 - n));
}

/* One compression of `block` into `state`; `w` is a ring of the last 16 schedule words. */
static __device__ void compress(u32 *state, u32 *w)
{
	u32 s[8];

	for (int i = 0; i < 8; i++)
		s[i] = state[i];
	for (int i = 0; i < 64; i++) {
		if (i >= 16) {
			u32 w15 = w[(i - 15) & 15], w2 = w[(i - 2) & 15];
			u32 s0 = rotate_right(w15, 7) ^ rotate_right(w15, 18) ^ (w15 >> 3);
			u32 s1 = rotate_right(w2, 17) ^ rotate_right(w2, 19) ^ (w2 >> 10);

			w[i & 15] += s0 + w[(i - 7) & 15] + s1;
		}
		u32 e1 = rotate_right(s[4], 6) ^ rotate_right(s[4], 11) ^ rotate_right(s[4], 25);
		u32 choose = (s[4] & s[5]) ^ (~s[4] & s[6]);
		u32 t1 = s[7] + e1 + choose + round_constants[i] + w[i & 15];
		u32 e0 = rotate_right(s[0], 2) ^ rotate_right(s[0], 13) ^ rotate_right(s[0], 22);
		u32 majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
		u32 t2 = e0 + majority;

		for (int j = 7; j > 0; j--)
			s[j] = s[j - 1];
		s[4] += t1;
		s[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		state[i] += s[i];
}

/* A one-block message: 8 bytes of prefix, then the nonce, big-endian, then the padding.
 * Keeps in best[0] the smallest nonce whose digest begins with `zero_bits` zeros. */
__global__ void sha256_search(u32 prefix0, u32 prefix1, u32 first, u32 zero_bits, u32 *best)
{
	u32 nonce = first + global_x();
	u32 w[16] = {prefix0, prefix1, nonce, 0x80000000u, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 96};
	u32 state[8] = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
			0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};

	compress(state, w);
	if (state[0] >> (32 - zero_bits) == 0)
		atomic_min(best, nonce);
}

/* The digest of one such message, for the host to compare. */
__global__ void sha256_digest(u32 prefix0, u32 prefix1, u32 nonce, u32 *digest)
{
	u32 w[16] = {prefix0, prefix1, nonce, 0x80000000u, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 96};
	u32 state[8] = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
			0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};

	compress(state, w);
	for (int i = 0; i < 8; i++)
		digest[i] = state[i];
}
