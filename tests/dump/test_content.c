/* SPDX-License-Identifier: Apache-2.0
 * Buffers as numbers, images as files, and the number formats themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump/dump.h"
#include "dump/row.h"
#include "sample.h"
#include "trace/trace.h"

static char folder[256], trace[300];

/* Buffer by buffer: 16 typed bytes; a fatbin; a large one of u32 that count. */
static int setup(void **state)
{
	struct diag d = DIAG_INIT;
	static const uint8_t mixed[16] = {0,    0x3c, 0, 0xc0, 1,    0,    0xff, 0x7b,
					  0x80, 0x3f, 0, 0,    0xff, 0xff, 0xff, 0xff};
	/* docs/format.md, "Code images": a container with one stored PTX entry for sm_80 and one ELF for
	 * sm_90 */
	static const uint8_t fatbin[16 + 2 * (64 + 16)] = {0x50,
							   0xed,
							   0x55,
							   0xba,
							   1,
							   0,
							   16,
							   0,
							   160,
							   0,
							   0,
							   0,
							   0,
							   0,
							   0,
							   0,
							   [16] = 1,
							   0,
							   1,
							   1,
							   64,
							   0,
							   0,
							   0,
							   16,
							   [16 + 0x1c] = 80,
							   [16 + 0x28] = 0x11,
							   [80] = '.',
							   'v',
							   'e',
							   'r',
							   's',
							   'i',
							   'o',
							   'n',
							   ' ',
							   '8',
							   '.',
							   '0',
							   '\n',
							   [96] = 2,
							   0,
							   1,
							   1,
							   64,
							   0,
							   0,
							   0,
							   16,
							   [96 + 0x1c] = 90,
							   [96 + 0x28] = 0x11,
							   [160] = 'E',
							   'L',
							   'F',
							   '!'};
	struct trace_image image = {.kind = "fatbin", .archs = "ptx:80 elf:90"};
	uint32_t *counting = malloc(300000 * 4), i;
	struct trace_writer *w;
	uint64_t id;

	(void)state;
	make_folder(folder, sizeof(folder));
	snprintf(trace, sizeof(trace), "%s/content.trace", folder);
	if (!counting || trace_writer_open(&w, trace, &d))
		return -1;
	for (i = 0; i < 300000; i++)
		counting[i] = i;
	trace_writer_buffer(w, mixed, sizeof(mixed), &id);
	trace_writer_buffer(w, fatbin, sizeof(fatbin), &image.buffer);
	trace_writer_image(w, &image);
	trace_writer_buffer(w, counting, 300000 * 4, &id);
	free(counting);
	return trace_writer_close(w, &d);
}

static int teardown(void **state)
{
	(void)state;
	remove_folder(folder);
	return 0;
}

