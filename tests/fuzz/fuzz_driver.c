// SPDX-License-Identifier: Apache-2.0
// libFuzzer's target: bytes become a sequence of calls of libcuda.so.1, with handles that are alive, that were destroyed, of
// another kind, or made up. No call may crash, hang, or harm a later one. Memory of the host's own is always there: what a call
// would do with other addresses is the program's mistake, on a GPU too. replay.c runs it over the corpus in ordinary builds.
#define _POSIX_C_SOURCE 200809L
#include <string.h>

#include "driver_input.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void   callback(void *user) { (void)user, cuCtxSynchronize(); }
static void   stream_callback(CUstream s, CUresult code, void *user) { (void)s, (void)code, (void)user; }
static size_t dynamic_of(int threads) { return (size_t)threads * 4; }

// ---- calls

static void context_calls(void) {
    CUcontext context = NULL;
    CUdevice  d = 0;
    unsigned  number = 0;
    int       active = 0;
    size_t    bytes = 0;
    switch (below(16)) {
    case 0:
        if (!cuCtxCreate(&context, NULL, flags(), device())) put_pointer(CONTEXT, context);
        break;
    case 1: cuCtxDestroy(handle(CONTEXT)); break;
    case 2: cuCtxSetCurrent(handle(CONTEXT)); break;
    case 3: cuCtxPushCurrent(handle(CONTEXT)); break;
    case 4: cuCtxPopCurrent(&context); break;
    case 5:
        if (!cuDevicePrimaryCtxRetain(&context, device())) put_pointer(CONTEXT, context);
        break;
    case 6: cuDevicePrimaryCtxRelease(device()); break;
    case 7: cuDevicePrimaryCtxReset(device()); break;
    case 8: cuDevicePrimaryCtxSetFlags(device(), flags()); break;
    case 9: cuDevicePrimaryCtxGetState(device(), &number, &active); break;
    case 10: cuCtxGetDevice(&d); break;
    case 11: cuCtxSynchronize(); break;
    case 12: cuCtxSetLimit((CUlimit)below(12), amount() % (1 << 20)); break;
    case 13: cuCtxGetLimit(&bytes, (CUlimit)below(12)); break;
    case 14: cuCtxEnablePeerAccess(handle(CONTEXT), below(8) == 7); break;
    default: cuCtxDisablePeerAccess(handle(CONTEXT)); break;
    }
}

static void memory_calls(void) {
    CUdeviceptr p = 0;
    void       *h = NULL;
    size_t      a = 0, b = 0;
    unsigned    number = 0;
    uint64_t    value[2] = {0};
    switch (below(18)) {
    case 0:
        if (!cuMemAlloc(&p, amount())) put(ADDRESS, p);
        break;
    case 1:
        if (!cuMemAllocManaged(&p, amount(), 1 + below(3))) put(ADDRESS, p);
        break;
    case 2:
        if (!cuMemAllocPitch(&p, &a, below(2) ? amount() : 200, below(64), 1u << below(6))) put(ADDRESS, p);
        break;
    case 3: cuMemFree(address()); break;
    case 4:
        if (!cuMemHostAlloc(&h, amount(), flags())) put_pointer(PINNED, h);
        break;
    case 5: cuMemFreeHost(pointer(pick(PINNED))); break;
    case 6: cuMemHostRegister(host + below(16) * 1024, 1 + below(200) * 64, flags()); break;
    case 7: cuMemHostUnregister(host + below(16) * 1024); break;
    case 8: cuMemHostGetDevicePointer(&p, pointer(address()), below(8) == 7); break;
    case 9: cuMemHostGetFlags(&number, pointer(address())); break;
    case 10: cuMemGetAddressRange(&p, &a, address()); break;
    case 11: cuMemGetInfo(&a, &b); break;
    case 12: cuPointerGetAttribute(value, (CUpointer_attribute)below(24), address()); break;
    case 13: cuPointerSetAttribute(value, (CUpointer_attribute)below(24), address()); break;
    case 14:
        if (!cuMemAllocAsync(&p, amount(), stream())) put(ADDRESS, p);
        break;
    case 15: cuMemFreeAsync(address(), stream()); break;
    case 16:
        if (!cuMemAllocFromPoolAsync(&p, amount(), handle(POOL), stream())) put(ADDRESS, p);
        break;
    default: {
        const CUmemLocation where = {(CUmemLocationType)below(4), device()};
        if (below(2))
            cuMemAdvise(address(), amount(), (CUmem_advise)below(8), where);
        else
            cuMemPrefetchAsync(address(), amount(), where, 0, stream());
    }
    }
}

