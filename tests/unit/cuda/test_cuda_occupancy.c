// SPDX-License-Identifier: Apache-2.0
// The occupancy model against CUDA's own calculator, the toolkit's cuda_occupancy.h: the same blocks an SM, whatever a
// block takes.
#include <clusterjit/contract.h>
#include <cuda_occupancy.h>

#include "occupancy.h"
#include "test.h"

static cudaOccDeviceProp properties_of(const cj_limits *l) {
    return (cudaOccDeviceProp){.computeMajor = (int)l->compute_capability / 10,
                               .computeMinor = (int)l->compute_capability % 10,
                               .maxThreadsPerBlock = (int)l->max_threads_per_block,
                               .maxThreadsPerMultiprocessor = (int)l->max_threads_per_sm,
                               .regsPerBlock = (int)l->registers_per_block,
                               .regsPerMultiprocessor = (int)l->registers_per_sm,
                               .warpSize = (int)l->warp_size,
                               .sharedMemPerBlock = l->shared_per_block,
                               .sharedMemPerMultiprocessor = l->shared_per_sm,
                               .numSms = (int)l->sm_count,
                               .sharedMemPerBlockOptin = l->shared_per_block_optin,
                               .reservedSharedMemPerBlock = l->shared_reserved};
}

static int by_calculator(const cj_limits *limits, const cj_kernel_use *use) {
    const cudaOccDeviceProp     properties = properties_of(limits);
    const cudaOccDeviceState    device = {.cacheConfig = CACHE_PREFER_SHARED,
                                          .carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED};
    const cudaOccFuncAttributes function = {.maxThreadsPerBlock = (int)limits->max_threads_per_block,
                                            .numRegs = (int)use->registers,
                                            .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
                                            .maxDynamicSharedSizeBytes = limits->shared_per_block_optin,
                                            .numBlockBarriers = (int)use->barriers};
    cudaOccResult               result = {0};
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &function, &device, (int)use->threads,
                                                use->shared))
        fail_msg("the calculator does not know sm_%u", limits->compute_capability);
    return result.activeBlocksPerMultiprocessor;
}

static void blocks_are_counted_as_cuda_does(void **state) {
    (void)state;
    static const char *const on[] = {"sm_75", "a100", "sm_86", "sm_87", "sm_88", "sm_89", "h200", "b200", "sm_103", "rtx5090", "sm_121"};
    uint64_t                 random = cj_test_seed();
    for (int i = 0; i < 50000; i++) {
        cj_limits limits;
        cj_test_ok(cj_limits_named(on[(size_t)i % CJ_TEST_COUNT(on)], &limits, NULL), NULL);
        const cj_kernel_use use = {
            .threads = 1 + cj_test_random(&random) % 1024,
            .registers = (uint32_t)(1 + cj_test_random(&random) % 255),
            .shared = cj_test_random(&random) % 2 ? cj_test_random(&random) % (limits.shared_per_block_optin + 2) : 0,
            .barriers = (uint32_t)(1 + cj_test_random(&random) % 16)};
        cj_occupancy room;
        cj__occupancy(&use, &limits, &room);
        const int theirs = by_calculator(&limits, &use);
        if ((int)room.blocks_per_sm != theirs)
            fail_msg("%s, %u threads, %u registers, %u B, %u barriers: %u blocks, the calculator says %d", limits.name,
                     (unsigned)use.threads, use.registers, (unsigned)use.shared, use.barriers, room.blocks_per_sm,
                     theirs);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_are_counted_as_cuda_does)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
