/* SPDX-License-Identifier: Apache-2.0
 *
 * Linking PTX: what goes together and what the result says; what does not, and which place and reason is named. */
#include "tests/ptx/fixture.h"

#include "ptx/link.h"

#define HEAD   ".version 8.0\n.target sm_80\n.address_size 64\n" /* the text behind it begins in line 4 */
#define MAX_IN 4

static int link_texts(const char *const *texts, struct ptx_linked *out)
{
	static const char *const names[MAX_IN] = {"a.ptx", "b.ptx", "c.ptx", "d.ptx"};
	struct ptx_link_input in[MAX_IN];
	unsigned n = 0;
	for (; n < MAX_IN && texts[n]; n++)
		in[n] = (struct ptx_link_input){names[n], texts[n], strlen(texts[n])};
	return ptx_link(in, n, out);
}

/* ---- what does not go together ------------------------------------------------------------- */

#define F_DECL ".extern .func (.param .b32 r) f (.param .b32 x);\n"
#define F_DEF  ".visible .func (.param .b32 r) f (.param .b32 x)\n{\n\tret;\n}\n"
#define CALL_F ".visible .entry k()\n{\n\t.param .b32 p;\n\t.param .b32 q;\n\tcall (q), f, (p);\n\tret;\n}\n"

static const struct {
	const char *texts[MAX_IN];
	const char *where, *what; /* the first error */
	unsigned nerrors;
} bad[] = {
	/* undefined */
	{{HEAD F_DECL CALL_F}, "a.ptx:9:12", "undefined function 'f' is used here (declared in line 4)", 1},
	{{HEAD F_DECL CALL_F, HEAD F_DECL}, "a.ptx:9:12", "undefined function 'f'", 1},
	{{HEAD F_DECL, HEAD "\n" F_DECL CALL_F}, "b.ptx:10:12", "declared in line 5, and in a.ptx:4", 1},
	{{HEAD ".extern .global .u32 v;\n.visible .global .u64 p = v;\n"},
	 "a.ptx:5:27",
	 "undefined variable 'v' is used here (declared in line 4)",
	 1},
	{{HEAD ".extern .global .u32 v, w;\n.visible .global .u64 p[2] = {v, w};\n", HEAD F_DEF},
	 "a.ptx:5",
	 "undefined variable 'v'",
	 2},
	/* defined twice */
	{{HEAD F_DEF, HEAD "\n" F_DEF}, "b.ptx:5:32", "'f' is defined already in a.ptx:4", 1},
	{{HEAD ".visible .global .u32 v;\n", HEAD ".visible .global .u32 v = 3;\n"},
	 "b.ptx:4:23",
	 "'v' is defined already in a.ptx:4",
	 1},
	{{HEAD ".visible .entry k() { ret; }\n", HEAD, HEAD ".visible .entry k() { ret; }\n"},
	 "c.ptx:4:17",
	 "'k' is defined already in a.ptx:4",
	 1},
	{{HEAD ".visible .func g() { ret; }\n.visible .func h();\n.alias h, g;\n",
	  HEAD ".visible .func h() { ret; }\n"},
	 "b.ptx:4:16",
	 "'h' is defined already in a.ptx",
	 1},
	{{HEAD ".visible .func g() { ret; }\n.visible .func h() { ret; }\n.alias h, g;\n"},
	 "a.ptx:6:8",
	 "'h' is defined already, in line 5",
	 1},
	/* declared otherwise */
	{{HEAD ".extern .func (.param .b32 r) f (.param .b64 x);\n", HEAD F_DEF},
	 "b.ptx:4:32",
	 "'f' has other parameters than in a.ptx:4",
	 1},
	{{HEAD ".extern .func (.param .b32 r) f (.param .b32 x, .param .b32 y);\n", HEAD F_DEF},
	 "b.ptx:4",
	 "'f' has other parameters than in a.ptx:4",
	 1},
	{{HEAD ".extern .func (.param .f32 r) f (.param .s32 x);\n",
	  HEAD ".visible .func (.param .u32 r) f (.param .u32 x) { ret; }\n"},
	 "b.ptx:4",
	 "'f' has another result than in a.ptx:4",
	 1},
	{{HEAD ".extern .func f (.param .b32 x);\n", HEAD F_DEF}, "b.ptx:4", "another result", 1},
	{{HEAD ".extern .func (.reg .b32 r) f (.reg .b32 x);\n", HEAD F_DEF},
	 "b.ptx:4",
	 "other parameters",
	 1},
	{{HEAD ".extern .global .u32 v;\n", HEAD ".visible .global .f32 v;\n"},
	 "b.ptx:4:23",
	 "'v' has another type than in a.ptx:4",
	 1},
	{{HEAD ".extern .global .u32 v;\n", HEAD ".visible .global .u64 v;\n"}, "b.ptx:4", "another type", 1},
	{{HEAD ".extern .global .u32 v[4];\n", HEAD ".visible .global .u32 v[5];\n"},
	 "b.ptx:4",
	 "'v' has another size than in a.ptx:4",
	 1},
	{{HEAD ".extern .global .b8 v[16];\n", HEAD ".visible .global .u64 v[3];\n"},
	 "b.ptx:4",
	 "another size",
	 1},
	{{HEAD ".common .global .u32 v[4];\n", HEAD ".visible .global .u32 v[2];\n"},
	 "b.ptx:4",
	 "another size",
	 1},
	{{HEAD ".extern .global .u32 v;\n", HEAD ".visible .const .u32 v;\n"},
	 "b.ptx:4",
	 "'v' is in another state space than in a.ptx:4",
	 1},
	{{HEAD ".extern .global .attribute(.managed) .u32 v;\n", HEAD ".visible .global .u32 v;\n"},
	 "b.ptx:4",
	 "managed in one module only",
	 1},
	{{HEAD ".extern .global .u32 f;\n", HEAD F_DEF}, "b.ptx:4", "not a variable and a function", 1},
	{{HEAD F_DECL, HEAD ".visible .entry f(.param .b32 x) { ret; }\n"},
	 "b.ptx:4",
	 "not a kernel and a function",
	 1},
	/* modules that don't fit */
	{{HEAD, ".version 8.0\n.target sm_80\n.address_size 32\n"},
	 "b.ptx:1:1",
	 "32-bit addresses, a.ptx has 64",
	 1},
	{{".version 8.0\n.target sm_90a\n.address_size 64\n",
	  ".version 8.6\n.target sm_100\n.address_size 64\n"},
	 "b.ptx:1:1",
	 "target sm_100 does not go together with sm_90a of a.ptx",
	 1},
	{{".version 8.8\n.target sm_100f\n.address_size 64\n",
	  ".version 8.8\n.target sm_120\n.address_size 64\n"},
	 "b.ptx:1:1",
	 "target sm_120 does not go together with sm_100f of a.ptx",
	 1},
	{{HEAD, ".version 8.0\n.target sm_80, texmode_independent\n.address_size 64\n"},
	 "b.ptx:1:1",
	 "texmode_independent",
	 1},
	/* no modules at all; several errors, in several inputs */
	{{HEAD, HEAD ".visible .global .u32 = ;\n"}, "b.ptx:4:23", "expected a name", 1},
	{{HEAD ".bogus;\n", HEAD ".func (\n"}, "a.ptx:4:1", "unknown directive", 2},
	{{"hello"}, "a.ptx", "", 1},
	{{""}, "a.ptx", "", 1},
	{{HEAD ".visible .global .u32 v;\n" F_DEF, HEAD ".visible .global .u32 v;\n" F_DEF},
	 "b.ptx:4:23",
	 "'v' is defined already",
	 2},
};

