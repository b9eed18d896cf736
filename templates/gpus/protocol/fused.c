// SPDX-License-Identifier: Apache-2.0
#include "fused.h"

gpus_unit cj__gpus_unit(uint64_t dtype, uint64_t align, uint64_t multiples) {
    static const char *const types[] = {"f32", "f16", "bf16"};
    gpus_unit                u = {.type = types[dtype], .bytes = dtype ? 2 : 4, .words = 1, .each = 1};
    if (align || multiples * u.bytes % 16) return u;
    u.words = GPUS_WORDS;
    u.each = 16 / u.bytes;
    return u;
}

uint32_t cj__gpus_unit_bytes(const gpus_unit *u) { return u->each * u->bytes; }
uint32_t cj__gpus_message_bytes(const gpus_unit *u) { return u->words * CJ_MAIL_BYTES; }

static bool is_half(const gpus_unit *u) { return u->bytes == 2; }

// ---- elements

void cj__gpus_load_unit(cj_func *f, const gpus_unit *u, cj_reg when, const char *load, cj_reg at, uint32_t offset,
                        const cj_reg *words) {
    if (u->each > 1 || !is_half(u)) {
        cj__load(f, when, load, "b32", words, u->words, at, offset);
        return;
    }
    cj_reg half = cj_register(f, "b16", "half"), none = cj_let(f, "b16", "none", "mov.b16 $1, 0;", half);
    cj_ptx(f, "mov.b16 $1, 0;", half);
    cj__load(f, when, load, "b16", &half, 1, at, offset);
    cj_ptx(f, "@$1 mov.b32 $2, {$3, $4};", when, words[0], half, none);
}

void cj__gpus_store_unit(cj_func *f, const gpus_unit *u, cj_reg at, uint32_t offset, const cj_reg *words) {
    if (u->each > 1 || !is_half(u)) {
        cj__store(f, cj_always(), "st.global", "b32", words, u->words, at, offset);
        return;
    }
    cj_reg half = cj_let(f, "b16", "half", "cvt.u16.u32 $1, $2;", words[0]);
    cj__store(f, cj_always(), "st.global", "b16", &half, 1, at, offset);
}

void cj__gpus_widen(cj_func *f, const gpus_unit *u, const cj_reg *words, cj_reg number[GPUS_EACH]) {
    for (uint32_t i = 0; i < u->each; i++) number[i] = cj_f32(f, "number");
    for (uint32_t w = 0; w < u->words; w++) {
        if (!is_half(u))
            cj_ptx(f, "mov.b32 $1, $2;", number[w], words[w]);
        else if (u->each == 1)
            cj__half_widen(f, u->type, number[0], words[0]);
        else
            cj__unpack_halves(f, u->type, words[w], number[2 * w], number[2 * w + 1]);
    }
}

void cj__gpus_narrow(const cj_plan *plan, cj_func *f, const gpus_unit *u, const cj_reg *number, const cj_reg *words) {
    for (uint32_t w = 0; w < u->words; w++) {
        if (!is_half(u))
            cj_ptx(f, "mov.b32 $1, $2;", words[w], number[w]);
        else if (u->each == 1)
            cj__pack_halves(plan, f, u->type, words[0], cj_mov(f, "f32", "zero", 0.0f), number[0]);
        else
            cj__pack_halves(plan, f, u->type, words[w], number[2 * w + 1], number[2 * w]);
    }
}
