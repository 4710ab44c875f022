/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that execute one statement. Its registers keep their names and types; those of a fused pair get new ones, since
 * the two statements may use one name for different values.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/instrument/sites.h"

static const struct ptx_inst *inst_of(const struct ptx_site *s)
{
	return &s->f->insts[s->first + s->n - 1];
}

static bool reads_unwritten(const struct ptx_site *s)
{
	for (uint32_t k = s->first; k < s->first + s->n; k++)
		for (unsigned j = 0; j < s->f->insts[k].nsrc; j++) {
			const struct ptx_operand *o = &s->f->insts[k].src[j];

			if (o->kind == PTX_OPND_VALUE && !s->f->values[o->index].slot)
				return true;
		}
	return false;
}

bool ptx_can_judge(const struct ptx_site *s)
{
	bool any = false;

	if (s->kind != PTX_SITE_PURE || s->is_partial || reads_unwritten(s))
		return false;
	for (unsigned k = 0; k < s->nregisters; k++) {
		if (strchr(ptx_site_register_name(s, &s->registers[k]), '.')) /* a vector's component */
			return false;
		any |= s->registers[k].is_result;
	}
	return any;
}

/* ---- text --------------------------------------------------------------------------- */

static const char *register_type(const struct ptx_site *s, const struct ptx_site_register *r)
{
	return ptx_type_name((enum ptx_type)s->f->slots[r->slot].type);
}

static bool is_carry(const struct ptx_site *s, const struct ptx_site_register *r)
{
	return !strcmp(ptx_site_register_name(s, r), PTX_CARRY_NAME);
}

static void load(FILE *out, const char *name, unsigned bits, unsigned at)
{
	if (!strcmp(name, PTX_CARRY_NAME)) /* the sum carries when it is 1 */
		fprintf(out,
			"ld.global.u32 %%cutrace_w, [%%cutrace_in+%u];\nadd.cc.u32 %%cutrace_w, %%cutrace_w, -1;\n",
			at);
	else if (bits == 1)
		fprintf(out,
			"ld.global.u32 %%cutrace_w, [%%cutrace_in+%u];\nsetp.ne.u32 %s, %%cutrace_w, 0;\n",
			at, name);
	else if (bits == 8)
		fprintf(out, "ld.global.u32 %%cutrace_w, [%%cutrace_in+%u];\ncvt.u8.u32 %s, %%cutrace_w;\n",
			at, name);
	else if (bits == 128)
		fprintf(out,
			"ld.global.b64 %%cutrace_x, [%%cutrace_in+%u];\nld.global.b64 %%cutrace_y, [%%cutrace_in+%u];\nmov.b128 %s, {%%cutrace_x, "
			"%%cutrace_y};\n",
			at, at + 8, name);
	else
		fprintf(out, "ld.global.b%u %s, [%%cutrace_in+%u];\n", bits, name, at);
}

static void store(FILE *out, const char *name, unsigned bits, unsigned at)
{
	if (!strcmp(name, PTX_CARRY_NAME))
		fprintf(out, "addc.u32 %%cutrace_w, 0, 0;\nst.global.u32 [%%cutrace_out+%u], %%cutrace_w;\n",
			at);
	else if (bits == 1)
		fprintf(out,
			"selp.u32 %%cutrace_w, 1, 0, %s;\nst.global.u32 [%%cutrace_out+%u], %%cutrace_w;\n",
			name, at);
	else if (bits == 8)
		fprintf(out, "cvt.u32.u8 %%cutrace_w, %s;\nst.global.u32 [%%cutrace_out+%u], %%cutrace_w;\n",
			name, at);
	else if (bits == 128)
		fprintf(out,
			"mov.b128 {%%cutrace_x, %%cutrace_y}, %s;\nst.global.b64 [%%cutrace_out+%u], %%cutrace_x;\nst.global.b64 [%%cutrace_out+%u], "
			"%%cutrace_y;\n",
			name, at, at + 8);
	else
		fprintf(out, "st.global.b%u [%%cutrace_out+%u], %s;\n", bits, at, name);
}

