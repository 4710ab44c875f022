/* SPDX-License-Identifier: Apache-2.0
 *
 * Bits: PTX ISA 9.7.1.14 to 9.7.1.24 (popc ... dp2a), 9.7.8 (logic and shift), 9.7.9.7 (prmt).
 */
#include "form.h"

#include <string.h>

#define LANE(name) static void name(const struct form *f, const uint64_t *in, struct want *out)
#define NBITS      (f->type->bits)

static bool bit(uint64_t v, unsigned i)
{
	return v >> i & 1;
}

LANE(ref_popc)
{
	(void)f;
	for (uint64_t a = in[0]; a; a >>= 1)
		out->bits += a & 1;
}

LANE(ref_clz)
{
	while (out->bits < NBITS && !bit(in[0], NBITS - 1 - (unsigned)out->bits))
		out->bits++;
}

/* k[0]: .shiftamt */
LANE(ref_bfind)
{
	unsigned msb = NBITS - 1u;
	uint64_t a = in[0];

	if (f->type->is_signed && bit(a, msb))
		a = low_bits(~a, NBITS);
	out->bits = 0xffffffff;
	for (unsigned i = msb + 1; i-- > 0;)
		if (bit(a, i)) {
			out->bits = f->k[0] ? msb - i : i;
			break;
		}
}

LANE(ref_fns)
{
	int offset = (int32_t)(uint32_t)in[2], pos = (int)in[1], step = offset > 0 ? 1 : -1;
	int64_t count = offset < 0 ? -(int64_t)offset : offset;

	(void)f;
	out->bits = 0xffffffff;
	if (offset == 0) {
		if (bit(in[0], (unsigned)pos))
			out->bits = (uint64_t)pos;
		return;
	}
	for (; pos >= 0 && pos < 32; pos += step)
		if (bit(in[0], (unsigned)pos) && --count == 0) {
			out->bits = (uint64_t)pos;
			return;
		}
}

LANE(ref_brev)
{
	for (unsigned i = 0; i < NBITS; i++)
		out->bits |= (uint64_t)bit(in[0], NBITS - 1 - i) << i;
}

LANE(ref_bfe)
{
	unsigned msb = NBITS - 1u, pos = in[1] & 0xff, len = in[2] & 0xff;
	bool sign = false;

	if (f->type->is_signed && len)
		sign = bit(in[0], pos + len - 1 < msb ? pos + len - 1 : msb);
	for (unsigned i = 0; i <= msb; i++)
		out->bits |= (uint64_t)(i < len && pos + i <= msb ? bit(in[0], pos + i) : sign) << i;
}

LANE(ref_bfi)
{
	unsigned msb = NBITS - 1u, pos = in[2] & 0xff, len = in[3] & 0xff;

	out->bits = in[1];
	for (unsigned i = 0; i < len && pos + i <= msb; i++) {
		out->bits &= ~(1ull << (pos + i));
		out->bits |= (uint64_t)bit(in[0], i) << (pos + i);
	}
}

/* k[0]: .clamp. Ones from bit a, b of them; none when a is beyond the register in clamp mode. */
LANE(ref_bmsk)
{
	uint64_t start = f->k[0] ? in[0] : in[0] & 31, width = f->k[0] ? in[1] : in[1] & 31;

	for (uint64_t i = start; i < 32 && i < start + width; i++)
		out->bits |= 1ull << i;
}

/* k[0]: .clamp */
LANE(ref_szext)
{
	uint64_t n = in[1] & 31;

	if (in[1] >= 32 && f->k[0]) {
		out->bits = in[0];
		return;
	}
	out->bits = low_bits(in[0], (unsigned)n);
	if (n == 0)
		out->bits = 0;
	else if (f->type->is_signed && bit(in[0], (unsigned)n - 1))
		out->bits |= low_bits(UINT64_MAX, 32) << n & 0xffffffff;
}

