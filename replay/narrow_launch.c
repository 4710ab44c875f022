/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch with PTX that logs: in place of the recorded image the instrumented text is loaded; before the launch the log gets
 * memory, behind it that is copied to a file.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay/narrow.h"

void narrow_use_text(struct engine *e)
{
	if (e->narrow && e->narrow->image)
		module_use_image(e, e->narrow->image, e->narrow->text, e->narrow->bytes);
}

static void say(struct engine *e, const char *what, int64_t result)
{
	snprintf(e->narrow->said->why, sizeof(e->narrow->said->why), "%s: %s", what,
		 driver_error_name(result));
}

/* A launch takes a kernel of a module, or of a library. */
static int64_t find_variable(struct engine *e, uint64_t f, uint64_t *address)
{
	uint64_t module = 0, bytes = 0, name = word(PTX_LOG_VARIABLE);
	int64_t r = driver_plain(&e->drv, "cuFuncGetModule", 2, word(&module), f);

	if (!r)
		r = driver_plain(&e->drv, "cuModuleGetGlobal_v2", 4, word(address), word(&bytes), module,
				 name);
	if (!r)
		return 0;
	r = driver_plain(&e->drv, "cuKernelGetLibrary", 2, word(&module), f);
	return r ? r
		 : driver_plain(&e->drv, "cuLibraryGetGlobal", 4, word(address), word(&bytes), module, name);
}

static uint64_t buffer_bytes(const struct narrow_task *t)
{
	return t->log.nblocks * t->threads * (8 + t->log.capacity);
}

enum { HOST_PORTABLE = 1, HOST_DEVICEMAP = 2 }; /* of cuMemHostAlloc */

/* Memory of the host, which outlives a context that ends by a fault; else the device's. */
static int64_t give_memory(struct engine *e)
{
	struct narrow_task *t = e->narrow;
	uint64_t bytes = buffer_bytes(t), host = 0;
	int64_t r = driver_plain(&e->drv, "cuMemHostAlloc", 3, word(&host), bytes,
				 (uint64_t)(HOST_PORTABLE | HOST_DEVICEMAP));

	if (!r)
		r = driver_plain(&e->drv, "cuMemHostGetDevicePointer_v2", 3, word(&t->log.buffer), host,
				 (uint64_t)0);
	if (!r) {
		t->host = (uint8_t *)(uintptr_t)host;
		memset(t->host, 0, bytes);
		return 0;
	}
	r = driver_plain(&e->drv, "cuMemAlloc_v2", 2, word(&t->log.buffer), bytes);
	return r ? r : driver_plain(&e->drv, "cuMemsetD8_v2", 3, t->log.buffer, (uint64_t)0, bytes);
}

static void arm_log(struct engine *e, struct call *c)
{
	struct narrow_task *t = e->narrow;
	uint64_t variable = 0;
	int64_t r = find_variable(e, c->args[0], &variable);

	if (r) {
		say(e, "the log's variable is not in the module", r);
		return;
	}
	r = give_memory(e);
	if (!r)
		r = driver_plain(&e->drv, "cuMemcpyHtoD_v2", 3, variable, word(&t->log),
				 (uint64_t)sizeof(t->log));
	if (r) {
		say(e, "the log has no memory", r);
		t->log.buffer = 0;
	}
}

void narrow_before(struct engine *e, struct call *c)
{
	struct narrow_task *t = e->narrow;

	if (!t || c->rec->id != t->call)
		return;
	if (t->address)
		extension_watch(e, addresses_to_live(&e->addresses, t->address), t->watch_bytes);
	if (t->image && c->f && c->f->nparams)
		arm_log(e, c);
}

static bool read_log(struct engine *e, uint64_t at, void *out, uint64_t bytes)
{
	if (!e->narrow->host)
		return engine_read_device(e, e->narrow->log.buffer + at, out, bytes);
	memcpy(out, e->narrow->host + at, bytes);
	return true;
}

static bool keep_piece(struct engine *e, int fd, uint64_t at, uint64_t bytes)
{
	uint8_t *data = bytes ? malloc(bytes) : NULL;
	bool ok = !bytes || (data && read_log(e, at, data, bytes) &&
			     pwrite(fd, data, bytes, (off_t)(sizeof(e->narrow->log) + at)) == (ssize_t)bytes);

	free(data);
	return ok;
}

/* What threads have written; the rest stays a hole. */
static bool keep_log(struct engine *e, int fd)
{
	struct narrow_task *t = e->narrow;
	uint64_t n = t->log.nblocks * t->threads;
	int64_t *used = malloc(n * sizeof(*used));
	bool ok = used && !ftruncate(fd, (off_t)(sizeof(t->log) + buffer_bytes(t))) &&
		  pwrite(fd, &t->log, sizeof(t->log), 0) == (ssize_t)sizeof(t->log) &&
		  keep_piece(e, fd, 0, n * 8) && read_log(e, 0, used, n * 8);

	for (uint64_t k = 0; ok && k < n; k++) {
		/* A thread that didn't come to its end told nothing. */
		uint64_t bytes = used[k] <= 0 || (uint64_t)used[k] > t->log.capacity ? t->log.capacity
										     : (uint64_t)used[k];

		ok = keep_piece(e, fd, n * 8 + k * t->log.capacity, bytes);
	}
	free(used);
	return ok;
}

void narrow_after(struct engine *e, struct call *c)
{
	struct narrow_task *t = e->narrow;
	int64_t r;
	int fd;

	if (!t || c->rec->id != t->call)
		return;
	r = driver_plain(&e->drv, "cuCtxSynchronize", 0);
	if (t->address)
		t->said->watched = extension_watch_result(e, &t->said->hit);
	if (!t->log.buffer)
		return;
	if (r) {
		struct extension_fault f;

		say(e, "the launch with the log failed", r);
		if (extension_last_fault(e, &f))
			t->said->fault_line = f.line;
		if (!t->host)
			return;
	}
	fd = open(t->log_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	t->said->logged = fd >= 0 && keep_log(e, fd);
	if (!t->said->logged)
		snprintf(t->said->why, sizeof(t->said->why), "the log can't be kept in %s", t->log_path);
	if (fd >= 0)
		close(fd);
}
