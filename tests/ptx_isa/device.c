/* SPDX-License-Identifier: Apache-2.0
 *
 * Which device is judged, and where its results go.
 */
#include <string.h>

#include "form.h"
#include "tests/nvidia/device_cuda.h"
#include "zluda_core/device.h"

struct runner runner = {.device = &device_interp, .stride = 1};

static const struct device_ops *const devices[] = {
	&device_interp,
	&device_cuda,
#ifdef WITH_AMDEMU
	&device_amdemu,
#endif
#ifdef WITH_HIP
	&device_hip,
#endif
};

bool runner_choose(const char *name)
{
	size_t n = strcspn(name, ":");

	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		if (strlen(devices[i]->name) != n || memcmp(devices[i]->name, name, n))
			continue;
		runner.device = devices[i];
		runner.options = name[n] ? name + n + 1 : NULL;
		return true;
	}
	return false;
}

bool runner_wants(void)
{
	return runner.seen++ % runner.stride == runner.phase;
}

/* Tabs and ends of lines separate what is written. */
static void write_plain(const char *text)
{
	for (; *text; text++)
		fputc((unsigned char)*text < ' ' ? ' ' : *text, runner.results);
}

void runner_note(const char *result, const char *suite, const char *form, const char *reason)
{
	const char *const fields[] = {result, suite, form, reason};

	if (!runner.results)
		return;
	for (unsigned i = 0; i < 4; i++) {
		write_plain(fields[i]);
		fputc(i < 3 ? '\t' : '\n', runner.results);
	}
}
