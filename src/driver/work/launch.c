// SPDX-License-Identifier: Apache-2.0
// Runs kernels, and reports what they did wrong.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"
#include "report.h"
#include "work.h"

// ---- findings

// What the context has after a rule was broken; LAUNCH_FAILED for a rule that is not here. SUCCESS: only watching finds it, the
// launch went on to its end, and its result is the program's own.
static const struct {
    const char *rule;
    CUresult    code;
} faults[] = {
    {"race-warp", CUDA_SUCCESS},
    {"race-block", CUDA_SUCCESS},
    {"race-cluster", CUDA_SUCCESS},
    {"race-grid", CUDA_SUCCESS},
    {"race-system", CUDA_SUCCESS},
    {"relaxed-arrive", CUDA_SUCCESS},
    {"proxy-fence", CUDA_SUCCESS},
    {"tensormap-fence", CUDA_SUCCESS},
    {"uninitialized", CUDA_SUCCESS},
    {"absent-lane", CUDA_SUCCESS},
    {"out-of-bounds", CUDA_ERROR_ILLEGAL_ADDRESS},
    {"use-after-free", CUDA_ERROR_ILLEGAL_ADDRESS},
    {"read-only", CUDA_ERROR_ILLEGAL_ADDRESS},
    {"misaligned", CUDA_ERROR_MISALIGNED_ADDRESS},
    {"stack-overflow", CUDA_ERROR_HARDWARE_STACK_ERROR},
    {"multicast-address", CUDA_ERROR_ILLEGAL_ADDRESS},
    {"wrong-window", CUDA_ERROR_INVALID_ADDRESS_SPACE},
    {"barrier-number", CUDA_ERROR_ILLEGAL_INSTRUCTION},
    {"sparse-metadata", CUDA_ERROR_ILLEGAL_INSTRUCTION},
    {"deadlock", CUDA_ERROR_LAUNCH_TIMEOUT},
    {"livelock", CUDA_ERROR_LAUNCH_TIMEOUT},
    {"assert", CUDA_ERROR_ASSERT},
};

static CUresult fault_of(const char *rule) {
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        if (!strcmp(rule, faults[i].rule)) return faults[i].code;
    }
    return CUDA_ERROR_LAUNCH_FAILED;
}

static cj_report_side side_of(cj_mod *mod, const cj_hazard_side *side) {
    const cj_source *source = cj__mod_source(mod, side->line);
    cj_report_side   told = {.ptx_line = side->line, .what = side->what, .thread = side->thread, .block = side->block};
    if (source) {
        told.file = source->file;
        told.line = source->line;
        told.column = source->column;
    }
    return told;
}

// An address that is another device's memory was reached without leave.
static const char *hint_of(const cj_gpu *gpu, const cj_hazard *hazard, char *buffer, size_t size) {
    const cj_block *block = hazard->address ? cj__memory_at(hazard->address) : NULL;
    if (!block && strstr(hazard->message, "cj_mem_wrap"))
        return "memory of the host is reached after cuMemHostRegister, or where cuMemHostAlloc or cuMemAllocManaged "
               "allocates it (cudaHostRegister, cudaMallocHost, cudaMallocManaged)";
    if (strcmp(hazard->rule, "out-of-bounds") || !block || block->gpu == gpu || block->type != CJ_MEMORY_DEVICE)
        return hazard->hint;
    snprintf(buffer, size,
             "it is memory of device %d: call cuCtxEnablePeerAccess (cudaDeviceEnablePeerAccess) on device %d first",
             block->gpu->ordinal, gpu->ordinal);
    return buffer;
}

enum { MODULE_NAME = 40 };

// The module's name in the report. Its PTX goes there before the first finding.
static const char *name_of(cj_mod *mod, char name[MODULE_NAME]) {
    snprintf(name, MODULE_NAME, "%ld.%llu", (long)getpid(), (unsigned long long)mod->number);
    if (!__atomic_exchange_n(&mod->told, true, __ATOMIC_RELAXED)) cj__report_ptx(name, mod->ptx);
    return name;
}