static void test_types(void **state)
{
	static const struct {
		const char *type, *want;
	} cases[] = {
		{"--type=f16", "       0  1 -2 5.9604645e-08 65504 1.875 0 nan nan\n"},
		{"--type=bf16", "       0  0.0078125 -2 1e-40"},
		{"--type=u8", "       0  0 60 0 192 1 0 255 123\n       8  128 63 0 0 255 255 255 255\n"},
		{"--type=s8", "       0  0 60 0 -64 1 0 -1 123\n       8  -128 63 0 0 -1 -1 -1 -1\n"},
		{"--type=s16", "       0  15360 -16384 1 31743 16256 0 -1 -1\n"},
		{"--type=u32", "       0  3221240832 2080309249 16256 4294967295\n"},
		{"--type=s32", "       0  -1073726464 2080309249 16256 -1\n"},
		{"--type=u64", "       0  8934860193242561536 18446744069414600576\n"},
		{"--type=s64", "       0  8934860193242561536 -4294951040\n"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct captured c = capture(cmd_dump, "dump", "--buffer=1", cases[i].type, trace, NULL);

		assert_int_equal(c.status, 0);
		if (i ==
		    1) /* bf16 1.0 is 0x3f80, subnormals are exact powers of two: only the leading ones */
			assert_memory_equal(c.out, "       0  0.0078125 -2 ", 22);
		else
			assert_string_equal(c.out, cases[i].want);
	}
}

static void test_ranges(void **state)
{
	struct captured c;

	(void)state;
	/* across a chunk's end (1 MiB = 262144 words) and a piece's */
	c = capture(cmd_dump, "dump", "--buffer=3", "--type=u32", "--offset=262142", "--count=4", trace,
		    NULL);
	assert_string_equal(c.out, "  262142  262142 262143 262144 262145\n");
	c = capture(cmd_dump, "dump", "--buffer=3", "--type=u32", "--offset=299998", trace, NULL);
	assert_string_equal(c.out, "  299998  299998 299999\n");
	c = capture(cmd_dump, "dump", "--json", "--buffer=3", "--type=u32", "--offset=100000", "--count=3",
		    trace, NULL);
	assert_string_equal(c.out, "{\"index\":100000,\"values\":[100000,100001,100002]}\n");
	c = capture(cmd_dump, "dump", "--buffer=3", "--type=u32", "--offset=300001", trace, NULL);
	assert_int_equal(c.status, 2);
	c = capture(cmd_dump, "dump", "--buffer=3", "--type=complex", trace, NULL);
	assert_int_equal(c.status, 2);
	c = capture(cmd_dump, "dump", "--buffer=9", trace, NULL);
	assert_int_equal(c.status, 125);
	c = capture(cmd_dump, "dump", "--buffer=1", trace, NULL);
	assert_string_equal(
		c.out, "       0  00 3c 00 c0 01 00 ff 7b  80 3f 00 00 ff ff ff ff  |.<.....{.?......|\n");
	c = capture(cmd_dump, "dump", "--buffer=3", "--type=u32", trace, NULL);
	assert_int_equal(c.status, 0);
	assert_non_null(strstr(c.out, "  299992  299992 299993 299994 299995 299996 299997 299998 299999\n"));
}

static void test_modules(void **state)
{
	char dir[300], path[400];
	struct captured c;

	(void)state;
	snprintf(dir, sizeof(dir), "%s/modules", folder);
	c = capture(cmd_dump, "dump", "--modules", dir, trace, NULL);
	assert_int_equal(c.status, 0);
	assert_non_null(strstr(c.out, "image_2.fatbin  176 bytes  fatbin\n"));
	assert_non_null(strstr(c.out, "image_2.0.sm_80.ptx  13 bytes  ptx\n"));
	assert_non_null(strstr(c.out, "image_2.1.sm_90.cubin  16 bytes  elf\n"));
	snprintf(path, sizeof(path), "%s/image_2.0.sm_80.ptx", dir);
	assert_string_equal(read_file(path), ".version 8.0\n");
	remove_folder(dir);
	c = capture(cmd_dump, "dump", "--modules", "/no/such/folder", trace, NULL);
	assert_int_equal(c.status, 125);
}

static void test_payload(void **state)
{
	char other[300];
	struct captured c;

	(void)state;
	snprintf(other, sizeof(other), "%s/sample.trace", folder);
	sample_write(other);
	c = capture(cmd_dump, "dump", "--payload=9", "--type=f32", other, NULL);
	assert_string_equal(c.out, "h2d, parameter 1, buffer 2, 16 bytes, device 0x550000000010\n"
				   "       0  1 -0.5 3.1415927 1e+30\n");
	c = capture(cmd_dump, "dump", "--payload=24", other, NULL);
	assert_string_equal(c.out, "unavailable, parameter 0: the stream was being captured\n");
	c = capture(cmd_dump, "dump", "--payload=999", other, NULL);
	assert_int_equal(c.status, 125);
}

static void test_shortest(void **state)
{
	char buf[40];
	unsigned i;
	uint32_t bits = 1;

	(void)state;
	for (i = 0; i < 100000; i++) {
		float f;

		bits = bits * 1664525 + 1013904223;
		memcpy(&f, &bits, sizeof(f));
		if (f != f)
			continue;
		format_f32(f, buf, sizeof(buf));
		assert_true(strtof(buf, NULL) == f);
	}
	format_f32(0.1f, buf, sizeof(buf));
	assert_string_equal(buf, "0.1");
	format_f64(0.1, buf, sizeof(buf));
	assert_string_equal(buf, "0.1");
	format_f64(1.0 / 3, buf, sizeof(buf));
	assert_string_equal(buf, "0.3333333333333333");
}

static void test_json_writer(void **state)
{
	FILE *f = tmpfile();
	struct json j = {.out = f};
	char got[300] = "";

	(void)state;
	assert_non_null(f);
	json_begin(&j, '{');
	json_key(&j, "s");
	json_string(&j, "\"\\\n\x01\xc3\xa9\xff\xc0\x80", 9);
	json_key(&j, "n");
	json_begin(&j, '[');
	json_int(&j, INT64_MIN);
	json_uint(&j, UINT64_MAX);
	json_uint(&j, 9007199254740992);
	json_double(&j, __builtin_nan(""), 17);
	json_double(&j, -__builtin_inf(), 17);
	json_bool(&j, true);
	json_null(&j);
	json_hex(&j, 255);
	json_begin(&j, '{');
	json_end(&j, '}');
	json_end(&j, ']');
	json_end(&j, '}');
	json_line(&j);
	rewind(f);
	assert_true(fread(got, 1, sizeof(got) - 1, f) > 0);
	fclose(f);
	assert_string_equal(
		got, "{\"s\":\"\\\"\\\\\\u000a\\u0001\xc3\xa9\\u00ff\\u00c0\\u0080\",\"n\":["
		     "\"-9223372036854775808\",\"18446744073709551615\",9007199254740992,\"nan\",\"-inf\","
		     "true,null,\"0xff\",{}]}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),    cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_modules),  cmocka_unit_test(test_payload),
		cmocka_unit_test(test_shortest), cmocka_unit_test(test_json_writer),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
