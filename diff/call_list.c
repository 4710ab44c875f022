/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/call_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int call_file_open(struct call_file *f, struct diag *d)
{
	const char *folder = getenv("TMPDIR");
	char name[4096];

	snprintf(name, sizeof(name), "%s/cutrace-diff-XXXXXX", folder && *folder ? folder : "/tmp");
	f->blocks = 0;
	f->fd = mkstemp(name);
	if (f->fd < 0)
		return diag_set(d, CUTRACE_EIO, name, "can't make a temporary file: %s", strerror(errno));
	unlink(name);
	return 0;
}

void call_file_close(struct call_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

/* All bytes, or errno; a full disk writes less and says nothing the first time. */
static bool write_all(int fd, const void *p, size_t bytes, uint64_t at)
{
	const char *from = p;

	while (bytes) {
		ssize_t n = pwrite(fd, from, bytes, (off_t)at);

		if (n < 0 && errno != EINTR)
			return false;
		from += n > 0 ? n : 0;
		at += n > 0 ? (uint64_t)n : 0;
		bytes -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

static bool read_all(int fd, void *p, size_t bytes, uint64_t at)
{
	char *to = p;

	while (bytes) {
		ssize_t n = pread(fd, to, bytes, (off_t)at);

		if (!n)
			errno = EIO;
		if (!n || (n < 0 && errno != EINTR))
			return false;
		to += n > 0 ? n : 0;
		at += n > 0 ? (uint64_t)n : 0;
		bytes -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

static bool write_block(struct call_list *l, struct call_file *f)
{
	const size_t bytes = ENTRIES_PER_BLOCK * sizeof(struct entry);

	if (l->nblocks == l->capacity) {
		uint32_t more = l->capacity ? l->capacity * 2 : 16;
		uint32_t *p = reallocarray(l->blocks, more, sizeof(*p));

		if (!p)
			return false;
		l->blocks = p;
		l->capacity = more;
	}
	if (!write_all(f->fd, l->open, bytes, f->blocks * (uint64_t)bytes))
		return false;
	l->blocks[l->nblocks++] = f->blocks++;
	return true;
}

bool call_list_append(struct call_list *l, struct call_file *f, const struct entry *e)
{
	if (!l->open && !(l->open = calloc(ENTRIES_PER_BLOCK, sizeof(*l->open))))
		return false;
	l->open[l->n++ % ENTRIES_PER_BLOCK] = *e;
	return l->n % ENTRIES_PER_BLOCK != 0 || write_block(l, f);
}

bool call_list_read(const struct call_list *l, const struct call_file *f, uint64_t first, unsigned n,
		    struct entry *out)
{
	while (n) {
		uint64_t block = first / ENTRIES_PER_BLOCK, at = first % ENTRIES_PER_BLOCK;
		unsigned left = (unsigned)(ENTRIES_PER_BLOCK - at), here = left < n ? left : n;
		size_t bytes = here * sizeof(*out);

		if (block == l->nblocks)
			memcpy(out, l->open + at, bytes);
		else if (!read_all(f->fd, out, bytes,
				   (l->blocks[block] * (uint64_t)ENTRIES_PER_BLOCK + at) * sizeof(*out)))
			return false;
		out += here;
		first += here;
		n -= here;
	}
	return true;
}

void call_list_free(struct call_list *l)
{
	free(l->blocks);
	free(l->open);
	*l = (struct call_list){0};
}
