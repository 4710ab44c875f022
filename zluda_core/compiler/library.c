/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/compiler/library.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>
#include <stdbool.h>
#include <string.h>

__asm__(".section .rodata\n.balign 8\nlibrary_begin:\n.incbin \"" DEVICE_LIBRARY_BITCODE
	"\"\nlibrary_end:\n.byte 0\n.text\n");
extern const char library_begin[] __attribute__((visibility("hidden"))),
	library_end[] __attribute__((visibility("hidden")));

/* Of the kernel, which the library's functions have to share. */
static const char *const modes[] = {"denormal-fp-math", "denormal-fp-math-f32", "amdgpu-ieee"};
enum { KERNEL_CONVENTION = 91 }; /* amdgpu_kernel */

static bool needs_library(LLVMModuleRef module)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
		size_t n;
		if (LLVMIsDeclaration(f) && !strncmp(LLVMGetValueName2(f, &n), "ct_", 3))
			return true;
	}
	return false;
}

static LLVMValueRef kernel_of(LLVMModuleRef module)
{
	LLVMValueRef f = LLVMGetFirstFunction(module);

	while (f && LLVMGetFunctionCallConv(f) != KERNEL_CONVENTION)
		f = LLVMGetNextFunction(f);
	return f;
}

/* What clang said of a target that it wasn't told goes; the machine is the kernel's. */
static void drop_strings(LLVMValueRef f)
{
	LLVMAttributeRef all[64];
	unsigned n = LLVMGetAttributeCountAtIndex(f, LLVMAttributeFunctionIndex);

	if (n > sizeof(all) / sizeof(all[0]))
		return;
	LLVMGetAttributesAtIndex(f, LLVMAttributeFunctionIndex, all);
	for (unsigned k = 0, bytes; k < n; k++) {
		const char *kind =
			LLVMIsStringAttribute(all[k]) ? LLVMGetStringAttributeKind(all[k], &bytes) : NULL;
		if (kind)
			LLVMRemoveStringAttributeAtIndex(f, LLVMAttributeFunctionIndex, kind, bytes);
	}
}

static void take_modes(LLVMValueRef f, LLVMValueRef kernel)
{
	drop_strings(f);
	for (size_t k = 0; kernel && k < sizeof(modes) / sizeof(modes[0]); k++) {
		LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(kernel, LLVMAttributeFunctionIndex,
								   modes[k], (unsigned)strlen(modes[k]));
		if (a)
			LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, a);
	}
}

/* Only what is named of functions with this linkage is linked; the others' bodies aren't even read. */
static void prepare(LLVMModuleRef library)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(library); f; f = LLVMGetNextFunction(f))
		if (!LLVMIsDeclaration(f))
			LLVMSetLinkage(f, LLVMLinkOnceODRLinkage);
}

/* Of those that were linked alone: each attribute takes a microsecond. */
static void adopt(LLVMModuleRef module, LLVMValueRef kernel)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
		if (LLVMGetLinkage(f) == LLVMLinkOnceODRLinkage) {
			take_modes(f, kernel);
			LLVMSetLinkage(f, LLVMInternalLinkage);
			LLVMSetVisibility(f, LLVMDefaultVisibility);
		}
}

int library_link(LLVMModuleRef module, const char *name, struct diag *d)
{
	LLVMModuleRef library;

	if (!needs_library(module))
		return 0;
	LLVMMemoryBufferRef bytes = LLVMCreateMemoryBufferWithMemoryRange(
		library_begin, (size_t)(library_end - library_begin), "device library", 0);
	if (LLVMGetBitcodeModuleInContext2(LLVMGetModuleContext(module), bytes, &library))
		return diag_set(d, CUTRACE_EFORMAT, name, "LLVM can't read the device library");
	prepare(library);
	if (LLVMLinkModules2(module, library))
		return diag_set(d, CUTRACE_EFORMAT, name, "LLVM can't link the device library");
	adopt(module, kernel_of(module));
	if (needs_library(module))
		return diag_set(d, CUTRACE_ENOTSUP, name, "the device library lacks a function");
	return 0;
}
