/* SPDX-License-Identifier: Apache-2.0
 *
 * Names: the instruction lists of the ISA documents (CDNA 2, CDNA 3, RDNA 2, 3, 3.5, 4).
 */
#include "zluda_core/amdgpu_emulator/mnemonic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const aliases[][2] = {
	{"s_add_co_ci_u32", "s_addc_u32"},
	{"s_add_co_i32", "s_add_i32"},
	{"s_add_co_u32", "s_add_u32"},
	{"s_add_nc_u64", "s_add_u64"},
	{"s_addk_co_i32", "s_addk_i32"},
	{"s_andn1_saveexec_b64", "s_and_not0_saveexec_b64"},
	{"s_andn1_saveexec_b32", "s_and_not0_saveexec_b32"},
	{"s_andn1_wrexec_b32", "s_and_not0_wrexec_b32"},
	{"s_andn1_wrexec_b64", "s_and_not0_wrexec_b64"},
	{"s_andn2_b32", "s_and_not1_b32"},
	{"s_andn2_b64", "s_and_not1_b64"},
	{"s_andn2_saveexec_b32", "s_and_not1_saveexec_b32"},
	{"s_andn2_saveexec_b64", "s_and_not1_saveexec_b64"},
	{"s_andn2_wrexec_b32", "s_and_not1_wrexec_b32"},
	{"s_andn2_wrexec_b64", "s_and_not1_wrexec_b64"},
	{"s_ff1_i32_b32", "s_ctz_i32_b32"},
	{"s_ff1_i32_b64", "s_ctz_i32_b64"},
	{"s_flbit_i32", "s_cls_i32"},
	{"s_flbit_i32_b32", "s_clz_i32_u32"},
	{"s_flbit_i32_b64", "s_clz_i32_u64"},
	{"s_flbit_i32_i64", "s_cls_i32_i64"},
	{"s_max_num_f16", "s_max_f16"},
	{"s_max_num_f32", "s_max_f32"},
	{"s_min_num_f16", "s_min_f16"},
	{"s_min_num_f32", "s_min_f32"},
	{"s_orn1_saveexec_b32", "s_or_not0_saveexec_b32"},
	{"s_orn1_saveexec_b64", "s_or_not0_saveexec_b64"},
	{"s_orn2_b32", "s_or_not1_b32"},
	{"s_orn2_b64", "s_or_not1_b64"},
	{"s_orn2_saveexec_b32", "s_or_not1_saveexec_b32"},
	{"s_orn2_saveexec_b64", "s_or_not1_saveexec_b64"},
	{"s_sub_co_ci_u32", "s_subb_u32"},
	{"s_sub_co_i32", "s_sub_i32"},
	{"s_sub_co_u32", "s_sub_u32"},
	{"s_sub_nc_u64", "s_sub_u64"},
	{"v_accvgpr_read", "v_accvgpr_read_b32"},
	{"v_accvgpr_write", "v_accvgpr_write_b32"},
	{"v_add_co_ci_u32", "v_addc_co_u32"},
	{"v_add_nc_i16", "v_add_i16"},
	{"v_add_nc_i32", "v_add_i32"},
	{"v_add_nc_u16", "v_add_u16"},
	{"v_add_nc_u32", "v_add_u32"},
	{"v_cvt_flr_i32_f32", "v_cvt_floor_i32_f32"},
	{"v_cvt_pkrtz_f16_f32", "v_cvt_pk_rtz_f16_f32"},
	{"v_cvt_pknorm_i16_f16", "v_cvt_pk_norm_i16_f16"},
	{"v_cvt_pknorm_i16_f32", "v_cvt_pk_norm_i16_f32"},
	{"v_cvt_pknorm_u16_f16", "v_cvt_pk_norm_u16_f16"},
	{"v_cvt_pknorm_u16_f32", "v_cvt_pk_norm_u16_f32"},
	{"v_cvt_rpi_i32_f32", "v_cvt_nearest_i32_f32"},
	{"v_dot2acc_f32_f16", "v_dot2c_f32_f16"},
	{"v_ffbh_i32", "v_cls_i32"},
	{"v_ffbh_u32", "v_clz_i32_u32"},
	{"v_ffbl_b32", "v_ctz_i32_b32"},
	{"v_fma_legacy_f32", "v_fma_dx9_zero_f32"},
	{"v_fmac_legacy_f32", "v_fmac_dx9_zero_f32"},
	{"v_mad_co_i64_i32", "v_mad_i64_i32"},
	{"v_mad_co_u64_u32", "v_mad_u64_u32"},
	{"v_max3_num_f16", "v_max3_f16"},
	{"v_max3_num_f32", "v_max3_f32"},
	{"v_max_num_f16", "v_max_f16"},
	{"v_max_num_f32", "v_max_f32"},
	{"v_max_num_f64", "v_max_f64"},
	{"v_maxmin_num_f16", "v_maxmin_f16"},
	{"v_maxmin_num_f32", "v_maxmin_f32"},
	{"v_med3_num_f16", "v_med3_f16"},
	{"v_med3_num_f32", "v_med3_f32"},
	{"v_min3_num_f16", "v_min3_f16"},
	{"v_min3_num_f32", "v_min3_f32"},
	{"v_min_num_f16", "v_min_f16"},
	{"v_min_num_f32", "v_min_f32"},
	{"v_min_num_f64", "v_min_f64"},
	{"v_minmax_num_f16", "v_minmax_f16"},
	{"v_minmax_num_f32", "v_minmax_f32"},
	{"v_mul_legacy_f32", "v_mul_dx9_zero_f32"},
	{"v_pk_max_num_f16", "v_pk_max_f16"},
	{"v_pk_min_num_f16", "v_pk_min_f16"},
	{"v_s_exp_f32", "v_exp_f32"},
	{"v_s_exp_f16", "v_exp_f16"},
	{"v_s_log_f32", "v_log_f32"},
	{"v_s_log_f16", "v_log_f16"},
	{"v_s_rcp_f32", "v_rcp_f32"},
	{"v_s_rcp_f16", "v_rcp_f16"},
	{"v_s_rsq_f32", "v_rsq_f32"},
	{"v_s_rsq_f16", "v_rsq_f16"},
	{"v_s_sqrt_f32", "v_sqrt_f32"},
	{"v_s_sqrt_f16", "v_sqrt_f16"},
	{"v_sub_co_ci_u32", "v_subb_co_u32"},
	{"v_sub_nc_i16", "v_sub_i16"},
	{"v_sub_nc_i32", "v_sub_i32"},
	{"v_sub_nc_u16", "v_sub_u16"},
	{"v_sub_nc_u32", "v_sub_u32"},
	{"v_subrev_co_ci_u32", "v_subbrev_co_u32"},
	{"v_subrev_nc_u32", "v_subrev_u32"},
	{"s_endpgm_saved", "s_endpgm"},
};