static void refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ptx_linked l;
		int rc = link_texts(bad[i].texts, &l);
		if (!rc || l.text || l.nerrors < 1)
			fail_msg("row %zu (%s) was linked", i, bad[i].what);
		if (strncmp(l.errors[0].where, bad[i].where, strlen(bad[i].where)) ||
		    !strstr(l.errors[0].what, bad[i].what) || l.nerrors != bad[i].nerrors)
			fail_msg("row %zu: expected %u errors, %s: %s\nfound %u, %s: %s", i, bad[i].nerrors,
				 bad[i].where, bad[i].what, l.nerrors, l.errors[0].where, l.errors[0].what);
		ptx_linked_free(&l);
	}
}

/* ---- what does ----------------------------------------------------------------------------------- */

static const struct {
	const char *texts[MAX_IN];
	const char *has[4], *lacks[4]; /* pieces of the result, compared without regard to blanks */
} good[] = {
	/* the newest version, the highest target */
	{{HEAD, ".version 9.0\n.target sm_75\n.address_size 64\n"}, {".version 9.0 .target sm_80"}, {NULL}},
	{{".version 8.0\n.target sm_90a\n.address_size 64\n", HEAD},
	 {".version 8.0 .target sm_90a "},
	 {NULL}},
	{{".version 8.0\n.target sm_90a\n.address_size 64\n",
	  ".version 8.0\n.target sm_90\n.address_size 64\n"},
	 {".target sm_90a "},
	 {NULL}},
	{{".version 8.8\n.target sm_100f\n.address_size 64\n",
	  ".version 8.8\n.target sm_103\n.address_size 64\n"},
	 {".target sm_103 "},
	 {NULL}},
	/* .extern finds .visible, whichever comes first */
	{{HEAD F_DECL CALL_F, HEAD F_DEF},
	 {".visible .func (.param .b32 r) f (.param .b32 x) { ret; }"},
	 {".extern"}},
	{{HEAD F_DEF, HEAD F_DECL CALL_F},
	 {".visible .func (.param .b32 r) f (.param .b32 x) { ret; }"},
	 {".extern"}},
	{{HEAD ".extern .global .u32 v;\n.visible .global .u64 p = v;\n",
	  HEAD ".visible .global .s32 v = 7;\n"},
	 {".visible .global .align 4 .s32 v = 7;", ".extern .global .align 4 .s32 v ;"},
	 {NULL}},
	/* what is declared and not used need not be there */
	{{HEAD F_DECL ".extern .global .u32 v;\n.visible .entry k() { ret; }\n"},
	 {".entry k"},
	 {"f (", "v;"}},
	/* the system's functions stay declared */
	{{HEAD ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
	       ".visible .entry k() { .param .b32 r; .param .b64 f; call (r), vprintf, (f, f); ret; }\n",
	  HEAD ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
	       ".visible .entry m() { .param .b32 r; .param .b64 f; call (r), vprintf, (f, f); ret; }\n"},
	 {".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);"},
	 {NULL}},
	/* strong before common before weak */
	{{HEAD ".weak .global .u32 v = 1;\n", HEAD ".visible .global .u32 v = 2;\n",
	  HEAD ".weak .global .u32 v = 3;\n"},
	 {".visible .global .align 4 .u32 v = 2;"},
	 {"= 1", "= 3"}},
	{{HEAD ".weak .global .u32 v = 1;\n", HEAD ".weak .global .u32 v = 2;\n"},
	 {".weak .global .align 4 .u32 v = 1;"},
	 {"= 2"}},
	{{HEAD ".weak .global .u32 v = 1;\n", HEAD ".common .global .u32 v;\n"},
	 {".common .global .align 4 .u32 v;"},
	 {"= 1"}},
	{{HEAD ".common .global .u32 v;\n", HEAD ".visible .global .u32 v = 9;\n"},
	 {".visible .global .align 4 .u32 v = 9;"},
	 {".common"}},
	{{HEAD ".common .global .u32 v[2];\n", HEAD ".common .global .align 16 .u32 v[6];\n",
	  HEAD ".common .global .u32 v[3];\n"},
	 {".common .global .align 16 .u32 v[6];"},
	 {"v[2]", "v[3]"}},
	{{HEAD ".weak .func f() { trap; ret; }\n", HEAD ".visible .func f() { ret; }\n"},
	 {".visible .func f() { ret; }"},
	 {"trap"}},
	{{HEAD ".weak .entry k() { ret; }\n", HEAD ".weak .entry k() { trap; ret; }\n"},
	 {".weak .entry k() { ret; }"},
	 {"trap"}},
	/* the strictest alignment */
	{{HEAD ".extern .global .align 32 .b8 v[8];\n", HEAD ".visible .global .align 8 .u64 v = 5;\n"},
	 {".visible .global .align 32 .u64 v = 5;"},
	 {NULL}},
	{{HEAD ".extern .shared .align 4 .b8 s[];\n", HEAD ".extern .shared .align 16 .b8 s[];\n"},
	 {".extern .shared .align 16 .b8 s[];"},
	 {".align 4"}},
	/* a module's own stays its own, and hides what others share */
	{{HEAD ".global .u32 v = 1;\n.visible .global .u64 pa = v;\n",
	  HEAD ".global .u32 v = 2;\n.visible .global .u64 pb = v;\n"},
	 {".global .align 4 .u32 v = 1;", ".align 4 .u32 v$m2 = 2;", "pa = v;", "pb = v$m2;"},
	 {NULL}},
	{{HEAD ".global .u32 v = 1;\n.visible .global .u64 pa = v;\n", HEAD ".visible .global .u32 v = 2;\n"},
	 {".align 4 .u32 v$m1 = 1;", "pa = v$m1;", ".visible .global .align 4 .u32 v = 2;"},
	 {NULL}},
	{{HEAD ".func f() { ret; }\n.visible .func g() { call f, (); ret; }\n",
	  HEAD ".func f() { trap; ret; }\n.visible .func h() { call f, (); ret; }\n"},
	 {".func f$m2() { trap; ret; }", "h() { call f$m2, (); ret; }", "g() { call f, (); ret; }"},
	 {NULL}},
	/* only names are renamed: not opcodes, modifiers, strings, comments, other names that contain them */
	{{HEAD ".global .u32 ret;\n",
	  HEAD ".global .u32 ret;\n.visible .func h() {\n.reg .b64 %d;\nret2: mov.u64 %d, ret;\n"
	       "ld.global.u32.ret;\n// ret\n@%p ret;\nret; }\n"},
	 {"ret2: mov.u64 %d, ret$m2; ld.global.u32.ret; // ret @%p ret; ret; }"},
	 {NULL}},
	/* a label or register that hides a renamed variable is renamed with it */
	{{HEAD ".global .u32 x;\n",
	  HEAD ".global .u32 x;\n.visible .func h() { .reg .b32 r; bra x; x: mov.u32 r, 1; ret; }\n"},
	 {"bra x$m2; x$m2: mov.u32 r, 1;"},
	 {NULL}},
	/* new names that a program has itself */
	{{HEAD ".global .u32 v;\n",
	  HEAD ".global .u32 v;\n.global .u32 v$m2;\n.visible .global .u64 p[2] = {v, v$m2};\n"},
	 {"p[2] = {v$m_2, v$m2};"},
	 {NULL}},
	/* functions in initialisers, before and behind their definition, and aliases */
	{{HEAD F_DECL ".visible .global .u64 t[1] = {f};\n", HEAD F_DEF}, {"t[1] = {f};"}, {NULL}},
	{{HEAD ".visible .func g() { ret; }\n.weak .func h();\n.alias h, g;\n",
	  HEAD ".extern .func h();\n.visible .entry k() { call h, (); ret; }\n"},
	 {".weak .func h();", ".alias h, g;"},
	 {".extern"}},
	/* constant banks of ISA 1.x; managed variables */
	{{HEAD ".visible .const[2] .align 8 .u32 c[2] = {1, 2};\n"
	       ".visible .global .attribute(.managed) .align 4 .u32 m;\n"},
	 {".visible .const .align 8 .u32 c[2] = {1, 2};",
	  ".visible .global .attribute(.managed) .align 4 .u32 m;"},
	 {NULL}},
	/* no blanks where none are needed */
	{{".version 8.0.target sm_80.address_size 64 .global .u32 v=3;.visible .func f(){ret;}"},
	 {".version 8.0 .target sm_80 .address_size 64", ".global .align 4 .u32 v=3;", "f(){ret;}"},
	 {NULL}},
	/* several names in one declaration */
	{{HEAD ".visible .global .u32 a, b[2] = {1, 2}, c = 3;\n", HEAD ".extern .global .u32 c;\n"},
	 {".visible .global .align 4 .u32 a;", ".u32 b[2] = {1, 2};", ".u32 c = 3;"},
	 {NULL}},
	/* debug information: one list of files, the names of inlined functions */
	{{HEAD ".file 1 \"x.cu\"\n.file 2 \"y.h\"\n.visible .func f() {\n.loc 2 5 1\nret; }\n"
	       ".section .debug_str { $L: .b8 102,0\n}\n.section .debug_info { .b32 $L }\n",
	  HEAD ".file 1 \"y.h\"\n.file 3 \"z.cu\"\n.visible .func g() {\n.loc 3 7 2\n"
	       ".loc 1 9 0, function_name $L + 0, inlined_at 3 7 2\nret; }\n.section .debug_str { $L: .b8 "
	       "103,0\n}\n"},
	 {".file 1 \"x.cu\" .file 2 \"y.h\" .file 3 \"z.cu\"", ".loc 2 5 1 ret",
	  ".loc 3 7 2 .loc 2 9 0, function_name $L$m2 + 0, inlined_at 3 7 2",
	  "$L: .b8 102,0 $L$m2: .b8 103,0"},
	 {".debug_info"}},
};

