/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory: spaces, widths and vectors, generic addresses, exact bounds and
 * alignment, atomics, mapping and unmapping.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device_interp/op_runner.h"

#define HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"
#define TID                                                                                                \
	".reg .b32 tid, cta, nt, gid; .reg .b64 out, at, off;\n"                                           \
	"mov.u32 tid, %tid.x; mov.u32 cta, %ctaid.x; mov.u32 nt, %ntid.x; mad.lo.u32 gid, cta, nt, tid;\n" \
	"ld.param.u64 out, [p_out]; mul.wide.u32 off, gid, 4; add.u64 at, out, off;\n"

/* Loads extend as their type says, stores truncate, vectors keep their order; each through every space. */
static const struct {
	const char *load, *store, *reg, *vec; /* vec: operand list of the vector, or the register */
	unsigned bytes;
	uint64_t value, want; /* stored from, and read back into, 64 bits */
} accesses[] = {
	{"u8", "u8", "b32", "r", 1, 0x1f5, 0xf5},
	{"s8", "u8", "b32", "r", 1, 0xf5, 0xfffffff5},
	{"s8", "b8", "b64", "r", 1, 0xf5, 0xfffffffffffffff5},
	{"b8", "b8", "b16", "r", 1, 0xabf5, 0xf5},
	{"u16", "u16", "b32", "r", 2, 0x18001, 0x8001},
	{"s16", "u16", "b64", "r", 2, 0x8001, 0xffffffffffff8001},
	{"u32", "u32", "b32", "r", 4, 0x89abcdef, 0x89abcdef},
	{"s32", "b32", "b64", "r", 4, 0x89abcdef, 0xffffffff89abcdef},
	{"u32", "b32", "b64", "r", 4, 0x189abcdef, 0x89abcdef},
	{"f32", "f32", "b32", "r", 4, 0x7f800001, 0x7f800001},
	{"u64", "b64", "b64", "r", 8, 0x0123456789abcdef, 0x0123456789abcdef},
	{"v2.b32", "v2.b32", "b32", "{r, s}", 8, 0x11111111, 0x11111111},
	{"v4.u16", "v4.u16", "b16", "{r, s, s, s}", 8, 0x1234, 0x1234},
	{"v4.f32", "v4.f32", "b32", "{r, s, s, s}", 16, 0x3f800000, 0x3f800000},
	{"v2.b64", "v2.b64", "b64", "{r, s}", 16, 0x8877665544332211, 0x8877665544332211},
};

static const struct {
	const char *declare, *address, *op;
} places[] = {
	{"", "add.u64 adr, out, 65536; mul.wide.u32 off, gid, 16; add.u64 adr, adr, off;", ".global"},
	{"", "add.u64 adr, out, 65536; mul.wide.u32 off, gid, 16; add.u64 adr, adr, off;", ""},
	{".shared .align 16 .b8 box[1024];",
	 "mul.wide.u32 off, tid, 16; mov.u64 adr, box; add.u64 adr, adr, off;", ".shared"},
	{".shared .align 16 .b8 box[1024];",
	 "mul.wide.u32 off, tid, 16; mov.u64 adr, box; add.u64 adr, adr, off; cvta.shared.u64 adr, adr;", ""},
	{".local .align 16 .b8 box[64];", "mov.u64 adr, box; add.u64 adr, adr, 16;", ".local"},
	{".local .align 16 .b8 box[64];", "mov.u64 adr, box; add.u64 adr, adr, 16; cvta.local.u64 adr, adr;",
	 ""},
};

