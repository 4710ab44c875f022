/* SPDX-License-Identifier: Apache-2.0
 *
 * One texel: how its channels are stored and handed out. CUDA C++ Programming Guide, "Texture Memory"; IEC 61966-2-1
 * for sRGB.
 */
#include "zluda_core/compiler/device_library/texture.h"

/* Channels of enum dev_texel. */
struct format {
	uint8_t bytes;
	bool is_signed, is_float, is_fraction;
	uint16_t one; /* what 1.0 is stored as; 0: can't be read as a fraction */
};

static const struct format formats[] = {
	[DEV_TEXEL_U8] = {1, false, false, false, 255},   [DEV_TEXEL_U16] = {2, false, false, false, 65535},
	[DEV_TEXEL_U32] = {4, false, false, false, 0},    [DEV_TEXEL_S8] = {1, true, false, false, 127},
	[DEV_TEXEL_S16] = {2, true, false, false, 32767}, [DEV_TEXEL_S32] = {4, true, false, false, 0},
	[DEV_TEXEL_F16] = {2, false, true, false, 0},     [DEV_TEXEL_F32] = {4, false, true, false, 0},
	[DEV_TEXEL_UN8] = {1, false, false, true, 255},   [DEV_TEXEL_UN16] = {2, false, false, true, 65535},
	[DEV_TEXEL_SN8] = {1, true, false, true, 127},    [DEV_TEXEL_SN16] = {2, true, false, true, 32767},
};