static int64_t field(uint64_t v, unsigned at, unsigned width, bool is_signed)
{
	int64_t x = (int64_t)low_bits(v >> at, width);

	return is_signed && x >> (width - 1) ? x - ((int64_t)1 << width) : x;
}

/* k[0], k[1]: a, b signed; k[2]: width of a's elements; k[3]: first byte of b */
LANE(ref_dot)
{
	unsigned width = (unsigned)f->k[2], n = 32 / width;
	uint64_t sum = in[2];

	for (unsigned i = 0; i < n; i++)
		sum += (uint64_t)(field(in[0], i * width, width, f->k[0]) *
				  field(in[1], ((unsigned)f->k[3] + i) * 8, 8, f->k[1]));
	out->bits = (uint32_t)sum;
}

LANE(ref_prmt)
{
	(void)f;
	for (unsigned i = 0; i < 4; i++) {
		unsigned sel = in[2] >> (4 * i) & 15;
		uint64_t byte = (in[1] << 32 | in[0]) >> (8 * (sel & 7)) & 0xff;

		if (sel & 8)
			byte = byte & 0x80 ? 0xff : 0;
		out->bits |= byte << (8 * i);
	}
}

/* Tables of the document, bytes d.b3 d.b2 d.b1 d.b0 for selectors 0..3. */
static const struct prmt_mode {
	const char *name;
	const char *source[4];
} prmt_modes[] = {
	{"f4e", {"3210", "4321", "5432", "6543"}}, {"b4e", {"5670", "6701", "7012", "0123"}},
	{"rc8", {"0000", "1111", "2222", "3333"}}, {"ecl", {"3210", "3211", "3222", "3333"}},
	{"ecr", {"0000", "1110", "2210", "3210"}}, {"rc16", {"1010", "3232", "1010", "3232"}},
};

LANE(ref_prmt_mode)
{
	const struct prmt_mode *m = f->arg;
	const char *source = m->source[in[2] & 3];
	uint64_t both = in[1] << 32 | in[0];

	for (unsigned i = 0; i < 4; i++)
		out->bits |= (both >> (8 * (source[3 - i] - '0')) & 0xff) << (8 * i);
}

/* k[0]: the look-up table; bit (4a + 2b + c) of it is the function's value. */
static uint64_t lop3(long lut, const uint64_t *in)
{
	uint64_t d = 0;

	for (unsigned i = 0; i < 32; i++)
		d |= (uint64_t)bit((uint64_t)lut,
				   (unsigned)(bit(in[0], i) * 4 + bit(in[1], i) * 2 + bit(in[2], i)))
		     << i;
	return d;
}

LANE(ref_lop3)
{
	out->bits = lop3(f->k[0], in);
}

/* k[1]: .and; in[3]: q */
LANE(ref_lop3_bool)
{
	bool any;

	out[0].bits = lop3(f->k[0], in);
	any = out[0].bits != 0;
	out[1].bits = f->k[1] ? any && in[3] : any || in[3];
}

/* k[0]: left; k[1]: clamp */
LANE(ref_shf)
{
	uint64_t n = f->k[1] ? (in[2] < 32 ? in[2] : 32) : in[2] & 31;
	uint64_t both = in[1] << 32 | in[0];

	/* left: the upper 32 bits of both << n; right: the lower 32 bits of both >> n */
	out->bits = (uint32_t)(f->k[0] ? (uint64_t)((u128)both << n >> 32) : both >> n);
}

LANE(ref_shl)
{
	out->bits = in[1] >= NBITS ? 0 : low_bits(in[0] << in[1], NBITS);
}

LANE(ref_shr)
{
	unsigned n = in[1] > NBITS ? NBITS : (unsigned)in[1];

	/* 128-bit arithmetic shift: amounts up to 64 are defined */
	out->bits = low_bits((uint64_t)(as_int(f->type, in[0]) >> n), NBITS);
}

