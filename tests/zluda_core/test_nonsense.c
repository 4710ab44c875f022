/* SPDX-License-Identifier: Apache-2.0
 *
 * Every exported function survives nonsense: NULL everywhere, handles that are none, zeroed structs. The
 * API's description says which parameter is what. Nothing may crash or hang, and no call may say that it
 * found such a handle.
 */
#include "core_test.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/api.h"

typedef uint64_t any_function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			      uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

#define MAX_ARGS       14
#define NO_SUCH_HANDLE 0x5a5a0

static char zeros[MAX_ARGS][8192];

static bool is_plain(const struct api_func *f)
{
	if (f->flags & API_FUNC_PRIVATE || f->nparams > MAX_ARGS)
		return false;
	for (unsigned i = 0; i < f->nparams; i++)
		if (f->params[i].abi != API_ABI_INT)
			return false;
	return true;
}

/* Arguments of one call; true when one of them is a handle that does not exist. */
static bool arguments(const struct api_func *f, bool with_memory, bool with_handles, uint64_t *args)
{
	bool has_handle = false;

	memset(args, 0, MAX_ARGS * sizeof(*args));
	memset(zeros, 0, sizeof(zeros));
	for (unsigned i = 0; i < f->nparams; i++) {
		const struct api_type *t = &api_types[f->params[i].type];

		switch (t->kind) {
		case API_KIND_HANDLE:
			if (with_handles && t->size == 8) {
				args[i] = NO_SUCH_HANDLE;
				has_handle = true;
			}
			break;
		case API_KIND_POINTER:
		case API_KIND_STRING:
		case API_KIND_OPAQUE:
			if (with_memory)
				args[i] = (uint64_t)zeros[i];
			break;
		default: break;
		}
	}
	return has_handle;
}

static void call_all(bool with_memory, bool with_handles)
{
	uint64_t a[MAX_ARGS];
	unsigned called = 0;

	for (unsigned i = 0; i < api_nfuncs; i++) {
		const struct api_func *f = &api_funcs[i];
		any_function *fn = (any_function *)dlsym(RTLD_DEFAULT, f->name);
		bool has_handle;
		CUresult r;

		if (!is_plain(f) || !fn)
			continue;
		has_handle = arguments(f, with_memory, with_handles, a);
		OK(cuCtxSetCurrent(test_ctx));
		r = (CUresult)fn(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11],
				 a[12], a[13]);
		if (has_handle && r == CUDA_SUCCESS)
			fail_msg("%s accepts a handle that does not exist", f->name);
		called++;
	}
	assert_true(called > 600);
}

static void null_everywhere(void **state)
{
	(void)state;
	call_all(false, false);
}

static void handles_that_are_none(void **state)
{
	(void)state;
	call_all(false, true);
	call_all(true, true);
}

static void zeroed_memory(void **state)
{
	(void)state;
	call_all(true, false);
}

/* What needs no device works in the child of a process that had initialised CUDA, too. Everything else has one answer
 * there, whatever its arguments are worth. */
static bool works_after_fork(const char *name)
{
	static const char *const these[] = {"cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString",
					    "cuGetExportTable"};

	for (size_t i = 0; i < sizeof(these) / sizeof(these[0]); i++)
		if (!strcmp(name, these[i]))
			return true;
	return !strncmp(name, "cuGetProcAddress", 16);
}

static bool child_is_refused(void)
{
	uint64_t a[MAX_ARGS];
	bool ok = true;

	for (unsigned i = 0; i < api_nfuncs; i++) {
		const struct api_func *f = &api_funcs[i];
		any_function *fn = (any_function *)dlsym(RTLD_DEFAULT, f->name);
		CUresult r;

		if (!is_plain(f) || !fn || works_after_fork(f->name))
			continue;
		arguments(f, true, false, a);
		r = (CUresult)fn(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11],
				 a[12], a[13]);
		if (r == CUDA_ERROR_NOT_INITIALIZED)
			continue;
		printf("after fork, %s returns %d\n", f->name, (int)r);
		ok = false;
	}
	return ok;
}

static void forked_child(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		alarm(60);
		status = child_is_refused() ? 0 : 1;
		fflush(stdout);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int start(void **state)
{
	CUcontext ctx;

	alarm(100);
	if (!freopen("/dev/null", "w", stderr)) /* a line for each function that is not supported */
		return -1;
	return make_context(state) || cuDevicePrimaryCtxRetain(&ctx, 0) ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(null_everywhere),
					   cmocka_unit_test(handles_that_are_none),
					   cmocka_unit_test(zeroed_memory), cmocka_unit_test(forked_child)};

	return cmocka_run_group_tests(tests, start, NULL);
}
