/* SPDX-License-Identifier: Apache-2.0
 *
 * The program's PTX as a NUL-terminated array: PROGRAM_PTX is the path of the text that the build
 * made from the .cu file, PROGRAM_SYMBOL the array's name. */
__asm__(".section .rodata\n"
	".globl " PROGRAM_SYMBOL "\n"
	".type " PROGRAM_SYMBOL ", @object\n"
	PROGRAM_SYMBOL ":\n"
	".incbin \"" PROGRAM_PTX "\"\n"
	".byte 0\n"
	".size " PROGRAM_SYMBOL ", . - " PROGRAM_SYMBOL "\n"
	".previous\n");
