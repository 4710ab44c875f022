/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the smallest nonce for which SHA-256("cutrace!" nonce) begins with 8 zero bits. The host has an
 * implementation of its own, checked first against the standard's example. */
#include <stdio.h>
#include <string.h>

#include "host.h"

#define BLOCK      128
#define BLOCKS     4
#define ZERO_BITS  8
#define NO_NONCE   0xffffffffu
#define MAX_SEARCH 65536

/* FIPS 180-4, 4.2.2: first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t ror(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

/* FIPS 180-4, 6.2.2, with the message schedule laid out in full. */
static void sha256_block(const uint32_t message[16], uint32_t digest[8])
{
	static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	uint32_t w[64], a = initial[0], b = initial[1], c = initial[2], d = initial[3];
	uint32_t e = initial[4], f = initial[5], g = initial[6], h = initial[7];

	memcpy(w, message, 16 * sizeof(*w));
	for (int t = 16; t < 64; t++) {
		uint32_t s1 = ror(w[t - 2], 17) ^ ror(w[t - 2], 19) ^ w[t - 2] >> 10;
		uint32_t s0 = ror(w[t - 15], 7) ^ ror(w[t - 15], 18) ^ w[t - 15] >> 3;

		w[t] = s1 + w[t - 7] + s0 + w[t - 16];
	}
	for (int t = 0; t < 64; t++) {
		uint32_t t1 = h + (ror(e, 6) ^ ror(e, 11) ^ ror(e, 25)) + ((e & f) ^ (~e & g)) +
			      round_constants[t] + w[t];
		uint32_t t2 = (ror(a, 2) ^ ror(a, 13) ^ ror(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));

		h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
	}
	uint32_t last[8] = {a, b, c, d, e, f, g, h};

	for (int i = 0; i < 8; i++)
		digest[i] = initial[i] + last[i];
}

/* FIPS 180-2, B.1: the digest of "abc". */
static void check_host_implementation(void)
{
	uint32_t abc[16] = {0x61626380, [15] = 24}, digest[8];
	static const uint32_t expected[8] = {0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223,
					     0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad};

	sha256_block(abc, digest);
	host_compare_u32("host digest of abc", digest, expected, 8);
}

static void digest_of_nonce(uint32_t nonce, uint32_t digest[8])
{
	/* "cutrace!", the nonce, the 1 bit, and the length of 96 bits. */
	uint32_t message[16] = {0x63757472, 0x61636521, nonce, 0x80000000, [15] = 96};

	sha256_block(message, digest);
}

static uint32_t search_on_host(uint32_t digest[8])
{
	for (uint32_t nonce = 0; nonce < MAX_SEARCH; nonce++) {
		digest_of_nonce(nonce, digest);
		if (digest[0] >> (32 - ZERO_BITS) == 0)
			return nonce;
	}
	host_wrong("no nonce below %d", MAX_SEARCH);
}

static uint32_t search_on_device(void)
{
	CUfunction search = host_kernel("sha256_search");
	uint32_t best = NO_NONCE, prefix0 = 0x63757472, prefix1 = 0x61636521, bits = ZERO_BITS;
	CUdeviceptr dbest = host_buffer(&best, sizeof(best));

	for (uint32_t first = 0; first < MAX_SEARCH && best == NO_NONCE; first += BLOCK * BLOCKS) {
		host_launch(search, "sha256_search", (struct dim){BLOCKS, 1, 1}, (struct dim){BLOCK, 1, 1}, 0,
			    NULL, (void *[]){&prefix0, &prefix1, &first, &bits, &dbest});
		host_read(&best, dbest, sizeof(best));
	}
	CU(cuMemFree_v2(dbest));
	return best;
}

int main(void)
{
	uint32_t expected[8], digest[8], prefix0 = 0x63757472, prefix1 = 0x61636521;

	check_host_implementation();
	uint32_t expected_nonce = search_on_host(expected);

	host_start();
	CU(cuMemcpyHtoD_v2(host_symbol("round_constants", sizeof(round_constants)), round_constants,
			   sizeof(round_constants)));
	uint32_t nonce = search_on_device();

	host_compare_u32("nonce", &nonce, &expected_nonce, 1);
	CUfunction digest_kernel = host_kernel("sha256_digest");
	CUdeviceptr ddigest = host_buffer(NULL, sizeof(digest));

	host_launch(digest_kernel, "sha256_digest", (struct dim){1, 1, 1}, (struct dim){1, 1, 1}, 0, NULL,
		    (void *[]){&prefix0, &prefix1, &nonce, &ddigest});
	host_read(digest, ddigest, sizeof(digest));
	host_compare_u32("digest", digest, expected, 8);
	printf("nonce %u\n", nonce);
	CU(cuMemFree_v2(ddigest));
	return host_finish();
}
