/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/compiler/compiler.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "zluda_core/compiler/ballot_compare.h"
#include "zluda_core/compiler/emit_apart.h"
#include "zluda_core/compiler/float_division.h"
#include "zluda_core/compiler/library.h"
#include "zluda_core/compiler/or_ones.h"
#include "zluda_core/compiler/pass_bisect.h"
#include "zluda_core/compiler/unsigned_division.h"
#include "zluda_core/compiler/zero_minus.h"

enum { MAX_MACHINES = 16 };

static const char triple[] = "amdgcn-amd-amdhsa";

struct job {
	const char *name;
	struct diag *d;
	LLVMContextRef context;
	LLVMModuleRef module;
	LLVMTargetMachineRef machine;
	bool failed;    /* LLVM reported an error; *d has it */
	unsigned apart; /* enum emit_apart_why */
	const struct lower_target *target;
	unsigned level;
};

/* LLVM 19 commutes instructions that select parts of their operands (SDWA, before gfx11) without their selectors, so that
 * a.b1 + b.b3 and a.b3 + b.b1 become one: none are made. */
static void set_options(void)
{
	static const char *const options[] = {"cutrace-compile", "-amdgpu-sdwa-peephole=0"};
	static bool done; /* an option given twice is an error */

	if (!done)
		LLVMParseCommandLineOptions(sizeof(options) / sizeof(options[0]), options, NULL);
	done = true;
}

void compiler_init(void)
{
	set_options();
	LLVMInitializeAMDGPUTargetInfo();
	LLVMInitializeAMDGPUTarget();
	LLVMInitializeAMDGPUTargetMC();
	LLVMInitializeAMDGPUAsmPrinter();
}

/* Takes the message, which is LLVM's. */
static int llvm_error(struct job *j, int code, const char *what, char *message)
{
	diag_set(j->d, code, j->name, "LLVM: %s%s", what, message ? message : "");
	LLVMDisposeMessage(message);
	return code;
}

/* Code generation reports what it can't do here, and goes on. */
static void on_diagnostic(LLVMDiagnosticInfoRef info, void *ctx)
{
	struct job *j = ctx;

	if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
		return;
	llvm_error(j, CUTRACE_ENOTSUP, "", LLVMGetDiagInfoDescription(info));
	j->failed = true;
}

static int read_module(struct job *j, const struct lowered *l)
{
	char *message = NULL;
	LLVMMemoryBufferRef text = LLVMCreateMemoryBufferWithMemoryRange(l->text, l->bytes, j->name, 1);

	j->context = LLVMContextCreate();
	LLVMContextSetDiagnosticHandler(j->context, on_diagnostic, j);
	if (LLVMParseIRInContext(j->context, text, &j->module, &message))
		return llvm_error(j, CUTRACE_EFORMAT, "can't read the IR: ", message);
	if (LLVMVerifyModule(j->module, LLVMReturnStatusAction, &message))
		return llvm_error(j, CUTRACE_EFORMAT, "the IR isn't valid: ", message);
	LLVMDisposeMessage(message);
	return 0;
}

/* Making one, and its tables of registers, takes milliseconds: they are kept, one a target and level. */
static LLVMTargetMachineRef *kept_machine(const struct lower_target *target, unsigned level)
{
	static struct {
		const struct lower_target *target;
		unsigned level;
		LLVMTargetMachineRef machine;
	} kept[MAX_MACHINES];
	unsigned k = 0;

	while (k < MAX_MACHINES - 1 && kept[k].target && (kept[k].target != target || kept[k].level != level))
		k++;
	if (kept[k].target != target || kept[k].level != level) {
		if (kept[k].machine)
			LLVMDisposeTargetMachine(kept[k].machine);
		kept[k].machine = NULL;
	}
	kept[k].target = target;
	kept[k].level = level;
	return &kept[k].machine;
}

/* LLVM 19 makes a v_dot4 of products of bytes and their sum, with bytes of the wrong half of a 64-bit number (its issue 112941),
 * and of sums that are none (198412, 216015): it looks for them only where the target has dot7. */
#define FEATURES "-dot7-insts"

static int make_machine(struct job *j, LLVMTargetMachineRef *machine)
{
	char *message = NULL;
	LLVMTargetRef t;

	if (LLVMGetTargetFromTriple(triple, &t, &message))
		return llvm_error(j, CUTRACE_ENOTSUP, "", message);
	*machine = LLVMCreateTargetMachine(t, triple, j->target->name, FEATURES,
					   (LLVMCodeGenOptLevel)j->level, LLVMRelocPIC, LLVMCodeModelDefault);
	return *machine ? 0
			: diag_set(j->d, CUTRACE_ENOTSUP, j->name, "LLVM has no target %s", j->target->name);
}

static int open_machine(struct job *j)
{
	LLVMTargetMachineRef *machine = kept_machine(j->target, j->level);
	int rc = *machine ? 0 : make_machine(j, machine);

	j->machine = *machine;
	return rc;
}

static int optimize(struct job *j)
{
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	char passes[16];

	snprintf(passes, sizeof(passes), "default<O%u>", j->level);
	LLVMErrorRef error = LLVMRunPasses(j->module, passes, j->machine, options);

	LLVMDisposePassBuilderOptions(options);
	if (!error) {
		ballot_compares_split(j->module);
		float_divisions_expand(j->module);
		unsigned_divisions_guard(j->module);
		or_ones_split(j->module);
		zeros_hide(j->module);
		return 0;
	}
	char *message = LLVMGetErrorMessage(error);
	diag_set(j->d, CUTRACE_EFORMAT, j->name, "LLVM: %s", message);
	LLVMDisposeErrorMessage(message);
	return CUTRACE_EFORMAT;
}

