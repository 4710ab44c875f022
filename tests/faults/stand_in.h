/* SPDX-License-Identifier: Apache-2.0
 *
 * stand_in: a libcuda.so.1 that is our driver, but changes each PTX text that is loaded. It defines the functions that load
 * (stand_in.c) and what the change needs (stand_in_fault.c, stand_in_logs.c); every other function is found in our driver,
 * on which it depends. A replay gets it by --driver; CUTRACE_DEVICE says what is below.
 */
#ifndef CUTRACE_FAULTS_STAND_IN_H
#define CUTRACE_FAULTS_STAND_IN_H

#include <stdbool.h>
#include <stddef.h>

/* Texts that the driver links are changed one by one; or else what is linked of them is. */
extern const bool stand_in_changes_pieces;

/* What takes the text's place, malloc'ed; NULL: it stays as it is. */
char *stand_in_change(const char *text, size_t bytes);

/* Around the load of a changed text; handle NULL: it failed. */
void stand_in_before_load(void);
void stand_in_after_load(void *handle, bool is_library);

/* A function of our driver; without it nothing goes on. */
void *stand_in_real(const char *name);

#endif
