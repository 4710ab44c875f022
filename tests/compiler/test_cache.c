/* SPDX-License-Identifier: Apache-2.0
 *
 * The cache on disk: whatever happens to its file, it gives back the bytes that were put, or nothing.
 */
#include "fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "zluda_core/compiler/cache.h"

enum { BYTES = 5000 };

struct place {
	char folder[64], file[128];
	struct cache *cache;
};

static const uint8_t source[16] = "a module's hash";

static int open_place(void **state)
{
	static struct place p;

	snprintf(p.folder, sizeof(p.folder), "/tmp/cutrace-cache-XXXXXX");
	if (!mkdtemp(p.folder))
		return -1;
	snprintf(p.file, sizeof(p.file), "%s/code-objects.sqlite", p.folder);
	p.cache = cache_open(p.folder, 0);
	*state = &p;
	return 0;
}

static int close_place(void **state)
{
	struct place *p = *state;
	char command[256];

	cache_close(p->cache);
	snprintf(command, sizeof(command), "chmod -R u+w '%s'; rm -rf '%s'", p->folder, p->folder);
	return system(command);
}

static struct cache_key key_of(const char *kernel)
{
	return (struct cache_key){CACHE_CODE, source, kernel, "gfx1100", "", "build-1"};
}

/* What an entry holds follows from its name. */
static void contents(const char *kernel, uint8_t out[BYTES])
{
	uint32_t v = 1;

	for (const char *c = kernel; *c; c++)
		v = v * 31 + (uint8_t)*c;
	for (unsigned k = 0; k < BYTES; k++) {
		v = v * 1664525 + 1013904223;
		out[k] = (uint8_t)(v >> 24);
	}
}

static void put(struct cache *c, const char *kernel)
{
	struct cache_key key = key_of(kernel);
	uint8_t data[BYTES];

	contents(kernel, data);
	cache_put(c, &key, data, BYTES);
}

/* Whether it was there; ends the test if it was wrong. */
static bool get(struct cache *c, const char *kernel)
{
	struct cache_key key = key_of(kernel);
	uint8_t expected[BYTES];
	size_t bytes = 0;
	void *data = NULL;

	if (!cache_get(c, &key, &data, &bytes))
		return false;
	contents(kernel, expected);
	if (bytes != BYTES || memcmp(data, expected, BYTES))
		fail_msg("the cache gave wrong bytes of %s", kernel);
	free(data);
	return true;
}

static void sql(const struct place *p, const char *text)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(p->file, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	if (sqlite3_exec(db, text, NULL, NULL, NULL))
		fail_msg("%s: %s", text, sqlite3_errmsg(db));
	sqlite3_close(db);
}

static void gives_back_what_was_put(void **state)
{
	struct place *p = *state;

	assert_false(get(p->cache, "k"));
	put(p->cache, "k");
	assert_true(get(p->cache, "k"));
	put(p->cache, "k");
	assert_true(get(p->cache, "k"));
	assert_false(get(p->cache, "k2"));
}

static void every_part_of_the_key_counts(void **state)
{
	struct place *p = *state;
	struct cache_key keys[6];
	size_t bytes;
	void *data;

	put(p->cache, "k");
	for (unsigned k = 0; k < 6; k++)
		keys[k] = key_of("k");
	keys[0].kind = CACHE_LINES;
	keys[1].hash = (const uint8_t *)"another module's hash";
	keys[2].kernel = "kk";
	keys[3].target = "gfx1101";
	keys[4].options = "opt=0";
	keys[5].build = "build-2";
	for (unsigned k = 0; k < 6; k++)
		assert_false(cache_get(p->cache, &keys[k], &data, &bytes));
}

/* ---- damage ----------------------------------------------------------------------------------------- */

static void damaged_entries_are_removed(void **state)
{
	static const char *const damage[] = {
		"UPDATE entry SET data = zeroblob(5000)", "UPDATE entry SET data = substr(data, 1, 4999)",
		"UPDATE entry SET data = data || x'00'",  "UPDATE entry SET data = x''",
		"UPDATE entry SET data = 'text'",         "UPDATE entry SET data = 7",
		"UPDATE entry SET hash = zeroblob(16)",   "UPDATE entry SET hash = x'01'",
		"UPDATE entry SET kernel = 'another'",    "UPDATE entry SET target = 'gfx90a'",
		"UPDATE entry SET build = 'another'",     "UPDATE entry SET options = 'x'",
		"UPDATE entry SET source = zeroblob(16)", "UPDATE entry SET source = x''",
	};
	struct place *p = *state;

	for (size_t k = 0; k < sizeof(damage) / sizeof(damage[0]); k++) {
		struct cache_info info;

		put(p->cache, "k");
		sql(p, damage[k]);
		if (get(p->cache, "k"))
			fail_msg("accepted after %s", damage[k]);
		assert_int_equal(cache_info(p->cache, &info, NULL), 0);
		assert_int_equal(info.entries, 0);
	}
	put(p->cache, "k");
	assert_true(get(p->cache, "k"));
}

static void overwrite(const struct place *p, off_t at, const void *bytes, size_t n)
{
	int fd = open(p->file, O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, n, at), n);
	close(fd);
}

