/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment, read once at cuInit, and the lines this library writes to stderr.
 * A CUTRACE_ name or value that nobody understands is said, once: a misspelt option must not look like one
 * that works.
 */
#include "core.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "zluda_core/compiler/cache.h"

struct options options;

extern char **environ;

/* The recorder's: what is said is a row of the trace, too. */
static void (*_Atomic sink)(uint64_t call, const char *line);
static uint64_t (*_Atomic source_of)(void);

void say_also_to(void (*fn)(uint64_t call, const char *line), uint64_t (*source)(void))
{
	atomic_store(&source_of, fn ? source : NULL);
	atomic_store(&sink, fn);
}

uint64_t say_origin(void)
{
	uint64_t (*source)(void) = atomic_load(&source_of);

	return source ? source() : 0;
}

static void say_v(uint64_t origin, const char *fmt, va_list ap)
{
	void (*also)(uint64_t call, const char *line) = atomic_load(&sink);
	char line[1600];
	int n = snprintf(line, sizeof(line), "cutrace: ");
	int m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
	size_t len = (size_t)n + (m < 0 ? 0 : (size_t)m);

	if (len > sizeof(line) - 2)
		len = sizeof(line) - 2;
	line[len] = '\n';
	fwrite(line, 1, len + 1, stderr); /* one write: lines of threads stay whole */
	line[len] = '\0';
	if (also)
		also(origin, line);
}

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_v(0, fmt, ap);
	va_end(ap);
}

void say_about(uint64_t origin, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_v(origin, fmt, ap);
	va_end(ap);
}

void say_verbose(const char *fmt, ...)
{
	va_list ap;

	if (!options.verbose)
		return;
	va_start(ap, fmt);
	say_v(0, fmt, ap);
	va_end(ap);
}

void say_diag_of(const char *subject, const struct diag *d)
{
	const char *colon = subject[0] ? ": " : "", *where = d->where[0] ? ": " : "";

	if (strchr(d->hint, '\n')) /* the source line and a caret */
		say("%s%s%s%s%s\n%s", subject, colon, d->where, where, d->what, d->hint);
	else
		say("%s%s%s%s%s%s%s%s", subject, colon, d->where, where, d->what, d->hint[0] ? " (" : "",
		    d->hint, d->hint[0] ? ")" : "");
}

void say_diag(const struct diag *d)
{
	say_diag_of("", d);
}

#define NUMBER_TEXT_OF(x) #x
#define NUMBER_TEXT(x)    NUMBER_TEXT_OF(x)

static bool parse_bool(const char *value, bool *out)
{
	if (!strcmp(value, "1") || !strcasecmp(value, "true") || !strcasecmp(value, "yes")) {
		*out = true;
		return true;
	}
	if (!*value || !strcmp(value, "0") || !strcasecmp(value, "false") || !strcasecmp(value, "no")) {
		*out = false;
		return true;
	}
	return false;
}

static bool parse_unsigned(const char *value, uint64_t max, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(value, &end, 0);
	return end != value && !*end && !errno && *value != '-' && *out <= max;
}

/* "interp", "interp:key=value,...". The key `devices` is ours: how many of them the program sees. */
static bool set_device(const char *value)
{
	const char *colon = strchr(value, ':');
	size_t n = colon ? (size_t)(colon - value) : strlen(value);
	size_t used = 0;

	if (!n || n >= sizeof(options.device))
		return false;
	memcpy(options.device, value, n);
	options.device[n] = 0;
	options.device_options[0] = 0;
	for (const char *p = colon ? colon + 1 : ""; *p;) {
		size_t len = strcspn(p, ",");
		uint64_t count;
		char word[64];

		if (len > 8 && len < sizeof(word) && !strncmp(p, "devices=", 8)) {
			memcpy(word, p + 8, len - 8);
			word[len - 8] = 0;
			if (!parse_unsigned(word, CORE_MAX_DEVICES, &count) || !count)
				return false;
			options.device_count = (unsigned)count;
			options.count_given = true;
		} else if (used + len + 2 < sizeof(options.device_options)) {
			used += (size_t)snprintf(options.device_options + used, len + 2, "%s%.*s",
						 used ? "," : "", (int)len, p);
			used = strlen(options.device_options);
		} else {
			return false;
		}
		p += len + (p[len] == ',');
	}
	return true;
}

static bool set_cc(const char *value)
{
	unsigned major, minor;
	char tail;

	if (sscanf(value, "%u.%u%c", &major, &minor, &tail) != 2 || minor > 9)
		return false;
	options.cc = major * 10 + minor;
	return cc_limits_find(options.cc)->cc == options.cc;
}

