/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <string.h>

#include "ptx/parse.h"

static const struct {
	const char *name;
	uint8_t bits;
} sregs[PTX_NSREGS] = {
#define PTX_SREG(id, name, bits) {name, bits},
#include "ptx/sregs.def"
#undef PTX_SREG
};

enum { NBUCKETS = 512 };
static uint16_t buckets[NBUCKETS]; /* register + 1 */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill(void)
{
	lex_seed();
	for (unsigned r = 0; r < PTX_NSREGS; r++) {
		uint32_t h = lex_hash(sregs[r].name, strlen(sregs[r].name));
		while (buckets[h % NBUCKETS])
			h++;
		buckets[h % NBUCKETS] = (uint16_t)(r + 1);
	}
}

const char *ptx_sreg_name(enum ptx_sreg r)
{
	return (unsigned)r < PTX_NSREGS ? sregs[r].name : "?";
}

enum ptx_sreg ptx_sreg_find(const char *s, uint32_t n)
{
	pthread_once(&once, fill);
	for (uint32_t h = lex_hash(s, n); buckets[h % NBUCKETS]; h++) {
		enum ptx_sreg r = buckets[h % NBUCKETS] - 1;
		if (!strncmp(sregs[r].name, s, n) && !sregs[r].name[n])
			return r;
	}
	return PTX_NSREGS;
}
