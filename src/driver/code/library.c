// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "library.h"

#include <stdlib.h>
#include <string.h>

// A library's module in one context; the handle names nothing once the context was destroyed.
typedef struct placed {
    uint64_t context, mod;
} placed;

typedef struct cj_lib {
    cj_object        base;
    char            *ptx;
    size_t           length;
    placed          *placed;
    size_t           places;
    struct cj_kern **kernel;  // one for each entry
    size_t           kernels;
} cj_lib;

typedef struct cj_kern {
    cj_object base;
    cj_lib   *lib;
    char     *name;
    int       attribute[CU_FUNC_ATTRIBUTE_MAX];  // of functions that are made of it
} cj_kern;

// ---- loading

static void release_kern(void *object) {
    free(((cj_kern *)object)->name);
    free(object);
}

static void release_lib(void *object) {
    cj_lib *lib = object;
    for (size_t i = 0; i < lib->kernels; i++) cj__let(lib->kernel[i]);
    free(lib->kernel);
    free(lib->placed);
    free(lib->ptx);
    free(lib);
}

static cj_kern *new_kern(cj_lib *lib, const char *name) {
    cj_kern *kern = cj__object_new(CJ_KERNEL, sizeof *kern, NULL, release_kern);
    if (!kern) return NULL;
    kern->lib = lib;
    kern->name = strdup(name);
    kern->attribute[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = -1;
    kern->attribute[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT] = -1;
    return kern;
}

static CUresult add_kernels(cj_lib *lib, const cj_module *module) {
    size_t count = 0;
    while (cj_module_entry(module, count)) count++;
    lib->kernel = calloc(count + 1, sizeof(*lib->kernel));
    if (!lib->kernel) return CUDA_ERROR_OUT_OF_MEMORY;
    while (lib->kernels < count) {
        cj_kern *kern = new_kern(lib, cj_module_entry(module, lib->kernels));
        if (!kern) return CUDA_ERROR_OUT_OF_MEMORY;
        lib->kernel[lib->kernels++] = cj__keep(kern);
        if (!kern->name) return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

static cj_mod *mod_in(const cj_lib *lib, const cj_context *context) {
    for (size_t i = 0; i < lib->places; i++) {
        if (lib->placed[i].context == context->base.handle)
            return cj__object_find(CJ_MODULE, (void *)(uintptr_t)lib->placed[i].mod);
    }
    return NULL;
}

static CUresult place(cj_lib *lib, cj_context *context, const cj_jit *jit, cj_mod **result) {
    cj_mod *mod = mod_in(lib, context);
    placed *grown = realloc(lib->placed, (lib->places + 1) * sizeof *grown);
    char   *text = mod ? NULL : strdup(lib->ptx);
    if (grown) lib->placed = grown;
    if (!mod && grown && text) {
        const CUresult code = cj__mod_new(context, text, lib->length, jit, &mod);
        if (code) return code;
        mod->library = true;
        mod->base.call = NULL;
        size_t at = 0;
        while (at < lib->places && lib->placed[at].context != context->base.handle) at++;
        lib->placed[at] = (placed){context->base.handle, mod->base.handle};
        if (at == lib->places) lib->places++;
    } else if (!mod) {
        free(text);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *result = mod;
    return CUDA_SUCCESS;
}

// The kernels are known from the start: of the module in the current context or, where none is, of one for their names.
static CUresult read_kernels(cj_lib *lib, const cj_jit *jit) {
    cj_context *context = cj__current();
    cj_mod     *mod = NULL;
    cj_module  *module = NULL;
    cj_error    error = {0};
    if (context && !context->fault) {
        const CUresult code = place(lib, context, jit, &mod);
        return code ? code : add_kernels(lib, mod->module);
    }
    if (cj_module_from_ptx(cj__driver.gpu[0].device, lib->ptx, lib->length, &module, &error))
        return cj__refuse_error(&error);
    const CUresult code = add_kernels(lib, module);
    cj_module_unload(module);
    return code;
}

static void destroy(cj_lib *lib) {
    for (size_t i = 0; i < lib->places; i++) {
        cj_mod *mod = cj__object_find(CJ_MODULE, (void *)(uintptr_t)lib->placed[i].mod);
        if (mod) cj__mod_destroy(mod);
    }
    for (size_t i = 0; i < lib->kernels; i++) cj__object_destroy(lib->kernel[i]);
    cj__object_destroy(lib);
}

static CUresult load(CUlibrary *result, const void *image, size_t size, const cj_jit *jit) {
    char    *text = NULL;
    size_t   length = 0;
    CUresult code = cj__image_read(image, size, &text, &length);
    if (code) return code;
    cj_lib *lib = cj__object_new(CJ_LIBRARY, sizeof *lib, NULL, release_lib);
    if (!lib) {
        free(text);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    lib->ptx = text;
    lib->length = length;
    code = read_kernels(lib, jit);
    if (code)
        destroy(lib);
    else
        *result = HANDLE_OF(lib);
    return code;
}

static CUresult check_options(unsigned count, const CUlibraryOption *option, void **value) {
    if (count && (!option || !value)) return cj__refuse_null("libraryOptions");
    for (unsigned i = 0; i < count; i++) {
        if ((unsigned)option[i] >= CU_LIBRARY_NUM_OPTIONS)
            return cj__refuse(CUDA_ERROR_INVALID_VALUE, "library option %d is not known", (int)option[i]);
    }
    return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *image, CUjit_option *jit_option, void **jit_value,
                           unsigned jit_count, CUlibraryOption *option, void **value, unsigned count) {
    ENTER(CJ_NEED_INIT);
    cj_jit jit;
    REQUIRE(library);
    TRY(cj__jit_read(&jit, jit_count, jit_option, jit_value));
    TRY(check_options(count, option, value));
    LEAVE(load(library, image, 0, &jit));
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *jit_option, void **jit_value,
                               unsigned jit_count, CUlibraryOption *option, void **value, unsigned count) {
    ENTER(CJ_NEED_INIT);
    cj_jit jit;
    char  *data = NULL;
    size_t length = 0;
    REQUIRE(library);
    REQUIRE(path);
    TRY(cj__jit_read(&jit, jit_count, jit_option, jit_value));
    TRY(check_options(count, option, value));
    TRY(cj__file_read(path, &data, &length));
    const CUresult code = load(library, data, length, &jit);
    free(data);
    LEAVE(code);
}

CUresult cuLibraryUnload(CUlibrary given) {
    ENTER(CJ_NEED_INIT);
    FIND(cj_lib, lib, CJ_LIBRARY, given);
    destroy(lib);
    LEAVE(CUDA_SUCCESS);
}

// ---- what is in a library

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary given, const char *name) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(kernel);
    REQUIRE(name);
    FIND(cj_lib, lib, CJ_LIBRARY, given);
    for (size_t i = 0; i < lib->kernels; i++) {
        if (strcmp(lib->kernel[i]->name, name)) continue;
        *kernel = HANDLE_OF(lib->kernel[i]);
        LEAVE(CUDA_SUCCESS);
    }
    LEAVE(cj__refuse(CUDA_ERROR_NOT_FOUND, "the library has no kernel %.400s", name));
}

CUresult cuLibraryGetKernelCount(unsigned *count, CUlibrary given) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(count);
    FIND(cj_lib, lib, CJ_LIBRARY, given);
    *count = (unsigned)lib->kernels;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned count, CUlibrary given) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(kernels);
    FIND(cj_lib, lib, CJ_LIBRARY, given);
    for (size_t i = 0; i < count && i < lib->kernels; i++) kernels[i] = HANDLE_OF(lib->kernel[i]);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuLibraryGetModule(CUmodule *module, CUlibrary given) {
    ENTER(CJ_NEED_CONTEXT);
    cj_mod *mod = NULL;
    REQUIRE(module);
    FIND(cj_lib, lib, CJ_LIBRARY, given);
    TRY(place(lib, cj__current(), NULL, &mod));
    *module = HANDLE_OF(mod);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary given, const char *name) {
    ENTER(CJ_NEED_CONTEXT);
    cj_mod *mod = NULL;
    REQUIRE(name);
    FIND(cj_lib, lib, CJ_LIBRARY, given);
    TRY(place(lib, cj__current(), NULL, &mod));
    LEAVE(cj__mod_global(mod, name, address, bytes));
}

CUresult cuLibraryGetManaged(CUdeviceptr *address, size_t *bytes, CUlibrary given, const char *name) {
    return cuLibraryGetGlobal(address, bytes, given, name);  // the host reaches every variable
}

// ---- kernels

static CUresult function_of(cj_kern *kern, cj_fun **fun) {
    cj_mod  *mod = NULL;
    CUresult code = place(kern->lib, cj__current(), NULL, &mod);
    if (!code) code = cj__mod_function(mod, kern->name, fun);
    if (!code && !(*fun)->code) memcpy((*fun)->attribute, kern->attribute, sizeof kern->attribute);
    return code ? code : cj__fun_prepare(*fun);
}

CUresult cj__fun_of(CUfunction given, cj_fun **fun) {
    *fun = cj__object_find(CJ_FUNCTION, given);
    if (*fun) return cj__fun_prepare(*fun);
    cj_kern *kern = cj__object_find(CJ_KERNEL, given);
    return kern ? function_of(kern, fun) : cj__refuse_handle(CJ_FUNCTION, given);
}

CUresult cuKernelGetFunction(CUfunction *function, CUkernel given) {
    ENTER(CJ_NEED_CONTEXT);
    cj_fun *fun = NULL;
    REQUIRE(function);
    FIND(cj_kern, kern, CJ_KERNEL, given);
    TRY(function_of(kern, &fun));
    *function = HANDLE_OF(fun);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel given) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(library);
    FIND(cj_kern, kern, CJ_KERNEL, given);
    *library = HANDLE_OF(kern->lib);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuKernelGetName(const char **name, CUkernel given) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(name);
    FIND(cj_kern, kern, CJ_KERNEL, given);
    *name = kern->name;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuKernelGetParamInfo(CUkernel given, size_t index, size_t *offset, size_t *bytes) {
    ENTER(CJ_NEED_CONTEXT);
    cj_fun *fun = NULL;
    FIND(cj_kern, kern, CJ_KERNEL, given);
    TRY(function_of(kern, &fun));
    LEAVE(cj__fun_param(fun, index, offset, bytes));
}

// A kernel's attributes on a device are those of its function in the device's context.
static CUresult function_on(cj_kern *kern, CUdevice device, cj_fun **fun) {
    const cj_gpu *gpu = cj__gpu_of(device);
    cj_context   *context = cj__current();
    if (!gpu) return cj__refuse_device(device);
    if (!context || context->gpu != gpu) context = gpu->primary && gpu->primary->retained ? gpu->primary : NULL;
    if (!context) return cj__refuse(CUDA_ERROR_INVALID_CONTEXT, "device %d has no context", device);
    cj_mod  *mod = NULL;
    CUresult code = place(kern->lib, context, NULL, &mod);
    if (!code) code = cj__mod_function(mod, kern->name, fun);
    if (!code && !(*fun)->code) memcpy((*fun)->attribute, kern->attribute, sizeof kern->attribute);
    return code ? code : cj__fun_prepare(*fun);
}

CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel given, CUdevice device) {
    ENTER(CJ_NEED_INIT);
    cj_fun *fun = NULL;
    REQUIRE(value);
    FIND(cj_kern, kern, CJ_KERNEL, given);
    TRY(function_on(kern, device, &fun));
    LEAVE(cj__fun_get(fun, attribute, value));
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel given, CUdevice device) {
    ENTER(CJ_NEED_INIT);
    cj_fun *fun = NULL;
    FIND(cj_kern, kern, CJ_KERNEL, given);
    TRY(function_on(kern, device, &fun));
    TRY(cj__fun_set(fun, attribute, value));
    kern->attribute[attribute] = value;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuKernelSetCacheConfig(CUkernel given, CUfunc_cache config, CUdevice device) {
    ENTER(CJ_NEED_INIT);
    FIND(cj_kern, kern, CJ_KERNEL, given);
    (void)kern;
    if (!cj__gpu_of(device)) LEAVE(cj__refuse_device(device));
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "config is %d", (int)config));
    LEAVE(CUDA_SUCCESS);
}
