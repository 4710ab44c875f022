/* SPDX-License-Identifier: Apache-2.0
 *
 * api: what cutrace knows about the functions it records. `api/<library>.api` files
 * describe each function once; `apigen` turns them into the constant tables
 * declared here (and into entry points, stubs and SQL views). The recorder,
 * the collector, dump and replay all walk these tables; none of them knows a
 * function by hand unless it does something that no description can say.
 *
 * Depends on libc only: the in-process recorder links it.
 */
#ifndef CUTRACE_API_H
#define CUTRACE_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define API_NONE 0xffffu

enum api_kind {
	API_KIND_VOID,
	API_KIND_INT,      /* signed, 1..8 bytes */
	API_KIND_UINT,     /* unsigned, 1..8 bytes */
	API_KIND_FLOAT,    /* 4 or 8 bytes */
	API_KIND_CHAR,     /* one byte of text */
	API_KIND_ENUM,     /* def = index into api_enums */
	API_KIND_MASK,     /* likewise; a bit mask */
	API_KIND_HANDLE,   /* def = index into api_handles; 8 bytes, or 4 (CUdevice) */
	API_KIND_DEVPTR,   /* an address in the device's address space */
	API_KIND_POINTER,  /* to host memory; elem = what it points to */
	API_KIND_STRING,   /* const char *, NUL-terminated */
	API_KIND_ARRAY,    /* inside structs; elem, count */
	API_KIND_STRUCT,   /* def = index into api_structs */
	API_KIND_UNION,    /* likewise; the active member is chosen by a tag */
	API_KIND_CALLBACK, /* a function pointer of the program */
	API_KIND_OPAQUE,   /* void *, or a pointer whose target is not described */
	API_KIND_BYTES,    /* void, as the element of a pointer with a byte size */
};

struct api_type {
	const char *name;     /* as C spells it: "CUdevice", "const CUlaunchConfig *" */
	uint8_t kind;         /* enum api_kind */
	uint16_t size, align; /* bytes */
	uint16_t elem;        /* POINTER, ARRAY: type index */
	uint16_t count;       /* ARRAY: elements */
	uint16_t def;         /* ENUM, MASK, HANDLE, STRUCT, UNION */
};

struct api_enum_value {
	const char *name;
	int64_t value;
};

struct api_enum {
	const char *name;
	bool mask;
	uint16_t nvalues;
	const struct api_enum_value *values; /* in order of value, aliases later */
};

struct api_handle {
	const char *name;  /* "CUstream" */
	uint16_t alias_of; /* a handle kind whose values are accepted too (CUfunction takes CUkernel), or
			      API_NONE */
	/* values that are names of something rather than handles (CU_STREAM_LEGACY = 1, ...) */
	uint8_t nspecial;
	const struct api_enum_value *special;
};

/* Expressions over parameters (or, in structs, over sibling fields): lengths,
 * sizes and conditions. A tree in one table; -1 means absent. */
enum api_expr_op {
	API_EXPR_CONST,  /* value */
	API_EXPR_PARAM,  /* parameter `value`, its raw argument */
	API_EXPR_DEREF,  /* what pointer parameter `value` points to (count-then-fill) */
	API_EXPR_FIELD,  /* sibling field `value` of the enclosing struct */
	API_EXPR_STRLEN, /* length of string parameter `value` with its NUL */
	API_EXPR_IMAGE,  /* size in bytes of the code image that parameter `value` points to */
	API_EXPR_MEMBER, /* field b of the struct to which pointer parameter a points */
	API_EXPR_ADD,
	API_EXPR_SUB,
	API_EXPR_MUL,
	API_EXPR_DIV,
	API_EXPR_MIN,
	API_EXPR_MAX,
	API_EXPR_EQ,
	API_EXPR_NE,
	API_EXPR_AND,
	API_EXPR_OR,
	API_EXPR_COND, /* a ? b : c */
};

struct api_expr {
	uint8_t op;
	int16_t a, b, c;
	int64_t value;
};

struct api_field {
	const char *name;
	uint16_t type;
	uint16_t offset; /* bytes */
	uint16_t since;  /* CUDA version that added it, e.g. 12040; 0 = always */
	int16_t len;     /* expr: elements a pointer field points to; -1 = one */
	int16_t active;  /* union members: expr over the enclosing struct's fields; -1 = always */
	uint8_t payload; /* API_PAYLOAD_PARAMS or _EXTRA: kernel arguments inside a struct */
};

