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

/* Idle ones of a compiler that isn't there any more. */
static void kill_all(struct fixture *f, int pids[4])
{
	for (unsigned n = fixture_workers(f, pids, 4); n; n = fixture_workers(f, pids, 4)) {
		for (unsigned k = 0; k < n; k++)
			kill(pids[k], SIGKILL);
		usleep(1000);
	}
}

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

/* Each level is an entry of its own, and code of its own. */
static void optimises_as_asked(void **state)
{
	static const char *const options[] = {"opt=0", "opt=1", "opt=2,contract=all", "opt=3",
					      "contract=none,opt=3"};
	uint32_t bytes[5];
	struct fixture f;

	(void)state;
	fixture_open(&f, NULL);
	for (unsigned k = 0; k < 5; k++) {
		struct service_request r = {
			.module = &f.module, .kernel = "scale", .target = "gfx1100", .options = options[k]};
		struct service_answer a;
		struct contract c;
		struct diag d = DIAG_INIT;

		if (service_compile(f.service, &r, &a, &d))
			fail_msg("%s: %s", options[k], d.what);
		assert_false(a.cached);
		assert_int_equal(contract_read(a.code_object, a.bytes, &c, NULL), 0);
		bytes[k] = c.code_bytes;
		service_answer_free(&a);
	}
	assert_true(bytes[0] > bytes[1]);
	assert_int_equal(bytes[3], bytes[4]);
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

/* What bad_worker.c does, and what is said of it. */
static void bad_workers_cost_their_kernel(void **state)
{
	static const struct {
		const char *name, *words;
	} workers[] = {
		{"ends", "ended"},
		{"killed", "killed"},
		{"hangs", "longer than"},
		{"noise", "can't be talked to"},
		{"endless", "can't be talked to"},
		{"cut", "ended"},
		{"another", "can't be talked to"},
		{"asks", "can't be talked to"},
		{"fatal", "LLVM doesn't like this"},
		{"short", "damaged"},
		{"empty", "no ELF file"},
		{"foreign", "not of this kernel"},
		{"refuses", "this is why"},
	};
	char path[200];

	(void)state;
	for (size_t k = 0; k < sizeof(workers) / sizeof(workers[0]); k++) {
		struct service_answer a;
		struct diag d = DIAG_INIT;
		struct fixture f;
		int pids[4];

		snprintf(path, sizeof(path), "%s_%s", BAD_WORKER, workers[k].name);
		fixture_open(&f, &(struct service_config){.compiler = path, .timeout_ms = 1500});
		struct service_request r = {.module = &f.module, .kernel = "scale", .target = "gfx1100"};
		assert_int_not_equal(service_compile(f.service, &r, &a, &d), 0);
		if (!strstr(d.what, workers[k].words))
			fail_msg("%s: %s", workers[k].name, d.what);
		assert_null(a.code_object);
		/* Whatever came was not kept, and the next request gets a new worker. */
		fixture_use_compiler(&f, NULL);
		kill_all(&f, pids);
		assert_int_equal(fixture_compile(&f, "scale", "gfx1100", NULL), 0);
		fixture_close(&f);
	}
}

static uint64_t ticks_of(int pid)
{
	char path[64], text[1024], *at;
	unsigned long long user = 0, system = 0;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	in = fopen(path, "r");
	if (!in)
		return 0;
	text[fread(text, 1, sizeof(text) - 1, in)] = '\0';
	fclose(in);
	at = strrchr(text, ')');
	if (at)
		sscanf(at + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system);
	return user + system;
}

/* A kernel that takes LLVM seconds. */
static char *slow_module(void)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	fputs(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry slow(.param .u64 p)\n{\n"
	      ".reg .f64 %f<9>; .reg .b64 %d<3>; .reg .pred %p<2>;\nld.param.u64 %d1, [p];\n",
	      out);
	for (unsigned k = 0; k < 4000; k++)
		fprintf(out,
			"ld.global.f64 %%f1, [%%d1+%u]; setp.gt.f64 %%p1, %%f1, 0d0000000000000000;\n"
			"@%%p1 bra L%u;\ndiv.rn.f64 %%f2, %%f1, %%f2; st.global.f64 [%%d1+%u], %%f2;\nL%u:\n",
			8 * k, k, 8 * k + 8, k);
	fputs("ret;\n}\n", out);
	fclose(out);
	return text;
}

struct slow_call {
	struct fixture *f;
	int rc;
	struct diag d;
};

static void *compile_slowly(void *ctx)
{
	struct slow_call *c = ctx;
	struct service_request r = {.module = &c->f->module, .kernel = "slow", .target = "gfx90a"};
	struct service_answer a;

	c->rc = service_compile(c->f->service, &r, &a, &c->d);
	service_answer_free(&a);
	return NULL;
}

/* The real worker, in the midst of LLVM. */
static void a_worker_is_struck(int signal, const char *words)
{
	char *text = slow_module();
	struct slow_call call = {0};
	struct fixture f;
	pthread_t thread;
	int pids[2];

	fixture_open(&f, NULL);
	f.module.text = text;
	f.module.bytes = strlen(text);
	service_hash(text, f.module.bytes, f.module.hash);
	call.f = &f;
	assert_int_equal(pthread_create(&thread, NULL, compile_slowly, &call), 0);
	while (!fixture_workers(&f, pids, 2) || ticks_of(pids[0]) < 30)
		usleep(1000);
	kill(pids[0], signal);
	pthread_join(thread, NULL);
	assert_int_not_equal(call.rc, 0);
	if (!strstr(call.d.what, words))
		fail_msg("%s", call.d.what);
	f.module.text = fixture_ptx;
	f.module.bytes = strlen(fixture_ptx);
	service_hash(fixture_ptx, f.module.bytes, f.module.hash);
	assert_int_equal(fixture_compile(&f, "scale", "gfx1100", NULL), 0);
	fixture_close(&f);
	free(text);
}

static void a_killed_worker_costs_its_kernel(void **state)
{
	(void)state;
	a_worker_is_struck(SIGKILL, "killed");
}

static void a_crashed_worker_says_so(void **state)
{
	(void)state;
	a_worker_is_struck(SIGSEGV, "segmentation fault");
}

static void a_missing_compiler_is_named(void **state)
{
	struct service_answer a;
	struct diag d = DIAG_INIT;
	struct fixture f;

	(void)state;
	fixture_open(&f, &(struct service_config){.compiler = "/nonexistent"});
	struct service_request r = {.module = &f.module, .kernel = "scale", .target = "gfx1100"};
	assert_int_not_equal(service_compile(f.service, &r, &a, &d), 0);
	assert_string_equal(d.where, f.compiler);
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
	int pids[4];
	bool cached;

	(void)state;
	fixture_open(&f, NULL);
	assert_int_equal(fixture_compile(&f, "scale", "gfx1100", NULL), 0);
	service_close(f.service);
	while (fixture_workers(&f, pids, 4))
		usleep(1000);
	const struct service_config again = {.cache = f.folder, .compiler = f.compiler};
	assert_int_equal(service_open(&f.service, &again, NULL), 0);
	service_warm_up(f.service, &f.module);
	assert_int_equal(fixture_compile(&f, "scale", "gfx1100", &cached), 0);
	assert_true(cached);
	assert_int_equal(fixture_workers(&f, pids, 4), 0);
	/* What is not cached is prepared for. */
	f.module.hash[0] ^= 1;
	service_warm_up(f.service, &f.module);
	for (unsigned k = 0; !fixture_workers(&f, pids, 4) && k < 5000; k++)
		usleep(1000);
	assert_int_equal(fixture_workers(&f, pids, 4), 1);
	fixture_close(&f);
}

/* ---- what the program sees ------------------------------------------------------------------------------ */

static void workers_are_no_children(void **state)
{
	struct fixture f;
	int pids[16];

	(void)state;
	fixture_open(&f, NULL);
	assert_int_equal(fixture_compile(&f, "scale", "gfx1100", NULL), 0);
	assert_int_equal(fixture_workers(&f, pids, 16), 1);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	/* Killed while it is idle: nobody notices. */
	kill(pids[0], SIGKILL);
	while (fixture_workers(&f, pids, 16))
		usleep(1000);
	assert_int_equal(fixture_compile(&f, "add3", "gfx1100", NULL), 0);
	assert_int_equal(fixture_workers(&f, pids, 16), 1);
	service_close(f.service);
	f.service = NULL;
	while (fixture_workers(&f, pids, 16))
		usleep(1000);
	fixture_close(&f);
}

/* They end with the program, even when another process has inherited its descriptors. */
static void workers_end_with_the_program(void **state)
{
	struct fixture f;
	int pids[16], status;

	(void)state;
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
	for (unsigned k = 0; fixture_workers(&f, pids, 16) && k < 4000; k++)
		usleep(1000);
	assert_int_equal(fixture_workers(&f, pids, 16), 0);
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
		cmocka_unit_test(optimises_as_asked),
		cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(a_broken_module_is_refused),
		cmocka_unit_test(bad_workers_cost_their_kernel),
		cmocka_unit_test(a_killed_worker_costs_its_kernel),
		cmocka_unit_test(a_crashed_worker_says_so),
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
