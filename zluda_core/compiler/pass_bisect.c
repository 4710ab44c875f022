/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/compiler/pass_bisect.h"

#include <llvm-c/Support.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
	bool on;
	int log; /* a file without a name, which is this process's stderr */
	unsigned apart, again;
} bisect;

void pass_bisect_begin(unsigned limit, unsigned apart)
{
	const char *options[2] = {"cutrace-compile"};
	char word[40];

	bisect.on = true;
	bisect.apart = apart;
	bisect.log = memfd_create("passes", MFD_CLOEXEC);
	if (bisect.log >= 0)
		dup2(bisect.log, STDERR_FILENO);
	snprintf(word, sizeof(word), "-opt-bisect-limit=%u", limit);
	options[1] = word;
	LLVMParseCommandLineOptions(2, options, NULL);
}

bool pass_bisect_on(void)
{
	return bisect.on;
}

unsigned pass_bisect_apart(void)
{
	return bisect.apart;
}

void pass_bisect_again(unsigned apart)
{
	bisect.again = apart;
}

unsigned pass_bisect_wants(void)
{
	return bisect.again;
}

char *pass_bisect_log(void)
{
	struct stat st;
	char *text = NULL;

	if (!bisect.on || bisect.log < 0 || fstat(bisect.log, &st))
		return NULL;
	text = malloc((size_t)st.st_size + 1);
	if (text) {
		ssize_t n = pread(bisect.log, text, (size_t)st.st_size, 0);

		text[n > 0 ? n : 0] = '\0';
	}
	return text;
}
