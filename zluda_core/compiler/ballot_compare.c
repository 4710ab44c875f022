/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/compiler/ballot_compare.h"

#include <stdbool.h>
#include <string.h>

static bool is_ballot(LLVMValueRef i)
{
	static const char name[] = "llvm.amdgcn.ballot.";
	size_t n;

	return LLVMIsACallInst(i) && LLVMIsAFunction(LLVMGetCalledValue(i)) &&
	       !strncmp(LLVMGetValueName2(LLVMGetCalledValue(i), &n), name, sizeof(name) - 1);
}

static LLVMValueRef ballot_of(LLVMBuilderRef b, LLVMValueRef like, LLVMRealPredicate predicate)
{
	LLVMValueRef compare = LLVMGetOperand(like, 0), f = LLVMGetCalledValue(like);
	LLVMValueRef c =
		LLVMBuildFCmp(b, predicate, LLVMGetOperand(compare, 0), LLVMGetOperand(compare, 1), "");

	return LLVMBuildCall2(b, LLVMGlobalGetValueType(f), f, &c, 1, "");
}

static void split(LLVMBuilderRef b, LLVMValueRef ballot)
{
	LLVMValueRef compare = LLVMGetOperand(ballot, 0);

	if (!LLVMIsAFCmpInst(compare) || LLVMGetFCmpPredicate(compare) != LLVMRealONE)
		return;
	LLVMPositionBuilderBefore(b, ballot);
	LLVMValueRef ordered = ballot_of(b, ballot, LLVMRealORD), unequal = ballot_of(b, ballot, LLVMRealUNE);

	LLVMReplaceAllUsesWith(ballot, LLVMBuildAnd(b, ordered, unequal, ""));
	LLVMInstructionEraseFromParent(ballot);
}

void ballot_compares_split(LLVMModuleRef m)
{
	LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));

	for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
		for (LLVMBasicBlockRef k = LLVMGetFirstBasicBlock(f); k; k = LLVMGetNextBasicBlock(k))
			for (LLVMValueRef i = LLVMGetFirstInstruction(k), next; i; i = next) {
				next = LLVMGetNextInstruction(i);
				if (is_ballot(i))
					split(b, i);
			}
	LLVMDisposeBuilder(b);
}