LANE(ref_and)
{
	(void)f;
	out->bits = in[0] & in[1];
}
LANE(ref_or)
{
	(void)f;
	out->bits = in[0] | in[1];
}
LANE(ref_xor)
{
	(void)f;
	out->bits = in[0] ^ in[1];
}
LANE(ref_not)
{
	out->bits = low_bits(~in[0], NBITS);
}
LANE(ref_not_pred)
{
	(void)f;
	out->bits = !in[0];
}
LANE(ref_cnot)
{
	(void)f;
	out->bits = in[0] == 0;
}

struct logic_row {
	const char *op, *type, *sig;
	lane_ref ref;
};

static const struct logic_row logic[] = {
	{"popc", "b32", "w=w", ref_popc},     {"popc", "b64", "w=d", ref_popc},
	{"clz", "b32", "w=w", ref_clz},       {"clz", "b64", "w=d", ref_clz},
	{"brev", "b32", "w=w", ref_brev},     {"brev", "b64", "d=d", ref_brev},
	{"bfind", "u32", "w=w", ref_bfind},   {"bfind", "s32", "w=w", ref_bfind},
	{"bfind", "u64", "w=d", ref_bfind},   {"bfind", "s64", "w=d", ref_bfind},
	{"bfe", "u32", "w=wss", ref_bfe},     {"bfe", "s32", "w=wss", ref_bfe},
	{"bfe", "u64", "d=dss", ref_bfe},     {"bfe", "s64", "d=dss", ref_bfe},
	{"bfi", "b32", "w=wwss", ref_bfi},    {"bfi", "b64", "d=ddss", ref_bfi},
	{"and", "b16", "h=hh", ref_and},      {"and", "b32", "w=ww", ref_and},
	{"and", "b64", "d=dd", ref_and},      {"or", "b16", "h=hh", ref_or},
	{"or", "b32", "w=ww", ref_or},        {"or", "b64", "d=dd", ref_or},
	{"xor", "b16", "h=hh", ref_xor},      {"xor", "b32", "w=ww", ref_xor},
	{"xor", "b64", "d=dd", ref_xor},      {"not", "b16", "h=h", ref_not},
	{"not", "b32", "w=w", ref_not},       {"not", "b64", "d=d", ref_not},
	{"cnot", "b16", "h=h", ref_cnot},     {"cnot", "b32", "w=w", ref_cnot},
	{"cnot", "b64", "d=d", ref_cnot},     {"shl", "b16", "h=hs", ref_shl},
	{"shl", "b32", "w=ws", ref_shl},      {"shl", "b64", "d=ds", ref_shl},
	{"shr", "b16", "h=hs", ref_shr},      {"shr", "b32", "w=ws", ref_shr},
	{"shr", "b64", "d=ds", ref_shr},      {"shr", "u16", "h=hs", ref_shr},
	{"shr", "u32", "w=ws", ref_shr},      {"shr", "u64", "d=ds", ref_shr},
	{"shr", "s16", "h=hs", ref_shr},      {"shr", "s32", "w=ws", ref_shr},
	{"shr", "s64", "d=ds", ref_shr},      {"and", "pred", "p=pp", ref_and},
	{"or", "pred", "p=pp", ref_or},       {"xor", "pred", "p=pp", ref_xor},
	{"not", "pred", "p=p", ref_not_pred},
};

static const char *operand_list(const char *sig)
{
	static const char *const lists[] = {"", "%1", "%1, %2", "%1, %2, %3", "%1, %2, %3, %4"};

	return lists[strlen(strchr(sig, '=') + 1)];
}

static void add_logic(struct suite *s)
{
	for (unsigned i = 0; i < sizeof(logic) / sizeof(logic[0]); i++) {
		const struct logic_row *r = &logic[i];

		form_add(s, r->sig, r->ref, text_of("%s.%s %%0, %s;", r->op, r->type, operand_list(r->sig)),
			 "%s.%s", r->op, r->type)
			->type = int_type_find(r->type);
		if (r->ref == ref_bfind) {
			struct form *f = form_add(s, r->sig, ref_bfind,
						  text_of("bfind.shiftamt.%s %%0, %%1;", r->type),
						  "bfind.shiftamt.%s", r->type);

			f->type = int_type_find(r->type);
			f->k[0] = 1;
		}
	}
}

