/* SPDX-License-Identifier: Apache-2.0
 *
 * The compile service: what it answers, what its workers may do to it, and what the program sees of them.
 */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "zluda_core/compiler/cache.h"

struct lines {
	unsigned n;
	uint64_t end;
	char text[8][64];
};

static int take_line(void *ctx, uint64_t offset, unsigned size, const char *text, struct diag *d)
{
	struct lines *l = ctx;

	(void)d;
	assert_int_equal(offset, l->end);
	l->end += size;
	snprintf(l->text[l->n++], sizeof(l->text[0]), "%s", text);
	return 0;
}

static void compiles_and_says_how_to_launch(void **state)
{
	struct fixture f;
	struct service_answer a;
	struct contract c;

	(void)state;
	fixture_open(&f, NULL);
	struct service_request r = {.module = &f.module, .kernel = "count", .target = "gfx90a"};
	assert_int_equal(service_compile(f.service, &r, &a, NULL), 0);
	assert_int_equal(contract_read(a.code_object, a.bytes, &c, NULL), 0);
	assert_string_equal(c.kernel, "count");
	assert_string_equal(c.target, "gfx90a");
	assert_string_equal(c.build, service_build_id(f.service));
	assert_memory_equal(c.text_hash, f.module.hash, 16);
	assert_int_equal(c.wave, 64);
	assert_int_equal(c.param_bytes, 0);
	assert_int_equal(c.nvariables, 2);
	assert_int_equal(c.kernarg_bytes, c.variables_offset + 16);
	bool order = !strcmp(contract_variable(&c, 0), "table");
	assert_string_equal(contract_variable(&c, order ? 1 : 0), "counter");
	assert_string_equal(contract_variable(&c, order ? 0 : 1), "table");
	service_answer_free(&a);
	fixture_close(&f);
}

static void gives_what_is_wanted(void **state)
{
	struct fixture f;
	struct service_answer a;

	(void)state;
	fixture_open(&f, NULL);
	struct service_request r = {.module = &f.module,
				    .kernel = "scale",
				    .target = "gfx1100",
				    .want = SERVICE_IR | SERVICE_OPTIMIZED | SERVICE_ASSEMBLY};
	assert_int_equal(service_compile(f.service, &r, &a, NULL), 0);
	assert_non_null(strstr(a.ir, "amdgpu_kernel"));
	assert_non_null(strstr(a.optimized, "@scale"));
	assert_non_null(strstr(a.assembly, "s_endpgm"));
	service_answer_free(&a);
	fixture_close(&f);
}

static void says_what_is_wrong(void **state)
{
	struct fixture f;
	struct service_answer a;
	struct diag d = DIAG_INIT;

	(void)state;
	fixture_open(&f, NULL);
	struct service_request r = {.module = &f.module, .kernel = "nothing", .target = "gfx1100"};
	assert_int_equal(service_compile(f.service, &r, &a, &d), CUTRACE_ENOENT);
	assert_non_null(strstr(d.what, "nothing"));
	r.kernel = "scale";
	r.target = "gfx7777";
	assert_int_equal(service_compile(f.service, &r, &a, &d), CUTRACE_ENOTSUP);
	assert_non_null(strstr(d.what, "gfx7777"));
	r.target = "gfx1100";
	r.options = "no=such";
	assert_int_equal(service_compile(f.service, &r, &a, &d), CUTRACE_EINVAL);
	/* Shared memory that no target has: with the numbers, and the kernel's line. */
	r.options = NULL;
	r.kernel = "too_much_shared";
	assert_int_equal(service_compile(f.service, &r, &a, &d), CUTRACE_ENOTSUP);
	assert_non_null(strstr(a.reason, "131072"));
	assert_non_null(strstr(a.reason, "65536"));
	assert_true(a.line > 20);
	fixture_close(&f);
}

