/* SPDX-License-Identifier: Apache-2.0
 * Hashes of rows. Contents have hashes of their own (chunk, buffer); everything else in a trace is rows, and a
 * changed bit in an argument would pass for what the program did. So a closed trace has hashes of the rows of each
 * table in groups (table row_hash), and a reader can tell which rows are not those that were recorded. Of the large
 * tables they are taken while rows are written (row_live.c), of the others at close, over what the file has. */
#include <string.h>

#include "trace/internal.h"
#include "trace/row_pack.h"

/* Every table of schema.sql. `key` orders the rows and bounds the groups: rows of one key are in one group. Where rows
 * have no number that survives a VACUUM it is a constant, and the table is one group. */
#define NO_KEY "0"
static const struct hashed_table {
	const char *name, *key, *rows, *columns;
	enum live_table live; /* then `rows` is no more than an order */
} tables[] = {
	{"meta", NO_KEY, "WHERE key<>'closed' ORDER BY key", "key,value", LIVE_NONE},
	{"process", "id", "ORDER BY id", "id,pid,parent,exe,argv,cwd,t_start,t_end,end_kind,end_code",
	 LIVE_NONE},
	{"thread", "id", "ORDER BY id", "id,process,tid,name,t_start,t_end", LIVE_NONE},
	{"device", NO_KEY, "ORDER BY process,ordinal", "process,ordinal,name,cc,bytes,sm_count,uuid",
	 LIVE_NONE},
	{"function", "id", "ORDER BY id", "id,name,library,known,nparams,signature", LIVE_NONE},
	{"call", "id", "ORDER BY id",
	 "id,thread,parent,func,t_enter,t_exit,seq_seen,result,a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,"
	 "a14,a15,o0,o1,o2,o3,o4,o5,o6,o7",
	 LIVE_CALL},
	{"call_overflow", "call", "ORDER BY call,idx", "call,idx,value", LIVE_OVERFLOW},
	{"call_memory", "call", "ORDER BY call,phase", "call,phase,data", LIVE_MEMORY},
	{"chunk", "id", "ORDER BY id", "id,hash,bytes,codec", LIVE_CHUNK},
	{"buffer", "id", "ORDER BY id", "id,hash,bytes", LIVE_BUFFER},
	{"buffer_chunk", "buffer", "ORDER BY buffer,idx", "buffer,idx,chunk", LIVE_BUFFER_CHUNK},
	{"payload", "id", "ORDER BY id",
	 "id,call,param,kind,address,device_address,width,height,depth,buffer,note", LIVE_PAYLOAD},
	{"context", "id", "ORDER BY id", "id,process,handle,device,primary_ctx,created,destroyed", LIVE_NONE},
	{"stream", "id", "ORDER BY id", "id,process,handle,context,flags,priority,created,destroyed",
	 LIVE_NONE},
	{"allocation", "id", "ORDER BY id", "id,process,base,bytes,kind,host_address,created,destroyed",
	 LIVE_NONE},
	{"module", "id", "ORDER BY id", "id,process,handle,is_library,parent,image,created,destroyed",
	 LIVE_NONE},
	{"image", "buffer", "ORDER BY buffer", "buffer,kind,ptx,archs", LIVE_NONE},
	{"kernel", "id", "ORDER BY id", "id,module,name,has_ptx,param_bytes,line", LIVE_NONE},
	{"kernel_param", "kernel", "ORDER BY kernel,idx",
	 "kernel,idx,name,type,offset,bytes,is_pointer,is_read,is_written,elem_type", LIVE_NONE},
	{"kernel_handle", NO_KEY, "ORDER BY rowid", "process,handle,kernel,created", LIVE_NONE},
	{"launch", "call", "ORDER BY call",
	 "call,kernel,stream,gx,gy,gz,bx,by,bz,shared_bytes,cooperative,params", LIVE_LAUNCH},
	{"launch_hash", "launch", "ORDER BY launch,base", "launch,base,bytes,hash", LIVE_LAUNCH_HASH},
	{"launch_sketch", "launch", "ORDER BY launch,base",
	 "launch,base,bytes,hash,type,elements,nan,infinite,zero,least,greatest,sum,magnitude,block_bytes,blocks,"
	 "samples",
	 LIVE_NONE},
	{"image_run", "image", "ORDER BY image,process", "image,process,what", LIVE_NONE},
	{"host_write", "id", "ORDER BY id", "id,call,address,bytes,buffer", LIVE_NONE},
	{"diagnostic", "id", "ORDER BY id", "id,t,process,call,severity,source,message", LIVE_NONE},
	{"overhead", NO_KEY, "ORDER BY rowid", "process,what,count,bytes,ns", LIVE_NONE},
};
#define NTABLES (sizeof(tables) / sizeof(tables[0]))

