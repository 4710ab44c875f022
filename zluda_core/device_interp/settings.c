/* SPDX-License-Identifier: Apache-2.0
 *
 * Options at open, key=value separated by commas; most are controls, too:
 *   deterministic=1   blocks in order on one thread, fixed schedule, clocks count instructions
 *   workers=N         threads that run blocks, the launching one included (default: the processors)
 *   watchdog_ms=N     end a kernel that runs longer, naming the lines where it is (0 = never)
 *   order=seed:N      blocks in another order, warps in turns of other lengths, on one thread; order=default
 *   approx=seed:N     approximations elsewhere within the ISA's bounds, see spread.h; approx=default
 *   tensor=seed:N     sums of matrix products as some hardware might make them, see docs/tensor.md; tensor=default
 *   contract=all      products and sums that PTX allows to be fused are (contract.c, docs/precision.md); seed:N some of
 *                     them; none (default)
 *   stack_bytes=N     of a thread, for recursion and indirect calls (at open only; default 64 KiB)
 *   cc=M.N            compute capability to report (at open only; default 9.0)
 *   simd=0            don't use AVX2 (at open only)
 *   inject=KERNEL:PTXLINE:BIT[:BLOCK[:THREAD]]   flip a bit of a result; empty = off
 *   watch=ADDRESS:BYTES                          remember the last store there; empty = off
 *   check=uninit+races+barriers, or all          checked mode, see check.h (at open only)
 *   check_error=1     the first finding of the checked mode ends the launch with an error
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "zluda_core/device_interp/check.h"

static int set_u32(struct interp_device *dev, const char *key, const char *value, struct diag *d,
		   uint32_t *out)
{
	char *end;

	(void)dev;
	errno = 0;
	unsigned long v = strtoul(value, &end, 0);
	if (errno || end == value || *end || v > UINT32_MAX)
		return diag_set(d, CUTRACE_EINVAL, "", "%s=%s: expected a number", key, value);
	*out = (uint32_t)v;
	return 0;
}

static int set_deterministic(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	uint32_t v;
	int rc = set_u32(dev, key, value, d, &v);

	dev->deterministic = !rc && v;
	return rc;
}

static int set_simd(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	uint32_t v;
	int rc = set_u32(dev, key, value, d, &v);

	dev->simd = !rc && v;
	return rc;
}

static int set_watchdog(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	return set_u32(dev, key, value, d, &dev->watchdog_ms);
}

static int set_workers(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	uint32_t v;
	int rc = set_u32(dev, key, value, d, &v);

	if (!rc && (v < 1 || v > 1024))
		rc = diag_set(d, CUTRACE_EINVAL, "", "workers=%s: expected 1 to 1024", value);
	if (rc || v == dev->nworkers)
		return rc;
	pool_stop(dev);
	dev->nworkers = v;
	return 0;
}

static int set_stack(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	return set_u32(dev, key, value, d, &dev->stack_limit);
}

/* N, or "chance": another one in each process. */
static int read_seed(const char *key, const char *text, struct diag *d, uint32_t *seed)
{
	struct timespec now;

	if (strcmp(text, "chance"))
		return set_u32(NULL, key, text, d, seed);
	clock_gettime(CLOCK_MONOTONIC, &now);
	*seed = (uint32_t)now.tv_nsec ^ (uint32_t)now.tv_sec << 20 ^ (uint32_t)getpid() << 8;
	return 0;
}

/* "default", or "seed:N". */
static int set_seeded(const char *key, const char *value, bool *seeded, uint64_t *seed, struct diag *d)
{
	uint32_t v = 0;
	int rc = 0;

	if (strncmp(value, "seed:", 5) && strcmp(value, "default"))
		return diag_set(d, CUTRACE_EINVAL, "", "%s=%s: expected default or seed:N", key, value);
	if (*value == 's')
		rc = read_seed(key, value + 5, d, &v);
	if (rc)
		return rc;
	*seeded = *value == 's';
	*seed = v;
	return 0;
}

