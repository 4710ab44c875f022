/* SPDX-License-Identifier: Apache-2.0
 *
 * service: kernels of a module's text to AMD code objects, for programs that link no LLVM. Behind it are the cache on
 * disk (cache.h) and processes `cutrace-compile --worker` that are started on demand and end with this one; LLVM's
 * errors end a worker, not the program. A kernel that ended its worker fails with the reason, and the next request gets
 * a new one.
 *
 * In the program it installs no signal handlers, raises no SIGPIPE, leaves no child that wait() could meet, touches only
 * descriptors that it opened, and starts afresh in the child of a fork.
 *
 * All functions may be called from several threads at once (but for service_close); requests of several threads run in as
 * many workers. Answers are malloc'ed. 0 or a CUTRACE_E* code with *d filled.
 *
 * Depends on base/, contract.h, cache.h.
 */
#ifndef CUTRACE_SERVICE_H
#define CUTRACE_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "zluda_core/compiler/contract.h"

struct service;

struct service_config {
	const char
		*compiler; /* path of cutrace-compile; NULL: CUTRACE_COMPILER, else found near this library */
	const char *
		cache; /* as CUTRACE_CACHE: a folder, or "off"; NULL: the environment's, else the user's cache */
	unsigned workers;    /* at most; 0: one a processor */
	unsigned timeout_ms; /* of a request; 0: CUTRACE_COMPILE_TIMEOUT_MS, else ten minutes */
};
/* Opens nothing yet and never fails but for memory: what is missing is said by the first request that needs it. config may
 * be NULL. */
int service_open(struct service **out, const struct service_config *config, struct diag *d);
void service_close(struct service *s);

/* The module that kernels are of; the text goes to a worker once. `hash` is service_hash of the text. */
struct service_module {
	const char *text, *name; /* name: for messages, "matmul.ptx" */
	size_t bytes;
	uint8_t hash[16];
};
void service_hash(const void *data, size_t bytes, uint8_t hash[16]);
/* Starts a worker that will probably be needed, since the cache has nothing of the module, and does not wait for it. */
void service_warm_up(struct service *s, const struct service_module *m);

enum service_want {                        /* what else is wanted; then the cache isn't asked */
		    SERVICE_IR = 1,        /* LLVM IR as lowered */
		    SERVICE_OPTIMIZED = 2, /* after -O3 */
		    SERVICE_ASSEMBLY = 4,  /* with PTX lines as comments */
		    SERVICE_FRESH = 8,     /* only that the cache isn't asked */
};

struct service_request {
	const struct service_module *module;
	const char *kernel, *target; /* "gfx1100" */
	const char *options; /* "", or compile_options.h; part of the cache's key: "opt=2,contract=all" */
	unsigned want;       /* enum service_want */
};

struct service_answer {
	void *code_object;
	size_t bytes;
	char *ir, *optimized, *assembly; /* as wanted, else NULL */
	char *passes; /* with opt-bisect, where the cache was not asked: LLVM's list (pass_bisect.h) */
	bool cached;                     /* from the disk */
	double seconds;                  /* of a processor that the worker took */
	/* When the code is CUTRACE_ENOTSUP because the kernel was refused: where and why, as in struct lowered. */
	uint32_t line;
	char op[64], reason[160];
};
/* contract_read() tells how to launch it. CUTRACE_ENOENT: no such kernel. */
int service_compile(struct service *s, const struct service_request *r, struct service_answer *out,
		    struct diag *d);
void service_answer_free(struct service_answer *a);

/* All kernels of the module into the cache, by workers in the background, lowest priority; returns at once. What fails is
 * not said: who asks for that kernel will be told. */
int service_compile_ahead(struct service *s, const struct service_module *m, const char *target,
			  const char *options, struct diag *d);

/* Disassembles `bytes` at code, calling line() for each instruction in order; `offset` counts from `base`. What is no
 * instruction is ".long 0x…". An error of line() ends it and is returned. */
typedef int (*service_line)(void *ctx, uint64_t offset, unsigned size, const char *text, struct diag *d);
int service_decode(struct service *s, const char *target, const void *code, size_t bytes, uint64_t base,
		   service_line line, void *ctx, struct diag *d);

/* What code objects of this compiler are told apart by, without starting it; "" when there is none. */
const char *service_build_id(struct service *s);
/* Its path, or NULL with the reason. */
const char *service_compiler(struct service *s, struct diag *d);

#endif
