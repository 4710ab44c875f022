/* SPDX-License-Identifier: Apache-2.0
 * What the trace writer's choices cost: page size, journal mode, transaction size, payload log. Each line is
 * one setting, run several times: median, fastest and slowest. The figures in docs/format.md come from here.
 *
 *   trace_bench FOLDER [repetitions [settings whose name contains this]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "trace/internal.h"

#define CALLS      500000u
#define LAUNCHES   100000u
#define BLOB_BYTES ((size_t)512 << 20)
#define PIECE      ((size_t)1 << 20)
#define MAX_REPS   15u

enum load { LOAD_CALLS, LOAD_LAUNCHES, LOAD_BLOBS };

static const struct setting {
	const char *name;
	enum load load;
	struct trace_tuning tuning;
} settings[] = {
#define T(page, is_wal, log, inl, ms, mib)                                \
	{                                                                 \
		page, is_wal, log, inl, ms, (size_t)(mib) << 20, 64 << 10, false \
	}
	{"calls, page 4 KiB, WAL, 100 ms", LOAD_CALLS, T(4096, true, true, 4096, 100, 32)},
	{"calls, page 16 KiB, WAL, 100 ms", LOAD_CALLS, T(16384, true, true, 4096, 100, 32)},
	{"calls, page 64 KiB, WAL, 100 ms", LOAD_CALLS, T(65536, true, true, 4096, 100, 32)},
	{"calls, page 64 KiB, WAL, 10 ms", LOAD_CALLS, T(65536, true, true, 4096, 10, 32)},
	{"calls, page 64 KiB, WAL, 1000 ms", LOAD_CALLS, T(65536, true, true, 4096, 1000, 32)},
	{"calls, page 64 KiB, rollback, 100 ms", LOAD_CALLS, T(65536, false, true, 4096, 100, 32)},
	{"calls, page 16 KiB, rollback, 100 ms", LOAD_CALLS, T(16384, false, true, 4096, 100, 32)},
	{"launches, page 4 KiB, WAL", LOAD_LAUNCHES, T(4096, true, true, 4096, 100, 32)},
	{"launches, page 16 KiB, WAL", LOAD_LAUNCHES, T(16384, true, true, 4096, 100, 32)},
	{"launches, page 64 KiB, WAL", LOAD_LAUNCHES, T(65536, true, true, 4096, 100, 32)},
	{"launches, page 64 KiB, rollback", LOAD_LAUNCHES, T(65536, false, true, 4096, 100, 32)},
	{"launches, page 16 KiB, rollback", LOAD_LAUNCHES, T(16384, false, true, 4096, 100, 32)},
	{"payloads, page 64 KiB, log, WAL", LOAD_BLOBS, T(65536, true, true, 4096, 100, 32)},
	{"payloads, page 16 KiB, log, WAL", LOAD_BLOBS, T(16384, true, true, 4096, 100, 32)},
	{"payloads, page 4 KiB, log, WAL", LOAD_BLOBS, T(4096, true, true, 4096, 100, 32)},
	{"payloads, page 64 KiB, rows, WAL", LOAD_BLOBS, T(65536, true, false, 4096, 100, 32)},
	{"payloads, page 64 KiB, rows, rollback", LOAD_BLOBS, T(65536, false, false, 4096, 100, 64)},
	{"payloads, page 16 KiB, rows, rollback", LOAD_BLOBS, T(16384, false, false, 4096, 100, 64)},
#undef T
};

static double now_s(void)
{
	return (double)writer_now_ns() / 1e9;
}

static uint64_t noise(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static void must(int rc, const struct diag *d)
{
	if (!rc)
		return;
	diag_print(d, stderr);
	exit(2);
}

static void one_call(struct trace_writer *w, uint64_t id, uint32_t func)
{
	struct trace_call c = {.id = id,
			       .thread = 1,
			       .func = func,
			       .t_enter = (int64_t)id * 900,
			       .t_exit = (int64_t)id * 900 + 700,
			       .seq_seen = id,
			       .done = true,
			       .nargs = 4,
			       .args = {0x550000000000 + id, id & 0xffff, 0x7ffc12345678, 0},
			       .nouts = 1,
			       .outs = {0x560000000000 + id},
			       .outs_valid = 1};

	trace_writer_call(w, &c);
	if (id % 64 == 0)
		trace_writer_tick(w);
}

static void run_calls(struct trace_writer *w, uint32_t func)
{
	uint64_t id;

	for (id = 1; id <= CALLS; id++)
		one_call(w, id, func);
}

static void run_launches(struct trace_writer *w, uint32_t func)
{
	uint64_t id, x = 1;

	for (id = 1; id <= LAUNCHES; id++) {
		struct trace_launch l = {.call = id, .grid = {256, 1, 1}, .block = {128, 1, 1}};
		uint64_t params[8] = {id, noise(&x), noise(&x)};

		trace_writer_buffer(w, params, sizeof(params), &l.params);
		trace_writer_launch(w, &l);
		one_call(w, id, func);
	}
}

static void run_blobs(struct trace_writer *w, uint8_t *piece)
{
	uint64_t x = 1, id;
	size_t at, i;

	for (at = 0; at < BLOB_BYTES; at += PIECE) {
		/* new contents each time, at a cost far below the writer's */
		for (i = 0; i < PIECE; i += 4096)
			memcpy(piece + i, &(uint64_t){noise(&x)}, 8);
		trace_writer_buffer(w, piece, PIECE, &id);
		trace_writer_tick(w);
	}
}

