/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer that all files of ptx/lower share: where the text goes, operands as text, and the entry of each family of
 * operations. A family returns true when it has lowered the instruction, false when it isn't its own or it refused.
 */
#ifndef CUTRACE_PTX_LOWER_WRITER_H
#define CUTRACE_PTX_LOWER_WRITER_H

#include <stdio.h>

#include "ptx/lower/lower.h"
#include "ptx/lower/runtime.h"

/* An operand of LLVM IR without its type: "%t12", "42". */
struct ir {
	char s[64];
};

/* What is known of a function, by its index in the module. */
struct function_facts {
	bool reached;   /* by the kernel */
	bool addressed; /* its address is taken */
	bool recursive;
	bool spins;  /* a loop in it waits for memory */
	bool waits;  /* lanes may wait for others in it, or in what it calls */
	bool merged; /* written into the kernel's body: see dispatch.h */
	/* By instruction, or NULL: */
	uint8_t *anew;     /* a read that a loop waits for (spin.h) */
	uint8_t *together; /* its result is to be made that of the first lane (together.h) */
	uint32_t enter;    /* merged: the state where it begins, once it was called */
};

struct dispatch;

struct lower {
	struct ptx_module *m;
	struct ptx_func *kernel, *f; /* f: the one being written */
	const struct lower_target *target;
	struct lowered *out;
	struct diag *d;
	const struct ptx_inst *i; /* being lowered */
	FILE *head, *body;        /* of f: its allocas, its blocks */
	unsigned next;            /* number of the next temporary or label */
	unsigned subprogram;      /* metadata node of f */
	struct ir_declarations {
		FILE *out;
		char *text;
		size_t bytes;
	} declared; /* functions of the device library that were called */
	struct function_facts *facts;
	uint32_t *order, norder; /* functions reached, the kernel first */
	char prefix[16];         /* of the names of f's registers and blocks, where functions share a body */
	struct dispatch *dispatch; /* NULL: control flow is as PTX has it */
	uint32_t counted;          /* bits of the barriers whose arrivals are counted in LDS; see barrier.c */
	const struct lower_options *options;
	uint8_t *contractible; /* by instruction of f: it may be fused with another; NULL: none may */
	uint8_t *params_read;  /* a bit for each of the kernel's, memory.c */
	uint8_t *home_widths;  /* of f's variables, likewise */
	uint32_t *homes;       /* of f's values, variable_address.c; NULL: none has one */
	bool flushes;          /* the kernel's f32 mode flushes subnormals: every operation says .ftz */
	bool uses_static_shared, uses_dynamic_shared, uses_runtime;
	bool refused;   /* nothing more is written */
	bool no_memory; /* is why */
};

