/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace cache: what is compiled already, on disk.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/compile.h"
#include "dump/json.h"
#include "zluda_core/compiler/cache.h"

enum { EXIT_OK = 0, EXIT_DAMAGED = 1, EXIT_USAGE = 2, EXIT_COULD_NOT = 125 };

static const char usage[] =
	"usage: cutrace cache [info | list | verify | clear] [--json]\n\n"
	"The cache of code objects that AMD devices and `cutrace compile` share: one SQLite file a user.\n\n"
	"  info    where it is, how large, how much is in it (the default)\n"
	"  list    every entry: kernel, target, size, when it was made and used\n"
	"  verify  checks the file and the hash of every entry, and removes what is damaged\n"
	"  clear   removes all entries\n"
	"  --json  JSON: one object, of list one object a line\n\n"
	"CUTRACE_CACHE=DIR sets another place (else XDG_CACHE_HOME/cutrace or ~/.cache/cutrace), CUTRACE_CACHE=off\n"
	"turns it off. CUTRACE_CACHE_SIZE=500M sets the limit (1G); beyond it what was used longest ago goes.\n\n"
	"Exit status: 0, 1 verify found damage, 2 wrong usage, 125 could not.\n";

struct command {
	struct cache *cache;
	bool json;
	uint64_t entries, damaged;
};

static int could_not(const struct diag *d)
{
	diag_print(d, stderr);
	return EXIT_COULD_NOT;
}

static const char *date(int64_t t, char *buf, size_t room)
{
	time_t when = (time_t)t;
	struct tm tm;

	if (!t || !localtime_r(&when, &tm) || !strftime(buf, room, "%Y-%m-%d %H:%M", &tm))
		snprintf(buf, room, "-");
	return buf;
}

static void print_info(const struct cache_info *i)
{
	char a[32], b[32];

	printf("file     %s\nsize     %.1f MB of at most %.1f MB\nentries  %" PRIu64 " (%" PRIu64
	       " kernels, %.1f MB)\n"
	       "used     %s to %s\n",
	       i->path, (double)i->file_bytes / 1e6, (double)i->limit_bytes / 1e6, i->entries, i->kernels,
	       (double)i->data_bytes / 1e6, date(i->oldest, a, sizeof(a)), date(i->newest, b, sizeof(b)));
}

static void print_info_json(const struct cache_info *i)
{
	struct json j = {.out = stdout};

	json_begin(&j, '{');
	json_key_text(&j, "path", i->path);
	json_key_uint(&j, "file_bytes", i->file_bytes);
	json_key_uint(&j, "limit_bytes", i->limit_bytes);
	json_key_uint(&j, "entries", i->entries);
	json_key_uint(&j, "kernels", i->kernels);
	json_key_uint(&j, "data_bytes", i->data_bytes);
	json_key_int(&j, "oldest_use", i->oldest);
	json_key_int(&j, "newest_use", i->newest);
	json_end(&j, '}');
	json_line(&j);
}

static int run_info(struct command *c)
{
	struct diag d = DIAG_INIT;
	struct cache_info i;

	if (cache_info(c->cache, &i, &d))
		return could_not(&d);
	if (c->json)
		print_info_json(&i);
	else
		print_info(&i);
	return EXIT_OK;
}

static const char *kind_name(enum cache_kind k)
{
	return k == CACHE_LINES ? "disassembly" : "code object";
}

static void print_entry(void *ctx, const struct cache_entry *e)
{
	const struct command *c = ctx;
	struct json j = {.out = stdout};
	char a[32], b[32];

	if (!c->json) {
		printf("%-40.80s %-15s %-11s %9" PRIu64 "  %-16s  %s\n", e->kernel[0] ? e->kernel : "-",
		       e->target, kind_name(e->kind), e->bytes, date(e->made, a, sizeof(a)),
		       date(e->used, b, sizeof(b)));
		return;
	}
	json_begin(&j, '{');
	json_key_text(&j, "kernel", e->kernel);
	json_key_text(&j, "target", e->target);
	json_key_text(&j, "kind", kind_name(e->kind));
	json_key_uint(&j, "bytes", e->bytes);
	json_key_text(&j, "options", e->options);
	json_key_text(&j, "compiler", e->build);
	json_key_int(&j, "made", e->made);
	json_key_int(&j, "used", e->used);
	json_end(&j, '}');
	json_line(&j);
}

