/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/provenance: from which parameters a value may be derived as a pointer,
 * by a flow-insensitive data flow over one function. Private to ptx/.
 */
#ifndef CUTRACE_PTX_PROVENANCE_H
#define CUTRACE_PTX_PROVENANCE_H

#include "ptx/parse.h"

/* Bits of an origin: parameters 0 to 54, all others together, and what isn't a parameter. */
enum { ORIGIN_PARAMS = 55 };
#define ORIGIN_PARAM(k)    (UINT64_C(1) << ((k) < ORIGIN_PARAMS ? (k) : ORIGIN_PARAMS))
#define ORIGIN_ALL_PARAMS  ((UINT64_C(1) << (ORIGIN_PARAMS + 1)) - 1)
#define ORIGIN_UNKNOWN     (UINT64_C(1) << 57) /* loaded from memory, or returned by something unknown */
#define ORIGIN_LOCAL       (UINT64_C(1) << 58)
#define ORIGIN_SHARED      (UINT64_C(1) << 59)
#define ORIGIN_MODULE      (UINT64_C(1) << 60) /* a variable of the module */
#define ORIGIN_HEAP        (UINT64_C(1) << 61) /* device-side malloc */
#define ORIGIN_PARAM_SPACE (UINT64_C(1) << 62) /* the address of the parameter itself */
#define ORIGIN_KNOWN_BASE  (ORIGIN_LOCAL | ORIGIN_SHARED | ORIGIN_MODULE | ORIGIN_HEAP | ORIGIN_PARAM_SPACE)

/* What a function does with what its callers give it. */
struct effects {
	bool done, running, is_recursive;
	uint64_t pointers, read, written, atomic; /* parameters as origins */
	uint64_t returned; /* origins of the returned value; its own parameters' bits */
	bool writes_unknown, writes_module_vars, reads_unknown, reads_module_vars;
};

struct provenance {
	struct ptx_module *m;
	struct ptx_func *f;
	uint64_t *origin; /* by value */
	int64_t *place;   /* of an address in the local frame, or PLACE_* */
	uint64_t strong;  /* parameters that are pointers for certain */
	uint64_t *cells;  /* origins stored in the local frame, by 4 bytes */
	uint32_t ncells;
	uint64_t everywhere, anywhere; /* stored at an unknown place of the frame; all that is in the frame */
	uint64_t shared;               /* stored in shared memory */
	uint64_t *arguments; /* by first_symbol-relative symbol: stored in .param variables of calls */
	uint32_t first_symbol, nsymbols;
	uint64_t returned;
	bool changed;
	/* What a call does; access.c knows. */
	const struct effects *(*effects_of)(void *ctx, const struct ptx_inst *call);
	void *ctx;
};

#define PLACE_UNSET INT64_MIN
#define PLACE_ANY   (INT64_MIN + 1)

/* access.c. What memory an operation touches: its address operands (index + 1; 0 = none), or NULL. */
struct memory_effect {
	uint8_t op, read, write;
	bool atomic;
};
const struct memory_effect *memory_effect_of(const struct ptx_inst *i);
/* It writes memory of which no operand is the address: surfaces, memory behind a tensor map. */
bool memory_written_elsewhere(const struct ptx_inst *i);

int provenance_init(struct provenance *p, struct ptx_module *m, struct ptx_func *f);
void provenance_free(struct provenance *p);
/* 0 when a fixed point was reached, CUTRACE_ENOTSUP when that takes too long. */
int provenance_solve(struct provenance *p);
uint64_t operand_origin(const struct provenance *p, const struct ptx_operand *o);
/* Of argument k of a call; arguments in memory by what was stored there. */
uint64_t argument_origin(const struct provenance *p, const struct ptx_inst *call, uint32_t k);

#endif
