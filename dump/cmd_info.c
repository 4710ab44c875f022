/* SPDX-License-Identifier: Apache-2.0
 * cutrace info: two printers over the tables of info.h. */
#include <ctype.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>

#include "dump/dump.h"
#include "dump/info.h"
#include "dump/json.h"
#include "dump/row.h"

#define TEXT_ROWS 20u

static const char usage[] =
	"usage: cutrace info [options] FILE\n"
	"\n"
	"Says what a trace has: the program and the machine, devices, numbers of calls, kernels by launches,\n"
	"errors, and what is incomplete. A finished trace has hashes of its rows; they are verified first.\n"
	"\n"
	"  --json      everything as one JSON object\n"
	"  --all       whole tables; without it their first 20 rows\n"
	"  --check     verifies the rest too: the file's structure, references, hashes of all contents\n"
	"  --finish    for a recording that was cut off: first packs FILE and what lies beside it (FILE-wal,\n"
	"              FILE-payload) into one finished file\n"
	"  -h, --help  this text\n"
	"\n"
	"Exit status: 0, 2 wrong usage, 125 the trace can't be read or is damaged.\n";

static void format_cell(const struct info_cell *c, char *buf, size_t n)
{
	switch (c->kind) {
	case INFO_NULL: snprintf(buf, n, "-"); break;
	case INFO_INT: snprintf(buf, n, "%" PRId64, c->i); break;
	case INFO_REAL: snprintf(buf, n, "%.3f", c->real); break;
	case INFO_TEXT: snprintf(buf, n, "%s", c->text); break;
	}
	for (; *buf; buf++)
		if (iscntrl((unsigned char)*buf) && *buf != '\n' && *buf != '\t')
			*buf = '?'; /* no business of the terminal's */
}

static int column_width(const struct info_table *t, unsigned column)
{
	size_t width = strlen(t->columns[column]);
	char buf[512];
	unsigned i;

	for (i = 0; i < t->nrows; i++) {
		format_cell(&t->rows[i][column], buf, sizeof(buf));
		width = strlen(buf) > width ? strlen(buf) : width;
	}
	return (int)(width < 60 ? width : 60);
}

static bool is_text_column(const struct info_table *t, unsigned column)
{
	unsigned i;

	for (i = 0; i < t->nrows; i++)
		if (t->rows[i][column].kind == INFO_TEXT)
			return true;
	return false;
}

/* Text to the left, numbers to the right, nothing after the last column. */
static void print_cell(const struct info_table *t, unsigned column, const char *text, const int *width)
{
	int at = 2;
	unsigned i;

	if (!is_text_column(t, column)) {
		printf("  %*s", width[column], text);
	} else if (column < t->ncolumns - 1) {
		printf("  %-*s", width[column], text);
	} else {
		for (i = 0; i < column; i++)
			at += width[i] + 2;
		fputs("  ", stdout);
		print_continued(stdout, text, at);
	}
}

static void print_table(const struct info_table *t)
{
	int width[INFO_MAX_COLUMNS];
	char buf[4096];
	unsigned i, k;

	printf("\n%s\n", t->title);
	for (k = 0; k < t->ncolumns; k++)
		width[k] = column_width(t, k);
	for (k = 0; k < t->ncolumns; k++)
		print_cell(t, k, t->columns[k], width);
	putchar('\n');
	for (i = 0; i < t->nrows; i++) {
		for (k = 0; k < t->ncolumns; k++) {
			format_cell(&t->rows[i][k], buf, sizeof(buf));
			print_cell(t, k, buf, width);
		}
		putchar('\n');
	}
	if (t->more)
		puts("  ... more: --all");
}

/* One row of facts, or key and value: a list. */
static void print_facts(const struct info_table *t, bool pairs)
{
	char buf[4096], key[256];
	unsigned i, n = pairs ? t->nrows : t->ncolumns;

	printf("\n%s\n", t->title);
	for (i = 0; i < n; i++) {
		format_cell(pairs ? &t->rows[i][1] : &t->rows[0][i], buf, sizeof(buf));
		if (pairs)
			format_cell(&t->rows[i][0], key, sizeof(key));
		printf("  %-16s %s\n", pairs ? key : t->columns[i], buf);
	}
}

/* What is known of the file as a whole, in one or two lines. */
static void print_state(const struct info *info)
{
	printf("%s: %" PRId64 " bytes, ", info->file, info->file_bytes);
	if (!info->closed)
		puts("INCOMPLETE: the recording was not closed; this is what it had written (--finish packs "
		     "it)");
	else if (!info->cut_off)
		puts(info->has_row_hashes ? "complete, rows verified"
					  : "complete; rows not verified: it has no hashes of them (an "
					    "earlier cutrace made it)");
	else
		printf("INCOMPLETE: cut off after call %" PRIu64 ", packed later (--finish)%s\n",
		       info->last_call, info->has_row_hashes ? ", rows verified" : "");
	if (info->cut_off)
		printf("  %s\n", info->cut_off);
	if (info->errors)
		printf("  the recorder reported %" PRId64 " error%s: see its messages below\n", info->errors,
		       info->errors == 1 ? "" : "s");
}

