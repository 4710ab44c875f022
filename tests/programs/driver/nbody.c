/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "host.h"

#define N     128
#define BLOCK 64
#define STEPS 3

struct body {
	float x, y, z, mass;
};

static const float softening = 0.01f, dt = 0.005f;

static void accelerate(const struct body *bodies, float *accel)
{
	for (int i = 0; i < N; i++) {
		float ax = 0.0f, ay = 0.0f, az = 0.0f;

		for (int j = 0; j < N; j++) {
			float dx = bodies[j].x - bodies[i].x, dy = bodies[j].y - bodies[i].y;
			float dz = bodies[j].z - bodies[i].z;
			float r2 = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, softening)));
			float scale = bodies[j].mass / (r2 * sqrtf(r2));

			ax = fmaf(dx, scale, ax);
			ay = fmaf(dy, scale, ay);
			az = fmaf(dz, scale, az);
		}
		accel[3 * i] = ax;
		accel[3 * i + 1] = ay;
		accel[3 * i + 2] = az;
	}
}

static void move(struct body *bodies, float *velocity, const float *accel)
{
	for (int i = 0; i < 3 * N; i++)
		velocity[i] = fmaf(accel[i], dt, velocity[i]);
	for (int i = 0; i < N; i++) {
		bodies[i].x = fmaf(velocity[3 * i], dt, bodies[i].x);
		bodies[i].y = fmaf(velocity[3 * i + 1], dt, bodies[i].y);
		bodies[i].z = fmaf(velocity[3 * i + 2], dt, bodies[i].z);
	}
}

static void simulate_on_device(struct body *bodies, float *velocity)
{
	CUfunction accelerate_kernel = host_kernel("nbody_accelerate"),
		   move_kernel = host_kernel("nbody_move");
	CUdeviceptr dbodies = host_buffer(bodies, N * sizeof(*bodies));
	CUdeviceptr dvelocity = host_buffer(velocity, 3 * N * sizeof(float));
	CUdeviceptr daccel = host_buffer(NULL, 3 * N * sizeof(float));
	struct dim grid = {N / BLOCK, 1, 1}, block = {BLOCK, 1, 1};
	uint32_t n = N;
	float soft = softening, step = dt;

	for (int i = 0; i < STEPS; i++) {
		host_launch(accelerate_kernel, "nbody_accelerate", grid, block, 0, NULL,
			    (void *[]){&n, &dbodies, &daccel, &soft});
		host_launch(move_kernel, "nbody_move", grid, block, 0, NULL,
			    (void *[]){&dbodies, &dvelocity, &daccel, &step});
	}
	host_read(bodies, dbodies, N * sizeof(*bodies));
	host_read(velocity, dvelocity, 3 * N * sizeof(float));
	CU(cuMemFree_v2(dbodies));
	CU(cuMemFree_v2(dvelocity));
	CU(cuMemFree_v2(daccel));
}

int main(void)
{
	static struct body bodies[N], expected[N];
	static float velocity[3 * N], expected_velocity[3 * N], accel[3 * N];
	uint32_t seed = 6;

	for (int i = 0; i < N; i++) {
		bodies[i].x = host_random_float(&seed);
		bodies[i].y = host_random_float(&seed);
		bodies[i].z = host_random_float(&seed);
		bodies[i].mass = host_random_float(&seed) + 0.5f;
		expected[i] = bodies[i];
	}
	for (int i = 0; i < STEPS; i++) {
		accelerate(expected, accel);
		move(expected, expected_velocity, accel);
	}
	host_start();
	simulate_on_device(bodies, velocity);
	host_compare_f32("bodies", &bodies[0].x, &expected[0].x, 4 * N);
	host_compare_f32("velocity", velocity, expected_velocity, 3 * N);
	return host_finish();
}