static void fill_fns(const struct form *f, unsigned t, uint64_t *in)
{
	static const uint32_t masks[] = {0,          1,          0x80000000, 0xffffffff,
					 0xaaaaaaaa, 0x00ff00f0, 0x12345678, 0x80000001};
	static const int offsets[] = {0,  1,  2,  3,   8,   16,  31,        32,       33,
				      -1, -2, -3, -16, -32, -33, INT32_MIN, INT32_MAX};

	(void)f;
	in[0] = masks[t / 32 % 8];
	in[1] = t % 32;
	in[2] = (uint32_t)offsets[t / 256 % 17];
}

static void add_modes(struct suite *s)
{
	static const char *const mode[] = {"wrap", "clamp"};

	for (long k = 0; k < 2; k++) {
		form_add(s, "w=ss", ref_bmsk, text_of("bmsk.%s.b32 %%0, %%1, %%2;", mode[k]), "bmsk.%s.b32",
			 mode[k])
			->k[0] = k;
		for (unsigned i = 0; i < 2; i++) {
			const char *t = i ? "s32" : "u32", *dir = i ? "l" : "r";
			struct form *f = form_add(s, "w=ws", ref_szext,
						  text_of("szext.%s.%s %%0, %%1, %%2;", mode[k], t),
						  "szext.%s.%s", mode[k], t);

			f->k[0] = k;
			f->type = int_type_find(t);
			f = form_add(s, "w=wws", ref_shf,
				     text_of("shf.%s.%s.b32 %%0, %%1, %%2, %%3;", dir, mode[k]),
				     "shf.%s.%s.b32", dir, mode[k]);
			f->k[0] = i;
			f->k[1] = k;
		}
	}
}

/* What a compiler may take for a dp4a, of bytes of a shifted 64-bit number. */
static void ref_dot_of_shifted(const struct form *f, const uint64_t *in, struct want *out)
{
	const uint64_t shifted = in[0] << (in[2] & 31);
	uint32_t sum = (uint32_t)in[1];

	(void)f;
	for (unsigned k = 0; k < 4; k++)
		sum += (uint32_t)((int8_t)(in[1] >> 8 * k) * (int8_t)(shifted >> (32 + 8 * k)));
	out->bits = sum;
}

static void add_dots_of_shifted(struct suite *s)
{
	char *text = text_of(
		"{ .reg .b64 w; .reg .b32 h, l, n; .reg .s32 x, y; and.b32 n, %%3, 31; shl.b64 w, %%1, n;\n"
		"\tmov.b64 {l, h}, w; mov.b32 %%0, %%2;");

	for (unsigned k = 0; k < 32; k += 8)
		text = text_of("%s\n\tbfe.s32 x, %%2, %u, 8; bfe.s32 y, h, %u, 8; mad.lo.s32 %%0, x, y, %%0;",
			       text, k, k);
	form_add(s, "w=dww", ref_dot_of_shifted, text_of("%s }", text),
		 "sum of products of bytes of a shifted b64");
	form_add(s, "w=dww", ref_dot_of_shifted,
		 "{ .reg .b64 w; .reg .b32 h, l, n; and.b32 n, %3, 31; shl.b64 w, %1, n;\n"
		 "\tmov.b64 {l, h}, w; dp4a.s32.s32 %0, %2, h, %2; }",
		 "dp4a.s32.s32 of a shifted b64");
}

/* Bytes of the upper half of a shifted 64-bit number and of another number, in any order: what a compiler may take for a
 * permutation. k[0]: for each byte of the result two bits of place, and whose it is. */
static void ref_bytes_of_shifted(const struct form *f, const uint64_t *in, struct want *out)
{
	const uint64_t halves[] = {in[0] << (in[2] & 31) >> 32, in[1]};
	uint64_t v = 0;

	for (unsigned k = 0; k < 4; k++)
		v |= (halves[f->k[0] >> (3 * k + 2) & 1] >> 8 * (f->k[0] >> 3 * k & 3) & 0xff) << 8 * k;
	out->bits = v;
}

