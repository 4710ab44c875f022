/* SPDX-License-Identifier: Apache-2.0
 *
 * How a recording ended that was not closed. Its writer leaves a word about it in the header of the payload
 * log, in bytes that are there from the beginning: they can be written when the disk is full. Who packs such
 * a recording later moves it into `meta`.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "trace/internal.h"

struct note {
	uint32_t ending, error;
};

static void leave(struct trace_writer *w, enum ending ending, int error)
{
	struct note n = {ending, (uint32_t)error};
	ssize_t done;

	if (w->log_fd < 0)
		return;
	done = pwrite(w->log_fd, &n, sizeof(n), ENDING_OFFSET);
	(void)done; /* then nothing is known */
}

void ending_failed(struct trace_writer *w, int error)
{
	leave(w, ENDING_WRITE_FAILED, error);
}

void ending_all_written(struct trace_writer *w)
{
	leave(w, ENDING_ALL_WRITTEN, 0);
}

enum ending ending_read(int log_fd, char *why, size_t size)
{
	struct note n = {0};

	if (log_fd >= 0 && pread(log_fd, &n, sizeof(n), ENDING_OFFSET) != sizeof(n))
		n.ending = ENDING_UNKNOWN;
	if (n.ending == ENDING_ALL_WRITTEN)
		return ENDING_ALL_WRITTEN;
	if (n.ending == ENDING_WRITE_FAILED)
		snprintf(why, size, "the trace could not be written any more: %s",
			 n.error ? strerror((int)n.error) : "SQLite refused a row");
	else
		snprintf(why, size,
			 "its collector ended without closing it: it was killed, or the machine stopped");
	return n.ending == ENDING_WRITE_FAILED ? ENDING_WRITE_FAILED : ENDING_UNKNOWN;
}

int ending_keep(struct trace_writer *w, struct diag *d)
{
	static const char *const rows[] = {
		"INSERT OR IGNORE INTO meta VALUES('cut_off_after',(SELECT coalesce(max(id),0) FROM call))",
		"INSERT OR IGNORE INTO meta VALUES('finished_utc',strftime('%Y-%m-%dT%H:%M:%SZ','now'))",
		"INSERT INTO diagnostic(severity,source,message) SELECT 'warning','collector',"
		"printf('the recording was cut off after call %d: %s',(SELECT value FROM meta WHERE "
		"key='cut_off_after'),?1)",
		/* the last: when it is there, so are the others */
		"INSERT INTO meta VALUES('cut_off',?1)",
	};
	char why[256];
	int64_t known;
	int rc = db_int(w->db, w->path, d, "SELECT count(*) FROM meta WHERE key='cut_off'", 0, &known);

	if (rc || known || ending_read(w->log_fd, why, sizeof(why)) == ENDING_ALL_WRITTEN)
		return rc;
	rc = db_exec(w->db, w->path, d, "BEGIN IMMEDIATE");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && !rc; i++) {
		sqlite3_stmt *s = NULL;

		sqlite3_prepare_v2(w->db, rows[i], -1, &s, NULL);
		if (s && sqlite3_bind_parameter_count(s))
			sqlite3_bind_text(s, 1, why, -1, SQLITE_STATIC);
		if (sqlite3_step(s) != SQLITE_DONE)
			rc = db_fail(w->db, w->path, d, "cannot finish the trace");
		sqlite3_finalize(s);
	}
	return rc ? rc : db_exec(w->db, w->path, d, "COMMIT");
}

/* Of a recording without such a word nobody can tell whether it still goes on. */
static const char *cut_off_unclosed(struct trace *t, uint64_t *last)
{
	int fd = open(t->log_path, O_RDONLY | O_CLOEXEC);
	struct diag ignored = DIAG_INIT;
	enum ending ending;
	int64_t n = 0;
	char why[256];

	if (fd < 0)
		return NULL;
	ending = ending_read(fd, why, sizeof(why));
	close(fd);
	if (ending != ENDING_WRITE_FAILED ||
	    db_int(t->db, t->path, &ignored, "SELECT max(id) FROM call", 0, &n))
		return NULL;
	*last = (uint64_t)n;
	return arena_strdup(&t->arena, why);
}

const char *trace_cut_off(struct trace *t, uint64_t *last)
{
	*last = (uint64_t)trace_meta_int(t, "cut_off_after", 0);
	return t->closed ? trace_meta_text(t, "cut_off") : cut_off_unclosed(t, last);
}