/* Up to where the record is loaded. */
static void begin_kernel(FILE *out, const struct ptx_judge *j, unsigned gives)
{
	fprintf(out,
		".visible .entry %s(.param .u64 takes, .param .u64 gives)\n{\n.reg .pred %%cutrace_nothing;\n"
		".reg .b32 %%cutrace_w, %%cutrace_v;\n.reg .b64 %%cutrace_in, %%cutrace_out, %%cutrace_x, %%cutrace_y;\n"
		"mov.u32 %%cutrace_w, %%ctaid.x;\nshl.b32 %%cutrace_w, %%cutrace_w, 5;\nmov.u32 %%cutrace_v, %%tid.x;\nadd.u32 %%cutrace_w, %%cutrace_w, "
		"%%cutrace_v;\n"
		"ld.param.u64 %%cutrace_in, [takes];\nmul.wide.u32 %%cutrace_x, %%cutrace_w, %u;\nadd.s64 %%cutrace_in, %%cutrace_in, %%cutrace_x;\n"
		"ld.param.u64 %%cutrace_out, [gives];\nmul.wide.u32 %%cutrace_x, %%cutrace_w, %u;\nadd.s64 %%cutrace_out, %%cutrace_out, %%cutrace_x;\n"
		"ld.global.u32 %%cutrace_v, [%%cutrace_in];\nsetp.eq.u32 %%cutrace_nothing, %%cutrace_v, 0;\n@%%cutrace_nothing bra cutrace_nothing;\n",
		j->name, 4 * j->words, 4 * gives);
}

static void end_kernel(FILE *out)
{
	fputs("cutrace_nothing:\nret;\n}\n", out);
}

static void declare(FILE *out, const struct ptx_site *s)
{
	for (unsigned k = 0; k < s->nregisters; k++) {
		const struct ptx_site_register *r = &s->registers[k];
		bool again = is_carry(s, r);

		for (unsigned j = 0; j < k; j++)
			again |= s->registers[j].slot == r->slot;
		if (!again)
			fprintf(out, ".reg .%s %s;\n", register_type(s, r), ptx_site_register_name(s, r));
	}
}

static void load_operands(FILE *out, const struct ptx_site *s)
{
	/* The carry last: loading others may change it. */
	for (int carry = 0; carry < 2; carry++)
		for (unsigned k = 0; k < s->nregisters; k++) {
			const struct ptx_site_register *r = &s->registers[k];

			if (!r->is_result && is_carry(s, r) == (carry != 0))
				load(out, ptx_site_register_name(s, r), r->bits, 4u * r->at);
		}
}

static void judge_kernel(FILE *out, const struct ptx_module *m, const struct ptx_site *s,
			 const struct ptx_judge *j)
{
	begin_kernel(out, j, s->words);
	fputs("{\n", out);
	declare(out, s);
	load_operands(out, s);
	fwrite(m->text + s->opcode, 1, s->end - s->opcode, out);
	fputc('\n', out);
	for (unsigned k = 0; k < s->nregisters; k++)
		if (s->registers[k].is_result)
			store(out, ptx_site_register_name(s, &s->registers[k]), s->registers[k].bits,
			      4u * s->registers[k].at);
	fputs("}\n", out);
	end_kernel(out);
}

/* ---- a product and a sum as one ------------------------------------------------------ */

/* Operand k (0: the first source) as the statement has it. */
static void operand_text(const struct ptx_module *m, const struct ptx_site *s, unsigned k, char *out,
			 size_t size)
{
	const char *p = m->text + s->opcode, *end = m->text + s->end;
	size_t n = 0;

	for (unsigned comma = 0; p < end && comma <= k; p++)
		comma += *p == ',';
	for (; p < end && *p != ',' && *p != ';'; p++)
		if (*p != ' ' && *p != '\t' && n + 1 < size)
			out[n++] = *p;
	out[n] = '\0';
}

/* Loads it into `name`, or moves the constant there. */
static void take(FILE *out, const struct ptx_module *m, const struct ptx_site *s, unsigned k,
		 const char *name, unsigned from)
{
	const struct ptx_operand *o = &inst_of(s)->src[k];
	char text[128];

	if (o->kind != PTX_OPND_VALUE) {
		operand_text(m, s, k, text, sizeof(text));
		fprintf(out, "mov.b%u %s, %s;\n", ptx_type_bits(inst_of(s)->type), name, text);
		return;
	}
	for (unsigned r = 0; r < s->nregisters; r++)
		if (s->registers[r].slot == s->f->values[o->index].slot && !s->registers[r].is_result)
			load(out, name, s->registers[r].bits, 4 * (from + s->registers[r].at));
}

