/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/compiler/float_division.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define SMALL 0x1p-102

enum { FPMATH = 3 /* LLVMContext.h, MD_fpmath */ };

struct expansion {
	LLVMModuleRef module;
	LLVMBuilderRef b;
	LLVMTypeRef f32, i32, i1;
};

static LLVMValueRef call(const struct expansion *x, const char *name, LLVMTypeRef type, LLVMValueRef *args,
			 unsigned n)
{
	unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(x->module, id, &type, 1);

	return LLVMBuildCall2(x->b, LLVMGlobalGetValueType(f), f, args, n, "");
}

static LLVMValueRef fma_of(const struct expansion *x, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
	return call(x, "llvm.fma", x->f32, (LLVMValueRef[]){a, b, c}, 3);
}

/* The operand, and whether v_div_fmas has to scale: away from where the steps would under- or overflow. */
static LLVMValueRef scale(const struct expansion *x, LLVMValueRef n, LLVMValueRef d, bool numerator)
{
	return call(x, "llvm.amdgcn.div.scale", x->f32,
		    (LLVMValueRef[]){n, d, LLVMConstInt(x->i1, numerator, false)}, 3);
}

/* v, with its last bit set if e > 0: in [0, 1] lies what e's bits are as an integer. */
static LLVMValueRef raise_if_positive(const struct expansion *x, LLVMValueRef v, LLVMValueRef e)
{
	LLVMValueRef zero = LLVMConstInt(x->i32, 0, false), one = LLVMConstInt(x->i32, 1, false);
	LLVMValueRef bit = LLVMBuildBitCast(x->b, e, x->i32, "");

	bit = call(x, "llvm.smax", x->i32, (LLVMValueRef[]){bit, zero}, 2);
	bit = call(x, "llvm.smin", x->i32, (LLVMValueRef[]){bit, one}, 2);
	bit = LLVMBuildOr(x->b, LLVMBuildBitCast(x->b, v, x->i32, ""), bit, "");
	return LLVMBuildBitCast(x->b, bit, x->f32, "");
}

/* Of constants and integers it is known. */
static bool may_be_small(LLVMValueRef n)
{
	LLVMBool inexact;

	if (LLVMIsAConstantFP(n))
		return fabs(LLVMConstRealGetDouble(n, &inexact)) < SMALL;
	return !LLVMIsASIToFPInst(n) && !LLVMIsAUIToFPInst(n);
}

/* Both operands times 2^64 where the dividend is so small that a remainder may have bits below the smallest subnormal. Then
 * a divisor that becomes infinite leaves a quotient of zero, which v_div_fixup sees from the operands. */
static void enlarge(const struct expansion *x, LLVMValueRef *n, LLVMValueRef *d)
{
	LLVMValueRef size = call(x, "llvm.fabs", x->f32, n, 1);
	LLVMValueRef small = LLVMBuildFCmp(x->b, LLVMRealOLT, size, LLVMConstReal(x->f32, SMALL), "");
	LLVMValueRef factor =
		LLVMBuildSelect(x->b, small, LLVMConstReal(x->f32, 0x1p64), LLVMConstReal(x->f32, 1), "");

	*n = LLVMBuildFMul(x->b, *n, factor, "");
	*d = LLVMBuildFMul(x->b, *d, factor, "");
}

