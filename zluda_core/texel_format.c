/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats of texels: CUarray_format and CUresourceViewFormat (CUDA driver API, data types) to device_texture.h's.
 */
#include "texture.h"

static const struct format_row {
	unsigned format;
	enum dev_texel texel;
	uint8_t channel_bytes;
	uint8_t channels; /* that the format itself fixes, 0 = 1, 2 or 4 */
} formats[] = {
	{CU_AD_FORMAT_UNSIGNED_INT8, DEV_TEXEL_U8, 1, 0},
	{CU_AD_FORMAT_UNSIGNED_INT16, DEV_TEXEL_U16, 2, 0},
	{CU_AD_FORMAT_UNSIGNED_INT32, DEV_TEXEL_U32, 4, 0},
	{CU_AD_FORMAT_SIGNED_INT8, DEV_TEXEL_S8, 1, 0},
	{CU_AD_FORMAT_SIGNED_INT16, DEV_TEXEL_S16, 2, 0},
	{CU_AD_FORMAT_SIGNED_INT32, DEV_TEXEL_S32, 4, 0},
	{CU_AD_FORMAT_HALF, DEV_TEXEL_F16, 2, 0},
	{CU_AD_FORMAT_FLOAT, DEV_TEXEL_F32, 4, 0},
	{CU_AD_FORMAT_UNORM_INT8X1, DEV_TEXEL_UN8, 1, 1},
	{CU_AD_FORMAT_UNORM_INT8X2, DEV_TEXEL_UN8, 1, 2},
	{CU_AD_FORMAT_UNORM_INT8X4, DEV_TEXEL_UN8, 1, 4},
	{CU_AD_FORMAT_UNORM_INT16X1, DEV_TEXEL_UN16, 2, 1},
	{CU_AD_FORMAT_UNORM_INT16X2, DEV_TEXEL_UN16, 2, 2},
	{CU_AD_FORMAT_UNORM_INT16X4, DEV_TEXEL_UN16, 2, 4},
	{CU_AD_FORMAT_SNORM_INT8X1, DEV_TEXEL_SN8, 1, 1},
	{CU_AD_FORMAT_SNORM_INT8X2, DEV_TEXEL_SN8, 1, 2},
	{CU_AD_FORMAT_SNORM_INT8X4, DEV_TEXEL_SN8, 1, 4},
	{CU_AD_FORMAT_SNORM_INT16X1, DEV_TEXEL_SN16, 2, 1},
	{CU_AD_FORMAT_SNORM_INT16X2, DEV_TEXEL_SN16, 2, 2},
	{CU_AD_FORMAT_SNORM_INT16X4, DEV_TEXEL_SN16, 2, 4},
};

/* Formats that exist and are not implemented: block-compressed ones, those of video, packed ones. */
static const struct format_name {
	unsigned first, last;
	const char *what;
} refused[] = {
	{CU_AD_FORMAT_BC1_UNORM, CU_AD_FORMAT_BC7_UNORM_SRGB, "block-compressed"},
	{CU_AD_FORMAT_P010, CU_AD_FORMAT_Y410, "video"},
	{CU_AD_FORMAT_NV12, CU_AD_FORMAT_YUV444_16bit_SemiPlanar, "video"},
	{CU_AD_FORMAT_UNORM_INT_101010_2, CU_AD_FORMAT_UNORM_INT_101010_2, "10 bits a channel"},
};

CUresult texel_format_find(CUarray_format format, unsigned channels, struct texel_format *out)
{
	for (unsigned i = 0; i < ARRAY_SIZE(formats); i++) {
		const struct format_row *f = &formats[i];

		if (f->format != (unsigned)format)
			continue;
		if (f->channels ? channels != f->channels : channels != 1 && channels != 2 && channels != 4)
			return CUDA_ERROR_INVALID_VALUE;
		*out = (struct texel_format){f->texel, channels, f->channel_bytes};
		return CUDA_SUCCESS;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(refused); i++) {
		if ((unsigned)format < refused[i].first || (unsigned)format > refused[i].last)
			continue;
		say("arrays of format 0x%x (%s) are not supported", (unsigned)format, refused[i].what);
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

/* CU_RES_VIEW_FORMAT_UINT_1X8 to FLOAT_4X32 run through the kinds, 1, 2 and 4 channels of each. */
CUresult texel_format_of_view(CUresourceViewFormat format, struct texel_format *out)
{
	static const struct {
		enum dev_texel texel;
		unsigned bytes;
	} kinds[] = {{DEV_TEXEL_U8, 1},  {DEV_TEXEL_S8, 1},  {DEV_TEXEL_U16, 2}, {DEV_TEXEL_S16, 2},
		     {DEV_TEXEL_U32, 4}, {DEV_TEXEL_S32, 4}, {DEV_TEXEL_F16, 2}, {DEV_TEXEL_F32, 4}};
	unsigned k = (unsigned)format - CU_RES_VIEW_FORMAT_UINT_1X8;

	if (k / 3 < ARRAY_SIZE(kinds)) {
		*out = (struct texel_format){kinds[k / 3].texel, 1u << k % 3, kinds[k / 3].bytes};
		return CUDA_SUCCESS;
	}
	if (format < CU_RES_VIEW_FORMAT_UNSIGNED_BC1 || format > CU_RES_VIEW_FORMAT_UNSIGNED_BC7)
		return CUDA_ERROR_INVALID_VALUE;
	say("resource views of block-compressed formats are not supported");
	return CUDA_ERROR_NOT_SUPPORTED;
}