static void print_text_info(const struct info *info)
{
	unsigned i;

	print_state(info);
	for (i = 0; i < info->ntables; i++) {
		const struct info_table *t = &info->tables[i];

		if (!t->nrows)
			continue;
		if (strcmp(t->key, "recording") == 0 || strcmp(t->key, "counts") == 0)
			print_facts(t, strcmp(t->key, "recording") == 0);
		else
			print_table(t);
	}
}

static void put_cell(struct json *j, const struct info_cell *c)
{
	switch (c->kind) {
	case INFO_NULL: json_null(j); break;
	case INFO_INT: json_int(j, c->i); break;
	case INFO_REAL: json_double(j, c->real, 15); break;
	case INFO_TEXT: json_text(j, c->text); break;
	}
}

static void put_row(struct json *j, const struct info_table *t, unsigned i)
{
	unsigned k;

	json_begin(j, '{');
	for (k = 0; k < t->ncolumns; k++) {
		json_key(j, t->columns[k]);
		put_cell(j, &t->rows[i][k]);
	}
	json_end(j, '}');
}

static void put_table(struct json *j, const struct info_table *t)
{
	unsigned i;

	json_key(j, t->key);
	if (strcmp(t->key, "counts") == 0) {
		put_row(j, t, 0);
	} else if (strcmp(t->key, "recording") == 0) {
		json_begin(j, '{');
		for (i = 0; i < t->nrows; i++) {
			json_key(j, t->rows[i][0].kind == INFO_TEXT ? t->rows[i][0].text : "?");
			put_cell(j, &t->rows[i][1]);
		}
		json_end(j, '}');
	} else {
		json_begin(j, '[');
		for (i = 0; i < t->nrows; i++)
			put_row(j, t, i);
		json_end(j, ']');
	}
}

static void print_json_info(const struct info *info)
{
	struct json j = {.out = stdout};
	unsigned i;

	json_begin(&j, '{');
	json_key_text(&j, "file", info->file);
	json_key_int(&j, "file_bytes", info->file_bytes);
	json_key(&j, "complete");
	json_bool(&j, info->closed && !info->cut_off);
	json_key(&j, "cut_off");
	if (info->cut_off)
		json_text(&j, info->cut_off);
	else
		json_null(&j);
	json_key(&j, "rows_verified");
	json_bool(&j, info->has_row_hashes);
	for (i = 0; i < info->ntables; i++)
		put_table(&j, &info->tables[i]);
	json_end(&j, '}');
	json_line(&j);
}

struct info_options {
	bool json, all, check, finish, help;
	const char *file;
};

static int parse(struct info_options *o, int argc, char **argv, struct diag *d)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, 'j'},  {"all", no_argument, NULL, 'a'},
		{"check", no_argument, NULL, 'c'}, {"finish", no_argument, NULL, 'f'},
		{"help", no_argument, NULL, 'h'},  {NULL, 0, NULL, 0},
	};
	int option;

	optind = 0; /* glibc: start over */
	opterr = 0;
	while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (option) {
		case 'j': o->json = true; break;
		case 'a': o->all = true; break;
		case 'c': o->check = true; break;
		case 'f': o->finish = true; break;
		case 'h': o->help = true; break;
		default:
			return diag_set(d, CUTRACE_EINVAL, "cutrace info", "unknown option %s",
					argv[optind - 1]);
		}
	}
	o->file = optind == argc - 1 ? argv[optind] : NULL;
	return o->help || o->file ? 0 : diag_set(d, CUTRACE_EINVAL, "cutrace info", "name one trace file");
}

static int show(const struct info_options *o, struct trace *t, struct diag *d)
{
	struct info info;
	int rc = o->check ? trace_check(t, NULL, NULL, d) : trace_check_rows(t, NULL, NULL, d);

	if (rc)
		return rc;
	rc = info_gather(&info, t, o->file, o->all || o->json ? 0 : TEXT_ROWS, d);
	if (!rc && o->json)
		print_json_info(&info);
	else if (!rc)
		print_text_info(&info);
	if (!rc && o->check && !o->json)
		puts("\nChecked: structure, references and hashes are right.");
	info_free(&info);
	return rc;
}

int cmd_info(int argc, char **argv)
{
	struct info_options o = {0};
	struct diag d = DIAG_INIT;
	struct trace *t;
	int rc;

	if (parse(&o, argc, argv, &d)) {
		diag_print(&d, stderr);
		fputs("  cutrace info --help lists the options\n", stderr);
		return DUMP_USAGE;
	}
	if (o.help) {
		fputs(usage, stdout);
		return dump_finish_output("info");
	}
	rc = o.finish ? trace_finish(o.file, &d) : 0;
	if (!rc)
		rc = trace_open(&t, o.file, &d);
	if (!rc) {
		rc = show(&o, t, &d);
		trace_close(t);
	}
	if (rc) {
		diag_print(&d, stderr);
		return DUMP_CANNOT;
	}
	return dump_finish_output("info");
}
