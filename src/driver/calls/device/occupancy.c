// SPDX-License-Identifier: Apache-2.0
// Occupancy, by the library's model of an H200.
#include <clusterjit/occupancy.h>

#include "library.h"

enum { REGISTERS = 32 };  // as cuFuncGetAttribute says

// A block or cluster that could not be launched at all has room nowhere.
static CUresult count(cj_fun *fun, const cj_occupancy_query *query, cj_cluster_occupancy *result) {
    cj_error        error = {0};
    const cj_status status = cj_function_occupancy(fun->code, query, result, &error);
    if (status == CJ_CONTRACT) *result = (cj_cluster_occupancy){CJ_INIT(cj_cluster_occupancy)};
    return status && status != CJ_CONTRACT ? cj__refuse_error(&error) : CUDA_SUCCESS;
}

static CUresult blocks_of(cj_fun *fun, int threads, size_t dynamic, int *blocks) {
    cj_cluster_occupancy result = {CJ_INIT(result)};
    if (!blocks) return cj__refuse_null("numBlocks");
    if (threads < 1) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "a block of %d threads", threads);
    *blocks = 0;
    if (dynamic > UINT32_MAX) return CUDA_SUCCESS;
    const cj_occupancy_query query = {CJ_INIT(query), .block = {(uint32_t)threads, 1, 1},
                                      .dynamic_shared = (uint32_t)dynamic, .registers = REGISTERS};
    const CUresult code = count(fun, &query, &result);
    *blocks = (int)result.blocks_per_sm;
    return code;
}

static CUresult check_flags(unsigned flags) {
    return flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE
               ? cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x", flags)
               : CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction given, int threads,
                                                              size_t dynamic, unsigned flags) {
    ENTER(CJ_NEED_CONTEXT);
    cj_fun *fun = NULL;
    TRY(cj__fun_of(given, &fun));
    TRY(check_flags(flags));
    LEAVE(blocks_of(fun, threads, dynamic, blocks));
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction given, int threads, size_t dynamic) {
    ENTER(CJ_NEED_CONTEXT);
    cj_fun *fun = NULL;
    TRY(cj__fun_of(given, &fun));
    LEAVE(blocks_of(fun, threads, dynamic, blocks));
}

// The program's own function, for which the lock is given up.
static size_t ask(CUoccupancyB2DSize dynamic_of, int threads) {
    const cj_pause pause = cj__pause();
    const size_t   bytes = dynamic_of(threads);
    cj__resume(pause);
    return bytes;
}

// The largest block of those with which the most threads are resident.
static CUresult potential(int *grid, int *block, CUfunction given, CUoccupancyB2DSize dynamic_of, size_t dynamic,
                          int limit, unsigned flags) {
    cj_fun  *fun = NULL;
    int      most = 0;
    CUresult code = cj__fun_of(given, &fun);
    if (!grid || !block) return cj__refuse_null("minGridSize or blockSize");
    if (!code) code = check_flags(flags);
    if (!code) code = cj__fun_get(fun, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &most);
    if (code) return code;
    if (limit > 0 && limit < most) most = limit;
    const int warp = (int)fun->mod->context->gpu->limits->warp_size;
    int       best = 0;
    *grid = *block = 0;
    cj__keep(fun);
    for (int threads = most; threads > 0 && !code; threads = (threads - 1) / warp * warp) {
        int          blocks = 0;
        const size_t bytes = dynamic_of ? ask(dynamic_of, threads) : dynamic;
        code = blocks_of(fun, threads, bytes, &blocks);
        if (code || blocks * threads <= best) continue;
        best = blocks * threads;
        *block = threads;
        *grid = blocks * (int)fun->mod->context->gpu->limits->sm_count;
    }
    cj__let(fun);
    return code;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function, CUoccupancyB2DSize dynamic_of,
                                          size_t dynamic, int limit) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(potential(grid, block, function, dynamic_of, dynamic, limit, 0));
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction function,
                                                   CUoccupancyB2DSize dynamic_of, size_t dynamic, int limit,
                                                   unsigned flags) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(potential(grid, block, function, dynamic_of, dynamic, limit, flags));
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction given, int blocks, int threads) {
    ENTER(CJ_NEED_CONTEXT);
    cj_fun       *fun = NULL;
    cj_entry_info info = {CJ_INIT(info)};
    int           fit = 0;
    REQUIRE(bytes);
    TRY(cj__fun_of(given, &fun));
    const cj_limits *l = fun->mod->context->gpu->limits;
    TRY(blocks_of(fun, threads, 0, &fit));
    if (blocks < 1 || blocks > fit)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "%d blocks an SM, of which %d fit", blocks, fit));
    cj_function_info(fun->code, &info, NULL);
    const uint32_t share = l->shared_per_sm / (uint32_t)blocks,
                   most = share < l->shared_per_sm ? share : l->shared_per_sm;
    const uint32_t taken = info.static_shared + l->shared_reserved;
    const uint32_t rest = most > taken ? most - taken : 0, optin = l->shared_per_block_optin - info.static_shared;
    *bytes = (rest < optin ? rest : optin) / 128 * 128;
    LEAVE(CUDA_SUCCESS);
}

// ---- clusters

static CUresult query_of(const CUlaunchConfig *config, cj_occupancy_query *query) {
    if (!config || (config->numAttrs && !config->attrs)) return cj__refuse_null("config");
    *query = (cj_occupancy_query){CJ_INIT(cj_occupancy_query),
                                  .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                                  .dynamic_shared = config->sharedMemBytes, .registers = REGISTERS};
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttributeValue *value = &config->attrs[i].value;
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            query->cluster = (cj_dim3){value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
    }
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction given, const CUlaunchConfig *config) {
    ENTER(CJ_NEED_CONTEXT);
    cj_fun              *fun = NULL;
    cj_occupancy_query   query = {CJ_INIT(query)};
    cj_cluster_occupancy result = {CJ_INIT(result)};
    REQUIRE(clusters);
    TRY(cj__fun_of(given, &fun));
    TRY(query_of(config, &query));
    TRY(count(fun, &query, &result));
    *clusters = (int)result.active_clusters;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuOccupancyMaxPotentialClusterSize(int *blocks, CUfunction given, const CUlaunchConfig *config) {
    ENTER(CJ_NEED_CONTEXT);
    cj_fun            *fun = NULL;
    cj_occupancy_query query = {CJ_INIT(query)};
    uint32_t           most = 0;
    cj_error           error = {0};
    REQUIRE(blocks);
    TRY(cj__fun_of(given, &fun));
    TRY(query_of(config, &query));
    if (cj_function_max_cluster(fun->code, &query, &most, &error)) LEAVE(cj__refuse_error(&error));
    const uint32_t portable = fun->mod->context->gpu->limits->max_cluster_portable;
    if (!fun->attribute[CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED] && most > portable) most = portable;
    *blocks = (int)most;
    LEAVE(CUDA_SUCCESS);
}
