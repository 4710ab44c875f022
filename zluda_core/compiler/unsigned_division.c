/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/compiler/unsigned_division.h"

#include <stdbool.h>

/* Arithmetic that leaves a number of few bits one, more or less. */
static bool passes_on(LLVMOpcode op)
{
	switch (op) {
	case LLVMAdd:
	case LLVMMul:
	case LLVMShl:
	case LLVMOr:
	case LLVMXor:
	case LLVMAnd:
	case LLVMSelect:
	case LLVMPHI:
	case LLVMTrunc:
	case LLVMFreeze:
	case LLVMCall: return true;
	default: return false;
	}
}

static bool masks(LLVMValueRef v)
{
	for (int k = 0; k < 2; k++) {
		LLVMValueRef mask = LLVMGetOperand(v, (unsigned)k);

		if (LLVMIsAConstantInt(mask) && LLVMConstIntGetSExtValue(mask) >= 0)
			return true;
	}
	return false;
}

/* Whether LLVM may see sign bits in v that are ones: they come from sign extension, arithmetic shifts, differences, negative
 * numbers. Errs on the side of yes. */
static bool may_be_negative(LLVMValueRef v, unsigned depth)
{
	if (LLVMIsAConstantInt(v))
		return LLVMGetIntTypeWidth(LLVMTypeOf(v)) <= 64 && LLVMConstIntGetSExtValue(v) < 0;
	if (!LLVMIsAInstruction(v))
		return false;
	LLVMOpcode op = LLVMGetInstructionOpcode(v);
	if (op == LLVMSExt || op == LLVMAShr || op == LLVMSub)
		return true;
	if (!passes_on(op) || (op == LLVMAnd && masks(v)))
		return false;
	if (!depth)
		return true;
	int n = op == LLVMPHI ? (int)LLVMCountIncoming(v) : LLVMGetNumOperands(v);
	for (int k = op == LLVMSelect ? 1 : 0; k < n; k++) {
		LLVMValueRef o =
			op == LLVMPHI ? LLVMGetIncomingValue(v, (unsigned)k) : LLVMGetOperand(v, (unsigned)k);
		if (LLVMGetTypeKind(LLVMTypeOf(o)) == LLVMIntegerTypeKind && may_be_negative(o, depth - 1))
			return true;
	}
	return false;
}

/* The same value, by an instruction that does nothing and that nobody looks into. */
static LLVMValueRef hidden(LLVMBuilderRef b, LLVMValueRef v)
{
	LLVMTypeRef type = LLVMTypeOf(v), function = LLVMFunctionType(type, &type, 1, 0);
	LLVMValueRef nothing = LLVMGetInlineAsm(function, "", 0, "=v,0", 4, 0, 0, LLVMInlineAsmDialectATT, 0);

	return LLVMBuildCall2(b, function, nothing, &v, 1, "");
}

static void guard(LLVMBuilderRef b, LLVMValueRef division)
{
	LLVMTypeRef type = LLVMTypeOf(division);

	if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind ||
	    (LLVMGetIntTypeWidth(type) != 32 && LLVMGetIntTypeWidth(type) != 64))
		return;
	for (unsigned k = 0; k < 2; k++) {
		LLVMValueRef v = LLVMGetOperand(division, k);

		if (LLVMIsAConstantInt(v) || !may_be_negative(v, 6))
			continue;
		LLVMPositionBuilderBefore(b, division);
		LLVMSetOperand(division, k, hidden(b, v));
	}
}

void unsigned_divisions_guard(LLVMModuleRef m)
{
	LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));

	for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
		for (LLVMBasicBlockRef k = LLVMGetFirstBasicBlock(f); k; k = LLVMGetNextBasicBlock(k))
			for (LLVMValueRef i = LLVMGetFirstInstruction(k); i; i = LLVMGetNextInstruction(i))
				if (LLVMGetInstructionOpcode(i) == LLVMUDiv ||
				    LLVMGetInstructionOpcode(i) == LLVMURem)
					guard(b, i);
	LLVMDisposeBuilder(b);
}
