/* SPDX-License-Identifier: Apache-2.0
 *
 * Directives of a module: variables and their initialisers, functions and the
 * layout of parameters, debug information, and errors at the right place while
 * the rest stays usable. Expected layouts follow ISA 5.4 and the C ABI that
 * nvcc uses for parameters. */
#include "fixture.h"

#define HEAD ".version 8.3\n.target sm_90a, debug\n.address_size 64\n"

static void header(void **state)
{
	(void)state;
	struct ptx_module *m = parse_text("\n\n\n.version 8.3\n.target sm_90a, debug\n.address_size 64\n");
	assert_int_equal(m->version, 83);
	assert_int_equal(m->target, 90);
	assert_int_equal(m->target_suffix, 'a');
	assert_int_equal(m->address_size, 64);
	assert_true(m->debug);
	assert_int_equal(m->nerrors, 0);
	ptx_module_free(m);
}

static void isa_1_header(void **state)
{
	(void)state;
	struct ptx_module *m = parse_text(
		".version 1.4\n.target sm_12, map_f64_to_f32\n.entry k (.param .u32 p)\n{ .reg .u16 "
		"%rh<4>; .reg .u32 %r<4>; mov.u16 %rh1, %ctaid.x; cvt.u32.u16 %r1, %tid.x; "
		"mul24.lo.u32 %r2, %r1, 3; @@DWARF stuff\n exit; }\n@@DWARF .section\n");
	assert_int_equal(m->version, 14);
	assert_int_equal(m->address_size, 32);
	assert_int_equal(m->nerrors, 0);
	build(m, "k");
	ptx_module_free(m);
}

/* Bytes of a variable against what the initialiser says. */
static void variables(void **state)
{
	(void)state;
	static const struct {
		const char *text, *name;
		uint64_t size;
		uint32_t align;
		const char *bytes; /* NULL: no initialiser */
	} rows[] = {
		{".global .u32 x;", "x", 4, 4, NULL},
		{".global .u32 x = 258;", "x", 4, 4, "\2\1\0"},
		{".visible .global .align 16 .b8 x[3] = {1, 2};", "x", 3, 16, "\1\2"},
		{".global .u16 x[2][3] = {{1, 2, 3}, {4}};", "x", 12, 2, "\1\0\2\0\3\0\4\0\0\0\0"},
		{".global .u16 x[2][3] = {1, 2, 3, 4};", "x", 12, 2, "\1\0\2\0\3\0\4\0\0\0\0"},
		{".global .u16 x[][2] = {{1}, {2, 3}, {4}};", "x", 12, 2, "\1\0\0\0\2\0\3\0\4\0\0"},
		{".global .s64 x = -2;", "x", 8, 8, "\376\377\377\377\377\377\377\377"},
		{".const .f32 x[2] = {1.0, 0f40000000};", "x", 8, 4, "\0\0\200\77\0\0\0\100"},
		{".global .f32 x = 2;", "x", 4, 4, "\0\0\0\100"},
		{".global .f64 x = 0d3FF0000000000000;", "x", 8, 8, "\0\0\0\0\0\0\360\77"},
		{".global .v4 .f32 x;", "x", 16, 16, NULL},
		{".global .v2 .u16 x[2] = {{1, 2}, {3, 4}};", "x", 8, 4, "\1\0\2\0\3\0\4"},
		{".global .b8 x[4] = \"ab\";", "x", 4, 1, "ab\0"},
		{".global .u8 x[2] = {WARP_SZ, 2*3+1};", "x", 2, 1, "\40\7"},
		{".shared .align 8 .b8 x[1024];", "x", 1024, 8, NULL},
		{".extern .shared .align 16 .b8 x[];", "x", 0, 16, NULL},
		{".global .texref x;", "x", 8, 8, NULL},
		/* struct ptx_opaque: what the initialiser doesn't name is 0xff */
		{".global .samplerref x = { addr_mode_0 = wrap, filter_mode = nearest };", "x", 8, 8,
		 "\377\377\0\0\377\377\377\377"},
		{".global .texref x = { normalized_coords = 1, filter_mode = linear, addr_mode_1 = "
		 "clamp_to_border,"
		 " addr_mode_2 = mirror };",
		 "x", 8, 8, "\1\377\1\377\4\1\377\377"},
		{".global .samplerref x = { force_unnormalized_coords = 0 };", "x", 8, 8,
		 "\377\0\377\377\377\377\377\377"},
		{".const[2] .u32 x;", "x", 4, 4, NULL},
		{".global .u32 a, x[3], b;", "x", 12, 4, NULL},
		{".weak .global .b64 x;", "x", 8, 8, NULL},
	};
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		char text[256];
		snprintf(text, sizeof(text), HEAD "%s\n", rows[k].text);
		struct ptx_module *m = parse_text(text);
		const struct ptx_symbol *s = ptx_symbol_find(m, rows[k].name);
		if (m->nerrors || !s)
			print_error("%s: %s\n", rows[k].text, m->nerrors ? m->errors[0].what : "not found");
		assert_int_equal(m->nerrors, 0);
		assert_non_null(s);
		assert_int_equal(s->size, rows[k].size);
		assert_int_equal(s->align, rows[k].align);
		assert_int_equal(!s->init, !rows[k].bytes);
		if (s->init) /* the literal's own NUL is a byte that must be there, too */
			assert_memory_equal(s->init, rows[k].bytes, rows[k].size);
		ptx_module_free(m);
	}
}

