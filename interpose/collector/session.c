/* SPDX-License-Identifier: Apache-2.0
 *
 * session: the page that all traced processes share, and the meaning of time stamps.
 */
#include <cpuid.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "interpose/collector/internal.h"

#define DEFAULT_RING_BYTES (2u << 20)
#define CALIBRATION_NS     10000000 /* at least: its ends are read 50 ns apart, so 5 us a second */

static int64_t monotonic(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Intel SDM volume 3, "Invariant TSC"; AMD APM volume 3, function 8000_0007h: EDX bit 8. */
static bool tsc_is_invariant(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
}

/* A pair of readings of both clocks, as close together as a few tries give. */
static void read_pair(uint64_t *tsc, int64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		uint64_t before = __rdtsc();
		int64_t now = monotonic();
		uint64_t after = __rdtsc();

		if (after - before < best) {
			best = after - before;
			*tsc = before + best / 2;
			*ns = now;
		}
	}
}

/* By now the program has been started, which took most of the time that the measurement needs. */
static void measure_tsc(struct clock_map *m)
{
	int64_t ns, left = m->ns_origin + CALIBRATION_NS - monotonic();
	struct timespec nap = {0, left > 0 ? left : 0};
	uint64_t tsc;

	if (left > 0)
		nanosleep(&nap, NULL);
	read_pair(&tsc, &ns);
	m->tsc_hz = (uint64_t)((double)(tsc - m->tsc_origin) * 1e9 / (double)(ns - m->ns_origin) + 0.5);
}

/* Not on kernels with CONFIG_MEMBARRIER off, nor with processors that run without a tick (membarrier(2)). */
static bool have_barrier(void)
{
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	return commands > 0 && (commands & MEMBARRIER_CMD_GLOBAL);
}

void session_share_numbers(struct collector *c)
{
	struct ring_session *s = c->session;
	uint64_t none = 0, alone;

	if (atomic_load(&s->numbering) != RING_ALONE)
		return;
	atomic_store(&s->numbering, RING_CHANGING);
	/* Behind it everybody sees that, or had looked before and takes one more number. */
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	alone = atomic_load(&s->alone);
	atomic_compare_exchange_strong(&s->sequence, &none, alone + 1);
	atomic_store(&s->numbering, RING_SHARED);
	c->unused_number = alone + 1;
	c->counted_alone = c->rings;
}

static uint32_t session_flags(const struct record_options *o)
{
	return (o->check.on ? RING_SESSION_CHECK : 0u) | (o->check.contents ? RING_SESSION_CONTENTS : 0u) |
	       (o->no_payloads ? RING_SESSION_NO_DATA : 0u) | (o->no_opaque ? 0u : RING_SESSION_OPAQUE) |
	       (o->reference_ptx ? RING_SESSION_PTX : 0u) |
	       (o->check.on_device ? RING_SESSION_ON_DEVICE : 0u) | (o->ranged ? RING_SESSION_RANGE : 0u) |
	       (o->keyframes ? RING_SESSION_KEYFRAMES : 0u) | (o->check.on_host ? RING_SESSION_ON_HOST : 0u);
}

int session_make(struct collector *c, struct diag *d)
{
	int fd = memfd_create("cutrace-session", MFD_CLOEXEC);
	struct ring_session *s;

	if (fd < 0 || ftruncate(fd, RING_DATA_OFFSET) != 0)
		return diag_set(d, CUTRACE_EIO, "memfd", "no shared memory: %s", strerror(errno));
	s = mmap(NULL, RING_DATA_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s == MAP_FAILED)
		return diag_set(d, CUTRACE_EIO, "memfd", "no shared memory: %s", strerror(errno));
	c->session = s;
	c->session_fd = fd;
	read_pair(&c->clock.tsc_origin, &c->clock.ns_origin);
	c->clock.is_tsc = tsc_is_invariant();
	c->start_ns = c->clock.ns_origin;
	s->magic = RING_MAGIC;
	s->version = RING_VERSION;
	s->flags = session_flags(&c->o->record);
	s->check_every = c->o->record.check.every;
	s->check_first = c->o->record.check.first;
	s->check_last = c->o->record.check.last;
	s->as_cc = c->o->record.as_cc;
	s->range_first = c->o->record.range_first;
	s->range_last = c->o->record.range_last;
	s->keyframe_every = c->o->record.keyframe_every;
	s->ring_bytes = c->o->ring_bytes ? c->o->ring_bytes : DEFAULT_RING_BYTES;
	s->use_tsc = c->clock.is_tsc;
	atomic_store(&s->numbering, have_barrier() ? RING_ALONE : RING_SHARED);
	atomic_store(&s->collector_alive, 1);
	return 0;
}

int64_t session_time(struct collector *c, uint64_t stamp)
{
	if (!c->clock.is_tsc)
		return (int64_t)stamp - c->start_ns;
	if (!c->clock.tsc_hz)
		measure_tsc(&c->clock);
	return (int64_t)((__int128)(int64_t)(stamp - c->clock.tsc_origin) * 1000000000 /
			 (int64_t)c->clock.tsc_hz);
}

int64_t session_now(const struct collector *c)
{
	return monotonic() - c->start_ns;
}
