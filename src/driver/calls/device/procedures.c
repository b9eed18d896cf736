// SPDX-License-Identifier: Apache-2.0
// Finding functions of the API, and those that NVIDIA's own libraries ask for.
#include "system.h"  // before the first header: dladdr

#include <dlfcn.h>
#include <stdio.h>
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

// The name of the program or the library that has this code.
static const char *name_of(const void *code) {
    Dl_info     about;
    const char *file = code && dladdr(code, &about) ? about.dli_fname : NULL;
    const char *slash = file ? strrchr(file, '/') : NULL;
    return slash ? slash + 1 : file ? file : "the program";
}

static bool is_one_of(const char *name, const char *const *begins) {
    for (; *begins; begins++) {
        if (!strncmp(name, *begins, strlen(*begins))) return true;
    }
    return false;
}

// They ask for tables, too, and do without.
static const char *const compilers[] = {"libnvrtc", "libnvJitLink", NULL};
// These have the runtime in them, and kernels as machine code.
static const char *const libraries[] = {"libcublas",   "libcudnn",    "libcufft",    "libcurand",
                                        "libcusolver", "libcusparse", "libcutensor", "libnccl",
                                        "libnpp",      "libnvjpeg",   NULL};

static void tell_of_tables(const char *name) {
    const bool is_library = is_one_of(name, libraries);
    char       message[256];
    snprintf(message, sizeof message,
             "%.100s asks for private tables of NVIDIA's driver: it has NVIDIA's CUDA runtime in it, which was linked "
             "statically",
             name);
    const cj_record record = {
        .kind = is_library ? "unsupported" : "refused",
        .call = "cuGetExportTable",
        .message = message,
        .hint = is_library ? "it is NVIDIA's, and does not run on the CPU device: have the program do without it"
                           : "link it with -cudart shared",
        .code = CUDA_ERROR_NOT_FOUND,
        .count = 1};
    cj__report_once(&record);
}

// NVIDIA's runtime looks for tables that no document describes, and does not run without them.
CUresult cuGetExportTable(const void **table, const CUuuid *id) {
    if (table && id && !memcmp(id, CJ_HOOK_ID, sizeof *id)) {
        *table = &hook;
        return CUDA_SUCCESS;
    }
    if (table) *table = NULL;
    const char *name = name_of(__builtin_return_address(0));
    if (!is_one_of(name, compilers)) tell_of_tables(name);
    return CUDA_ERROR_NOT_FOUND;
}
