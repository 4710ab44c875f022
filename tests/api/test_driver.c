/* SPDX-License-Identifier: Apache-2.0
 *
 * The description of the real driver API: rules that every function must keep, and the memory of some calls
 * that are hard to describe.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/api.h"
#include "api/gen/cuda_abi.h"

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);
	return n >= m && !strcmp(s + n - m, end);
}

static void rule(bool holds, const struct api_func *f, const char *what)
{
	if (!holds)
		fail_msg("%s: %s", f->name, what);
}

static void check_param(const struct api_func *f, const struct api_param *q)
{
	const struct api_type *t = &api_types[q->type];
	bool pointer = t->kind == API_KIND_POINTER,
	     value = t->kind != API_KIND_POINTER && t->kind != API_KIND_OPAQUE;
	bool bytes = q->payload == API_PAYLOAD_H2D || q->payload == API_PAYLOAD_D2H ||
		     q->payload == API_PAYLOAD_IMAGE;
	rule(!bytes || (pointer && q->len >= 0), f, "a payload of bytes is a pointer with a length");
	rule(q->payload != API_PAYLOAD_D2H || q->dir == API_OUT, f, "what the device writes is out");
	rule(q->payload != API_PAYLOAD_H2D || q->dir == API_IN, f, "what the device reads is in");
	rule(!(q->flags & API_PARAM_CREATES) || q->dir == API_OUT, f, "what a call creates is out");
	rule(!(q->flags & API_PARAM_CREATES) || f->replay == API_REPLAY_DO, f,
	     "a call that creates must be replayed");
	rule(!(q->flags & API_PARAM_DESTROYS) || q->dir == API_IN, f, "what a call destroys is in");
	rule(!(q->flags & API_PARAM_DESTROYS) || f->replay == API_REPLAY_DO, f,
	     "a call that destroys must be replayed");
	rule(!(q->flags & API_PARAM_STREAM) || !strcmp(t->name, "CUstream"), f, "the stream is a CUstream");
	rule(!value || q->dir == API_IN, f, "a value is in");
	rule(t->kind != API_KIND_STRUCT || t->size <= 8 || q->abi == API_ABI_MEMORY, f,
	     "a large struct goes by memory");
	rule(q->poly < 0 || api_polys[q->poly].selector < f->nparams, f, "the selector is a parameter");
}

static void every_function_keeps_the_rules(void **state)
{
	(void)state;
	for (unsigned i = 0; i < api_nfuncs; i++) {
		const struct api_func *f = &api_funcs[i];
		unsigned streams = 0;
		bool suffix = ends_with(f->name, "_ptsz") || ends_with(f->name, "_ptds");
		rule(!strncmp(f->name, f->base, strlen(f->base)), f, "the name begins with the base name");
		rule(f->since >= 2000 && f->since <= 13000, f, "a version between 2.0 and 13.0");
		rule(suffix == !!(f->flags & API_FUNC_PTSZ), f, "the suffix says per-thread default stream");
		rule(f->nparams <= 16, f, "at most 16 parameters");
		rule(!strcmp(api_types[f->ret].name, "CUresult"), f, "returns CUresult");
		for (unsigned p = 0; p < f->nparams; p++) {
			check_param(f, &f->params[p]);
			streams += !!(f->params[p].flags & API_PARAM_STREAM);
		}
		rule(streams <= 1, f, "works on one stream");
		rule(!(f->flags & API_FUNC_LAUNCH) || f->replay == API_REPLAY_DO, f, "a launch is replayed");
	}
}

#define MAX_PIECES 16
struct pieces {
	unsigned n;
	struct {
		unsigned param;
		const void *addr;
		size_t bytes;
	} v[MAX_PIECES];
};

static void collect(void *ctx, unsigned param, uint64_t addr, size_t bytes)
{
	struct pieces *p = ctx;
	assert_true(p->n < MAX_PIECES);
	p->v[p->n].param = param;
	p->v[p->n].addr = (const void *)(uintptr_t)addr;
	p->v[p->n++].bytes = bytes;
}

static struct pieces walk(const char *name, const uint64_t *args, enum api_phase phase)
{
	struct pieces got = {0};
	const struct api_func *f = api_func_find(name);
	assert_non_null(f);
	api_walk(f, args, phase, &api_live_memory, collect, &got);
	return got;
}

static void has(const struct pieces *p, unsigned i, unsigned param, const void *addr, size_t bytes)
{
	assert_true(i < p->n);
	assert_int_equal(p->v[i].param, param);
	assert_ptr_equal(p->v[i].addr, addr);
	assert_int_equal(p->v[i].bytes, bytes);
}

#define P(x) ((uint64_t)(uintptr_t)(x))

static void launch_with_attributes(void **state)
{
	(void)state;
	CUlaunchAttribute attrs[3] = {{.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1}};
	CUlaunchConfig config = {.gridDimX = 1, .attrs = attrs, .numAttrs = 3};
	uint64_t args[] = {P(&config), 1, 16, 0};
	struct pieces p = walk("cuLaunchKernelEx", args, API_PHASE_ENTER);
	assert_int_equal(p.n, 2);
	has(&p, 0, 0, &config, sizeof(config));
	has(&p, 1, 0, attrs, sizeof(attrs));
	p = walk("cuLaunchKernel", (uint64_t[]){1, 1, 1, 1, 1, 1, 1, 0, 0, 16, 0}, API_PHASE_ENTER);
	assert_int_equal(p.n, 0); /* kernel arguments are payload */
}