static void addresses_in_initialisers(void **state)
{
	(void)state;
	struct ptx_module *m = parse_text(HEAD ".global .u32 a[8];\n.func f() { ret; }\n"
					       ".global .u64 x[5] = {a, a+4, generic(a)+8, f, 7};\n"
					       ".global .u8 y[4] = {0xFF(a), 0xFF00(a), 0xFF0000(a), 1};\n");
	assert_int_equal(m->nerrors, 0);
	const struct ptx_symbol *x = ptx_symbol_find(m, "x"), *y = ptx_symbol_find(m, "y");
	static const struct ptx_reloc want[] = {
		{.offset = 0, .bytes = 8},
		{.offset = 8, .bytes = 8, .addend = 4},
		{.offset = 16, .bytes = 8, .addend = 8, .generic = true},
		{.offset = 24, .bytes = 8, .is_func = true},
	};
	assert_int_equal(x->nrelocs, 4);
	for (int k = 0; k < 4; k++) {
		assert_int_equal(x->relocs[k].offset, want[k].offset);
		assert_int_equal(x->relocs[k].bytes, want[k].bytes);
		assert_int_equal(x->relocs[k].addend, want[k].addend);
		assert_int_equal(x->relocs[k].generic, want[k].generic);
		assert_int_equal(x->relocs[k].is_func, want[k].is_func);
	}
	assert_int_equal(x->init[32], 7);
	assert_int_equal(y->nrelocs, 3);
	assert_int_equal(y->relocs[2].bytes, 1);
	assert_int_equal(y->relocs[2].shift, 16);
	assert_int_equal(y->init[3], 1);
	ptx_module_free(m);
}

static void managed_and_external(void **state)
{
	(void)state;
	struct ptx_module *m = parse_text(
		HEAD ".extern .global .u32 a;\n.visible .global .u32 a = 5;\n"
		     ".global .attribute(.managed) .align 4 .b32 b;\n.visible .global .attribute(.managed, "
		     ".unified(1, 2)) .u32 c;\n");
	assert_int_equal(m->nerrors, 0);
	assert_int_equal(m->nsymbols, 3);
	assert_int_equal(ptx_symbol_find(m, "a")->linkage, PTX_LINK_VISIBLE);
	assert_int_equal(ptx_symbol_find(m, "a")->init[0], 5);
	assert_true(ptx_symbol_find(m, "b")->managed);
	assert_true(ptx_symbol_find(m, "c")->managed);
	ptx_module_free(m);
}

