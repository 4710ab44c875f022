/* SPDX-License-Identifier: Apache-2.0
 *
 * Most instructions of a kernel occur more than once, and LLVM takes a microsecond for each: texts are remembered by
 * their encoding. The first four bytes tell an instruction's size, the text does not depend on where it stands.
 */
#include "zluda_core/compiler/disassemble.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_BITS = 16, TEXT_MAX = 512 };

struct known {
	uint64_t code; /* the first 4 or 8 bytes */
	uint32_t at;   /* of the text in the lines, + 1; 0: free */
	uint8_t size;
};

struct reader {
	LLVMDisasmContextRef context;
	const uint8_t *code;
	size_t bytes;
	char *lines;
	size_t used, room;
	struct known *table;
};

static void start(void)
{
	LLVMInitializeAMDGPUTargetInfo();
	LLVMInitializeAMDGPUTargetMC();
	LLVMInitializeAMDGPUDisassembler();
}

static struct known *slot(struct reader *r, uint64_t code, unsigned size)
{
	uint64_t h = (code + size) * 0x9e3779b97f4a7c15ull;

	return &r->table[h >> (64 - TABLE_BITS)];
}

static uint64_t first_bytes(const struct reader *r, size_t at, unsigned size)
{
	uint64_t v = 0;

	memcpy(&v, r->code + at, size);
	return v;
}

static const struct known *find(struct reader *r, size_t at)
{
	for (unsigned size = 4; size <= 8 && size <= r->bytes - at; size += 4) {
		uint64_t code = first_bytes(r, at, size);
		const struct known *k = slot(r, code, size);

		if (k->at && k->size == size && k->code == code)
			return k;
	}
	return NULL;
}

/* Keeps room for another line of the greatest length. */
static bool make_room(struct reader *r)
{
	if (r->room - r->used >= TEXT_MAX + 2)
		return true;
	size_t room = r->room * 2 + (64 << 10);
	char *p = realloc(r->lines, room);

	if (!p)
		return false;
	r->lines = p;
	r->room = room;
	return true;
}

static void put(struct reader *r, unsigned size, const char *text)
{
	size_t n;

	while (*text == ' ' || *text == '\t')
		text++;
	n = strlen(text) + 1;
	r->lines[r->used] = (char)size;
	memmove(r->lines + r->used + 1, text, n);
	r->used += n + 1;
}

static unsigned put_unknown(struct reader *r, size_t at)
{
	size_t left = r->bytes - at;
	unsigned size = left < 4 ? (unsigned)left : 4;
	char text[24];

	snprintf(text, sizeof(text), ".long 0x%08llx", (unsigned long long)first_bytes(r, at, size));
	put(r, size, text);
	return size;
}

static unsigned decode_one(struct reader *r, size_t at)
{
	const struct known *k = find(r, at);
	char text[TEXT_MAX];

	if (k) {
		put(r, k->size, r->lines + k->at - 1);
		return k->size;
	}
	/* LLVM's declaration lacks const. */
	size_t n = LLVMDisasmInstruction(r->context, (uint8_t *)(uintptr_t)(r->code + at), r->bytes - at, at,
					 text, sizeof(text));
	if (!n || n > 255)
		return put_unknown(r, at);
	size_t line = r->used + 1;
	put(r, (unsigned)n, text);
	if ((n == 4 || n == 8) && line < UINT32_MAX) {
		uint64_t code = first_bytes(r, at, (unsigned)n);
		*slot(r, code, (unsigned)n) = (struct known){code, (uint32_t)line + 1, (uint8_t)n};
	}
	return (unsigned)n;
}

int disassemble(const char *target, const void *code, size_t bytes, char **lines, size_t *lines_bytes,
		struct diag *d)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct reader r = {.code = code, .bytes = bytes};
	bool ok = true;

	pthread_once(&once, start);
	r.context = LLVMCreateDisasmCPU("amdgcn-amd-amdhsa", target, NULL, 0, NULL, NULL);
	if (!r.context)
		return diag_set(d, CUTRACE_ENOTSUP, target, "LLVM has no disassembler for it");
	r.table = calloc((size_t)1 << TABLE_BITS, sizeof(*r.table));
	ok = r.table && make_room(&r);
	for (size_t at = 0; ok && at < bytes; ok = make_room(&r))
		at += decode_one(&r, at);
	LLVMDisasmDispose(r.context);
	free(r.table);
	if (!ok) {
		free(r.lines);
		return diag_set(d, CUTRACE_ENOMEM, target, "out of memory");
	}
	*lines = r.lines;
	*lines_bytes = r.used;
	return 0;
}
