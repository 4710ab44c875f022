/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace-compile: the only program of cutrace that links LLVM. `--worker`: serves the compile service of the program
 * that started it, over a socket. People use `cutrace compile`.
 */
#include <stdio.h>
#include <string.h>

#include "zluda_core/compiler/worker.h"

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--worker"))
		return worker_main();
	fputs("cutrace-compile: a part of cutrace; use `cutrace compile`\n", stderr);
	return 2;
}
