/* SPDX-License-Identifier: Apache-2.0
 *
 * usage: link_ptx OUT IN...
 *
 * Links PTX files. 0, or 1 with the reasons on stderr. */
#include "tests/ptx/fixture.h"

#include "ptx/link.h"

int main(int argc, char **argv)
{
	struct ptx_link_input *in = calloc((size_t)argc, sizeof(*in));
	struct ptx_linked l;
	FILE *out;
	if (argc < 3 || !in)
		return 2;
	for (int i = 2; i < argc; i++) {
		size_t bytes;
		char *text = read_whole(argv[i], &bytes);
		if (!text)
			return 2;
		in[i - 2] = (struct ptx_link_input){argv[i], text, bytes};
	}
	if (ptx_link(in, (unsigned)argc - 2, &l)) {
		for (unsigned i = 0; i < l.nerrors; i++)
			fprintf(stderr, "%s: %s\n", l.errors[i].where, l.errors[i].what);
		return 1;
	}
	out = fopen(argv[1], "wb");
	return out && fwrite(l.text, 1, l.bytes, out) == l.bytes && !fclose(out) ? 0 : 2;
}
