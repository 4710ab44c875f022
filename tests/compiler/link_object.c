/* SPDX-License-Identifier: Apache-2.0
 *
 * link_object OBJECT CODE_OBJECT: elf_link as a program, for tests that execute what it makes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "zluda_core/compiler/elf_link.h"

static void *read_file(const char *path, size_t *bytes)
{
	enum { MOST = 16 << 20 };
	FILE *in = fopen(path, "rb");
	char *p = malloc(MOST);

	*bytes = in && p ? fread(p, 1, MOST, in) : 0;
	if (in)
		fclose(in);
	return p;
}

int main(int argc, char **argv)
{
	struct diag d = DIAG_INIT;
	size_t bytes, linked_bytes;
	void *object, *linked;

	if (argc != 3)
		return 2;
	object = read_file(argv[1], &bytes);
	if (elf_link(object, bytes, &linked, &linked_bytes, &d)) {
		diag_print(&d, stderr);
		return 1;
	}
	FILE *out = fopen(argv[2], "wb");
	if (!out || fwrite(linked, 1, linked_bytes, out) != linked_bytes || fclose(out))
		return 1;
	free(linked);
	free(object);
	return 0;
}
