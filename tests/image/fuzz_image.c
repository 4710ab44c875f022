/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target: damages code images at random for a number of seconds and reads them. The seeds are the images
 * that nvcc made for test_image_nvcc where there are any, and a hand-made container. A sanitizer is the
 * judge.
 *
 *   fuzz_image SECONDS [SEED]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ptx/cubin.h"
#include "ptx/fatbin.h"
#include "base/image.h"

#define MAX_SEEDS 16

static struct seed {
	uint8_t *p;
	size_t n;
} seeds[MAX_SEEDS];
static unsigned nseeds;

static void add_seed(const void *p, size_t n)
{
	seeds[nseeds].p = malloc(n);
	if (!seeds[nseeds].p)
		abort();
	memcpy(seeds[nseeds].p, p, n);
	seeds[nseeds++].n = n;
}

static void add_file(const char *path)
{
	static uint8_t buf[1 << 20];
	FILE *f = fopen(path, "rb");
	size_t n;

	if (!f)
		return;
	n = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	if (n)
		add_seed(buf, n);
}

static void add_seeds(const char *folder)
{
	static const char *const names[] = {"sm80.cubin", "sm100.cubin", "zstd.fatbin", "lz4.fatbin",
					    "plain.fatbin"};
	static const uint8_t container[16 + 80] = {0x50,
						   0xed,
						   0x55,
						   0xba,
						   1,
						   0,
						   16,
						   0,
						   80,
						   [16] = 1,
						   [20] = 64,
						   [24] = 16,
						   [16 + 0x1c] = 80,
						   [80] = '.',
						   'v',
						   'e',
						   'r'};
	char path[4200];
	size_t i;

	add_seed(container, sizeof(container));
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, names[i]) < sizeof(path))
			add_file(path);
	}
}

static void read_image(const uint8_t *p, size_t n)
{
	struct diag d = DIAG_INIT;
	struct fatbin fb;
	struct cubin c;
	char list[256];
	unsigned i, best;

	image_probe(p, n);
	if (image_elf_size(p, n) > n)
		abort();
	if (fatbin_open(&fb, p, n, &d) == 0) {
		fatbin_describe(&fb, list, sizeof(list));
		fatbin_choose_ptx(&fb, 90, &best);
		for (i = 0; i < fb.nentries; i++) {
			void *out;
			size_t bytes;

			if (fb.entries[i].plain_bytes < 1 << 22 &&
			    !fatbin_entry_load(&fb.entries[i], &out, &bytes, &d))
				free(out);
		}
	}
	fatbin_close(&fb);
	cubin_open(&c, p, n, &d);
	cubin_close(&c);
}

/* Headers are where it hurts: most hits go to the first bytes. */
static void damage(uint8_t *p, size_t n)
{
	static const uint8_t nasty[] = {0, 1, 2, 8, 0x40, 0x7f, 0x80, 0xff};
	unsigned hits = 1 + (unsigned)rand() % 6;

	while (hits--) {
		size_t near = n < 256 || rand() % 3 == 0 ? n : 256;
		size_t at = (size_t)rand() % near;

		p[at] = rand() % 2 ? nasty[rand() % 8] : (uint8_t)rand();
	}
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	char folder[4096];
	unsigned long runs = 0;
	char *slash;

	srand(argc > 2 ? (unsigned)atoi(argv[2]) : (unsigned)time(NULL));
	snprintf(folder, sizeof(folder), "%s", argv[0]);
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	add_seeds(slash ? folder : ".");
	for (; time(NULL) < end; runs++) {
		const struct seed *s = &seeds[(unsigned)rand() % nseeds];
		size_t n = rand() % 4 ? s->n : (size_t)rand() % s->n;
		uint8_t *copy = malloc(n ? n : 1); /* exact, so that a byte too far is seen */

		if (!copy)
			abort();
		memcpy(copy, s->p, n);
		if (n)
			damage(copy, n);
		read_image(copy, n);
		free(copy);
	}
	printf("fuzz_image: %lu images of %u seeds\n", runs, nseeds);
	while (nseeds)
		free(seeds[--nseeds].p);
	return 0;
}
