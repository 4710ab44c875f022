/* SPDX-License-Identifier: Apache-2.0
 *
 * What is not executed, and why: rows of operations that belong together, and
 * of functions that a module may call without defining them. The other kernels
 * of the module aren't affected.
 */
#include <string.h>

#include "zluda_core/device_interp/decode.h"

/* The longest name that leads the operation's counts. */
static const struct {
	const char *name, *reason;
} operations[] = {
	{"wgmma", "matrix operations of a warpgroup are not executed"},
	{"tcgen05", "matrix operations of the fifth generation's tensor cores are not executed"},
	{"cp.async.bulk", "bulk copies by the asynchronous proxy are not executed"},
	{"cp.reduce.async.bulk", "bulk copies by the asynchronous proxy are not executed"},
	{"cp.async.bulk.tensor", "copies through tensor maps are not executed"},
	{"cp.reduce.async.bulk.tensor", "copies through tensor maps are not executed"},
	{"cp.async.bulk.prefetch.tensor", "copies through tensor maps are not executed"},
	{"tensormap", "copies through tensor maps are not executed"},
	{"multimem", "operations on multicast objects are not executed"},
	{"clusterlaunchcontrol", "launches that a cluster cancels are not executed"},
	{"st.bulk", "bulk stores are not executed"},
	{"st.async", "this form of an asynchronous store is not executed"},
	{"red.async", "this form of an asynchronous reduction is not executed"},
	{"tex", "this form of a texture read is not executed"},
	{"setmaxnreg", "moving registers between warps is not executed"},
};

/* By the beginning of the name: the device runtime (CUDA dynamic parallelism), and graphs that steer themselves. */
static const struct {
	const char *prefix, *reason;
} functions[] = {
	{"__cudaCDP2", "launches from the device (CUDA dynamic parallelism) are not executed"},
	{"cudaLaunchDevice", "launches from the device (CUDA dynamic parallelism) are not executed"},
	{"cudaGetParameterBuffer", "launches from the device (CUDA dynamic parallelism) are not executed"},
	{"cudaDevice", "the device runtime (CUDA dynamic parallelism) is not executed"},
	{"cudaStream", "the device runtime (CUDA dynamic parallelism) is not executed"},
	{"cudaGraph", "graphs that are steered or launched from the device are not executed"},
	{"cudaGrid", "the device runtime's grid synchronisation is not executed"},
};

int refuse_instruction(struct decode *c)
{
	const char *name = ptx_op_name(c->in->op), *reason = NULL;
	size_t longest = 0;

	for (size_t k = 0; k < sizeof(operations) / sizeof(operations[0]); k++) {
		size_t n = strlen(operations[k].name);

		if (n <= longest || strncmp(operations[k].name, name, n) != 0 || (name[n] && name[n] != '.'))
			continue;
		reason = operations[k].reason;
		longest = n;
	}
	if (!reason &&
	    (c->in->space == PTX_SPACE_SHARED_CLUSTER || c->in->space2 == PTX_SPACE_SHARED_CLUSTER))
		reason = "shared memory of other blocks of a cluster is not executed";
	return refuse(c, "%s", reason ? reason : "the interpreter doesn't execute this instruction");
}

int refuse_function(struct decode *c, const struct ptx_func *callee)
{
	for (size_t k = 0; k < sizeof(functions) / sizeof(functions[0]); k++)
		if (!strncmp(functions[k].prefix, callee->name, strlen(functions[k].prefix)))
			return refuse(c, "call of %s: %s", callee->name, functions[k].reason);
	return refuse(c,
		      "call of %s, which is not defined in this module and is no function of the device as "
		      "declared",
		      callee->name);
}
