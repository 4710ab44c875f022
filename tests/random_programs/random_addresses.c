/* SPDX-License-Identifier: Apache-2.0
 *
 * random_addresses: kernels that store where random expressions of their position, of parameters and of loaded data lead,
 * under random conditions and in loops. Each is run; every byte that changed has to lie in the range that
 * ptx/written.h gives for the launch. Indexes end in one that stays in the buffer, so that no kernel faults.
 *
 *	random_addresses [--count N] [--seed S]
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "ptx/written.h"

enum { WORDS = 4096, MARGIN = 512, TEXT = 16384 };

static uint64_t state;

static uint32_t below(uint32_t n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((state >> 33) % n);
}

struct text {
	char p[TEXT];
	size_t n;
	unsigned registers, predicates, labels;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	t->n += (size_t)vsnprintf(t->p + t->n, TEXT - t->n, format, ap);
	va_end(ap);
}

/* Registers that hold something: r0 to r11 at the start, then what statements make. */
static unsigned any(const struct text *t)
{
	return below(t->registers);
}

static void statement(struct text *t)
{
	static const char *const two[] = {"add.s32", "sub.s32", "mul.lo.s32", "min.s32",
					  "max.u32", "and.b32", "or.b32",     "xor.b32",
					  "min.u32", "max.s32", "mul.hi.u32", "mul.hi.s32"};
	unsigned a = any(t), b = any(t), r = t->registers;

	switch (below(10)) {
	case 0: put(t, "shl.b32 r%u, r%u, %u;\n", r, a, below(8)); break;
	case 1: put(t, "shr.%c32 r%u, r%u, %u;\n", below(2) ? 's' : 'u', r, a, below(12)); break;
	case 2: put(t, "rem.u32 r%u, r%u, %u;\n", r, a, 1 + below(999)); break;
	case 3: put(t, "div.%c32 r%u, r%u, %u;\n", below(2) ? 's' : 'u', r, a, 1 + below(99)); break;
	case 4:
		put(t, "and.b32 r%u, r%u, %d;\n", r, a, below(2) ? (int)below(1024) : -(1 << below(9)));
		break;
	case 5: put(t, "mad.lo.s32 r%u, r%u, %d, r%u;\n", r, a, (int)below(64) - 16, b); break;
	case 6:
		put(t, "setp.lt.%c32 p0, r%u, r%u; selp.b32 r%u, r%u, r%u, p0;\n", below(2) ? 's' : 'u', a, b,
		    r, b, a);
		break;
	case 7:
		put(t, "cvt.%c16.u32 h0, r%u; cvt.%c32.%c16 r%u, h0;\n", below(2) ? 's' : 'u', a,
		    below(2) ? 's' : 'u', below(2) ? 's' : 'u', r);
		break;
	default: put(t, "%s r%u, r%u, r%u;\n", two[below(sizeof(two) / sizeof(two[0]))], r, a, b); break;
	}
	t->registers++;
}

/* A word of the buffer: index register r, made small in one of several ways, then stored through. */
static void store(struct text *t, unsigned r)
{
	unsigned n = 1 + below(WORDS - 2 * MARGIN), i = t->registers++, skip = t->labels++;
	bool jumps = true;

	put(t, "mov.u32 r%u, r%u;\n", i, r);
	switch (below(5)) {
	case 0:
		put(t, "rem.u32 r%u, r%u, %u;\n", i, i, n);
		jumps = false;
		break;
	case 1:
		put(t, "and.b32 r%u, r%u, %u;\n", i, i, below(2048));
		jumps = false;
		break;
	case 2: put(t, "setp.ge.u32 p1, r%u, %u; @p1 bra S%u;\n", i, n, skip); break;
	case 3:
		put(t, "setp.lt.s32 p1, r%u, 0; setp.ge.or.s32 p2, r%u, %u, p1; @p2 bra S%u;\n", i, i, n,
		    skip);
		break;
	default:
		put(t,
		    "setp.ge.s32 p1, r%u, -%u; setp.lt.s32 p2, r%u, %u; and.pred p3, p1, p2; @!p3 bra S%u;\n",
		    i, below(MARGIN), i, n, skip);
		break;
	}
	if (below(2))
		put(t, "mul.wide.s32 d3, r%u, 4; add.s64 d4, d2, d3;\n", i);
	else
		put(t, "cvt.s64.s32 d3, r%u; shl.b64 d3, d3, 2; add.s64 d4, d3, d2;\n", i);
	switch (below(3)) {
	case 0: put(t, "st.global.u32 [d4+%d], r4;\n", 4 * ((int)below(16) - 8)); break;
	case 1: put(t, "st.global.u8 [d4+%d], h1;\n", (int)below(16) - 8); break;
	default: put(t, "red.global.add.u32 [d4], 1;\n"); break;
	}
	if (jumps || below(2))
		put(t, "S%u:\n", skip);
}