// The host's end of a copy stays in its memory: at most 6 slices of 10 rows of 128 bytes.
static CUDA_MEMCPY3D copy_3d(void) {
    CUDA_MEMCPY3D c = {.srcMemoryType = (CUmemorytype)below(5), .dstMemoryType = (CUmemorytype)below(5)};
    c.srcHost = host_at(), c.dstHost = host_at();
    c.srcDevice = address(), c.dstDevice = address();
    c.srcArray = handle(ARRAY), c.dstArray = handle(ARRAY);
    c.srcXInBytes = below(16), c.dstXInBytes = below(16);
    c.srcY = below(4), c.dstY = below(4), c.srcZ = below(2), c.dstZ = below(2);
    c.srcPitch = below(64), c.dstPitch = below(64), c.srcHeight = below(8), c.dstHeight = below(8);
    c.WidthInBytes = below(64), c.Height = below(8), c.Depth = below(4);
    if (c.srcMemoryType == CU_MEMORYTYPE_UNIFIED) c.srcDevice = (uintptr_t)host_at();
    if (c.dstMemoryType == CU_MEMORYTYPE_UNIFIED) c.dstDevice = (uintptr_t)host_at();
    return c;
}

static void copy_calls(void) {
    const CUDA_MEMCPY3D c = copy_3d();
    const CUDA_MEMCPY2D flat = {c.srcXInBytes, c.srcY,          c.srcMemoryType, c.srcHost,
                                c.srcDevice,   c.srcArray,      c.srcPitch,      c.dstXInBytes,
                                c.dstY,        c.dstMemoryType, c.dstHost,       c.dstDevice,
                                c.dstArray,    c.dstPitch,      c.WidthInBytes,  c.Height};
    switch (below(16)) {
    case 0: cuMemcpyHtoD(address(), host_at(), host_amount()); break;
    case 1: cuMemcpyDtoH(host_at(), address(), host_amount()); break;
    case 2: cuMemcpyDtoD(address(), address(), amount()); break;
    case 3: cuMemcpyHtoDAsync(address(), host_at(), host_amount(), stream()); break;
    case 4: cuMemcpyDtoHAsync(host_at(), address(), host_amount(), stream()); break;
    case 5: cuMemcpyDtoDAsync(address(), address(), amount(), stream()); break;
    case 6: cuMemcpy2D(&flat); break;
    case 7: cuMemcpy3D(&c); break;
    case 8: cuMemcpy3DAsync(&c, stream()); break;
    case 9: cuMemcpyHtoA(handle(ARRAY), amount(), host_at(), host_amount()); break;
    case 10: cuMemcpyAtoA(handle(ARRAY), below(64), handle(ARRAY), below(64), amount()); break;
    case 11: cuMemsetD8(address(), (unsigned char)byte(), amount()); break;
    case 12: cuMemsetD16(address(), (unsigned short)byte(), amount()); break;
    case 13: cuMemsetD32Async(address(), byte(), amount(), stream()); break;
    case 14: cuMemsetD2D32(address(), amount(), byte(), below(16), amount()); break;
    default: cuMemcpyAtoH(host_at(), handle(ARRAY), amount(), host_amount()); break;
    }
}

