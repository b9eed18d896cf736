// SPDX-License-Identifier: Apache-2.0
#include "semantics_place.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

// The cell's owner accesses it in the space `plain` through the register `owner`; the instruction uses `reach`, with
// addresses of so many bits.
static const struct {
    const char *setup[4];
    const char *plain, *owner, *reach;
    unsigned    bits;
} places[CJ_PLACE_COUNT] = {
#define GLOBAL "mul.wide.u32 %l0, %thread, 128;", "sub.u64 %l0, %space, %l0;", "mad.wide.u32 %l0, %r0, 128, %l0;"
#define SHARED "mov.u32 %r1, tile;", "mad.lo.u32 %r1, %r0, 48, %r1;"
#define PEER SHARED, "mov.u32 %r2, %cluster_ctarank;\n    xor.b32 %r2, %r2, 1;"
#define LOCAL "mov.u64 %l0, stack;"
    [CJ_PLACE_GLOBAL] = {{GLOBAL}, "global", "%l0", "%l0", 64},
    [CJ_PLACE_SHARED] = {{SHARED}, "shared", "%r1", "%r1", 32},
    [CJ_PLACE_PEER] = {{PEER, "mapa.shared::cluster.u32 %r2, %r1, %r2;"}, "shared", "%r1", "%r2", 32},
    [CJ_PLACE_LOCAL] = {{LOCAL}, "local", "%l0", "%l0", 64},
    [CJ_PLACE_ANY_GLOBAL] = {{GLOBAL, "cvta.global.u64 %l1, %l0;"}, "global", "%l0", "%l1", 64},
    [CJ_PLACE_ANY_SHARED] =
        {{SHARED, "cvt.u64.u32 %l1, %r1;", "cvta.shared.u64 %l1, %l1;"}, "shared", "%r1", "%l1", 64},
    [CJ_PLACE_ANY_PEER] = {{PEER, "cvt.u64.u32 %l1, %r1;\n    cvta.shared.u64 %l1, %l1;\n    mapa.u64 %l1, %l1, %r2;"},
                           "shared",
                           "%r1",
                           "%l1",
                           64},
    [CJ_PLACE_ANY_LOCAL] = {{LOCAL, "cvta.local.u64 %l1, %l0;"}, "local", "%l0", "%l1", 64},
};

static bool has_any(const cj_mnemonic *mnemonic, const cj_word *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (cj__mnemonic_has(mnemonic, words[i])) return true;
    return false;
}

bool cj__place_is_peer(cj_place place) { return place == CJ_PLACE_PEER || place == CJ_PLACE_ANY_PEER; }

// Words that require a generic address to be in global memory; and words that exclude local memory.
static bool is_global_only(const cj_mnemonic *mnemonic) {
    static const cj_word words[] = {CJ_W_MMIO,
                                    CJ_W_L2_CACHE_HINT,
                                    CJ_W_L2_64B,
                                    CJ_W_L2_128B,
                                    CJ_W_L2_256B,
                                    CJ_W_L1_EVICT_NORMAL,
                                    CJ_W_L1_EVICT_UNCHANGED,
                                    CJ_W_L1_EVICT_FIRST,
                                    CJ_W_L1_EVICT_LAST,
                                    CJ_W_L1_NO_ALLOCATE};
    return has_any(mnemonic, words, CJ_TEST_COUNT(words));
}

static bool is_strong(const cj_mnemonic *mnemonic) {
    static const cj_word words[] = {CJ_W_RELAXED, CJ_W_ACQUIRE, CJ_W_RELEASE, CJ_W_VOLATILE};
    return has_any(mnemonic, words, CJ_TEST_COUNT(words));
}

