/* SPDX-License-Identifier: Apache-2.0
 * What is written is read back, and plain SQL sees the same. */
#include "scratch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/internal.h"

static void assert_call_equal(const struct trace_call *a, const struct trace_call *b)
{
	unsigned i;

	assert_int_equal(a->id, b->id);
	assert_int_equal(a->thread, b->thread);
	assert_int_equal(a->parent, b->parent);
	assert_int_equal(a->func, b->func);
	assert_int_equal(a->t_enter, b->t_enter);
	assert_int_equal(a->done, b->done);
	assert_int_equal(a->nargs, b->nargs);
	assert_memory_equal(a->args, b->args, a->nargs * sizeof(a->args[0]));
	if (!a->done)
		return;
	assert_int_equal(a->t_exit, b->t_exit);
	assert_int_equal(a->seq_seen, b->seq_seen);
	assert_int_equal(a->result, b->result);
	assert_int_equal(a->outs_valid, b->outs_valid);
	for (i = 0; i < TRACE_MAX_OUTS; i++)
		if (a->outs_valid >> i & 1)
			assert_int_equal(a->outs[i], b->outs[i]);
}

/* Calls of every shape: no arguments, 16 and 17 and 40 of them, high bits set, in flight, failed, nested,
 * holes in the out-values. */
static unsigned make_calls(struct trace_call *c, uint32_t func)
{
	static const unsigned nargs[] = {0, 1, 15, 16, 17, 40, 2, 2};
	unsigned i, k;

	for (i = 0; i < 8; i++) {
		c[i] = scratch_call(i + 1, func);
		c[i].nargs = nargs[i];
		for (k = 0; k < nargs[i]; k++)
			c[i].args[k] = UINT64_MAX - k * 3 - i;
	}
	c[1].nouts = 8;
	c[1].outs_valid = 0xa1;
	c[1].outs[5] = UINT64_MAX;
	c[1].outs[7] = 0;
	c[2].result = 700;
	c[3].parent = 3;
	c[4].t_enter = -5;
	c[6].done = false; /* never ends */
	c[6].outs_valid = 0;
	c[7].result = -1;
	return 8;
}

static void test_calls(void **state)
{
	struct trace_writer *w = scratch_writer("calls");
	uint32_t func = scratch_basics(w);
	struct trace_call calls[8], got;
	unsigned n = make_calls(calls, func), i;
	struct trace_call_iter *it;
	struct trace *t;

	(void)state;
	/* out of order; two are first written in flight, one of them across a transaction */
	for (i = n; i-- > 0;) {
		struct trace_call enter = calls[i];

		enter.done = false;
		if (i == 5 || i == 4)
			assert_int_equal(trace_writer_call(w, &enter), 0);
		if (i == 5) {
			uint64_t id;
			uint8_t *big = calloc(1, 40 << 20); /* larger than a transaction */

			assert_non_null(big);
			scratch_noise(big, 40 << 20, 5);
			assert_int_equal(trace_writer_buffer(w, big, 40 << 20, &id), 0);
			free(big);
		}
		assert_int_equal(trace_writer_call(w, &calls[i]), 0);
	}
	scratch_close(w);

	t = scratch_open("calls");
	it = trace_calls(t, 0, UINT64_MAX);
	for (i = 0; i < n; i++) {
		assert_int_equal(trace_call_next(it, &got), 1);
		assert_call_equal(&calls[i], &got);
		assert_int_equal(trace_call_get(t, calls[i].id, &got), 0);
		assert_call_equal(&calls[i], &got);
	}
	assert_int_equal(trace_call_next(it, &got), 0);
	trace_call_iter_free(it);
	it = trace_calls(t, 3, 4);
	assert_int_equal(trace_call_next(it, &got), 1);
	assert_int_equal(got.id, 3);
	assert_int_equal(trace_call_next(it, &got), 1);
	assert_int_equal(trace_call_next(it, &got), 0);
	trace_call_iter_free(it);
	assert_int_equal(trace_call_get(t, 99, &got), CUTRACE_ENOENT);
	trace_close(t);
}

