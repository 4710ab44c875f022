/* SPDX-License-Identifier: Apache-2.0
 *
 * fake: replays on the fake driver of fake_cuda.c, and traces for it. Its log says what was asked of it, in which
 * order.
 */
#ifndef CUTRACE_TESTS_REPLAY_FAKE_H
#define CUTRACE_TESTS_REPLAY_FAKE_H

#include "scene.h"

#define R         UINT64_C(0x200000000000) /* what the fake driver gives first when it is not told otherwise */
#define ELSEWHERE "0x210000000000"

struct add_one_params {
	uint64_t p;
	uint32_t n, pad;
};
extern struct trace_kernel_param add_one_described[2];
extern uint64_t kernel, launch_call, download_call;

bool fake_begin(void);
int fake_setup(void **state); /* of each test: no fault of the driver is asked for */
void open_trace(void);
uint64_t load_module(const char *kernel_name, unsigned nparams, struct trace_kernel_param *params);
uint64_t launch(const void *params, size_t bytes, uint64_t stream);
/* cuInit, context, module, one buffer of four floats, add_one: ids 1 to 8. */
void record_add_one(void);
int replay_with(struct replay_options o);
int replay(void);
char *log_text(void);
void assert_order(const char *first, const char *second);
void assert_logged(const char *line, unsigned times);

#endif
