/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/amdgpu_emulator/decode/amdgpu_decode.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <stdio.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start(void)
{
	LLVMInitializeAMDGPUTargetInfo();
	LLVMInitializeAMDGPUTargetMC();
	LLVMInitializeAMDGPUDisassembler();
}

static int decode_segment(struct amdgpu_object *o, LLVMDisasmContextRef dis, const struct amdgpu_code *c,
			  struct diag *d)
{
	for (uint64_t at = 0; at + 4 <= c->size;) {
		char text[512];
		uint8_t *bytes = (uint8_t *)c->bytes + at; /* LLVM's declaration lacks const */
		size_t n = LLVMDisasmInstruction(dis, bytes, c->size - at, c->offset + at, text, sizeof text);
		if (!n) {
			n = 4;
			snprintf(text, sizeof text, ".long 0x%02x%02x%02x%02x", bytes[3], bytes[2], bytes[1],
				 bytes[0]);
		}
		int rc = amdgpu_object_line(o, c->offset + at, (unsigned)n, text, d);
		if (rc)
			return rc;
		at += n;
	}
	return 0;
}

int amdgpu_decode(struct amdgpu_object *o, struct diag *d)
{
	struct amdgpu_code code[8];
	unsigned n = amdgpu_object_code(o, code, 8);
	LLVMDisasmContextRef dis;
	int rc = 0;

	pthread_once(&once, start);
	dis = LLVMCreateDisasmCPU("amdgcn-amd-amdhsa", amdgpu_object_target(o), NULL, 0, NULL, NULL);
	if (!dis)
		return diag_set(d, CUTRACE_ENOTSUP, "", "LLVM has no disassembler for %s",
				amdgpu_object_target(o));
	for (unsigned i = 0; i < n && i < 8 && !rc; i++)
		rc = decode_segment(o, dis, &code[i], d);
	LLVMDisasmDispose(dis);
	return rc;
}