static void test_small_tables(void **state)
{
	struct trace_writer *w = scratch_writer("small");
	struct trace_process p = {.id = 2,
				  .pid = 5000,
				  .parent = 1,
				  .exe = "/bin/child",
				  .argv_json = "[\"child\"]",
				  .cwd = "/tmp",
				  .t_start = 7,
				  .t_end = 9,
				  .end_kind = "signal",
				  .end_code = 9};
	struct trace_thread th = {
		.id = 7, .process = 2, .tid = 5001, .name = "worker", .t_start = 8, .t_end = 9};
	const struct trace_process *ps;
	const struct trace_thread *ths;
	struct trace *t;
	unsigned n;
	uint32_t f = scratch_basics(w), g;

	(void)state;
	g = trace_writer_function(w, "export:abc:3", "cuda", false, 0, NULL);
	assert_int_not_equal(f, g);
	assert_int_equal(trace_writer_function(w, "cuMemAlloc_v2", "cuda", true, 2, NULL), f);
	assert_int_equal(trace_writer_process(w, &p), 0);
	assert_int_equal(trace_writer_thread(w, &th), 0);
	assert_int_equal(trace_writer_meta_text(w, "driver_path", "/usr/lib/libcuda.so.1"), 0);
	assert_int_equal(trace_writer_meta_int(w, "driver_version", 13000), 0);
	scratch_close(w);

	t = scratch_open("small");
	assert_string_equal(trace_function(t, g)->name, "export:abc:3");
	assert_false(trace_function(t, g)->known);
	assert_null(trace_function(t, g)->signature);
	assert_int_equal(trace_function(t, f)->nparams, 2);
	assert_null(trace_function(t, 99));
	ps = trace_processes(t, &n);
	assert_int_equal(n, 2);
	assert_null(ps[0].end_kind);
	assert_int_equal(ps[0].pid, 4711);
	assert_string_equal(ps[1].end_kind, "signal");
	assert_int_equal(ps[1].end_code, 9);
	assert_int_equal(ps[1].parent, 1);
	assert_string_equal(ps[1].cwd, "/tmp");
	ths = trace_threads(t, &n);
	assert_int_equal(n, 2);
	assert_string_equal(ths[1].name, "worker");
	assert_int_equal(trace_thread(t, 7)->tid, 5001);
	assert_null(trace_thread(t, 2));
	assert_string_equal(trace_meta_text(t, "driver_path"), "/usr/lib/libcuda.so.1");
	assert_int_equal(trace_meta_int(t, "driver_version", 0), 13000);
	assert_int_equal(trace_meta_int(t, "no such key", 12), 12);
	assert_null(trace_meta_text(t, "no such key"));
	assert_int_equal(trace_meta_int(t, "closed", 0), 1);
	assert_int_equal(strlen(trace_meta_text(t, "uuid")), 36);
	trace_close(t);
}

static int keep_allocation(void *ctx, const struct trace_allocation *a)
{
	struct trace_allocation **at = ctx;

	*(*at)++ = *a;
	return 0;
}

static int keep_module(void *ctx, const struct trace_module *m)
{
	struct trace_module **at = ctx;

	*(*at)++ = *m;
	return 0;
}

