// SPDX-License-Identifier: Apache-2.0
#include "half.h"

uint16_t cj__half_sum(uint16_t a, uint16_t b, bool brain) {
    const cj_half_kind k = brain ? CJ_HALF_BF16 : CJ_HALF_F16;
    return cj__half_finished(cj__small_sum((double)cj__half_value(a, k), (double)cj__half_value(b, k)), 0, k);
}

uint16_t cj__half_smaller(uint16_t a, uint16_t b, bool brain) {
    return cj__half_extreme(a, b, 0, brain ? CJ_HALF_BF16 : CJ_HALF_F16);
}
uint16_t cj__half_larger(uint16_t a, uint16_t b, bool brain) {
    return cj__half_extreme(a, b, CJ_HALF_LARGER, brain ? CJ_HALF_BF16 : CJ_HALF_F16);
}