/* writer.c: a call of @ct_NAME, a function of the compiler's device library, is declared by being written. */
void ir_line(struct lower *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct ir ir_op(struct lower *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct ir ir_text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
struct ir ir_int(uint64_t v, unsigned bits);
void ir_label(struct lower *l, unsigned label);
struct ir ir_resize(struct lower *l, struct ir v, unsigned from, unsigned to, bool is_signed);
bool lower_refuse(struct lower *l, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* false */
bool lower_no_memory(struct lower *l); /* false, and no refusal */

/* types.c: the view that an operation has of a register. */
const char *ir_type(enum ptx_type t);   /* "i32", "float", "<2 x half>"; NULL: not lowered */
const char *ir_suffix(enum ptx_type t); /* of intrinsics: "i32", "f32", "v2f16" */

/* LLVM's address spaces on AMD GPUs. */
enum { AS_FLAT = 0, AS_GLOBAL = 1, AS_LDS = 3, AS_CONSTANT = 4, AS_PRIVATE = 5 };

/* operand.c */
struct ir read_bits(struct lower *l, const struct ptx_operand *o, unsigned bits);
struct ir read_typed(struct lower *l, const struct ptx_operand *o, enum ptx_type t); /* as ir_type(t) */
void write_bits(struct lower *l, const struct ptx_operand *o, struct ir v, unsigned bits, bool is_signed);
void write_typed(struct lower *l, const struct ptx_operand *o, struct ir v, enum ptx_type t);
/* "ptr addrspace(1) %t5" of an address operand plus `more` bytes; *as = the address space. */
struct ir read_pointer(struct lower *l, const struct ptx_operand *o, enum ptx_space space, int64_t more,
		       unsigned *as);
/* A variable's pointer and so many bytes, without the type. */
struct ir symbol_pointer(struct lower *l, uint32_t symbol, int64_t offset, unsigned *as);
struct ir read_sreg(struct lower *l, enum ptx_sreg r, unsigned bits); /* special_register.c */
struct ir wave_lane(struct lower *l);                                 /* 0 up to the wave's size */
struct ir warp_lane(struct lower *l);

const char *ir_scope(enum ptx_scope s); /* memory.c: "syncscope(\"agent\") " */

/* float_mode.c: subnormals and saturation. */
struct ir ir_splat(enum ptx_type t, const char *element, const char *value);
struct ir flush(struct lower *l, struct ir v, enum ptx_type t);
struct ir saturate(struct lower *l, struct ir v, enum ptx_type t);
bool kernel_flushes(const struct lower *l);
/* The instruction's source as its type, subnormals flushed when it says so. */
struct ir read_float(struct lower *l, const struct ptx_operand *o, enum ptx_type t);

/* runtime.c: the run-time block, ptx/lower/runtime.h. "%t5", a ptr addrspace(1); a field of it. */
struct ir runtime_pointer(struct lower *l);
struct ir runtime_word(struct lower *l, size_t offset, unsigned bits);
/* The lane reports a fault of this instruction and ends; what is written next is not reached. */
void emit_fault(struct lower *l, enum lower_fault_kind kind);
void fault_if(struct lower *l, struct ir condition,
	      enum lower_fault_kind kind); /* the lanes for which it holds */
void emit_fault_at(struct lower *l, enum lower_fault_kind kind, struct ir address); /* an i64 */
/* A call of a function without a body: one of CUDA's device run-time library, or it is refused. */
bool lower_runtime_call(struct lower *l, const struct ptx_func *f);

/* rules.c: operations that are a row of text. */
struct rule {
	uint16_t op;
	uint64_t types;        /* bits 1 << enum ptx_type */
	uint32_t need, refuse; /* flags that must, that must not be there */
	const char *src;       /* a letter per source; see rules.c */
	char dst;
	const char *text;
};
struct ir ir_extend(struct lower *l, struct ir v, enum ptx_type t);
struct ir ir_shorten(struct lower *l, struct ir v, enum ptx_type t, bool exact);
bool lower_by_rule(struct lower *l, const struct rule *rules, size_t n);

void stack_begins(struct lower *l); /* stack.c: where the running function begins */

/* matrix.c: "m16n8k16", k may be 0; whether `.word` is one of the opcode's parts. */
bool ir_matrix_shape(const struct ptx_inst *i, unsigned *m, unsigned *n, unsigned *k);
bool ir_has_word(const struct ptx_inst *i, const char *word);

bool lower_integer(struct lower *l);
bool lower_bit_field(struct lower *l);
bool lower_logic(struct lower *l);
bool lower_carry(struct lower *l);
bool lower_float(struct lower *l);
bool lower_min_max(struct lower *l);
bool lower_approximation(struct lower *l);
bool lower_compare(struct lower *l);
bool lower_convert(struct lower *l);
bool lower_move(struct lower *l);
bool lower_memory(struct lower *l);
bool lower_async_copy(struct lower *l);
bool lower_dot_product(struct lower *l);
bool lower_video(struct lower *l);
bool lower_atomic(struct lower *l);
bool lower_stack(struct lower *l);
bool lower_matrix(struct lower *l);
bool lower_matrix_move(struct lower *l);
bool lower_texture(struct lower *l);
bool lower_sync(struct lower *l);
bool lower_barrier(struct lower *l);
bool lower_mbarrier(struct lower *l);
bool lower_warp(struct lower *l);
bool lower_call(struct lower *l);
/* mbarrier.c: mbarrier.complete_tx of so many bytes. */
bool lower_complete_tx(struct lower *l, const struct ptx_operand *mbarrier, unsigned bytes);
bool lower_fault(struct lower *l);
const char *not_lowered_reason(const struct ptx_inst *i); /* not_lowered.c */
bool check_kernel(struct lower *l); /* checks.c: what has to hold for the kernel as a whole */
/* function.c */
struct ir guard_of(struct lower *l); /* the instruction's guard, an i1 */
/* The label of block n, as a branch names it. */
struct ir block_label(struct lower *l, uint32_t n);
/* The lane ends here, also in a function that is called; what is written next is not reached. */
void end_lane(struct lower *l);
void end_lane_if(struct lower *l, struct ir condition);
void write_frame(struct lower *l); /* f's registers and variables, zero and parameters */
void write_blocks(struct lower *l);
/* l->i is marked in this array by instruction of f, which may be NULL. */
bool is_marked(const struct lower *l, const uint8_t *marks);
void lower_function(struct lower *l, FILE *module);

#define BIT(t) (1ull << PTX_##t)

#endif