static void add_bytes_of_shifted(struct suite *s)
{
	for (unsigned n = 0; n < 16; n++) {
		const unsigned places = (n * 2654435761u >> 9) & 0xfff;
		char *text = text_of(
			"{ .reg .b64 w; .reg .b32 h, l, n, b; and.b32 n, %%3, 31; shl.b64 w, %%1, n;\n"
			"\tmov.b64 {l, h}, w; mov.b32 %%0, 0;");
		struct form *f;

		for (unsigned k = 0; k < 4; k++)
			text = text_of(
				"%s\n\tshr.u32 b, %s, %u; and.b32 b, b, 255; shl.b32 b, b, %u; or.b32 %%0, %%0, b;",
				text, places >> (3 * k + 2) & 1 ? "%2" : "h", 8 * (places >> 3 * k & 3),
				8 * k);
		f = form_add(s, "w=dww", ref_bytes_of_shifted, text_of("%s }", text),
			     "bytes of a shifted b64 put together, %03o", places);
		f->k[0] = places;
		f->most = 128;
	}
}

static void add_dots(struct suite *s)
{
	static const char *const types[] = {"u32", "s32"}, *const halves[] = {"lo", "hi"};

	for (long a = 0; a < 2; a++)
		for (long b = 0; b < 2; b++) {
			struct form *f =
				form_add(s, "w=www", ref_dot,
					 text_of("dp4a.%s.%s %%0, %%1, %%2, %%3;", types[a], types[b]),
					 "dp4a.%s.%s", types[a], types[b]);

			f->k[0] = a;
			f->k[1] = b;
			f->k[2] = 8;
			for (long h = 0; h < 2; h++) {
				f = form_add(s, "w=www", ref_dot,
					     text_of("dp2a.%s.%s.%s %%0, %%1, %%2, %%3;", halves[h], types[a],
						     types[b]),
					     "dp2a.%s.%s.%s", halves[h], types[a], types[b]);
				f->k[0] = a;
				f->k[1] = b;
				f->k[2] = 16;
				f->k[3] = 2 * h;
			}
		}
}

static void add_lop3(struct suite *s)
{
	for (long lut = 0; lut < 256; lut += lut % 3 ? 5 : 2)
		form_add(s, "w=www", ref_lop3, text_of("lop3.b32 %%0, %%1, %%2, %%3, %ld;", lut),
			 "lop3.b32 %#lx", lut)
			->k[0] = lut;
	for (long is_and = 0; is_and < 2; is_and++) {
		const char *op = is_and ? "and" : "or";
		struct form *f = form_add(s, "wp=wwwp", ref_lop3_bool,
					  text_of("lop3.%s.b32 %%0|%%1, %%2, %%3, %%4, 0x1a, %%5;", op),
					  "lop3.%s.b32 d|p", op);

		f->k[0] = 0x1a;
		f->k[1] = is_and;
	}
}

void forms_bits(struct suite *s)
{
	struct form *f;

	add_logic(s);
	add_modes(s);
	add_dots(s);
	add_dots_of_shifted(s);
	add_bytes_of_shifted(s);
	add_lop3(s);
	f = form_add(s, "w=wmw", ref_fns, "fns.b32 %0, %1, %2, %3;", "fns.b32");
	f->fill = fill_fns;
	f->ntuples = 32 * 8 * 17;
	form_add(s, "w=www", ref_prmt, "prmt.b32 %0, %1, %2, %3;", "prmt.b32");
	for (unsigned i = 0; i < sizeof(prmt_modes) / sizeof(prmt_modes[0]); i++)
		form_add(s, "w=www", ref_prmt_mode,
			 text_of("prmt.b32.%s %%0, %%1, %%2, %%3;", prmt_modes[i].name), "prmt.b32.%s",
			 prmt_modes[i].name)
			->arg = &prmt_modes[i];
}
