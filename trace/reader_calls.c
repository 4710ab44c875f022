/* SPDX-License-Identifier: Apache-2.0
 * Calls in order, and the host memory recorded with them. */
#include <stdlib.h>
#include <string.h>

#include "trace/internal.h"

#define COLUMN_ARGS 16
enum {
	C_ID,
	C_THREAD,
	C_PARENT,
	C_FUNC,
	C_ENTER,
	C_EXIT,
	C_SEEN,
	C_RESULT,
	C_ARGS,
	C_OUTS = C_ARGS + COLUMN_ARGS
};

struct trace_call_iter {
	struct trace *t;
	sqlite3_stmt *s;
};

#define SELECT_CALLS                                                                           \
	"SELECT id,thread,parent,func,t_enter,t_exit,seq_seen,result,a0,a1,a2,a3,a4,a5,a6,a7," \
	"a8,a9,a10,a11,a12,a13,a14,a15,o0,o1,o2,o3,o4,o5,o6,o7 FROM "

static struct trace_call_iter *iterate(struct trace *t, const char *sql)
{
	struct trace_call_iter *it = calloc(1, sizeof(*it));

	if (!it)
		return NULL;
	it->t = t;
	if (sqlite3_prepare_v2(t->db, sql, -1, &it->s, NULL) == SQLITE_OK)
		return it;
	free(it);
	return NULL;
}

struct trace_call_iter *trace_calls(struct trace *t, uint64_t first, uint64_t last)
{
	struct trace_call_iter *it = iterate(t, SELECT_CALLS "call WHERE id BETWEEN ? AND ? ORDER BY id");

	if (!it)
		return NULL;
	sqlite3_bind_int64(it->s, 1, first > INT64_MAX ? INT64_MAX : (int64_t)first);
	sqlite3_bind_int64(it->s, 2, last > INT64_MAX ? INT64_MAX : (int64_t)last);
	return it;
}

/* By the index over threads that a closed trace of several processes has: only numbers of calls are sorted.
 * The limit, of nothing, keeps SQLite from dropping the order of the inner query. */
struct trace_call_iter *trace_calls_of(struct trace *t, uint32_t process)
{
	struct trace_call_iter *it;

	if (t->nprocesses == 1 && t->processes[0].id == process)
		return trace_calls(t, 0, UINT64_MAX);
	it = iterate(t, SELECT_CALLS
		     "(SELECT id AS own FROM call WHERE thread IN (SELECT id FROM thread WHERE process=?) "
		     "ORDER BY id LIMIT -1) CROSS JOIN call ON id=own");
	if (it)
		sqlite3_bind_int64(it->s, 1, process);
	return it;
}

static int load_overflow(struct trace *t, struct trace_call *c)
{
	sqlite3_stmt *s = reader_stmt(t, R_OVERFLOW);
	int rc;

	if (!s)
		return CUTRACE_ECORRUPT;
	sqlite3_bind_int64(s, 1, (int64_t)c->id);
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		int64_t i = sqlite3_column_int64(s, 0);

		if (i < COLUMN_ARGS || i >= TRACE_MAX_ARGS)
			continue;
		c->args[i] = (uint64_t)sqlite3_column_int64(s, 1);
		c->nargs = (unsigned)i + 1;
	}
	sqlite3_reset(s);
	return rc == SQLITE_DONE ? 0 : CUTRACE_ECORRUPT;
}

static int read_call(struct trace *t, sqlite3_stmt *s, struct trace_call *c)
{
	int i;

	memset(c, 0, sizeof(*c));
	c->id = (uint64_t)sqlite3_column_int64(s, C_ID);
	c->thread = (uint32_t)sqlite3_column_int64(s, C_THREAD);
	c->parent = (uint64_t)sqlite3_column_int64(s, C_PARENT);
	c->func = (uint32_t)sqlite3_column_int64(s, C_FUNC);
	c->t_enter = sqlite3_column_int64(s, C_ENTER);
	c->done = sqlite3_column_type(s, C_EXIT) != SQLITE_NULL;
	c->t_exit = sqlite3_column_int64(s, C_EXIT);
	c->seq_seen = (uint64_t)sqlite3_column_int64(s, C_SEEN);
	c->result = sqlite3_column_int64(s, C_RESULT);
	for (i = 0; i < COLUMN_ARGS && sqlite3_column_type(s, C_ARGS + i) != SQLITE_NULL; i++)
		c->args[i] = (uint64_t)sqlite3_column_int64(s, C_ARGS + i);
	c->nargs = (unsigned)i;
	for (i = 0; i < TRACE_MAX_OUTS; i++) {
		if (sqlite3_column_type(s, C_OUTS + i) == SQLITE_NULL)
			continue;
		c->outs[i] = (uint64_t)sqlite3_column_int64(s, C_OUTS + i);
		c->outs_valid |= 1u << i;
		c->nouts = (unsigned)i + 1;
	}
	return c->nargs == COLUMN_ARGS ? load_overflow(t, c) : 0;
}

int trace_call_next(struct trace_call_iter *it, struct trace_call *out)
{
	int rc = sqlite3_step(it->s);

	if (rc == SQLITE_DONE)
		return 0;
	if (rc != SQLITE_ROW)
		return CUTRACE_ECORRUPT;
	rc = read_call(it->t, it->s, out);
	return rc ? rc : 1;
}

void trace_call_iter_free(struct trace_call_iter *it)
{
	if (!it)
		return;
	sqlite3_finalize(it->s);
	free(it);
}

