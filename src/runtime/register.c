// SPDX-License-Identifier: Apache-2.0
// What nvcc's code registers before main: fat binaries, and the kernels and variables in them, each with something of the host's
// that stands for it. A fat binary is loaded, for all devices, when one of its kernels or variables is first wanted.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "runtime.h"

// A fat binary of the program.
typedef struct unit {
    void          *wrapper;
    CUlibrary      library;  // NULL: not loaded
    struct entity *symbols;
} unit;

// A kernel or a variable, found by its host address.
typedef struct entity {
    const void    *host;
    const char    *name;  // in the PTX; the program's text
    unit          *unit;
    struct entity *next;  // of the unit
    bool           is_kernel;
    CUkernel       kernel;   // once it was wanted
    void         **managed;  // a managed variable's address goes here when the unit is loaded
} entity;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cj_map          symbols;  // entity, by host address

// ---- what nvcc's code calls

void **__cudaRegisterFatBinary(void *wrapper) {
    unit *made = calloc(1, sizeof *made);
    if (!made) abort();  // before main, and nobody looks at an error
    made->wrapper = wrapper;
    return (void **)made;
}

void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }

void __cudaUnregisterFatBinary(void **handle) {
    unit *ended = (unit *)(void *)handle;
    if (!ended) return;
    pthread_mutex_lock(&lock);
    for (entity *s = ended->symbols, *next; s; s = next) {
        next = s->next;
        cj__map_remove(&symbols, (const char *)&s->host, sizeof s->host);
        free(s);
    }
    pthread_mutex_unlock(&lock);
    if (ended->library) cuLibraryUnload(ended->library);
    free(ended);
}

static entity *find(const void *host) { return cj__map_get(&symbols, (const char *)&host, sizeof host); }

static entity *add(void **handle, const void *host, const char *name) {
    unit   *of = (unit *)(void *)handle;
    entity *made = calloc(1, sizeof *made);
    if (!made) abort();
    *made = (entity){.host = host, .name = name, .unit = of};
    pthread_mutex_lock(&lock);
    if (find(host)) {  // units share an inline function's host address: the first one serves
        free(made);
        made = NULL;
    } else {
        made->next = of->symbols;
        of->symbols = made;
        if (!cj__map_put(&symbols, (const char *)&made->host, sizeof made->host, made)) abort();
    }
    pthread_mutex_unlock(&lock);
    return made;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, uint3 *tid,
                            uint3 *bid, dim3 *block, dim3 *grid, int *warp) {
    (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    entity *made = add(handle, host, name);
    if (made) made->is_kernel = true;
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes,
                       int constant, int global) {
    (void)device, (void)external, (void)bytes, (void)constant, (void)global;
    add(handle, host, name);
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external, size_t bytes,
                              int constant, int global) {
    (void)device, (void)external, (void)bytes, (void)constant, (void)global;
    entity *made = add(handle, host, name);
    if (made) made->managed = host;
}

// ---- loading, with the lock held

static CUresult place_managed(const entity *s) {
    CUdeviceptr address = 0;
    size_t      bytes = 0;
    CUresult    result = cuLibraryGetManaged(&address, &bytes, s->unit->library, s->name);
    if (!result) *s->managed = (void *)(uintptr_t)address;
    return result;
}

static CUresult load(unit *wanted) {
    if (wanted->library) return CUDA_SUCCESS;
    CUresult result = cuLibraryLoadData(&wanted->library, wanted->wrapper, NULL, NULL, 0, NULL, NULL, 0);
    if (result) wanted->library = NULL;
    for (const entity *s = wanted->symbols; !result && s; s = s->next)
        if (s->managed) result = place_managed(s);
    return result;
}

// Called before the program's first use of its managed variables; what fails is told by the driver, and again at a launch.
char __cudaInitModule(void **handle) {
    SPEAK_FOR("__cudaInitModule");
    CUresult result = cj__begin();
    pthread_mutex_lock(&lock);
    if (!result) result = load((unit *)(void *)handle);
    pthread_mutex_unlock(&lock);
    return result == CUDA_SUCCESS;
}

// ---- kernels

static CUresult kernel_of(entity *s, CUkernel *kernel) {
    CUresult result = s->kernel ? CUDA_SUCCESS : load(s->unit);
    if (!result && !s->kernel) result = cuLibraryGetKernel(&s->kernel, s->unit->library, s->name);
    *kernel = s->kernel;
    return result;
}

cudaError_t cj__kernel_of(const char *call, const void *named, CUkernel *kernel) {
    CUresult result = CUDA_SUCCESS;
    if (!named) return cj__refuse(call, cudaErrorInvalidDeviceFunction, "the kernel is NULL");
    pthread_mutex_lock(&lock);
    entity    *s = find(named);
    const bool is_variable = s && !s->is_kernel;
    if (s && s->is_kernel) result = kernel_of(s, kernel);
    pthread_mutex_unlock(&lock);
    if (is_variable)
        return cj__refuse(call, cudaErrorInvalidDeviceFunction, "%p is the variable %s, not a kernel", named, s->name);
    if (result == CUDA_ERROR_NOT_FOUND)
        return cj__refuse(call, cudaErrorInvalidDeviceFunction, "the program's PTX has no kernel %s", s->name);
    if (s) return cj__result(result);
    *kernel = (CUkernel)(uintptr_t)named;  // the driver's own handle, which it checks
    return cudaSuccess;
}

// A handle of a kernel, or already of a function; nobody is told of the question which it is.
static bool make_function(CUkernel kernel, CUfunction *function) {
    SPEAK_FOR("");
    CUmodule owner = NULL;
    if (!cuKernelGetFunction(function, kernel)) return true;
    *function = (CUfunction)(void *)kernel;
    return !cuFuncGetModule(&owner, *function);
}

cudaError_t cj__function_of(const char *call, const void *named, CUfunction *function) {
    CUkernel          kernel = NULL;
    const cudaError_t failed = cj__kernel_of(call, named, &kernel);
    if (failed || make_function(kernel, function)) return failed;
    return cj__refuse(call, cudaErrorInvalidDeviceFunction,
                      "%p is no kernel: neither a __global__ function of the program nor a handle of one", named);
}

void *cj__host_of(CUfunction function) {
    void *found = (void *)function;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < symbols.capacity; i++) {
        const entity *s = symbols.slot[i].value;
        CUfunction    its = NULL;
        if (!s || !s->kernel || cuKernelGetFunction(&its, s->kernel) || its != function) continue;
        found = (void *)(uintptr_t)s->host;
        break;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

// nvcc's code asks once for each kernel and keeps the answer, but does not look at the error. Where it fails, the host function
// stands for the kernel, so that each launch fails with the reason.
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host) {
    SPEAK_FOR("cudaLaunchKernel");
    CUkernel       found = NULL;
    const CUresult begun = cj__begin();
    cudaError_t    code = begun ? cj__result(begun) : cj__kernel_of("cudaLaunchKernel", host, &found);
    *kernel = code ? (cudaKernel_t)(uintptr_t)host : found;
    return code;
}

cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *host) {
    REQUIRE(kernel);
    BEGIN();
    return cj__kernel_of(__func__, host, kernel);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *host) {
    REQUIRE(function);
    BEGIN();
    return cj__function_of(__func__, host, function);
}

