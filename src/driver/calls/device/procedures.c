// SPDX-License-Identifier: Apache-2.0
// Finding functions of the API, and those that NVIDIA's own libraries ask for.
#include "system.h"  // before the first header: dladdr

#include <dlfcn.h>
#include <string.h>

#include "calls.h"
#include "hook.h"
#include "report.h"

static struct {
    const cj_call *calls;
    size_t         count;
} every;

void cj__calls_set(const cj_call *calls, size_t count) {
    every.calls = calls;
    every.count = count;
}

// The newest function of a name that a program for this version of CUDA may call.
static CUdriverProcAddressQueryResult look_up(const char *name, int version, void **address) {
    int             best = -1;
    bool            known = false;
    cj_call_address found = NULL;
    for (const cj_call *c = every.calls; c < every.calls + every.count; c++) {
        if (strcmp(c->name, name)) continue;
        known = true;
        if (c->since > version || c->since < best) continue;
        best = c->since;
        found = c->address;
    }
    memcpy(address, &found, sizeof found);
    return found   ? CU_GET_PROC_ADDRESS_SUCCESS
           : known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                   : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
}

static CUresult find(const char *name, void **address, int version, cuuint64_t flags,
                     CUdriverProcAddressQueryResult *status) {
    const cuuint64_t known = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if (!name || !address || flags & ~known) return CUDA_ERROR_INVALID_VALUE;
    const CUdriverProcAddressQueryResult found = look_up(name, version, address);
    if (status) *status = found;
    return found == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char *name, void **address, int version, cuuint64_t flags) {
    return find(name, address, version, flags, NULL);
}

CUresult cuGetProcAddress_v2(const char *name, void **address, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status) {
    return find(name, address, version, flags, status);
}

static void tell(const char *kind, const char *call, const char *message, const char *hint) {
    const cj_record record = {.kind = kind, .call = call, .message = message, .hint = hint, .count = 1};
    cj__report_once(&record);
}

static const char *speak_for(const char *call) {
    const char *before = cj__thread.spoken_for;
    cj__thread.spoken_for = call;
    return before;
}

static const cj_hook hook = {.bytes = sizeof hook, .tell = tell, .speak_for = speak_for};
_Static_assert(sizeof CJ_HOOK_ID == sizeof(CUuuid) + 1, "the id is a CUuuid");

// NVRTC and nvJitLink ask for tables, too, and do without.
static bool is_in_a_compiler(const void *code) {
    Dl_info     about;
    const char *file = code && dladdr(code, &about) ? about.dli_fname : NULL;
    const char *slash = file ? strrchr(file, '/') : NULL;
    const char *name = slash ? slash + 1 : file;
    return name && (!strncmp(name, "libnvrtc", 8) || !strncmp(name, "libnvJitLink", 12));
}

// NVIDIA's runtime looks for tables that no document describes, and does not run without them.
CUresult cuGetExportTable(const void **table, const CUuuid *id) {
    if (table && id && !memcmp(id, CJ_HOOK_ID, sizeof *id)) {
        *table = &hook;
        return CUDA_SUCCESS;
    }
    if (table) *table = NULL;
    if (is_in_a_compiler(__builtin_return_address(0))) return CUDA_ERROR_NOT_FOUND;
    const cj_record record = {.kind = "refused",
                              .call = __func__,
                              .message = "the program asks for private tables of NVIDIA's driver: it has NVIDIA's CUDA "
                                         "runtime in it, which was linked statically",
                              .hint = "link it with -cudart shared",
                              .code = CUDA_ERROR_NOT_FOUND,
                              .count = 1};
    cj__report_once(&record);
    return CUDA_ERROR_NOT_FOUND;
}
