/* SPDX-License-Identifier: Apache-2.0
 *
 * collector: the other process of a recording. It drains the rings of the traced processes and writes the
 * trace; everything that needs SQLite, compression, PTX or memory happens here. It outlives the programs it
 * records: whatever they had published when they died is in the trace.
 */
#ifndef CUTRACE_INTERPOSE_COLLECTOR_H
#define CUTRACE_INTERPOSE_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "interpose/record_options.h"

struct collector_options {
	int listen_fd;  /* bound and listening SOCK_SEQPACKET Unix socket */
	int control_fd; /* SOCK_SEQPACKET to the parent, which sends struct collector_control; EOF counts as
			   FINISH */
	const char *output;  /* path of the trace; NULL: rings are drained and nothing is written (for
				benchmarks) */
	uint32_t ring_bytes; /* a power of two; 0 = default */
	struct record_options record;
	/* recorded as they are; may be NULL */
	const char *command, *driver_path, *device_option, *options_text;
};

enum collector_command {
	COLLECTOR_EXITED = 1, /* a process the parent has waited for: pid, status */
	COLLECTOR_FINISH, /* end when the last traced process is gone, and some time later, as another may come */
	COLLECTOR_FINISH_NOW, /* the same, but nobody is left who could come */
	COLLECTOR_QUIT,       /* end now */
	COLLECTOR_KEYFRAME,   /* each process is to take a keyframe at its next launch */
};
struct collector_control {
	uint32_t command;
	int32_t pid, status; /* as waitpid gave it */
};

/* What the parent is told at the end, in one message over control_fd. The first message, sent when programs
 * may connect, is the same struct with ready = 1. */
struct collector_report {
	uint32_t ready, processes;
	uint32_t refused; /* processes and threads that could not be recorded */
	uint64_t calls, payload_bytes;
	struct diag error; /* code 0: the trace is complete */
};

/* Runs until told to end. Returns 0, or a code with *d filled (disk full: everything was drained, the trace
 * ends early). */
int collector_run(const struct collector_options *o, struct diag *d);
/* collector_run does so, too: for who unblocks signals before it. */
void collector_ignore_signals(void);

#endif
