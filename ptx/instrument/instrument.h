/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/instrument: a kernel's PTX that logs what it does, and kernels that do one instruction of it. Both are text again, so
 * that they run on any driver; they are made from the IR, and each statement stays as it was written.
 *
 * The log. A module-scope variable, PTX_LOG_VARIABLE, holds a struct ptx_log_control, which the host fills before the launch.
 * The threads of the blocks that it chooses write records, each into an area of its own: a record is the site's number + 1,
 * then registers before and results after the statement, in 32-bit words at places that the site tells. Where a thread has
 * logged more than its area holds, the host asks for another part of the log (`skip`). No instruction of the kernel is
 * left out, moved or made conditional, and no control flow is added, but where a site stops.
 *
 * A judge is a kernel that takes such records, one a thread, executes the statement on their operands, and gives records with
 * its own results; threads whose record begins with 0 do nothing.
 *
 * Depends on ptx and libc. Nothing here prints.
 */
#ifndef CUTRACE_PTX_INSTRUMENT_H
#define CUTRACE_PTX_INSTRUMENT_H

#include "ptx/ir.h"

enum ptx_site_kind {
	PTX_SITE_PURE,    /* its results follow from its operands, those of the other lanes included */
	PTX_SITE_LOAD,    /* from what memory has: ld, tex, ldmatrix, ... */
	PTX_SITE_STORE,   /* st */
	PTX_SITE_ATOMIC,  /* atom, red */
	PTX_SITE_BARRIER, /* of the block, or of a warp */
	PTX_SITE_BRANCH,  /* guarded bra, brx.idx */
	PTX_SITE_PLACE,   /* reads a special register that tells which thread this is */
	PTX_SITE_OTHER,   /* logged, nothing known of it */
	PTX_SITE_NONE     /* no record */
};

struct ptx_site_register {
	uint32_t
		slot; /* of the function; PTX_NONE: the address that the statement accesses; as results of a store what is
			* there behind it, element by element: of shared and local memory */
	uint16_t at; /* word of the record */
	uint8_t bits;
	bool is_result, is_guard;
};

/* A statement. */
struct ptx_site {
	const struct ptx_func *f;
	uint32_t first, n; /* instructions that it became; the last one is the operation itself */
	uint8_t kind;      /* enum ptx_site_kind */
	bool collective;   /* lanes of a warp do it together */
	bool leaves;       /* control doesn't come to the next statement */
	bool stops; /* wanted() may set it: the thread ends in place of the statement, behind its operands' record */
	bool is_partial; /* wanted() may leave registers out of its record; then it can't be judged by itself */
	uint16_t words; /* of a record; 0: none */
	uint16_t nregisters;
	struct ptx_site_register *registers; /* operands first */
	size_t begin, opcode, end;           /* in the module's text: guard, opcode, behind the ';' */
	uint32_t line, new_line;             /* in the module's text, in the instrumented one */
};

#define PTX_LOG_VARIABLE "cutrace_log_control"

struct ptx_log_control {
	uint64_t buffer;      /* address; 0: nothing is logged */
	uint64_t first_block; /* linear number in the grid */
	uint64_t nblocks;
	uint64_t capacity; /* bytes of a thread's area, a multiple of 16 */
	uint64_t skip;     /* bytes of records that are left out at the beginning */
};
/* The buffer has for each thread of the chosen blocks 8 bytes, how much it would have logged without limit, less skip,
 * then the areas. All zeros before the launch. */

struct ptx_instrumented {
	struct arena arena;
	char *text; /* free() */
	size_t bytes;
	struct ptx_site *sites;
	uint32_t nsites, max_words;
};

/* Of the kernel and what it may call; NULL: of all kernels that can be built. `wanted` tells which statements are logged
 * (NULL: all); it is called once for each site, before the text is written. */
int ptx_instrument(struct ptx_module *m, struct ptx_func *entry,
		   bool (*wanted)(void *ctx, struct ptx_site *s), void *ctx, struct ptx_instrumented *out,
		   struct diag *d);
void ptx_instrumented_free(struct ptx_instrumented *i);

/* ---- judge.c */

struct ptx_judge {
	uint32_t site, fused; /* fused: the mul whose product the site adds, done as one fma; PTX_NONE */
	uint8_t operand;      /* of the site: the product */
	bool negate_product, negate_addend;
	bool joint; /* the site is a sum of products that it has no record of: of those of its operands that are, sites */
	uint32_t products[2]; /* PTX_NONE: no product */
	uint32_t
		words; /* of a record that it takes: the site's, behind it those of its products; it gives the site's */
	char name
		[24]; /* of the kernel: two parameters, addresses of what it takes and gives; blocks of 32 threads */
};

/* Whether the site can be judged by itself. */
bool ptx_can_judge(const struct ptx_site *s);
/* The kernels of these judges as one module; free(). Fills their words and names. */
int ptx_judge_text(const struct ptx_module *m, const struct ptx_instrumented *i, struct ptx_judge *judges,
		   uint32_t n, char **text, size_t *bytes, struct diag *d);

#endif
