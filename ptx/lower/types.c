/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/lower/writer.h"

const char *ir_type(enum ptx_type t)
{
	switch (t) {
	case PTX_F16: return "half";
	case PTX_F16X2: return "<2 x half>";
	case PTX_BF16: return "bfloat";
	case PTX_BF16X2: return "<2 x bfloat>";
	case PTX_F32: return "float";
	case PTX_F32X2: return "<2 x float>";
	case PTX_F64: return "double";
	case PTX_U16X2:
	case PTX_S16X2: return "<2 x i16>";
	case PTX_PRED: return "i1";
	case PTX_U2:
	case PTX_S2: return "i2";
	case PTX_U4:
	case PTX_S4: return "i4";
	case PTX_B8:
	case PTX_U8:
	case PTX_S8: return "i8";
	case PTX_B16:
	case PTX_U16:
	case PTX_S16: return "i16";
	case PTX_B32:
	case PTX_U32:
	case PTX_S32: return "i32";
	case PTX_B64:
	case PTX_U64:
	case PTX_S64: return "i64";
	case PTX_B128: return "i128";
	default: return NULL;
	}
}

const char *ir_suffix(enum ptx_type t)
{
	switch (t) {
	case PTX_F16: return "f16";
	case PTX_F16X2: return "v2f16";
	case PTX_BF16: return "bf16";
	case PTX_BF16X2: return "v2bf16";
	case PTX_F32: return "f32";
	case PTX_F32X2: return "v2f32";
	case PTX_F64: return "f64";
	case PTX_U16X2:
	case PTX_S16X2: return "v2i16";
	default: return ir_type(t);
	}
}