struct api_struct_size {
	uint16_t since; /* CUDA version */
	uint16_t size;
};

struct api_struct {
	const char *name;
	bool is_union;
	uint16_t size, align;
	uint16_t nfields, nsizes;
	const struct api_field *fields;
	const struct api_struct_size *sizes; /* size per CUDA version, when it changed */
	bool self_tagged;                    /* a union whose `active` expressions are over its own fields */
};

enum api_dir { API_IN = 1, API_OUT = 2, API_INOUT = 3 };

/* How the x86-64 System V ABI passes a parameter. A struct of up to 8 bytes (CUmemLocation) is
 * API_ABI_INT: its bytes are the argument's word. */
enum api_abi { API_ABI_INT, API_ABI_FLOAT, API_ABI_MEMORY /* struct by value on the stack */ };

/* Large data, recorded as buffers and not as pieces of a call. */
enum api_payload {
	API_PAYLOAD_NONE,
	API_PAYLOAD_H2D,    /* bytes the device reads from this host address */
	API_PAYLOAD_D2H,    /* bytes the device writes to this host address */
	API_PAYLOAD_IMAGE,  /* PTX text, cubin, fatbin or fatbin wrapper */
	API_PAYLOAD_PARAMS, /* kernelParams of a launch: void *[n] */
	API_PAYLOAD_EXTRA,  /* `extra` of a launch */
};

enum api_param_flag {
	API_PARAM_NULLABLE = 1 << 0,
	API_PARAM_STREAM = 1 << 1,    /* the stream the call works on */
	API_PARAM_CREATES = 1 << 2,   /* out handle is new */
	API_PARAM_DESTROYS = 1 << 3,  /* in handle is gone after success */
	API_PARAM_USERDATA = 1 << 4,  /* host pointer passed through to a callback */
	API_PARAM_LEN_AFTER = 1 << 5, /* len is evaluated after the call */
	API_PARAM_HOSTADDR = 1 << 6,  /* a host address used as a name (host register, symbol) */
	API_PARAM_POLY_EACH = 1 << 7, /* an array of pointers; selector[i] tells what the i-th points to */
};

struct api_poly_case {
	int64_t value; /* of the selector parameter */
	uint16_t type;
};

struct api_poly {
	uint16_t selector; /* parameter index */
	uint16_t ncases;
	const struct api_poly_case *cases; /* sorted by value */
};

struct api_param {
	const char *name;
	uint16_t type;
	uint8_t dir;     /* enum api_dir; of the pointee for pointers */
	uint8_t abi;     /* enum api_abi */
	uint8_t payload; /* enum api_payload */
	uint8_t flags;   /* enum api_param_flag */
	int16_t len;     /* expr: number of elements pointed to; -1 = one */
	int16_t poly;    /* index into api_polys: the pointee's type depends on another parameter; -1 */
};

/* What replay does with a recorded call. */
enum api_replay {
	API_REPLAY_DO,   /* issue it */
	API_REPLAY_SKIP, /* a query: its answer is a fact of the recording */
	API_REPLAY_WAIT, /* blocks until device work is done: issue at exit */
	API_REPLAY_POLL, /* a successful poll becomes a wait; others are skipped */
};

enum api_func_flag {
	API_FUNC_PTSZ = 1 << 0,     /* per-thread default stream variant (_ptsz, _ptds) */
	API_FUNC_INTEROP = 1 << 1,  /* GL, EGL, VDPAU */
	API_FUNC_LAUNCH = 1 << 2,   /* starts a kernel */
	API_FUNC_ASYNC = 1 << 3,    /* returns before the device is done */
	API_FUNC_HAS_IN = 1 << 4,   /* reads described host memory */
	API_FUNC_HAS_OUT = 1 << 5,  /* writes described host memory */
	API_FUNC_OBSOLETE = 1 << 6, /* exported for old programs; no current header maps a name to it */
	API_FUNC_PRIVATE = 1 << 7,  /* slot of an export table, not an exported symbol */
};