/* for (i = first; i < limit; i += step), in one of the shapes that compilers give it. */
static void loop(struct text *t)
{
	unsigned i = t->registers++, step = 1 + below(5), label = t->labels++;
	unsigned from = below(2) ? 7 : 9; /* the thread's number; a parameter */

	put(t, "mov.u32 r%u, r%u;\n", i, from);
	if (below(2)) {
		put(t, "H%u: setp.ge.s32 p4, r%u, r8; @p4 bra E%u;\n", label, i, label);
		store(t, i);
		put(t, "add.s32 r%u, r%u, %u; bra H%u;\nE%u:\n", i, i, step, label, label);
	} else {
		put(t, "setp.ge.s32 p4, r%u, r8; @p4 bra E%u;\nH%u:\n", i, label, label);
		store(t, i);
		put(t, "add.s32 r%u, r%u, %u; setp.lt.s32 p4, r%u, r8; @p4 bra H%u;\nE%u:\n", i, i, step, i,
		    label, label);
	}
}

static void generate(struct text *t)
{
	*t = (struct text){.registers = 12, .labels = 1};
	put(t,
	    ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 "
	    "in, .param "
	    ".u32 n, .param .s32 m) {\n.reg .b64 d<8>; .reg .b32 r<64>; .reg .b16 h<2>; .reg .pred p<6>;\n"
	    "ld.param.u64 d0, [out]; ld.param.u64 d1, [in]; cvta.to.global.u64 d2, d0;\n"
	    "ld.param.u32 r8, [n]; ld.param.s32 r9, [m];\n"
	    "mov.u32 r0, %%tid.x; mov.u32 r1, %%tid.y; mov.u32 r2, %%ctaid.x; mov.u32 r3, %%ntid.x;\n"
	    "mov.u32 r4, %%ctaid.y; mov.u32 r5, %%nctaid.x; mov.u32 r6, %%laneid; mad.lo.s32 r7, r2, r3, "
	    "r0;\n"
	    "mul.wide.u32 d5, r0, 4; add.s64 d5, d1, d5; ld.global.u32 r10, [d5]; ld.global.s8 r11, [d5+1]; "
	    "cvt.u16.u32 h1, r7;\n");
	for (unsigned k = 2 + below(8); k; k--)
		statement(t);
	if (below(3) == 0)
		loop(t);
	for (unsigned k = 1 + below(2); k; k--)
		store(t, any(t));
	put(t, "ret;\n}\n");
}

/* ---- one kernel ----------------------------------------------------------------- */

struct params {
	uint64_t out, in;
	uint32_t n;
	int32_t m;
};

struct tally {
	unsigned kernels, bounded, tight, changed;
};

static bool range_of(const char *ptx, const struct device_launch *l, const struct params *p,
		     struct ptx_written_range *r)
{
	struct diag d = DIAG_INIT;
	struct ptx_module *m = ptx_module_parse(ptx, strlen(ptx), "random.ptx", &d);
	struct ptx_func *f = m ? ptx_func_find(m, "k") : NULL;
	struct ptx_written_range ranges[4];
	struct ptx_written *w = NULL;
	struct ptx_launch launch = {.params = (const uint8_t *)p, .bytes = sizeof(*p)};
	bool ok = f && !ptx_written_open(&w, m, f);