static char *copy_buffer(LLVMMemoryBufferRef b, size_t *bytes)
{
	*bytes = LLVMGetBufferSize(b);
	char *p = malloc(*bytes + 1);

	if (p) {
		memcpy(p, LLVMGetBufferStart(b), *bytes);
		p[*bytes] = 0;
	}
	LLVMDisposeMemoryBuffer(b);
	return p;
}

struct emission {
	struct job *job;
	LLVMCodeGenFileType type;
	bool last; /* emitting changes the module: what is needed again is copied */
};

static int emit_here(void *ctx, char **out, size_t *bytes)
{
	const struct emission *e = ctx;
	struct job *j = e->job;
	LLVMModuleRef module = e->last ? j->module : LLVMCloneModule(j->module);
	LLVMMemoryBufferRef buffer = NULL;
	char *message = NULL;

	/* Options about spills are read by a new machine only. In a child: its end is near. */
	if (j->apart & APART_SPILLS && make_machine(j, &j->machine))
		return j->d->code;
	/* With LLVM's comments: registers, scratch, occupancy. */
	LLVMSetTargetMachineAsmVerbosity(j->machine, e->type == LLVMAssemblyFile);
	LLVMBool failed = LLVMTargetMachineEmitToMemoryBuffer(j->machine, module, e->type, &message, &buffer);

	if (!e->last)
		LLVMDisposeModule(module);
	if (failed)
		return llvm_error(j, CUTRACE_EFORMAT, "", message);
	*out = copy_buffer(buffer, bytes);
	if (!*out)
		return diag_set(j->d, CUTRACE_ENOMEM, j->name, "out of memory");
	return j->failed ? CUTRACE_ENOTSUP : 0;
}

static int emit(struct job *j, LLVMCodeGenFileType type, bool last, char **out, size_t *bytes)
{
	struct emission e = {j, type, last};

	return j->apart ? emit_apart(emit_here, &e, j->apart, j->name, out, bytes, j->d)
			: emit_here(&e, out, bytes);
}

static int keep_optimized(struct job *j, struct compiled *out)
{
	char *text = LLVMPrintModuleToString(j->module);

	out->optimized = strdup(text);
	out->optimized_bytes = strlen(text);
	LLVMDisposeMessage(text);
	return out->optimized ? 0 : diag_set(j->d, CUTRACE_ENOMEM, j->name, "out of memory");
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int compile(struct job *j, const struct lowered *l, unsigned wanted, struct compiled *out)
{
	double start = now();
	int rc = read_module(j, l);

	if (!rc)
		rc = library_link(j->module, j->name, j->d);
	if (!rc)
		rc = open_machine(j);
	if (!rc)
		rc = optimize(j);
	if (!rc && has_huge_block(j->module))
		j->apart |= APART_HUGE_BLOCK;
	if (!rc)
		rc = emit(j, LLVMObjectFile, !wanted, &out->object, &out->object_bytes);
	if (!rc)
		out->passes = pass_bisect_log();
	out->stats.seconds = now() - start;
	if (!rc && wanted & COMPILE_OPTIMIZED)
		rc = keep_optimized(j, out);
	if (!rc && wanted & COMPILE_ASSEMBLY)
		rc = emit(j, LLVMAssemblyFile, true, &out->assembly, &out->assembly_bytes);
	if (!rc)
		note_stats_read(out->object, out->object_bytes, &out->stats);
	return rc;
}

static void close_job(struct job *j)
{
	if (j->module)
		LLVMDisposeModule(j->module);
	if (j->context)
		LLVMContextDispose(j->context);
	j->module = NULL;
	j->context = NULL;
}

/* Then once more, with scalar registers in memory (emit_apart.h). */
static bool spills_both(struct job *j, const struct compile_stats *s)
{
	if (!s->spilled_sgprs || !s->spilled_vgprs || j->apart & APART_SPILLS)
		return false;
	j->apart |= APART_SPILLS;
	/* Passes are counted on: it has to begin in a new process. */
	if (pass_bisect_on())
		pass_bisect_again(j->apart);
	return !pass_bisect_on();
}

int compiler_run_at(const struct lowered *l, const char *name, const struct lower_target *target,
		    unsigned level, unsigned wanted, struct compiled *out, struct diag *d)
{
	struct job j = {.name = name, .d = d, .level = level, .target = target, .apart = pass_bisect_apart()};
	int rc;

	memset(out, 0, sizeof(*out));
	do {
		compiled_free(out);
		rc = compile(&j, l, wanted, out);
		close_job(&j);
	} while (!rc && spills_both(&j, &out->stats));
	if (rc)
		compiled_free(out);
	return rc;
}

int compiler_run(const struct lowered *l, const char *name, const struct lower_target *target,
		 unsigned wanted, struct compiled *out, struct diag *d)
{
	return compiler_run_at(l, name, target, 3, wanted, out, d);
}

int compiler_verify(const struct lowered *l, const char *name, struct diag *d)
{
	struct job j = {.name = name, .d = d};
	int rc = read_module(&j, l);

	close_job(&j);
	return rc;
}

void compiled_free(struct compiled *c)
{
	free(c->object);
	free(c->optimized);
	free(c->assembly);
	free(c->passes);
	memset(c, 0, sizeof(*c));
}
