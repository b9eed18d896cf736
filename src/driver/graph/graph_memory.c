// SPDX-License-Identifier: Apache-2.0
// Memory of graphs: it exists from the making of its node on.
#include <stdlib.h>

#include "graph.h"
#include "memory.h"

static void release_memory(void *object) {
    cj_graph_memory *memory = object;
    cj_block        *block = cj__memory_begin(memory->address);
    if (block && block->id == memory->id) cj__memory_free(block);
    free(memory);
}

static CUresult new_memory(size_t bytes, cj_context *context, cj_graph_memory **made) {
    const cj_block wanted = {
        .bytes = bytes, .type = CJ_MEMORY_DEVICE, .gpu = context->gpu, .owner = context, .is_graph = true};
    cj_block        *block = NULL;
    const CUresult   code = cj__memory_new(&wanted, &block);
    cj_graph_memory *memory = code ? NULL : calloc(1, sizeof *memory);
    if (code) return code;
    if (!memory) {
        cj__memory_free(block);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    block->call = NULL;
    *memory = (cj_graph_memory){
        .base = {.keeps = 1, .release = release_memory}, .address = block->base, .id = block->id, .bytes = bytes};
    *made = memory;
    return CUDA_SUCCESS;
}

CUresult cj__graph_add_memory(cj_graph *graph, const CUgraphNode *after, size_t count, size_t bytes,
                              cj_context *context, cj_node **made) {
    cj_work  work = {.kind = CJ_WORK_ALLOC, .context = context};
    CUresult code = new_memory(bytes, context, &work.as.memory);
    if (code) return code;
    code = cj__graph_add(graph, after, count, &work, made);
    cj__let(work.as.memory);
    return code;
}