struct scan {
	sqlite3 *db;
	const char *path;
	struct diag *d;
	sqlite3_stmt *rows;
	XXH3_state_t *state;
	int ncolumns;
};

static int prepare(struct scan *s, const struct hashed_table *t)
{
	char sql[640];

	snprintf(sql, sizeof(sql), "SELECT %s,%s FROM %s %s", t->key, t->columns, t->name, t->rows);
	if (sqlite3_prepare_v2(s->db, sql, -1, &s->rows, NULL) != SQLITE_OK)
		return db_fail(s->db, s->path, s->d, "rows can't be hashed");
	s->ncolumns = sqlite3_column_count(s->rows);
	return 0;
}

static void hash_row(struct scan *s)
{
	struct row_pack p;
	sqlite3_stmt *row = s->rows;

	p.state = s->state;
	p.n = 0;
	for (int i = 1; i < s->ncolumns; i++) {
		int type = sqlite3_column_type(row, i);

		switch (type) {
		case SQLITE_NULL: pack_null(&p); break;
		case SQLITE_INTEGER: pack_int(&p, sqlite3_column_int64(row, i)); break;
		case SQLITE_FLOAT: pack_real(&p, sqlite3_column_double(row, i)); break;
		case SQLITE_TEXT:
			pack_data(&p, true, sqlite3_column_text(row, i),
				  (uint64_t)sqlite3_column_bytes(row, i));
			break;
		default:
			pack_data(&p, false, sqlite3_column_blob(row, i),
				  (uint64_t)sqlite3_column_bytes(row, i));
		}
	}
	pack_flush(&p);
}

static void digest(struct scan *s, XXH128_canonical_t *out)
{
	XXH128_canonicalFromHash(out, XXH3_128bits_digest(s->state));
	XXH3_128bits_reset(s->state);
}

/* Older traces have fewer tables. */
static bool is_in_schema(const struct hashed_table *t, int64_t version)
{
	return version >= 2 || (strcmp(t->name, "launch_sketch") && strcmp(t->name, "image_run"));
}

static int64_t schema_of(sqlite3 *db)
{
	struct diag d = DIAG_INIT;
	int64_t version;

	return db_int(db, "", &d, "PRAGMA user_version", 0, &version) ? 0 : version;
}

/* ---- at close --------------------------------------------------------------- */

struct sealer {
	struct scan scan;
	sqlite3_stmt *insert;
	const char *table;
};

static int insert_hash(struct sealer *s, int64_t first, int64_t last, const XXH128_canonical_t *hash)
{
	sqlite3_bind_text(s->insert, 1, s->table, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s->insert, 2, first);
	sqlite3_bind_int64(s->insert, 3, last);
	sqlite3_bind_blob(s->insert, 4, hash->digest, sizeof(hash->digest), SQLITE_STATIC);
	if (sqlite3_step(s->insert) != SQLITE_DONE)
		return db_fail(s->scan.db, s->scan.path, s->scan.d, "cannot write hashes of rows");
	sqlite3_reset(s->insert);
	return 0;
}

static int insert_group(struct sealer *s, int64_t first, int64_t last)
{
	XXH128_canonical_t hash;

	digest(&s->scan, &hash);
	return insert_hash(s, first, last, &hash);
}

/* The rows that s->scan.rows gives, all of those with keys from `first` to `end`. The groups of a table cover all numbers,
 * so that a row cannot come or go between them either. */
static int seal_rows(struct sealer *s, int64_t first, int64_t end)
{
	int64_t key = first;
	unsigned n = 0;
	int rc = 0, step = SQLITE_DONE;

	while (!rc && (step = sqlite3_step(s->scan.rows)) == SQLITE_ROW) {
		int64_t next = sqlite3_column_int64(s->scan.rows, 0);

		if (n >= ROW_GROUP && next > key) {
			rc = insert_group(s, first, key);
			first = key + 1;
			n = 0;
		}
		key = next;
		hash_row(&s->scan);
		n++;
	}
	if (!rc && step != SQLITE_DONE)
		rc = db_fail(s->scan.db, s->scan.path, s->scan.d, "rows can't be hashed");
	return rc ? rc : insert_group(s, first, end);
}

static int seal_table(struct sealer *s, const struct hashed_table *t)
{
	int rc = prepare(&s->scan, t);

	if (!rc)
		rc = seal_rows(s, INT64_MIN, INT64_MAX);
	sqlite3_finalize(s->scan.rows);
	return rc;
}

