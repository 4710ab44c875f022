/* SPDX-License-Identifier: Apache-2.0
 *
 * row_pack: the bytes over which rows are hashed (docs/format.md, "Hashes of rows"): of each value a byte, 0 for NULL; 1
 * and an integer, 2 and the bits of a real; 3 for text and 4 for a blob, their length, then their bytes. Little-endian.
 */
#ifndef CUTRACE_TRACE_ROW_PACK_H
#define CUTRACE_TRACE_ROW_PACK_H

#include <stdint.h>
#include <string.h>
#include <xxhash.h>

#define PACK_VALUES 40u /* at least as many columns as a table has */
#define PACK_BYTES  (PACK_VALUES * 9)

struct row_pack {
	XXH3_state_t *state; /* NULL: only small values, which stay in `bytes` */
	unsigned n;
	uint8_t bytes[PACK_BYTES];
};

static inline void pack_null(struct row_pack *p)
{
	p->bytes[p->n++] = 0;
}

static inline void pack_tagged(struct row_pack *p, uint8_t tag, uint64_t v)
{
	p->bytes[p->n] = tag;
	memcpy(p->bytes + p->n + 1, &v, sizeof(v));
	p->n += 9;
}

static inline void pack_int(struct row_pack *p, int64_t v)
{
	pack_tagged(p, 1, (uint64_t)v);
}

static inline void pack_real(struct row_pack *p, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	pack_tagged(p, 2, bits);
}

static inline void pack_flush(struct row_pack *p)
{
	XXH3_128bits_update(p->state, p->bytes, p->n);
	p->n = 0;
}

static inline void pack_data(struct row_pack *p, bool is_text, const void *data, uint64_t n)
{
	pack_tagged(p, is_text ? 3 : 4, n);
	pack_flush(p);
	if (n)
		XXH3_128bits_update(p->state, data, (size_t)n);
}

#endif
