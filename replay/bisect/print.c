/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "replay/bisect/bisect.h"
#include "replay/report.h"

/* ---- text ----------------------------------------------------------------------------------------- */

static void print_side(const struct side *s)
{
	printf("%-5s %s, device %s\n", s->name, s->driver, s->device_text);
}

static void print_launch(const struct found_launch *l)
{
	if (!l->found) {
		if (l->differing)
			printf("no difference: %u launches differ from the recording, and on both sides\n",
			       l->alike);
		else
			printf("no difference: no launch differs on the bad side\n");
		return;
	}
	printf("first difference: the launch of %s, call %" PRIu64 "\n", l->kernel ? l->kernel : "a kernel",
	       l->call);
	printf("  good: %s; bad: %s", l->good_grade ? l->good_grade : "?", l->grade ? l->grade : "?");
	if (l->differing > 1)
		printf(" (%u launches differ on the bad side)", l->differing);
	putchar('\n');
	if (l->alike)
		printf("  %u launches before it differ on both sides, or can't be judged\n", l->alike);
	if (l->kind && !strcmp(l->kind, "written"))
		printf("  %" PRIu64 " of %" PRIu64 " elements (%s) differ; element %" PRIu64 " at 0x%" PRIx64
		       ": %s, on the bad side %s\n",
		       l->differ, l->elements, l->elem_type ? l->elem_type : "?", l->element, l->address,
		       l->want ? l->want : "?", l->got ? l->got : "?");
	if (l->wrong_line)
		printf("  PTX line %" PRIu64 ": %s%s%s%s\n", l->wrong_line, l->wrong_ptx ? l->wrong_ptx : "",
		       l->wrong_source ? " (" : "", l->wrong_source ? l->wrong_source : "",
		       l->wrong_source ? ")" : "");
	if (l->note)
		printf("  %s\n", l->note);
}

/* How to see the code before and after the pass. */
static void print_how(const struct bisect *b, const struct found_launch *l, const struct found_pass *p)
{
	printf("  good code: CUTRACE_COMPILE_OPTIONS='%s:opt-bisect=%" PRIu64 "', bad: %" PRIu64 "\n",
	       l->kernel, (p->first ? p->first : p->number) - 1, p->number);
	printf("  the kernel's PTX: cutrace dump --modules DIR %s; its code before and after:\n"
	       "  cutrace compile PTX --kernel %s --options opt-bisect=N -o DIR\n",
	       b->input, l->kernel);
}

static void print_pass(const struct bisect *b, const struct found_launch *l, const struct found_pass *p)
{
	if (!p->looked)
		return;
	if (!p->found) {
		printf("pass: not found: %s\n", p->why_not ? p->why_not : "interrupted");
		return;
	}
	if (p->first)
		printf("pass: one of %" PRIu64 " to %" PRIu64 ", which can't be told apart; the last is ",
		       p->first, p->number);
	else
		printf("pass: %" PRIu64 " of %" PRIu64 ": ", p->number, p->of);
	printf("%s%s%s\n", p->name ? p->name : "its name is not known", p->on ? " on " : "",
	       p->on ? p->on : "");
	print_how(b, l, p);
}

static void print_kernel(const struct found_kernel *k)
{
	if (!k->looked)
		return;
	if (k->found)
		printf("kernel whose code makes the program's results differ: %s (%u of %u)\n", k->kernel,
		       k->number, k->of);
	else
		printf("no kernel's code is to blame: %s\n", k->why_not ? k->why_not : "interrupted");
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

static void key_text(const char *key, const char *s)
{
	printf(", \"%s\": ", key);
	if (s)
		report_json_string(stdout, s);
	else
		fputs("null", stdout);
}

static void json_side(const struct side *s)
{
	printf(",\n \"%s\": {\"driver\": ", s->name);
	report_json_string(stdout, s->driver);
	key_text("device", s->device_text);
	putchar('}');
}

static void json_launch(const struct found_launch *l)
{
	printf(",\n \"differing_launches\": %u, \"alike\": %u,\n \"launch\": ", l->differing, l->alike);
	if (!l->found) {
		fputs("null", stdout);
		return;
	}
	printf("{\"call\": %" PRIu64, l->call);
	key_text("kernel", l->kernel);
	key_text("kind", l->kind);
	key_text("good", l->good_grade);
	key_text("bad", l->grade);
	key_text("elem_type", l->elem_type);
	printf(", \"address\": \"0x%" PRIx64 "\", \"elements\": %" PRIu64 ", \"differing\": %" PRIu64
	       ", \"element\": %" PRIu64,
	       l->address, l->elements, l->differ, l->element);
	key_text("want", l->want);
	key_text("got", l->got);
	key_text("note", l->note);
	printf(", \"wrong_line\": %" PRIu64, l->wrong_line);
	key_text("wrong_ptx", l->wrong_ptx);
	key_text("wrong_source", l->wrong_source);
	putchar('}');
}

static void json_pass(const struct found_pass *p)
{
	if (!p->looked)
		return;
	printf(",\n \"pass\": {\"found\": %s, \"number\": %" PRIu64 ", \"first\": %" PRIu64
	       ", \"of\": %" PRIu64,
	       p->found ? "true" : "false", p->number, p->first ? p->first : p->number, p->of);
	key_text("name", p->name);
	key_text("on", p->on);
	key_text("why_not", p->why_not);
	putchar('}');
}

static void json_kernel(const struct found_kernel *k)
{
	if (!k->looked)
		return;
	printf(",\n \"mixed\": {\"found\": %s, \"number\": %u, \"of\": %u", k->found ? "true" : "false",
	       k->number, k->of);
	key_text("kernel", k->kernel);
	key_text("why_not", k->why_not);
	putchar('}');
}

void bisect_print(const struct bisect *b, const struct found_launch *l, const struct found_pass *p,
		  const struct found_kernel *k)
{
	if (b->json) {
		printf("{\"replays\": %u", b->replays);
		json_side(&b->good);
		json_side(&b->bad);
		if (!b->mix)
			json_launch(l);
		json_pass(p);
		json_kernel(k);
		puts("\n}");
		return;
	}
	print_side(&b->good);
	print_side(&b->bad);
	if (!b->mix)
		print_launch(l);
	print_pass(b, l, p);
	print_kernel(k);
}