static bool take_suffix(char *name, const char *suffix)
{
	size_t n = strlen(name), s = strlen(suffix);

	if (n <= s || strcmp(name + n - s, suffix))
		return false;
	name[n - s] = 0;
	return true;
}

static void take_prefix(char *name, const char *prefix, const char *by, bool *seen)
{
	char rest[64];

	if (strncmp(name, prefix, strlen(prefix)))
		return;
	*seen = true;
	snprintf(rest, sizeof rest, "%s", name + strlen(prefix));
	snprintf(name, 64, "%s%.50s", by, rest);
}

static void to_common_name(char *name)
{
	char *tru = strstr(name, "_tru_");

	if (!strncmp(name, "v_cmp", 5) && tru)
		memmove(tru + 2, tru + 4, strlen(tru + 4) + 1);
	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
		if (!strcmp(name, aliases[i][0])) {
			snprintf(name, 64, "%s", aliases[i][1]);
			return;
		}
	}
}

void mnemonic_read(struct mnemonic *m, const char *text, size_t bytes)
{
	memset(m, 0, sizeof *m);
	snprintf(m->name, sizeof m->name, "%.*s", (int)(bytes < 60 ? bytes : 60), text);
	if (take_suffix(m->name, "_sdwa"))
		m->sdwa = true;
	if (take_suffix(m->name, "_dpp"))
		m->dpp = true;
	if (!take_suffix(m->name, "_e64"))
		take_suffix(m->name, "_e32");
	take_prefix(m->name, "v_dual_", "v_", &m->dual);
	take_prefix(m->name, "v_cmpx_", "v_cmp_", &m->exec_too);
	to_common_name(m->name);
}

/* ---- memory */