static void array_calls(void) {
    const CUDA_ARRAY3D_DESCRIPTOR shape = {below(40),      below(20), below(6), (CUarray_format)(1u << below(6)),
                                           1u << below(4), below(4)};
    CUDA_ARRAY3D_DESCRIPTOR       told;
    CUarray                       array = NULL;
    CUtexObject                   object = 0;
    CUDA_RESOURCE_DESC            resource = {.resType = (CUresourcetype)below(5)};
    CUDA_TEXTURE_DESC             texture = {.flags = byte() % 4};
    if (resource.resType == CU_RESOURCE_TYPE_ARRAY) resource.res.array.hArray = handle(ARRAY);
    if (resource.resType == CU_RESOURCE_TYPE_LINEAR) {
        resource.res.linear.devPtr = address();
        resource.res.linear.format = shape.Format;
        resource.res.linear.numChannels = shape.NumChannels;
        resource.res.linear.sizeInBytes = amount();
    }
    texture.filterMode = (CUfilter_mode)below(3);
    texture.addressMode[0] = (CUaddress_mode)below(5);
    switch (below(8)) {
    case 0:
    case 1:
        if (!cuArray3DCreate(&array, &shape)) put_pointer(ARRAY, array);
        break;
    case 2: cuArrayDestroy(handle(ARRAY)); break;
    case 3: cuArray3DGetDescriptor(&told, handle(ARRAY)); break;
    case 4:
        if (!cuTexObjectCreate(&object, &resource, &texture, NULL)) put(TEXTURE, object);
        break;
    case 5: cuTexObjectDestroy(pick(TEXTURE)); break;
    case 6:
        if (!cuSurfObjectCreate(&object, &resource)) put(SURFACE, object);
        break;
    default: cuTexObjectGetResourceDesc(&resource, pick(TEXTURE)); break;
    }
}

static void library_calls(unsigned call) {
    CUlibrary   l = NULL;
    CUkernel    k = NULL;
    CUfunction  f = NULL;
    CUdeviceptr p = 0;
    size_t      bytes = 0;
    switch (call) {
    case 8:
        if (!cuLibraryLoadData(&l, image(), NULL, NULL, 0, NULL, NULL, 0)) put_pointer(LIBRARY, l);
        break;
    case 9: cuLibraryUnload(handle(LIBRARY)); break;
    case 10:
        if (!cuLibraryGetKernel(&k, handle(LIBRARY), name())) put_pointer(KERNEL, k);
        break;
    case 11:
        if (!cuKernelGetFunction(&f, handle(KERNEL))) put_pointer(FUNCTION, f);
        break;
    case 12: cuKernelSetAttribute((CUfunction_attribute)below(18), (int)amount(), handle(KERNEL), device()); break;
    default: cuLibraryGetGlobal(&p, &bytes, handle(LIBRARY), name()); break;
    }
}

