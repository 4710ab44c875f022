/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target: puts wrong values into the sample trace, in rows and in the file's bytes, and runs dump and
 * info over it. A sanitizer is the judge; the last changes are printed when it fails.
 *
 *   fuzz_trace SECONDS [SEED]
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dump/dump.h"
#include "sample.h"

#define MAX_COLUMNS 512

static struct column {
	char table[40], name[40];
} columns[MAX_COLUMNS];
static unsigned ncolumns;

static char folder[256], good[300], bad[300], changes[2000];
static int real_stderr;

extern void __sanitizer_set_report_fd(void *fd) __attribute__((weak));
extern void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void on_death(void)
{
	dprintf(real_stderr, "fuzz_trace: after %s\n", changes);
}

static void find_columns(void)
{
	sqlite3_stmt *s;
	sqlite3 *db;

	if (sqlite3_open(good, &db) || sqlite3_prepare_v2(db,
							  "SELECT m.name, c.name FROM sqlite_master m, "
							  "pragma_table_info(m.name) c WHERE m.type='table'",
							  -1, &s, NULL))
		abort();
	while (sqlite3_step(s) == SQLITE_ROW && ncolumns < MAX_COLUMNS) {
		struct column *c = &columns[ncolumns++];

		snprintf(c->table, sizeof(c->table), "%s", sqlite3_column_text(s, 0));
		snprintf(c->name, sizeof(c->name), "%s", sqlite3_column_text(s, 1));
	}
	sqlite3_finalize(s);
	sqlite3_close(db);
}

static void copy_file(void)
{
	static char buf[1 << 20];
	FILE *in = fopen(good, "rb"), *out = fopen(bad, "wb");
	size_t n;

	if (!in || !out)
		abort();
	while ((n = fread(buf, 1, sizeof(buf), in)))
		fwrite(buf, 1, n, out);
	fclose(in);
	fclose(out);
}

static void change_rows(void)
{
	static const char *const values[] = {"NULL",
					     "0",
					     "1",
					     "-1",
					     "2",
					     "17",
					     "9223372036854775807",
					     "-9223372036854775807-1",
					     "4294967295",
					     "4294967296",
					     "1e300",
					     "''",
					     "'x'",
					     "'cuLaunchKernel'",
					     "'cuMemcpy3D_v2'",
					     "'cuGraphAddNode_v2'",
					     "'cuPointerGetAttributes'",
					     "zeroblob(3)",
					     "zeroblob(100)",
					     "randomblob(16)",
					     "randomblob(200)",
					     "'b8'",
					     "'f64'",
					     "'global'",
					     "hex(randomblob(300))",
					     "140724603457536",
					     "140724603457792",
					     "abs(random())%1000"};
	const unsigned nvalues = sizeof(values) / sizeof(values[0]);
	unsigned n = 1 + (unsigned)rand() % 4;
	sqlite3 *db;

	if (sqlite3_open(bad, &db))
		abort();
	if (rand() % 4) { /* else the changed rows are refused before anything looks at them */
		snprintf(changes, sizeof(changes), "DROP TABLE IF EXISTS row_hash; ");
		sqlite3_exec(db, changes, NULL, NULL, NULL);
	}
	while (n--) {
		const struct column *c = &columns[(unsigned)rand() % ncolumns];
		char sql[300];

		snprintf(sql, sizeof(sql), "UPDATE OR IGNORE \"%s\" SET \"%s\"=%s WHERE abs(random())%%3=0; ",
			 c->table, c->name, values[(unsigned)rand() % nvalues]);
		strncat(changes, sql, sizeof(changes) - strlen(changes) - 1);
		sqlite3_exec(db, sql, NULL, NULL, NULL);
	}
	sqlite3_close(db);
}

static void change_bytes(void)
{
	FILE *f = fopen(bad, "r+b");
	unsigned n = 1 + (unsigned)rand() % 20;
	long size;

	if (!f)
		abort();
	fseek(f, 0, SEEK_END);
	size = ftell(f);
	snprintf(changes, sizeof(changes), "%u bytes at random", n);
	while (n--) {
		fseek(f, 100 + rand() % (size - 100), SEEK_SET);
		fputc(rand(), f);
	}
	fclose(f);
}

static int discard; /* stdout and stderr of the commands */

static void run(int (*command)(int, char **), int argc, char **argv)
{
	dup2(discard, 2);
	command(argc, argv);
	fflush(stderr);
	dup2(real_stderr, 2);
}

#define RUN(command, ...) \
	run(command, (int)(sizeof((char *[]){__VA_ARGS__}) / sizeof(char *)), (char *[]){__VA_ARGS__, NULL})

static void read_everything(void)
{
	char modules[300];

	snprintf(modules, sizeof(modules), "%s/modules", folder);
	RUN(cmd_dump, "dump", bad);
	RUN(cmd_dump, "dump", "--json", "--stable", bad);
	RUN(cmd_dump, "dump", "--verify", bad);
	RUN(cmd_info, "info", "--check", bad);
	RUN(cmd_info, "info", "--json", bad);
	RUN(cmd_dump, "dump", "--payload=9", "--type=f32", bad);
	RUN(cmd_dump, "dump", "--modules", modules, bad);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : (unsigned)time(NULL), runs = 0;
	int real_stdout = dup(1);

	srand(seed);
	real_stderr = dup(2);
	discard = open("/dev/null", O_WRONLY);
	dup2(discard, 1);
	if (__sanitizer_set_report_fd)
		__sanitizer_set_report_fd((void *)(long)real_stderr);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(on_death);
	make_folder(folder, sizeof(folder));
	snprintf(good, sizeof(good), "%s/good.trace", folder);
	snprintf(bad, sizeof(bad), "%s/bad.trace", folder);
	sample_write(good);
	find_columns();
	for (; time(NULL) < end; runs++) {
		changes[0] = '\0';
		copy_file();
		if (rand() % 3)
			change_rows();
		else
			change_bytes();
		read_everything();
	}
	remove_folder(folder);
	dprintf(real_stdout, "fuzz_trace: %u traces, seed %u\n", runs, seed);
	return 0;
}