/* c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055)^2.4 of c = k / 255, rounded to nearest. */
static const float srgb[256] = {
	0x0p+0f,         0x1.3e4568p-12f, 0x1.3e4568p-11f, 0x1.dd681cp-11f, 0x1.3e4568p-10f, 0x1.8dd6c2p-10f,
	0x1.dd681cp-10f, 0x1.167cbap-9f,  0x1.3e4568p-9f,  0x1.660e14p-9f,  0x1.8dd6c2p-9f,  0x1.b6a31cp-9f,
	0x1.e1e31ep-9f,  0x1.07c38cp-8f,  0x1.1fcc2cp-8f,  0x1.390ffap-8f,  0x1.53936cp-8f,  0x1.6f5adep-8f,
	0x1.8c6a94p-8f,  0x1.aac6cp-8f,   0x1.ca7382p-8f,  0x1.eb74e2p-8f,  0x1.06e76cp-7f,  0x1.18c2a6p-7f,
	0x1.2b4e0ap-7f,  0x1.3e8b7cp-7f,  0x1.527cd6p-7f,  0x1.6723eep-7f,  0x1.7c8292p-7f,  0x1.929a88p-7f,
	0x1.a96d92p-7f,  0x1.c0fd68p-7f,  0x1.d94bbep-7f,  0x1.f25a44p-7f,  0x1.061552p-6f,  0x1.135f3ep-6f,
	0x1.210bb8p-6f,  0x1.2f1b8cp-6f,  0x1.3d8f84p-6f,  0x1.4c6866p-6f,  0x1.5ba6fap-6f,  0x1.6b4c04p-6f,
	0x1.7b5842p-6f,  0x1.8bcc74p-6f,  0x1.9ca958p-6f,  0x1.adefaap-6f,  0x1.bfa02p-6f,   0x1.d1bb74p-6f,
	0x1.e4425ap-6f,  0x1.f73586p-6f,  0x1.054ad4p-5f,  0x1.0f31bap-5f,  0x1.194fccp-5f,  0x1.23a55ep-5f,
	0x1.2e32c8p-5f,  0x1.38f86p-5f,   0x1.43f678p-5f,  0x1.4f2d64p-5f,  0x1.5a9d76p-5f,  0x1.664702p-5f,
	0x1.722a56p-5f,  0x1.7e47c8p-5f,  0x1.8a9fa4p-5f,  0x1.97323ap-5f,  0x1.a3ffd8p-5f,  0x1.b108dp-5f,
	0x1.be4d6cp-5f,  0x1.cbcdfap-5f,  0x1.d98ac6p-5f,  0x1.e7841cp-5f,  0x1.f5ba48p-5f,  0x1.0216cap-4f,
	0x1.096f26p-4f,  0x1.10e65cp-4f,  0x1.187c9p-4f,   0x1.2031e8p-4f,  0x1.280688p-4f,  0x1.2ffa92p-4f,
	0x1.380e2ap-4f,  0x1.404174p-4f,  0x1.489494p-4f,  0x1.5107acp-4f,  0x1.599adep-4f,  0x1.624e4ep-4f,
	0x1.6b221ep-4f,  0x1.74167p-4f,   0x1.7d2b66p-4f,  0x1.86612p-4f,   0x1.8fb7cp-4f,   0x1.992f68p-4f,
	0x1.a2c83ap-4f,  0x1.ac8256p-4f,  0x1.b65ddcp-4f,  0x1.c05aecp-4f,  0x1.ca79a8p-4f,  0x1.d4ba3p-4f,
	0x1.df1ca2p-4f,  0x1.e9a12p-4f,   0x1.f447cap-4f,  0x1.ff10bcp-4f,  0x1.04fe0cp-3f,  0x1.0a84fep-3f,
	0x1.101d44p-3f,  0x1.15c6eep-3f,  0x1.1b8208p-3f,  0x1.214ea6p-3f,  0x1.272cd4p-3f,  0x1.2d1ca2p-3f,
	0x1.331e1ep-3f,  0x1.393158p-3f,  0x1.3f566p-3f,   0x1.458d42p-3f,  0x1.4bd60ep-3f,  0x1.5230d4p-3f,
	0x1.589dap-3f,   0x1.5f1c84p-3f,  0x1.65ad8ap-3f,  0x1.6c50c4p-3f,  0x1.73063ep-3f,  0x1.79ce06p-3f,
	0x1.80a82ep-3f,  0x1.8794cp-3f,   0x1.8e93ccp-3f,  0x1.95a55ep-3f,  0x1.9cc986p-3f,  0x1.a40052p-3f,
	0x1.ab49cep-3f,  0x1.b2a60ap-3f,  0x1.ba1512p-3f,  0x1.c196f4p-3f,  0x1.c92bbep-3f,  0x1.d0d37cp-3f,
	0x1.d88e3ep-3f,  0x1.e05c0ep-3f,  0x1.e83cfcp-3f,  0x1.f03116p-3f,  0x1.f83866p-3f,  0x1.00297ep-2f,
	0x1.044072p-2f,  0x1.086116p-2f,  0x1.0c8b7p-2f,   0x1.10bf86p-2f,  0x1.14fd6p-2f,   0x1.194502p-2f,
	0x1.1d9676p-2f,  0x1.21f1bep-2f,  0x1.2656e4p-2f,  0x1.2ac5ecp-2f,  0x1.2f3edep-2f,  0x1.33c1cp-2f,
	0x1.384e98p-2f,  0x1.3ce56cp-2f,  0x1.418642p-2f,  0x1.46312p-2f,   0x1.4ae60ep-2f,  0x1.4fa51p-2f,
	0x1.546e2cp-2f,  0x1.59416cp-2f,  0x1.5e1edp-2f,   0x1.630664p-2f,  0x1.67f82ap-2f,  0x1.6cf428p-2f,
	0x1.71fa68p-2f,  0x1.770aecp-2f,  0x1.7c25bcp-2f,  0x1.814adcp-2f,  0x1.867a54p-2f,  0x1.8bb428p-2f,
	0x1.90f86p-2f,   0x1.9647p-2f,    0x1.9ba01p-2f,   0x1.a10394p-2f,  0x1.a67192p-2f,  0x1.abea1p-2f,
	0x1.b16d14p-2f,  0x1.b6faa4p-2f,  0x1.bc92c6p-2f,  0x1.c2357ep-2f,  0x1.c7e2d2p-2f,  0x1.cd9acap-2f,
	0x1.d35d6ap-2f,  0x1.d92ab6p-2f,  0x1.df02b8p-2f,  0x1.e4e57p-2f,   0x1.ead2e8p-2f,  0x1.f0cb26p-2f,
	0x1.f6ce2cp-2f,  0x1.fcdcp-2f,    0x1.017a56p-1f,  0x1.048c18p-1f,  0x1.07a34ap-1f,  0x1.0abfeep-1f,
	0x1.0de208p-1f,  0x1.11099ap-1f,  0x1.1436a8p-1f,  0x1.176932p-1f,  0x1.1aa13ep-1f,  0x1.1ddecap-1f,
	0x1.2121dep-1f,  0x1.246a7ap-1f,  0x1.27b8ap-1f,   0x1.2b0c54p-1f,  0x1.2e6598p-1f,  0x1.31c46ep-1f,
	0x1.3528dcp-1f,  0x1.3892ep-1f,   0x1.3c028p-1f,   0x1.3f77bcp-1f,  0x1.42f29ap-1f,  0x1.467318p-1f,
	0x1.49f93ep-1f,  0x1.4d850ap-1f,  0x1.511682p-1f,  0x1.54ada4p-1f,  0x1.584a78p-1f,  0x1.5becfep-1f,
	0x1.5f9538p-1f,  0x1.634328p-1f,  0x1.66f6d4p-1f,  0x1.6ab03ap-1f,  0x1.6e6f6p-1f,   0x1.723448p-1f,
	0x1.75fef4p-1f,  0x1.79cf64p-1f,  0x1.7da59ep-1f,  0x1.8181a4p-1f,  0x1.856378p-1f,  0x1.894b1cp-1f,
	0x1.8d3892p-1f,  0x1.912bdep-1f,  0x1.9525p-1f,    0x1.9923fep-1f,  0x1.9d28d8p-1f,  0x1.a13392p-1f,
	0x1.a5442cp-1f,  0x1.a95aacp-1f,  0x1.ad771p-1f,   0x1.b1995ep-1f,  0x1.b5c198p-1f,  0x1.b9efbep-1f,
	0x1.be23d4p-1f,  0x1.c25ddep-1f,  0x1.c69ddcp-1f,  0x1.cae3d2p-1f,  0x1.cf2fcp-1f,   0x1.d381aap-1f,
	0x1.d7d994p-1f,  0x1.dc377ep-1f,  0x1.e09b6ap-1f,  0x1.e5055cp-1f,  0x1.e97556p-1f,  0x1.edeb5cp-1f,
	0x1.f2676cp-1f,  0x1.f6e98cp-1f,  0x1.fb71bcp-1f,  0x1p+0f,
};

