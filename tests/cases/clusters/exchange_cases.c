// SPDX-License-Identifier: Apache-2.0
#include "exchange_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/exchange_model.h"
#include "test.h"

enum { GUARD = 64, POISON = 0xa5, ALIGN = 16 };

// A problem with its defaults filled in; counts are of elements, but for `bytes` of one.
typedef struct problem {
    const cj_exchange_desc *desc;
    uint32_t                size, groups, shift, halo, rounds, align;
    size_t                  bytes, n, out_n;
} problem;

static problem problem_of(const cj_exchange_desc *d) {
    problem p = {.desc = d,
                 .size = d->size ? d->size : 2,
                 .groups = d->groups ? d->groups : 1,
                 .shift = d->shift ? d->shift : 1,
                 .halo = d->pattern != CJ_EXCHANGE_HALO ? 0
                         : d->halo                      ? d->halo
                                                        : 1,
                 .rounds = d->repeat ? d->repeat : 1,
                 .align = d->align ? d->align : ALIGN,
                 .bytes = cj_dtype_size(d->dtype),
                 .n = d->n};
    p.out_n = p.n + 2u * p.halo;
    return p;
}

static void expect(const problem *p, const unsigned char *x, unsigned char *want) {
    const exchange_model model = {p->desc->pattern, p->size, p->shift, p->rounds, p->n, p->halo};
    for (size_t group = 0; group < p->groups; group++)
        for (uint32_t b = 0; b < p->size; b++)
            for (size_t i = 0; i < p->out_n; i++)
                memcpy(want + ((group * p->size + b) * p->out_n + i) * p->bytes,
                       x + (group * p->size * p->n + exchange_model_source(&model, b, i)) * p->bytes, p->bytes);
}

static void name(const problem *p, char *to, size_t size) {
    static const char *const patterns[] = {"pair", "ring", "halo", "all-to-all"}, *const strategies[] = {"push", "pull",
                                                                                                         "global"};
    snprintf(to, size, "%s %s n=%zu size=%u groups=%u %s shift=%u halo=%u block=%u grid=%u align=%u repeat=%u",
             patterns[p->desc->pattern], strategies[p->desc->strategy], p->n, p->size, p->groups,
             cj_dtype_name(p->desc->dtype), p->shift, p->halo, p->desc->block, p->desc->grid, p->align, p->rounds);
}

static void compare(const problem *p, const unsigned char *got, const unsigned char *want, size_t bytes) {
    char where[200];
    name(p, where, sizeof where);
    for (size_t i = 0; i < GUARD; i++)
        if (got[i] != POISON || got[GUARD + bytes + i] != POISON) fail_msg("%s: written outside of out", where);
    for (size_t i = 0; i < bytes; i++)
        if (got[GUARD + i] != want[i])
            fail_msg("%s: byte %zu of block %zu is %02x, not %02x", where, i % (p->out_n * p->bytes),
                     i / (p->out_n * p->bytes), got[GUARD + i], want[i]);
}

// Without the fields of other patterns, which would be refused.
static cj_exchange_desc of_its_pattern(const cj_exchange_desc *desc) {
    cj_exchange_desc own = *desc;
    if (own.pattern != CJ_EXCHANGE_HALO) own.halo = 0;
    if (own.pattern != CJ_EXCHANGE_RING) own.shift = 0;
    return own;
}

void cj_test_exchange(cj_device *device, const cj_exchange_desc *given) {
    const cj_exchange_desc own = of_its_pattern(given), *const desc = &own;
    const problem p = problem_of(desc);
    const size_t  shift = p.align % ALIGN, chunks = (size_t)p.size * p.groups;
    const size_t  in_bytes = chunks * p.n * p.bytes, out_bytes = chunks * p.out_n * p.bytes,
                 room = out_bytes + 2 * GUARD;
    unsigned char *host = malloc(in_bytes + out_bytes + room), *want = host + in_bytes, *got = want + out_bytes;
    cj_ptr         x = 0, out = 0;
    cj_error       error = {0};
    cj_exchange   *exchange = NULL;
    char           where[200];
    assert_non_null(host);
    uint64_t state = in_bytes;
    for (size_t i = 0; i < in_bytes; i++) host[i] = (unsigned char)cj_test_random(&state);
    expect(&p, host, want);
    name(&p, where, sizeof where);
    if (cj_exchange_create(device, desc, &exchange, &error)) fail_msg("%s: %s %s", where, error.message, error.hint);
    cj_test_ok(cj_mem_alloc(device, in_bytes + ALIGN, &x, &error), &error);
    cj_test_ok(cj_mem_alloc(device, room + ALIGN, &out, &error), &error);
    cj_test_ok(cj_mem_write(device, x + shift, host, in_bytes, NULL, &error), &error);
    for (int time = 0; time < 2; time++) {
        cj_test_ok(cj_mem_fill(device, out, POISON, room + ALIGN, NULL, &error), &error);
        cj_status status = cj_exchange_run(exchange, x + shift, out + GUARD + shift, NULL, &error);
        if (!status) status = cj_mem_read(device, got, out + shift, room, NULL, &error);
        if (status) fail_msg("%s: %s", where, error.message);
        compare(&p, got, want, out_bytes);
    }
    cj_mem_free(device, x);
    cj_mem_free(device, out);
    cj_exchange_destroy(exchange);
    free(host);
}

static uint32_t draw(uint64_t *state, uint32_t least, uint32_t most) {
    return least + (uint32_t)(cj_test_random(state) % (most - least + 1));
}

void cj_test_exchange_random(cj_device *device, uint64_t *state, uint32_t bytes) {
    static const cj_dtype types[] = {CJ_F32, CJ_F64,  CJ_I32, CJ_U32, CJ_I64, CJ_U64,
                                     CJ_F16, CJ_BF16, CJ_I8,  CJ_U8,  CJ_I16, CJ_U16};
    // compute-sanitizer (CUDA 13.0) reports st.async in a cluster of one block as an invalid write.
    const uint32_t        least_size = cj_test_few() ? 2 : 1;
    cj_exchange_desc      d = {CJ_INIT(d),
                               .pattern = (cj_exchange_pattern)draw(state, 0, 3),
                               .strategy = (cj_exchange_strategy)draw(state, 0, 2),
                               .size = draw(state, least_size, 16),
                               .groups = draw(state, 1, 3),
                               .dtype = types[draw(state, 0, CJ_TEST_COUNT(types) - 1)],
                               .shift = draw(state, 1, 15),
                               .repeat = draw(state, 1, 5)};
    const uint32_t        most = bytes / (uint32_t)cj_dtype_size(d.dtype);
    d.n = draw(state, 0, 3) ? draw(state, 1, most) : draw(state, 1, most / 16) * 16;
    if (draw(state, 0, 1)) d.n = draw(state, 1, d.n < 70 ? d.n : 70);
    if (d.pattern == CJ_EXCHANGE_ALL_TO_ALL) d.n = (d.n + d.size - 1) / d.size * d.size;
    d.halo = draw(state, 1, d.n);
    if (draw(state, 0, 1)) d.block = 32 * draw(state, 1, 4);
    if (draw(state, 0, 1)) d.grid = d.size * draw(state, 1, 2);
    if (draw(state, 0, 1))
        for (d.align = (uint32_t)cj_dtype_size(d.dtype); d.align < ALIGN && draw(state, 0, 1);) d.align *= 2;
    cj_test_exchange(device, &d);
}