/* Blanks and comments' line ends aside. */
static char *squeeze(const char *s)
{
	char *out = malloc(strlen(s) + 1), *p = out;
	assert_non_null(out);
	for (; *s; s++) {
		if (strchr(" \t\n", *s)) {
			if (p > out && p[-1] != ' ')
				*p++ = ' ';
		} else if (!(p > out && p[-1] == ' ' && strchr(";,", *s) && (p--, 0))) {
			*p++ = *s;
		}
	}
	*p = 0;
	return out;
}

static bool contains(const char *text, const char *piece)
{
	char *a = squeeze(text), *b = squeeze(piece);
	bool yes = strstr(a, b) != NULL;
	free(a);
	free(b);
	return yes;
}

/* The result is a module, and linking it again changes nothing but comments. */
static void check_module(size_t row, const struct ptx_linked *l)
{
	const struct ptx_link_input again = {"linked.ptx", l->text, l->bytes};
	struct diag d = DIAG_INIT;
	struct ptx_module *m = ptx_module_parse(l->text, l->bytes, "linked.ptx", &d);
	struct ptx_linked second;
	assert_non_null(m);
	if (m->nerrors)
		fail_msg("row %zu: %s: %s in\n%s", row, m->errors[0].where, m->errors[0].what, l->text);
	ptx_module_free(m);
	assert_int_equal(strlen(l->text), l->bytes);
	assert_int_equal(ptx_link(&again, 1, &second), 0);
	ptx_linked_free(&second);
}