static void check_access(struct test_device *t, unsigned a, unsigned p)
{
	struct test_module m;
	char ptx[4000];
	uint64_t zero[64 * 2048] = {0}, out = test_alloc(t, sizeof(zero), NULL), w[64];

	/* odd lanes store nothing first, so that partly active warps are used as well */
	snprintf(
		ptx, sizeof(ptx),
		HEAD
		".visible .entry k(.param .u64 p_out)\n{\n%s"
		"%s .reg .b64 adr, v; .reg .%s r, s; .reg .pred q; .reg .b32 odd;\n%s\n"
		"mov.u64 v, %llu; cvt.%s.u64 r, v; mov.%s s, 0; and.b32 odd, tid, 1; setp.eq.u32 q, odd, 0;\n"
		"@q st%s.%s [adr], %s; @!q st%s.%s [adr], %s;\n"
		"mov.%s r, 7; ld%s.%s %s, [adr]; cvt.u64.%s v, r;\n"
		"mul.wide.u32 off, gid, 8; add.u64 at, out, off; st.global.u64 [at], v; ret;\n}\n",
		TID, places[p].declare, accesses[a].reg, places[p].address,
		(unsigned long long)accesses[a].value,
		!strcmp(accesses[a].reg, "b16")   ? "u16"
		: !strcmp(accesses[a].reg, "b32") ? "u32"
						  : "u64",
		accesses[a].reg, places[p].op, accesses[a].store, accesses[a].vec, places[p].op,
		accesses[a].store, accesses[a].vec, accesses[a].reg, places[p].op, accesses[a].load,
		accesses[a].vec,
		!strcmp(accesses[a].reg, "b16")   ? "u16"
		: !strcmp(accesses[a].reg, "b32") ? "u32"
						  : "u64");
	test_load(&m, t, ptx, "access.ptx");
	test_run_ok(&m, "k", LAUNCH1(1, 64), &out, 1);
	test_read(t, w, out, sizeof(w));
	for (unsigned l = 0; l < 64; l++)
		if (w[l] != accesses[a].want)
			fail_msg("st%s.%s ld.%s thread %u: %llx, expected %llx", places[p].op,
				 accesses[a].store, accesses[a].load, l, (unsigned long long)w[l],
				 (unsigned long long)accesses[a].want);
	test_unload(&m);
}

static void widths_and_spaces(void **state)
{
	struct test_device t;

	(void)state;
	test_open(&t, "workers=1");
	for (unsigned a = 0; a < sizeof(accesses) / sizeof(accesses[0]); a++)
		for (unsigned p = 0; p < sizeof(places) / sizeof(places[0]); p++)
			check_access(&t, a, p);
	test_close(&t);
}

/* Kernel parameters by name, by address and generically; constants; a register that was never written. */
static void parameters_and_constants(void **state)
{
	static const char ptx[] = HEAD
		".const .align 4 .u32 numbers[4] = {11, 22, 33, 44};\n.global .u64 ptr = "
		"generic(numbers)+8;\n"
		".visible .entry k(.param .u64 p_out, .param .align 8 .b8 s[16])\n{\n"
		".reg .b64 out, a, x; .reg .b32 v, never; .reg .pred nop;\n"
		"ld.param.u64 out, [p_out]; ld.param.u32 v, [s+4]; st.global.u32 [out], v;\n"
		"mov.b64 a, s; ld.param.u32 v, [a+8]; st.global.u32 [out+4], v;\n"
		"cvta.param.u64 a, a; ld.u32 v, [a+12]; st.global.u32 [out+8], v;\n"
		"ld.const.u32 v, [numbers+4]; st.global.u32 [out+12], v;\n"
		"ld.global.u64 a, [ptr]; ld.u32 v, [a]; st.global.u32 [out+16], v;\n"
		"mov.u32 v, 5; @nop mov.u32 v, 6; add.u32 v, v, never; st.global.u32 [out+20], v; ret;\n}\n";
	struct test_device t;
	struct test_module m;
	uint32_t w[6];

	(void)state;
	test_open(&t, "workers=1");
	test_load(&m, &t, ptx, "param.ptx");
	uint64_t out = test_alloc(&t, sizeof(w), NULL);
	struct dev_kernel *k;
	struct diag d = DIAG_INIT;
	struct dev_fault fault;
	struct {
		uint64_t out;
		uint32_t s[4];
	} params = {out, {1, 2, 3, 4}};

	assert_int_equal(test_kernel(&m, "k", &k, &d), 0);
	struct dev_launch l = {k, {1, 1, 1}, {1, 1, 1}, 0, false, &params, sizeof(params), 1};

	if (device_interp.launch(t.dev, &l, &fault))
		fail_msg("%s", fault.message);
	test_read(&t, w, out, sizeof(w));
	const uint32_t want[6] = {2, 3, 4, 22, 33, 5};

	assert_memory_equal(w, want, sizeof(w));
	test_unload(&m);
	test_close(&t);
}

