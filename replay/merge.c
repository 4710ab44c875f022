/* SPDX-License-Identifier: Apache-2.0
 *
 * Results of shards as one result: of the processes of `replay --isolated -j N`, and of machines that replayed a shard
 * each (`cutrace merge-results`).
 */
#include <getopt.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/engine.h"

/* Rows of one call are in one shard only; what every shard says is taken once. Launches add up, the calls that each
 * had to make before its own do not. */
static const char merge_sql[] =
	"CREATE INDEX IF NOT EXISTS diagnostic_call ON diagnostic (process, call, message);"
	"INSERT INTO store SELECT NULL, process, (SELECT coalesce(max(id), 0) FROM verdict) + verdict, how, launch, "
	"kernel_name, line, text, source, block, thread, note FROM shard.store;"
	"INSERT INTO verdict SELECT (SELECT coalesce(max(id), 0) FROM verdict) + v.id, v.pass, v.process, "
	"v.call, v.kind, v.grade, v.func, v.launch, v.kernel, v.kernel_name, v.allocation, v.base, v.bytes, "
	"v.elem_type, v.elements, v.differing, v.beyond, v.max_ulp, v.max_abs, v.max_rel, v.first, "
	"v.byte_offset, v.address, v.live, v.want, v.got, v.note, v.line, v.text, v.source, v.block, "
	"v.thread, v.wrong_line, v.wrong_ptx, v.wrong_source, v.wrong_operands, v.wrong_want, v.wrong_got, "
	"v.wrong_thread, v.wrong_how, v.inherited FROM shard.verdict v;"
	"INSERT INTO diagnostic SELECT NULL, d.pass, d.process, d.call, d.severity, d.message "
	"FROM shard.diagnostic d WHERE NOT EXISTS (SELECT 1 FROM diagnostic o WHERE o.pass = d.pass AND "
	"o.process = d.process AND o.call IS d.call AND o.message = d.message);"
	"INSERT INTO allocation SELECT * FROM shard.allocation EXCEPT SELECT * FROM allocation;"
	"INSERT INTO count SELECT pass, process, what, n FROM shard.count WHERE true ON CONFLICT DO UPDATE "
	"SET n = CASE WHEN what IN ('launches', 'launches_refused', 'launches_left_out', "
	"'launches_injected', 'written', 'hashes', 'faults') THEN n + excluded.n ELSE max(n, excluded.n) END;"
	"INSERT INTO done SELECT * FROM shard.done;"
	"INSERT OR REPLACE INTO meta SELECT * FROM shard.meta WHERE key NOT IN ('shard', 'interrupted');";

static int attach(sqlite3 *db, const char *path)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, "ATTACH ? AS shard", -1, &st, NULL);

	if (rc == SQLITE_OK) {
		sqlite3_bind_text(st, 1, path, -1, SQLITE_STATIC);
		rc = sqlite3_step(st) == SQLITE_DONE ? SQLITE_OK : SQLITE_ERROR;
	}
	sqlite3_finalize(st);
	return rc;
}

int result_merge(struct result_db *r, const char *path, struct diag *d)
{
	sqlite3 *db = result_sqlite(r);
	int rc;

	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	rc = attach(db, path);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, merge_sql, NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		diag_set(d, CUTRACE_EIO, path, "its results can't be taken over: %s", sqlite3_errmsg(db));
	sqlite3_exec(db, rc == SQLITE_OK ? "COMMIT" : "ROLLBACK", NULL, NULL, NULL);
	sqlite3_exec(db, "DETACH shard", NULL, NULL, NULL);
	sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : CUTRACE_EIO;
}

/* ---- cutrace merge-results ------------------------------------------------------------- */

static const char merge_help[] =
	"usage: cutrace merge-results -o FILE RESULT... [OPTIONS]\n\n"
	"Makes one result of those of all shards of a replay (cutrace replay --shard I/N\n"
	"-o RESULT), and reports it as cutrace replay does.\n\n"
	"  -o, --output FILE    the merged result; it may overwrite an earlier result, nothing else\n"
	"  --json               the report as JSON\n"
	"  --verbose            every comparison, every remark\n"
	"  -q, --quiet          no report, only the exit status\n"
	"  -h, --help           this text\n\n"
	"Exit status: as of the whole replay; 125 when shards are missing, or are of different replays.\n";

struct merge_options {
	const char *output;
	char **inputs;
	int n;
	bool json, verbose, quiet;
};

/* Which shard each result is. */
struct identity {
	struct result_db *db;
	unsigned shard, shards;
};

static int identify(const char *path, struct identity *id, struct diag *d)
{
	char shard[32];
	int rc;

	if (access(path, R_OK))
		return diag_set(d, CUTRACE_ENOENT, path, "there is no such result");
	rc = result_open(&id->db, path, false, d);
	if (rc)
		return rc;
	result_meta_text(id->db, "shard", shard, sizeof(shard));
	if (sscanf(shard, "%u/%u", &id->shard, &id->shards) != 2)
		return diag_set(d, CUTRACE_EINVAL, path, "this is not the result of a shard");
	return 0;
}

