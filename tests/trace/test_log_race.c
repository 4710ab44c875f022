/* SPDX-License-Identifier: Apache-2.0
 * Two writers of one file: between a writer's opening of the payload log and its lock, the one before it may
 * finish and remove the log. flock is wrapped to make that happen. */
#include "scratch.h"

#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static char remove_before_lock[600]; /* once */

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);

int __wrap_flock(int fd, int operation)
{
	if (remove_before_lock[0])
		unlink(remove_before_lock);
	remove_before_lock[0] = '\0';
	return __real_flock(fd, operation);
}

static void test_log_removed_meanwhile(void **state)
{
	static uint8_t noise[100000];
	struct trace_writer *first, *second = NULL;
	struct diag d = DIAG_INIT;
	struct trace *t;
	uint64_t id;

	(void)state;
	scratch_noise(noise, sizeof(noise), 3);
	first = scratch_writer("trace");
	scratch_close(first);
	snprintf(remove_before_lock, sizeof(remove_before_lock), "%s-payload", scratch_path("trace"));
	first = scratch_writer("trace");
	scratch_basics(first);
	/* Its log has a name: another writer sees that somebody records here, and readers find the bytes. */
	assert_true(scratch_exists("trace", "-payload"));
	assert_int_not_equal(trace_writer_open(&second, scratch_path("trace"), &d), 0);
	assert_non_null(strstr(d.what, "another recording"));
	assert_int_equal(trace_writer_buffer(first, noise, sizeof(noise), &id), 0);
	usleep(150000);
	assert_int_equal(trace_writer_tick(first), 0);
	t = scratch_open("trace");
	assert_int_equal(trace_check(t, NULL, NULL, &d), 0);
	trace_close(t);
	scratch_close(first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_log_removed_meanwhile)};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