static void graph_node_with_nested_arrays(void **state)
{
	(void)state;
	CUmemAccessDesc access[2] = {0};
	CUgraphNode dependencies[3] = {0};
	CUgraphNodeParams node = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
	CUgraphNode out;
	node.alloc.accessDescs = access;
	node.alloc.accessDescCount = 2;
	uint64_t args[] = {P(&out), 1, P(dependencies), 0, 3, P(&node)};
	struct pieces p = walk("cuGraphAddNode_v2", args, API_PHASE_ENTER);
	assert_int_equal(p.n, 3);
	has(&p, 0, 2, dependencies, sizeof(dependencies));
	has(&p, 1, 5, &node, sizeof(node));
	has(&p, 2, 5, access, sizeof(access));
	node.type = CU_GRAPH_NODE_TYPE_MEM_FREE; /* the same bytes are no pointer now */
	p = walk("cuGraphAddNode_v2", args, API_PHASE_EXIT);
	assert_int_equal(p.n, 2);
	has(&p, 0, 0, &out, sizeof(out));
	has(&p, 1, 5, &node, sizeof(node));
}

static void attributes_of_pointers(void **state)
{
	(void)state;
	CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
				       CU_POINTER_ATTRIBUTE_P2P_TOKENS};
	size_t size;
	int ordinal;
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;
	void *data[] = {&size, &ordinal, &tokens};
	struct pieces p =
		walk("cuPointerGetAttributes", (uint64_t[]){3, P(which), P(data), 64}, API_PHASE_EXIT);
	assert_int_equal(p.n, 3);
	has(&p, 0, 2, &size, 8);
	has(&p, 1, 2, &ordinal, 4);
	has(&p, 2, 2, &tokens, 16);
	p = walk("cuPointerGetAttribute", (uint64_t[]){P(&ordinal), CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 64},
		 API_PHASE_EXIT);
	assert_int_equal(p.n, 1);
	has(&p, 0, 0, &ordinal, 4);
}

static void copies_are_payload(void **state)
{
	(void)state;
	CUDA_MEMCPY2D copy = {.srcHost = (void *)16, .dstHost = (void *)32};
	struct pieces p = walk("cuMemcpyHtoD_v2", (uint64_t[]){1, 16, 100}, API_PHASE_ENTER);
	assert_int_equal(p.n, 0);
	p = walk("cuMemcpy2D_v2", (uint64_t[]){P(&copy)}, API_PHASE_ENTER);
	assert_int_equal(p.n, 1);
	has(&p, 0, 0, &copy, sizeof(copy));
}

static void jit_options(void **state)
{
	(void)state;
	CUmodule module;
	CUjit_option options[2] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_WALL_TIME};
	void *values[2] = {0};
	uint64_t args[] = {P(&module), P("//"), 2, P(options), P(values)};
	struct pieces p = walk("cuModuleLoadDataEx", args, API_PHASE_ENTER);
	assert_int_equal(p.n, 2);
	has(&p, 0, 3, options, sizeof(options));
	has(&p, 1, 4, values, sizeof(values));
	p = walk("cuModuleLoadDataEx", args, API_PHASE_EXIT); /* times come back in place of the values */
	assert_int_equal(p.n, 2);
	has(&p, 0, 0, &module, sizeof(module));
	has(&p, 1, 4, values, sizeof(values));
}

static void names_that_come_back(void **state)
{
	(void)state;
	const char *name = "kernel";
	struct pieces p = walk("cuFuncGetName", (uint64_t[]){P(&name), 64}, API_PHASE_EXIT);
	assert_int_equal(p.n, 2);
	has(&p, 0, 0, &name, sizeof(name));
	has(&p, 1, 0, name, sizeof("kernel"));
	p = walk("cuFuncGetName", (uint64_t[]){P(&name), 64}, API_PHASE_ENTER);
	assert_int_equal(p.n, 0);
}

static void ipc_handle_by_value(void **state)
{
	(void)state;
	CUipcMemHandle handle;
	struct pieces p = walk("cuIpcOpenMemHandle_v2", (uint64_t[]){0, P(&handle), 0}, API_PHASE_ENTER);
	assert_int_equal(p.n, 1);
	has(&p, 0, 1, &handle, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_function_keeps_the_rules),
		cmocka_unit_test(launch_with_attributes),
		cmocka_unit_test(graph_node_with_nested_arrays),
		cmocka_unit_test(attributes_of_pointers),
		cmocka_unit_test(copies_are_payload),
		cmocka_unit_test(jit_options),
		cmocka_unit_test(ipc_handle_by_value),
		cmocka_unit_test(names_that_come_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