static void linked(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct ptx_linked l;
		if (link_texts(good[i].texts, &l))
			fail_msg("row %zu: %s: %s", i, l.nerrors ? l.errors[0].where : "",
				 l.nerrors ? l.errors[0].what : "");
		for (int k = 0; k < 4 && good[i].has[k]; k++)
			if (!contains(l.text, good[i].has[k]))
				fail_msg("row %zu lacks %s:\n%s", i, good[i].has[k], l.text);
		for (int k = 0; k < 4 && good[i].lacks[k]; k++)
			if (contains(l.text, good[i].lacks[k]))
				fail_msg("row %zu has %s:\n%s", i, good[i].lacks[k], l.text);
		check_module(i, &l);
		ptx_linked_free(&l);
	}
}

/* All inputs of all rows, cut anywhere: an error or a module, never a crash. */
static void truncated(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const char *first = good[i].texts[0];
		for (size_t n = 0; n < strlen(first); n++) {
			struct ptx_link_input in[2] = {{"a.ptx", first, n}, {"b.ptx", NULL, 0}};
			unsigned count = good[i].texts[1] ? 2 : 1;
			struct ptx_linked l;
			in[1].text = count == 2 ? good[i].texts[1] : "";
			in[1].bytes = strlen(in[1].text);
			int rc = ptx_link(in, count, &l);
			assert_true(rc ? l.nerrors > 0 && !l.text : l.text != NULL);
			ptx_linked_free(&l);
		}
	}
}

/* Each byte of an input replaced by another that means something. */
static void damaged(void **state)
{
	static const char bytes[] = ";{}()[],.:@\"%x/\n";
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		char *text = strdup(good[i].texts[0]);
		size_t n = strlen(text);
		for (size_t at = sizeof(HEAD) - 1; at < n; at++) {
			char old = text[at];
			text[at] = bytes[(at * 7 + i) % (sizeof(bytes) - 1)];
			struct ptx_link_input in = {"a.ptx", text, n};
			struct ptx_linked l;
			int rc = ptx_link(&in, 1, &l);
			assert_true(rc ? l.nerrors > 0 : l.text != NULL);
			ptx_linked_free(&l);
			text[at] = old;
		}
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused),
		cmocka_unit_test(linked),
		cmocka_unit_test(truncated),
		cmocka_unit_test(damaged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