static void a_broken_module_is_refused(void **state)
{
	struct fixture f;
	struct service_answer a;
	struct diag d = DIAG_INIT;

	(void)state;
	fixture_open(&f, NULL);
	f.module.text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(\n";
	f.module.bytes = strlen(f.module.text);
	struct service_request r = {.module = &f.module, .kernel = "k", .target = "gfx1100"};
	/* The hash of another text: never compiled under it. */
	assert_int_equal(service_compile(f.service, &r, &a, &d), CUTRACE_EINVAL);
	service_hash(f.module.text, f.module.bytes, f.module.hash);
	assert_int_equal(service_compile(f.service, &r, &a, &d), CUTRACE_EFORMAT);
	assert_non_null(strstr(d.where, "fixture.ptx"));
	fixture_close(&f);
}

/* ---- workers that end --------------------------------------------------------------------------------- */

static void ends_with(const char *how, const struct service_config *config, const char *words)
{
	struct service_answer a;
	struct diag d = DIAG_INIT;
	struct fixture f;

	setenv("CUTRACE_TEST_WORKER", how, 1);
	fixture_open(&f, config);
	struct service_request r = {.module = &f.module, .kernel = "scale", .target = "gfx1100"};
	assert_int_not_equal(service_compile(f.service, &r, &a, &d), 0);
	if (!strstr(d.what, words))
		fail_msg("%s", d.what);
	/* The next request gets a new worker. */
	unsetenv("CUTRACE_TEST_WORKER");
	assert_int_equal(fixture_compile(&f, "scale", "gfx1100", NULL), 0);
	fixture_close(&f);
}

static void a_killed_worker_costs_its_kernel(void **state)
{
	(void)state;
	ends_with("kill", NULL, "killed");
}

static void a_crashed_worker_says_so(void **state)
{
	(void)state;
	ends_with("crash", NULL, "segmentation fault");
}

static void a_hanging_worker_is_ended(void **state)
{
	(void)state;
	ends_with("hang", &(struct service_config){.timeout_ms = 3000}, "longer than 3000 ms");
}

static void a_missing_compiler_is_named(void **state)
{
	struct service_answer a;
	struct diag d = DIAG_INIT;
	struct fixture f;

	(void)state;
	fixture_open(&f, &(struct service_config){.compiler = "/nonexistent/cutrace-compile"});
	struct service_request r = {.module = &f.module, .kernel = "scale", .target = "gfx1100"};
	assert_int_not_equal(service_compile(f.service, &r, &a, &d), 0);
	assert_non_null(strstr(d.where, "/nonexistent/cutrace-compile"));
	fixture_close(&f);
}

/* ---- the cache --------------------------------------------------------------------------------------- */

static void sql(struct fixture *f, const char *text)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(fixture_cache_file(f), &db), SQLITE_OK);
	if (sqlite3_exec(db, text, NULL, NULL, NULL))
		fail_msg("%s: %s", text, sqlite3_errmsg(db));
	sqlite3_close(db);
}

/* Entries with sound hashes that hold something else than their key says, or nothing that can be launched. */
static void foreign_entries_are_compiled_anew(void **state)
{
	static const char *const changes[] = {
		"UPDATE entry SET (data, hash, bytes) = (SELECT data, hash, bytes FROM entry WHERE kernel = "
		"'add3') "
		"WHERE kernel = 'scale'",
		"UPDATE entry SET (data, hash, bytes) = (SELECT data, hash, bytes FROM entry WHERE kind = 2) "
		"WHERE kernel = 'scale'",
		"UPDATE entry SET (data, hash, bytes) = (SELECT data, hash, bytes FROM entry WHERE target = "
		"'gfx1201') "
		"WHERE kernel = 'scale' AND target = 'gfx1100'",
	};
	const uint32_t code = 0xbfb00000;
	struct lines l = {.end = 0};
	struct fixture f;
	bool cached;

	(void)state;
	fixture_open(&f, NULL);
	for (size_t k = 0; k < sizeof(changes) / sizeof(changes[0]); k++) {
		assert_int_equal(fixture_compile(&f, "scale", "gfx1100", NULL), 0);
		assert_int_equal(fixture_compile(&f, "scale", "gfx1201", NULL), 0);
		assert_int_equal(fixture_compile(&f, "add3", "gfx1100", NULL), 0);
		l = (struct lines){0};
		assert_int_equal(service_decode(f.service, "gfx1100", &code, 4, 0, take_line, &l, NULL), 0);
		assert_int_equal(fixture_compile(&f, "scale", "gfx1100", &cached), 0);
		assert_true(cached);
		sql(&f, changes[k]);
		assert_int_equal(fixture_compile(&f, "scale", "gfx1100", &cached), 0);
		assert_false(cached);
		assert_int_equal(fixture_compile(&f, "scale", "gfx1100", &cached), 0);
		assert_true(cached);
	}
	fixture_close(&f);
}