static bool set_version(const char *value)
{
	uint64_t v;

	if (!parse_unsigned(value, 99990, &v) || v < 11000)
		return false;
	options.driver_version = (int)v;
	return true;
}

static bool set_va_base(const char *value)
{
	return parse_unsigned(value, 0x7fff00000000ull, &options.va_base) && options.va_base &&
	       options.va_base % 0x200000 == 0;
}

static bool set_inject(const char *value)
{
	options.inject = value;
	return true;
}

static bool set_deterministic(const char *value)
{
	bool on;

	options.deterministic = value;
	return parse_bool(value, &on);
}

static bool set_watchdog(const char *value)
{
	uint64_t ms;

	options.watchdog_ms = value;
	return parse_unsigned(value, UINT32_MAX, &ms);
}

static bool set_refuse(const char *value)
{
	return parse_bool(value, &options.refuse_addresses);
}

static bool set_verbose(const char *value)
{
	return parse_bool(value, &options.verbose);
}

/* Whoever opens the cache reads it. */
static bool check_cache_size(const char *value)
{
	uint64_t bytes;

	return cache_parse_size(value, &bytes);
}

static const struct {
	const char *name;
	bool (*set)(const char *value);
	const char *expects;
} option_table[] = {
	{"CUTRACE_CACHE_SIZE", check_cache_size, "bytes, or a number with K, M or G"},
	{"CUTRACE_CC", set_cc, "a compute capability such as 8.0"},
	{"CUTRACE_DETERMINISTIC", set_deterministic, "0 or 1"},
	{"CUTRACE_DEVICE", set_device,
	 "NAME or NAME:key=value,...; devices=N with N from 1 to " NUMBER_TEXT(CORE_MAX_DEVICES)},
	{"CUTRACE_DRIVER_VERSION", set_version, "a CUDA version such as 12040"},
	{"CUTRACE_INJECT", set_inject, "an injection"},
	{"CUTRACE_REFUSE_ADDRESSES", set_refuse, "0 or 1"},
	{"CUTRACE_VA_BASE", set_va_base, "an address that is a multiple of 2 MiB"},
	{"CUTRACE_VERBOSE", set_verbose, "0 or 1"},
	{"CUTRACE_WATCHDOG_MS", set_watchdog, "milliseconds"},
};

/* Variables of the recorder, the replayer and the tests, which may run in the same process. */
static const char *const others[] = {
	"CUTRACE_AUDIT",   "CUTRACE_BENCH",  "CUTRACE_CACHE",  "CUTRACE_CHECK",    "CUTRACE_COLLECTOR",
	"CUTRACE_COMPILE", "CUTRACE_DRIVER", "CUTRACE_HIP",    "CUTRACE_INTERP",   "CUTRACE_INTERPOSE",
	"CUTRACE_LOG",     "CUTRACE_REAL",   "CUTRACE_RECORD", "CUTRACE_REDIRECT", "CUTRACE_REPLAY",
	"CUTRACE_RING",    "CUTRACE_SHIM",   "CUTRACE_SOCKET", "CUTRACE_TEST",     "CUTRACE_TRACE",
};

static bool is_other(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (!strncmp(name, others[i], strlen(others[i])))
			return true;
	return false;
}

static void read_one(const char *entry)
{
	size_t n = strcspn(entry, "=");
	const char *value = entry[n] ? entry + n + 1 : "";

	for (size_t i = 0; i < ARRAY_SIZE(option_table); i++) {
		if (strlen(option_table[i].name) != n || strncmp(option_table[i].name, entry, n))
			continue;
		if (!option_table[i].set(value))
			say("%s=%s is not understood: expected %s", option_table[i].name, value,
			    option_table[i].expects);
		return;
	}
	if (!is_other(entry))
		say("unknown option %.*s in the environment is ignored", (int)n, entry);
}

void options_read(void)
{
	static bool done;
	const char *loading = getenv("CUDA_MODULE_LOADING");
	const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");

	if (done) /* what is wrong is said once */
		return;
	done = true;
	options = (struct options){
		.device = "auto",
		.device_count = 1,
		.driver_version = 13000,
		.va_base = 0x550000000000ull,
		.va_bytes = 336ull << 30,
		.visible_devices = getenv("CUDA_VISIBLE_DEVICES"),
		.eager_loading = loading && !strcmp(loading, "EAGER"),
	};
	if (blocking)
		parse_bool(blocking, &options.launch_blocking);
	for (char **e = environ; e && *e; e++)
		if (!strncmp(*e, "CUTRACE_", 8))
			read_one(*e);
}