int trace_call_get(struct trace *t, uint64_t id, struct trace_call *out)
{
	sqlite3_stmt *s = reader_stmt(t, R_CALL);
	int rc;

	if (!s)
		return CUTRACE_ECORRUPT;
	sqlite3_bind_int64(s, 1, (int64_t)id);
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		rc = read_call(t, s, out);
	else
		rc = rc == SQLITE_DONE ? CUTRACE_ENOENT : CUTRACE_ECORRUPT;
	sqlite3_reset(s);
	return rc;
}

/* ---- host memory ----------------------------------------------------------- */

#define PHASES             2
#define BLOCK_HEADER_BYTES 16u

struct block {
	uint64_t address;
	uint32_t bytes;
	const uint8_t *data;
};

struct trace_memory {
	struct trace *t;
	struct call_cursor cursor;
	uint64_t call;
	int phase; /* -1: nothing loaded */
	void *blob[PHASES];
	size_t blob_capacity[PHASES], blob_bytes[PHASES];
	uint64_t blobs_of;    /* call, 0: none */
	struct block *blocks; /* those of the later phase first */
	size_t nblocks, blocks_capacity;
};

struct trace_memory *trace_memory_new(struct trace *t)
{
	struct trace_memory *m = calloc(1, sizeof(*m));

	if (m) {
		m->t = t;
		m->phase = -1;
	}
	return m;
}

void trace_memory_free(struct trace_memory *m)
{
	if (!m)
		return;
	reader_cursor_close(&m->cursor);
	free(m->blob[0]);
	free(m->blob[1]);
	free(m->blocks);
	free(m);
}

static int add_block(struct trace_memory *m, const struct block *b)
{
	if (m->nblocks == m->blocks_capacity) {
		size_t more = m->blocks_capacity ? m->blocks_capacity * 2 : 32;
		struct block *p = reallocarray(m->blocks, more, sizeof(*p));

		if (!p)
			return CUTRACE_ENOMEM;
		m->blocks = p;
		m->blocks_capacity = more;
	}
	m->blocks[m->nblocks++] = *b;
	return 0;
}

/* schema.sql: {u64 address, u32 bytes, u32 param, bytes, padding to 8} one after the other. */
static int parse_blocks(struct trace_memory *m, const uint8_t *p, size_t n)
{
	while (n >= BLOCK_HEADER_BYTES) {
		struct block b;
		size_t padded;

		memcpy(&b.address, p, 8);
		memcpy(&b.bytes, p + 8, 4);
		b.data = p + BLOCK_HEADER_BYTES;
		if (b.bytes > n - BLOCK_HEADER_BYTES)
			return CUTRACE_ECORRUPT;
		if (add_block(m, &b))
			return CUTRACE_ENOMEM;
		padded = BLOCK_HEADER_BYTES + (((size_t)b.bytes + 7) & ~(size_t)7);
		if (padded >= n)
			break;
		p += padded;
		n -= padded;
	}
	return 0;
}

static int keep_blob(struct trace_memory *m, sqlite3_stmt *s, int phase)
{
	size_t n = (size_t)sqlite3_column_bytes(s, 2);

	if (n > m->blob_capacity[phase]) {
		free(m->blob[phase]);
		m->blob[phase] = malloc(n);
		m->blob_capacity[phase] = m->blob[phase] ? n : 0;
		if (!m->blob[phase])
			return CUTRACE_ENOMEM;
	}
	m->blob_bytes[phase] = n;
	if (n)
		memcpy(m->blob[phase], sqlite3_column_blob(s, 2), n);
	return 0;
}

static int load_blobs(struct trace_memory *m, uint64_t call)
{
	bool more = reader_cursor_seek(m->t, &m->cursor, SQL_MEMORY, call);
	int rc = m->cursor.s ? 0 : CUTRACE_ECORRUPT;

	m->blob_bytes[0] = m->blob_bytes[1] = 0;
	for (; more; more = reader_cursor_next(&m->cursor, call)) {
		int phase = sqlite3_column_int(m->cursor.s, 1);

		if (!rc && phase >= 0 && phase < PHASES)
			rc = keep_blob(m, m->cursor.s, phase);
	}
	return rc;
}

int trace_memory_load(struct trace_memory *m, uint64_t call, int phase)
{
	int rc, i;

	if (phase < 0 || phase >= PHASES)
		return CUTRACE_EINVAL;
	if (m->call == call && m->phase == phase)
		return 0;
	m->call = call;
	m->phase = phase;
	m->nblocks = 0;
	rc = m->blobs_of == call && m->t->closed ? 0 : load_blobs(m, call);
	m->blobs_of = rc ? 0 : call;
	/* At exit the blocks written come first: they are newer than what the call read. */
	for (i = phase; i >= 0 && !rc; i--)
		rc = parse_blocks(m, m->blob[i], m->blob_bytes[i]);
	if (rc)
		m->phase = -1;
	return rc;
}

const void *trace_memory_read(void *ctx, uint64_t addr, size_t bytes)
{
	const struct trace_memory *m = ctx;
	size_t i;

	for (i = 0; i < m->nblocks; i++) {
		const struct block *b = &m->blocks[i];

		if (addr >= b->address && addr - b->address <= b->bytes &&
		    bytes <= b->bytes - (addr - b->address))
			return b->data + (addr - b->address);
	}
	return NULL;
}