static void a_damaged_file_is_made_anew(void **state)
{
	static const off_t lengths[] = {0, 1, 50, 100, 4095, 4096, 8192, 20000};
	static const char garbage[4096] = "this is no database";
	struct place *p = *state;

	for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
		for (unsigned n = 0; n < 8; n++)
			put(p->cache, (const char[]){(char)('a' + n), 0});
		assert_int_equal(truncate(p->file, lengths[k]), 0);
		for (unsigned n = 0; n < 8; n++)
			get(p->cache, (const char[]){(char)('a' + n), 0});
		put(p->cache, "k");
		assert_true(get(p->cache, "k"));
	}
	for (off_t page = 0; page < 4; page++) {
		for (unsigned n = 0; n < 8; n++)
			put(p->cache, (const char[]){(char)('a' + n), 0});
		overwrite(p, page * 4096, garbage, sizeof(garbage));
		for (unsigned n = 0; n < 8; n++)
			get(p->cache, (const char[]){(char)('a' + n), 0});
		put(p->cache, "k");
		put(p->cache, "k");
		assert_true(get(p->cache, "k"));
	}
}

/* Any byte, any value: what is given back is right. The file may stay damaged where nothing reads. */
static void flipped_bytes_are_never_given_back(void **state)
{
	struct place *p = *state;
	uint32_t seed = 7;

	for (unsigned round = 0; round < 400; round++) {
		struct stat st;

		for (unsigned n = 0; n < 4; n++)
			put(p->cache, (const char[]){(char)('a' + n), 0});
		if (stat(p->file, &st) || !st.st_size)
			continue;
		for (unsigned n = 0; n < 1 + round % 20; n++) {
			seed = seed * 1664525 + 1013904223;
			uint8_t v = (uint8_t)(seed >> 5);
			off_t at = (off_t)(seed >> 8) % (round % 2 ? st.st_size : 200);
			overwrite(p, at < st.st_size ? at : 0, &v, 1);
		}
		for (unsigned n = 0; n < 4; n++)
			get(p->cache, (const char[]){(char)('a' + n), 0});
	}
}

static void somebody_elses_file_is_replaced(void **state)
{
	struct place *p = *state;

	sql(p, "CREATE TABLE entry(x); PRAGMA user_version=77");
	put(p->cache, "k");
	assert_true(get(p->cache, "k"));
}

/* ---- places that can't be used ------------------------------------------------------------------------ */

/* As somebody whom permissions bind. */
static void as_user(const struct place *p, void (*run)(const struct place *))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (!geteuid() && setuid(65534))
			_exit(3);
		run(p);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void reads_only(const struct place *p)
{
	if (!get(p->cache, "k"))
		_exit(1);
	put(p->cache, "other");
	if (get(p->cache, "other"))
		_exit(2);
}

static void without_permission_to_write_it_is_read(void **state)
{
	struct place *p = *state;

	put(p->cache, "k");
	assert_int_equal(chmod(p->file, 0444), 0);
	assert_int_equal(chmod(p->folder, 0555), 0);
	as_user(p, reads_only);
}

static void finds_nothing(const struct place *p)
{
	if (get(p->cache, "k"))
		_exit(1);
	put(p->cache, "k");
	if (get(p->cache, "k"))
		_exit(2);
}

static void without_permission_at_all_it_is_as_empty(void **state)
{
	struct place *p = *state;

	put(p->cache, "k");
	assert_int_equal(chmod(p->folder, 0), 0);
	as_user(p, finds_nothing);
}

static void a_folder_that_others_may_write_is_not_used(void **state)
{
	struct place *p = *state;
	struct cache_info info;
	struct diag d = DIAG_INIT;

	put(p->cache, "k");
	assert_int_equal(chmod(p->folder, 0777), 0);
	assert_false(get(p->cache, "k"));
	assert_int_not_equal(cache_info(p->cache, &info, &d), 0);
	assert_non_null(strstr(d.what, "others may write"));
	assert_true(d.hint[0]);
}

