/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/compiler/or_ones.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum word { UNKNOWN, ZEROS, ONES };

enum { DEPTH = 6 };

static enum word word_of(LLVMValueRef v, unsigned word, unsigned depth);

static unsigned words_of(LLVMValueRef v)
{
	LLVMTypeRef type = LLVMTypeOf(v);
	unsigned bits = LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 0;

	return bits % 32 || bits > 128 ? 0 : bits / 32;
}

/* Constants are unique: one of 128 bits is the extension of its low 64, or not. */
static enum word of_constant(LLVMValueRef v, unsigned word)
{
	LLVMTypeRef type = LLVMTypeOf(v);
	LLVMValueRef half = LLVMGetIntTypeWidth(type) <= 64
				    ? v
				    : LLVMConstTrunc(v, LLVMInt64TypeInContext(LLVMGetTypeContext(type)));
	uint64_t low = LLVMConstIntGetZExtValue(half);

	if (word < 2) {
		uint32_t bits = (uint32_t)(low >> 32 * word);
		return bits == 0 ? ZEROS : bits == UINT32_MAX ? ONES : UNKNOWN;
	}
	if (v == LLVMConstInt(type, low, 0))
		return ZEROS;
	return v == LLVMConstInt(type, low, 1) ? ONES : UNKNOWN;
}

static enum word of_logic(LLVMOpcode op, enum word a, enum word b)
{
	enum word wins = op == LLVMAnd ? ZEROS : ONES;

	if (op == LLVMXor)
		return a == UNKNOWN || b == UNKNOWN ? UNKNOWN : a == b ? ZEROS : ONES;
	return a == wins || b == wins ? wins : a == b ? a : UNKNOWN;
}

/* Word `at` of what is shifted; zeros come in behind its ends. */
static enum word shifted_in(LLVMValueRef from, int64_t at, unsigned depth)
{
	return at < 0 || at >= (int64_t)words_of(from) ? ZEROS : word_of(from, (unsigned)at, depth);
}

static enum word of_shift(LLVMValueRef v, unsigned word, unsigned depth)
{
	int way = LLVMGetInstructionOpcode(v) == LLVMShl ? -1 : 1;
	LLVMValueRef from = LLVMGetOperand(v, 0), by = LLVMGetOperand(v, 1);
	unsigned end = way < 0 ? 0 : words_of(v) - 1;

	if (!LLVMIsAConstantInt(by))
		return word == end && word_of(from, word, depth) == ZEROS ? ZEROS : UNKNOWN;
	if (by != LLVMConstInt(LLVMTypeOf(by), LLVMConstIntGetZExtValue(by) & 127, 0))
		return UNKNOWN;
	unsigned amount = (unsigned)LLVMConstIntGetZExtValue(by);
	int64_t at = (int64_t)word + way * (int64_t)(amount / 32);
	enum word near = shifted_in(from, at, depth);
	return amount % 32 == 0 || near == shifted_in(from, at + way, depth) ? near : UNKNOWN;
}

/* Of an extension with zeros, or a part. */
static enum word of_resized(LLVMValueRef from, unsigned word, unsigned depth)
{
	if (32 * word >= LLVMGetIntTypeWidth(LLVMTypeOf(from)))
		return ZEROS;
	return word_of(from, word, depth);
}

/* A number of bits. */
static bool counts(LLVMValueRef call)
{
	static const char *const names[] = {"llvm.ctpop.i64", "llvm.ctlz.i64", "llvm.cttz.i64"};
	size_t n;

	for (unsigned k = 0; LLVMIsAFunction(LLVMGetCalledValue(call)) && k < sizeof(names) / sizeof(*names);
	     k++)
		if (!strcmp(LLVMGetValueName2(LLVMGetCalledValue(call), &n), names[k]))
			return true;
	return false;
}

