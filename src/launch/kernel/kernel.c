// SPDX-License-Identifier: Apache-2.0
// A kernel: plan and text, loaded on a device, with its workspace. Everything that can fail or allocate happens in
// load.
#include <clusterjit/kernel.h>
#include <clusterjit/occupancy.h>
#include <clusterjit/tuning.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "error.h"
#include "family.h"
#include "keep.h"
#include "recent.h"
#include "sized.h"
#include "together.h"
#include "workspace.h"

struct cj_kernel {
    cj_device       *device;
    cj_plan          plan;
    char            *ptx;
    cj_module       *module;
    cj_workspace     workspace;
    cj_launch_config config;     // without the stream and the arguments
    cj_recent        recent;     // what was computed from its last launch's arguments
    cj_share        *share;      // its entry among the shared kernels; NULL: the caller owns it
};

// If a grid must be resident, the driver's count replaces the plan's; if the driver cannot count, the plan's stays.
static void fit_grid(cj_kernel *kernel) {
    cj_plan                 *plan = &kernel->plan;
    const cj_occupancy_query query = {CJ_INIT(query), .block = plan->block, .cluster = plan->cluster,
                                      .dynamic_shared = plan->dynamic_shared};
    cj_cluster_occupancy     o = {CJ_INIT(o)};
    if (!plan->resident || cj_function_occupancy(kernel->config.function, &query, &o, NULL)) return;
    uint32_t most = o.active_clusters * (plan->cluster.x ? plan->cluster.x : 1);
    most -= most % plan->resident;
    if (most && most < plan->grid.x) plan->grid.x = kernel->config.grid.x = most;
}

static cj_status load(cj_kernel *kernel, cj_stream stream, cj_error *error) {
    cj_device *device = kernel->device;
    cj_plan *plan = &kernel->plan;
    size_t length;
    cj_status status = cj_plan_emit(plan, &kernel->ptx, &length, error);
    if (status) return status;
    status = cj_module_get(device, kernel->ptx, length, &kernel->module, error);
    if (status) return status;
    status = cj_module_function(kernel->module, plan->entry, &kernel->config.function, error);
    if (status) return status;
    fit_grid(kernel);
    if (!plan->workspace_bytes) return CJ_OK;
    return cj__workspace_take(device, plan->workspace_bytes, stream, &kernel->workspace, error);
}

// `stream`: that of its first launch; NULL: any.
static cj_status load_for(cj_device *device, const cj_plan *plan, cj_stream stream, cj_kernel **kernel,
                          cj_error *error) {
    cj_kernel *made = cj__calloc(1, sizeof *made);
    if (!made) return cj__fail(error, CJ_OUT_OF_MEMORY, "out of memory while creating a kernel");
    made->device = device;
    made->plan = *plan;
    cj__params_share(&plan->params);
    made->config.struct_size = sizeof made->config;
    made->config.grid = plan->grid;
    made->config.block = plan->block;
    made->config.cluster = plan->cluster;
    made->config.dynamic_shared = plan->dynamic_shared;
    made->config.nonportable = true;
    made->config.attributes.programmatic = plan->programmatic;
    made->config.attributes.cooperative = plan->cooperative;
    cj_status status = load(made, stream, error);
    if (status) {
        cj_kernel_destroy(made);
        return status;
    }
    *kernel = made;
    return CJ_OK;
}

cj_status cj_kernel_load(cj_device *device, const cj_plan *plan, cj_kernel **kernel, cj_error *error) {
    REQUIRE(device);
    REQUIRE_KNOWN(cj_plan, plan);
    REQUIRE(kernel);
    *kernel = NULL;
    REQUIRE(plan->params.family);
    return load_for(device, plan, NULL, kernel, error);
}

static cj_status create_for(cj_device *device, const cj_params *params, cj_stream stream, cj_kernel **kernel,
                            cj_error *error) {
    cj_plan plan;
    TRY(cj_tuning_plan(device, params, NULL, &plan, error));
    return load_for(device, &plan, stream, kernel, error);
}

cj_status cj_kernel_create(cj_device *device, const cj_params *params, cj_kernel **kernel, cj_error *error) {
    REQUIRE(device);
    REQUIRE(params);
    REQUIRE(params->family);
    REQUIRE(kernel);
    *kernel = NULL;
    return create_for(device, params, NULL, kernel, error);
}

void cj_kernel_destroy(cj_kernel *kernel) {
    if (!kernel) return;
    cj__workspace_give(kernel->device, &kernel->workspace);
    cj_module_release(kernel->module);
    cj_text_free(kernel->ptx);
    cj__params_drop(&kernel->plan.params);
    cj__free(kernel);
}

