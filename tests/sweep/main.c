/* SPDX-License-Identifier: Apache-2.0
 *
 * sweep [--all] [--samples N] [--shard I/N] [--device NAME] [--forms] [GROUP...]: instructions against MPFR on very many operands.
 * Operands of 16 bits are always swept whole. Those of 32 bits are sampled, or swept whole with --all; --shard
 * does the I-th of N parts (from 1), so that several processes or machines can share the work. GROUP is a part of a
 * group's name ("rcp f32"). --device runs them elsewhere than on the interpreter: amdemu:gfx1100[,options],
 * cuda[:options] (tests/nvidia/device_cuda.h). --forms prints
 * a line for exact forms too.
 */
#include "sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct options {
	bool all, forms;
	uint64_t samples, shard, shards;
	char **names;
	int nnames;
};

static int usage(void)
{
	fprintf(stderr,
		"usage: sweep [--all] [--samples N] [--shard I/N] [--device NAME] [--forms] [GROUP...]\n");
	return 2;
}

static bool parse(int argc, char **argv, struct options *o)
{
	int i = 1;

	*o = (struct options){.samples = 50000, .shard = 1, .shards = 1};
	for (; i < argc && argv[i][0] == '-'; i++) {
		unsigned long long a, b;
		char rest;

		if (!strcmp(argv[i], "--all"))
			o->all = true;
		else if (!strcmp(argv[i], "--forms"))
			o->forms = true;
		else if (!strcmp(argv[i], "--device") && i + 1 < argc && machine_choose(argv[i + 1]))
			i++;
		else if (!strcmp(argv[i], "--samples") && i + 1 < argc &&
			 sscanf(argv[i + 1], "%llu%c", &a, &rest) == 1)
			o->samples = a, i++;
		else if (!strcmp(argv[i], "--shard") && i + 1 < argc &&
			 sscanf(argv[i + 1], "%llu/%llu%c", &a, &b, &rest) == 2 && a >= 1 && a <= b)
			o->shard = a, o->shards = b, i++;
		else
			return false;
	}
	o->names = argv + i;
	o->nnames = argc - i;
	return true;
}

static bool wanted(const struct options *o, const struct group *g)
{
	for (int i = 0; i < o->nnames; i++)
		if (strstr(g->name, o->names[i]))
			return true;
	return !o->nnames;
}

static void progress(const struct group *g, uint64_t done, uint64_t total, time_t since)
{
	static time_t last;
	time_t now = time(NULL);

	if (!isatty(STDERR_FILENO) && now - last < 60)
		return;
	if (now == last || now == since)
		return;
	last = now;
	fprintf(stderr, "%s%-22s %5.1f %%, %llu of %llu, %.2f million/s", isatty(STDERR_FILENO) ? "\r" : "",
		g->name, 100.0 * (double)done / (double)total, (unsigned long long)done,
		(unsigned long long)total, (double)done / 1e6 / (double)(now - since));
	fputs(isatty(STDERR_FILENO) ? "" : "\n", stderr);
}

/* Which tuples this process takes: all of them or a sample, and of those its shard. */
static bool plan(const struct options *o, const struct group *g, uint64_t *from, uint64_t *to)
{
	uint64_t space = values_all(g), n = o->samples / g->cost * (g->nin > 1 ? 2 : 1);
	bool whole = space && (o->all || g->bits <= 16);

	n = whole ? space : n < BATCH ? BATCH : n;
	*from = n / o->shards * (o->shard - 1);
	*to = o->shard == o->shards ? n : n / o->shards * o->shard;
	return whole;
}

static int sweep_group(struct machine *m, struct group *groups, unsigned index, const struct options *o)
{
	static uint64_t in[BATCH * 3], out[(size_t)BATCH * MAX_FORMS];
	struct group *g = &groups[index];
	uint64_t from, to;
	bool whole = plan(o, g, &from, &to);
	time_t since = time(NULL);

	for (uint64_t at = from; at < to; at += BATCH) {
		unsigned count = to - at < BATCH ? (unsigned)(to - at) : BATCH;

		/* whole blocks: the rest of the batch repeats what comes next */
		count = (count + 127) / 128 * 128;
		for (unsigned t = 0; t < count; t++)
			sweep_values(g, whole, whole ? low_bits(at + t, g->bits) : at + t,
				     in + (size_t)t * g->nin);
		if (machine_run(m, index, in, out, count))
			return -1;
		judge(g, in, out, count);
		progress(g, at - from, to - from, since);
	}
	return 0;
}

static int sweep_all(struct group *groups, unsigned n, const struct options *o)
{
	struct machine *m = machine_open(groups, n);
	unsigned wrong = 0, forms = 0;
	uint64_t checked = 0;

	if (!m)
		return 125;
	for (unsigned i = 0; i < n; i++) {
		if (!wanted(o, &groups[i]))
			continue;
		if (sweep_group(m, groups, i, o)) {
			wrong++;
			continue;
		}
		wrong += report(&groups[i], o->forms);
		forms += groups[i].n;
		for (unsigned k = 0; k < groups[i].n; k++)
			checked += groups[i].results[k].checked;
		fflush(stdout);
	}
	machine_close(m);
	printf("%u forms, %llu results, %u forms wrong\n", forms, (unsigned long long)checked, wrong);
	return wrong || !forms;
}

int main(int argc, char **argv)
{
	struct options o;
	struct group *groups;
	unsigned n, bad;
	int rc;

	if (!parse(argc, argv, &o))
		return usage();
	bad = exact_agrees_with_mpfr(200000);
	groups = groups_make(&n);
	rc = sweep_all(groups, n, &o);
	free(groups);
	evaluate_free();
	return bad ? 1 : rc;
}