static void fused_kernel(FILE *out, const struct ptx_module *m, const struct ptx_site *sum,
			 const struct ptx_site *product, const struct ptx_judge *j)
{
	const struct ptx_inst *i = inst_of(sum);
	const char *type = ptx_type_name((enum ptx_type)i->type);
	const struct ptx_site_register *result = NULL;

	for (unsigned k = 0; k < sum->nregisters; k++)
		if (sum->registers[k].is_result)
			result = &sum->registers[k];
	if (!result)
		return;
	begin_kernel(out, j, sum->words);
	fprintf(out, ".reg .b%u %%cutrace_a, %%cutrace_b, %%cutrace_c, %%cutrace_d;\n",
		ptx_type_bits(i->type));
	take(out, m, product, 0, "%cutrace_a", sum->words);
	take(out, m, product, 1, "%cutrace_b", sum->words);
	take(out, m, sum, j->operand ? 0 : 1, "%cutrace_c", 0);
	if (j->negate_product)
		fprintf(out, "neg.%s %%cutrace_a, %%cutrace_a;\n", type);
	if (j->negate_addend)
		fprintf(out, "neg.%s %%cutrace_c, %%cutrace_c;\n", type);
	fprintf(out, "fma.rn%s%s.%s %%cutrace_d, %%cutrace_a, %%cutrace_b, %%cutrace_c;\n",
		i->flags & PTX_F_FTZ ? ".ftz" : "", i->flags & PTX_F_SAT ? ".sat" : "", type);
	store(out, "%cutrace_d", ptx_type_bits(i->type), 4u * result->at);
	end_kernel(out);
}

/* "mul.rn.f32" */
static void put_operation(FILE *out, const struct ptx_module *m, const struct ptx_site *s)
{
	const char *p = m->text + s->opcode;

	fprintf(out, "%.*s", (int)strcspn(p, " \t\n"), p);
}

/* Products, each rounded as it says, then the sum. */
static void joint_kernel(FILE *out, const struct ptx_module *m, const struct ptx_instrumented *i,
			 const struct ptx_site *sum, const struct ptx_judge *j)
{
	const struct ptx_site_register *result = &sum->registers[sum->nregisters - 1];
	unsigned bits = ptx_type_bits(inst_of(sum)->type), from = sum->words;

	begin_kernel(out, j, sum->words);
	fprintf(out, ".reg .f%u %%cutrace_a, %%cutrace_b, %%cutrace_p0, %%cutrace_p1, %%cutrace_d;\n", bits);
	for (unsigned k = 0; k < 2; k++) {
		const struct ptx_site *product =
			j->products[k] == PTX_NONE ? NULL : &i->sites[j->products[k]];

		if (!product) {
			take(out, m, sum, k, k ? "%cutrace_p1" : "%cutrace_p0", 0);
			continue;
		}
		take(out, m, product, 0, "%cutrace_a", from);
		take(out, m, product, 1, "%cutrace_b", from);
		put_operation(out, m, product);
		fprintf(out, " %%cutrace_p%u, %%cutrace_a, %%cutrace_b;\n", k);
		from += product->words;
	}
	put_operation(out, m, sum);
	fputs(" %cutrace_d, %cutrace_p0, %cutrace_p1;\n", out);
	store(out, "%cutrace_d", bits, 4u * result->at);
	end_kernel(out);
}

static unsigned words_of_products(const struct ptx_instrumented *i, const struct ptx_judge *j)
{
	unsigned words = j->fused == PTX_NONE ? 0 : i->sites[j->fused].words;

	for (unsigned k = 0; j->joint && k < 2; k++)
		words += j->products[k] == PTX_NONE ? 0 : i->sites[j->products[k]].words;
	return words;
}

/* ---- the module ---------------------------------------------------------------------- */

static void write_header(FILE *out, const struct ptx_module *m)
{
	const char *p = strstr(m->text, ".target"), *end = p ? p + strcspn(p, "\n/") : NULL;

	fprintf(out, ".version %u.%u\n", m->version / 10u, m->version % 10u);
	if (p)
		fprintf(out, "%.*s\n", (int)(end - p), p);
	fputs(".address_size 64\n", out);
}

int ptx_judge_text(const struct ptx_module *m, const struct ptx_instrumented *i, struct ptx_judge *judges,
		   uint32_t n, char **text, size_t *bytes, struct diag *d)
{
	FILE *out = open_memstream(text, bytes);

	if (!out)
		return diag_set(d, CUTRACE_ENOMEM, m->name, "out of memory");
	write_header(out, m);
	for (uint32_t k = 0; k < n; k++) {
		struct ptx_judge *j = &judges[k];
		const struct ptx_site *s = &i->sites[j->site];

		snprintf(j->name, sizeof(j->name), "judge_%u", k);
		j->words = s->words + words_of_products(i, j);
		if (j->joint)
			joint_kernel(out, m, i, s, j);
		else if (j->fused != PTX_NONE)
			fused_kernel(out, m, s, &i->sites[j->fused], j);
		else
			judge_kernel(out, m, s, j);
	}
	if (fclose(out))
		return diag_set(d, CUTRACE_ENOMEM, m->name, "out of memory");
	return 0;
}
