// SPDX-License-Identifier: Apache-2.0
// The shadow finds in an access of many lanes at once what it finds lane by lane: for random accesses of warps that random
// barriers order.
#include <string.h>

#include "shadow.h"
#include "test.h"

enum { WARPS = 6, BLOCKS = 2, AGENTS = WARPS * BLOCKS, BYTES = 3000, LANES = 32, STEPS = 400, RUNS = 60, FOUND = 4096 };

// What was found: the lanes, whether the place was never written, and the place.
typedef struct finding {
    uint32_t mask, is_unwritten;
    uint64_t offset;
} finding;

// Two shadows see the same accesses: [0] lane by lane, [1] at once where it can.
typedef struct rig {
    cj_shadow     *shadow[2];
    cj_clock      *now[AGENTS];
    uint32_t       time[AGENTS];
    cj_shadow_memo memo[AGENTS][CJ_SHADOW_MEMOS];
    finding        found[2][FOUND];
    size_t         count[2], total;
    uint64_t       random;
} rig;

static uint32_t below(rig *r, uint32_t limit) { return (uint32_t)(cj_test_random(&r->random) % limit); }

static rig *judged;
static int  which;

static cj_verdict judge(void *user, const cj_accessor *a, const cj_access *earlier, uint64_t offset, uint64_t bytes) {
    (void)user;
    (void)bytes;
    if (judged->count[which] < FOUND)
        judged->found[which][judged->count[which]++] = (finding){a->access.mask, !earlier, offset};
    return CJ_VERDICT_REPORTED;
}

// Some warps wait for each other: each learns what all of them did.
static void join(rig *r, uint32_t warps) {
    cj_clock *all = NULL;
    for (uint32_t i = 0; i < AGENTS; i++) {
        if (!(warps >> i & 1)) continue;
        const cj_agents self = {
            .block = i / WARPS, .group = (uint16_t)(i % WARPS), .warps = WARPS, .mask = UINT32_MAX, .whole = true};
        cj__clock_join(&all, r->now[i]);
        cj__clock_add(&all, CJ_VIEW_MEMORY, self, r->time[i]++);
    }
    for (uint32_t i = 0; i < AGENTS; i++) {
        if (!(warps >> i & 1)) continue;
        memset(r->memo[i], 0, sizeof r->memo[i]);
        cj__clock_join(&r->now[i], all);
    }
    cj__clock_drop(all);
}

static void access_by(rig *r, int at, cj_accessor a, uint32_t lanes, bool together, uint64_t offset, uint64_t bytes) {
    which = at;
    if (at && (together ? cj__shadow_read_together(r->shadow[1], &a, lanes, offset, bytes)
                        : cj__shadow_side_by_side(r->shadow[1], &a, lanes, offset, bytes)))
        return;
    const unsigned first = (unsigned)__builtin_ctz(lanes);
    for (unsigned i = first; i < LANES && lanes >> i & 1; i++) {
        a.access.mask = 1u << i;
        cj__shadow_access(r->shadow[at], &a, offset + (together ? 0 : (i - first) * bytes), bytes, judge, NULL);
    }
}

static cj_accessor accessor_of(rig *r, uint32_t warp, uint32_t op, cj_watch_use use) {
    return (cj_accessor){.access = {.block = warp / WARPS,
                                    .group = (uint16_t)(warp % WARPS),
                                    .time = r->time[warp],
                                    .op = op,
                                    .use = use},
                         .now = r->now[warp],
                         .memo = r->memo[warp],
                         .proxy = CJ_VIEW_SHARED,
                         .ranks = BLOCKS};
}

static void compare_found(rig *r) {
    assert_int_equal(r->count[0], r->count[1]);
    assert_memory_equal(r->found[0], r->found[1], r->count[0] * sizeof(finding));
    r->total += r->count[0];
    r->count[0] = r->count[1] = 0;
}

