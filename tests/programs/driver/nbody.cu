/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#define TILE 64

struct body {
	float x, y, z, mass;
};

/* Accelerations by the direct sum over all bodies, tile by tile through shared memory. Roots and
 * quotients are the correctly rounded ones, so that the host gets the same bits. */
__global__ void nbody_accelerate(u32 n, const struct body *bodies, float *accel, float softening)
{
	__shared__ struct body tile[TILE];
	u32 i = global_x();
	struct body me = bodies[i];
	float ax = 0.0f, ay = 0.0f, az = 0.0f;

	for (u32 base = 0; base < n; base += TILE) {
		tile[thread_x()] = bodies[base + thread_x()];
		barrier();
		for (u32 j = 0; j < TILE; j++) {
			float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
			float r2 = fma_rn(dx, dx, fma_rn(dy, dy, fma_rn(dz, dz, softening)));
			float scale = tile[j].mass / (r2 * sqrt_rn(r2));

			ax = fma_rn(dx, scale, ax);
			ay = fma_rn(dy, scale, ay);
			az = fma_rn(dz, scale, az);
		}
		barrier();
	}
	accel[3 * i] = ax;
	accel[3 * i + 1] = ay;
	accel[3 * i + 2] = az;
}

__global__ void nbody_move(struct body *bodies, float *velocity, const float *accel, float dt)
{
	u32 i = global_x();
	float vx = fma_rn(accel[3 * i], dt, velocity[3 * i]);
	float vy = fma_rn(accel[3 * i + 1], dt, velocity[3 * i + 1]);
	float vz = fma_rn(accel[3 * i + 2], dt, velocity[3 * i + 2]);

	velocity[3 * i] = vx;
	velocity[3 * i + 1] = vy;
	velocity[3 * i + 2] = vz;
	bodies[i].x = fma_rn(vx, dt, bodies[i].x);
	bodies[i].y = fma_rn(vy, dt, bodies[i].y);
	bodies[i].z = fma_rn(vz, dt, bodies[i].z);
}
