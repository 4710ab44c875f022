/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef CUTRACE_HAVE_LIBARCHIVE
#	include <archive.h>
#	include <archive_entry.h>
#endif

#define SUFFIX ".tar.zst"

bool bundle_is_archive(const char *path)
{
	size_t n = strlen(path);

	return n > strlen(SUFFIX) && !strcmp(path + n - strlen(SUFFIX), SUFFIX);
}

int bundle_check(const char *path, struct diag *d)
{
	if (!access(path, F_OK))
		return diag_set(d, CUTRACE_EINVAL, path, "this exists; a bundle is not overwritten");
#ifndef CUTRACE_HAVE_LIBARCHIVE
	if (bundle_is_archive(path)) {
		diag_set(d, CUTRACE_ENOTSUP, path,
			 "this build of cutrace writes no archives: it was made without libarchive");
		diag_hint(d, "name a folder, and pack it: tar --zstd -cf bundle.tar.zst FOLDER");
		return d->code;
	}
#endif
	return 0;
}

/* Reads a file in pieces; fn returns 0, or fails with *d filled. */
static int each_piece(const char *path, int (*fn)(void *ctx, const void *data, size_t n, struct diag *d),
		      void *ctx, struct diag *d)
{
	char piece[1 << 16];
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	ssize_t n = 0;

	while (fd >= 0 && !rc && (n = read(fd, piece, sizeof(piece))) > 0)
		rc = fn(ctx, piece, (size_t)n, d);
	if (fd < 0 || n < 0)
		rc = diag_set(d, CUTRACE_EIO, path, "%s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return rc;
}

/* ---- a folder --------------------------------------------------------------------------------- */

static int write_piece(void *ctx, const void *data, size_t n, struct diag *d)
{
	FILE *f = ctx;

	return fwrite(data, 1, n, f) == n
		       ? 0
		       : diag_set(d, CUTRACE_EIO, "", "it can't be written: %s", strerror(errno));
}

static int copy_to(const char *folder, const struct bundle_file *file, struct diag *d)
{
	char path[4200];
	FILE *f;
	int rc;

	snprintf(path, sizeof(path), "%s/%s", folder, file->name);
	f = fopen(path, "wxe");
	rc = f ? each_piece(file->path, write_piece, f, d)
	       : diag_set(d, CUTRACE_EIO, path, "it can't be made: %s", strerror(errno));
	if (f && fclose(f) && !rc)
		rc = diag_set(d, CUTRACE_EIO, path, "it can't be written: %s", strerror(errno));
	return rc;
}

static int write_folder(const char *path, const struct bundle_file *files, unsigned n, struct diag *d)
{
	int rc = 0;

	for (unsigned i = 0; i < n && !rc; i++)
		rc = copy_to(path, &files[i], d);
	return rc;
}

/* ---- an archive --------------------------------------------------------------------------------- */

#ifdef CUTRACE_HAVE_LIBARCHIVE
static int archive_failed(struct archive *a, const char *path, struct diag *d)
{
	const char *why = archive_error_string(a);

	return diag_set(d, CUTRACE_EIO, path, "it can't be written: %s", why ? why : "unknown");
}

static int archive_piece(void *ctx, const void *data, size_t n, struct diag *d)
{
	struct archive *a = ctx;

	return archive_write_data(a, data, n) == (la_ssize_t)n ? 0 : archive_failed(a, "", d);
}

/* Nobody's, as of now: neither names nor times of files come along. */
static int archive_file(struct archive *a, const char *folder, const struct bundle_file *file, struct diag *d)
{
	struct archive_entry *e = archive_entry_new();
	struct stat st;
	char name[4200];
	int rc = 0;

	snprintf(name, sizeof(name), "%s/%s", folder, file->name);
	if (!e || stat(file->path, &st))
		rc = diag_set(d, CUTRACE_EIO, file->path, "%s", strerror(errno));
	if (!rc) {
		archive_entry_set_pathname(e, name);
		archive_entry_set_size(e, st.st_size);
		archive_entry_set_filetype(e, AE_IFREG);
		archive_entry_set_perm(e, 0644);
		archive_entry_set_mtime(e, time(NULL), 0);
		rc = archive_write_header(a, e) == ARCHIVE_OK ? each_piece(file->path, archive_piece, a, d)
							      : archive_failed(a, file->name, d);
	}
	archive_entry_free(e);
	return rc;
}

/* "bug.tar.zst": its files lie in "bug". */
static void folder_name(const char *path, char *out, size_t size)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	snprintf(out, size, "%.*s", (int)(strlen(base) - strlen(SUFFIX)), base);
}

static int write_archive(const char *path, const struct bundle_file *files, unsigned n, struct diag *d)
{
	struct archive *a = archive_write_new();
	char folder[256];
	int rc = a ? 0 : diag_set(d, CUTRACE_ENOMEM, path, "out of memory");

	folder_name(path, folder, sizeof(folder));
	if (!rc && (archive_write_add_filter_zstd(a) != ARCHIVE_OK ||
		    archive_write_set_format_pax_restricted(a) != ARCHIVE_OK ||
		    archive_write_open_filename(a, path) != ARCHIVE_OK))
		rc = archive_failed(a, path, d);
	for (unsigned i = 0; i < n && !rc; i++)
		rc = archive_file(a, folder, &files[i], d);
	if (!rc && archive_write_close(a) != ARCHIVE_OK)
		rc = archive_failed(a, path, d);
	if (a)
		archive_write_free(a);
	return rc;
}
#else
static int write_archive(const char *path, const struct bundle_file *files, unsigned n, struct diag *d)
{
	(void)files;
	(void)n;
	return bundle_check(path, d);
}
#endif

int bundle_write(const char *path, const struct bundle_file *files, unsigned n, struct diag *d)
{
	int rc;

	if (!bundle_is_archive(path) && mkdir(path, 0777))
		return diag_set(d, CUTRACE_EIO, path, "it can't be made: %s", strerror(errno));
	rc = bundle_is_archive(path) ? write_archive(path, files, n, d) : write_folder(path, files, n, d);

	if (rc && !d->where[0])
		snprintf(d->where, sizeof(d->where), "%.*s", (int)sizeof(d->where) - 1, path);
	if (!rc)
		return 0;
	for (unsigned i = 0; i < n && !bundle_is_archive(path); i++) {
		char name[4200];

		snprintf(name, sizeof(name), "%s/%s", path, files[i].name);
		unlink(name);
	}
	remove(path);
	return rc;
}
