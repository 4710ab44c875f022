/* SPDX-License-Identifier: Apache-2.0
 *
 * The compiler for AMD GPUs: whether it is there, has the targets of this machine, and compiles a kernel for them.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor.h"
#include "ptx/lower/lower.h"
#include "zluda_core/compiler/service.h"

#define SECTION "Compiler for AMD GPUs"

static const char probe[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			    ".visible .entry probe(.param .u64 p)\n{\n"
			    "\t.reg .b64 %rd<3>;\n\t.reg .b32 %r<2>;\n"
			    "\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd2, %rd1;\n"
			    "\tmov.u32 %r1, %tid.x;\n\tst.global.u32 [%rd2], %r1;\n\tret;\n}\n";

static void compile(struct doctor *doc, struct service *s, const char *target)
{
	struct service_module m = {.text = probe, .name = "probe.ptx", .bytes = sizeof(probe) - 1};
	struct service_answer a = {0};
	struct diag d = DIAG_INIT;

	service_hash(m.text, m.bytes, m.hash);
	if (service_compile(s, &(struct service_request){&m, "probe", target, "", SERVICE_FRESH}, &a, &d))
		doctor_say(doc, SECTION, DOCTOR_WRONG, d.hint, "a kernel can't be compiled for %s: %s%s%s",
			   target, d.where, d.where[0] ? ": " : "", d.what);
	else
		doctor_say(doc, SECTION, DOCTOR_OK, NULL, "a kernel was compiled for %s (%.2f s)", target,
			   a.seconds);
	service_answer_free(&a);
}

/* Once for each target of this machine; one that every build has, where there is no GPU. */
static void compile_all(struct doctor *doc, struct service *s)
{
	if (!doc->ngpus)
		compile(doc, s,
			doc->driver_gpus && lower_target_find(doc->driver_targets[0]) ? doc->driver_targets[0]
										      : "gfx1100");
	for (unsigned i = 0; i < doc->ngpus; i++) {
		struct doctor_gpu *g = &doc->gpus[i];
		bool is_new = true;

		g->is_supported = lower_target_find(g->target);
		for (unsigned k = 0; k < i; k++)
			is_new = is_new && strcmp(doc->gpus[k].target, g->target);
		if (is_new && g->is_supported)
			compile(doc, s, g->target);
		else if (is_new)
			doctor_say(doc, SECTION, DOCTOR_WRONG,
				   "set HSA_OVERRIDE_GFX_VERSION to that of a near relative, "
				   "if there is one",
				   "cutrace has no code for %s (hip:%u)", g->target, i);
	}
}

void doctor_compiler(struct doctor *doc)
{
	struct diag d = DIAG_INIT;
	struct service *s;
	const char *path;
	char absolute[PATH_MAX];

	if (service_open(&s, NULL, &d)) {
		doctor_say(doc, SECTION, DOCTOR_WRONG, d.hint, "%s: %s", d.where, d.what);
		return;
	}
	path = service_compiler(s, &d);
	if (path) {
		doctor_say(doc, SECTION, DOCTOR_OK, NULL, "%s (%s)",
			   realpath(path, absolute) ? absolute : path, service_build_id(s));
		compile_all(doc, s);
	} else {
		doctor_say(doc, SECTION,
			   doctor_expects_gpu(doc) || getenv("CUTRACE_COMPILER") ? DOCTOR_WRONG : DOCTOR_NOTE,
			   d.hint, "%s: %s", d.where, d.what);
	}
	service_close(s);
}