static void parameter_layout(void **state)
{
	(void)state;
	struct ptx_module *m = parse_text(HEAD ".visible .entry k(\n.param .u8 a,\n.param .align 4 .b8 "
					       "b[12],\n.param .u64 .ptr .global .align 16 c,\n"
					       ".param .f32 d, .param .align 16 .b8 e[32])\n"
					       ".maxntid 256, 1, 1\n.minnctapersm 2\n.reqntid 64\n.maxnreg "
					       "40\n.reqnctapercluster 2, 1, 1\n{ ret; }\n");
	assert_int_equal(m->nerrors, 0);
	struct ptx_func *f = build(m, "k");
	static const struct {
		uint32_t offset, size, align;
	} want[] = {{0, 1, 1}, {4, 12, 4}, {16, 8, 8}, {24, 4, 4}, {32, 32, 16}};
	assert_true(f->is_entry);
	assert_int_equal(f->nparams, 5);
	for (int k = 0; k < 5; k++) {
		assert_int_equal(f->params[k].offset, want[k].offset);
		assert_int_equal(f->params[k].size, want[k].size);
		assert_int_equal(f->params[k].align, want[k].align);
	}
	assert_int_equal(f->param_bytes, 64);
	assert_int_equal(f->params[2].ptr_space, PTX_SPACE_GLOBAL);
	assert_int_equal(f->params[2].ptr_align, 16);
	assert_int_equal(f->params[0].ptr_space, PTX_SPACE_REG);
	assert_int_equal(f->maxntid[0], 256);
	assert_int_equal(f->reqntid[0], 64);
	assert_int_equal(f->reqntid[2], 1);
	assert_int_equal(f->minnctapersm, 2);
	assert_int_equal(f->maxnreg, 40);
	assert_int_equal(f->cluster[0], 2);
	ptx_module_free(m);
}

static void calls_through_memory(void **state)
{
	(void)state;
	struct ptx_module *m = parse_text(
		HEAD ".extern .func (.param .b32 ret) vprintf(.param .b64 fmt, .param .b64 args);\n"
		     ".func (.param .align 8 .b8 ret[16]) f(.param .b32 a, .param .b64 b);\n"
		     ".func (.param .align 8 .b8 ret[16]) f(.param .b32 a, .param .b64 b)\n{\n.reg .b32 "
		     "%r<3>;\n.reg .b64 %rd<3>;\n"
		     "ld.param.u32 %r1, [a];\nld.param.u64 %rd1, [b];\nst.param.b64 [ret+8], %rd1;\nret;\n}\n"
		     ".entry k()\n{\n.reg .b64 %rd<4>;\n.reg .b32 %r<4>;\n"
		     "{ .reg .b32 temp_param_reg;\n.param .b32 param0;\nst.param.b32 [param0+0], 5;\n.param "
		     ".b64 param1;\n"
		     "st.param.b64 [param1], %rd1;\n.param .align 8 .b8 retval0[16];\ncall.uni (retval0), f, "
		     "(param0, param1);\n"
		     "ld.param.b64 %rd2, [retval0+8]; }\n"
		     "{ .param .b64 param0; .param .b64 param1; .param .b32 retval0; call.uni (retval0), "
		     "vprintf, (param0, param1); }\n"
		     "ret; }\n");
	assert_int_equal(m->nerrors, 0);
	struct ptx_func *k = build(m, "k"), *f = ptx_func_find(m, "f");
	assert_int_equal(f->state, PTX_BUILT); /* with the entry */
	assert_int_equal(f->nrets, 1);
	assert_int_equal(f->ret_bytes, 16);
	assert_int_equal(f->param_bytes, 16);
	assert_int_equal(f->insts[1].src[0].imm, 8);
	assert_int_equal(f->insts[2].src[0].kind, PTX_OPND_PARAM);
	assert_int_equal(f->insts[2].src[0].index, 1);
	assert_int_equal(f->insts[2].src[0].imm, 8);
	const struct ptx_inst *call = &k->insts[2];
	assert_int_equal(call->op, PTX_OP_CALL);
	assert_string_equal(m->funcs[call->target]->name, "f");
	assert_int_equal(call->ndst, 1);
	assert_int_equal(call->nsrc, 2);
	assert_int_equal(call->dst[0].kind, PTX_OPND_SYMBOL);
	assert_int_equal(m->symbols[call->src[0].index]->offset, 0);
	assert_int_equal(m->symbols[call->src[1].index]->offset, 8);
	assert_int_equal(m->symbols[call->dst[0].index]->offset, 16);
	assert_int_equal(k->call_param_bytes, 32); /* the second scope reuses the first one's place */
	ptx_module_free(m);
}