/* Faults: one kernel per wrong access; what the record and the sentence must say. */
static const struct bad {
	const char *body;
	enum dev_fault_kind kind;
	const char *space;
	int64_t offset; /* of the address from `out`, or the address when the space is not global */
	uint32_t bytes;
	bool store, atomic;
	const char *said[3];
} bads[] = {
	{"st.global.u32 [out+4096], gid;",
	 DEV_FAULT_ILLEGAL_ADDRESS,
	 "global",
	 4096,
	 4,
	 true,
	 false,
	 {"illegal store of 4 bytes at global address", "0 bytes behind the end of the nearest allocation",
	  "st.global.u32"}},
	{"ld.global.u64 at, [out+4092];",
	 DEV_FAULT_MISALIGNED,
	 "global",
	 4092,
	 8,
	 false,
	 false,
	 {"misaligned load of 8 bytes", "bad.ptx:", "ld.global.u64"}},
	{"ld.global.v2.u32 {gid, tid}, [out+4096];",
	 DEV_FAULT_ILLEGAL_ADDRESS,
	 "global",
	 4096,
	 8,
	 false,
	 false,
	 {"load of 8 bytes"}},
	{"ld.u8 gid, [out+-1];",
	 DEV_FAULT_ILLEGAL_ADDRESS,
	 "global",
	 -1,
	 1,
	 false,
	 false,
	 {"illegal load of 1 bytes", "1 bytes before the nearest allocation"}},
	{"atom.global.add.u32 gid, [out+5000], 1;",
	 DEV_FAULT_ILLEGAL_ADDRESS,
	 "global",
	 5000,
	 4,
	 true,
	 true,
	 {"illegal atomic operation of 4 bytes", "904 bytes behind"}},
	{"red.global.add.u64 [out+4], off;",
	 DEV_FAULT_MISALIGNED,
	 "global",
	 4,
	 8,
	 true,
	 true,
	 {"misaligned atomic operation"}},
	{".shared .b32 box[8]; mov.u32 tid, box; st.shared.u32 [tid+32], gid;",
	 DEV_FAULT_ILLEGAL_ADDRESS,
	 "shared",
	 32,
	 4,
	 true,
	 false,
	 {"shared address 0x20, there are 32 bytes"}},
	{".local .b32 box[8]; mov.u64 at, box; ld.local.u32 gid, [at+32];",
	 DEV_FAULT_ILLEGAL_ADDRESS,
	 "local",
	 32,
	 4,
	 false,
	 false,
	 {"local address 0x20, there are 32 bytes"}},
	{"mov.u64 at, 0; ld.global.u32 gid, [at];",
	 DEV_FAULT_ILLEGAL_ADDRESS,
	 "global",
	 INT64_MIN,
	 4,
	 false,
	 false,
	 {"address 0x0,", "the nearest allocation 0x550000000000 of 4096 bytes"}},
};

