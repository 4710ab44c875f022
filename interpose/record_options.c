/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/record_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int record_options_payloads(struct record_options *o, const char *text, struct diag *d)
{
	o->no_payloads = !strcmp(text, "none");
	if (!o->no_payloads && strcmp(text, "all"))
		return diag_set(d, CUTRACE_EINVAL, "--payloads", "'%s' is neither all nor none", text);
	return 0;
}

int record_options_reference(struct record_options *o, const char *text, struct diag *d)
{
	if (strcmp(text, "ptx"))
		return diag_set(d, CUTRACE_EINVAL, "--reference", "'%s' is not ptx, which is all there is",
				text);
	o->reference_ptx = true;
	return 0;
}

int record_options_keyframe(struct record_options *o, const char *text, struct diag *d)
{
	bool every = !strncmp(text, "every:", 6) && text[6] >= '1' && text[6] <= '9';
	char *end = NULL;

	o->keyframes = true;
	o->keyframe_every = every ? strtoull(text + 6, &end, 10) : 0;
	if (every ? *end != 0 : strcmp(text, "request") != 0)
		return diag_set(d, CUTRACE_EINVAL, "--keyframe", "'%s' is neither every:N nor request", text);
	return 0;
}

int record_options_launches(struct record_options *o, const char *text, struct diag *d)
{
	o->ranged = true;
	o->range_first = o->range_last = 0;
	if (!strcmp(text, "request") || check_options_range(text, &o->range_first, &o->range_last))
		return 0;
	diag_set(d, CUTRACE_EINVAL, "--launches", "'%s' is no range of launches", text);
	diag_hint(d, "A-B (numbers from 1), A, A- or request");
	return CUTRACE_EINVAL;
}

int record_options_as(struct record_options *o, const char *text, struct diag *d)
{
	char *end;
	unsigned long cc = strncmp(text, "sm_", 3) ? 0 : strtoul(text + 3, &end, 10);

	if (cc < 20 || cc > 999 || *end)
		return diag_set(d, CUTRACE_EINVAL, "--as", "'%s' is not of the form sm_80", text);
	o->as_cc = (unsigned)cc;
	return 0;
}

void record_options_text(const struct record_options *o, const char *check_words, char *buf, size_t bytes)
{
	char as[24] = "", keyframe[48] = "", range[64] = "";

	if (o->as_cc)
		snprintf(as, sizeof(as), " --as sm_%u", o->as_cc);
	if (o->keyframe_every)
		snprintf(keyframe, sizeof(keyframe), " --keyframe every:%llu",
			 (unsigned long long)o->keyframe_every);
	else if (o->keyframes)
		strcpy(keyframe, " --keyframe request");
	if (o->ranged && !o->range_first)
		strcpy(range, " --launches request");
	else if (o->ranged && o->range_last == UINT64_MAX)
		snprintf(range, sizeof(range), " --launches %llu-", (unsigned long long)o->range_first);
	else if (o->ranged)
		snprintf(range, sizeof(range), " --launches %llu-%llu", (unsigned long long)o->range_first,
			 (unsigned long long)o->range_last);
	snprintf(buf, bytes, "%s%s%s%s%s%s%s%s%s", o->check.on ? " --check" : "", check_words ? "=" : "",
		 check_words ? check_words : "", o->no_payloads ? " --payloads=none" : "",
		 o->no_opaque ? " --no-opaque" : "", o->reference_ptx ? " --reference ptx" : "", keyframe,
		 range, as);
	if (*buf)
		memmove(buf, buf + 1, strlen(buf));
}