// Atomics of a warp to random words, few of them or many, mostly of one scope.
static void draw_atomics(rig *r, uint32_t op) {
    const uint32_t warp = below(r, AGENTS), words = below(r, 2) ? 40 : BYTES / 4, lanes = below(r, UINT32_MAX) | 1;
    const uint8_t  scope = below(r, 6) ? CJ_SCOPE_GPU : CJ_SCOPE_CTA;
    uint64_t       address[LANES];
    cj_accessor    a = accessor_of(r, warp, op, (cj_watch_use){.flags = CJ_USE_READ | CJ_USE_WRITE, .scope = scope});
    for (unsigned i = 0; i < LANES; i++) address[i] = 4 * below(r, words);
    for (which = 0; which < 2; which++) {
        const uint32_t left = which ? cj__shadow_atomics(r->shadow[1], &a, lanes, address, 0, 4) : lanes;
        for (unsigned i = 0; i < LANES; i++) {
            a.access.mask = 1u << i;
            if (left >> i & 1) cj__shadow_access(r->shadow[which], &a, address[i], 4, judge, NULL);
        }
    }
    compare_found(r);
}

static void draw_access(rig *r, uint32_t op) {
    const uint32_t warp = below(r, AGENTS), first = below(r, 4) ? 0 : below(r, LANES);
    const uint32_t last = below(r, 4) ? LANES - 1 : first + below(r, LANES - first);
    const bool     reads = below(r, 3), together = reads && !below(r, 4), is_strong = !below(r, 12);
    const uint64_t bytes = 1u << below(r, 5), all = bytes * (together ? 1 : last - first + 1);
    const uint64_t offset = below(r, (uint32_t)((BYTES - all) / bytes)) * bytes &
                            (below(r, 2) ? ~UINT64_C(0) : ~(32 * bytes - 1));
    cj_accessor a = accessor_of(r, warp, op,
                                (cj_watch_use){.flags = reads ? CJ_USE_READ : CJ_USE_WRITE,
                                               .scope = is_strong ? (uint8_t)below(r, 5) : CJ_SCOPE_WEAK});
    for (int at = 0; at < 2; at++)
        access_by(r, at, a, UINT32_MAX << first & UINT32_MAX >> (LANES - 1 - last), together, offset, bytes);
    compare_found(r);
}

static void lanes_at_once_find_what_they_find_one_by_one(void **state) {
    static rig r;
    size_t     total = 0;
    uint64_t   random = cj_test_seed();
    (void)state;
    for (unsigned run = 0; run < RUNS; run++) {
        r = (rig){.shadow = {cj__shadow_new(BYTES, NULL), cj__shadow_new(BYTES, NULL)},
                  .random = cj_test_random(&random)};
        judged = &r;
        for (unsigned i = 0; i < AGENTS; i++) r.time[i] = 1;
        for (uint32_t step = 0; step < STEPS; step++) {
            if (below(&r, 3) == 0)
                join(&r, below(&r, 2) ? UINT32_MAX >> (LANES - AGENTS) : below(&r, 1u << AGENTS));
            else if (run % 2 && below(&r, 2))
                draw_atomics(&r, step);
            else
                draw_access(&r, step);
        }
        for (unsigned i = 0; i < AGENTS; i++) cj__clock_drop(r.now[i]);
        for (unsigned i = 0; i < 2; i++) cj__shadow_free(r.shadow[i]);
        total += r.total;
    }
    assert_true(total > RUNS);
}

// All lanes read one word; then they write a row of words, side by side: each lane's write to that word is the others' race.
static void lanes_write_over_what_they_read_together(void **state) {
    static rig r;
    (void)state;
    r = (rig){.shadow = {NULL, cj__shadow_new(BYTES, NULL)}};
    r.time[0] = 1;
    cj_accessor write = accessor_of(&r, 0, 1, (cj_watch_use){.flags = CJ_USE_WRITE});
    assert_true(cj__shadow_side_by_side(r.shadow[1], &write, UINT32_MAX, 0, 4));
    join(&r, 1);
    cj_accessor read = accessor_of(&r, 0, 2, (cj_watch_use){.flags = CJ_USE_READ});
    assert_true(cj__shadow_read_together(r.shadow[1], &read, UINT32_MAX, 0, 4));
    write = accessor_of(&r, 0, 3, (cj_watch_use){.flags = CJ_USE_WRITE});
    assert_false(cj__shadow_side_by_side(r.shadow[1], &write, UINT32_MAX, 0, 4));
    cj__clock_drop(r.now[0]);
    cj__shadow_free(r.shadow[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lanes_at_once_find_what_they_find_one_by_one),
                                       cmocka_unit_test(lanes_write_over_what_they_read_together)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