/* But for the shard, of which the number of all is the same. */
static int check_same(const struct merge_options *o, const struct identity *ids, int k, struct diag *d)
{
	const struct result_key *key = result_keys;
	char a[512] = "", b[512] = "";

	for (; key->key; key++) {
		if (!strcmp(key->key, "shard"))
			continue;
		result_meta_text(ids[0].db, key->key, a, sizeof(a));
		result_meta_text(ids[k].db, key->key, b, sizeof(b));
		if (strcmp(a, b))
			return diag_set(d, CUTRACE_EINVAL, o->inputs[k],
					"it is of another replay than %s: its %s is '%s', not '%s'",
					o->inputs[0], key->what, b, a);
	}
	if (ids[0].shards == ids[k].shards)
		return 0;
	return diag_set(d, CUTRACE_EINVAL, o->inputs[k], "it is one of %u shards, and %s of %u",
			ids[k].shards, o->inputs[0], ids[0].shards);
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The k-th result: of the same replay as those before it, and another shard. */
static int check_shard(const struct merge_options *o, struct identity *ids, int k, struct diag *d)
{
	int rc = identify(o->inputs[k], &ids[k], d);

	if (rc)
		return rc;
	if (same_file(o->inputs[k], o->output)) /* which is removed before it is made anew */
		return diag_set(d, CUTRACE_EINVAL, o->output, "this is one of the results to merge");
	rc = check_same(o, ids, k, d);
	if (k) { /* there may be very many; the first is compared with all */
		result_close(ids[k].db);
		ids[k].db = NULL;
	}
	if (rc)
		return rc;
	for (int j = 0; j < k; j++)
		if (ids[j].shard == ids[k].shard)
			return diag_set(d, CUTRACE_EINVAL, o->inputs[k], "shard %u is already %s",
					ids[k].shard, o->inputs[j]);
	return 0;
}

/* Each shard once. */
static int check_shards(const struct merge_options *o, struct diag *d)
{
	struct identity *ids = calloc((size_t)o->n, sizeof(*ids));
	int rc = ids ? 0 : diag_set(d, CUTRACE_ENOMEM, "", "out of memory");

	for (int k = 0; k < o->n && !rc; k++) {
		rc = check_shard(o, ids, k, d);
		if (!rc && (unsigned)o->n != ids[0].shards)
			rc = diag_set(d, CUTRACE_EINVAL, o->inputs[0],
				      "it is one of %u shards, and %d were named", ids[0].shards, o->n);
	}
	for (int k = 0; ids && k < o->n; k++)
		result_close(ids[k].db);
	free(ids);
	return rc;
}

/* In their order, into a new file, which is not there when that fails: a part would look like the whole. */
static int merge_all(const struct merge_options *o, struct result_db **db, struct diag *d)
{
	int rc = result_check_target(o->output, d);

	if (rc)
		return rc;
	unlink(o->output);
	rc = result_open(db, o->output, true, d);
	for (int k = 0; k < o->n && !rc; k++)
		rc = result_merge(*db, o->inputs[k], d);
	if (rc) {
		result_close(*db);
		*db = NULL;
		unlink(o->output);
	}
	return rc;
}

static int parse_merge(struct merge_options *o, int argc, char **argv, struct diag *d)
{
	static const struct option longs[] = {
		{"output", required_argument, NULL, 'o'}, {"json", no_argument, NULL, 'j'},
		{"verbose", no_argument, NULL, 'v'},      {"quiet", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
	};
	int c;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "o:qh", longs, NULL)) != -1) {
		switch (c) {
		case 'o': o->output = optarg; break;
		case 'j': o->json = true; break;
		case 'v': o->verbose = true; break;
		case 'q': o->quiet = true; break;
		case 'h': fputs(merge_help, stdout); return 1;
		default:
			return diag_set(d, CUTRACE_EINVAL, "cutrace merge-results",
					"unknown option, or one without its value: %s", argv[optind - 1]);
		}
	}
	o->inputs = argv + optind;
	o->n = argc - optind;
	return o->output && o->n ? 0
				 : diag_set(d, CUTRACE_EINVAL, "cutrace merge-results",
					    "name the merged result (-o FILE) and the results of all shards");
}

int cmd_merge_results(int argc, char **argv)
{
	struct merge_options o = {0};
	struct diag d = DIAG_INIT;
	struct result_db *db = NULL;
	int status, rc = parse_merge(&o, argc, argv, &d);

	if (rc) {
		if (rc < 0)
			diag_print(&d, stderr);
		return rc < 0 ? REPLAY_USAGE : REPLAY_MATCH;
	}
	rc = check_shards(&o, &d);
	if (!rc)
		rc = merge_all(&o, &db, &d);
	if (rc) {
		diag_print(&d, stderr);
		return REPLAY_COULD_NOT;
	}
	status = report_status(result_sqlite(db));
	if (o.json)
		report_json(result_sqlite(db), stdout);
	else if (!o.quiet)
		report_text(result_sqlite(db), stdout, o.verbose);
	result_close(db);
	return status;
}
