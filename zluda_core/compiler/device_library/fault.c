/* SPDX-License-Identifier: Apache-2.0
 *
 * Faults that a kernel reports: the first lane that comes fills in the run-time block's record.
 */
#include "zluda_core/compiler/device_library/runtime.h"

/* NULL: another lane was first. */
static ct_global struct lower_fault *claim(ct_global struct lower_runtime *r, uint32_t kind, uint32_t line)
{
	ct_global struct lower_fault *f = &r->fault;
	uint32_t state = LOWER_FAULT_FREE_TO_CLAIM;

	if (!__atomic_compare_exchange_n(&f->state, &state, LOWER_FAULT_CLAIMED, 0, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return 0;
	f->kind = kind;
	f->line = line;
	ct_place(f->block, f->thread);
	return f;
}

static void complete(ct_global struct lower_fault *f)
{
	__atomic_store_n(&f->state, LOWER_FAULT_COMPLETE, __ATOMIC_RELEASE);
	__atomic_store_n(&f->stop, 1, __ATOMIC_RELEASE);
}

static void copy_text(ct_global char *to, const char *from)
{
	uint32_t n = 0;

	for (; from && n < LOWER_FAULT_TEXT_BYTES - 1 && from[n]; n++)
		to[n] = from[n];
	to[n] = 0;
}

void ct_fault(ct_global struct lower_runtime *r, uint32_t kind, uint32_t line, uint64_t address)
{
	ct_global struct lower_fault *f = claim(r, kind, line);

	if (!f)
		return;
	f->address = address;
	complete(f);
}

void ct_fault_text(ct_global struct lower_runtime *r, uint32_t kind, uint32_t line, uint64_t address,
		   const char *text)
{
	ct_global struct lower_fault *f = claim(r, kind, line);

	if (!f)
		return;
	f->address = address;
	copy_text(f->text[0], text);
	complete(f);
}

void ct_assertfail(ct_global struct lower_runtime *r, uint32_t line, const char *message, const char *file,
		   uint32_t source_line, const char *function)
{
	ct_global struct lower_fault *f = claim(r, LOWER_FAULT_ASSERT, line);

	if (!f)
		return;
	f->number = source_line;
	copy_text(f->text[0], message ? message : "?");
	copy_text(f->text[1], file ? file : "?");
	copy_text(f->text[2], function ? function : "?");
	complete(f);
}
