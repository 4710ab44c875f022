/* SPDX-License-Identifier: Apache-2.0
 * Code images as files: each image as it was given to the driver, and a fatbin's entries beside it. */
#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/image.h"
#include "dump/content.h"
#include "ptx/fatbin.h"
#include "ptx/link.h"

static int write_file(const char *path, const void *p, size_t n, struct diag *d)
{
	FILE *f = fopen(path, "wb");

	if (!f)
		return diag_set(d, CUTRACE_EIO, path, "cannot be written: %s", strerror(errno));
	if (fwrite(p, 1, n, f) != n) {
		fclose(f);
		return diag_set(d, CUTRACE_EIO, path, "cannot be written: %s", strerror(errno));
	}
	if (fclose(f))
		return diag_set(d, CUTRACE_EIO, path, "cannot be written: %s", strerror(errno));
	return 0;
}

static void say(const struct dump_options *o, const char *path, size_t n, const char *what)
{
	struct json j = {.out = stdout};

	if (!o->json) {
		printf("%s  %zu bytes  %s\n", path, n, what);
		return;
	}
	json_begin(&j, '{');
	json_key_text(&j, "file", path);
	json_key_uint(&j, "bytes", n);
	json_key_text(&j, "kind", what);
	json_end(&j, '}');
	json_line(&j);
}

static const char *extension(enum image_kind kind)
{
	switch (kind) {
	case IMAGE_PTX: return "ptx";
	case IMAGE_CUBIN: return "cubin";
	case IMAGE_FATBIN:
	case IMAGE_FATBIN_WRAPPER: return "fatbin";
	case IMAGE_LTO: return "ltoir";
	case IMAGE_UNKNOWN: break;
	}
	return "bin";
}

static const char *entry_extension(unsigned kind)
{
	return kind == FATBIN_PTX   ? "ptx"
	       : kind == FATBIN_ELF ? "cubin"
	       : kind == FATBIN_LTO ? "ltoir"
				    : "bin";
}

static int write_entry(const struct dump_options *o, uint64_t image, unsigned i, const struct fatbin_entry *e,
		       struct diag *d)
{
	char path[4096], suffix[2] = {e->suffix, '\0'};
	void *p;
	size_t n;
	int rc = fatbin_entry_load(e, &p, &n, d);

	if (rc)
		return rc;
	snprintf(path, sizeof(path), "%s/image_%" PRIu64 ".%u.sm_%u%s.%s", o->modules, image, i, e->arch,
		 suffix, entry_extension(e->kind));
	rc = write_file(path, p, n, d);
	free(p);
	if (!rc)
		say(o, path, n, fatbin_kind_name(e->kind));
	return rc;
}

static int write_entries(const struct dump_options *o, uint64_t image, const void *p, size_t n,
			 struct diag *d)
{
	struct fatbin fb;
	unsigned i;
	int rc = fatbin_open(&fb, p, n, d);

	for (i = 0; !rc && i < fb.nentries; i++)
		rc = write_entry(o, image, i, &fb.entries[i], d);
	fatbin_close(&fb);
	return rc;
}

/* Of relocatable device code: the module that was made of its pieces, whose lines reports name. */
static int write_linked(struct trace *t, const struct dump_options *o, uint64_t image, struct diag *d)
{
	const struct trace_image *row = trace_image(t, image);
	char path[4096];
	size_t n;
	char *p;
	int rc = 0;

	if (!row || !row->ptx || row->ptx == image)
		return 0;
	p = trace_buffer_load(t, row->ptx, &n, d);
	if (!p)
		return d->code;
	if (ptx_is_linked(p, n)) {
		snprintf(path, sizeof(path), "%s/image_%" PRIu64 ".linked.ptx", o->modules, image);
		rc = write_file(path, p, n, d);
		if (!rc)
			say(o, path, n, "linked ptx");
	}
	free(p);
	return rc;
}

static int write_image(struct trace *t, const struct dump_options *o, uint64_t buffer, struct diag *d)
{
	char path[4096];
	enum image_kind kind;
	size_t n, shown;
	char *p = trace_buffer_load(t, buffer, &n, d);
	int rc;

	if (!p)
		return d->code;
	kind = image_probe(p, n);
	/* PTX is recorded with its NUL */
	shown = kind == IMAGE_PTX ? strnlen(p, n) : n;
	snprintf(path, sizeof(path), "%s/image_%" PRIu64 ".%s", o->modules, buffer, extension(kind));
	rc = write_file(path, p, shown, d);
	if (!rc) {
		say(o, path, shown, image_kind_name(kind));
		if (kind == IMAGE_FATBIN)
			rc = write_entries(o, buffer, p, n, d);
		if (kind == IMAGE_FATBIN && !rc)
			rc = write_linked(t, o, buffer, d);
	}
	free(p);
	return rc;
}

int dump_modules(struct trace *t, const struct dump_options *o, struct diag *d)
{
	sqlite3_stmt *s;
	int rc = 0;

	if (mkdir(o->modules, 0777) && errno != EEXIST)
		return diag_set(d, CUTRACE_EIO, o->modules, "cannot be made: %s", strerror(errno));
	if (sqlite3_prepare_v2(trace_db(t), "SELECT buffer FROM image ORDER BY buffer", -1, &s, NULL) !=
	    SQLITE_OK)
		return diag_set(d, CUTRACE_ECORRUPT, o->file, "%s", sqlite3_errmsg(trace_db(t)));
	while (!rc && sqlite3_step(s) == SQLITE_ROW)
		rc = write_image(t, o, (uint64_t)sqlite3_column_int64(s, 0), d);
	sqlite3_finalize(s);
	return rc;
}
