/* SPDX-License-Identifier: Apache-2.0
 *
 * The program's PTX as a NUL-terminated array: PROGRAM_PTX is the path of the text that the build
 * made from the .cu file. */
__asm__(".section .rodata\n"
	".globl program_ptx\n"
	".type program_ptx, @object\n"
	"program_ptx:\n"
	".incbin \"" PROGRAM_PTX "\"\n"
	".byte 0\n"
	".size program_ptx, . - program_ptx\n"
	".previous\n");