static void calls_through_registers(void **state)
{
	(void)state;
	struct ptx_module *m =
		parse_text(HEAD ".func (.reg .b32 r) f(.reg .b32 a, .reg .pred p) { @p mov.u32 r, a; ret; }\n"
				".entry k() { .reg .b32 x; .reg .pred q; call (x), f, (x, q); ret; }\n");
	struct ptx_func *f = ptx_func_find(m, "f");
	build(m, "k");
	assert_int_equal(f->insts[1].op, PTX_OP_RET);
	assert_int_equal(f->insts[1].nsrc, 1);
	assert_int_equal(f->insts[1].src[0].index, f->insts[0].dst[0].index);
	assert_int_equal(f->values[f->insts[0].src[0].index].slot, f->params[0].slot);
	assert_int_equal(f->values[f->insts[0].dst[0].index].slot, f->rets[0].slot);
	ptx_module_free(m);
}

static void branch_tables_and_prototypes(void **state)
{
	(void)state;
	struct ptx_module *m = parse_text(
		HEAD ".func f(.param .b32 a) { ret; }\n.entry k()\n{\n.reg .b32 %r<3>;\n.reg .b64 %rd<2>;\n"
		     "mov.u64 %rd1, f;\nts: .branchtargets L1, L2, L1;\nproto: .callprototype _ (.param .b32 "
		     "_) .noreturn;\n"
		     "fs: .calltargets f;\n.param .b32 p;\ncall %rd1, (p), fs;\nbrx.idx %r1, ts;\nL1: "
		     "ret;\nL2:\ncall %rd1, (p), proto;\n}\n");
	struct ptx_func *f = build(m, "k");
	const struct ptx_inst *brx = &f->insts[2];
	assert_int_equal(brx->op, PTX_OP_BRX_IDX);
	assert_int_equal(f->lists[brx->table].n, 3);
	assert_int_equal(f->blocks[0].nsuccs, 3);
	assert_int_equal(f->blocks[0].succs[0], f->blocks[0].succs[2]);
	assert_int_equal(f->blocks[0].succs[1], f->lists[brx->table].items[1]);
	assert_int_equal(f->insts[1].target, PTX_NONE);
	assert_int_equal(f->lists[f->insts[1].table].n, 1);
	assert_true(f->calls_indirect);
	assert_int_equal(f->blocks[2].nsuccs, 0); /* doesn't return */
	ptx_module_free(m);
}

/* Static shared memory: own variables, the module's, and those of callees, each once; unused ones take no
 * place. */