struct result {
	double record_s, close_s;
	double mib;
};

static struct result run(const struct setting *s, const char *path, uint8_t *piece)
{
	struct diag d = DIAG_INIT;
	struct trace_writer *w;
	struct result r;
	struct stat st;
	uint32_t func;
	double begin;

	must(trace_writer_open_tuned(&w, path, &s->tuning, &d), &d);
	func = trace_writer_function(w, "cuLaunchKernel", "cuda", true, 11, NULL);
	begin = now_s();
	switch (s->load) {
	case LOAD_CALLS: run_calls(w, func); break;
	case LOAD_LAUNCHES: run_launches(w, func); break;
	case LOAD_BLOBS: run_blobs(w, piece); break;
	}
	must(writer_commit(w), &w->error);
	r.record_s = now_s() - begin;
	begin = now_s();
	must(trace_writer_close(w, &d), &d);
	r.close_s = now_s() - begin;
	r.mib = stat(path, &st) ? 0 : (double)st.st_size / 1048576;
	unlink(path);
	return r;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void measure(const struct setting *s, const char *path, unsigned reps, uint8_t *piece)
{
	double work = s->load == LOAD_CALLS ? CALLS : s->load == LOAD_LAUNCHES ? LAUNCHES : BLOB_BYTES / 1e6;
	double rate[MAX_REPS], total[MAX_REPS];
	struct result r = {0};
	unsigned i;

	for (i = 0; i < reps; i++) {
		r = run(s, path, piece);
		rate[i] = work / r.record_s;
		total[i] = work / (r.record_s + r.close_s);
	}
	qsort(rate, reps, sizeof(*rate), by_value);
	qsort(total, reps, sizeof(*total), by_value);
	printf("%-40s %9.0f (%.0f-%.0f)  to closed file %9.0f (%.0f-%.0f)  %.0f MiB\n", s->name,
	       rate[reps / 2], rate[0], rate[reps - 1], total[reps / 2], total[0], total[reps - 1], r.mib);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned reps = argc > 2 ? (unsigned)atoi(argv[2]) : 3, i;
	uint8_t *piece = malloc(PIECE);
	char path[4096];
	uint64_t x = 7;
	size_t at;

	if (argc < 2 || !piece || !reps || reps > MAX_REPS) {
		fprintf(stderr, "usage: trace_bench FOLDER [repetitions [name]]\n");
		return 2;
	}
	for (at = 0; at < PIECE; at += 8)
		memcpy(piece + at, &(uint64_t){noise(&x)}, 8);
	snprintf(path, sizeof(path), "%s/trace_bench.trace", argv[1]);
	printf("calls/s, launches/s or MB/s: median (slowest-fastest) of %u\n", reps);
	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (argc < 4 || strstr(settings[i].name, argv[3]))
			measure(&settings[i], path, reps, piece);
	free(piece);
	return 0;
}