static void check_bad(struct test_device *t, const struct bad *b, uint64_t out)
{
	struct test_module m;
	struct dev_fault f;
	char ptx[1500];

	snprintf(ptx, sizeof(ptx),
		 HEAD ".file 1 \"some/where.cu\"\n.visible .entry fine(.param .u64 "
		      "p_out)\n{\n%sst.global.u32 [at], 1; ret;\n}\n"
		      ".visible .entry wrong(.param .u64 p_out)\n{\n%s"
		      ".reg .pred p; setp.ne.u32 p, gid, 37; @p bra OVER;\n.loc 1 17 3\n%s\nOVER: ret;\n}\n",
		 TID, TID, b->body);
	test_load(&m, t, ptx, "bad.ptx");
	assert_int_equal(test_run(&m, "wrong", LAUNCH1(2, 32), &out, 1, &f), CUTRACE_EINVAL);
	assert_int_equal(f.kind, b->kind);
	assert_string_equal(f.kernel, "wrong");
	assert_string_equal(f.space, b->space);
	assert_int_equal(f.block[0], 1);
	assert_int_equal(f.thread[0], 5);
	assert_int_equal(f.access_bytes, b->bytes);
	assert_int_equal(f.is_store, b->store);
	assert_int_equal(f.is_atomic, b->atomic);
	assert_int_equal(f.address, b->offset == INT64_MIN        ? 0
				    : !strcmp(b->space, "global") ? out + (uint64_t)b->offset
								  : (uint64_t)b->offset);
	assert_non_null(strstr(f.source, "where.cu:17"));
	for (unsigned k = 0; k < 3 && b->said[k]; k++)
		if (!strstr(f.message, b->said[k]))
			fail_msg("\"%s\" doesn't say \"%s\"", f.message, b->said[k]);
	assert_non_null(strstr(f.message, "kernel wrong"));
	assert_non_null(strstr(f.message, "block (1,0,0), thread (5,0,0)"));
	/* the device lives on */
	test_run_ok(&m, "fine", LAUNCH1(1, 32), &out, 1);
	test_unload(&m);
}

static void faults(void **state)
{
	struct test_device t;

	(void)state;
	test_open(&t, "workers=2");
	uint64_t out = test_alloc(&t, 4096, NULL);

	for (unsigned b = 0; b < sizeof(bads) / sizeof(bads[0]); b++)
		check_bad(&t, &bads[b], out);
	test_close(&t);
}

/* Bounds are exact: a buffer of 13 bytes has a 13th byte and no 14th; adjacent mappings may be crossed if
 * they say so. */
static void exact_bounds(void **state)
{
	static const char ptx[] =
		HEAD ".visible .entry k(.param .u64 p_out)\n{\n.reg .b64 out; .reg .b32 v;\n"
		     "ld.param.u64 out, [p_out]; ld.global.u8 v, [out]; st.global.u8 [out], 9; ret;\n}\n"
		     ".visible .entry wide(.param .u64 p_out)\n{\n.reg .b64 out, v;\n"
		     "ld.param.u64 out, [p_out]; ld.global.u64 v, [out]; add.u64 v, v, 1; st.global.u64 "
		     "[out], v; ret;\n}\n";
	struct test_device t;
	struct test_module m;
	struct dev_fault f;
	struct diag d = DIAG_INIT;
	struct dev_mem *mem;
	uint64_t a, v = 0;

	(void)state;
	test_open(&t, "workers=1");
	test_load(&m, &t, ptx, "bounds.ptx");
	a = test_alloc(&t, 13, NULL) + 12;
	test_run_ok(&m, "k", LAUNCH1(1, 1), &a, 1);
	a++;
	assert_int_not_equal(test_run(&m, "k", LAUNCH1(1, 1), &a, 1, &f), 0);
	assert_int_equal(f.nearest_bytes, 13);

	assert_int_equal(device_interp.mem_create(t.dev, 4096, &mem, &d), 0);
	for (unsigned adjacent = 0; adjacent < 2; adjacent++) {
		uint64_t base = 0x560000000000ull + adjacent * 65536;

		assert_int_equal(device_interp.map(t.dev, base, 2044, mem, 0, adjacent, &d), 0);
		assert_int_equal(device_interp.map(t.dev, base + 2044, 2052, mem, 2044, adjacent, &d), 0);
		a = base + 2040;
		assert_int_equal(test_run(&m, "wide", LAUNCH1(1, 1), &a, 1, &f) == 0, adjacent);
		/* host copies cross in any case */
		test_read(&t, &v, a, 8);
		assert_int_equal(v, adjacent);
	}
	/* taken or partial ranges are refused */
	assert_int_not_equal(device_interp.map(t.dev, 0x560000000000ull + 100, 8, mem, 0, false, &d), 0);
	assert_int_not_equal(device_interp.unmap(t.dev, 0x560000000000ull, 100, &d), 0);
	assert_int_equal(device_interp.unmap(t.dev, 0x560000000000ull, 4096, &d), 0);
	assert_null(device_interp.host_view(t.dev, 0x560000000000ull, 1));
	assert_int_equal(device_interp.unmap(t.dev, 0x560000000000ull + 65536, 4096, &d), 0);
	device_interp.mem_destroy(t.dev, mem);
	test_unload(&m);
	test_close(&t);
}