static void shared_layout(void **state)
{
	(void)state;
	struct ptx_module *m = parse_text(
		HEAD ".shared .align 16 .b8 a[20];\n.shared .align 4 .b8 unused[4096];\n"
		     ".extern .shared .align 16 .b8 dyn[];\n"
		     ".func g() { .reg .b32 r; .shared .u32 in_g; mov.u32 r, in_g; mov.u32 r, dyn; ret; }\n"
		     ".func f() { .reg .b32 r; mov.u32 r, a; call g; ret; }\n"
		     ".entry k() { .reg .b32 r; .shared .align 8 .b8 own[10]; mov.u32 r, own; mov.u32 r, a; "
		     "call f; call g; ret; }\n");
	struct ptx_func *k = build(m, "k");
	assert_int_equal(k->nshared, 3);
	static const struct {
		const char *name;
		uint64_t offset;
	} want[] = {{"own", 0}, {"a", 16}, {"in_g", 36}};
	for (int i = 0; i < 3; i++) {
		assert_string_equal(m->symbols[k->shared[i].symbol]->name, want[i].name);
		assert_int_equal(k->shared[i].offset, want[i].offset);
	}
	assert_int_equal(k->shared_bytes, 40);
	assert_true(k->uses_dynamic_shared);
	ptx_module_free(m);
}

static void debug_information(void **state)
{
	(void)state;
	struct ptx_module *m = parse_text(
		HEAD ".file 1 \"/home/user/src/matmul.cu\", 123, 456\n.file 3 \"util.h\"\n.entry k()\n{\n"
		     ".reg .b32 r;\n.loc 1 17 5\nmov.u32 r, 1;\n.loc 3 4 9, function_name $L__info0, "
		     "inlined_at 1 18 3\n"
		     "mov.u32 r, 2;\nret;\n}\n.section .debug_str\n{\n$L__info0:\n.b8 95,90,51\n.b8 "
		     "102,111,111\n.b8 0\n$L__info1:\n.b8 65,0\n}\n"
		     ".section .debug_loc { }\n");
	struct ptx_func *f = build(m, "k");
	char text[64];
	assert_true(ptx_inst_source(m, &f->insts[0], text, sizeof(text)));
	assert_string_equal(text, "matmul.cu:17");
	assert_true(ptx_inst_source(m, &f->insts[1], text, sizeof(text)));
	assert_string_equal(text, "util.h:4");
	const struct ptx_loc *l = &m->locs[f->insts[1].loc];
	assert_string_equal(l->function, "_Z3foo");
	assert_int_equal(m->locs[l->inlined_at].line, 18);
	assert_true(ptx_line_text(m, f->insts[1].line, text, sizeof(text)));
	assert_string_equal(text, "mov.u32 r, 2;");
	assert_false(ptx_line_text(m, 4000, text, sizeof(text)));
	ptx_module_free(m);
}

static void alias_and_noreturn(void **state)
{
	(void)state;
	struct ptx_module *m = parse_text(
		HEAD ".func g();\n.func f() { ret; }\n.alias g, f;\n.extern .func die() .noreturn;\n"
		     ".entry k() { .reg .pred p; call g; @p call die; call die; }\n");
	assert_int_equal(m->nerrors, 0);
	struct ptx_func *k = build(m, "k");
	assert_string_equal(m->funcs[k->insts[0].target]->name, "f");
	assert_string_equal(ptx_func_find(m, "g")->name, "f");
	assert_int_equal(k->blocks[0].nsuccs, 1); /* guarded: the others go on */
	assert_int_equal(k->blocks[1].nsuccs, 0);
	ptx_module_free(m);
}

