// SPDX-License-Identifier: Apache-2.0
// Between the parameters of nodes and work.
#include <string.h>

#include "graph.h"
#include "library.h"
#include "places.h"

static CUresult context_of(CUcontext given, cj_work *work) { return cj__context_of(given, &work->context); }

static CUresult of_kernel(const CUDA_KERNEL_NODE_PARAMS_v3 *p, cj_work *work, void ***scratch) {
    cj_launch_work *launch = &work->as.launch;
    CUresult        code = cj__fun_of(p->func ? p->func : (CUfunction)(uintptr_t)p->kern, &launch->fun);
    if (code) return code;
    *launch = (cj_launch_work){.fun = launch->fun,
                               .grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
                               .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
                               .shared = p->sharedMemBytes,
                               .argument = p->kernelParams};
    work->context = launch->fun->mod->context;
    if (p->extra && p->kernelParams)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "both kernelParams and extra are given");
    if (!p->extra) return CUDA_SUCCESS;
    code = cj__arguments_of(launch->fun, p->extra, scratch);
    launch->argument = *scratch;
    return code;
}

static CUresult of_copy(const CUDA_MEMCPY_NODE_PARAMS *p, cj_work *work) {
    const CUresult code = context_of(p->copyCtx, work);
    return code ? code : cj__copy_from_3d(&p->copyParams, &work->as.copy);
}

static CUresult of_set(const CUDA_MEMSET_NODE_PARAMS_v2 *p, cj_work *work) {
    work->as.set = (cj_set){p->dst, p->pitch, p->width, p->height, p->value, p->elementSize};
    if (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "elements of %u bytes", p->elementSize);
    return context_of(p->ctx, work);
}

static CUresult of_event(CUevent given, cj_work *work) {
    work->as.event = cj__object_find(CJ_EVENT, given);
    if (!work->as.event) return cj__refuse_handle(CJ_EVENT, given);
    work->context = work->as.event->base.owner;
    return CUDA_SUCCESS;
}

static CUresult of_child(CUgraph given, cj_work *work) {
    work->as.child = cj__object_find(CJ_GRAPH, given);
    return work->as.child ? context_of(NULL, work) : cj__refuse_handle(CJ_GRAPH, given);
}

static CUresult unsupported(CUgraphNodeType type) {
    static const char *const names[] = {[CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL] = "external semaphores",
                                        [CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT] = "external semaphores",
                                        [CU_GRAPH_NODE_TYPE_BATCH_MEM_OP] = "batches of memory operations",
                                        [CU_GRAPH_NODE_TYPE_CONDITIONAL] = "conditions"};
    const size_t             at = (size_t)type;
    const bool               known = at < sizeof names / sizeof *names && names[at];
    return known ? cj__refuse(CUDA_ERROR_NOT_SUPPORTED, "graph nodes of %s are missing here", names[at])
                 : cj__refuse(CUDA_ERROR_INVALID_VALUE, "node type %d is not known", (int)type);
}

// The kind of a node type's work; a type that is not here has none.
static const struct {
    CUgraphNodeType type;
    cj_work_kind    kind;
} types[] = {{CU_GRAPH_NODE_TYPE_KERNEL, CJ_WORK_LAUNCH},      {CU_GRAPH_NODE_TYPE_MEMCPY, CJ_WORK_COPY},
             {CU_GRAPH_NODE_TYPE_MEMSET, CJ_WORK_SET},         {CU_GRAPH_NODE_TYPE_HOST, CJ_WORK_HOST},
             {CU_GRAPH_NODE_TYPE_GRAPH, CJ_WORK_CHILD},        {CU_GRAPH_NODE_TYPE_EMPTY, CJ_WORK_EMPTY},
             {CU_GRAPH_NODE_TYPE_WAIT_EVENT, CJ_WORK_WAIT},    {CU_GRAPH_NODE_TYPE_EVENT_RECORD, CJ_WORK_RECORD},
             {CU_GRAPH_NODE_TYPE_MEM_ALLOC, CJ_WORK_ALLOC},    {CU_GRAPH_NODE_TYPE_MEM_FREE, CJ_WORK_FREE},
             {CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, CJ_WORK_WRITE}, {CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, CJ_WORK_AWAIT}};

CUgraphNodeType cj__work_type(const cj_work *work) {
    size_t i = 0;
    while (types[i].kind != work->kind) i++;
    return types[i].type;
}