static int run_list(struct command *c)
{
	struct diag d = DIAG_INIT;

	if (!c->json)
		printf("%-40s %-15s %-11s %9s  %-16s  %s\n", "kernel", "target", "kind", "bytes", "made",
		       "used");
	return cache_list(c->cache, print_entry, c, &d) ? could_not(&d) : EXIT_OK;
}

static void count_entry(void *ctx, const struct cache_entry *e)
{
	struct command *c = ctx;

	c->entries++;
	c->damaged += !e->intact;
}

static int run_verify(struct command *c)
{
	struct json j = {.out = stdout};
	struct diag d = DIAG_INIT;
	int rc = cache_verify(c->cache, count_entry, c, &d);

	if (rc && rc != CUTRACE_ECORRUPT)
		return could_not(&d);
	if (rc)
		diag_print(&d, stderr);
	if (c->json) {
		json_begin(&j, '{');
		json_key_uint(&j, "entries", c->entries);
		json_key_uint(&j, "damaged", c->damaged);
		json_key(&j, "file_damaged");
		json_bool(&j, rc != 0);
		json_end(&j, '}');
		json_line(&j);
	} else if (!rc) {
		printf("%" PRIu64 " entries, %" PRIu64 " damaged%s\n", c->entries, c->damaged,
		       c->damaged ? " and removed" : "");
	}
	return rc || c->damaged ? EXIT_DAMAGED : EXIT_OK;
}

static int run_clear(struct command *c)
{
	struct diag d = DIAG_INIT;

	return cache_clear(c->cache, &d) ? could_not(&d) : EXIT_OK;
}

static const struct {
	const char *name;
	int (*run)(struct command *c);
} subcommands[] = {{"info", run_info}, {"list", run_list}, {"verify", run_verify}, {"clear", run_clear}};

/* As our driver does: a wrong size must not look like one that works. */
static void check_size_option(void)
{
	const char *value = getenv("CUTRACE_CACHE_SIZE");
	uint64_t bytes;

	if (value && !cache_parse_size(value, &bytes))
		fprintf(stderr,
			"cutrace cache: warning: CUTRACE_CACHE_SIZE=%s is not understood: expected bytes, or "
			"a "
			"number with K, M or G\n",
			value);
}

static int run_named(const char *name, bool json)
{
	struct command c = {.json = json};
	int status = EXIT_USAGE;

	for (size_t k = 0; k < sizeof(subcommands) / sizeof(subcommands[0]); k++) {
		if (strcmp(subcommands[k].name, name))
			continue;
		check_size_option();
		c.cache = cache_open(NULL, 0);
		status = c.cache ? subcommands[k].run(&c) : EXIT_COULD_NOT;
		cache_close(c.cache);
		return status;
	}
	fprintf(stderr, "cutrace cache: error: no command '%s'\n%s", name, usage);
	return EXIT_USAGE;
}

int cmd_cache(int argc, char **argv)
{
	static const struct option names[] = {
		{"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	bool json = false;
	int c;

	while ((c = getopt_long(argc, argv, "h", names, NULL)) >= 0) {
		if (c == 'h') {
			fputs(usage, stdout);
			return EXIT_OK;
		}
		if (c != 'j') {
			fputs(usage, stderr);
			return EXIT_USAGE;
		}
		json = true;
	}
	if (argc - optind > 1) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	return run_named(optind < argc ? argv[optind] : "info", json);
}