unsigned cj__places_of(const cj_mnemonic *m, bool atomic) {
    if (cj__mnemonic_has(m, CJ_W_GLOBAL)) return 1u << CJ_PLACE_GLOBAL;
    if (cj__mnemonic_has(m, CJ_W_LOCAL)) return 1u << CJ_PLACE_LOCAL;
    if (cj__mnemonic_has(m, CJ_W_SHARED_CLUSTER)) return 1u << CJ_PLACE_PEER;
    if (cj__mnemonic_has(m, CJ_W_SHARED) || cj__mnemonic_has(m, CJ_W_SHARED_CTA)) return 1u << CJ_PLACE_SHARED;
    if (is_global_only(m) || (atomic && m->vector > 1)) return 1u << CJ_PLACE_ANY_GLOBAL;
    const unsigned any = 1u << CJ_PLACE_ANY_GLOBAL | 1u << CJ_PLACE_ANY_SHARED | 1u << CJ_PLACE_ANY_PEER;
    return atomic || is_strong(m) ? any : any | 1u << CJ_PLACE_ANY_LOCAL;
}

void cj__cluster_sync(cj_experiment *e) {
    cj__experiment_line(e, "barrier.cluster.arrive.aligned;");
    cj__experiment_line(e, "barrier.cluster.wait.aligned;");
}

// The cell's words before the instruction, if it has no inputs.
static unsigned long long before(unsigned word) { return 0x9e3779b97f4a7c15 * (word + 1); }

void cj__place_expected(const unsigned char middle[16], uint64_t words[6]) {
    for (unsigned i = 0; i < 6; i++) words[i] = before(i);
    memcpy(&words[2], middle, 16);
}

static void init(cj_experiment *e, cj_place place, cj_word type, unsigned first_input, unsigned count,
                 const char *guard) {
    const unsigned bytes = cj__words[type].bits / 8;
    const char    *plain = places[place].plain, *owner = places[place].owner;
    for (unsigned i = 0; i < CJ_CELL / 8; i++)
        cj__experiment_line(e, "%sst.%s.b64 [%s+%u], 0x%llx;", guard, plain, owner, 8 * i, before(i));
    for (unsigned i = 0; i < count; i++)
        cj__experiment_line(e, "%sst.%s.b%u [%s+%u], %%i%u;", guard, plain, bytes * 8, owner, 16 + i * bytes,
                            first_input + i);
}

// [address + 16], [address], [address - 16].
static void find(cj_experiment *e, cj_place place, unsigned variant, char address[24]) {
    const char    *reach = places[place].reach;
    const unsigned bits = places[place].bits, ahead = variant == CJ_VARIANT_START ? 16 : variant % 3 * 16;
    const char     kind = bits == 64 ? 'l' : 'r';
    cj__experiment_line(e, "add.u%u %%%c8, %s, %u;", bits, kind, reach, variant == CJ_VARIANT_START ? 0 : ahead);
    if (ahead == 16)
        snprintf(address, 24, "[%%%c8]", kind);
    else
        snprintf(address, 24, "[%%%c8+%d]", kind, 16 - (int)ahead);
}

void cj__place_open(cj_experiment *e, cj_place place, bool common, cj_word type, unsigned first_input, unsigned count,
                    unsigned variant, char address[24]) {
    cj__experiment_line(e, "mov.u32 %%r0, %s;", common ? "0" : "%thread");
    for (unsigned i = 0; i < 4 && places[place].setup[i]; i++) cj__experiment_line(e, "%s", places[place].setup[i]);
    if (common) cj__experiment_line(e, "setp.eq.u32 %%p9, %%thread, 0;");
    init(e, place, type, first_input, count, common ? "@%p9 " : "");
    find(e, place, variant, address);
    if (common || cj__place_is_peer(place)) cj__cluster_sync(e);
}

void cj__place_close(cj_experiment *e, cj_place place, bool common) {
    if (common || cj__place_is_peer(place)) cj__cluster_sync(e);
    for (unsigned i = 0; i < CJ_CELL / 8; i++)
        cj__experiment_line(e, "ld.%s.b64 %%o%u, [%s+%u];", places[place].plain, cj__experiment_output(e, CJ_W_B64),
                            places[place].owner, 8 * i);
}