/* From the cache without a worker, thus without LLVM. */
static void what_is_cached_starts_nothing(void **state)
{
	struct fixture f;
	char mark[64];
	int pids[4];
	bool cached;

	(void)state;
	snprintf(mark, sizeof(mark), "pid-%d", (int)getpid());
	fixture_open(&f, NULL);
	assert_int_equal(fixture_compile(&f, "scale", "gfx1100", NULL), 0);
	service_close(f.service);
	setenv("CUTRACE_TEST_WORKER", mark, 1);
	assert_int_equal(service_open(&f.service, &(struct service_config){.cache = f.folder}, NULL), 0);
	assert_int_equal(fixture_compile(&f, "scale", "gfx1100", &cached), 0);
	assert_true(cached);
	assert_int_equal(fixture_workers(pids, 4), 0);
	unsetenv("CUTRACE_TEST_WORKER");
	fixture_close(&f);
}

/* ---- what the program sees ------------------------------------------------------------------------------ */

static void workers_are_no_children(void **state)
{
	struct fixture f;
	char mark[64];
	int pids[16];

	(void)state;
	snprintf(mark, sizeof(mark), "pid-%d", (int)getpid());
	setenv("CUTRACE_TEST_WORKER", mark, 1);
	fixture_open(&f, NULL);
	assert_int_equal(fixture_compile(&f, "scale", "gfx1100", NULL), 0);
	assert_int_equal(fixture_workers(pids, 16), 1);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	/* Killed while it is idle: nobody notices. */
	kill(pids[0], SIGKILL);
	while (fixture_workers(pids, 16))
		usleep(1000);
	assert_int_equal(fixture_compile(&f, "add3", "gfx1100", NULL), 0);
	assert_int_equal(fixture_workers(pids, 16), 1);
	service_close(f.service);
	f.service = NULL;
	while (fixture_workers(pids, 16))
		usleep(1000);
	unsetenv("CUTRACE_TEST_WORKER");
	fixture_close(&f);
}

/* They end with the program, even when another process has inherited its descriptors. */
static void workers_end_with_the_program(void **state)
{
	struct fixture f;
	int pids[16], out[2], status;
	char mark[64];

	(void)state;
	assert_int_equal(pipe(out), 0);
	snprintf(mark, sizeof(mark), "pid-%d", (int)getpid());
	setenv("CUTRACE_TEST_WORKER", mark, 1);
	fixture_open(&f, NULL);
	pid_t program = fork();
	if (!program) {
		int rc = fixture_compile(&f, "scale", "gfx1100", NULL);
		if (vfork() == 0) { /* without the handlers of fork(): keeps the socket */
			execlp("sleep", "sleep", "5", NULL);
			_exit(1);
		}
		_exit(rc ? 1 : 0);
	}
	assert_int_equal(waitpid(program, &status, 0), program);
	assert_int_equal(status, 0);
	unsetenv("CUTRACE_TEST_WORKER");
	for (unsigned k = 0; fixture_workers(pids, 16) && k < 4000; k++)
		usleep(1000);
	assert_int_equal(fixture_workers(pids, 16), 0);
	fixture_close(&f);
}

