/* SPDX-License-Identifier: Apache-2.0
 *
 * Our driver whose kernels all log what they do: each text is instrumented, and gets memory for its log, a file in the folder
 * LOGS.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/extension.h"
#include "ptx/instrument/instrument.h"
#include "stand_in.h"

enum { BLOCKS = 4, MOST_THREADS = 1024, THREAD_BYTES = 2048, MOST_GLOBALS = 256 };
enum { PORTABLE_DEVICEMAP = 3 }; /* of cuMemHostRegister */
#define LOG_BYTES ((size_t)BLOCKS * MOST_THREADS * (8 + THREAD_BYTES))
#define VARIABLES \
	UINT64_C(0x560000000000) /* where the logs' own variables are, out of the way of recorded addresses */

const bool stand_in_changes_pieces = false;

static unsigned nlogs;

char *stand_in_change(const char *text, size_t bytes)
{
	struct diag d = DIAG_INIT;
	struct ptx_module *m = ptx_module_parse(text, bytes, "loaded.ptx", &d);
	struct ptx_instrumented code = {0};
	char *out;

	if (!m || ptx_instrument(m, NULL, NULL, NULL, &code, &d)) {
		diag_print(&d, stderr);
		abort();
	}
	out = code.text;
	code.text = NULL;
	ptx_instrumented_free(&code);
	ptx_module_free(m);
	return out;
}

/* ---- the log's variable: beside those that the replayer places -------------------------------------- */

static const struct cutrace_extension *real_extension;
static struct {
	unsigned n;
	const char *names[MOST_GLOBALS];
	uint64_t at[MOST_GLOBALS];
} globals;

static int place_globals(unsigned n, const char *const *names, const uint64_t *at)
{
	if (n >= MOST_GLOBALS)
		abort();
	memcpy(globals.names, names, n * sizeof(*names));
	memcpy(globals.at, at, n * sizeof(*at));
	globals.n = n;
	return 0;
}

__attribute__((visibility("default"))) int cuGetExportTable(const void **table, const void *uuid);

typedef int export_fn(const void **, const void *);
int cuGetExportTable(const void **table, const void *uuid)
{
	static struct cutrace_extension ours;
	int r = ((export_fn *)(uintptr_t)stand_in_real("cuGetExportTable"))(table, uuid);

	if (r || memcmp(uuid, "cutrace extensi", 15))
		return r;
	real_extension = *table;
	ours = *real_extension;
	ours.place_module_globals = place_globals;
	*table = &ours;
	return 0;
}

void stand_in_before_load(void)
{
	uint64_t at = VARIABLES + ((uint64_t)nlogs << 16);

	if (!real_extension)
		return;
	globals.names[globals.n] = PTX_LOG_VARIABLE;
	globals.at[globals.n] = at;
	real_extension->place_module_globals(globals.n + 1, globals.names, globals.at);
	globals.n = 0;
}

/* ---- its memory ------------------------------------------------------------------------------------ */

typedef int global_fn(uint64_t *, size_t *, void *, const char *);
typedef int register_fn(void *, size_t, unsigned);
typedef int address_fn(uint64_t *, void *, unsigned);
typedef int copy_fn(uint64_t, const void *, size_t);

static bool arm(void *handle, bool is_library, void *memory)
{
	struct ptx_log_control c = {.nblocks = BLOCKS, .capacity = THREAD_BYTES};
	global_fn *find = (global_fn *)(uintptr_t)stand_in_real(is_library ? "cuLibraryGetGlobal"
									   : "cuModuleGetGlobal_v2");
	register_fn *give = (register_fn *)(uintptr_t)stand_in_real("cuMemHostRegister_v2");
	address_fn *address = (address_fn *)(uintptr_t)stand_in_real("cuMemHostGetDevicePointer_v2");
	copy_fn *copy = (copy_fn *)(uintptr_t)stand_in_real("cuMemcpyHtoD_v2");
	uint64_t variable;
	size_t bytes;

	return !find(&variable, &bytes, handle, PTX_LOG_VARIABLE) &&
	       !give(memory, LOG_BYTES, PORTABLE_DEVICEMAP) && !address(&c.buffer, memory, 0) &&
	       !copy(variable, &c, sizeof(c));
}

static void *log_file(void)
{
	char path[4096];
	void *memory = MAP_FAILED;
	int fd;

	snprintf(path, sizeof(path), "%s/%d.%u", getenv("LOGS"), (int)getpid(), nlogs++);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && !ftruncate(fd, LOG_BYTES))
		memory = mmap(NULL, LOG_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return memory;
}

void stand_in_after_load(void *handle, bool is_library)
{
	void *memory = handle ? log_file() : NULL;

	if (!handle || (memory != MAP_FAILED && arm(handle, is_library, memory)))
		return;
	fprintf(stderr, "stand-in: a log has no memory\n");
	abort();
}
