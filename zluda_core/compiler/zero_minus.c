/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/compiler/zero_minus.h"

#include <stdbool.h>
#include <string.h>

struct hiding {
	LLVMModuleRef module;
	LLVMBuilderRef b;
};

/* llvm.amdgcn.readfirstlane of 0, which becomes a constant after instructions were selected. */
static LLVMValueRef hidden_zero(const struct hiding *h, LLVMTypeRef type)
{
	static const char name[] = "llvm.amdgcn.readfirstlane";
	LLVMContextRef c = LLVMGetModuleContext(h->module);
	LLVMTypeRef i32 = LLVMInt32TypeInContext(c);
	LLVMValueRef zero = LLVMConstInt(i32, 0, false);
	LLVMValueRef f =
		LLVMGetIntrinsicDeclaration(h->module, LLVMLookupIntrinsicID(name, strlen(name)), &i32, 1);
	LLVMValueRef v = LLVMBuildCall2(h->b, LLVMGlobalGetValueType(f), f, &zero, 1, "");

	if (LLVMGetTypeKind(type) == LLVMHalfTypeKind)
		v = LLVMBuildTrunc(h->b, v, LLVMInt16TypeInContext(c), "");
	else if (LLVMGetTypeKind(type) == LLVMDoubleTypeKind)
		v = LLVMBuildZExt(h->b, v, LLVMInt64TypeInContext(c), "");
	return LLVMBuildBitCast(h->b, v, type, "");
}

static bool is_float(LLVMTypeRef type)
{
	LLVMTypeKind kind = LLVMGetTypeKind(type);

	return kind == LLVMHalfTypeKind || kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind;
}

/* Of vectors, each element that is +0. */
static void hide_in_vector(const struct hiding *h, LLVMValueRef i, unsigned operand)
{
	LLVMValueRef v = LLVMGetOperand(i, operand), all = v;
	LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetModuleContext(h->module));

	for (unsigned k = 0; k < LLVMGetVectorSize(LLVMTypeOf(v)); k++) {
		LLVMValueRef element = LLVMGetAggregateElement(v, k);

		if (element && LLVMIsNull(element))
			all = LLVMBuildInsertElement(h->b, all, hidden_zero(h, LLVMTypeOf(element)),
						     LLVMConstInt(i32, k, false), "");
	}
	LLVMSetOperand(i, operand, all);
}

static void hide_in(const struct hiding *h, LLVMValueRef i, unsigned operand)
{
	LLVMValueRef v = LLVMGetOperand(i, operand);
	LLVMTypeRef type = LLVMTypeOf(v);

	if (!LLVMIsConstant(v))
		return;
	LLVMPositionBuilderBefore(h->b, i);
	if (is_float(type) && LLVMIsNull(v))
		LLVMSetOperand(i, operand, hidden_zero(h, type));
	else if (LLVMGetTypeKind(type) == LLVMVectorTypeKind && is_float(LLVMGetElementType(type)))
		hide_in_vector(h, i, operand);
}

static bool is_fma(LLVMValueRef i)
{
	static const char name[] = "llvm.fma.";
	LLVMValueRef f = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;
	size_t n;

	return f && LLVMIsAFunction(f) && !strncmp(LLVMGetValueName2(f, &n), name, sizeof(name) - 1);
}

static void hide(const struct hiding *h, LLVMValueRef i)
{
	LLVMOpcode op = LLVMGetInstructionOpcode(i);

	if (op == LLVMFSub || op == LLVMFAdd)
		hide_in(h, i, 0);
	if (op == LLVMFAdd)
		hide_in(h, i, 1);
	if (is_fma(i))
		hide_in(h, i, 2);
}

void zeros_hide(LLVMModuleRef m)
{
	const struct hiding h = {.module = m, .b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m))};

	for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
		for (LLVMBasicBlockRef k = LLVMGetFirstBasicBlock(f); k; k = LLVMGetNextBasicBlock(k))
			for (LLVMValueRef i = LLVMGetFirstInstruction(k); i; i = LLVMGetNextInstruction(i))
				hide(&h, i);
	LLVMDisposeBuilder(h.b);
}
