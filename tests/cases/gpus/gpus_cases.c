// SPDX-License-Identifier: Apache-2.0
#include "gpus_cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "models/collective_model.h"
#include "test.h"

static collective_model model_of(const cj_gpus *gpus, const cj_gpus_desc *desc) {
    static const cj_collective_op ops[] = {CJ_COLLECTIVE_ALLREDUCE,  CJ_COLLECTIVE_REDUCE_SCATTER, CJ_COLLECTIVE_ALLGATHER,
                                           CJ_COLLECTIVE_ALL_TO_ALL, CJ_COLLECTIVE_BROADCAST};
    collective_model m = {.op = ops[desc->op],
                          .combine = desc->combine,
                          .dtype = desc->dtype,
                          .cluster = cj_gpus_count(gpus),
                          .count = (uint32_t)desc->count,
                          .root = desc->root,
                          .rounds = 1,
                          .in_order = desc->memory == CJ_GPUS_MEMORY_MULTICAST};
    cj_collective_parts(m.op, m.cluster, &m.gives, &m.gets);
    return m;
}

static void compare(cj_gpus *gpus, const collective_model *m, const cj_gpus_desc *desc, const cj_ptr *out, size_t bytes,
                    const unsigned char *want, unsigned char *got) {
    cj_error     error = {0};
    const size_t size = cj_dtype_size(m->dtype);
    for (uint32_t r = 0; r < m->cluster; r++) {
        cj_device *device = cj_gpus_device(gpus, r);
        cj_test_ok(cj_mem_read(device, got, out[r], bytes, NULL, &error), &error);
        cj_test_ok(cj_synchronize(device, NULL, &error), &error);
        for (size_t i = 0; i < bytes; i += size)
            if (!collective_model_same(m->dtype, got + i, want + r * bytes + i))
                fail_msg("op %d of %" PRIu32 " GPUs, %s, count %" PRIu64 ", shots %" PRIu32 ", memory %d: element %zu of GPU %" PRIu32
                         " is wrong", (int)desc->op, m->cluster, cj_dtype_name(m->dtype), desc->count, desc->shots, (int)desc->memory,
                         i / size, r);
    }
}

void cj_test_gpus(cj_gpus *gpus, const cj_gpus_desc *desc, const cj_stream *stream, unsigned offset) {
    const collective_model m = model_of(gpus, desc);
    const size_t           size = cj_dtype_size(m.dtype), ahead = offset * size;
    const size_t           in = m.gives * m.count * size, out = m.gets * m.count * size;
    unsigned char *x = malloc(in * m.cluster), *want = malloc(out * m.cluster), *got = malloc(out);
    cj_ptr         from[CJ_GPUS_MAX], to[CJ_GPUS_MAX];
    cj_error       error = {0};
    assert_true(x && want && got);
    for (size_t i = 0; i < in * m.cluster; i += size) collective_model_fill(m.dtype, 0, i / size, x + i);
    cj_test_ok(cj_gpus_alloc(gpus, in + ahead, from, &error), &error);
    cj_test_ok(cj_gpus_alloc(gpus, out + ahead, to, &error), &error);
    const bool registered = desc->memory == CJ_GPUS_MEMORY_REGISTERED;
    if (registered) {
        cj_test_ok(cj_gpus_register(gpus, from, in + ahead, &error), &error);
        cj_test_ok(cj_gpus_register(gpus, to, out + ahead, &error), &error);
    }
    for (uint32_t r = 0; r < m.cluster; r++) {
        from[r] += ahead, to[r] += ahead;
        cj_test_ok(cj_mem_write(cj_gpus_device(gpus, r), from[r], x + r * in, in, NULL, &error), &error);
    }
    collective_model_run(&m, x, want);
    for (unsigned time = 0; time < 2; time++) {
        for (uint32_t r = 0; r < m.cluster; r++) {
            cj_test_ok(cj_mem_fill(cj_gpus_device(gpus, r), to[r], 0xa5, out, NULL, &error), &error);
            cj_test_ok(cj_synchronize(cj_gpus_device(gpus, r), NULL, &error), &error);
        }
        cj_test_ok(cj_gpus_run(gpus, desc, from, to, stream, &error), &error);
        for (uint32_t r = 0; r < m.cluster && stream; r++)
            cj_test_ok(cj_synchronize(cj_gpus_device(gpus, r), stream[r], &error), &error);
        compare(gpus, &m, desc, to, out, want, got);
        cj_test_ok(cj_gpus_check(gpus, &error), &error);
    }
    for (uint32_t r = 0; r < m.cluster; r++) from[r] -= ahead, to[r] -= ahead;
    if (registered) {
        cj_test_ok(cj_gpus_unregister(gpus, to, &error), &error);
        cj_test_ok(cj_gpus_unregister(gpus, from, &error), &error);
    }
    cj_gpus_free(gpus, from);
    cj_gpus_free(gpus, to);
    free(x);
    free(want);
    free(got);
}

// Around a word of halves, a message of 16 bytes, a warp, a block, and parts of two shots that are shorter or empty.
static const uint64_t counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 600};

void cj_test_gpus_all(cj_gpus *gpus, const cj_stream *stream, uint64_t *random, unsigned draws) {
    static const cj_dtype dtypes[] = {CJ_F32, CJ_F16, CJ_BF16, CJ_I32, CJ_U32};
    static const cj_dtype moved[] = {CJ_F32, CJ_BF16, CJ_F64, CJ_I64, CJ_U64, CJ_I16, CJ_U16, CJ_I8, CJ_U8, CJ_E4M3};
    for (unsigned i = 0; i < draws; i++) {
        cj_gpus_desc desc = {CJ_INIT(desc), .op = (cj_gpus_op)(i % CJ_GPUS_BARRIER), .block = 64};
        desc.dtype = dtypes[cj_test_random(random) % CJ_TEST_COUNT(dtypes)];
        if (desc.op > CJ_GPUS_REDUCE_SCATTER) desc.dtype = moved[cj_test_random(random) % CJ_TEST_COUNT(moved)];
        desc.count = counts[cj_test_random(random) % CJ_TEST_COUNT(counts)];
        desc.grid = (uint32_t)(cj_test_random(random) % 4);
        if (cj_test_random(random) % 3 == 0) desc.memory = CJ_GPUS_MEMORY_REGISTERED;
        if (desc.op == CJ_GPUS_ALLREDUCE && !desc.memory) desc.shots = 1 + (uint32_t)(cj_test_random(random) % 2);
        if (desc.op <= CJ_GPUS_REDUCE_SCATTER) desc.combine = (cj_combine_op)(cj_test_random(random) % 3);
        if (desc.op == CJ_GPUS_BROADCAST) desc.root = (uint32_t)(cj_test_random(random) % cj_gpus_count(gpus));
        cj_test_gpus(gpus, &desc, stream, (unsigned)(cj_test_random(random) % 3));
    }
}