// Callers share a kernel if they have the same parameters and the same stream, since a kernel has one workspace.
// `words` are the parameters' values and then their functions, as many as the family has parameters; the key's size
// depends on that number.
typedef struct shared_key {
    const cj_family *family;
    cj_stream_id     on;
    double           reals[CJ_REALS_MAX];
    uint64_t         words[2 * CJ_PARAM_MAX];
} shared_key;

// Returns the bytes of the key. Padding is compared too, so there must be none.
_Static_assert(sizeof(shared_key) == sizeof(cj_family *) + sizeof(cj_stream_id) + sizeof(double[CJ_REALS_MAX]) +
                                         sizeof(uint64_t[2 * CJ_PARAM_MAX]), "a shared_key has no padding");
static size_t make_key(const cj_params *params, cj_stream stream, shared_key *key) {
    const size_t count = cj_family_param_count(params->family);
    key->family = params->family;
    key->on = cj__stream_id(stream);
    memcpy(key->reals, params->reals, sizeof key->reals);
    memcpy(key->words, params->value, count * sizeof *params->value);
    for (size_t i = 0; i < count; i++) key->words[count + i] = (uintptr_t)params->function[i];
    return offsetof(shared_key, words) + 2 * count * sizeof *key->words;
}

typedef struct request {
    cj_device       *device;
    const cj_params *params;
    cj_stream        stream;
} request;

static cj_status make_shared(void *user, cj_share *share, void **value, cj_error *error) {
    const request *wanted = user;
    cj_kernel     *kernel;
    cj_status      status = create_for(wanted->device, wanted->params, wanted->stream, &kernel, error);
    if (status) return status;
    kernel->share = share;
    *value = kernel;
    return CJ_OK;
}

cj_status cj_kernel_get(cj_device *device, const cj_params *params, cj_stream stream, cj_kernel **kernel,
                        cj_error *error) {
    REQUIRE(device);
    REQUIRE(params);
    REQUIRE(params->family);
    REQUIRE(kernel);
    cj_keep   *keep;
    void      *found = NULL;
    request      wanted = {device, params, stream};
    shared_key key;
    const size_t bytes = make_key(params, stream, &key);
    cj_status status = cj__keep_of(device, &keep, error);
    if (!status) status = cj__registry_get(&keep->kernels, &key, bytes, make_shared, &wanted, &found, error);
    if (!status) *kernel = found;
    return status;
}

void cj_kernel_release(cj_kernel *kernel) {
    if (kernel) cj_kernel_destroy(cj__registry_drop(&cj__keep(kernel->device)->kernels, kernel->share));
}

cj_recent     *cj__kernel_recent(cj_kernel *kernel) { return &kernel->recent; }
const cj_plan *cj_kernel_plan(const cj_kernel *kernel) { return kernel ? &kernel->plan : NULL; }
const char    *cj_kernel_ptx(const cj_kernel *kernel) { return kernel ? kernel->ptx : NULL; }

cj_device     *cj__kernel_device(const cj_kernel *kernel) { return kernel->device; }

cj_status cj__kernel_ready(cj_kernel *kernel, cj_stream stream, void *const *arguments, uint32_t count, cj_ready *ready,
                           cj_error *error) {
    cj_plan *plan = &kernel->plan;
    void   **all = ready->argument;
    if (count + plan->derived_count + 2 > CJ_KERNEL_ARGUMENTS)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "%u arguments are more than any kernel family takes", count);
    uint32_t n = 0;
    while (n < count) all[n] = arguments[n], n++;
    for (uint32_t i = 0; i < plan->derived_count; i++) all[n++] = &plan->derived[i];
    ready->turn = 0;
    if (plan->launches) all[n++] = &ready->turn;
    all[n++] = &kernel->workspace.memory;
    ready->config = kernel->config;
    ready->config.stream = stream;
    ready->config.arguments = all;
    ready->config.argument_count = n;
    return CJ_OK;
}

cj_status cj_kernel_launch(cj_kernel *kernel, cj_stream stream, void *const *arguments, uint32_t count,
                           cj_error *error) {
    REQUIRE(kernel);
    if (count) REQUIRE(arguments);
    cj_ready  ready;
    cj_status status = cj__kernel_ready(kernel, stream, arguments, count, &ready, error);
    if (status) return status;
    do status = cj_launch(kernel->device, &ready.config, error);
    while (!status && ++ready.turn < kernel->plan.launches);
    return status;
}