static void test_objects(void **state)
{
	static struct trace_kernel_param params[] = {
		{"out", "u64", 0, 8, true, false, true, "f32"},
		{"n", "u32", 8, 4, false, false, false, NULL},
	};
	struct trace_writer *w = scratch_writer("objects");
	struct trace_allocation a = {.process = 1,
				     .base = 0x550000000000,
				     .bytes = 4096,
				     .kind = "device",
				     .created = 1},
				b = {.process = 2, .base = 1, .bytes = 2, .kind = "host", .host_address = 3},
				as[2];
	struct trace_module m = {.process = 1, .handle = 0xabc, .image = 1, .created = 2}, ms[1];
	struct trace_kernel k = {.name = "saxpy",
				 .has_ptx = true,
				 .param_bytes = 12,
				 .line = 17,
				 .nparams = 2,
				 .params = params},
			    bare = {.name = "machine_code_only"};
	struct trace_launch l = {.call = 5,
				 .stream = UINT64_MAX,
				 .grid = {1, 2, 3},
				 .block = {4, 5, 6},
				 .shared_bytes = 7,
				 .cooperative = true,
				 .params = 1},
			    got;
	struct trace_launch_hash h = {
		.launch = 5, .base = 0x550000000000, .bytes = 4096, .hash = trace_hash_bytes("x", 1)};
	struct trace_image image = {.kind = "fatbin", .archs = "ptx:80 elf:90"};
	struct trace_allocation *ap = as;
	struct trace_module *mp = ms;
	const struct trace_launch_hash *hashes;
	const struct trace_kernel *kernel;
	struct trace_call call;
	struct trace *t;
	unsigned n;
	uint64_t id;

	(void)state;
	call = scratch_call(5, scratch_basics(w));
	assert_int_equal(trace_writer_call(w, &call), 0);
	assert_int_equal(trace_writer_buffer(w, "0123456789ab", 12, &id), 0);
	assert_int_equal(id, 1);
	image.buffer = id;
	image.ptx = id;
	assert_int_equal(trace_writer_image(w, &image), 0);
	assert_int_equal(trace_writer_allocation(w, &a), 0);
	assert_int_equal(trace_writer_allocation(w, &b), 0);
	a.destroyed = 9;
	assert_int_equal(trace_writer_allocation(w, &a), 0);
	assert_int_equal(trace_writer_module(w, &m), 0);
	m.destroyed = 11;
	assert_int_equal(trace_writer_module(w, &m), 0);
	k.module = m.id;
	assert_int_equal(trace_writer_kernel(w, &k), 0);
	assert_int_equal(trace_writer_kernel(w, &bare), 0);
	assert_int_equal(trace_writer_kernel_handle(w, 1, 0xdef, k.id, 4), 0);
	l.kernel = k.id;
	assert_int_equal(trace_writer_launch(w, &l), 0);
	assert_int_equal(trace_writer_launch_hash(w, &h), 0);
	assert_int_equal(trace_writer_context(w, 1, 0x10, 0, true, 2, 0), 0);
	assert_int_equal(trace_writer_context(w, 1, 0x10, 0, true, 0, 8), 0);
	assert_int_equal(trace_writer_stream(w, 1, 0x20, 0x10, 1, -1, 3, 0), 0);
	assert_int_equal(trace_writer_stream(w, 1, 0x20, 0x10, 1, -1, 3, 9), 0);
	assert_int_equal(trace_writer_host_write(w, 5, 0x1000, 12, id), 0);
	assert_int_equal(trace_writer_diagnostic(w, 5, 1, 5, "warning", "recorder", "something"), 0);
	assert_int_equal(trace_writer_overhead(w, 1, "calls", 10, 20, 30), 0);
	scratch_close(w);

	t = scratch_open("objects");
	assert_int_equal(trace_allocations(t, 0, keep_allocation, &ap), 0);
	assert_int_equal(ap - as, 2);
	assert_int_equal(as[0].base, 0x550000000000);
	assert_int_equal(as[0].created, 1);
	assert_int_equal(as[0].destroyed, 9);
	assert_int_equal(as[1].host_address, 3);
	ap = as;
	assert_int_equal(trace_allocations(t, 2, keep_allocation, &ap), 0);
	assert_int_equal(ap - as, 1);
	assert_int_equal(as[0].bytes, 2);
	assert_int_equal(trace_modules(t, 1, keep_module, &mp), 0);
	assert_int_equal(ms[0].handle, 0xabc);
	assert_int_equal(ms[0].destroyed, 11);
	kernel = trace_kernel(t, k.id);
	assert_string_equal(kernel->name, "saxpy");
	assert_int_equal(kernel->line, 17);
	assert_int_equal(kernel->module, m.id);
	assert_int_equal(kernel->nparams, 2);
	assert_string_equal(kernel->params[0].elem_type, "f32");
	assert_true(kernel->params[0].is_written);
	assert_false(kernel->params[0].is_read);
	assert_int_equal(kernel->params[1].offset, 8);
	assert_null(kernel->params[1].elem_type);
	assert_ptr_equal(kernel, trace_kernel(t, k.id));
	assert_false(trace_kernel(t, bare.id)->has_ptx);
	assert_null(trace_kernel(t, 77));
	assert_int_equal(trace_launch_get(t, 5, &got), 0);
	assert_int_equal(got.stream, UINT64_MAX);
	assert_int_equal(got.grid[2], 3);
	assert_int_equal(got.block[0], 4);
	assert_true(got.cooperative);
	assert_int_equal(trace_launch_get(t, 6, &got), CUTRACE_ENOENT);
	hashes = trace_launch_hashes(t, 5, &n);
	assert_int_equal(n, 1);
	assert_memory_equal(&hashes[0].hash, &h.hash, 16);
	assert_string_equal(trace_image(t, id)->archs, "ptx:80 elf:90");
	assert_null(trace_image(t, 99));
	trace_close(t);
	assert_int_equal(
		scratch_query(scratch_path("objects"), "SELECT count(*) FROM context WHERE destroyed=8"), 1);
	assert_int_equal(scratch_query(scratch_path("objects"), "SELECT count(*) FROM stream"), 1);
	assert_int_equal(scratch_query(scratch_path("objects"), "SELECT destroyed FROM stream"), 9);
	assert_int_equal(scratch_query(scratch_path("objects"), "SELECT call FROM host_write WHERE bytes=12"),
			 5);
	assert_int_equal(
		scratch_query(scratch_path("objects"), "SELECT call FROM diagnostic WHERE source='recorder'"),
		5);
	assert_int_equal(scratch_query(scratch_path("objects"), "SELECT ns FROM overhead"), 30);
}