	memcpy(launch.grid, l->grid, sizeof(launch.grid));
	memcpy(launch.block, l->block, sizeof(launch.block));
	if (ok) {
		ptx_written_find(w, &launch, ranges);
		*r = ranges[0];
		ok = ranges[0].is_written && !ptx_written_elsewhere(w) && !ranges[1].is_written;
	}
	ptx_written_close(w);
	if (m)
		ptx_module_free(m);
	return ok;
}

/* False: a byte outside changed. */
static bool judge(const uint32_t *before, const uint32_t *after, uint64_t base,
		  const struct ptx_written_range *r, struct tally *t)
{
	const uint8_t *x = (const uint8_t *)before, *y = (const uint8_t *)after;
	uint64_t first = UINT64_MAX, last = 0;

	for (uint64_t i = 0; i < WORDS * 4; i++) {
		if (x[i] == y[i])
			continue;
		first = first == UINT64_MAX ? i : first;
		last = i;
		if (r->is_bounded && (base + i < r->first || base + i >= r->end)) {
			fprintf(stderr, "byte %llu changed, outside of %lld to %lld\n", (unsigned long long)i,
				(long long)(r->first - base), (long long)(r->end - base));
			return false;
		}
	}
	t->kernels++;
	t->bounded += r->is_bounded;
	t->changed += first != UINT64_MAX;
	t->tight += r->is_bounded && first != UINT64_MAX && r->end - r->first <= 4 * (last + 1 - first) + 256;
	return true;
}

static bool run_one(struct tally *t)
{
	static struct text text;
	static uint32_t in[1024], before[WORDS], after[WORDS];
	struct device_launch l = {{1 + below(4), 1 + below(3), 1}, {1 + below(96), 1 + below(3), 1}};
	struct params p = {0, 0, below(900), (int32_t)below(400) - 100};
	struct ptx_written_range r;
	const char *what;
	int code;
	uint64_t base;

	generate(&text);
	for (unsigned i = 0; i < 1024; i++)
		in[i] = below(2) ? below(UINT32_MAX) : below(2000);
	for (unsigned i = 0; i < WORDS; i++)
		before[i] = 0xa5a50000u + i;
	device_addresses(&base, &p.in);
	p.out = base + 4 * MARGIN;
	if (!device_launch(text.p, "k", &l, &p, sizeof(p), in, sizeof(in), before, after, sizeof(after),
			   &what, &code)) {
		fprintf(stderr, "random_addresses: %s: error %d\n%s", what, code, text.p);
		return false;
	}
	if (!range_of(text.p, &l, &p, &r) || !judge(before, after, base, &r, t)) {
		fprintf(stderr,
			"random_addresses: the range is wrong; grid %u %u, block %u %u, n %u, m %d\n%s",
			l.grid[0], l.grid[1], l.block[0], l.block[1], p.n, p.m, text.p);
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	unsigned count = 400, seed = 1;
	struct tally t = {0};

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--count"))
			count = (unsigned)strtoul(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--seed"))
			seed = (unsigned)strtoul(argv[i + 1], NULL, 10);
	}
	if (!device_open(RANDOM_PROGRAMS_DRIVER))
		return 1;
	for (unsigned k = 0; k < count; k++) {
		state = ((uint64_t)seed << 32) + k;
		below(2);
		if (!run_one(&t)) {
			fprintf(stderr, "random_addresses: --seed %u, kernel %u\n", seed, k);
			return 1;
		}
	}
	device_close();
	printf("%u kernels, %u changed something; %u ranges are bounded, %u of them within four times what "
	       "changed\n",
	       t.kernels, t.changed, t.bounded, t.tight);
	/* Ranges that say nothing would be right, too. */
	return t.bounded < count / 2 || t.tight < count / 4 || t.changed < count / 2;
}
