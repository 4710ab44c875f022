/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels for the tests of device_hip's backend: clang-19 -x cl -target amdgcn-amd-amdhsa.
 */
#define BLOCK  ((uint)__builtin_amdgcn_workgroup_id_x())
#define THREAD ((uint)__builtin_amdgcn_workitem_id_x())
#define SIZE   ((uint)__builtin_amdgcn_workgroup_size_x())
typedef unsigned int uint;

/* p[i] = p[i] * 3 + add, through dynamic LDS */
kernel void scale(global uint *p, uint n, uint add, local uint *tile)
{
	uint i = BLOCK * SIZE + THREAD;

	if (i < n) {
		tile[THREAD] = p[i] * 3;
		p[i] = tile[THREAD] + add;
	}
}

kernel void stray(global uint *p)
{
	*p = 1;
}