struct width {
	const char *name;
	uint8_t bytes, half;
	bool sign;
};

/* Both generations of names. */
static const struct width widths[] = {
	{"dword", 4, 0, false},
	{"dwordx2", 8, 0, false},
	{"dwordx3", 12, 0, false},
	{"dwordx4", 16, 0, false},
	{"dwordx8", 32, 0, false},
	{"dwordx16", 64, 0, false},
	{"b32", 4, 0, false},
	{"b64", 8, 0, false},
	{"b96", 12, 0, false},
	{"b128", 16, 0, false},
	{"b256", 32, 0, false},
	{"b512", 64, 0, false},
	{"ubyte", 1, 0, false},
	{"sbyte", 1, 0, true},
	{"ushort", 2, 0, false},
	{"sshort", 2, 0, true},
	{"byte", 1, 0, false},
	{"short", 2, 0, false},
	{"u8", 1, 0, false},
	{"i8", 1, 0, true},
	{"u16", 2, 0, false},
	{"i16", 2, 0, true},
	{"b8", 1, 0, false},
	{"b16", 2, 0, false},
	{"ubyte_d16", 1, HALF_LOW, false},
	{"ubyte_d16_hi", 1, HALF_HIGH, false},
	{"sbyte_d16", 1, HALF_LOW, true},
	{"sbyte_d16_hi", 1, HALF_HIGH, true},
	{"short_d16", 2, HALF_LOW, false},
	{"short_d16_hi", 2, HALF_HIGH, false},
	{"byte_d16_hi", 1, HALF_HIGH, false},
	{"d16_u8", 1, HALF_LOW, false},
	{"d16_hi_u8", 1, HALF_HIGH, false},
	{"d16_i8", 1, HALF_LOW, true},
	{"d16_hi_i8", 1, HALF_HIGH, true},
	{"d16_b16", 2, HALF_LOW, false},
	{"d16_hi_b16", 2, HALF_HIGH, false},
	{"d16_hi_b8", 1, HALF_HIGH, false},
	{"u8_d16", 1, HALF_LOW, false},
	{"u8_d16_hi", 1, HALF_HIGH, false},
	{"i8_d16", 1, HALF_LOW, true},
	{"i8_d16_hi", 1, HALF_HIGH, true},
	{"u16_d16", 2, HALF_LOW, false},
	{"u16_d16_hi", 2, HALF_HIGH, false},
	{"b8_d16_hi", 1, HALF_HIGH, false},
	{"b16_d16_hi", 2, HALF_HIGH, false},
};

struct atomic_name {
	const char *name;
	uint8_t op, bytes;
};