/* Atomics: 4 blocks x 128 threads on one word; what is left in memory, and that old values are all different.
 */
static const struct {
	const char *op, *type;
	unsigned bytes;
	uint64_t start, operand, want;
	bool thread_operand; /* the operand is the thread's number */
} atomics[] = {
	{"add", "u32", 4, 5, 3, 5 + 3 * 512, false},
	{"add", "s32", 4, 5, 0xffffffff, (uint32_t)(5 - 512), false},
	{"add", "u64", 8, 1, 0x100000001, 1 + 512 * 0x100000001ull, false},
	{"add", "f32", 4, 0x3f800000, 0x40000000, 0x44802000, false},        /* 1 + 512 * 2 = 1025 */
	{"add", "f64", 8, 0, 0x3fe0000000000000, 0x4070000000000000, false}, /* 512 * 0.5 = 256 */
	{"add.noftz", "f16x2", 4, 0, 0x3c003800, 0x60005c00, false},         /* 512 * 1, 512 * 0.5 */
	{"min", "u32", 4, 1000, 0, 0, true},
	{"max", "u32", 4, 100, 0, 511, true},
	{"min", "s64", 8, 7, 0, 0, true},
	{"max", "s32", 4, 0xffffff00, 0, 511, true},
	{"and", "b32", 4, 0xff, 0xf0, 0xf0, false},
	{"or", "b64", 8, 1, 0x8000000000000000, 0x8000000000000001, false},
	{"xor", "b32", 4, 0x55, 0xff, 0x55, false},
	{"inc", "u32", 4, 0, 99, 512 % 100, false},
	{"dec", "u32", 4, 0, 99, (100 * 6 - 512) % 100, false},
};

static void check_atomic(struct test_device *t, unsigned k, const char *space, bool red)
{
	static const char start[] = HEAD ".visible .entry k(.param .u64 p_out)\n{\n" TID;
	struct test_module m;
	char ptx[1500];
	uint64_t w = atomics[k].start, out = test_alloc(t, 8, &w);
	char reg = atomics[k].bytes == 8 ? 'x' : 'y';

	snprintf(ptx, sizeof(ptx), "%s.reg .b64 x; .reg .b32 y; %s\n%s%s.%s.%s %s [out], %c;\nret;\n}\n",
		 start,
		 atomics[k].thread_operand ? "cvt.u64.u32 x, gid; mov.u32 y, gid;"
					   : "mov.u64 x, OPERAND; cvt.u32.u64 y, x;",
		 red ? "red" : "atom", space, atomics[k].op, atomics[k].type,
		 red          ? ""
		 : reg == 'x' ? "x,"
			      : "y,",
		 reg);
	char *p = strstr(ptx, "OPERAND");

	if (p) {
		char rest[600], number[32];

		snprintf(rest, sizeof(rest), "%s", p + 7);
		snprintf(number, sizeof(number), "%llu", (unsigned long long)atomics[k].operand);
		snprintf(p, sizeof(ptx) - (size_t)(p - ptx), "%s%s", number, rest);
	}
	test_load(&m, t, ptx, "atomic.ptx");
	test_run_ok(&m, "k", LAUNCH1(4, 128), &out, 1);
	w = 0;
	test_read(t, &w, out, atomics[k].bytes);
	if (w != atomics[k].want)
		fail_msg("%s%s.%s.%s: %llx, expected %llx", red ? "red" : "atom", space, atomics[k].op,
			 atomics[k].type, (unsigned long long)w, (unsigned long long)atomics[k].want);
	test_unload(&m);
}