CUresult cj__work_of_params(const CUgraphNodeParams *p, cj_work *work, void ***scratch) {
    size_t i = 0;
    *work = (cj_work){.kind = CJ_WORK_EMPTY};
    while (i < sizeof types / sizeof *types && types[i].type != p->type) i++;
    if (i < sizeof types / sizeof *types) work->kind = types[i].kind;
    switch ((int)p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return of_kernel(&p->kernel, work, scratch);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return of_copy(&p->memcpy, work);
    case CU_GRAPH_NODE_TYPE_MEMSET: return of_set(&p->memset, work);
    case CU_GRAPH_NODE_TYPE_HOST:
        work->as.host = (cj_host_work){.call = p->host.fn, .user = p->host.userData};
        return context_of(NULL, work);
    case CU_GRAPH_NODE_TYPE_GRAPH: return of_child(p->graph.graph, work);
    case CU_GRAPH_NODE_TYPE_EMPTY: return context_of(NULL, work);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return of_event(p->eventWait.event, work);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return of_event(p->eventRecord.event, work);
    case CU_GRAPH_NODE_TYPE_MEM_FREE: work->as.address = p->free.dptr; return context_of(NULL, work);
    default: return unsupported(p->type);
    }
}

// ---- back

static void params_of_place(const cj_place *place, CUmemorytype *type, CUdeviceptr *device, void **host,
                            CUarray *array) {
    *type = place->array ? CU_MEMORYTYPE_ARRAY : place->type;
    *device = place->type == CU_MEMORYTYPE_HOST ? 0 : place->address;
    *host = place->type == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)place->address : NULL;
    *array = place->array ? HANDLE_OF(place->array) : NULL;
}

static void params_of_copy(const cj_copy *copy, CUDA_MEMCPY3D *p) {
    void *from = NULL;
    *p = (CUDA_MEMCPY3D){.srcXInBytes = copy->from.x,
                         .srcY = copy->from.y,
                         .srcZ = copy->from.z,
                         .srcPitch = copy->from.pitch,
                         .srcHeight = copy->from.rows,
                         .dstXInBytes = copy->to.x,
                         .dstY = copy->to.y,
                         .dstZ = copy->to.z,
                         .dstPitch = copy->to.pitch,
                         .dstHeight = copy->to.rows,
                         .WidthInBytes = copy->bytes,
                         .Height = copy->height,
                         .Depth = copy->depth};
    params_of_place(&copy->to, &p->dstMemoryType, &p->dstDevice, &p->dstHost, &p->dstArray);
    params_of_place(&copy->from, &p->srcMemoryType, &p->srcDevice, &from, &p->srcArray);
    p->srcHost = from;
}

static void params_of_launch(const cj_launch_work *launch, CUDA_KERNEL_NODE_PARAMS_v3 *p) {
    *p = (CUDA_KERNEL_NODE_PARAMS_v3){.func = HANDLE_OF(launch->fun),
                                      .gridDimX = launch->grid.x,
                                      .gridDimY = launch->grid.y,
                                      .gridDimZ = launch->grid.z,
                                      .blockDimX = launch->block.x,
                                      .blockDimY = launch->block.y,
                                      .blockDimZ = launch->block.z,
                                      .sharedMemBytes = launch->shared,
                                      .kernelParams = launch->argument,
                                      .ctx = HANDLE_OF(launch->fun->mod->context)};
}

void cj__params_of_work(const cj_work *work, CUgraphNodeParams *p) {
    *p = (CUgraphNodeParams){.type = cj__work_type(work)};
    switch (work->kind) {
    case CJ_WORK_LAUNCH: params_of_launch(&work->as.launch, &p->kernel); break;
    case CJ_WORK_COPY:
        p->memcpy.copyCtx = HANDLE_OF(work->context);
        params_of_copy(&work->as.copy, &p->memcpy.copyParams);
        break;
    case CJ_WORK_SET:
        p->memset = (CUDA_MEMSET_NODE_PARAMS_v2){work->as.set.to,         work->as.set.pitch, work->as.set.value,
                                                 work->as.set.element,    work->as.set.width, work->as.set.height,
                                                 HANDLE_OF(work->context)};
        break;
    case CJ_WORK_HOST: p->host = (CUDA_HOST_NODE_PARAMS_v2){work->as.host.call, work->as.host.user}; break;
    case CJ_WORK_RECORD: p->eventRecord.event = HANDLE_OF(work->as.event); break;
    case CJ_WORK_WAIT: p->eventWait.event = HANDLE_OF(work->as.event); break;
    case CJ_WORK_CHILD: p->graph.graph = HANDLE_OF(work->as.child); break;
    case CJ_WORK_ALLOC:
        p->alloc.dptr = work->as.memory->address;
        p->alloc.bytesize = work->as.memory->bytes;
        break;
    case CJ_WORK_FREE: p->free.dptr = work->as.address; break;
    default: break;
    }
}