static void code_calls(void) {
    CUmodule       m = NULL;
    CUfunction     f = NULL, all[4];
    CUlinkState    s = NULL;
    CUdeviceptr    p = 0;
    size_t         bytes = 0, offset = 0;
    void          *out = NULL;
    int            number = 0;
    char           log[64];
    CUjit_option   option[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void          *value[] = {log, pointer(sizeof log)};
    const unsigned call = below(20);
    switch (call) {
    case 0:
    case 1:
        if (!cuModuleLoadData(&m, image())) put_pointer(MODULE, m);
        break;
    case 2:
        if (!cuModuleLoadDataEx(&m, image(), 2, option, value)) put_pointer(MODULE, m);
        break;
    case 3: cuModuleUnload(handle(MODULE)); break;
    case 4:
    case 5:
        if (!cuModuleGetFunction(&f, handle(MODULE), name())) put_pointer(FUNCTION, f);
        break;
    case 6:
        if (!cuModuleGetGlobal(&p, &bytes, handle(MODULE), name())) put(ADDRESS, p);
        break;
    case 7: cuModuleEnumerateFunctions(all, below(5), handle(MODULE)); break;
    case 8:
    case 9:
    case 10:
    case 11:
    case 12: library_calls(call); break;
    case 13: cuFuncSetAttribute(handle(FUNCTION), (CUfunction_attribute)below(18), (int)amount()); break;
    case 14: cuFuncGetAttribute(&number, (CUfunction_attribute)below(18), handle(FUNCTION)); break;
    case 15: cuFuncGetParamInfo(handle(FUNCTION), below(4), &offset, &bytes); break;
    case 16:
        if (!cuLinkCreate(0, NULL, NULL, &s)) put_pointer(LINK, s);
        break;
    case 17:
        cuLinkAddData(handle(LINK), (CUjitInputType)below(7), pointer((uintptr_t)program_text),
                      strlen(program_text) + 1, "x", 0, NULL, NULL);
        break;
    case 18: cuLinkComplete(handle(LINK), &out, &bytes); break;
    default: library_calls(call); break;
    }
}

// An address and a number for a kernel; each value has room for the longest parameter.
static _Alignas(8) unsigned char argument_bytes[2][32];
static void *arguments[] = {argument_bytes[0], argument_bytes[1]};

static unsigned side(void);

static void choose_arguments(void) {
    const CUdeviceptr to = address();
    const unsigned    count = side();
    memcpy(argument_bytes[0], &to, sizeof to);
    memcpy(argument_bytes[1], &count, sizeof count);
}

static unsigned side(void) {
    static const unsigned sides[] = {1, 1, 2, 4, 32, 0, 64, 3};
    return sides[below(8)];
}

// Each kernel has two parameters at most, and none takes more than 32 bytes.
static void launch_calls(void) {
    CUlaunchAttribute attribute[3] = {{.id = (CUlaunchAttributeID)below(18)},
                                      {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION}};
    unsigned char     buffer[64] = {0};
    size_t            bytes = below(64);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    CUfunction f = handle(below(8) == 7 ? KERNEL : FUNCTION);
    int        number = 0, other = 0;
    choose_arguments();
    attribute[1].value.clusterDim.x = side(), attribute[1].value.clusterDim.y = 1, attribute[1].value.clusterDim.z = 1;
    if (attribute[0].id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
        attribute[0].value.launchCompletionEvent.event = handle(EVENT);
    const CUlaunchConfig config = {.gridDimX = side(),
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = side(),
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .sharedMemBytes = (unsigned)amount(),
                                   .hStream = stream(),
                                   .attrs = attribute,
                                   .numAttrs = below(3)};
    switch (below(8)) {
    case 0:
    case 1: cuLaunchKernel(f, side(), 1, 1, side(), 1, 1, 0, stream(), arguments, NULL); break;
    case 2: cuLaunchKernelEx(&config, f, arguments, NULL); break;
    case 3: cuLaunchKernel(f, side(), side(), 1, side(), 1, 1, below(2) * 64, stream(), NULL, extra); break;
    case 4: cuLaunchCooperativeKernel(f, side(), 1, 1, side(), 1, 1, 0, stream(), arguments); break;
    case 5: cuLaunchHostFunc(stream(), callback, NULL); break;
    case 6:
        cuOccupancyMaxPotentialBlockSize(&number, &other, f, below(2) ? dynamic_of : NULL, amount(), (int)side());
        break;
    default:
        cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, f, (int)amount(), amount());
        cuOccupancyMaxActiveClusters(&number, f, &config);
    }
}

static void stream_calls(void) {
    CUstream              s = NULL;
    CUevent               e = NULL;
    CUgraph               g = NULL;
    CUgraphNode           after[2] = {handle(NODE), handle(NODE)};
    const CUgraphNode    *told = NULL;
    CUstreamCaptureStatus status;
    CUstreamCaptureMode   mode = (CUstreamCaptureMode)below(4);
    cuuint64_t            id = 0;
    size_t                count = 0;
    float                 ms = 0;
    switch (below(20)) {
    case 0:
        if (!cuStreamCreate(&s, below(3))) put_pointer(STREAM, s);
        break;
    case 1:
        if (!cuStreamCreateWithPriority(&s, below(2), (int)below(9) - 6)) put_pointer(STREAM, s);
        break;
    case 2: cuStreamDestroy(stream()); break;
    case 3: cuStreamSynchronize(stream()); break;
    case 4: cuStreamQuery(stream()); break;
    case 5:
    case 6:
        if (!cuEventCreate(&e, below(3))) put_pointer(EVENT, e);
        break;
    case 7: cuEventDestroy(handle(EVENT)); break;
    case 8:
    case 9: cuEventRecord(handle(EVENT), stream()); break;
    case 10:
    case 11: cuStreamWaitEvent(stream(), handle(EVENT), below(2)); break;
    case 12: cuEventElapsedTime(&ms, handle(EVENT), handle(EVENT)); break;
    case 13: cuEventQuery(handle(EVENT)); break;
    case 14: cuStreamAddCallback(stream(), stream_callback, NULL, 0); break;
    case 15: cuStreamBeginCapture(stream(), mode); break;
    case 16:
        if (!cuStreamEndCapture(stream(), &g)) put_pointer(GRAPH, g);
        break;
    case 17:
        if (!cuStreamGetCaptureInfo(stream(), &status, &id, &g, &told, NULL, &count) && count && told)
            put_pointer(NODE, told[count - 1]);
        break;
    case 18: cuStreamUpdateCaptureDependencies(stream(), after, NULL, below(3), below(3)); break;
    default:
        if (below(2))
            cuStreamBeginCaptureToGraph(stream(), handle(GRAPH), after, NULL, below(3), mode);
        else
            cuThreadExchangeStreamCaptureMode(&mode);
    }
}

static void node_calls(CUgraph g, const CUgraphNode *after, size_t count) {
    const CUDA_MEMCPY3D           copy = copy_3d();
    const CUDA_MEMSET_NODE_PARAMS set = {address(), amount(), byte(), 1u << below(4), below(64), below(8)};
    const CUDA_HOST_NODE_PARAMS   call = {callback, NULL};
    CUDA_KERNEL_NODE_PARAMS       kernel = {.func = handle(FUNCTION), side(), 1, 1, side(), 1, 1, 0, arguments};
    CUDA_MEM_ALLOC_NODE_PARAMS    alloc = {.bytesize = amount()};
    CUgraphNode                   n = NULL;
    CUresult                      code = CUDA_SUCCESS;
    choose_arguments();
    switch (below(10)) {
    case 0:
    case 1: code = cuGraphAddKernelNode(&n, g, after, count, &kernel); break;
    case 2: code = cuGraphAddMemcpyNode(&n, g, after, count, &copy, handle(CONTEXT)); break;
    case 3: code = cuGraphAddMemsetNode(&n, g, after, count, &set, handle(CONTEXT)); break;
    case 4: code = cuGraphAddHostNode(&n, g, after, count, &call); break;
    case 5: code = cuGraphAddChildGraphNode(&n, g, after, count, handle(GRAPH)); break;
    case 6: code = cuGraphAddEmptyNode(&n, g, after, count); break;
    case 7: code = cuGraphAddEventRecordNode(&n, g, after, count, handle(EVENT)); break;
    case 8:
        code = cuGraphAddMemAllocNode(&n, g, after, count, &alloc);
        if (!code) put(ADDRESS, alloc.dptr);
        break;
    default: code = cuGraphAddMemFreeNode(&n, g, after, count, address()); break;
    }
    if (!code) put_pointer(NODE, n);
}

static void update_calls(unsigned call, CUgraphNodeParams *params) {
    CUgraphExecUpdateResultInfo info;
    CUlaunchAttributeValue      value = {0};
    switch (call) {
    case 17: cuGraphExecUpdate(handle(EXEC), handle(GRAPH), &info); break;
    case 18: cuGraphExecNodeSetParams(handle(EXEC), handle(NODE), params); break;
    case 19: cuGraphNodeSetParams(handle(NODE), params); break;
    case 20: cuGraphNodeSetEnabled(handle(EXEC), handle(NODE), below(2)); break;
    default: cuGraphKernelNodeSetAttribute(handle(NODE), (CUlaunchAttributeID)below(18), &value); break;
    }
}

static void graph_calls(void) {
    CUgraph           g = NULL;
    CUgraphExec       x = NULL;
    CUgraphNode       after[2] = {handle(NODE), handle(NODE)}, list[4], other[4];
    CUgraphNodeParams params = {.type = (CUgraphNodeType)below(14)};
    CUuserObject      user = NULL;
    size_t            count = below(5);
    unsigned          enabled = 0;
    if (params.type == CU_GRAPH_NODE_TYPE_MEMCPY) params.memcpy.copyParams = copy_3d();
    if (params.type == CU_GRAPH_NODE_TYPE_GRAPH) params.graph.graph = handle(GRAPH);
    const unsigned call = below(24);
    switch (call) {
    case 0:
    case 1:
        if (!cuGraphCreate(&g, 0)) put_pointer(GRAPH, g);
        break;
    case 2: cuGraphDestroy(handle(GRAPH)); break;
    case 3:
        if (!cuGraphClone(&g, handle(GRAPH))) put_pointer(GRAPH, g);
        break;
    case 4:
    case 5:
    case 6: node_calls(handle(GRAPH), after, below(3)); break;
    case 7: cuGraphDestroyNode(handle(NODE)); break;
    case 8: cuGraphAddDependencies(handle(GRAPH), after, after + 1, NULL, 1); break;
    case 9: cuGraphRemoveDependencies(handle(GRAPH), after, after + 1, NULL, 1); break;
    case 10: cuGraphGetNodes(handle(GRAPH), list, &count); break;
    case 11: cuGraphGetEdges(handle(GRAPH), list, other, NULL, &count); break;
    case 12: cuGraphNodeGetDependentNodes(handle(NODE), list, NULL, &count); break;
    case 13:
    case 14:
        if (!cuGraphInstantiate(&x, handle(GRAPH), 0)) put_pointer(EXEC, x);
        break;
    case 15:
    case 16: cuGraphLaunch(handle(EXEC), stream()); break;
    case 17:
    case 18:
    case 19:
    case 20:
    case 21: update_calls(call, &params); break;
    case 22:
        if (!cuUserObjectCreate(&user, host, callback, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)) put_pointer(USER, user);
        cuGraphRetainUserObject(handle(GRAPH), handle(USER), below(3), below(3));
        break;
    default:
        cuGraphReleaseUserObject(handle(GRAPH), handle(USER), below(3));
        cuGraphNodeGetEnabled(handle(EXEC), handle(NODE), &enabled);
        cuGraphExecChildGraphNodeSetParams(handle(EXEC), handle(NODE), handle(GRAPH));
    }
}

static void pool_calls(void) {
    const unsigned               place = below(10);  // pinned or managed memory, of each type of location
    const CUmemPoolProps         wanted = {.allocType = 1 + place % 2, .location = {place / 2, device()}};
    const CUmemAllocationProp    kind = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {1, device()}};
    const CUmemAccessDesc        access = {{1 + place % 2, device()},
                                    below(2) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE};
    CUmemoryPool                 pool = NULL;
    CUdeviceptr                  p = 0;
    CUmemGenericAllocationHandle physical = 0;
    cuuint64_t                   value = below(2);
    const CUdeviceptr            where = pick(RESERVED) + below(2) * PAGE;
    switch (below(16)) {
    case 0:
        if (!cuMemPoolCreate(&pool, &wanted)) put_pointer(POOL, pool);
        break;
    case 1: cuMemPoolDestroy(handle(POOL)); break;
    case 2: cuMemPoolSetAttribute(handle(POOL), (CUmemPool_attribute)below(10), &value); break;
    case 3: cuMemPoolGetAttribute(handle(POOL), (CUmemPool_attribute)below(10), &value); break;
    case 4: cuMemPoolSetAccess(handle(POOL), &access, 1); break;
    case 5: cuDeviceSetMemPool(device(), handle(POOL)); break;
    case 6:
        if (!cuDeviceGetMemPool(&pool, device())) slot[POOL][made[POOL]++ % SLOTS] = (uintptr_t)pool;
        break;
    case 7:
        if (!cuMemAddressReserve(&p, 2 * PAGE, 0, 0, 0)) put(RESERVED, p);
        break;
    case 8: cuMemAddressFree(where, 2 * PAGE); break;
    case 9:
        if (!cuMemCreate(&physical, PAGE * (1 + below(2)), &kind, 0)) put(PHYSICAL, physical);
        break;
    case 10: cuMemRelease(pick(PHYSICAL)); break;
    case 11:
    case 12: cuMemMap(where, PAGE * (1 + below(2)), below(2) * PAGE, pick(PHYSICAL), 0); break;
    case 13: cuMemUnmap(where, PAGE * (1 + below(2))); break;
    case 14: cuMemSetAccess(where, PAGE * (1 + below(2)), &access, 1); break;
    default:
        if (!cuMemRetainAllocationHandle(&physical, pointer(where))) put(PHYSICAL, physical);
        break;
    }
}

