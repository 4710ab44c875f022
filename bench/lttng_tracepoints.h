/* SPDX-License-Identifier: Apache-2.0
 *
 * lttng_tracepoints: the two events that an interposer built on LTTng-UST would write for a call. The shape of
 * this file is LTTng's (lttng-ust(3)).
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_tracepoints.h"

#if !defined(CUTRACE_BENCH_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define CUTRACE_BENCH_LTTNG_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(bench, enter, LTTNG_UST_TP_ARGS(uint32_t, function, uint64_t, a, uint64_t, b, uint64_t, c),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, function, function)
						       lttng_ust_field_integer(uint64_t, a, a)
							       lttng_ust_field_integer(uint64_t, b, b)
								       lttng_ust_field_integer(uint64_t, c, c)))
LTTNG_UST_TRACEPOINT_EVENT(bench, leave, LTTNG_UST_TP_ARGS(int32_t, result, uint64_t, out),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int32_t, result, result)
						       lttng_ust_field_integer(uint64_t, out, out)))

#endif

#include <lttng/tracepoint-event.h>
