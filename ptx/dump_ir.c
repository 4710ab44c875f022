/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/dump_ir: the IR as text. A value is printed as register.version; the
 * version counts all values of the function, so that a name is unique. */
#include <inttypes.h>

#include "ptx/parse.h"

static void dump_value(const struct ptx_func *f, uint32_t v, FILE *out)
{
	if (v == 0)
		fputs("undef", out);
	else if (v >= f->nvalues)
		fprintf(out, "?%u", v);
	else
		fprintf(out, "%s.%u", f->slots[f->values[v].slot].name, v);
}

static void dump_offset(uint64_t imm, FILE *out)
{
	int64_t v = (int64_t)imm;
	if (v)
		fprintf(out, v < 0 ? "-%" PRIu64 : "+%" PRIu64, v < 0 ? 0 - imm : imm);
}

static void dump_operand(const struct ptx_module *m, const struct ptx_func *f, const struct ptx_operand *o,
			 FILE *out)
{
	if (o->negate)
		fputc('!', out);
	switch ((enum ptx_operand_kind)o->kind) {
	case PTX_OPND_NONE: fputs("none", out); break;
	case PTX_OPND_VALUE:
		dump_value(f, o->index, out);
		dump_offset(o->imm, out);
		break;
	case PTX_OPND_IMM: fprintf(out, "0x%" PRIx64, o->imm); break;
	case PTX_OPND_SREG: fputs(ptx_sreg_name(o->index), out); break;
	case PTX_OPND_SYMBOL:
		fputs(m->symbols[o->index]->name, out);
		dump_offset(o->imm, out);
		break;
	case PTX_OPND_FUNC: fprintf(out, "&%s", m->funcs[o->index]->name); break;
	case PTX_OPND_SINK: fputc('_', out); break;
	case PTX_OPND_PARAM:
		fprintf(out, o->index ? "ret[%" PRIu64 "]" : "param[%" PRIu64 "]", o->imm);
		break;
	}
}

static void dump_operands(const struct ptx_module *m, const struct ptx_func *f, const struct ptx_operand *o,
			  unsigned n, FILE *out)
{
	for (unsigned k = 0; k < n; k++) {
		if (k)
			fputs(", ", out);
		dump_operand(m, f, &o[k], out);
	}
}

static void dump_target(const struct ptx_module *m, const struct ptx_func *f, const struct ptx_inst *i,
			FILE *out)
{
	if (i->op == PTX_OP_BRA)
		fprintf(out, " b%u", i->target);
	if (i->op == PTX_OP_CALL && i->target != PTX_NONE)
		fprintf(out, " %s:", m->funcs[i->target]->name);
	if (i->table == PTX_NONE)
		return;
	fprintf(out, " [");
	for (uint32_t k = 0; k < f->lists[i->table].n; k++)
		fprintf(out, i->op == PTX_OP_CALL ? "%sf%u" : "%sb%u", k ? " " : "",
			f->lists[i->table].items[k]);
	fputc(']', out);
}

static void dump_inst(const struct ptx_module *m, const struct ptx_func *f, const struct ptx_inst *i,
		      FILE *out)
{
	fputs("  ", out);
	if (i->guarded) {
		fputs(i->guard_negate ? "@!" : "@", out);
		dump_value(f, i->guard, out);
		fputc(' ', out);
	}
	dump_operands(m, f, i->dst, i->ndst, out);
	fprintf(out, i->ndst ? " = %s" : "%s", i->mods);
	dump_target(m, f, i, out);
	if (i->nsrc)
		fputc(' ', out);
	dump_operands(m, f, i->src, i->nsrc, out);
	for (unsigned k = 0; i->prev && k < i->ndst; k++) {
		fputs(k ? ", " : " else ", out);
		if (i->prev[k] == PTX_NONE)
			fputc('_', out);
		else
			dump_value(f, i->prev[k], out);
	}
	fputc('\n', out);
}

static void dump_index(const char *what, uint32_t v, FILE *out)
{
	if (v == PTX_NONE)
		fprintf(out, " %s -", what);
	else
		fprintf(out, " %s b%u", what, v);
}

static void dump_block(const struct ptx_module *m, const struct ptx_func *f, uint32_t k, FILE *out)
{
	const struct ptx_block *b = &f->blocks[k];
	fprintf(out, "b%u:", k);
	if (b->label)
		fprintf(out, " %s", b->label);
	dump_index("idom", b->idom, out);
	dump_index("ipdom", b->ipdom, out);
	for (uint32_t n = 0; n < b->nsuccs; n++)
		fprintf(out, n ? " b%u" : " -> b%u", b->succs[n]);
	fputc('\n', out);
	for (uint32_t n = 0; n < b->nphis; n++) {
		fputs("  ", out);
		dump_value(f, b->phis[n].value, out);
		fputs(" = phi", out);
		for (uint32_t p = 0; p < b->npreds; p++) {
			fprintf(out, p ? ", b%u: " : " b%u: ", b->preds[p]);
			dump_value(f, b->phis[n].args[p], out);
		}
		fputc('\n', out);
	}
	for (uint32_t n = b->first; n < b->first + b->ninsts; n++)
		dump_inst(m, f, &f->insts[n], out);
}

static void dump_params(const char *what, const struct ptx_param *params, uint32_t n, FILE *out)
{
	for (uint32_t k = 0; k < n; k++)
		fprintf(out, "%s %s .%s x %u at %u\n", what, params[k].name, ptx_type_name(params[k].type),
			params[k].count, params[k].offset);
}

void ptx_func_dump(const struct ptx_module *m, const struct ptx_func *f, void *file)
{
	FILE *out = file;
	fprintf(out, "%s %s\n", f->is_entry ? "entry" : "func", f->name);
	dump_params("ret", f->rets, f->nrets, out);
	dump_params("param", f->params, f->nparams, out);
	if (f->state == PTX_FAILED)
		fprintf(out, "error %s: %s\n", f->error.where, f->error.what);
	for (uint32_t k = 0; f->state == PTX_BUILT && k < f->nblocks; k++)
		dump_block(m, f, k, out);
}