/* No room: SIGXFSZ, which would end the program, is not raised either. */
static void a_full_disk_is_no_error(void **state)
{
	struct place *p = *state;
	int status;
	pid_t pid = fork();

	if (!pid) {
		const struct rlimit limit = {64 << 10, 64 << 10};
		char name[2] = "a";

		setrlimit(RLIMIT_FSIZE, &limit);
		for (; name[0] < 'z'; name[0]++) {
			put(p->cache, name);
			get(p->cache, name);
		}
		_exit(get(p->cache, "a") || get(p->cache, "b") ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void it_can_be_off(void **state)
{
	struct cache *c = cache_open("off", 0);

	(void)state;
	assert_null(cache_folder(c));
	put(c, "k");
	assert_false(get(c, "k"));
	cache_close(c);
}

/* ---- size ------------------------------------------------------------------------------------------- */

static void sizes_are_read(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes; /* 0: it is no size */
	} rows[] = {
		{"1", 1},
		{"500M", 500ull << 20},
		{"3k", 3072},
		{"2G", 2ull << 30},
		{"17179869183G", 17179869183ull << 30},
		{"", 0},
		{"0", 0},
		{"-1", 0},
		{" 1", 0},
		{"M", 0},
		{"1.5G", 0},
		{"5MB", 0},
		{"big", 0},
		{"17179869184G", 0},
		{"18446744073709551616", 0},
	};

	(void)state;
	for (unsigned k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		uint64_t bytes = 0;

		assert_int_equal(cache_parse_size(rows[k].text, &bytes), rows[k].bytes != 0);
		assert_int_equal(bytes, rows[k].bytes);
	}
}

static void the_longest_unused_goes(void **state)
{
	struct place *p = *state;
	struct cache *c = cache_open(p->folder, 400000);
	struct stat st;
	char name[16];

	for (unsigned k = 0; k < 60; k++) {
		snprintf(name, sizeof(name), "k%u", k);
		put(c, name);
	}
	/* k0 and k1 were used most recently, the others in turn. */
	sql(p, "UPDATE entry SET used = 1000 + rowid; UPDATE entry SET used = 2000 WHERE kernel IN ('k0', "
	       "'k1')");
	for (unsigned k = 60; k < 200; k++) {
		snprintf(name, sizeof(name), "k%u", k);
		put(c, name);
		assert_true(get(c, name));
		sql(p, "UPDATE entry SET used = 1000 + rowid WHERE kernel NOT IN ('k0', 'k1')");
		assert_int_equal(stat(p->file, &st), 0);
		assert_true(st.st_size <= 400000);
	}
	assert_true(get(c, "k0"));
	assert_true(get(c, "k1"));
	assert_true(get(c, "k199"));
	assert_true(get(c, "k190"));
	assert_false(get(c, "k2"));
	assert_false(get(c, "k100"));
	cache_close(c);
}

/* ---- many processes --------------------------------------------------------------------------------- */

static void work(const struct place *p, unsigned seed, unsigned rounds)
{
	struct cache *c = cache_open(p->folder, 300000);
	char name[16];

	for (unsigned k = 0; k < rounds; k++) {
		seed = seed * 1664525 + 1013904223;
		snprintf(name, sizeof(name), "k%u", (seed >> 16) % 80);
		if (!get(c, name))
			put(c, name);
	}
	cache_close(c);
}

static void many_processes_share_it(void **state)
{
	enum { PROCESSES = 8 };
	struct place *p = *state;
	pid_t pids[PROCESSES];
	struct cache_info info;
	int status;

	/* All begin with no file. */
	for (unsigned k = 0; k < PROCESSES; k++) {
		pids[k] = fork();
		if (!pids[k]) {
			work(p, k, 150);
			_exit(0);
		}
	}
	for (unsigned k = 0; k < PROCESSES; k++) {
		assert_int_equal(waitpid(pids[k], &status, 0), pids[k]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(cache_info(p->cache, &info, NULL), 0);
	assert_true(info.entries > 20);
	assert_true(info.file_bytes <= 300000);
}

static void count_damaged(void *ctx, const struct cache_entry *e)
{
	*(unsigned *)ctx += !e->intact;
}

static void killed_processes_leave_it_whole(void **state)
{
	struct place *p = *state;
	struct diag d = DIAG_INIT;
	unsigned damaged = 0;

	for (unsigned k = 0; k < 40; k++) {
		pid_t pid = fork();

		if (!pid) {
			work(p, k, 100000);
			_exit(0);
		}
		usleep(3000 + k * 700);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	if (cache_verify(p->cache, count_damaged, &damaged, &d))
		fail_msg("%s", d.what);
	assert_int_equal(damaged, 0);
}

static void verify_removes_what_is_damaged(void **state)
{
	struct place *p = *state;
	struct cache_info info;
	unsigned damaged = 0;

	put(p->cache, "a");
	put(p->cache, "b");
	sql(p, "UPDATE entry SET data = zeroblob(5000) WHERE kernel = 'a'");
	assert_int_equal(cache_verify(p->cache, count_damaged, &damaged, NULL), 0);
	assert_int_equal(damaged, 1);
	assert_int_equal(cache_info(p->cache, &info, NULL), 0);
	assert_int_equal(info.entries, 1);
	assert_true(get(p->cache, "b"));
	assert_int_equal(cache_clear(p->cache, NULL), 0);
	assert_false(get(p->cache, "b"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_place, close_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(gives_back_what_was_put),
		TEST(every_part_of_the_key_counts),
		TEST(damaged_entries_are_removed),
		TEST(a_damaged_file_is_made_anew),
		TEST(flipped_bytes_are_never_given_back),
		TEST(somebody_elses_file_is_replaced),
		TEST(verify_removes_what_is_damaged),
		TEST(without_permission_to_write_it_is_read),
		TEST(without_permission_at_all_it_is_as_empty),
		TEST(a_folder_that_others_may_write_is_not_used),
		TEST(a_full_disk_is_no_error),
		TEST(it_can_be_off),
		TEST(sizes_are_read),
		TEST(the_longest_unused_goes),
		TEST(many_processes_share_it),
		TEST(killed_processes_leave_it_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
