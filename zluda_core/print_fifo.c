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

static void (*sink)(const char *text, size_t bytes); /* NULL: stdout */

static void write_out(const char *text, size_t bytes)
{
	if (sink)
		sink(text, bytes);
	else
		fwrite(text, 1, bytes, stdout);
}

static void flush_locked(void)
{
	if (!used)
		return;
	write_out(pending, used);
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
		write_out(text, bytes);
	}
	if (used > MAX_PENDING)
		flush_locked();
	pthread_mutex_unlock(&lock);
}

void print_to(void (*fn)(const char *text, size_t bytes))
{
	pthread_mutex_lock(&lock);
	flush_locked();
	sink = fn;
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