/* What is known of bits 32*word to 32*word+31. */
static enum word word_of(LLVMValueRef v, unsigned word, unsigned depth)
{
	if (word >= words_of(v))
		return UNKNOWN;
	if (LLVMIsAConstantInt(v))
		return of_constant(v, word);
	if (!LLVMIsAInstruction(v) || !depth--)
		return UNKNOWN;
	LLVMOpcode op = LLVMGetInstructionOpcode(v);
	unsigned first = op == LLVMSelect ? 1 : 0;
	switch (op) {
	case LLVMAnd:
	case LLVMOr:
	case LLVMXor:
	case LLVMSelect: {
		enum word a = word_of(LLVMGetOperand(v, first), word, depth);
		enum word b = word_of(LLVMGetOperand(v, first + 1), word, depth);
		return op != LLVMSelect ? of_logic(op, a, b) : a == b ? a : UNKNOWN;
	}
	case LLVMShl:
	case LLVMLShr: return of_shift(v, word, depth);
	case LLVMTrunc:
	case LLVMZExt: return of_resized(LLVMGetOperand(v, 0), word, depth);
	case LLVMFreeze: return word_of(LLVMGetOperand(v, 0), word, depth);
	case LLVMCall: return word && counts(v) ? ZEROS : UNKNOWN;
	default: return UNKNOWN;
	}
}

static LLVMValueRef take(LLVMBuilderRef b, LLVMValueRef v, unsigned word)
{
	LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(v)));

	if (word)
		v = LLVMBuildLShr(b, v, LLVMConstInt(LLVMTypeOf(v), 32 * word, 0), "");
	return LLVMBuildTrunc(b, v, i32, "");
}

/* The `or` of one word, at its place in zeros. */
static LLVMValueRef or_word(LLVMBuilderRef b, LLVMValueRef or, unsigned word)
{
	LLVMTypeRef type = LLVMTypeOf(or);
	LLVMValueRef v = LLVMBuildOr(b, take(b, LLVMGetOperand(or, 0), word),
				     take(b, LLVMGetOperand(or, 1), word), "");

	v = LLVMBuildZExt(b, v, type, "");
	return word ? LLVMBuildShl(b, v, LLVMConstInt(type, 32 * word, 0), "") : v;
}

/* ones: a bit a word. */
static void split(LLVMBuilderRef b, LLVMValueRef or, unsigned ones)
{
	LLVMTypeRef type = LLVMTypeOf(or);
	LLVMValueRef v = LLVMConstNull(type);
	uint64_t bits[2] = {0};

	LLVMPositionBuilderBefore(b, or);
	for (unsigned word = 0; word < words_of(or); word++)
		if (ones >> word & 1)
			bits[word / 2] |= (uint64_t)UINT32_MAX << 32 * (word % 2);
		else
			v = LLVMBuildOr(b, v, or_word(b, or, word), "");
	v = LLVMBuildOr(b, v, LLVMConstIntOfArbitraryPrecision(type, words_of(or) / 2, bits), "");
	LLVMReplaceAllUsesWith(or, v);
	LLVMInstructionEraseFromParent(or);
}

static void split_known(LLVMBuilderRef b, LLVMValueRef or)
{
	LLVMValueRef x = LLVMGetOperand(or, 0), y = LLVMGetOperand(or, 1);
	unsigned ones = 0;

	if (words_of(or) < 2 || words_of(or) % 2 || LLVMIsAConstantInt(x) || LLVMIsAConstantInt(y))
		return;
	for (unsigned word = 0; word < words_of(or); word++)
		if (word_of(x, word, DEPTH) == ONES || word_of(y, word, DEPTH) == ONES)
			ones |= 1u << word;
	if (ones)
		split(b, or, ones);
}

void or_ones_split(LLVMModuleRef m)
{
	LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));

	for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
		for (LLVMBasicBlockRef k = LLVMGetFirstBasicBlock(f); k; k = LLVMGetNextBasicBlock(k))
			for (LLVMValueRef i = LLVMGetFirstInstruction(k), next; i; i = next) {
				next = LLVMGetNextInstruction(i);
				if (LLVMGetInstructionOpcode(i) == LLVMOr)
					split_known(b, i);
			}
	LLVMDisposeBuilder(b);
}