static LLVMValueRef quotient(const struct expansion *x, LLVMValueRef dividend, LLVMValueRef divisor)
{
	LLVMValueRef n = dividend, d = divisor;

	if (may_be_small(n))
		enlarge(x, &n, &d);
	LLVMValueRef denominator = LLVMBuildExtractValue(x->b, scale(x, n, d, false), 0, "");
	LLVMValueRef scaled = scale(x, n, d, true);
	LLVMValueRef numerator = LLVMBuildExtractValue(x->b, scaled, 0, "");
	LLVMValueRef flag = LLVMBuildExtractValue(x->b, scaled, 1, "");
	LLVMValueRef minus = LLVMBuildFNeg(x->b, denominator, "");
	LLVMValueRef y0 = call(x, "llvm.amdgcn.rcp", x->f32, &denominator, 1);
	LLVMValueRef e = fma_of(x, minus, y0, LLVMConstReal(x->f32, 1));
	LLVMValueRef y = fma_of(x, e, raise_if_positive(x, y0, e), y0);
	LLVMValueRef q = LLVMBuildFMul(x->b, numerator, y, "");

	q = fma_of(x, fma_of(x, minus, q, numerator), y, q);
	LLVMValueRef rest = fma_of(x, minus, q, numerator);
	q = call(x, "llvm.amdgcn.div.fmas", x->f32, (LLVMValueRef[]){rest, y, q, flag}, 4);
	return call(x, "llvm.amdgcn.div.fixup", x->f32, (LLVMValueRef[]){q, divisor, dividend}, 3);
}

static LLVMValueRef element(const struct expansion *x, LLVMValueRef v, unsigned k)
{
	return LLVMBuildExtractElement(x->b, v, LLVMConstInt(x->i32, k, false), "");
}

/* Of f32, or of vectors of f32, which optimisation may have made. NULL: left to LLVM. */
static LLVMValueRef expand(const struct expansion *x, LLVMValueRef division)
{
	LLVMValueRef n = LLVMGetOperand(division, 0), d = LLVMGetOperand(division, 1);
	LLVMTypeRef type = LLVMTypeOf(division);

	if (type == x->f32)
		return quotient(x, n, d);
	if (LLVMGetTypeKind(type) != LLVMVectorTypeKind || LLVMGetElementType(type) != x->f32)
		return NULL;
	LLVMValueRef all = LLVMGetPoison(type);
	for (unsigned k = 0; k < LLVMGetVectorSize(type); k++)
		all = LLVMBuildInsertElement(x->b, all, quotient(x, element(x, n, k), element(x, d, k)),
					     LLVMConstInt(x->i32, k, false), "");
	return all;
}

/* LLVM's own steps switch the mode there; nothing that must be the nearest is computed in it (ptx/lower/float_mode.c). */
static bool flushes(LLVMValueRef f)
{
	static const char name[] = "denormal-fp-math-f32";
	LLVMAttributeRef a =
		LLVMGetStringAttributeAtIndex(f, LLVMAttributeFunctionIndex, name, sizeof(name) - 1);
	unsigned bytes;

	return a && strncmp(LLVMGetStringAttributeValue(a, &bytes), "ieee", 4) != 0;
}

static bool must_be_nearest(LLVMValueRef i)
{
	return LLVMGetInstructionOpcode(i) == LLVMFDiv && !LLVMGetMetadata(i, FPMATH) &&
	       !(LLVMGetFastMathFlags(i) & LLVMFastMathApproxFunc);
}

static void expand_in(const struct expansion *x, LLVMBasicBlockRef block)
{
	LLVMValueRef next;

	for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = next) {
		next = LLVMGetNextInstruction(i);
		if (!must_be_nearest(i))
			continue;
		LLVMPositionBuilderBefore(x->b, i);
		LLVMValueRef q = expand(x, i);
		if (!q)
			continue;
		LLVMReplaceAllUsesWith(i, q);
		LLVMInstructionEraseFromParent(i);
	}
}

void float_divisions_expand(LLVMModuleRef m)
{
	LLVMContextRef context = LLVMGetModuleContext(m);
	const struct expansion x = {.module = m,
				    .b = LLVMCreateBuilderInContext(context),
				    .f32 = LLVMFloatTypeInContext(context),
				    .i32 = LLVMInt32TypeInContext(context),
				    .i1 = LLVMInt1TypeInContext(context)};

	for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
		for (LLVMBasicBlockRef k = flushes(f) ? NULL : LLVMGetFirstBasicBlock(f); k;
		     k = LLVMGetNextBasicBlock(k))
			expand_in(&x, k);
	LLVMDisposeBuilder(x.b);
}
