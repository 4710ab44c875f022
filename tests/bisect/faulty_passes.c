/* SPDX-License-Identifier: Apache-2.0
 *
 * A cutrace-compile with a fault in one pass of LLVM: where SROA has turned a kernel's variables into values (none is an
 * alloca any more), the first fma adds its first factor instead of its addend. Only kernels whose name contains
 * "move" have it. In place of LLVMRunPasses, which does the rest.
 */
#include <dlfcn.h>
#include <llvm-c/Core.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdbool.h>
#include <string.h>

static bool has_variables(LLVMValueRef f)
{
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			if (LLVMGetInstructionOpcode(i) == LLVMAlloca)
				return true;
	return false;
}

static bool is_fma(LLVMValueRef i)
{
	LLVMValueRef callee;
	size_t n;

	if (LLVMGetInstructionOpcode(i) != LLVMCall)
		return false;
	callee = LLVMGetCalledValue(i);
	return LLVMIsAFunction(callee) && !strncmp(LLVMGetValueName2(callee, &n), "llvm.fma.f32", 12);
}

static void break_function(LLVMValueRef f)
{
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			if (is_fma(i)) {
				LLVMSetOperand(i, 2, LLVMGetOperand(i, 0));
				return;
			}
}

LLVMErrorRef LLVMRunPasses(LLVMModuleRef module, const char *passes, LLVMTargetMachineRef machine,
			   LLVMPassBuilderOptionsRef options)
{
	LLVMErrorRef (*real)(LLVMModuleRef, const char *, LLVMTargetMachineRef, LLVMPassBuilderOptionsRef);
	LLVMErrorRef error;
	size_t n;

	*(void **)&real = dlsym(RTLD_NEXT, "LLVMRunPasses");
	error = real(module, passes, machine, options);
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f && !error; f = LLVMGetNextFunction(f))
		if (strstr(LLVMGetValueName2(f, &n), "move") && !LLVMIsDeclaration(f) && !has_variables(f))
			break_function(f);
	return error;
}
