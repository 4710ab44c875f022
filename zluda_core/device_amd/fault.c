/* SPDX-License-Identifier: Apache-2.0
 *
 * Faults as the user reads them: kernel, PTX line and its text, source line, block, thread, address, nearest
 * allocation; from what the hardware (or the emulator) noticed, and from what the kernel itself reported.
 */
#include <stdarg.h>
#include <string.h>

#include "zluda_core/device_amd/device_amd.h"

static void begin(const struct dev_launch *l, enum dev_fault_kind kind, struct dev_fault *f)
{
	memset(f, 0, sizeof(*f));
	f->kind = kind;
	snprintf(f->kernel, sizeof(f->kernel), "%s", l->kernel->func->name);
	snprintf(f->module, sizeof(f->module), "%s", l->kernel->module->ptx->name);
}

int amd_fault_launch(const struct dev_launch *l, struct dev_fault *f, const char *fmt, ...)
{
	char why[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	begin(l, DEV_FAULT_INTERNAL, f);
	snprintf(f->message, sizeof(f->message), "kernel %s: %s", f->kernel, why);
	return CUTRACE_EINVAL;
}

/* The instruction on a line, in the kernel or what it may call: for the source line. The bodies are built only now. */
static const struct ptx_inst *instruction_at(struct ptx_module *m, struct ptx_func *kernel, uint32_t line)
{
	if (ptx_func_build(m, kernel))
		return NULL;
	for (uint32_t k = 0; k < m->nfuncs; k++) {
		const struct ptx_func *f = m->funcs[k];
		for (uint32_t i = 0; f->state == PTX_BUILT && i < f->ninsts; i++)
			if (f->insts[i].line == line)
				return &f->insts[i];
	}
	return NULL;
}

static void set_line(struct amd_device *dev, const struct dev_launch *l, uint32_t line, struct dev_fault *f)
{
	struct ptx_module *m = l->kernel->module->ptx;

	f->line = line;
	if (!line)
		return;
	pthread_mutex_lock(&dev->code_lock);
	ptx_line_text(m, line, f->ptx, sizeof(f->ptx));
	const struct ptx_inst *i = instruction_at(m, l->kernel->func, line);
	if (!i || !ptx_inst_source(m, i, f->source, sizeof(f->source)))
		f->source[0] = 0;
	pthread_mutex_unlock(&dev->code_lock);
}

/* "kernel K, m.ptx:12 `text` (file.cu:3), block (0,0,0), thread (1,0,0)" */
static void describe_place(const struct dev_fault *f, bool has_place, char *buf, size_t n)
{
	char at[400] = "", src[170] = "", who[100] = "";

	if (f->line)
		snprintf(at, sizeof(at), ", %s:%u `%s`", f->module, f->line, f->ptx);
	if (f->source[0])
		snprintf(src, sizeof(src), " (%s)", f->source);
	if (has_place)
		snprintf(who, sizeof(who), ", block (%u,%u,%u), thread (%u,%u,%u)", f->block[0], f->block[1],
			 f->block[2], f->thread[0], f->thread[1], f->thread[2]);
	snprintf(buf, n, "kernel %s%s%s%s", f->kernel, at, src, who);
}

/* ", 4 bytes behind the end of the nearest allocation 0x... of N bytes" */
static void describe_nearest(struct amd_device *dev, struct dev_fault *f, char *buf, size_t n)
{
	const char *where = "into";
	uint64_t by;

	buf[0] = 0;
	if (!dev->ops->nearest ||
	    !dev->ops->nearest(dev->backend, f->address, &f->nearest_base, &f->nearest_bytes))
		return;
	f->has_nearest = true;
	by = f->address - f->nearest_base;
	if (f->address < f->nearest_base) {
		by = f->nearest_base - f->address;
		where = "before";
	} else if (by >= f->nearest_bytes) {
		by -= f->nearest_bytes;
		where = "behind the end of";
	}
	snprintf(buf, n, ", %llu bytes %s the nearest allocation 0x%llx of %llu bytes",
		 (unsigned long long)by, where, (unsigned long long)f->nearest_base,
		 (unsigned long long)f->nearest_bytes);
}

/* "illegal store of 4 bytes at global address 0x..., ..." */
static void describe_access(struct amd_device *dev, const struct amd_backend_fault *b, struct dev_fault *f,
			    char *buf, size_t n)
{
	const char *what = b->is_atomic ? "atomic operation" : b->is_store ? "store" : "load";
	char near[200] = "", size[40] = "";

	if (b->access_bytes)
		snprintf(size, sizeof(size), " of %u bytes", b->access_bytes);
	else
		what = "access";
	if (!b->space[0] || !strcmp(b->space, "global"))
		describe_nearest(dev, f, near, sizeof(near));
	snprintf(buf, n, "%s %s%s at %s%saddress 0x%llx%s",
		 f->kind == DEV_FAULT_MISALIGNED ? "misaligned" : "illegal", what, size, b->space,
		 b->space[0] ? " " : "", (unsigned long long)b->address, near);
}

int amd_fault_backend(struct amd_device *dev, const struct dev_launch *l, const struct amd_backend_fault *b,
		      struct dev_fault *f)
{
	char place[600], why[400];

	begin(l, b->kind == DEV_FAULT_NONE ? DEV_FAULT_INTERNAL : b->kind, f);
	set_line(dev, l, b->line, f);
	if (b->has_place) {
		memcpy(f->block, b->block, sizeof(f->block));
		memcpy(f->thread, b->thread, sizeof(f->thread));
	}
	snprintf(why, sizeof(why), "%.390s", b->message);
	if (b->has_address) {
		f->address = b->address;
		f->access_bytes = b->access_bytes;
		f->is_store = b->is_store || b->is_atomic;
		f->is_atomic = b->is_atomic;
		snprintf(f->space, sizeof(f->space), "%s", b->space);
		describe_access(dev, b, f, why, sizeof(why));
	}
	describe_place(f, b->has_place, place, sizeof(place));
	snprintf(f->message, sizeof(f->message), "%.250s: %.250s", why[0] ? why : "the launch failed", place);
	return CUTRACE_EINVAL;
}

/* ---- what the kernel reported ------------------------------------------------------------------ */

/* What each kind is called, and what of the record belongs to it. */
static const struct {
	enum dev_fault_kind kind;
	const char *what;
	enum { NOTHING, ADDRESS, TEXT, ADDRESS_TEXT } more;
} kinds[LOWER_FAULT_KINDS] = {
	[LOWER_FAULT_NONE] = {DEV_FAULT_INTERNAL, "a fault without a reason", NOTHING},
	[LOWER_FAULT_TRAP] = {DEV_FAULT_TRAP, "trap", NOTHING},
	[LOWER_FAULT_BRKPT] = {DEV_FAULT_TRAP, "breakpoint", NOTHING},
	[LOWER_FAULT_ASSERT] = {DEV_FAULT_ASSERT, "assertion", TEXT},
	[LOWER_FAULT_FREE] = {DEV_FAULT_ILLEGAL_ADDRESS, "free of what is not on the device's heap", ADDRESS},
	[LOWER_FAULT_ADDRESS] = {DEV_FAULT_ILLEGAL_ADDRESS, "illegal access", ADDRESS_TEXT},
	[LOWER_FAULT_MISALIGNED] = {DEV_FAULT_MISALIGNED, "misaligned access", ADDRESS_TEXT},
	[LOWER_FAULT_SPACE] = {DEV_FAULT_ILLEGAL_SPACE, "an address of another state space", ADDRESS_TEXT},
	[LOWER_FAULT_STACK] =
		{DEV_FAULT_STACK,
		 "the thread's stack is full: calls are too deep, or what they take is too large", NOTHING},
	[LOWER_FAULT_CALL] = {DEV_FAULT_INVALID_PC, "an indirect call of what is no function", ADDRESS},
	[LOWER_FAULT_INSTRUCTION] = {DEV_FAULT_ILLEGAL_INSTRUCTION, "an instruction that can't be executed",
				     TEXT},
	[LOWER_FAULT_TEXTURE] = {DEV_FAULT_ILLEGAL_ADDRESS, "texture or surface", ADDRESS_TEXT},
};

static void describe_report(const struct lower_fault *r, char *buf, size_t n)
{
	unsigned k = r->kind < LOWER_FAULT_KINDS ? r->kind : LOWER_FAULT_NONE;
	char more[200] = "", text[200] = "";

	if (kinds[k].more == ADDRESS || kinds[k].more == ADDRESS_TEXT)
		snprintf(more, sizeof(more), " 0x%llx", (unsigned long long)r->address);
	if ((kinds[k].more == TEXT || kinds[k].more == ADDRESS_TEXT) && r->text[0][0])
		snprintf(text, sizeof(text), ": %.190s", r->text[0]);
	snprintf(buf, n, "%s%s%s", kinds[k].what, more, text);
}

int amd_fault_reported(struct amd_device *dev, const struct dev_launch *l, const struct lower_fault *reported,
		       struct dev_fault *f)
{
	struct lower_fault r = *reported;
	char place[600], why[400];

	for (unsigned k = 0; k < LOWER_FAULT_TEXTS; k++)
		r.text[k][LOWER_FAULT_TEXT_BYTES - 1] = 0;
	begin(l, r.kind < LOWER_FAULT_KINDS ? kinds[r.kind].kind : DEV_FAULT_INTERNAL, f);
	set_line(dev, l, r.line, f);
	memcpy(f->block, r.block, sizeof(f->block));
	memcpy(f->thread, r.thread, sizeof(f->thread));
	f->address = r.address;
	if (r.kind == LOWER_FAULT_ASSERT) {
		snprintf(
			f->message, sizeof(f->message),
			"%.140s:%u: %.120s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%.140s` failed.",
			r.text[1], r.number, r.text[2], r.block[0], r.block[1], r.block[2], r.thread[0],
			r.thread[1], r.thread[2], r.text[0]);
		return CUTRACE_EINVAL;
	}
	describe_report(&r, why, sizeof(why));
	describe_place(f, true, place, sizeof(place));
	snprintf(f->message, sizeof(f->message), "%.250s: %.250s", why, place);
	return CUTRACE_EINVAL;
}
