/* SPDX-License-Identifier: Apache-2.0
 *
 * dispatch: a launch on its way, inside the emulator. dispatch.c checks and
 * ends it, initial_state.c makes what a wave begins with, schedule.c gives
 * workgroups and waves their turns.
 */
#ifndef CUTRACE_AMDGPU_DISPATCH_H
#define CUTRACE_AMDGPU_DISPATCH_H

#include <pthread.h>

#include "zluda_core/amdgpu_emulator/wave.h"

struct dispatch {
	const struct amdgpu_launch *l;
	const struct amdgpu_object *object;
	uint8_t *memory; /* kernarg segment, then the packet */
	uint32_t bytes, packet_at;
	uint64_t groups;
	uint64_t resident_max;           /* workgroups of one worker */
	uint64_t deadline;               /* of CLOCK_MONOTONIC, ns */
	_Atomic uint64_t next, executed; /* workgroups started; wave-instructions */
	_Atomic bool stop;
	struct amdgpu_fault *fault;
	pthread_mutex_t lock;
};

/* A workgroup with its waves and their scratch. */
struct resident {
	struct group group;
	struct wave *waves;
	uint32_t *scratch;
	struct waits *waits;
	size_t wave_bytes, scratch_bytes;
	bool fresh; /* has not had a turn */
};

/* One host thread of a launch. */
struct worker {
	struct dispatch *d;
	struct resident **residents; /* a ring: the first one is next */
	unsigned count, room;
	struct resident *spare; /* of a workgroup that has ended, for the next one */
	struct amdgpu_fault fault;
	uint64_t budget;
};

/* Bytes of scratch of a work-item. */
uint32_t dispatch_scratch_bytes(const struct amdgpu_launch *l);
unsigned dispatch_waves(const struct amdgpu_launch *l);
/* Host memory that a resident workgroup may take. */
uint64_t dispatch_resident_bytes(const struct amdgpu_launch *l);

/* initial_state.c */
bool dispatch_prepare_memory(struct dispatch *d);
void dispatch_start_wave(struct wave *w, const struct dispatch *d, struct resident *r, unsigned number);

uint64_t dispatch_now(void); /* CLOCK_MONOTONIC, ns */
/* schedule.c: a worker's part of the launch, until nothing is left or a fault. */
void *dispatch_work(void *dispatch);

#endif