static void atomic_operations(void **state)
{
	struct test_device t;

	(void)state;
	test_open(&t, "workers=2");
	for (unsigned k = 0; k < sizeof(atomics) / sizeof(atomics[0]); k++) {
		check_atomic(&t, k, ".global", false);
		check_atomic(&t, k, "", false);
		check_atomic(&t, k, ".global", true);
	}
	test_close(&t);
}

/* Old values of an atomic add are each seen once; cas of every width; exch. */
static void atomic_results(void **state)
{
	static const char ptx[] =
		HEAD ".visible .entry k(.param .u64 p_out)\n{\n" TID
		     ".reg .b32 v, o; .reg .b64 base, w, x; .reg .b16 h, g; .reg .pred p;\n"
		     "atom.global.add.u32 v, [out+8192], 1; mul.wide.u32 off, v, 4; add.u64 at, out, off; "
		     "st.global.u32 [at], 1;\n"
		     /* 16-bit counter by cas */
		     "ld.relaxed.gpu.global.b16 h, [out+8200];\n"
		     "AGAIN: add.u16 g, h, 1; atom.global.cas.b16 g, [out+8200], h, g; setp.ne.b16 p, g, h; "
		     "mov.b16 h, g; @p bra AGAIN;\n"
		     /* 64-bit counter by cas */
		     "ld.relaxed.gpu.global.b64 w, [out+8208];\n"
		     "MORE: add.u64 x, w, 3; atom.global.cas.b64 x, [out+8208], w, x; setp.ne.b64 p, x, w; "
		     "mov.b64 w, x; @p bra MORE;\n"
		     "atom.global.exch.b32 v, [out+8216], 1; red.global.add.u32 [out+8220], v; ret;\n}\n";
	uint32_t w[2048 + 8] = {0};
	struct test_device t;
	struct test_module m;

	(void)state;
	test_open(&t, "workers=2");
	test_load(&m, &t, ptx, "atomic.ptx");
	uint64_t out = test_alloc(&t, sizeof(w), NULL);

	test_run_ok(&m, "k", LAUNCH1(8, 128), &out, 1);
	test_read(&t, w, out, sizeof(w));
	for (unsigned k = 0; k < 1024; k++)
		assert_int_equal(w[k], 1);
	assert_int_equal(w[2048], 1024);
	assert_int_equal(w[2050], 1024);
	assert_int_equal(w[2052], 3072);
	assert_int_equal(w[2055], 1023);
	test_unload(&m);
	test_close(&t);
}

/* cp.async: whole, shortened with zeros behind, waited for. */
static void asynchronous_copy(void **state)
{
	static const char ptx[] = HEAD
		".visible .entry k(.param .u64 p_out)\n{\n" TID
		".shared .align 16 .b8 box[512]; .reg .b32 s, n, v; .reg .b64 a; .reg .pred p;\n"
		"mov.u32 s, box; mad.lo.u32 s, tid, 16, s; mul.wide.u32 a, tid, 16; add.u64 a, out, a; "
		"and.b32 n, tid, 7;\n"
		"shl.b32 n, n, 1; setp.eq.u32 p, tid, 31;\n"
		"@!p cp.async.ca.shared.global [s], [a], 16, n; @p cp.async.cg.shared.global [s], [a], 16;\n"
		"cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;\n"
		"ld.shared.u32 v, [s+4]; st.global.u32 [at+512], v; ret;\n}\n";
	uint32_t w[160];
	struct test_device t;
	struct test_module m;

	(void)state;
	for (unsigned k = 0; k < 160; k++)
		w[k] = 0xa0000000u + k * 0x010101;
	test_open(&t, "workers=1");
	test_load(&m, &t, ptx, "async.ptx");
	uint64_t out = test_alloc(&t, sizeof(w), w);

	test_run_ok(&m, "k", LAUNCH1(1, 32), &out, 1);
	uint32_t r[32];

	test_read(&t, r, out + 512, sizeof(r));
	for (unsigned l = 0; l < 32; l++) {
		unsigned n = l == 31 ? 16 : (l & 7) * 2, have = n <= 4 ? 0 : n - 4 > 4 ? 4 : n - 4;
		uint32_t full = w[l * 4 + 1];

		assert_int_equal(r[l], have == 4 ? full : full & ((1u << (8 * have)) - 1));
	}
	test_unload(&m);
	test_close(&t);
}

