/* SPDX-License-Identifier: Apache-2.0
 *
 * Output of vprintf in kernels. Launches append; the text comes out on stdout where the driver's
 * documentation says a flush happens (synchronising calls, blocking copies, the context's end) and at exit.
 * The C library's buffer is shared with the program's own printf, so the order is the program's.
 */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PENDING (64u << 20) /* then it is written at once: nothing is ever dropped */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *pending;
static size_t used, size;

static void flush_locked(void)
{
	if (!used)
		return;
	fwrite(pending, 1, used, stdout);
	used = 0;
}

void print_append(void *ctx, const char *text, size_t bytes)
{
	(void)ctx;
	pthread_mutex_lock(&lock);
	if (used + bytes > size) {
		size_t bigger = (used + bytes) * 2;
		char *p = bigger <= 2 * (size_t)MAX_PENDING ? realloc(pending, bigger) : NULL;

		if (p) {
			pending = p;
			size = bigger;
		} else {
			flush_locked();
		}
	}
	if (used + bytes <= size) {
		memcpy(pending + used, text, bytes);
		used += bytes;
	} else {
		fwrite(text, 1, bytes, stdout);
	}
	if (used > MAX_PENDING)
		flush_locked();
	pthread_mutex_unlock(&lock);
}

void print_flush(void)
{
	pthread_mutex_lock(&lock);
	flush_locked();
	pthread_mutex_unlock(&lock);
}

/* From a thread of ours: the program may hold stdout's lock while it waits for this very work. */
void print_flush_try(void)
{
	if (ftrylockfile(stdout))
		return;
	print_flush();
	funlockfile(stdout);
}
