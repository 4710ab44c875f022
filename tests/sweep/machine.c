/* SPDX-License-Identifier: Apache-2.0
 *
 * machine: all groups as one PTX module, one kernel a group, on the interpreter. A thread reads its operand tuple from
 * 8-byte cells, executes every form of the group on it and writes one 8-byte cell a form.
 */
#include "sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/nvidia/device_cuda.h"

#define WINDOW_BASE  0x550000000000ull
#define WINDOW_BYTES (1ull << 30)
#define BLOCK        128

struct machine {
	struct group *groups;
	const struct device_ops *ops;
	struct device *dev;
	struct ptx_module *module;
	struct dev_module *loaded;
	struct dev_mem *mem[2];
	uint64_t input, output; /* addresses */
	uint64_t *symbols;
	uint64_t launches;
};

static unsigned reg_bits(unsigned bits)
{
	return bits <= 16 ? 16 : bits <= 32 ? 32 : 64;
}

static unsigned result_bits(const struct sweep_form *f)
{
	if (f->format == FORMAT_NONE)
		return reg_bits(f->integer->bits);
	return reg_bits(f->lanes * format_info(f->format)->bits);
}

static void emit_form(FILE *o, const struct group *g, const struct sweep_form *f, unsigned index)
{
	unsigned bits = result_bits(f);
	bool byte = f->format == FORMAT_E2M1; /* two of them fill a register of 8 bits */

	fprintf(o, "\t{ .reg .b%u d; ", bits);
	if (byte)
		fputs(".reg .b8 n; ", o);
	fprintf(o, "%s %s, a", f->opcode, byte ? "n" : "d");
	if (f->same)
		fputs(", a", o);
	for (unsigned i = 1; i < g->nin; i++)
		fprintf(o, ", %c", 'a' + (int)i);
	if (byte)
		fputs("; cvt.u16.u8 d, n", o);
	fprintf(o, "; st.global.b%u [outp+%u], d; }\n", bits, index * 8);
}

static void emit_group(FILE *o, const struct group *g, unsigned index)
{
	unsigned bits = reg_bits(g->bits);

	fprintf(o,
		".visible .entry k%u(.param .u64 pin, .param .u64 pout)\n{\n"
		"\t.reg .b64 inp, outp, off;\n\t.reg .b32 idx, tmp, dim;\n\t.reg .b%u a, b, c;\n"
		"\tld.param.u64 inp, [pin];\n\tld.param.u64 outp, [pout];\n"
		"\tmov.u32 idx, %%tid.x;\n\tmov.u32 tmp, %%ctaid.x;\n\tmov.u32 dim, %%ntid.x;\n"
		"\tmad.lo.u32 idx, tmp, dim, idx;\n"
		"\tmul.wide.u32 off, idx, %u;\n\tadd.u64 inp, inp, off;\n"
		"\tmul.wide.u32 off, idx, %u;\n\tadd.u64 outp, outp, off;\n",
		index, bits, g->nin * 8, g->n * 8);
	for (unsigned i = 0; i < g->nin; i++)
		fprintf(o, "\tld.global.b%u %c, [inp+%u];\n", bits, 'a' + (int)i, i * 8);
	for (unsigned i = 0; i < g->n; i++)
		emit_form(o, g, &g->forms[i], i);
	fputs("\tret;\n}\n", o);
}

static char *module_text(const struct group *groups, unsigned n, size_t *bytes)
{
	char *text = NULL;
	FILE *o = open_memstream(&text, bytes);

	fputs(".version 9.0\n.target sm_100a\n.address_size 64\n", o);
	for (unsigned i = 0; i < n; i++)
		emit_group(o, &groups[i], i);
	fclose(o);
	return text;
}

static void drop_text(void *ctx, const char *text, size_t bytes)
{
	(void)ctx;
	(void)text;
	(void)bytes;
}

static uint64_t no_heap(void *ctx, uint64_t bytes)
{
	(void)ctx;
	(void)bytes;
	return 0;
}

static int no_free(void *ctx, uint64_t addr)
{
	(void)ctx;
	(void)addr;
	return 0;
}

static const struct dev_host host = {.print = drop_text, .heap_alloc = no_heap, .heap_free = no_free};

#define INPUT_BYTES  ((uint64_t)BATCH * 3 * 8)
#define OUTPUT_BYTES ((uint64_t)BATCH * MAX_FORMS * 8)

static int map(struct machine *m, unsigned i, uint64_t addr, uint64_t bytes, struct diag *d)
{
	int rc = m->ops->mem_create(m->dev, bytes, &m->mem[i], d);

	return rc ? rc : m->ops->map(m->dev, addr, bytes, m->mem[i], 0, false, d);
}

