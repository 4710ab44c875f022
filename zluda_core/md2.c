/* SPDX-License-Identifier: Apache-2.0
 *
 * MD2 (RFC 1319, with the erratum about the checksum: C[j] ^= S[c ^ L]) and HMAC (RFC 2104) over its 16-byte
 * block. Used for one answer to the CUDA runtime, not for security.
 */
#include "core.h"

#include <string.h>

#define BLOCK 16

/* "PI_SUBST", RFC 1319 section 3.2: a permutation made from the digits of pi. */
static const uint8_t pi_subst[256] = {
	41,  46,  67,  201, 162, 216, 124, 1,   61,  54,  84,  161, 236, 240, 6,   19,  98,  167, 5,   243,
	192, 199, 115, 140, 152, 147, 43,  217, 188, 76,  130, 202, 30,  155, 87,  60,  253, 212, 224, 22,
	103, 66,  111, 24,  138, 23,  229, 18,  190, 78,  196, 214, 218, 158, 222, 73,  160, 251, 245, 142,
	187, 47,  238, 122, 169, 104, 121, 145, 21,  178, 7,   63,  148, 194, 16,  137, 11,  34,  95,  33,
	128, 127, 93,  154, 90,  144, 50,  39,  53,  62,  204, 231, 191, 247, 151, 3,   255, 25,  48,  179,
	72,  165, 181, 209, 215, 94,  146, 42,  172, 86,  170, 198, 79,  184, 56,  210, 150, 164, 125, 182,
	118, 252, 107, 226, 156, 116, 4,   241, 69,  157, 112, 89,  100, 113, 135, 32,  134, 91,  207, 101,
	230, 45,  168, 2,   27,  96,  37,  173, 174, 176, 185, 246, 28,  70,  97,  105, 52,  64,  126, 15,
	85,  71,  163, 35,  221, 81,  175, 58,  195, 92,  249, 206, 186, 197, 234, 38,  44,  83,  13,  110,
	133, 40,  132, 9,   211, 223, 205, 244, 65,  129, 77,  82,  106, 220, 55,  200, 108, 193, 171, 250,
	36,  225, 123, 8,   12,  189, 177, 74,  120, 136, 149, 139, 227, 99,  232, 109, 233, 203, 213, 254,
	59,  0,   29,  57,  242, 239, 183, 14,  102, 88,  208, 228, 166, 119, 114, 248, 235, 117, 75,  10,
	49,  68,  80,  180, 143, 237, 31,  26,  219, 153, 141, 51,  159, 17,  131, 20,
};

struct md2_state {
	uint8_t x[3 * BLOCK], checksum[BLOCK], buffer[BLOCK];
	unsigned used;
};

static void transform(struct md2_state *s, const uint8_t block[BLOCK])
{
	uint8_t t = 0, last = s->checksum[BLOCK - 1];

	for (int i = 0; i < BLOCK; i++) {
		s->x[BLOCK + i] = block[i];
		s->x[2 * BLOCK + i] = s->x[i] ^ block[i];
	}
	for (int round = 0; round < 18; round++) {
		for (int i = 0; i < 3 * BLOCK; i++)
			t = s->x[i] ^= pi_subst[t];
		t = (uint8_t)(t + round);
	}
	for (int i = 0; i < BLOCK; i++)
		last = s->checksum[i] ^= pi_subst[block[i] ^ last];
}

static void update(struct md2_state *s, const void *data, size_t bytes)
{
	const uint8_t *p = data;

	while (bytes--) {
		s->buffer[s->used++] = *p++;
		if (s->used == BLOCK) {
			transform(s, s->buffer);
			s->used = 0;
		}
	}
}

static void finish(struct md2_state *s, uint8_t out[16])
{
	uint8_t pad = (uint8_t)(BLOCK - s->used), padding[BLOCK], checksum[BLOCK];

	memset(padding, pad, pad);
	update(s, padding, pad);
	memcpy(checksum, s->checksum, BLOCK);
	update(s, checksum, BLOCK);
	memcpy(out, s->x, 16);
}

void md2(const void *data, size_t bytes, uint8_t out[16])
{
	struct md2_state s = {0};

	update(&s, data, bytes);
	finish(&s, out);
}

void hmac_md2(const void *key, size_t key_bytes, const void *data, size_t bytes, uint8_t out[16])
{
	struct md2_state inner = {0}, outer = {0};
	uint8_t k[BLOCK] = {0}, pad[BLOCK], digest[16];

	if (key_bytes > BLOCK)
		md2(key, key_bytes, k);
	else
		memcpy(k, key, key_bytes);
	for (int i = 0; i < BLOCK; i++)
		pad[i] = k[i] ^ 0x36;
	update(&inner, pad, BLOCK);
	update(&inner, data, bytes);
	finish(&inner, digest);
	for (int i = 0; i < BLOCK; i++)
		pad[i] = k[i] ^ 0x5c;
	update(&outer, pad, BLOCK);
	update(&outer, digest, sizeof(digest));
	finish(&outer, out);
}