struct api_func {
	const char *name; /* exported symbol: "cuMemAlloc_v2" */
	const char *base; /* name for cuGetProcAddress: "cuMemAlloc" */
	uint16_t since;   /* CUDA version of this form, e.g. 3020; cuGetProcAddress's unit */
	uint16_t flags;   /* enum api_func_flag */
	uint8_t replay;   /* enum api_replay */
	uint8_t nparams;
	uint16_t ret; /* type index */
	const struct api_param *params;
};

/* Index into this table is the function's id inside this build. Traces carry
 * their own function table by name; ids never leave the process family. */
extern const struct api_func api_funcs[];
extern const unsigned api_nfuncs;
extern const struct api_type api_types[];
extern const unsigned api_ntypes;
extern const struct api_enum api_enums[];
extern const unsigned api_nenums;
extern const struct api_struct api_structs[];
extern const unsigned api_nstructs;
extern const struct api_handle api_handles[];
extern const unsigned api_nhandles;
extern const struct api_expr api_exprs[];
extern const struct api_poly api_polys[];

/* One row per (name, version, default-stream flavour) for cuGetProcAddress.
 * Sorted by name, then ascending version. */
struct api_proc {
	const char *name;    /* without suffix */
	uint16_t since;      /* first CUDA version in which this form answers */
	uint16_t legacy;     /* function index for flags 0 and 1 */
	uint16_t per_thread; /* function index for flag 2; equals legacy where there is one form only */
};
extern const struct api_proc api_procs[];
extern const unsigned api_nprocs;

/* ---- walking the tables (api/api.c) ------------------------------------ */

/* NULL when unknown. */
const struct api_func *api_func_find(const char *name);
/* The form of `name` that a program built for CUDA `version` gets; per_thread selects
 * flag 2. NULL when the name is unknown or newer than the version. */
const struct api_func *api_proc_find(const char *name, unsigned version, bool per_thread);
static inline unsigned api_func_id(const struct api_func *f)
{
	return (unsigned)(f - api_funcs);
}
/* Symbolic name of a value, or NULL. */
const char *api_enum_name(const struct api_enum *e, int64_t value);
const struct api_enum *api_enum_find(const char *name);
const struct api_struct *api_struct_find(const char *name);

/* Access to host memory of the traced program. The recorder reads it in
 * place; readers of a trace read recorded pieces. Returns NULL when the
 * bytes are not available. */
struct api_memory {
	const void *(*read)(void *ctx, uint64_t addr, size_t bytes);
	void *ctx;
};
extern const struct api_memory api_live_memory; /* this process: reads in place */

enum api_phase { API_PHASE_ENTER, API_PHASE_EXIT };

/* Evaluates an expression; `base` is the enclosing struct's bytes, or NULL.
 * A DEREF whose memory is unavailable yields 0. */
int64_t api_eval(int16_t expr, const struct api_func *f, const uint64_t *args, const void *base,
		 const struct api_struct *in, const struct api_memory *mem);
/* Type of what parameter `p` points to, after polymorphism. */
const struct api_type *api_pointee(const struct api_func *f, unsigned p, const uint64_t *args);
/* Elements (bytes when the pointee is API_KIND_BYTES) that pointer parameter p points to. */
uint64_t api_param_len(const struct api_func *f, unsigned p, const uint64_t *args,
		       const struct api_memory *mem);

/* Calls `piece` for each block of host memory that the call reads (ENTER) or has
 * written (EXIT), pointers inside structs followed; payload parameters are
 * not visited. args: one word per parameter; an API_ABI_MEMORY argument's word is
 * the address of its bytes. Never touches memory that the description does not name. */
typedef void api_piece_fn(void *ctx, unsigned param, uint64_t addr, size_t bytes);
void api_walk(const struct api_func *f, const uint64_t *args, enum api_phase phase,
	      const struct api_memory *mem, api_piece_fn *piece, void *ctx);

/* Slot (o0, o1, ...) in which the value that out-parameter p points to is recorded after the call:
 * the n-th pointer parameter of dir out or inout to one scalar, handle, device pointer or host
 * pointer. Arrays (with a length), structs and polymorphic values have none: -1. */
int api_out_slot(const struct api_func *f, unsigned p);

#endif