/* Most groups were hashed while they were written. */
static int seal_groups(struct sealer *s, const struct hashed_table *t, const struct live_group *g, size_t n)
{
	struct hashed_table range = *t;
	char where[64];
	int rc;

	snprintf(where, sizeof(where), "WHERE %s BETWEEN ? AND ? %s", t->key, t->rows);
	range.rows = where;
	rc = prepare(&s->scan, &range);
	for (size_t i = 0; i < n && !rc; i++) {
		if (!g[i].spoilt) {
			rc = insert_hash(s, g[i].first, g[i].last, &g[i].hash);
			continue;
		}
		sqlite3_bind_int64(s->scan.rows, 1, g[i].first);
		sqlite3_bind_int64(s->scan.rows, 2, g[i].last);
		rc = seal_rows(s, g[i].first, g[i].last);
		sqlite3_reset(s->scan.rows);
	}
	sqlite3_finalize(s->scan.rows);
	return rc;
}

static int seal_tables(struct sealer *s, const struct row_live *live)
{
	int64_t schema = schema_of(s->scan.db);
	int rc = 0;

	if (sqlite3_prepare_v2(s->scan.db, "INSERT INTO row_hash VALUES(?,?,?,?)", -1, &s->insert, NULL) !=
	    SQLITE_OK)
		return db_fail(s->scan.db, s->scan.path, s->scan.d, "cannot write hashes of rows");
	for (size_t i = 0; i < NTABLES && !rc; i++) {
		const struct hashed_table *t = &tables[i];
		const struct live_group *groups = NULL;
		size_t n;

		s->table = t->name;
		if (live && t->live)
			groups = row_live_groups(live, t->live, &n);
		if (groups)
			rc = seal_groups(s, t, groups, n);
		else if (is_in_schema(t, schema))
			rc = seal_table(s, t);
	}
	sqlite3_finalize(s->insert);
	return rc;
}

int row_hash_write(sqlite3 *db, const char *path, const struct row_live *live, struct diag *d)
{
	struct sealer s = {.scan = {.db = db, .path = path, .d = d, .state = XXH3_createState()}};
	int rc;

	if (!s.scan.state)
		return diag_set(d, CUTRACE_ENOMEM, path, "out of memory");
	XXH3_128bits_reset(s.scan.state);
	rc = db_exec(
		db, path, d,
		"BEGIN IMMEDIATE; DROP TABLE IF EXISTS row_hash;"
		"CREATE TABLE row_hash (tbl TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,"
		" hash BLOB NOT NULL, PRIMARY KEY (tbl, first)) WITHOUT ROWID");
	if (!rc)
		rc = seal_tables(&s, live);
	if (!rc)
		rc = db_exec(db, path, d, "COMMIT");
	XXH3_freeState(s.scan.state);
	return rc;
}

/* ---- when read -------------------------------------------------------------- */

struct verifier {
	struct scan scan;
	sqlite3_stmt *groups;
	const char *table;
	int64_t first, last;         /* the group at hand */
	int64_t first_row, last_row; /* that were there in it */
	bool any;
	uint8_t hash[16];
	int64_t rows, done;
	void (*progress)(void *ctx, int permille);
	void *ctx;
};

static int damaged(struct verifier *v)
{
	char rows[64] = "a row that was there is gone";

	if (v->any && v->first_row != v->last_row)
		snprintf(rows, sizeof(rows), "rows %lld to %lld are not", (long long)v->first_row,
			 (long long)v->last_row);
	else if (v->any)
		snprintf(rows, sizeof(rows), "row %lld is not", (long long)v->first_row);
	diag_set(v->scan.d, CUTRACE_ECORRUPT, v->scan.path, "the trace is damaged: table %s, %s%s", v->table,
		 rows, v->any ? " as recorded" : "");
	diag_hint(v->scan.d, "copy it again from where it was recorded; who changed rows on purpose removes "
			     "their hashes: DELETE FROM row_hash");
	return CUTRACE_ECORRUPT;
}

static int groups_damaged(struct verifier *v)
{
	diag_set(v->scan.d, CUTRACE_ECORRUPT, v->scan.path,
		 "the trace is damaged: table row_hash, which has the hashes of table %s", v->table);
	diag_hint(v->scan.d, "copy it again from where it was recorded");
	return CUTRACE_ECORRUPT;
}

