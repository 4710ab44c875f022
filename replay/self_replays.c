/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/self_replays.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/map.h"
#include "replay/replay.h"
#include "replay/workroom.h"
#include "trace/trace.h"

/* What ranges held that differ from what was recorded, each content once. */
struct found {
	struct trace_rerun *rows;
	size_t n, capacity;
	struct map by_content; /* -> index of the row */
};

static int hash_file(const char *path, struct trace_hash *h)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = CUTRACE_EIO;
	struct stat st;
	void *data;

	if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0) {
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (data != MAP_FAILED) {
			*h = trace_hash_bytes(data, (size_t)st.st_size);
			munmap(data, (size_t)st.st_size);
			rc = 0;
		}
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

static uint64_t key_of(uint64_t launch, uint64_t base, const struct trace_hash *h)
{
	uint64_t words[4] = {launch, base}, key;
	struct trace_hash all;

	memcpy(&words[2], h->b, sizeof(h->b));
	all = trace_hash_bytes(words, sizeof(words));
	memcpy(&key, all.b, sizeof(key));
	return key;
}

static int add(struct found *f, uint64_t launch, uint64_t base, const char *path, uint64_t key)
{
	char *copy;

	if (f->n == f->capacity) {
		size_t more = f->n ? 2 * f->n : 64;
		struct trace_rerun *rows = reallocarray(f->rows, more, sizeof(*rows));

		if (!rows)
			return CUTRACE_ENOMEM;
		f->rows = rows;
		f->capacity = more;
	}
	copy = strdup(path);
	if (!copy || map_set(&f->by_content, key, f->n)) {
		free(copy);
		return CUTRACE_ENOMEM;
	}
	f->rows[f->n++] = (struct trace_rerun){launch, base, copy, 1};
	return 0;
}

/* A file of `replay --keep`: PROCESS.CALL.ADDRESS. */
static int take_file(struct found *f, const char *folder, const char *name)
{
	char path[5000];
	uint64_t launch, base, key, at;
	struct trace_hash h;
	int rc;

	if (sscanf(name, "%*u.%" SCNu64 ".%" SCNx64, &launch, &base) != 2)
		return 0;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	rc = hash_file(path, &h);
	if (rc)
		return rc;
	key = key_of(launch, base, &h);
	if (!map_get(&f->by_content, key, &at))
		return add(f, launch, base, path, key);
	f->rows[at].times++;
	unlink(path);
	return 0;
}

static int take_folder(struct found *f, const char *folder, struct diag *d)
{
	DIR *dir = opendir(folder);
	struct dirent *file;
	int rc = dir ? 0 : CUTRACE_EIO;

	while (!rc && (file = readdir(dir)))
		rc = take_file(f, folder, file->d_name);
	if (dir)
		closedir(dir);
	return rc ? diag_set(d, rc, folder, "what a self-replay left can't be read: %s", strerror(errno)) : 0;
}

static int one_run(struct found *f, const char *trace, const char *target, const char *which, unsigned k,
		   const struct workroom *w, struct diag *d)
{
	const char *args[] = {"replay", "-q",   "--isolated", "--envelope", "0",   "--no-narrow", "--keep",
			      NULL,     target, which,        "--",         trace, NULL};
	const char *folder;
	char name[32];
	int status;

	snprintf(name, sizeof(name), "self-replay.%u", k);
	args[7] = folder = workroom_path(w, name);
	if (mkdir(folder, 0700))
		return diag_set(d, CUTRACE_EIO, folder, "%s", strerror(errno));
	status = workroom_cutrace(w, args, NULL, "self-replay.err", 0);
	if (status == REPLAY_MATCH || status == REPLAY_DIFFERS)
		return take_folder(f, folder, d);
	return diag_set(d, CUTRACE_EIO, trace, "self-replay %u could not be made: %s", k,
			workroom_interrupted() ? "interrupted" : workroom_reason(w, "self-replay.err"));
}

int self_replays_make(const char *trace, const char *target, const char *which, unsigned runs,
		      const struct workroom *w, struct diag *d)
{
	struct found f = {0};
	int rc = 0;

	for (unsigned k = 1; k <= runs && !rc; k++)
		rc = one_run(&f, trace, target, which, k, w, d);
	if (!rc)
		rc = trace_add_reruns(trace, f.rows, f.n, runs, d);
	for (size_t i = 0; i < f.n; i++)
		free((char *)(uintptr_t)f.rows[i].contents);
	free(f.rows);
	map_free(&f.by_content);
	return rc;
}