static int set_tensor(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	return set_seeded(key, value, &dev->tensor_seeded, &dev->tensor_seed, d);
}

static int set_approx(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	return set_seeded(key, value, &dev->approx_seeded, &dev->approx_seed, d);
}

static int set_order(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	return set_seeded(key, value, &dev->order_seeded, &dev->order_seed, d);
}

static int set_contract(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	struct contraction_mode mode = {CONTRACT_NONE, 0};
	uint32_t seed = 0;
	int rc = 0;

	if (!strncmp(value, "seed:", 5)) {
		rc = read_seed(key, value + 5, d, &seed);
		mode = (struct contraction_mode){CONTRACT_SEEDED, seed};
	} else if (!strcmp(value, "all")) {
		mode.which = CONTRACT_ALL;
	} else if (strcmp(value, "none")) {
		rc = diag_set(d, CUTRACE_EINVAL, "", "contract=%s: expected none, all or seed:N", value);
	}
	if (!rc)
		kernel_variants_changed(dev, NULL, &mode);
	return rc;
}

static int set_watch(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	(void)key;
	return watch_set(dev, value, d);
}

static int set_inject(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	(void)key;
	return inject_set(dev, value, d);
}

static int set_cc(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	unsigned major, minor;
	char rest;

	(void)key;
	if (sscanf(value, "%u.%u%c", &major, &minor, &rest) != 2 || major < 5 || major > 99 || minor > 9)
		return diag_set(d, CUTRACE_EINVAL, "", "cc=%s: expected a compute capability like 9.0",
				value);
	dev->cc_major = major;
	dev->cc_minor = minor;
	return 0;
}

static int set_check(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	(void)key;
	return check_set(dev, value, d);
}

static int set_check_error(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	uint32_t v;
	int rc = set_u32(dev, key, value, d, &v);

	dev->check_error = !rc && v;
	return rc;
}

static const struct setting {
	const char *key;
	int (*set)(struct interp_device *dev, const char *key, const char *value, struct diag *d);
	bool at_open_only;
} settings[] = {
	{"deterministic", set_deterministic, false},
	{"watchdog_ms", set_watchdog, false},
	{"workers", set_workers, false},
	{"tensor", set_tensor, false},
	{"approx", set_approx, false},
	{"order", set_order, false},
	{"contract", set_contract, false},
	{"stack_bytes", set_stack, true},
	{"watch", set_watch, false},
	{"inject", set_inject, false},
	{"cc", set_cc, true},
	{"simd", set_simd, true},
	{"check", set_check, true},
	{"check_error", set_check_error, false},
};

static int apply(struct interp_device *dev, const char *key, const char *value, bool opening, struct diag *d)
{
	for (unsigned k = 0; k < sizeof(settings) / sizeof(settings[0]); k++)
		if (!strcmp(settings[k].key, key) && (opening || !settings[k].at_open_only))
			return settings[k].set(dev, key, value ? value : "", d);
	return diag_set(d, opening ? CUTRACE_EINVAL : CUTRACE_ENOTSUP, "", "the interpreter has no %s \"%s\"",
			opening ? "option" : "control", key);
}

int interp_settings(struct interp_device *dev, const char *options, struct diag *d)
{
	char *copy = strdup(options ? options : ""), *save = NULL;
	int rc = copy ? 0 : diag_set(d, CUTRACE_ENOMEM, "", "out of memory");

	for (char *p = copy ? strtok_r(copy, ",", &save) : NULL; p && !rc; p = strtok_r(NULL, ",", &save)) {
		char *eq = strchr(p, '=');

		if (eq)
			*eq = 0;
		rc = apply(dev, p, eq ? eq + 1 : "1", true, d);
	}
	free(copy);
	return rc;
}

int interp_control(struct device *device, const char *key, const char *value, struct diag *d)
{
	return apply(interp_own(device), key, value, false, d);
}