/* Another thread maps and unmaps while kernels run; the running kernel is not disturbed. */
static void *map_and_unmap(void *arg)
{
	struct test_device *t = arg;
	struct diag d = DIAG_INIT;
	struct dev_mem *mem;

	for (unsigned k = 0; k < 200; k++) {
		if (device_interp.mem_create(t->dev, 4096, &mem, &d) ||
		    device_interp.map(t->dev, 0x570000000000ull, 4096, mem, 0, false, &d) ||
		    device_interp.unmap(t->dev, 0x570000000000ull, 4096, &d))
			return t;
		device_interp.mem_destroy(t->dev, mem);
	}
	return NULL;
}

static void unmap_while_running(void **state)
{
	static const char ptx[] = HEAD ".visible .entry k(.param .u64 p_out)\n{\n" TID
				       ".reg .b32 n, v; .reg .pred p;\nmov.u32 n, 0;\n"
				       "LOOP: ld.global.u32 v, [at]; add.u32 v, v, 1; st.global.u32 [at], v; "
				       "add.u32 n, n, 1; setp.lt.u32 p, n, 2000;\n"
				       "@p bra LOOP; ret;\n}\n";
	struct test_device t;
	struct test_module m;
	pthread_t thread;
	void *failed;
	uint32_t w[1024];

	(void)state;
	test_open(&t, "workers=2");
	test_load(&m, &t, ptx, "loop.ptx");
	uint64_t out = test_alloc(&t, sizeof(w), NULL);

	assert_int_equal(pthread_create(&thread, NULL, map_and_unmap, &t), 0);
	for (unsigned k = 0; k < 3; k++)
		test_run_ok(&m, "k", LAUNCH1(8, 128), &out, 1);
	pthread_join(thread, &failed);
	assert_null(failed);
	test_read(&t, w, out, sizeof(w));
	for (unsigned k = 0; k < 1024; k++)
		assert_int_equal(w[k], 6000);
	test_unload(&m);
	test_close(&t);
}

/* Host-side transfers and fills. */
static void transfers(void **state)
{
	struct test_device t;
	struct diag d = DIAG_INIT;
	uint8_t w[64];

	(void)state;
	test_open(&t, NULL);
	uint64_t a = test_alloc(&t, 64, NULL), b = test_alloc(&t, 64, NULL);

	assert_int_equal(device_interp.fill(t.dev, a, 0x04030201, 4, 10, &d), 0);
	assert_int_equal(device_interp.fill(t.dev, a + 40, 0x0605, 2, 4, &d), 0);
	assert_int_equal(device_interp.fill(t.dev, a + 48, 7, 1, 16, &d), 0);
	assert_int_equal(device_interp.copy(t.dev, b + 1, a, 63, &d), 0);
	test_read(&t, w, b, 64);
	for (unsigned k = 0; k < 63; k++)
		assert_int_equal(w[k + 1], k < 40 ? k % 4 + 1 : k < 48 ? k % 2 + 5 : 7);
	assert_int_not_equal(device_interp.copy(t.dev, b + 1, a, 64, &d), 0);
	assert_int_not_equal(device_interp.write(t.dev, a + 60, w, 5, &d), 0);
	assert_int_not_equal(device_interp.read(t.dev, w, 0x1000, 5, &d), 0);
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(widths_and_spaces),
		cmocka_unit_test(parameters_and_constants),
		cmocka_unit_test(faults),
		cmocka_unit_test(exact_bounds),
		cmocka_unit_test(atomic_operations),
		cmocka_unit_test(atomic_results),
		cmocka_unit_test(asynchronous_copy),
		cmocka_unit_test(unmap_while_running),
		cmocka_unit_test(transfers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