static void tell(cj_fun *fun, const cj_hazard *hazard) {
    const cj_gpu        *gpu = fun->mod->context->gpu;
    const CUresult       code = fault_of(hazard->rule);
    const cj_report_side sides[2] = {side_of(fun->mod, &hazard->second), side_of(fun->mod, &hazard->first)};
    char                 kernel[256], hint[256], name[MODULE_NAME];
    const cj_record      record = {.kind = code ? "fault" : "hazard",
                                   .call = cj__thread.call,
                                   .kernel = cj_function_source_name(fun->code, kernel, sizeof kernel),
                                   .rule = hazard->rule,
                                   .message = hazard->message,
                                   .hint = hint_of(gpu, hazard, hint, sizeof hint),
                                   .code = code,
                                   .device = gpu->ordinal,
                                   .count = hazard->count,
                                   .side = sides,
                                   .sides = hazard->first.line ? 2 : 1,
                                   .module = name_of(fun->mod, name)};
    cj__report(&record);
}

// The findings of a launch, copied while its device runs nothing else.
typedef struct findings {
    cj_hazard *hazard;
    size_t     count;
} findings;

static findings copy_findings(const cj_device *device) {
    findings found = {.count = cj_cpu_hazard_count(device)};
    found.hazard = malloc((found.count + 1) * sizeof *found.hazard);
    if (!found.hazard) found.count = 0;
    for (size_t i = 0; i < found.count; i++) found.hazard[i] = *cj_cpu_hazard_at(device, i);
    return found;
}

static CUresult judge(cj_fun *fun, const findings *found) {
    CUresult code = CUDA_SUCCESS;
    for (size_t i = 0; i < found->count; i++) {
        tell(fun, &found->hazard[i]);
        if (!code) code = fault_of(found->hazard[i].rule);
    }
    if (code) fun->mod->context->fault = code;
    return code;
}

// ---- attributes

static cj_dim3 dim_of(unsigned x, unsigned y, unsigned z) { return (cj_dim3){x, y, z}; }

static CUresult read_attribute(const CUlaunchAttribute *given, cj_launch_config *config) {
    const CUlaunchAttributeValue *value = &given->value;
    cj_launch_attributes         *to = &config->attributes;
    switch (given->id) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        config->cluster = dim_of(value->clusterDim.x, value->clusterDim.y, value->clusterDim.z);
        break;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
        to->preferred_cluster = dim_of(value->preferredClusterDim.x, value->preferredClusterDim.y,
                                       value->preferredClusterDim.z);
        break;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: to->cooperative = value->cooperative != 0; break;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        to->programmatic = value->programmaticStreamSerializationAllowed != 0;
        break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: to->priority = value->priority; break;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        to->cluster_scheduling = (cj_cluster_scheduling)value->clusterSchedulingPolicyPreference;
        break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: to->sync_domain = (cj_sync_domain)value->memSyncDomain; break;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        if (value->deviceUpdatableKernelNode.deviceUpdatable)
            return cj__refuse(CUDA_ERROR_NOT_SUPPORTED, "the launch attribute deviceUpdatableKernelNode");
        break;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        if (!cj__object_find(CJ_EVENT, value->programmaticEvent.event))
            return cj__refuse_handle(CJ_EVENT, value->programmaticEvent.event);
        break;
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        if (!cj__object_find(CJ_EVENT, value->launchCompletionEvent.event))
            return cj__refuse_handle(CJ_EVENT, value->launchCompletionEvent.event);
        break;
    default:  // what says how fast a kernel runs, and not what it does
        if ((unsigned)given->id >= CU_LAUNCH_ATTRIBUTE_MAX)
            return cj__refuse(CUDA_ERROR_INVALID_VALUE, "launch attribute %d is not known", (int)given->id);
    }
    return CUDA_SUCCESS;
}

static CUresult read_attributes(const cj_launch_work *launch, cj_launch_config *config) {
    CUresult code = CUDA_SUCCESS;
    if (launch->attributes && !launch->attribute) return cj__refuse_null("attrs");
    for (unsigned i = 0; i < launch->attributes && !code; i++) code = read_attribute(&launch->attribute[i], config);
    return code;
}

// Events that a launch records when it has begun, or ended: here it has ended.
static void record_events(const cj_launch_work *launch) {
    for (unsigned i = 0; i < launch->attributes; i++) {
        const CUlaunchAttribute *given = &launch->attribute[i];
        const void *handle = given->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ? given->value.programmaticEvent.event
                             : given->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT
                                 ? given->value.launchCompletionEvent.event
                                 : NULL;
        cj_event   *event = handle ? cj__object_find(CJ_EVENT, handle) : NULL;
        if (event) cj__event_record(event);
    }
}