// ---- one input

static void (*const groups[])(void) = {context_calls, memory_calls, copy_calls,   array_calls, code_calls,
                                       launch_calls,  stream_calls, graph_calls,  pool_calls,  memory_calls,
                                       stream_calls,  graph_calls,  launch_calls, code_calls};

static void open_driver(void) {
    setenv("CLUSTERJIT_GPUS", "2", 1);
    setenv("CLUSTERJIT_THREADS", "1", 1);
    setenv("CLUSTERJIT_REPORT", "/dev/null", 0);
    if (cuInit(0)) abort();
}

// One or two of everything, so that most calls find something.
static void make_objects(void) {
    static const CUDA_ARRAY3D_DESCRIPTOR shape = {16, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0};
    static const CUmemAllocationProp     kind = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {1, 0}};
    CUstream                             s[2];
    CUevent                              e[2];
    CUdeviceptr                          p[3];
    CUgraph                              g;
    CUarray                              array;
    CUmemoryPool                         pool;
    CUmemGenericAllocationHandle         physical;
    for (unsigned i = 0; i < 2; i++) {
        if (cuStreamCreate(&s[i], i) || cuEventCreate(&e[i], 0)) abort();
        put_pointer(STREAM, s[i]);
        put_pointer(EVENT, e[i]);
    }
    if (cuMemAlloc(&p[0], 256) || cuMemAllocManaged(&p[1], 4096, 1) || cuMemAddressReserve(&p[2], 2 * PAGE, 0, 0, 0))
        abort();
    if (cuGraphCreate(&g, 0) || cuArray3DCreate(&array, &shape) || cuDeviceGetDefaultMemPool(&pool, 0)) abort();
    if (cuMemCreate(&physical, PAGE, &kind, 0)) abort();
    put(ADDRESS, p[0]);
    put(ADDRESS, p[1]);
    put(RESERVED, p[2]);
    put(PHYSICAL, physical);
    put_pointer(GRAPH, g);
    put_pointer(ARRAY, array);
    put_pointer(POOL, pool);
}

