/* SPDX-License-Identifier: Apache-2.0
 * Files that are no whole trace of a known version: refused, with the path, the reason and a remedy. */
#include "scratch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void make_good(const char *name)
{
	struct trace_writer *w = scratch_writer(name);
	uint32_t func = scratch_basics(w);
	uint8_t noise[300000];
	uint64_t id;

	scratch_noise(noise, sizeof(noise), 1);
	for (id = 1; id <= 5000; id++) {
		struct trace_call c = scratch_call(id, func);

		assert_int_equal(trace_writer_call(w, &c), 0);
	}
	assert_int_equal(trace_writer_buffer(w, noise, sizeof(noise), &id), 0);
	scratch_close(w);
}

static void put_file(const char *name, const void *p, size_t n)
{
	FILE *f = fopen(scratch_path(name), "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	fclose(f);
}

static void patch(const char *name, long at, const void *p, size_t n)
{
	FILE *f = fopen(scratch_path(name), "r+b");

	assert_non_null(f);
	fseek(f, at, SEEK_SET);
	assert_int_equal(fwrite(p, 1, n, f), n);
	fclose(f);
}

static void refused(const char *name, int code, const char *says)
{
	struct diag d = DIAG_INIT;
	struct trace *t = NULL;

	assert_int_equal(trace_open(&t, scratch_path(name), &d), code);
	assert_null(t);
	assert_int_equal(d.code, code);
	if (!strstr(d.what, says))
		fail_msg("%s: %s", name, d.what);
	assert_non_null(strstr(d.where, name));
	if (code != CUTRACE_ENOENT || strstr(says, "payload"))
		if (!d.hint[0])
			fail_msg("%s: no remedy for: %s", name, d.what);
}

static void test_refusals(void **state)
{
	struct stat st;

	(void)state;
	make_good("good");
	refused("absent", CUTRACE_ENOENT, "No such file");
	put_file("empty", "", 0);
	refused("empty", CUTRACE_EFORMAT, "empty");
	put_file("text", "hello, this is some text that is certainly no trace", 50);
	refused("text", CUTRACE_EFORMAT, "not an SQLite file");
	put_file("stub", "SQLite format 3\0", 16);
	refused("stub", CUTRACE_ECORRUPT, "truncated");
	scratch_copy("good", "foreign");
	scratch_change(scratch_path("foreign"), "PRAGMA application_id=7");
	refused("foreign", CUTRACE_EFORMAT, "no trace");
	scratch_copy("good", "newer");
	scratch_change(scratch_path("newer"), "PRAGMA user_version=3");
	refused("newer", CUTRACE_ENOTSUP, "made by a newer cutrace; schema 3, this one reads 2");
	scratch_copy("good", "unversioned");
	scratch_change(scratch_path("unversioned"), "PRAGMA user_version=0");
	refused("unversioned", CUTRACE_ECORRUPT, "version");
	scratch_copy("good", "tableless");
	scratch_change(scratch_path("tableless"), "DROP TABLE payload");
	refused("tableless", CUTRACE_ECORRUPT, "no whole trace");
	assert_int_equal(stat(scratch_path("good"), &st), 0);
	scratch_copy("good", "cut");
	assert_int_equal(truncate(scratch_path("cut"), st.st_size / 2), 0);
	refused("cut", CUTRACE_ECORRUPT, "truncated");
	scratch_copy("good", "cut1");
	assert_int_equal(truncate(scratch_path("cut1"), st.st_size - 1), 0);
	refused("cut1", CUTRACE_ECORRUPT, "truncated");
	scratch_copy("good", "corrupt");
	patch("corrupt", 100, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10);
	refused("corrupt", CUTRACE_ECORRUPT, "");
	assert_int_equal(mkdir(scratch_path("dir"), 0777), 0);
	refused("dir", CUTRACE_EFORMAT, "not a regular file");
	assert_int_equal(rmdir(scratch_path("dir")), 0);
}

/* Damage anywhere: opening, reading everything and checking never crash, and if the contents changed,
 * something says so. */
static void read_all(const char *name)
{
	struct diag d = DIAG_INIT;
	struct trace_call_iter *it;
	struct trace_call c;
	struct trace *t;
	size_t n;

	if (trace_open(&t, scratch_path(name), &d))
		return;
	it = trace_calls(t, 0, UINT64_MAX);
	while (it && trace_call_next(it, &c) > 0)
		;
	trace_call_iter_free(it);
	free(trace_buffer_load(t, 1, &n, &d));
	trace_check(t, NULL, NULL, &d);
	trace_close(t);
}

static void test_damage_anywhere(void **state)
{
	struct stat st;
	unsigned i;

	(void)state;
	make_good("good");
	assert_int_equal(stat(scratch_path("good"), &st), 0);
	srand(7);
	for (i = 0; i < 60; i++) {
		uint8_t bytes[32];

		scratch_noise(bytes, sizeof(bytes), i);
		scratch_copy("good", "bad");
		/* half of them in the page headers, where structure is */
		patch("bad",
		      i % 2 ? rand() % (st.st_size / 65536) * 65536 + rand() % 200 : rand() % st.st_size,
		      bytes, 1 + i % sizeof(bytes));
		read_all("bad");
	}
}

static void leave_unclosed(const char *name)
{
	pid_t pid = fork();

	if (!pid) {
		struct trace_writer *w = scratch_writer(name);
		uint8_t noise[300000];
		uint64_t id;
		struct timespec nap = {0, 120000000};

		scratch_basics(w);
		scratch_noise(noise, sizeof(noise), 1);
		trace_writer_buffer(w, noise, sizeof(noise), &id);
		nanosleep(&nap, NULL);
		trace_writer_tick(w);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void test_payload_log(void **state)
{
	char log[512];
	struct trace *t;
	size_t n;
	struct stat st;

	(void)state;
	leave_unclosed("open");
	t = scratch_open("open");
	free(trace_buffer_load(t, 1, &n, NULL));
	assert_int_equal(n, 300000);
	assert_int_equal(trace_check(t, NULL, NULL, NULL), 0);
	trace_close(t);
	snprintf(log, sizeof(log), "%s-payload", scratch_path("open"));
	assert_int_equal(stat(log, &st), 0);
	assert_int_equal(truncate(log, st.st_size - 1), 0);
	refused("open", CUTRACE_ECORRUPT, "the payload log is truncated");
	assert_int_equal(truncate(log, 0), 0);
	refused("open", CUTRACE_EFORMAT, "no payload log");
	assert_int_equal(unlink(log), 0);
	refused("open", CUTRACE_ENOENT, "payload log");
}

/* A recording that can't begin leaves nothing behind. The limit lets the log begin, and not the database. */
static void test_no_room(void **state)
{
	static const char *const suffixes[] = {"", "-payload", "-wal", "-shm", "-journal"};
	struct rlimit limit, small;
	struct diag d = DIAG_INIT;
	struct trace_writer *w;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = (struct rlimit){.rlim_cur = 4096, .rlim_max = limit.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_not_equal(trace_writer_open(&w, scratch_path("cramped"), &d), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	signal(SIGXFSZ, SIG_DFL);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		assert_false(scratch_exists("cramped", suffixes[i]));
}

/* The writer does not take somebody's file. */
static void test_overwrite(void **state)
{
	struct diag d = DIAG_INIT;
	struct trace_writer *w, *other;

	(void)state;
	put_file("precious", "my thesis, chapter one", 22);
	assert_int_equal(trace_writer_open(&w, scratch_path("precious"), &d), CUTRACE_EINVAL);
	assert_non_null(strstr(d.what, "not overwritten"));
	assert_false(scratch_exists("precious", "-payload"));
	assert_int_equal(trace_writer_open(&w, scratch_path("no/such/folder"), &d), CUTRACE_EIO);
	assert_non_null(strstr(d.where, "no/such/folder"));
	assert_null(strstr(d.where, "-payload")); /* the user knows of no such file */
	assert_non_null(strstr(d.hint, "folder"));
	make_good("old");
	w = scratch_writer("old"); /* a trace may be replaced */
	assert_int_equal(trace_writer_open(&other, scratch_path("old"), &d), CUTRACE_EIO);
	assert_non_null(strstr(d.what, "another recording"));
	assert_int_equal(trace_finish(scratch_path("old"), &d), CUTRACE_EIO);
	scratch_close(w);
	assert_int_equal(scratch_query(scratch_path("old"), "SELECT count(*) FROM call"), 0);
	put_file("blank", "", 0);
	scratch_close(scratch_writer("blank")); /* as mktemp leaves it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refusals),    cmocka_unit_test(test_damage_anywhere),
		cmocka_unit_test(test_payload_log), cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_overwrite),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
