/* SPDX-License-Identifier: Apache-2.0
 *
 * sample: a synthetic trace, written with the writer's API: one call of each kind of argument. What it says
 * is written out by hand in the golden files beside it.
 */
#ifndef CUTRACE_TESTS_DUMP_SAMPLE_H
#define CUTRACE_TESTS_DUMP_SAMPLE_H

#include <stdbool.h>

/* Also writes DIR/sample.trace's buffers: 1 is the module, see sample.c. */
void sample_write(const char *path);
extern const char sample_ptx[];

/* capture.c: runs a command with its output in memory. The text is valid until the next capture. */
struct captured {
	int status;
	const char *out, *err;
};
struct captured capture(int (*command)(int argc, char **argv), ...); /* arguments, NULL at the end */
const char *read_file(const char *path);                             /* valid until the next call */
/* Makes an empty folder; remove_folder deletes it with its files. */
void make_folder(char *path, unsigned bytes);
void remove_folder(const char *path);

#endif