/* Flat and buffer atomics: CDNA and RDNA 2 first, RDNA 3 and 4 after; LDS's names are in both. */
static const struct atomic_name atomics[] = {
	{"swap", AT_SWAP, 4},
	{"cmpswap", AT_CMPSWAP, 4},
	{"add", AT_ADD, 4},
	{"sub", AT_SUB, 4},
	{"smin", AT_SMIN, 4},
	{"umin", AT_UMIN, 4},
	{"smax", AT_SMAX, 4},
	{"umax", AT_UMAX, 4},
	{"and", AT_AND, 4},
	{"or", AT_OR, 4},
	{"xor", AT_XOR, 4},
	{"inc", AT_INC, 4},
	{"dec", AT_DEC, 4},
	{"csub", AT_CSUB, 4},
	{"fmin", AT_FMIN, 4},
	{"fmax", AT_FMAX, 4},
	{"fcmpswap", AT_FCMPSWAP, 4},
	{"swap_x2", AT_SWAP, 8},
	{"cmpswap_x2", AT_CMPSWAP, 8},
	{"add_x2", AT_ADD, 8},
	{"sub_x2", AT_SUB, 8},
	{"smin_x2", AT_SMIN, 8},
	{"umin_x2", AT_UMIN, 8},
	{"smax_x2", AT_SMAX, 8},
	{"umax_x2", AT_UMAX, 8},
	{"and_x2", AT_AND, 8},
	{"or_x2", AT_OR, 8},
	{"xor_x2", AT_XOR, 8},
	{"inc_x2", AT_INC, 8},
	{"dec_x2", AT_DEC, 8},
	{"fmin_x2", AT_FMIN, 8},
	{"fmax_x2", AT_FMAX, 8},
	{"fcmpswap_x2", AT_FCMPSWAP, 8},
	{"swap_b32", AT_SWAP, 4},
	{"swap_b64", AT_SWAP, 8},
	{"cmpswap_b32", AT_CMPSWAP, 4},
	{"cmpswap_b64", AT_CMPSWAP, 8},
	{"cmpswap_f32", AT_FCMPSWAP, 4},
	{"add_u32", AT_ADD, 4},
	{"add_u64", AT_ADD, 8},
	{"sub_u32", AT_SUB, 4},
	{"sub_u64", AT_SUB, 8},
	{"rsub_u32", AT_RSUB, 4},
	{"rsub_u64", AT_RSUB, 8},
	{"min_i32", AT_SMIN, 4},
	{"min_i64", AT_SMIN, 8},
	{"min_u32", AT_UMIN, 4},
	{"min_u64", AT_UMIN, 8},
	{"max_i32", AT_SMAX, 4},
	{"max_i64", AT_SMAX, 8},
	{"max_u32", AT_UMAX, 4},
	{"max_u64", AT_UMAX, 8},
	{"and_b32", AT_AND, 4},
	{"and_b64", AT_AND, 8},
	{"or_b32", AT_OR, 4},
	{"or_b64", AT_OR, 8},
	{"xor_b32", AT_XOR, 4},
	{"xor_b64", AT_XOR, 8},
	{"inc_u32", AT_INC, 4},
	{"inc_u64", AT_INC, 8},
	{"dec_u32", AT_DEC, 4},
	{"dec_u64", AT_DEC, 8},
	{"csub_u32", AT_CSUB, 4},
	{"sub_clamp_u32", AT_CSUB, 4},
	{"cond_sub_u32", AT_COND_SUB, 4},
	{"add_f32", AT_FADD, 4},
	{"add_f64", AT_FADD, 8},
	{"min_f32", AT_FMIN, 4},
	{"min_f64", AT_FMIN, 8},
	{"max_f32", AT_FMAX, 4},
	{"max_f64", AT_FMAX, 8},
	{"min_num_f32", AT_FMIN_NUM, 4},
	{"min_num_f64", AT_FMIN_NUM, 8},
	{"max_num_f32", AT_FMAX_NUM, 4},
	{"max_num_f64", AT_FMAX_NUM, 8},
	{"pk_add_f16", AT_PK_ADD_F16, 4},
	{"pk_add_bf16", AT_PK_ADD_BF16, 4},
	{"mskor_b32", AT_MSKOR, 4},
	{"mskor_b64", AT_MSKOR, 8},
	{"wrap_b32", AT_WRAP, 4},
	{"wrxchg_b32", AT_SWAP, 4},
	{"wrxchg_b64", AT_SWAP, 8},
	{"storexchg_b32", AT_SWAP, 4},
	{"storexchg_b64", AT_SWAP, 8},
	{"cmpst_b32", AT_CMPSWAP, 4},
	{"cmpst_b64", AT_CMPSWAP, 8},
	{"cmpst_f32", AT_FCMPSWAP, 4},
	{"cmpst_f64", AT_FCMPSWAP, 8},
	{"cmpstore_b32", AT_CMPSWAP, 4},
	{"cmpstore_b64", AT_CMPSWAP, 8},
	{"cmpstore_f32", AT_FCMPSWAP, 4},
	{"cmpstore_f64", AT_FCMPSWAP, 8},
};

static bool find_width(const char *name, struct memory_op *out)
{
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
		if (strcmp(widths[i].name, name))
			continue;
		out->bytes = widths[i].bytes;
		out->half = widths[i].half;
		out->sign = widths[i].sign;
		return true;
	}
	return false;
}

static bool find_atomic(const char *name, struct memory_op *out)
{
	for (size_t i = 0; i < sizeof atomics / sizeof *atomics; i++) {
		if (strcmp(atomics[i].name, name))
			continue;
		out->action = ACTION_ATOMIC;
		out->atomic = atomics[i].op;
		out->bytes = atomics[i].bytes;
		return true;
	}
	return false;
}

static const char *skip_word(const char *name, const char *word)
{
	size_t n = strlen(word);

	return strncmp(name, word, n) ? NULL : name + n;
}

