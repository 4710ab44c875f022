/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/compiler/emit_apart.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <llvm-c/Support.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "zluda_core/compiler/wire.h"

enum { HUGE = 400 /* loads and stores of a block: 0.3 s with LLVM's usual options, 5 s at 1000 */ };

static unsigned memory_operations(LLVMBasicBlockRef block)
{
	unsigned n = 0;

	for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
		LLVMOpcode op = LLVMGetInstructionOpcode(i);
		n += op == LLVMLoad || op == LLVMStore;
	}
	return n;
}

bool has_huge_block(LLVMModuleRef module)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
		for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
			if (memory_operations(b) > HUGE)
				return true;
	return false;
}

/* No clusters of neighbouring accesses, whose edges cost most, and dependencies of so many accesses at a time; scalar
 * registers into memory. */
static void set_options(unsigned why)
{
	const char *options[8] = {"cutrace-compile"};
	int n = 1;

	if (why & APART_HUGE_BLOCK) {
		options[n++] = "-misched-cluster=0";
		options[n++] = "-dag-maps-huge-region=200";
	}
	if (why & APART_SPILLS)
		options[n++] = "-amdgpu-spill-sgpr-to-vgpr=0";
	LLVMParseCommandLineOptions(n, options, NULL);
}

static _Noreturn void run_child(int fd, emit_work emit, void *ctx, unsigned why, struct diag *d)
{
	struct wire_message m;
	char *out = NULL;
	size_t bytes = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	set_options(why);
	int rc = emit(ctx, &out, &bytes);
	wire_begin(&m, WIRE_LINES);
	wire_put_diag(&m, rc, d);
	wire_put_bytes(&m, out, rc ? 0 : bytes);
	_exit(wire_send(fd, &m, 0) ? 1 : 0);
}

static int take(struct wire_message *m, const char *name, char **out, size_t *bytes, struct diag *d)
{
	int rc = wire_get_diag(m, d);
	const uint8_t *p = wire_get_bytes(m, bytes);

	if (rc || !p)
		return rc ? rc : diag_set(d, CUTRACE_EIO, name, "code generation gave nothing");
	*out = malloc(*bytes + 1);
	if (!*out)
		return diag_set(d, CUTRACE_ENOMEM, name, "out of memory");
	memcpy(*out, p, *bytes);
	(*out)[*bytes] = '\0';
	return 0;
}

int emit_apart(emit_work emit, void *ctx, unsigned why, const char *name, char **out, size_t *bytes,
	       struct diag *d)
{
	struct wire_message m = {0};
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return diag_set(d, CUTRACE_EIO, name, "no socket: %s", strerror(errno));
	pid_t pid = fork();
	if (!pid)
		run_child(pair[1], emit, ctx, why, d);
	close(pair[1]);
	int rc = pid < 0 ? CUTRACE_EIO : wire_receive(pair[0], &m, 0);
	close(pair[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (rc)
		return diag_set(d, CUTRACE_EIO, name,
				"code generation ended: it crashed, or ran out of memory");
	rc = take(&m, name, out, bytes, d);
	wire_free(&m);
	return rc;
}