static struct format format_of(texture *t)
{
	return formats[t->texel <= DEV_TEXEL_SN16 ? t->texel : DEV_TEXEL_U32];
}

static bool reads_fractions(texture *t)
{
	struct format f = format_of(t);

	return f.is_fraction || (t->to_float && f.one);
}

bool ct_reads_floats(texture *t)
{
	return format_of(t).is_float || reads_fractions(t);
}

bool ct_is_signed_texel(texture *t)
{
	return t->texel == DEV_TEXEL_S8 || t->texel == DEV_TEXEL_S16 || t->texel == DEV_TEXEL_S32;
}

static uint32_t fraction(struct format f, uint32_t v, bool is_srgb)
{
	double c = (f.is_signed ? (double)(int32_t)v : (double)v) / (double)f.one;

	if (is_srgb)
		return f32_bits(srgb[v & 255]);
	return f32_bits((float)(c < -1 ? -1 : c));
}

/* Bytes one by one: descriptors may point to memory of any alignment. */
static uint32_t stored(struct format f, uint64_t address)
{
	const ct_global uint8_t *p = (const ct_global uint8_t *)address;
	uint32_t v = p[0];

	if (f.bytes > 1)
		v |= (uint32_t)p[1] << 8;
	if (f.bytes > 2)
		v |= (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
	if (f.is_signed && f.bytes < 4)
		v = (uint32_t)((int32_t)(v << (32 - 8 * f.bytes)) >> (32 - 8 * f.bytes));
	return v;
}

static uint32_t f32_bits_of_half(uint32_t v)
{
	union {
		uint16_t u;
		_Float16 f;
	} x = {.u = (uint16_t)v};

	return f32_bits((float)x.f);
}

static uint32_t channel(texture *t, uint64_t address, unsigned k)
{
	struct format f = format_of(t);
	uint32_t v = stored(f, address + k * f.bytes);

	if (f.is_float)
		return f.bytes == 2 ? f32_bits_of_half(v) : v;
	if (reads_fractions(t))
		return fraction(f, v, t->srgb && f.bytes == 1 && !f.is_signed && k < 3);
	return v;
}

/* Of channel k: the fourth is 1. */
static uint32_t missing(texture *t, unsigned k)
{
	return k < 3 ? 0 : ct_reads_floats(t) ? 0x3f800000 : 1;
}

struct ct_texel ct_texel_at(texture *t, uint64_t address)
{
	struct ct_texel out;

	for (unsigned k = 0; k < 4; k++)
		out.channel[k] = k < t->channels ? channel(t, address, k) : missing(t, k);
	return out;
}

struct ct_texel ct_border(texture *t)
{
	struct ct_texel out;

	for (unsigned k = 0; k < 4; k++)
		out.channel[k] = k >= t->channels ? missing(t, k)
				 : t->linear      ? 0
						  : ((const ct_global uint32_t *)t->border)[k];
	return out;
}
