// SPDX-License-Identifier: Apache-2.0
// Units of multicast memory: multimem.ld_reduce combines what all GPUs have at an address, multimem.st stores to all of them. Halves go in
// pairs, and their sums are f32 ones until they are rounded.
#include "collectives.h"

static bool is_half(const gpus_shape *s) { return s->bytes == 2; }
static bool is_float(const gpus_shape *s) { return is_half(s) || !strcmp(s->type, "f32"); }

void cj__gpus_load_reduced(const gpus_kernel *k, cj_reg at, cj_reg *words) {
    static const char *const operations[] = {"add", "min", "max"};
    const gpus_shape        *s = &k->s;
    const bool               is_sum_of_halves = is_half(s) && s->combine.op == CJ_COMBINE_SUM;
    const uint32_t           at_once = is_float(s) ? s->words : 1;  // integers have no vectors
    char                     load[64], type[8];
    snprintf(load, sizeof load, "multimem.ld_reduce.global.%s%s", operations[s->combine.op], is_sum_of_halves ? ".acc::f32" : "");
    snprintf(type, sizeof type, is_half(s) ? "%sx2" : "%s", s->type);
    cj_registers(k->f, "b32", "word", s->words, words);
    for (uint32_t w = 0; w < s->words; w += at_once)
        cj__load(k->f, cj_always(), load, type, &words[w], at_once, at, 4 * (int64_t)w);
}

// A store moves bits, of whatever type: f32 is one of which there are vectors.
void cj__gpus_store_to_all(const gpus_kernel *k, cj_reg at, const cj_reg *words) {
    cj__store(k->f, cj_always(), "multimem.st.global", "f32", words, k->s.words, at, 0);
}

cj_status cj__gpus_refuse_multicast(const gpus_shape *s, uint32_t align, bool has_multimem, cj_error *error) {
    if (!s->multicast) return CJ_OK;
    REFUSE_IF(!has_multimem, "memory: multicast takes multimem instructions, which GPUs before sm_90 do not have" CJ_HINT "choose registered, or mail");
    REFUSE_IF(!strcmp(s->type, "f32") && s->combine.op != CJ_COMBINE_SUM,
              "combine: multimem.ld_reduce has sums of f32, and no %s" CJ_HINT "choose memory=registered, or a type of 16 bits or integers",
              s->combine.op == CJ_COMBINE_MIN ? "min" : "max");
    const uint64_t odd = ((uint64_t)s->count | s->stride) * s->bytes % 4;
    REFUSE_IF(odd, "count: multimem instructions move words of 4 bytes, and %u elements of %u bytes are no whole number of them" CJ_HINT
              "make count and stride even, or choose memory=registered", s->count, s->bytes);
    REFUSE_IF(align < 4, "align: multimem instructions move words of 4 bytes, and %u bytes are less" CJ_HINT "choose 4 or more, or memory=registered",
              align);
    return CJ_OK;
}
