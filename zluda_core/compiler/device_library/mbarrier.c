/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of an mbarrier are compare-and-swap of the whole object. The phase is complete when no arrival is pending and
 * the tx-count is 0 (ISA 9.7.13.16.5).
 */
#include "zluda_core/compiler/device_library/mbarrier.h"

#include <stdbool.h>

enum { EXPECTED = 20, TX = 40, PHASE = 61, TX_MASK = (1 << 21) - 1 };

struct parts {
	uint32_t pending, expected, tx, phase; /* tx modulo 2^21 */
};

static struct parts unpack(uint64_t v)
{
	return (struct parts){.pending = v & CT_MBARRIER_COUNT_MAX,
			      .expected = v >> EXPECTED & CT_MBARRIER_COUNT_MAX,
			      .tx = v >> TX & TX_MASK,
			      .phase = (uint32_t)(v >> PHASE)};
}

static uint64_t pack(struct parts b)
{
	return (uint64_t)(b.pending & CT_MBARRIER_COUNT_MAX) |
	       (uint64_t)(b.expected & CT_MBARRIER_COUNT_MAX) << EXPECTED | (uint64_t)(b.tx & TX_MASK) << TX |
	       (uint64_t)(b.phase & 7) << PHASE;
}

static uint64_t changed(uint64_t old, uint32_t action, uint32_t n)
{
	struct parts b = unpack(old);
	bool transfers = action == CT_MBARRIER_ARRIVE_EXPECT || action == CT_MBARRIER_DROP_EXPECT;
	bool drops = action == CT_MBARRIER_DROP || action == CT_MBARRIER_DROP_EXPECT;

	if (action == CT_MBARRIER_INIT)
		return pack((struct parts){.pending = n, .expected = n});
	if (action == CT_MBARRIER_INVAL)
		return 0;
	if (transfers || action == CT_MBARRIER_EXPECT_TX)
		b.tx += n;
	if (action == CT_MBARRIER_COMPLETE_TX)
		b.tx -= n;
	if (transfers)
		n = 1;
	if (drops)
		b.expected -= n < b.expected ? n : b.expected;
	if (action >= CT_MBARRIER_ARRIVE)
		b.pending -= n < b.pending ? n : b.pending;
	if (!b.pending && !(b.tx & TX_MASK)) {
		b.phase++;
		b.pending = b.expected;
	}
	return pack(b);
}

uint64_t ct_mbarrier_change(uint64_t *object, uint32_t action, uint32_t n)
{
	uint64_t old = __atomic_load_n(object, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(object, &old, changed(old, action, n), false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
	return old;
}

uint32_t ct_mbarrier_done(const uint64_t *object, uint64_t phase, uint32_t by_parity)
{
	uint32_t now = unpack(__atomic_load_n(object, __ATOMIC_RELAXED)).phase;

	return by_parity ? (now & 1) != (phase & 1) : now != unpack(phase).phase;
}