static void a_forked_child_has_workers_of_its_own(void **state)
{
	struct fixture f;
	int status;

	(void)state;
	fixture_open(&f, NULL);
	assert_int_equal(fixture_compile(&f, "scale", "gfx1100", NULL), 0);
	pid_t child = fork();
	if (!child)
		_exit(fixture_compile(&f, "add3", "gfx1100", NULL) ? 1 : 0);
	/* Both at once, on two sockets. */
	assert_int_equal(fixture_compile(&f, "count", "gfx1100", NULL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	fixture_close(&f);
}

/* A program that closes all descriptors, and opens others in their place, keeps those. */
static void closed_descriptors_are_let_go(void **state)
{
	struct fixture f;
	char path[] = "/tmp/cutrace-closed-XXXXXX";
	int file = mkstemp(path);

	(void)state;
	fixture_open(&f, NULL);
	assert_int_equal(fixture_compile(&f, "scale", "gfx1100", NULL), 0);
	for (int fd = file + 1; fd < 1024; fd++)
		close(fd);
	for (int fd = file + 1; fd < 1000; fd++)
		dup2(file, fd);
	assert_int_equal(fixture_compile(&f, "add3", "gfx1100", NULL), 0);
	assert_int_equal(lseek(file, 0, SEEK_END), 0);
	for (int fd = file; fd < 1000; fd++)
		assert_int_not_equal(fcntl(fd, F_GETFD), -1);
	fixture_close(&f);
	for (int fd = file; fd < 1000; fd++)
		close(fd);
	unlink(path);
}

struct caller {
	struct fixture *f;
	const char *kernel, *target;
	int rc;
};

static void *call(void *ctx)
{
	struct caller *c = ctx;

	c->rc = fixture_compile(c->f, c->kernel, c->target, NULL);
	return NULL;
}

static void threads_compile_at_once(void **state)
{
	static const char *const kernels[] = {"scale", "count", "add3"};
	static const char *const targets[] = {"gfx90a", "gfx942", "gfx1030", "gfx1100"};
	struct caller callers[12];
	pthread_t threads[12];
	struct fixture f;

	(void)state;
	fixture_open(&f, &(struct service_config){.workers = 3});
	for (unsigned k = 0; k < 12; k++) {
		callers[k] = (struct caller){&f, kernels[k % 3], targets[k / 3], -1};
		assert_int_equal(pthread_create(&threads[k], NULL, call, &callers[k]), 0);
	}
	for (unsigned k = 0; k < 12; k++) {
		pthread_join(threads[k], NULL);
		assert_int_equal(callers[k].rc, 0);
	}
	fixture_close(&f);
}

/* ---- disassembly, compiling ahead --------------------------------------------------------------------------- */

/* s_mov_b32 s0, 0x12345678; s_endpgm; 0xffffffff, which is no instruction (RDNA 3 ISA, SOP1, SOPP). */
static void disassembles(void **state)
{
	static const uint32_t code[] = {0xbe8000ff, 0x12345678, 0xbfb00000, 0xffffffff};
	struct fixture f;

	(void)state;
	fixture_open(&f, NULL);
	for (unsigned k = 0; k < 2; k++) { /* from the worker, from the cache */
		struct lines l = {.end = 0x100};

		assert_int_equal(
			service_decode(f.service, "gfx1100", code, sizeof(code), 0x100, take_line, &l, NULL),
			0);
		assert_int_equal(l.n, 3);
		assert_int_equal(l.end, 0x110);
		assert_string_equal(l.text[0], "s_mov_b32 s0, 0x12345678");
		assert_string_equal(l.text[1], "s_endpgm");
		assert_string_equal(l.text[2], ".long 0xffffffff");
	}
	fixture_close(&f);
}

/* Three kernels get into the cache without being asked for; the fourth can't be compiled. */
static void compiles_ahead(void **state)
{
	struct cache_info info = {0};
	struct fixture f;

	(void)state;
	fixture_open(&f, NULL);
	struct cache *cache = cache_open(f.folder, 0);
	assert_int_equal(service_compile_ahead(f.service, &f.module, "gfx1030", "", NULL), 0);
	for (unsigned tries = 0; info.kernels < 3 && tries < 600; tries++) {
		usleep(50000);
		assert_int_equal(cache_info(cache, &info, NULL), 0);
	}
	assert_int_equal(info.kernels, 3);
	cache_close(cache);
	bool cached = false;
	assert_int_equal(fixture_compile(&f, "count", "gfx1030", &cached), 0);
	assert_true(cached);
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compiles_and_says_how_to_launch),
		cmocka_unit_test(gives_what_is_wanted),
		cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(a_broken_module_is_refused),
		cmocka_unit_test(a_killed_worker_costs_its_kernel),
		cmocka_unit_test(a_crashed_worker_says_so),
		cmocka_unit_test(a_hanging_worker_is_ended),
		cmocka_unit_test(a_missing_compiler_is_named),
		cmocka_unit_test(foreign_entries_are_compiled_anew),
		cmocka_unit_test(what_is_cached_starts_nothing),
		cmocka_unit_test(workers_are_no_children),
		cmocka_unit_test(workers_end_with_the_program),
		cmocka_unit_test(a_forked_child_has_workers_of_its_own),
		cmocka_unit_test(closed_descriptors_are_let_go),
		cmocka_unit_test(threads_compile_at_once),
		cmocka_unit_test(disassembles),
		cmocka_unit_test(compiles_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
