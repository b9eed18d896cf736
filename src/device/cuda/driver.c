// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "error.h"

typedef struct library {
    PFN_cuGetProcAddress_v12000 get;         // CUDA 12 and later
    PFN_cuGetProcAddress_v11030 get_v11030;  // before
    CUresult                    refusal;     // why the last symbol was not found, if the driver gave a reason
} library;

// ISO C has no cast from dlsym's object pointer to a function pointer.
static cj_proc to_proc(void *symbol) {
    cj_proc proc;
    _Static_assert(sizeof proc == sizeof symbol, "function and object pointers are of one size");
    memcpy(&proc, &symbol, sizeof proc);
    return proc;
}

static cj_proc resolve_in_library(void *user, const char *symbol, int version) {
    library *lib = user;
    void    *found = NULL;
    CUresult result = lib->get ? lib->get(symbol, &found, version, CU_GET_PROC_ADDRESS_DEFAULT, NULL)
                               : lib->get_v11030(symbol, &found, version, CU_GET_PROC_ADDRESS_DEFAULT);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_FOUND) lib->refusal = result;
    return result == CUDA_SUCCESS ? to_proc(found) : NULL;
}

static cj_status open_library(library *lib, cj_error *error) {
    void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *why = dlerror();
        cj__fail(error, CJ_NO_DEVICE, "libcuda.so.1 was not found");
        cj__hint(error, "install the NVIDIA driver, or use the cpu device (dlopen: %.200s)", why ? why : "no reason");
        return CJ_NO_DEVICE;
    }
    lib->get = (PFN_cuGetProcAddress_v12000)to_proc(dlsym(handle, "cuGetProcAddress_v2"));
    lib->get_v11030 = (PFN_cuGetProcAddress_v11030)to_proc(dlsym(handle, "cuGetProcAddress"));
    if (lib->get || lib->get_v11030) return CJ_OK;
    cj__fail(error, CJ_UNSUPPORTED, "libcuda.so.1 has no cuGetProcAddress: the driver is older than CUDA 11.3");
    cj__hint(error, "install a driver for CUDA 12 or later");
    return CJ_UNSUPPORTED;
}

enum { OPTIONAL, NEEDED };

static const struct {
    const char *name;
    int         version;
    int         need;
    size_t      at;
} symbols[] = {
#define CJ_X(name, version, need) {"cu" #name, version, need, offsetof(cj_driver, name)},
    CJ_DRIVER_LIST(CJ_X)
#undef CJ_X
};

static cj_status missing_symbol(const cj_driver *driver, const char *symbol, int version, cj_error *error) {
    int own = 0;
    if (driver->DriverGetVersion) driver->DriverGetVersion(&own);
    cj__fail(error, CJ_UNSUPPORTED, "the driver (CUDA %d.%d) lacks %s in its version of CUDA %d.%d", own / 1000,
             own % 1000 / 10, symbol, version / 1000, version % 1000 / 10);
    cj__hint(error, "install a driver for CUDA 12 or later, or use the cpu device");
    return CJ_UNSUPPORTED;
}

cj_status cj__driver_load(cj_driver *driver, cj_resolver resolver, void *user, cj_error *error) {
    library lib = {.refusal = CUDA_SUCCESS};
    if (!resolver) {
        cj_status status = open_library(&lib, error);
        if (status) return status;
        resolver = resolve_in_library;
        user = &lib;
    }
    *driver = (cj_driver){0};
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        cj_proc proc = resolver(user, symbols[i].name, symbols[i].version);
        memcpy((char *)driver + symbols[i].at, &proc, sizeof proc);
        if (proc || symbols[i].need == OPTIONAL) continue;
        // The stub refuses every symbol with its own code.
        if (lib.refusal) return cj__driver_fail(driver, lib.refusal, "cuGetProcAddress", error);
        return missing_symbol(driver, symbols[i].name, symbols[i].version, error);
    }
    return CJ_OK;
}