// ---- launches

// More dynamic shared memory than 48 KiB takes the function's leave, as on a GPU.
static CUresult check_shared(const cj_launch_work *launch) {
    const cj_fun  *fun = launch->fun;
    cj_entry_info  info = {CJ_INIT(info)};
    const uint32_t most = fun->mod->context->gpu->limits->shared_per_block;
    cj_function_info(fun->code, &info, NULL);
    const int      opted = fun->attribute[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES];
    const uint32_t otherwise = info.static_shared < most ? most - info.static_shared : 0;
    const uint32_t allowed = opted < 0 ? otherwise : (uint32_t)opted;
    if (launch->shared <= allowed || launch->shared <= otherwise) return CUDA_SUCCESS;
    cj__refuse(CUDA_ERROR_INVALID_VALUE, "%s: %u bytes of dynamic shared memory, of %u that are allowed", fun->name,
               launch->shared, allowed);
    cj__hint("set CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES (cudaFuncAttributeMaxDynamicSharedMemorySize) first");
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult check_arguments(const cj_launch_work *launch) {
    const cj_function *code = launch->fun->code;
    const uint32_t     count = cj_function_param_count(code);
    if (count && !launch->argument)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "%s takes %u arguments, and none are given", launch->fun->name,
                          count);
    for (uint32_t i = 0; i < count; i++) {
        if (!launch->argument[i])
            return cj__refuse(CUDA_ERROR_INVALID_VALUE, "%s: the pointer to argument %u (%s) is NULL",
                              launch->fun->name, i, cj_function_param_name(code, i));
    }
    return CUDA_SUCCESS;
}

CUresult cj__launch_check(const cj_launch_work *launch) {
    cj_launch_config config = {CJ_INIT(config)};
    CUresult         code = cj__fun_prepare(launch->fun);
    if (!code) code = check_arguments(launch);
    if (!code) code = check_shared(launch);
    return code ? code : read_attributes(launch, &config);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

// The device runs one kernel at a time, so that findings are those of this launch.
static cj_status run(cj_gpu *gpu, const cj_launch_config *config, findings *found, double *seconds, cj_error *error) {
    pthread_mutex_lock(&gpu->run);
    const double    start = now();
    const cj_status status = cj_launch(gpu->device, config, error);
    *seconds = now() - start;
    if (status == CJ_HAZARD) *found = copy_findings(gpu->device);
    pthread_mutex_unlock(&gpu->run);
    return status;
}

static CUresult run_unlocked(cj_fun *fun, const cj_launch_config *config) {
    findings    found = {0};
    cj_error    error = {0};
    cj_pause    pause;
    double      seconds = 0;
    cj_context *context = cj__keep(fun->mod->context);
    cj__keep(fun);
    pause = cj__pause();
    const cj_status status = run(context->gpu, config, &found, &seconds, &error);
    cj__resume(pause);
    cj__counts.launches++;
    cj__counts.seconds += seconds;
    CUresult code = status == CJ_HAZARD ? judge(fun, &found) : status ? cj__refuse_error(&error) : CUDA_SUCCESS;
    free(found.hazard);
    cj__let(fun);
    cj__let(context);
    return code;
}

CUresult cj__launch_run(const cj_launch_work *launch) {
    cj_fun          *fun = launch->fun;
    cj_launch_config config = {CJ_INIT(config), .grid = launch->grid, .block = launch->block,
                               .dynamic_shared = launch->shared, .arguments = (void *const *)launch->argument};
    // A graph may hold a function whose module was unloaded.
    if (!cj__object_find(CJ_FUNCTION, HANDLE_OF(fun))) return cj__refuse_handle(CJ_FUNCTION, HANDLE_OF(fun));
    CUresult code = cj__fun_prepare(fun);
    if (!code) code = read_attributes(launch, &config);
    if (code) return code;
    config.function = fun->code;
    config.argument_count = cj_function_param_count(fun->code);
    config.nonportable = fun->attribute[CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED] != 0;
    code = run_unlocked(fun, &config);
    if (!code) record_events(launch);
    return code;
}
