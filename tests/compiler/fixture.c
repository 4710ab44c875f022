/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char fixture_ptx[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".global .align 4 .u32 counter;\n"
	".const .align 8 .b8 table[64];\n"
	".visible .entry scale(.param .u64 p, .param .f32 factor)\n{\n"
	"\t.reg .f32 %f<4>; .reg .b64 %d<4>; .reg .b32 %r<4>;\n"
	"\tld.param.u64 %d1, [p]; ld.param.f32 %f1, [factor];\n"
	"\tmov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;\n"
	"\tld.global.f32 %f2, [%d1]; mul.rn.f32 %f2, %f2, %f1; st.global.f32 [%d1], %f2;\n\tret;\n}\n"
	".visible .entry count()\n{\n"
	"\t.reg .b32 %r<4>; .reg .b64 %d<4>;\n"
	"\tld.const.u32 %r1, [table+8];\n"
	"\tatom.global.add.u32 %r2, [counter], %r1;\n\tret;\n}\n"
	".visible .entry add3(.param .u64 p)\n{\n"
	"\t.reg .b32 %r<4>; .reg .b64 %d<4>;\n"
	"\tld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1]; add.u32 %r1, %r1, 3; st.global.u32 [%d1], "
	"%r1;\n\tret;\n}\n"
	".visible .entry too_much_shared()\n{\n"
	"\t.shared .align 4 .b8 tile[131072];\n\t.reg .b32 %r<4>;\n"
	"\tmov.u32 %r1, %tid.x; st.shared.u32 [tile+4], %r1;\n\tret;\n}\n";

void fixture_open(struct fixture *f, const struct service_config *config)
{
	struct service_config c = config ? *config : (struct service_config){0};

	memset(f, 0, sizeof(*f));
	snprintf(f->folder, sizeof(f->folder), "/tmp/cutrace-cache-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	c.cache = f->folder;
	snprintf(f->compiler, sizeof(f->compiler), "%s/cutrace-compile", f->folder);
	fixture_use_compiler(f, c.compiler);
	c.compiler = f->compiler;
	f->module = (struct service_module){
		.text = fixture_ptx, .name = "fixture.ptx", .bytes = strlen(fixture_ptx)};
	service_hash(f->module.text, f->module.bytes, f->module.hash);
	assert_int_equal(service_open(&f->service, &c, NULL), 0);
}

void fixture_use_compiler(struct fixture *f, const char *path)
{
	unlink(f->compiler);
	assert_int_equal(symlink(path ? path : getenv("CUTRACE_COMPILER"), f->compiler), 0);
}

void fixture_close(struct fixture *f)
{
	char command[256];

	service_close(f->service);
	snprintf(command, sizeof(command), "chmod -R u+w '%s'; rm -rf '%s'", f->folder, f->folder);
	assert_int_equal(system(command), 0);
}

const char *fixture_cache_file(const struct fixture *f)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/code-objects.sqlite", f->folder);
	return path;
}

int fixture_compile(struct fixture *f, const char *kernel, const char *target, bool *cached)
{
	struct service_request r = {.module = &f->module, .kernel = kernel, .target = target};
	struct service_answer a;
	struct diag d = DIAG_INIT;
	int rc = service_compile(f->service, &r, &a, &d);

	if (cached)
		*cached = a.cached;
	if (rc)
		print_message("%s: %s\n", d.where, d.what);
	service_answer_free(&a);
	return rc;
}

/* They are nobody's children: told by what they were started as. */
unsigned fixture_workers(const struct fixture *f, int *pids, unsigned max)
{
	char path[300], text[4096];
	DIR *dir = opendir("/proc");
	struct dirent *e;
	unsigned n = 0;

	assert_non_null(dir);
	while ((e = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%.20s/cmdline", e->d_name);
		FILE *in = e->d_name[0] >= '1' && e->d_name[0] <= '9' ? fopen(path, "rb") : NULL;
		if (!in)
			continue;
		text[fread(text, 1, sizeof(text) - 1, in)] = '\0';
		fclose(in);
		if (!strcmp(text, f->compiler) && n < max)
			pids[n++] = atoi(e->d_name);
	}
	closedir(dir);
	return n;
}
