/* SPDX-License-Identifier: Apache-2.0
 *
 * Special registers. A log is kept by where a thread is in the grid: what gives that wrong makes the log unreadable. So each
 * such register that the kernel reads is looked at by itself: a kernel of ours counts in a grid of the launch's size how many
 * threads find which value there, on the target and on the interpreter. A constant is counted, too: where that comes out wrong,
 * it is the counting that can't be trusted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay/narrow.h"

#define VALUES      4096 /* larger ones are counted as the last */
#define MAX_PLACES  16
#define MAX_THREADS (1u << 20)
#define CONSTANT    "7"

struct place {
	char name[24];
	const struct ptx_site *site;
};

struct places {
	struct session *s;
	const struct ptx_module *m;
	const uint32_t *grid, *block;
	struct place at[MAX_PLACES]; /* the first one is the constant */
	unsigned n;
	uint32_t *counts[2]; /* shared; the target's, the interpreter's */
	uint8_t *done;
};

/* ---- which ------------------------------------------------------------------------------------- */

/* "mov.u32 %r1, %tid.x;": "%tid.x" */
static bool read_name(const struct ptx_module *m, const struct ptx_site *s, char *out, size_t size)
{
	static const char *const known[] = {"%tid.", "%ntid.", "%ctaid.", "%nctaid.", "%laneid", "%warpid"};
	const char *p = memchr(m->text + s->opcode, ',', s->end - s->opcode);
	size_t n;

	if (!p || strncmp(m->text + s->opcode, "mov.", 4))
		return false;
	p += 1 + strspn(p + 1, " \t\n");
	n = strcspn(p, "; \t\n");
	if (n >= size)
		return false;
	memcpy(out, p, n);
	out[n] = '\0';
	for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
		if (!strncmp(out, known[k], strlen(known[k])))
			return true;
	return false;
}

static void collect(struct places *p, const struct ptx_instrumented *code)
{
	snprintf(p->at[p->n++].name, sizeof(p->at[0].name), CONSTANT);
	for (uint32_t k = 0; k < code->nsites && p->n < MAX_PLACES; k++) {
		struct place *new = &p->at[p->n];
		unsigned i = 0;

		if (code->sites[k].kind != PTX_SITE_PLACE ||
		    !read_name(p->m, &code->sites[k], new->name, sizeof(new->name)))
			continue;
		while (strcmp(p->at[i].name, new->name))
			i++;
		new->site = &code->sites[k];
		p->n += i == p->n;
	}
}

/* ---- counting ------------------------------------------------------------------------------------ */

static char *write_text(const struct places *p)
{
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	if (!f)
		return NULL;
	fprintf(f,
		".version %u.%u\n.target sm_%u\n.address_size 64\n.visible .entry cutrace_places(.param .u64 to)\n"
		"{\n.reg .b32 v;\n.reg .b64 to_there, x;\nld.param.u64 to_there, [to];\n",
		p->m->version / 10, p->m->version % 10, p->m->target);
	for (unsigned k = 0; k < p->n; k++)
		fprintf(f,
			"mov.u32 v, %s;\nmin.u32 v, v, %u;\nmul.wide.u32 x, v, 4;\nadd.s64 x, x, to_there;\n"
			"red.global.add.u32 [x+%u], 1;\n",
			p->at[k].name, VALUES - 1, 4 * VALUES * k);
	fputs("ret;\n}\n", f);
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}

typedef int (*launch_fn)(uint64_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			 unsigned bz, unsigned shared, uint64_t stream, void **params, void **extra);

static bool launch(struct driver *drv, const struct places *p, uint64_t f, uint64_t *to)
{
	void *params[] = {to}, *sym = driver_symbol(drv, "cuLaunchKernel");
	launch_fn fn;

	if (!sym)
		return false;
	memcpy(&fn, &sym, sizeof(fn));
	return !fn(f, p->grid[0], p->grid[1], p->grid[2], p->block[0], p->block[1], p->block[2], 0, 0, params,
		   NULL) &&
	       !driver_plain(drv, "cuCtxSynchronize", 0);
}