/* Hardware maps in one window, where it likes. */
static int map_buffers(struct machine *m, struct diag *d)
{
	uint64_t base = WINDOW_BASE, bytes = WINDOW_BYTES;
	int rc = m->ops->window ? m->ops->window(m->dev, &base, &bytes, d) : 0;

	m->input = base;
	m->output = base + WINDOW_BYTES / 2;
	rc = rc ? rc : map(m, 0, m->input, INPUT_BYTES, d);
	return rc ? rc : map(m, 1, m->output, OUTPUT_BYTES, d);
}

static int load(struct machine *m, unsigned n, struct diag *d)
{
	struct dev_module_env env;
	size_t bytes;
	char *text = module_text(m->groups, n, &bytes);
	int rc = 0;

	m->module = ptx_module_parse(text, bytes, "sweep", d);
	free(text);
	if (!m->module)
		return -1;
	if (m->module->nerrors)
		rc = diag_set(d, -1, m->module->errors[0].where, "%s", m->module->errors[0].what);
	m->symbols = calloc(m->module->nsymbols + 1, sizeof(*m->symbols));
	env.symbol_addr = m->symbols;
	env.nsymbols = m->module->nsymbols;
	return rc ? rc : m->ops->module_load(m->dev, m->module, &env, &m->loaded, d);
}

/* One thread: a sweep is made parallel by running shards of it. */
static struct {
	const struct device_ops *ops;
	const char *options;
} chosen = {&device_interp, "workers=1"};

bool machine_choose(const char *name)
{
	static const struct device_ops *const devices[] = {
		&device_interp,
		&device_cuda,
#ifdef WITH_AMDEMU
		&device_amdemu,
#endif
	};
	size_t n = strcspn(name, ":");

	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		if (strlen(devices[i]->name) != n || memcmp(devices[i]->name, name, n))
			continue;
		chosen.ops = devices[i];
		chosen.options = name[n] ? name + n + 1 : NULL;
		return true;
	}
	return false;
}

struct machine *machine_open(struct group *groups, unsigned n)
{
	struct machine *m = calloc(1, sizeof(*m));
	struct diag d = DIAG_INIT;
	int rc;

	if (!m)
		return NULL;
	m->groups = groups;
	m->ops = chosen.ops;
	rc = m->ops->open(&m->dev, 0, chosen.options, &host, &d);
	rc = rc ? rc : map_buffers(m, &d);
	rc = rc ? rc : load(m, n, &d);
	if (!rc)
		return m;
	printf("sweep: %s: %s\n", d.where, d.what);
	machine_close(m);
	return NULL;
}

void machine_close(struct machine *m)
{
	struct diag d = DIAG_INIT;

	if (m->loaded)
		m->ops->module_unload(m->dev, m->loaded);
	if (m->module)
		ptx_module_free(m->module);
	if (m->mem[0])
		m->ops->unmap(m->dev, m->input, INPUT_BYTES, &d);
	if (m->mem[1])
		m->ops->unmap(m->dev, m->output, OUTPUT_BYTES, &d);
	for (unsigned i = 0; i < 2 && m->mem[i]; i++)
		m->ops->mem_destroy(m->dev, m->mem[i]);
	if (m->dev)
		m->ops->close(m->dev);
	free(m->symbols);
	free(m);
}

int machine_run(struct machine *m, unsigned group, const uint64_t *in, uint64_t *out, unsigned count)
{
	const struct group *g = &m->groups[group];
	uint64_t params[2] = {m->input, m->output};
	struct dev_fault fault = {0};
	struct diag d = DIAG_INIT;
	struct dev_launch l = {.grid = {count / BLOCK, 1, 1},
			       .block = {BLOCK, 1, 1},
			       .params = params,
			       .param_bytes = sizeof(params),
			       .launch_id = ++m->launches};
	char name[16];

	snprintf(name, sizeof(name), "k%u", group);
	if (m->ops->kernel_get(m->dev, m->loaded, name, &l.kernel, &d) ||
	    m->ops->write(m->dev, m->input, in, (uint64_t)count * g->nin * 8, &d)) {
		printf("sweep of %s: %s: %s\n", g->name, d.where, d.what);
		return -1;
	}
	if (m->ops->launch(m->dev, &l, &fault)) {
		printf("sweep of %s: fault: %s\n", g->name, fault.message);
		return -1;
	}
	if (m->ops->read(m->dev, out, m->output, (uint64_t)count * g->n * 8, &d)) {
		printf("sweep of %s: %s\n", g->name, d.what);
		return -1;
	}
	return 0;
}