/* What is wrong is said where it is; what comes after is still there. */
static void errors_of_directives(void **state)
{
	(void)state;
	static const struct {
		const char *text, *where, *what;
	} rows[] = {
		{".bogus x;", "test.ptx:4:1", "unknown directive '.bogus'"},
		{".global .u32;", "test.ptx:4:13", "expected a name"},
		{".global x;", "test.ptx:4:9", "a declaration needs a type"},
		{".global .u32 x[2] = {1, 2, 3};", "test.ptx:4:28", "'x' has more values than elements"},
		{".global .u32 x = y;", "test.ptx:4:18", "unknown name 'y'"},
		{".global .u32 x; .global .u32 x;", "test.ptx:4:30", "'x' is defined already, in line 4"},
		{".global .align 3 .u32 x;", "test.ptx:4:16", "an alignment is a power of two"},
		{".global .b8 x[1152921504606846976];", "test.ptx:4:15", "the size of an array must be"},
		{".global .b64 x[1099511627775][16];", "test.ptx:4:14", "'x' is larger than 2^40 bytes"},
		{".global .b8 x[];", "test.ptx:4:13", "the array 'x' needs a size"},
		{".global .pred x;", "test.ptx:4:15", "a variable can't have type .pred"},
		{".entry f(.reg .b32 x) { }", "test.ptx:4:14", "expected .param"},
		{".entry f() .bogus 3 { }", "test.ptx:4:12", "unknown directive '.bogus' of a function"},
		{".func f() { ret; } .func f() { ret; }", "test.ptx:4:26",
		 "'f' is defined already, in line 4"},
		{".alias a, b;", "test.ptx:4:11", "unknown function 'b'"},
		{"garbage;", "test.ptx:4:1", "expected a directive"},
		{".target 5;", "test.ptx:4:9", "expected a target"},
		{".address_size 48", "test.ptx:4:15", "the address size is 32 or 64"},
		{".file x", "test.ptx:4:7", "expected the number and name of a file"},
	};
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		char text[512];
		snprintf(text, sizeof(text),
			 HEAD
			 "%s\n.entry good() { ret; }\n.entry bad() { nonsense; }\n.entry good2() { ret; }\n",
			 rows[k].text);
		struct ptx_module *m = parse_text(text);
		if (!m->nerrors || strcmp(m->errors[0].where, rows[k].where) ||
		    !strstr(m->errors[0].what, rows[k].what))
			print_error("%s\n  got %s: %s\n", rows[k].text, m->nerrors ? m->errors[0].where : "",
				    m->nerrors ? m->errors[0].what : "no error");
		assert_true(m->nerrors > 0);
		assert_string_equal(m->errors[0].where, rows[k].where);
		assert_non_null(strstr(m->errors[0].what, rows[k].what));
		build(m, "good2");
		ptx_module_free(m);
	}
}

static void failing_kernel_leaves_others(void **state)
{
	(void)state;
	struct ptx_module *m = parse_text(
		HEAD
		".func broken() { bogus.u32 x; }\n.entry a() { call broken; ret; }\n.entry b() { ret; }\n");
	struct ptx_func *a = ptx_func_find(m, "a");
	assert_int_not_equal(ptx_func_build(m, a), 0);
	assert_string_equal(a->error.where, "test.ptx:4:18");
	assert_string_equal(a->error.what, "'a' calls 'broken': unknown instruction 'bogus'");
	build(m, "b");
	ptx_module_free(m);
}

static void nothing_is_no_module(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"", "   \n", "hello", "\177ELF\2\1", "{{{{", "/* only a comment */"};
	for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
		struct diag d = DIAG_INIT;
		assert_null(ptx_module_parse(texts[k], strlen(texts[k]), "x", &d));
		assert_int_equal(d.code, CUTRACE_EFORMAT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header),
		cmocka_unit_test(isa_1_header),
		cmocka_unit_test(variables),
		cmocka_unit_test(addresses_in_initialisers),
		cmocka_unit_test(managed_and_external),
		cmocka_unit_test(parameter_layout),
		cmocka_unit_test(calls_through_memory),
		cmocka_unit_test(calls_through_registers),
		cmocka_unit_test(branch_tables_and_prototypes),
		cmocka_unit_test(shared_layout),
		cmocka_unit_test(debug_information),
		cmocka_unit_test(alias_and_noreturn),
		cmocka_unit_test(errors_of_directives),
		cmocka_unit_test(failing_kernel_leaves_others),
		cmocka_unit_test(nothing_is_no_module),
	};
	return cmocka_run_group_tests_name("ptx module", tests, NULL, NULL);
}