// ---- variables

// A managed variable is named by where its address is kept, or by its address.
static entity *find_variable(const void *named) {
    entity *found = find(named);
    if (found) return found->is_kernel ? NULL : found;
    for (size_t i = 0; i < symbols.capacity; i++) {
        entity *s = symbols.slot[i].value;
        if (s && s->managed && *s->managed == named) return s;
    }
    return NULL;
}

cudaError_t cj__symbol_of(const char *call, const void *named, CUdeviceptr *address, size_t *bytes) {
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    entity *s = named ? find_variable(named) : NULL;
    if (s) result = load(s->unit);
    if (s && !result && s->managed)
        result = cuLibraryGetManaged(address, bytes, s->unit->library, s->name);
    else if (s && !result)
        result = cuLibraryGetGlobal(address, bytes, s->unit->library, s->name);
    pthread_mutex_unlock(&lock);
    if (!s)
        return cj__refuse(call, cudaErrorInvalidSymbol, "%p is no __device__ or __constant__ variable of the program",
                          named);
    if (result == CUDA_ERROR_NOT_FOUND)
        return cj__refuse(call, cudaErrorInvalidSymbol, "the program's PTX has no variable %s", s->name);
    return cj__result(result);
}

cudaError_t cudaGetSymbolAddress(void **address, const void *symbol) {
    CUdeviceptr found = 0;
    size_t      bytes = 0;
    REQUIRE(address);
    BEGIN();
    const cudaError_t failed = cj__symbol_of(__func__, symbol, &found, &bytes);
    if (!failed) *address = (void *)(uintptr_t)found;
    return failed;
}

cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol) {
    CUdeviceptr found = 0;
    size_t      size = 0;
    REQUIRE(bytes);
    BEGIN();
    const cudaError_t failed = cj__symbol_of(__func__, symbol, &found, &size);
    if (!failed) *bytes = size;
    return failed;
}