static size_t block(uint8_t *p, uint64_t address, uint32_t param, const void *data, uint32_t n)
{
	memcpy(p, &address, 8);
	memcpy(p + 8, &n, 4);
	memcpy(p + 12, &param, 4);
	memcpy(p + 16, data, n);
	return 16 + ((n + 7) & ~7u);
}

static void test_memory(void **state)
{
	struct trace_writer *w = scratch_writer("memory");
	uint8_t in[128] = {0}, out[64] = {0};
	struct trace_call call;
	struct trace_memory *m;
	struct trace *t;
	size_t n;

	(void)state;
	call = scratch_call(1, scratch_basics(w));
	assert_int_equal(trace_writer_call(w, &call), 0);
	n = block(in, 0x1000, 0, "hello", 6);
	n += block(in + n, 0x2000, 1, "\1\2\3\4\5\6\7", 8);
	assert_int_equal(trace_writer_call_memory(w, 1, 0, in, n), 0);
	n = block(in, 0x3000, 1, "\0\1\0", 3); /* a second record of the same call, with zeros inside */
	assert_int_equal(trace_writer_call_memory(w, 1, 0, in, n), 0);
	n = block(out, 0x1000, 0, "HELLO", 6);
	assert_int_equal(trace_writer_call_memory(w, 1, 1, out, n), 0);
	scratch_close(w);

	t = scratch_open("memory");
	m = trace_memory_new(t);
	assert_int_equal(trace_memory_load(m, 1, 0), 0);
	assert_string_equal(trace_memory_read(m, 0x1000, 6), "hello");
	assert_string_equal(trace_memory_read(m, 0x1004, 2), "o");
	assert_null(trace_memory_read(m, 0x1000, 7));
	assert_null(trace_memory_read(m, 0xfff, 1));
	assert_memory_equal(trace_memory_read(m, 0x3000, 3), "\0\1\0", 3);
	assert_int_equal(trace_memory_load(m, 1, 1), 0);
	assert_string_equal(trace_memory_read(m, 0x1000, 6), "HELLO");   /* newer */
	assert_memory_equal(trace_memory_read(m, 0x2004, 2), "\5\6", 2); /* still there */
	assert_int_equal(trace_memory_load(m, 2, 0), 0);
	assert_null(trace_memory_read(m, 0x1000, 1));
	trace_memory_free(m);
	trace_close(t);
}