/* "2_b32", "2st64_b64", "_2addr_b32", "_2addr_stride64_b64", "_b32" */
static bool lds_width(const char *rest, struct memory_op *out)
{
	const char *p;

	if ((p = skip_word(rest, "2st64_")) || (p = skip_word(rest, "_2addr_stride64_")))
		out->pair = out->stride64 = true;
	else if ((p = skip_word(rest, "2_")) || (p = skip_word(rest, "_2addr_")))
		out->pair = true;
	else if (*rest == '_')
		p = rest + 1;
	else
		return false;
	return find_width(p, out) && (out->pair ? out->bytes == 4 || out->bytes == 8 : out->bytes <= 16);
}

static bool lds_memory(const char *rest, struct memory_op *out)
{
	char name[64];
	const char *p, *rtn;

	out->space = SPACE_LDS;
	if ((p = skip_word(rest, "read")) || (p = skip_word(rest, "load"))) {
		out->action = ACTION_LOAD;
		return lds_width(p, out);
	}
	if (!strncmp(rest, "store", 5) && strncmp(rest, "storexchg", 9)) {
		out->action = ACTION_STORE;
		return lds_width(rest + 5, out);
	}
	if ((p = skip_word(rest, "write"))) {
		out->action = ACTION_STORE;
		return lds_width(p, out);
	}
	rtn = strstr(rest, "_rtn_");
	out->returns = rtn != NULL;
	out->comparand_first = !strncmp(rest, "cmpst_", 6);
	if (rtn)
		snprintf(name, sizeof name, "%.*s%s", (int)(rtn - rest), rest, rtn + 4);
	else
		snprintf(name, sizeof name, "%s", rest);
	return find_atomic(name, out);
}

bool mnemonic_memory(const char *name, struct memory_op *out)
{
	static const struct {
		const char *prefix;
		uint8_t space;
	} spaces[] = {
		{"global_", SPACE_GLOBAL},
		{"flat_", SPACE_FLAT},
		{"scratch_", SPACE_SCRATCH},
		{"buffer_", SPACE_BUFFER},
	};
	const char *p, *q;

	memset(out, 0, sizeof *out);
	if ((p = skip_word(name, "ds_")))
		return lds_memory(p, out);
	if ((p = skip_word(name, "s_load_")) || (q = skip_word(name, "s_buffer_load_"))) {
		out->space = p ? SPACE_SCALAR : SPACE_SCALAR_BUFFER;
		return find_width(p ? p : q, out);
	}
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
		if (!(p = skip_word(name, spaces[i].prefix)))
			continue;
		out->space = spaces[i].space;
		if ((q = skip_word(p, "load_")))
			return find_width(q, out) && out->bytes <= 16;
		if ((q = skip_word(p, "store_"))) {
			out->action = ACTION_STORE;
			return find_width(q, out) && out->bytes <= 16;
		}
		return (q = skip_word(p, "atomic_")) && find_atomic(q, out);
	}
	return false;
}

bool mnemonic_is_nop(const char *name)
{
	static const char *const exact[] = {
		"s_nop",
		"v_nop",
		"s_clause",
		"s_delay_alu",
		"s_sendmsg",
		"s_setprio",
		"s_code_end",
		"s_inst_prefetch",
		"s_set_inst_prefetch_distance",
		"s_icache_inv",
		"s_dcache_inv",
		"s_dcache_wb",
		"s_gl1_inv",
		"s_wakeup",
		"s_wait_idle",
		"s_wait_event",
		"s_version",
		"s_ttracedata",
		"s_ttracedata_imm",
		"s_prefetch_inst",
		"s_prefetch_inst_pc_rel",
		"s_prefetch_data",
		"s_prefetch_data_pc_rel",
		"s_buffer_prefetch_data",
		"buffer_wbl2",
		"buffer_wbinvl1",
		"buffer_wbinvl1_vol",
		"buffer_inv",
		"buffer_invl2",
		"buffer_gl0_inv",
		"buffer_gl1_inv",
		"global_inv",
		"global_wb",
		"global_wbinv",
		"s_incperflevel",
		"s_decperflevel",
		"ds_nop",
		"v_pipeflush",
		"s_dcache_inv_vol",
		"s_dcache_wb_vol",
	};
	static const char *const prefixes[] = {"s_waitcnt", "s_wait_"};

	for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
		if (!strcmp(name, exact[i]))
			return true;
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}
