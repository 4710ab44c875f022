/* SPDX-License-Identifier: Apache-2.0
 *
 * scene: one launch in memory, with all that it needs: modules as PTX, buffers with their contents, parameters. Read from
 * an excerpt (replay/excerpt.h) and written as one; in between others leave out, cut and change what they like.
 *
 * A copy shares texts and contents with its original: both are never changed in place, but replaced, and live until
 * scene_free of the original.
 */
#ifndef CUTRACE_REDUCE_SCENE_H
#define CUTRACE_REDUCE_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct scene_module {
	const char *ptx;
	size_t bytes;
};

struct scene_buffer {
	uint64_t base, bytes;
	const uint8_t *data;
	const uint8_t *after; /* what it held behind the launch; NULL: not known */
	const char *name;     /* of a module's variable; NULL: an allocation */
	unsigned module;
	bool written; /* what it holds after the launch is compared, all of it */
};

struct scene {
	struct scene_module *modules;
	unsigned nmodules;
	struct scene_buffer *buffers;
	unsigned nbuffers;
	const char *kernel, *device_name, *uuid; /* uuid: of the trace that it is from */
	unsigned module;                         /* of the kernel */
	unsigned cc, sm_count;
	uint64_t device_bytes;
	uint32_t grid[3], block[3], cluster[3], shared_bytes;
	bool cooperative;
	const uint8_t *params;
	size_t param_bytes;
	struct scene_heap *heap; /* what texts and contents live in */
};

int scene_load(struct scene *s, const char *path, struct diag *d);
void scene_free(struct scene *s);
/* With arrays of its own; free with scene_drop. */
int scene_copy(struct scene *to, const struct scene *from);
void scene_drop(struct scene *copy);
/* From now on the memory, which is malloc'ed, lives as long as the scene. NULL when there is none left. */
void *scene_keep(const struct scene *s, void *memory);

/* Whether the module's text has the kernel, and it can be built. */
bool scene_is_sound(const struct scene *s);
/* As an excerpt for a replay, not to keep; where it is not known what the launch wrote, what was there before stands for it. note: NULL, or what a reader is
 * to know. */
int scene_save(const struct scene *s, const char *path, const char *note, struct diag *d);

struct scene_size {
	uint64_t blocks, threads, bytes;
	unsigned buffers, functions, statements;
};
void scene_measure(const struct scene *s, struct scene_size *out);

#endif
