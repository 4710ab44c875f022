/* SPDX-License-Identifier: Apache-2.0
 *
 * A libamd_comgr.so that says its version: MAJOR, MINOR. cutrace links code itself, and asks comgr for no more.
 */
#include <stddef.h>

__attribute__((visibility("default"))) void amd_comgr_get_version(size_t *major, size_t *minor);
void amd_comgr_get_version(size_t *major, size_t *minor)
{
	*major = MAJOR;
	*minor = MINOR;
}
