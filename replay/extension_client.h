/* SPDX-License-Identifier: Apache-2.0
 *
 * extension_client: what our own libcuda.so.1 offers beyond CUDA, through its private export table. Every
 * function here does nothing, and says so by its result, when the target is another driver.
 */
#ifndef CUTRACE_REPLAY_EXTENSION_CLIENT_H
#define CUTRACE_REPLAY_EXTENSION_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct driver;

void extension_find(struct driver *drv);
struct cutrace_extension;
const struct cutrace_extension *extension_table_of(const struct engine *e); /* NULL */
/* The calling thread's next allocation shall have this address. False: it won't. */
bool extension_place(struct engine *e, uint64_t address);
/* The module that is loaded next shall have its variables at their recorded addresses. */
void extension_place_globals(struct engine *e, uint64_t load_call);
/* Launches that the driver has started; 0 when it can't tell. */
/* Kernels get handles of textures by value, also inside of memory: they should be the recorded ones. */
void extension_place_texture(struct engine *e, uint64_t handle);
uint64_t extension_launch_count(struct engine *e);
/* What the last fault was, one sentence with a kernel's name, and where; false: not known. */
struct extension_fault {
	char kernel[128], message[512], text[160], source[160];
	uint32_t line, block[3], thread[3];
};
bool extension_last_fault(struct engine *e, struct extension_fault *out);
/* Who stored to the watched bytes last. */
struct extension_hit {
	uint64_t launch;
	char kernel[128], text[160], source[160];
	uint32_t line, block[3], thread[3];
};
bool extension_watch(struct engine *e, uint64_t address, unsigned bytes);
bool extension_watch_result(struct engine *e, struct extension_hit *out);

#endif
