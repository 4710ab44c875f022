/* SPDX-License-Identifier: Apache-2.0
 * The process that writes the trace is killed at random moments. What it had committed must be there, whole:
 * calls 1..n without a gap, each with its payload, and n not older than what the writer had announced as
 * committed. */
#include "scratch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 50

struct progress {
	volatile uint64_t written; /* newest call handed to the writer */
	volatile int64_t tick_ns;  /* when the last tick that has returned was called */
};

/* Payload of call i: some small, some logged, some of several chunks. */
static size_t payload_bytes(uint64_t i)
{
	return i % 100 == 0 ? 1500000 : i % 10 == 0 ? 20000 : 64;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void write_forever(const char *name, struct progress *p)
{
	struct trace_writer *w = scratch_writer(name);
	uint32_t func = scratch_basics(w);
	uint8_t *noise = malloc(1500000);
	uint64_t i;
	int64_t begin;

	for (i = 1; noise; i++) {
		struct trace_call c = scratch_call(i, func);
		struct trace_payload pl = {.call = i, .param = 1, .kind = "h2d"};

		scratch_noise(noise, payload_bytes(i), i);
		c.done = false;
		trace_writer_call(w, &c); /* enter, and sometimes the transaction ends here */
		trace_writer_tick(w);
		trace_writer_buffer(w, noise, payload_bytes(i), &pl.buffer);
		trace_writer_payload(w, &pl);
		c.done = true;
		trace_writer_call(w, &c);
		p->written = i;
		begin = now_ns();
		trace_writer_tick(w);
		p->tick_ns = begin;
	}
	_exit(1);
}

static void check_call(struct trace *t, const struct trace_call *c, uint8_t *want)
{
	const struct trace_payload *p;
	unsigned n;
	uint8_t *got;
	size_t bytes;

	assert_int_equal(c->args[1], c->id * 16);
	assert_int_equal(c->outs[0], 0x550000000000 + c->id * 256);
	p = trace_payloads(t, c->id, &n);
	assert_int_equal(n, 1);
	got = trace_buffer_load(t, p[0].buffer, &bytes, NULL);
	assert_non_null(got);
	assert_int_equal(bytes, payload_bytes(c->id));
	scratch_noise(want, bytes, c->id);
	assert_memory_equal(got, want, bytes);
	free(got);
}

static uint64_t check_prefix(const char *name)
{
	struct trace *t = scratch_open(name);
	struct trace_call_iter *it = trace_calls(t, 0, UINT64_MAX);
	uint8_t *want = malloc(1500000);
	struct trace_call c;
	uint64_t i = 0;

	assert_non_null(want);
	while (trace_call_next(it, &c) == 1) {
		assert_int_equal(c.id, ++i);
		if (c.done)
			check_call(t, &c, want);
		else /* only the last one may be in flight */
			assert_int_equal(trace_call_get(t, i + 1, &c), CUTRACE_ENOENT);
	}
	trace_call_iter_free(it);
	trace_close(t);
	free(want);
	return i;
}

static void kill_once(struct progress *p, unsigned round)
{
	struct timespec nap = {0, 5000000L + (long)(round * 7919 % 250) * 1000000L};
	uint64_t before, found;
	bool must_have;
	int64_t seen;
	unsigned i;
	pid_t pid;

	memset((void *)p, 0, sizeof(*p));
	pid = fork();
	if (!pid)
		write_forever("killed", p);
	nanosleep(&nap, NULL);
	before = p->written;
	/* A tick commits what is older than 100 ms: sometimes wait for one that must have. */
	must_have = round % 3 == 0 && before;
	seen = now_ns();
	nap.tv_nsec = 1000000;
	for (i = 0; must_have && p->tick_ns < seen + 100000000 && i < 30000; i++)
		nanosleep(&nap, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (!before) {
		struct diag d = DIAG_INIT;
		struct trace *t;

		if (trace_open(&t, scratch_path("killed"), &d) == 0) /* else it never began */
			trace_close(t);
		return;
	}
	found = check_prefix("killed");
	assert_true(found <= p->written + 1);
	if (must_have)
		assert_true(found >= before);
}

static void test_kill(void **state)
{
	struct progress *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned round;

	(void)state;
	assert_ptr_not_equal(p, MAP_FAILED);
	for (round = 0; round < ROUNDS; round++)
		kill_once(p, round);
	munmap(p, 4096);
}

/* A killed recording can be packed into one file, which says what happened. */
static void finish_and_check(void)
{
	uint64_t before = check_prefix("closing");
	struct diag d = DIAG_INIT;
	const char *cut_off;
	struct trace *t;
	uint64_t last;

	if (trace_finish(scratch_path("closing"), &d))
		fail_msg("%s", d.what);
	assert_false(scratch_exists("closing", "-payload"));
	assert_false(scratch_exists("closing", "-wal"));
	assert_int_equal(check_prefix("closing"), before);
	t = scratch_open("closing");
	assert_int_equal(trace_meta_int(t, "closed", 0), 1);
	assert_int_equal(trace_check(t, NULL, NULL, NULL), 0);
	cut_off = trace_cut_off(t, &last); /* else only packing was interrupted, or it had just ended */
	if (cut_off) {
		assert_non_null(strstr(cut_off, "killed"));
		assert_int_equal(last, before);
	}
	trace_close(t);
	if (before)
		assert_int_equal(scratch_query(scratch_path("closing"), "SELECT count(*) FROM cuMemAlloc_v2"),
				 before);
	assert_int_equal(trace_finish(scratch_path("closing"), &d), 0); /* again: nothing to do */
}

/* Killed while closing: the pair is readable whenever that happens. */
static void write_and_close(uint64_t calls, int ready)
{
	struct trace_writer *w = scratch_writer("closing");
	struct timespec nap = {0, 110000000};
	uint32_t func = scratch_basics(w);
	uint8_t *noise = malloc(1500000);
	uint64_t i;

	for (i = 1; i <= calls && noise; i++) {
		struct trace_call c = scratch_call(i, func);
		struct trace_payload pl = {.call = i, .param = 1, .kind = "h2d"};

		scratch_noise(noise, payload_bytes(i), i);
		trace_writer_buffer(w, noise, payload_bytes(i), &pl.buffer);
		trace_writer_payload(w, &pl);
		trace_writer_call(w, &c);
	}
	nanosleep(&nap, NULL); /* so that the tick commits */
	trace_writer_tick(w);
	if (write(ready, "x", 1) == 1)
		scratch_close(w);
	_exit(0);
}

static void test_kill_in_close(void **state)
{
	unsigned round;

	(void)state;
	for (round = 0; round < 30; round++) {
		/* a trace of 90 calls is small enough to be rewritten with small pages at the end */
		const uint64_t calls = round % 2 ? 90 : 400;
		int ready[2];
		char go;
		pid_t pid;
		struct timespec nap = {0, (long)(round / 2) * (round % 2 ? 2000000L : 9000000L)};

		assert_int_equal(pipe(ready), 0);
		pid = fork();
		if (!pid)
			write_and_close(calls, ready[1]);
		assert_int_equal(read(ready[0], &go, 1), 1);
		nanosleep(&nap, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(ready[0]);
		close(ready[1]);
		assert_int_equal(check_prefix("closing"), calls);
		finish_and_check();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_kill_in_close),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
