/* SPDX-License-Identifier: Apache-2.0
 *
 * range: `record --launches`. Of what lies outside of the launches that were chosen only that is recorded which makes or
 * ends something; launches, and copies that leave nothing but contents of memory, pass through: a range begins with a
 * keyframe. Whether a launch is inside is decided when it is called, and holds until the next one, so that copies of
 * results belong to the launch before them.
 *
 * No room is left in the ring for the quick way into it, so each call comes here first (thread.c).
 */
#include "interpose/recorder.h"

bool rec_ranged;
static _Atomic bool inside, begins;
static _Atomic unsigned captures; /* of streams: what is called then runs when the graph is launched */

enum role { ROLE_OTHER, ROLE_LAUNCH, ROLE_CONTENTS, ROLE_CAPTURE_BEGINS, ROLE_CAPTURE_ENDS };
static uint8_t roles[API_ID_COUNT];

/* Arrays are in no keyframe: copies that may be of one are recorded. */
static enum role role_of(const struct api_func *f)
{
	static const struct {
		const char *prefix;
		enum role role;
	} prefixes[] = {
		{"cuMemcpyHtoD", ROLE_CONTENTS},
		{"cuMemcpyDtoH", ROLE_CONTENTS},
		{"cuMemcpyDtoD", ROLE_CONTENTS},
		{"cuMemcpyPeer", ROLE_CONTENTS},
		{"cuMemcpyBatch", ROLE_CONTENTS},
		{"cuMemset", ROLE_CONTENTS},
		{"cuStreamBeginCapture", ROLE_CAPTURE_BEGINS},
		{"cuStreamEndCapture", ROLE_CAPTURE_ENDS},
	};

	if (!strcmp(f->base, "cuMemcpy") || !strcmp(f->base, "cuMemcpyAsync"))
		return ROLE_CONTENTS;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(f->base, prefixes[i].prefix, strlen(prefixes[i].prefix)))
			return prefixes[i].role;
	return f->flags & API_FUNC_LAUNCH || !strcmp(f->base, "cuGraphLaunch") ? ROLE_LAUNCH : ROLE_OTHER;
}

void rec_range_start(void)
{
	for (unsigned i = 0; i < api_nfuncs && i < API_ID_COUNT; i++)
		roles[i] = (uint8_t)role_of(&api_funcs[i]);
	rec_ranged = true;
}

void rec_range_forget(void)
{
	atomic_store(&inside, false);
	atomic_store(&captures, 0);
}

static void count_launch(void)
{
	struct ring_session *s = rec_session();
	uint64_t n = s ? 1 + atomic_fetch_add(&s->range_launches, 1) : 0;
	bool in;

	if (!s)
		return;
	in = s->range_first ? n >= s->range_first && n <= s->range_last
			    : atomic_load(&s->keyframes_wanted) % 2;
	if (atomic_exchange(&inside, in) != in && in)
		atomic_store(&begins, true);
}

bool rec_range_omits(unsigned func)
{
	enum role role = func < API_ID_COUNT ? roles[func] : ROLE_OTHER;

	if (role == ROLE_OTHER || rec_own())
		return false;
	if (role == ROLE_CAPTURE_BEGINS)
		atomic_fetch_add(&captures, 1);
	else if (role == ROLE_CAPTURE_ENDS && atomic_load(&captures))
		atomic_fetch_sub(&captures, 1);
	else if (role == ROLE_LAUNCH && !atomic_load(&captures))
		count_launch();
	return (role == ROLE_LAUNCH || role == ROLE_CONTENTS) && rec_range_outside() &&
	       !atomic_load(&captures);
}

bool rec_range_outside(void)
{
	return rec_ranged && !atomic_load(&inside);
}

bool rec_range_begins(void)
{
	return rec_ranged && atomic_exchange(&begins, false);
}
