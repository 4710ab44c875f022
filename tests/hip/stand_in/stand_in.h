/* SPDX-License-Identifier: Apache-2.0
 *
 * stand_in: a libamdhip64.so of our own over the emulator (zluda_core/amdgpu_emulator), so that device_hip runs where
 * there is neither ROCm nor a GPU. It is built three times, with FLAVOUR 5, 6 and 7: layouts, numbers, versions of symbols
 * and habits are those of that major version. Written after HIP's documentation and public headers, apart from
 * device_hip's own tables, which it is there to check.
 *
 *   flavour   is          target    habits
 *   5         HIP 5.2     gfx90a    no virtual memory management; a fault of a kernel ends the process
 *   6         HIP 6.2     gfx1100   VMM; registered memory has another address on the device; fault as above
 *   7         HIP 7.1     gfx942    VMM; errors of kernels stay; registered memory as in 6
 *
 * Environment: HIP_STAND_IN_TARGET=gfxNNNN, HIP_STAND_IN_DEVICES=N, HIP_STAND_IN_REFUSE=1 (no requested address is
 * given), HIP_STAND_IN_VERSION=N (what hipRuntimeGetVersion says), HIP_STAND_IN_BYTES=N (memory of a GPU),
 * HIP_STAND_IN_CRASH=1 (hipInit aborts).
 *
 * Memory of the device is not where its address is: a host that reads there faults, as it would with a real GPU.
 */
#ifndef CUTRACE_HIP_STAND_IN_H
#define CUTRACE_HIP_STAND_IN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT      __attribute__((visibility("default")))
#define HAS_VMM     (FLAVOUR >= 6)
#define IS_STICKY   (FLAVOUR >= 7)
#define GRANULE     (2ull << 20)
#define MAX_DEVICES 8

/* hipError_t */
enum {
	E_OK = 0,
	E_VALUE = 1,
	E_MEMORY = 2,
	E_CONFIGURATION = 9,
	E_NO_DEVICE = 100,
	E_DEVICE = 101,
	E_IMAGE = 200,
	E_NO_BINARY = 209,
	E_HANDLE = 400,
	E_NOT_FOUND = 500,
	E_ILLEGAL_ADDRESS = 700,
	E_ALREADY_REGISTERED = 712,
	E_NOT_REGISTERED = 713,
	E_LAUNCH_FAILURE = 719,
	E_TOO_LARGE = 720,
	E_NOT_SUPPORTED = 801,
};

enum area_kind { AREA_DEVICE, AREA_HOST, AREA_REGISTERED, AREA_MANAGED, AREA_MAPPED, AREA_CODE };

/* What a device address is made of. */
struct area {
	struct area *next;
	enum area_kind kind;
	uint64_t address, bytes;
	uint8_t *host;
	unsigned access; /* devices, by bit */
	void *owner;     /* AREA_MAPPED: the physical memory */
};

/* ---- stand_in.c ---- */

/* What a function that works returns: an error of a kernel that stays; then r. Remembers it for hipGetLastError. */
int result(int r);
int current_device(void);
int device_count(void);
const char *device_target(void);
uint64_t device_bytes(void);
bool refuses_addresses(void);
void set_sticky(int error);
uint64_t environment_number(const char *name, uint64_t otherwise);

/* ---- memory.c ---- */

uint64_t reserve_addresses(uint64_t wanted, uint64_t bytes); /* 0: none */
int add_area(enum area_kind kind, uint64_t address, uint64_t bytes, uint8_t *host, unsigned access,
	     void *owner);
bool remove_area(uint64_t address, enum area_kind kind, struct area *out);
bool set_access(uint64_t address, uint64_t bytes, unsigned device);
/* Where the device's bytes are; NULL when they are not all in one area, which HIP does not copy. */
uint8_t *host_of(uint64_t address, uint64_t bytes);
bool find_area(uint64_t address, struct area *out);
bool take_bytes(uint64_t bytes);
void give_bytes(uint64_t bytes);

#endif