static bool count_with(struct driver *drv, const struct places *p, const char *text, uint32_t *counts)
{
	uint64_t context = 0, module = 0, f = 0, to = 0, bytes = 4ull * VALUES * p->n;

	return !driver_plain(drv, "cuInit", 1, (uint64_t)0) &&
	       !driver_plain(drv, "cuCtxCreate_v2", 3, word(&context), (uint64_t)0, (uint64_t)0) &&
	       !driver_plain(drv, "cuModuleLoadData", 2, word(&module), word(text)) &&
	       !driver_plain(drv, "cuModuleGetFunction", 3, word(&f), module, word("cutrace_places")) &&
	       !driver_plain(drv, "cuMemAlloc_v2", 2, word(&to), bytes) &&
	       !driver_plain(drv, "cuMemsetD8_v2", 3, to, (uint64_t)0, bytes) && launch(drv, p, f, &to) &&
	       !driver_plain(drv, "cuMemcpyDtoH_v2", 3, word(counts), to, bytes);
}

static void count_on(const struct places *p, const char *text, bool on_target)
{
	struct driver *drv = calloc(1, sizeof(*drv));
	struct diag d = DIAG_INIT;

	if (!on_target)
		setenv("CUTRACE_DEVICE", "interp", 1);
	else if (p->s->opt->device)
		setenv("CUTRACE_DEVICE", p->s->opt->device, 1);
	unsetenv("CUTRACE_INJECT");
	unsetenv("LD_AUDIT");
	if (drv && !driver_open(drv, on_target ? p->s->driver_path : p->s->own_driver_path, &d))
		p->done[!on_target] = count_with(drv, p, text, p->counts[!on_target]);
}

static void count_in_child(const struct places *p, const char *text, bool on_target)
{
	pid_t pid;
	int status;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		count_on(p, text, on_target);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

/* ---- comparing -------------------------------------------------------------------------------------- */

/* The first value that another number of threads has, VALUES: none. */
static unsigned first_difference(const struct places *p, unsigned place)
{
	const uint32_t *here = p->counts[0] + (size_t)VALUES * place,
		       *there = p->counts[1] + (size_t)VALUES * place;
	unsigned v = 0;

	while (v < VALUES && here[v] == there[v])
		v++;
	return v;
}

static const struct ptx_site *compare(const struct places *p, char *note, size_t size)
{
	if (!p->done[0] || !p->done[1] || first_difference(p, 0) < VALUES)
		return NULL;
	for (unsigned k = 1; k < p->n; k++) {
		unsigned v = first_difference(p, k);
		size_t at = (size_t)VALUES * k + v;

		if (v == VALUES)
			continue;
		snprintf(note, size, "%s is %u in %u threads of a grid of this size, and should be in %u",
			 p->at[k].name, v, p->counts[0][at], p->counts[1][at]);
		return p->at[k].site;
	}
	return NULL;
}

const struct ptx_site *narrow_places(struct session *s, const struct ptx_module *m,
				     const struct ptx_instrumented *code, const uint32_t grid[3],
				     const uint32_t block[3], char *note, size_t size)
{
	struct places p = {.s = s, .m = m, .grid = grid, .block = block};
	const uint64_t threads =
		(uint64_t)grid[0] * grid[1] * grid[2] * ((uint64_t)block[0] * block[1] * block[2]);
	const struct ptx_site *found = NULL;
	const size_t bytes = 2 * sizeof(uint32_t) * VALUES * MAX_PLACES + 64;
	uint32_t *shared;
	char *text;

	collect(&p, code);
	if (p.n < 2 || threads > MAX_THREADS)
		return NULL;
	shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	text = write_text(&p);
	if (shared != MAP_FAILED && text) {
		p.counts[0] = shared;
		p.counts[1] = shared + VALUES * MAX_PLACES;
		p.done = (uint8_t *)(shared + 2 * VALUES * MAX_PLACES);
		count_in_child(&p, text, true);
		count_in_child(&p, text, false);
		found = compare(&p, note, size);
	}
	if (shared != MAP_FAILED)
		munmap(shared, bytes);
	free(text);
	return found;
}
