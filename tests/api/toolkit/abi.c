/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiles only if prototypes, sizes, offsets, constants and the versions in which functions
 * appeared are what the vendor's headers say. PFN_NAME_vVERSION is the vendor's
 * type for what cuGetProcAddress(NAME, VERSION) returns.
 */
#include "vendor.h"

#include <cudaEGLTypedefs.h>
#include <cudaGLTypedefs.h>
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>
#include <cudaVDPAUTypedefs.h>

#define API_CHECK_PROTOTYPES
#define API_CHECK_TYPE(t, s, a) _Static_assert(sizeof(t) == s && _Alignof(t) == a, #t);
#define API_CHECK_FIELD(t, m, o, s) \
	_Static_assert(offsetof(t, m) == o && sizeof(((t *)0)->m) == s, #t "." #m);
#define API_CHECK_VALUE(n, v) _Static_assert((long long)(n) == v, #n);
#define API_CHECK_PROC(n, b, s, x) \
	_Static_assert(__builtin_types_compatible_p(PFN_##b##_v##s##x, __typeof__(&n)), #n);
#include "api/gen/abi_check.inc"
