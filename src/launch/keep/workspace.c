// SPDX-License-Identifier: Apache-2.0
#include "workspace.h"

#include <inttypes.h>

#include "keep.h"
#include "sized.h"

enum { ALIGNMENT = 256 };  // that of cj_mem_alloc, which kernels rely on

cj_status cj_workspaces_set(cj_device *device, const cj_workspaces *workspaces, cj_error *error) {
    REQUIRE(device);
    SIZED_OR_NULL(cj_workspaces, workspaces);
    REFUSE_IF(workspaces && (!workspaces->allocate || !workspaces->free),
              "cj_workspaces: %s is NULL" CJ_HINT "give both functions, or NULL for the device's own memory",
              workspaces->allocate ? "free" : "allocate");
    cj_keep *keep;
    TRY(cj__keep_of(device, &keep, error));
    pthread_mutex_lock(&keep->workspaces_lock);
    keep->workspaces = workspaces ? *workspaces : (cj_workspaces){CJ_INIT(cj_workspaces)};
    pthread_mutex_unlock(&keep->workspaces_lock);
    return CJ_OK;
}

static cj_status allocate(cj_device *device, cj_workspace *w, cj_error *error) {
    if (!w->from.allocate) return cj_mem_alloc(device, w->bytes, &w->memory, error);
    w->memory = w->from.allocate(w->from.user, w->bytes, w->stream);
    FAIL_IF(!w->memory, CJ_OUT_OF_MEMORY,
            "the program's cj_workspaces has no %zu bytes for a workspace" CJ_HINT
            "free memory of its pool, or set cj_workspaces_set(device, NULL, …)",
            w->bytes);
    REFUSE_IF(w->memory % ALIGNMENT,
              "cj_workspaces: allocate gave 0x%" PRIx64 ", which is not a multiple of %d" CJ_HINT "round addresses up",
              (uint64_t)w->memory, ALIGNMENT);
    return CJ_OK;
}

cj_status cj__workspace_take(cj_device *device, size_t bytes, cj_stream stream, cj_workspace *workspace,
                             cj_error *error) {
    cj_keep     *keep;
    cj_workspace w = {.bytes = bytes};
    TRY(cj__keep_of(device, &keep, error));
    pthread_mutex_lock(&keep->workspaces_lock);
    w.from = keep->workspaces;
    pthread_mutex_unlock(&keep->workspaces_lock);
    if (w.from.allocate) w.stream = stream;  // the device's own memory is any stream's
    cj_status status = allocate(device, &w, error);
    if (!status) status = cj_mem_fill(device, w.memory, 0, bytes, w.stream, error);
    if (!status) status = cj_synchronize(device, w.stream, error);
    if (status)
        cj__workspace_give(device, &w);
    else
        *workspace = w;
    return status;
}

void cj__workspace_give(cj_device *device, cj_workspace *w) {
    if (!w->memory) return;
    if (w->from.free)
        w->from.free(w->from.user, w->memory, w->bytes, w->stream);
    else
        cj_mem_free(device, w->memory);
}