static void start(void) {
    static int ready;
    CUcontext  context = NULL, other = NULL;
    CUmodule   m = NULL;
    CUfunction f = NULL;
    if (!ready) open_driver();
    ready = 1;
    if (cuDevicePrimaryCtxRetain(&other, 1) || cuDevicePrimaryCtxRetain(&context, 0)) abort();
    if (cuCtxSetCurrent(context) || cuModuleLoadData(&m, program_text)) abort();
    put_pointer(CONTEXT, context);
    put_pointer(CONTEXT, other);
    put_pointer(MODULE, m);
    for (int i = 0; i < KERNELS; i++) {
        if (cuModuleGetFunction(&f, m, names[i])) abort();
        put_pointer(FUNCTION, f);
    }
    make_objects();
}

// Ends what the input left. A fault makes calls fail until the context is gone.
static void finish(void) {
    CUcontext context = NULL;
    unsigned  number = 0;
    int       active = 0;
    for (int d = 0; d < 2; d++) cuDevicePrimaryCtxReset(d);
    for (int kind = KINDS; kind--;) {
        for (int i = 0; i < SLOTS; i++) destroy((enum kind)kind, slot[kind][i]);
    }
    for (int d = 0; d < 2; d++) {
        while (!cuDevicePrimaryCtxGetState(d, &number, &active) && active) cuDevicePrimaryCtxRelease(d);
    }
    while (!cuCtxPopCurrent(&context)) continue;
    memset(slot, 0, sizeof slot);
    memset(made, 0, sizeof made);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    enum { CALLS = 300 };
    begin_input(data, size);
    start();
    for (int i = 0; i < CALLS && has_input(); i++) groups[below(sizeof groups / sizeof *groups)]();
    finish();
    return 0;
}