static void test_views(void **state)
{
	static const struct {
		const char *sql;
		int64_t want;
	} queries[] = {
		{"SELECT count(*) FROM calls", 3},
		{"SELECT count(*) FROM calls WHERE result='CUDA_ERROR_OUT_OF_MEMORY' AND "
		 "function='cuMemAlloc_v2'",
		 1},
		{"SELECT count(*) FROM calls WHERE result='in flight'", 1},
		{"SELECT id FROM errors", 2},
		{"SELECT calls FROM functions WHERE function='cuMemAlloc_v2'", 3},
		{"SELECT dptr FROM cuMemAlloc_v2 WHERE id=1", 0x550000000100},
		{"SELECT bytesize FROM cuMemAlloc_v2 WHERE id=2", 32},
		{"SELECT count(*) FROM sqlite_master WHERE type='view' AND name='cuMemFree_v2'", 0},
		{"SELECT count(*) FROM launches WHERE kernel='saxpy' AND grid='1x2x3'", 1},
		{"SELECT launches FROM kernels WHERE name='saxpy'", 1},
		{"SELECT bytes FROM transfers WHERE kind='h2d'", 5},
		{"SELECT application_id FROM pragma_application_id", TRACE_APPLICATION_ID},
		{"SELECT user_version FROM pragma_user_version", TRACE_SCHEMA_VERSION},
		{"SELECT journal_mode='delete' FROM pragma_journal_mode", 1},
	};
	struct trace_writer *w = scratch_writer("views");
	struct trace_launch l = {.call = 1, .grid = {1, 2, 3}, .block = {4, 5, 6}};
	struct trace_kernel k = {.name = "saxpy"};
	struct trace_payload p = {.call = 1, .param = 1, .kind = "h2d", .width = 5, .height = 1, .depth = 1};
	struct trace_call c;
	uint32_t func = scratch_basics(w);
	size_t i;

	(void)state;
	for (i = 1; i <= 3; i++) {
		c = scratch_call(i, func);
		c.result = i == 2 ? 2 : 0;
		c.done = i != 3;
		assert_int_equal(trace_writer_call(w, &c), 0);
	}
	assert_int_equal(trace_writer_kernel(w, &k), 0);
	l.kernel = k.id;
	assert_int_equal(trace_writer_launch(w, &l), 0);
	assert_int_equal(trace_writer_buffer(w, "bytes", 5, &p.buffer), 0);
	assert_int_equal(trace_writer_payload(w, &p), 0);
	scratch_close(w);
	assert_false(scratch_exists("views", "-payload"));
	assert_false(scratch_exists("views", "-wal"));
	assert_false(scratch_exists("views", "-journal"));
	for (i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
		if (scratch_query(scratch_path("views"), queries[i].sql) != queries[i].want)
			fail_msg("%s gives %lld", queries[i].sql,
				 (long long)scratch_query(scratch_path("views"), queries[i].sql));
}

static void test_payloads(void **state)
{
	struct trace_writer *w = scratch_writer("payloads");
	struct trace_payload p = {.call = 3,
				  .param = 1,
				  .kind = "h2d",
				  .address = 0x7f0000000000,
				  .device_address = 0x550000000000,
				  .width = 64,
				  .height = 2,
				  .depth = 3};
	struct trace_payload gone = {
		.call = 3, .param = -1, .kind = "unavailable", .note = "stream was captured"};
	const struct trace_payload *got;
	struct trace_call c;
	struct trace *t;
	unsigned n;

	(void)state;
	c = scratch_call(3, scratch_basics(w));
	assert_int_equal(trace_writer_call(w, &c), 0);
	assert_int_equal(trace_writer_buffer(w, "bytes", 5, &p.buffer), 0);
	assert_int_equal(trace_writer_payload(w, &p), 0);
	assert_int_equal(trace_writer_payload(w, &gone), 0);
	scratch_close(w);
	t = scratch_open("payloads");
	got = trace_payloads(t, 3, &n);
	assert_int_equal(n, 2);
	assert_string_equal(got[0].kind, "h2d");
	assert_int_equal(got[0].device_address, 0x550000000000);
	assert_int_equal(got[0].depth, 3);
	assert_int_equal(got[0].buffer, p.buffer);
	assert_int_equal(got[1].param, -1);
	assert_string_equal(got[1].note, "stream was captured");
	assert_int_equal(got[1].buffer, 0);
	trace_payloads(t, 4, &n);
	assert_int_equal(n, 0);
	assert_int_equal(trace_check(t, NULL, NULL, NULL), 0);
	trace_close(t);
}

/* While a recording goes on, others read it: they see whole transactions. */
static void test_concurrent_readers(void **state)
{
	struct trace_writer *w = scratch_writer("live");
	uint32_t func = scratch_basics(w);
	uint64_t id, buffer;
	uint8_t big[100000];
	struct trace_call c;
	unsigned round;

	(void)state;
	scratch_noise(big, sizeof(big), 1);
	assert_int_equal(trace_writer_buffer(w, big, sizeof(big), &buffer), 0);
	for (round = 1; round <= 3; round++) {
		struct trace *a, *b;
		uint8_t *copy;
		size_t n;
		uint8_t fill[1 << 20];
		unsigned k;

		for (id = round * 1000; id < round * 1000 + 1000; id++) {
			c = scratch_call(id, func);
			assert_int_equal(trace_writer_call(w, &c), 0);
		}
		for (k = 0; k < 33; k++) { /* more than a transaction: it is committed */
			uint64_t ignored;

			scratch_noise(fill, sizeof(fill), round * 100 + k);
			assert_int_equal(trace_writer_buffer(w, fill, sizeof(fill), &ignored), 0);
		}
		a = scratch_open("live");
		b = scratch_open("live");
		assert_int_equal(trace_call_get(a, round * 1000 + 999, &c), 0);
		assert_int_equal(trace_call_get(b, round * 1000 + 999, &c), 0);
		copy = trace_buffer_load(a, buffer, &n, NULL);
		assert_int_equal(n, sizeof(big));
		assert_memory_equal(copy, big, n);
		free(copy);
		assert_int_equal(trace_meta_int(a, "closed", 0), 0);
		trace_close(a);
		trace_close(b);
	}
	scratch_close(w);
	assert_int_equal(scratch_query(scratch_path("live"), "SELECT count(*) FROM call"), 3000);
}

/* What never ends is written once and forgotten; what ends is found without reading the table. */
static void test_long_recording(void **state)
{
	struct trace_writer *w = scratch_writer("long");
	uint32_t func = scratch_basics(w);
	struct trace_call call;

	(void)state;
	for (uint64_t i = 1; i <= 300; i++) {
		call = scratch_call(i, func);
		call.done = false;
		assert_int_equal(trace_writer_call(w, &call), 0);
		if (i % 3 == 0)
			assert_int_equal(trace_writer_call_lost(w, i), 0);
		assert_int_equal(trace_writer_stream(w, 1, 0x1000 + i, 0x10, 0, 0, i, 0), 0);
		assert_int_equal(trace_writer_context(w, 1, 0x9000 + i, 0, false, i, 0), 0);
	}
	assert_int_equal(w->nflights, 200);
	assert_int_equal(trace_writer_call_lost(w, 5000), 0); /* of no call that is known */
	assert_int_equal(w->nflights, 200);
	for (uint64_t i = 1; i <= 300; i++) {
		assert_int_equal(trace_writer_stream(w, 1, 0x1000 + i, 0x10, 0, 0, 0, 1000 + i), 0);
		assert_int_equal(trace_writer_context(w, 1, 0x9000 + i, 0, false, 0, 2000 + i), 0);
	}
	assert_int_equal(sqlite3_stmt_status(w->stmts[W_STREAM_END], SQLITE_STMTSTATUS_FULLSCAN_STEP, 0), 0);
	assert_int_equal(sqlite3_stmt_status(w->stmts[W_CONTEXT_END], SQLITE_STMTSTATUS_FULLSCAN_STEP, 0), 0);
	scratch_close(w);
	assert_int_equal(
		scratch_query(scratch_path("long"), "SELECT count(*) FROM call WHERE t_exit IS NULL"), 300);
	assert_int_equal(scratch_query(scratch_path("long"),
				       "SELECT count(*) FROM stream WHERE destroyed = 1000 + created AND "
				       "handle = 4096 + created"),
			 300);
	assert_int_equal(scratch_query(scratch_path("long"),
				       "SELECT count(*) FROM context WHERE destroyed = 2000 + created"),
			 300);
	/* what only the writer needed is gone */
	assert_int_equal(scratch_query(scratch_path("long"),
				       "SELECT count(*) FROM sqlite_master WHERE name LIKE '%_alive'"),
			 0);
}

/* A replay of one process reads its calls alone. */
static void calls_of(struct trace *t, uint32_t process, uint64_t first, uint64_t step)
{
	struct trace_call_iter *it = trace_calls_of(t, process);
	struct trace_call c;
	uint64_t want = first;

	assert_non_null(it);
	for (; trace_call_next(it, &c) == 1; want += step)
		assert_int_equal(c.id, want);
	assert_int_equal(want, first + 1000 / step * step);
	trace_call_iter_free(it);
}

static void test_calls_of_a_process(void **state)
{
	struct trace_writer *w = scratch_writer("processes");
	uint32_t func = scratch_basics(w);
	struct trace_process p = {.id = 2, .pid = 4712};
	struct trace *t;

	(void)state;
	assert_int_equal(trace_writer_process(w, &p), 0);
	for (uint32_t i = 2; i <= 4; i++) { /* threads 2 and 3 are process 2's; 4 belongs to nobody */
		struct trace_thread th = {.id = i, .process = i < 4 ? 2 : 3, .tid = i};

		assert_int_equal(trace_writer_thread(w, &th), 0);
	}
	for (uint64_t id = 1; id <= 1000; id++) {
		struct trace_call c = scratch_call(id, func);

		c.thread = id % 2 ? 1 : id % 4 ? 2 : 3;
		assert_int_equal(trace_writer_call(w, &c), 0);
	}
	usleep(150000);
	assert_int_equal(trace_writer_tick(w), 0);
	t = scratch_open("processes"); /* not closed: there is no index */
	calls_of(t, 2, 2, 2);
	trace_close(t);
	scratch_close(w);
	t = scratch_open("processes");
	calls_of(t, 1, 1, 2);
	calls_of(t, 2, 2, 2);
	trace_close(t);
	assert_int_equal(scratch_query(scratch_path("processes"),
				       "SELECT count(*) FROM sqlite_master WHERE name='call_thread'"),
			 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_of_a_process),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_small_tables),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_long_recording),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_views),
		cmocka_unit_test(test_payloads),
		cmocka_unit_test(test_concurrent_readers),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
