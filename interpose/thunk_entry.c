/* SPDX-License-Identifier: Apache-2.0
 *
 * thunk_entry: the machine code of the generic thunks (System V AMD64 ABI, section 3.2). A stub loads its
 * number and jumps to the common part, which saves every register that may carry an argument, has the call
 * recorded, and jumps on to the real function with registers and stack as they were; only the return address
 * may point to thunk_return, which records the result. Stubs are assembled ahead: hardened systems forbid
 * making code at run time.
 */
#include "interpose/thunk.h"

#define STR_(x) #x
#define STR(x)  STR_(x)

_Static_assert(sizeof(struct thunk_registers) == 192, "offsets below");

__asm__(".text\n"
	".balign " STR(THUNK_STRIDE) "\n"
				     ".globl thunk_stubs\n.hidden thunk_stubs\n.type thunk_stubs, @function\n"
				     "thunk_stubs:\n"
				     ".set thunk_number, 0\n"
				     ".rept " STR(THUNK_COUNT) "\n"
							       "	endbr64\n"
							       "	movl $thunk_number, %r11d\n"
							       "	jmp thunk_common\n"
							       "	.balign " STR(
								       THUNK_STRIDE) "\n"
										     "	.set thunk_number, "
										     "thunk_number + 1\n"
										     ".endr\n"
										     ".size thunk_stubs, "
										     ".-thunk_stubs\n");

__asm__(".type thunk_common, @function\n"
	"thunk_common:\n"
	"	.cfi_startproc\n"
	"	pushq %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	movq %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	subq $192, %rsp\n"
	"	movq %rdi, 0(%rsp)\n"
	"	movq %rsi, 8(%rsp)\n"
	"	movq %rdx, 16(%rsp)\n"
	"	movq %rcx, 24(%rsp)\n"
	"	movq %r8, 32(%rsp)\n"
	"	movq %r9, 40(%rsp)\n"
	"	movq %rax, 48(%rsp)\n"
	"	movups %xmm0, 64(%rsp)\n"
	"	movups %xmm1, 80(%rsp)\n"
	"	movups %xmm2, 96(%rsp)\n"
	"	movups %xmm3, 112(%rsp)\n"
	"	movups %xmm4, 128(%rsp)\n"
	"	movups %xmm5, 144(%rsp)\n"
	"	movups %xmm6, 160(%rsp)\n"
	"	movups %xmm7, 176(%rsp)\n"
	"	movq %rsp, %rdi\n"
	"	movl %r11d, %esi\n"
	"	leaq 8(%rbp), %rdx\n"
	"	call thunk_enter\n"
	"	movq %rax, %r11\n"
	"	movq 0(%rsp), %rdi\n"
	"	movq 8(%rsp), %rsi\n"
	"	movq 16(%rsp), %rdx\n"
	"	movq 24(%rsp), %rcx\n"
	"	movq 32(%rsp), %r8\n"
	"	movq 40(%rsp), %r9\n"
	"	movq 48(%rsp), %rax\n"
	"	movups 64(%rsp), %xmm0\n"
	"	movups 80(%rsp), %xmm1\n"
	"	movups 96(%rsp), %xmm2\n"
	"	movups 112(%rsp), %xmm3\n"
	"	movups 128(%rsp), %xmm4\n"
	"	movups 144(%rsp), %xmm5\n"
	"	movups 160(%rsp), %xmm6\n"
	"	movups 176(%rsp), %xmm7\n"
	"	leave\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	jmp *%r11\n"
	"	.cfi_endproc\n"
	".size thunk_common, .-thunk_common\n");

/* Entered by the real function's ret; results are in rax, rdx, xmm0, xmm1. */
__asm__(".globl thunk_return\n.hidden thunk_return\n.type thunk_return, @function\n"
	"thunk_return:\n"
	"	pushq $0\n" /* becomes the return address */
	"	pushq %rbp\n"
	"	movq %rsp, %rbp\n"
	"	subq $48, %rsp\n"
	"	movq %rax, 0(%rsp)\n"
	"	movq %rdx, 8(%rsp)\n"
	"	movups %xmm0, 16(%rsp)\n"
	"	movups %xmm1, 32(%rsp)\n"
	"	movq %rax, %rdi\n"
	"	leaq 16(%rbp), %rsi\n"
	"	call thunk_exit\n"
	"	movq %rax, 8(%rbp)\n"
	"	movq 0(%rsp), %rax\n"
	"	movq 8(%rsp), %rdx\n"
	"	movups 16(%rsp), %xmm0\n"
	"	movups 32(%rsp), %xmm1\n"
	"	leave\n"
	"	ret\n"
	".size thunk_return, .-thunk_return\n");
