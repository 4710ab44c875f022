/* SPDX-License-Identifier: Apache-2.0
 *
 * replayability: what of a trace can be replayed, before it is: each launch and call is of one class, with the reason where it is
 * not made again. Nothing is replayed for it; where a target is named, its driver is asked for each kernel that is launched.
 */
#ifndef CUTRACE_REPLAY_REPLAYABILITY_H
#define CUTRACE_REPLAY_REPLAYABILITY_H

#include <stdio.h>

#include "replay/session.h"

enum replay_class {
	CLASS_TRANSLATABLE, /* launches: there is PTX. calls: issued again */
	CLASS_SEMANTIC,     /* of a library that is implemented */
	CLASS_INJECTED,     /* launches: what it wrote is recorded, and is taken (isolated) */
	CLASS_REFUSED,      /* not made */
	CLASS_NOT_NEEDED,   /* calls: answers are facts of the recording, or inside of another call */
	CLASS_COUNT
};
extern const char *const replay_class_names[CLASS_COUNT];

struct replay_reason {
	bool launch; /* else call */
	enum replay_class class;
	char name[192]; /* kernel or function */
	uint64_t count;
	char why[320];
};

struct replayability {
	uint64_t launches[CLASS_COUNT], calls[CLASS_COUNT];
	struct replay_reason *reasons;
	size_t nreasons;
	bool isolated, asked_target;
};

/* ask_target: s->driver_path and the device, in a process of its own. */
int replayability_read(struct replayability *p, struct session *s, bool ask_target);
void replayability_free(struct replayability *p);
/* brief: two lines, and one for the first reason. */
void replayability_text(const struct replayability *p, FILE *out, bool brief);
void replayability_json(const struct replayability *p, FILE *out);

#endif