/* Groups follow each other without a gap, from the least number on. */
static int next_group(struct verifier *v, bool is_first)
{
	int64_t expected = is_first ? INT64_MIN : v->last + 1;

	if (!is_first && v->last == INT64_MAX)
		return groups_damaged(v);
	if (sqlite3_step(v->groups) != SQLITE_ROW || sqlite3_column_bytes(v->groups, 2) != sizeof(v->hash) ||
	    sqlite3_column_int64(v->groups, 0) != expected || sqlite3_column_int64(v->groups, 1) < expected)
		return groups_damaged(v);
	v->first = expected;
	v->last = sqlite3_column_int64(v->groups, 1);
	memcpy(v->hash, sqlite3_column_blob(v->groups, 2), sizeof(v->hash));
	v->any = false;
	return 0;
}

static int end_group(struct verifier *v)
{
	XXH128_canonical_t hash;

	digest(&v->scan, &hash);
	return memcmp(hash.digest, v->hash, sizeof(v->hash)) ? damaged(v) : 0;
}

static int verify_row(struct verifier *v)
{
	int64_t key = sqlite3_column_int64(v->scan.rows, 0);
	int rc = 0;

	while (key > v->last && !rc) {
		rc = end_group(v);
		if (!rc)
			rc = next_group(v, false);
	}
	if (rc)
		return rc;
	if (!v->any)
		v->first_row = key;
	v->last_row = key;
	v->any = true;
	hash_row(&v->scan);
	if (v->progress && !(++v->done & 0xffff))
		v->progress(v->ctx, (int)(v->done * 1000 / (v->rows > v->done ? v->rows : v->done)));
	return 0;
}

/* Behind the last row there may be groups that have lost all theirs. */
static int verify_end(struct verifier *v)
{
	int rc = end_group(v);

	while (!rc && v->last != INT64_MAX) {
		rc = next_group(v, false);
		if (!rc)
			rc = end_group(v);
	}
	return rc ? rc : sqlite3_step(v->groups) == SQLITE_DONE ? 0 : groups_damaged(v);
}

static int verify_table(struct verifier *v, const struct hashed_table *t)
{
	int rc = prepare(&v->scan, t), step = SQLITE_DONE;

	v->table = t->name;
	sqlite3_reset(v->groups);
	sqlite3_bind_text(v->groups, 1, t->name, -1, SQLITE_STATIC);
	if (!rc)
		rc = next_group(v, true);
	while (!rc && (step = sqlite3_step(v->scan.rows)) == SQLITE_ROW)
		rc = verify_row(v);
	if (!rc && step != SQLITE_DONE)
		rc = db_fail(v->scan.db, v->scan.path, v->scan.d, "cannot read the trace");
	sqlite3_finalize(v->scan.rows);
	v->scan.rows = NULL;
	return rc ? rc : verify_end(v);
}

static bool has_table(sqlite3 *db)
{
	sqlite3_stmt *s = NULL;
	bool yes = false;

	if (sqlite3_prepare_v2(db, "SELECT EXISTS (SELECT 1 FROM row_hash)", -1, &s, NULL) == SQLITE_OK)
		yes = sqlite3_step(s) == SQLITE_ROW && sqlite3_column_int(s, 0);
	sqlite3_finalize(s);
	return yes;
}

bool trace_has_row_hashes(struct trace *t)
{
	return t->closed && has_table(t->db);
}

static int verify_tables(struct verifier *v)
{
	int rc = db_int(v->scan.db, v->scan.path, v->scan.d, "SELECT max(id) FROM call", 0, &v->rows);

	if (rc)
		return rc;
	if (sqlite3_prepare_v2(v->scan.db, "SELECT first,last,hash FROM row_hash WHERE tbl=? ORDER BY first",
			       -1, &v->groups, NULL) != SQLITE_OK)
		return db_fail(v->scan.db, v->scan.path, v->scan.d, "cannot read hashes of rows");
	for (size_t i = 0; i < NTABLES && !rc; i++)
		if (is_in_schema(&tables[i], schema_of(v->scan.db)))
			rc = verify_table(v, &tables[i]);
	sqlite3_finalize(v->groups);
	return rc;
}

int trace_check_rows(struct trace *t, void (*progress)(void *ctx, int permille), void *ctx, struct diag *d)
{
	struct verifier v = {
		.scan = {.db = t->db, .path = t->path, .d = d}, .progress = progress, .ctx = ctx};
	int rc;

	if (!trace_has_row_hashes(t))
		return 0;
	v.scan.state = XXH3_createState();
	if (!v.scan.state)
		return diag_set(d, CUTRACE_ENOMEM, t->path, "out of memory");
	XXH3_128bits_reset(v.scan.state);
	rc = verify_tables(&v);
	XXH3_freeState(v.scan.state);
	return rc;
}
