// SPDX-License-Identifier: Apache-2.0
// Reads and writes registers that may be wider than the types of a conversion.
#include "convert.h"

void cj__cpu_read_integers(const cj_cpu_warp *w, const cj_cpu_op *op, int64_t value[CJ_LANES]) {
    const cj_cpu_convert *convert = op->convert;
    const unsigned        unused = 64u - convert->from_bits;
    if (convert->from_register == 64) {
        CJ_EVERY_LANE(i) value[i] = CJ_LANES_OF(const lane_s64, 1)[i];
    } else if (convert->from_register == 32) {
        CJ_EVERY_LANE(i) value[i] = CJ_LANES_OF(const lane_s32, 1)[i];
    } else {
        CJ_EVERY_LANE(i) value[i] = CJ_LANES_OF(const lane_s16, 1)[i];
    }
    if (convert->from_signed) {
        CJ_EVERY_LANE(i) value[i] = (int64_t)((uint64_t)value[i] << unused) >> unused;
    } else {
        CJ_EVERY_LANE(i) value[i] = (int64_t)((uint64_t)value[i] << unused >> unused);
    }
}

void cj__cpu_write_integers(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, int64_t value[CJ_LANES]) {
    const cj_cpu_convert *convert = op->convert;
    const unsigned        unused = 64u - convert->to_bits;
    if (convert->to_signed) {
        CJ_EVERY_LANE(i) value[i] = (int64_t)((uint64_t)value[i] << unused) >> unused;
    } else {
        CJ_EVERY_LANE(i) value[i] = (int64_t)((uint64_t)value[i] << unused >> unused);
    }
    if (convert->to_register == 64) {
        CJ_EACH_LANE(i, mask, { CJ_LANES_OF(lane_s64, 0)[i] = value[i]; });
    } else if (convert->to_register == 32) {
        CJ_EACH_LANE(i, mask, { CJ_LANES_OF(lane_s32, 0)[i] = (int32_t)value[i]; });
    } else {
        CJ_EACH_LANE(i, mask, { CJ_LANES_OF(lane_s16, 0)[i] = (int16_t)value[i]; });
    }
}

void cj__cpu_read_floats(const cj_cpu_warp *w, const cj_cpu_op *op, double value[CJ_LANES]) {
    const cj_cpu_convert *convert = op->convert;
    if (convert->from_bits == 64) {
        CJ_EVERY_LANE(i) value[i] = CJ_LANES_OF(const lane_f64, 1)[i];
    } else if (convert->from == CJ_W_F16) {
        CJ_EVERY_LANE(i) value[i] = (double)cj__f16_to_f32(CJ_LANES_OF(const lane_u16, 1)[i]);
    } else if (convert->from == CJ_W_BF16) {
        CJ_EVERY_LANE(i) value[i] = (double)cj__bf16_to_f32(CJ_LANES_OF(const lane_u16, 1)[i]);
    } else {
        CJ_EVERY_LANE(i) value[i] = (double)CJ_LANES_OF(const lane_f32, 1)[i];
    }
    if (convert->flush && convert->from_bits < 64) {
        CJ_EVERY_LANE(i) value[i] = fabs(value[i]) < (double)FLT_MIN ? copysign(0.0, value[i]) : value[i];
    }
}
