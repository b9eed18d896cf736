// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

// ---- loading

static void write_log(char *log, size_t bytes, void **used, const char *text) {
    size_t wrote = 0;
    if (log && bytes) {
        snprintf(log, bytes, "%s", text);
        wrote = strlen(log) + 1;
    }
    if (used) *used = (void *)(uintptr_t)wrote;
}

void cj__jit_tell(const cj_jit *jit, const cj_error *error) {
    char text[2048] = "";
    if (!jit) return;
    if (error && error->status) {
        snprintf(text, sizeof text, "line %u, column %u: %s%s%s\n", error->line, error->column, error->message,
                 error->hint[0] ? "; " : "", error->hint);
    }
    write_log(jit->error_log, jit->error_bytes, jit->error_used, text);
    write_log(jit->info_log, jit->info_bytes, jit->info_used, "");
    if (jit->wall_time) *jit->wall_time = NULL;  // as a float: 0 ms
}

static void release_mod(void *object) {
    cj_mod *mod = object;
    cj_source_map_destroy(mod->map);
    cj_module_unload(mod->module);
    free(mod->entry);
    cj__let(mod->context);
    free(mod->ptx);
    free(mod);
}

// Programs look up many kernels of large modules: their names are kept side by side.
static const char **entries_of(const cj_module *module, size_t *count) {
    const char **entry = NULL;
    *count = 0;
    while (cj_module_entry(module, *count)) ++*count;
    entry = malloc((*count + 1) * sizeof *entry);
    for (size_t i = 0; entry && i < *count; i++) entry[i] = cj_module_entry(module, i);
    return entry;
}

CUresult cj__mod_new(cj_context *context, char *text, size_t length, const cj_jit *jit, cj_mod **made) {
    cj_error        error = {0};
    cj_module      *module = NULL;
    const cj_status status = cj_module_from_ptx(context->gpu->device, text, length, &module, &error);
    cj__jit_tell(jit, &error);
    if (status) {
        free(text);
        return cj__refuse_error(&error);
    }
    size_t       entries = 0;
    const char **entry = entries_of(module, &entries);
    cj_mod      *mod = entry ? cj__object_new(CJ_MODULE, sizeof *mod, context, release_mod) : NULL;
    if (!mod) {
        free(entry);
        cj_module_unload(module);
        free(text);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    mod->entry = entry;
    mod->entries = entries;
    mod->context = cj__keep(context);
    mod->module = module;
    mod->ptx = text;
    mod->length = length;
    static uint64_t modules;
    mod->number = __atomic_add_fetch(&modules, 1, __ATOMIC_RELAXED);
    *made = mod;
    return CUDA_SUCCESS;
}

// A variable's memory ends with the module, and so does what knows of it.
static void forget_variables(const cj_mod *mod) {
    for (size_t i = 0; cj_module_global_name(mod->module, i); i++) {
        cj_ptr address = 0;
        if (cj_module_global(mod->module, cj_module_global_name(mod->module, i), &address, NULL, NULL)) continue;
        cj_block *block = cj__memory_begin(address);
        if (block && block->type == CJ_MEMORY_VARIABLE) cj__memory_free(block);
    }
}

void cj__mod_destroy(cj_mod *mod) {
    for (cj_object *o = cj__object_next(NULL, mod->context), *next; o; o = next) {
        next = cj__object_next(o, mod->context);
        if (o->kind == CJ_FUNCTION && ((cj_fun *)o)->mod == mod) cj__object_destroy(o);
    }
    forget_variables(mod);
    cj__object_destroy(mod);
}

static CUresult load(CUmodule *result, char *text, size_t length, const cj_jit *jit) {
    cj_mod        *mod = NULL;
    const CUresult code = cj__mod_new(cj__current(), text, length, jit, &mod);
    if (!code) *result = HANDLE_OF(mod);
    return code;
}

// Of what stands at `image` in the program's memory: PTX or a fat binary.
static CUresult load_image(CUmodule *result, const void *image, const cj_jit *jit) {
    char          *text = NULL;
    size_t         length = 0;
    const CUresult code = cj__image_read(image, 0, &text, &length);
    return code ? code : load(result, text, length, jit);
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *option, void **value) {
    ENTER(CJ_NEED_CONTEXT);
    cj_jit jit;
    REQUIRE(module);
    TRY(cj__jit_read(&jit, count, option, value));
    LEAVE(load_image(module, image, &jit));
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(module);
    LEAVE(load_image(module, image, NULL));
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(module);
    LEAVE(load_image(module, image, NULL));
}

CUresult cuModuleLoad(CUmodule *module, const char *path) {
    ENTER(CJ_NEED_CONTEXT);
    char  *data = NULL, *text = NULL;
    size_t size = 0, length = 0;
    REQUIRE(module);
    REQUIRE(path);
    TRY(cj__file_read(path, &data, &size));
    const CUresult code = cj__image_read(data, size, &text, &length);
    free(data);
    TRY(code);
    LEAVE(load(module, text, length, NULL));
}

CUresult cuModuleUnload(CUmodule given) {
    ENTER(CJ_NEED_ANY_CONTEXT);
    FIND(cj_mod, mod, CJ_MODULE, given);
    if (mod->library) LEAVE(cj__refuse(CUDA_ERROR_NOT_PERMITTED, "the module is a library's: cuLibraryUnload ends it"));
    cj__mod_destroy(mod);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(mode);
    *mode = CU_MODULE_LAZY_LOADING;
    LEAVE(CUDA_SUCCESS);
}

// ---- functions

static cj_fun *known_function(const cj_mod *mod, const char *name) {
    for (cj_object *o = cj__object_next(NULL, mod->context); o; o = cj__object_next(o, mod->context)) {
        cj_fun *fun = (cj_fun *)o;
        if (o->kind == CJ_FUNCTION && fun->mod == mod && !strcmp(fun->name, name)) return fun;
    }
    return NULL;
}

static void release_fun(void *object) {
    cj_fun *fun = object;
    cj__let(fun->mod);
    free(fun);
}

static const char *entry_named(const cj_mod *mod, const char *name) {
    for (size_t i = 0; i < mod->entries; i++) {
        if (!strcmp(mod->entry[i], name)) return mod->entry[i];
    }
    return NULL;
}

CUresult cj__mod_function(cj_mod *mod, const char *name, cj_fun **found) {
    const char *entry = entry_named(mod, name);
    if (!entry) return cj__refuse(CUDA_ERROR_NOT_FOUND, "the module has no kernel %.400s", name);
    cj_fun *fun = known_function(mod, entry);
    if (!fun) {
        fun = cj__object_new(CJ_FUNCTION, sizeof *fun, mod->context, release_fun);
        if (!fun) return CUDA_ERROR_OUT_OF_MEMORY;
        fun->mod = cj__keep(mod);
        fun->name = entry;
        fun->attribute[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = -1;
        fun->attribute[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT] = -1;
    }
    *found = fun;
    return CUDA_SUCCESS;
}

CUresult cj__fun_prepare(cj_fun *fun) {
    cj_error error = {0};
    if (fun->code) return CUDA_SUCCESS;
    return cj_module_function(fun->mod->module, fun->name, &fun->code, &error) ? cj__refuse_error(&error)
                                                                               : CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule given, const char *name) {
    ENTER(CJ_NEED_CONTEXT);
    cj_fun *fun = NULL;
    REQUIRE(function);
    REQUIRE(name);
    FIND(cj_mod, mod, CJ_MODULE, given);
    TRY(cj__mod_function(mod, name, &fun));
    TRY(cj__fun_prepare(fun));
    *function = HANDLE_OF(fun);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuModuleGetFunctionCount(unsigned *count, CUmodule given) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(count);
    FIND(cj_mod, mod, CJ_MODULE, given);
    *count = (unsigned)mod->entries;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned count, CUmodule given) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(functions);
    FIND(cj_mod, mod, CJ_MODULE, given);
    for (unsigned i = 0; i < count && i < mod->entries; i++) {
        cj_fun *fun = NULL;
        TRY(cj__mod_function(mod, mod->entry[i], &fun));
        functions[i] = HANDLE_OF(fun);
    }
    LEAVE(CUDA_SUCCESS);
}

// ---- variables

static bool has_variable(const cj_mod *mod, const char *name) {
    const char *known = NULL;
    for (size_t i = 0; (known = cj_module_global_name(mod->module, i)); i++) {
        if (!strcmp(known, name)) return true;
    }
    return false;
}

CUresult cj__mod_global(cj_mod *mod, const char *name, CUdeviceptr *address, size_t *bytes) {
    cj_ptr    at = 0;
    size_t    length = 0;
    cj_error  error = {0};
    cj_block *block = NULL;
    if (!has_variable(mod, name)) return cj__refuse(CUDA_ERROR_NOT_FOUND, "the module has no variable %.400s", name);
    if (cj_module_global(mod->module, name, &at, &length, &error)) return cj__refuse_error(&error);
    if (!cj__memory_begin(at)) {
        const cj_block variable = {
            .base = at, .bytes = length, .type = CJ_MEMORY_VARIABLE, .gpu = mod->context->gpu, .owner = mod->context};
        const CUresult code = cj__memory_add(&variable, &block);
        if (code) return code;
    }
    if (address) *address = at;
    if (bytes) *bytes = length;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule given, const char *name) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(name);
    FIND(cj_mod, mod, CJ_MODULE, given);
    if (!address && !bytes) LEAVE(cj__refuse_null("dptr"));
    LEAVE(cj__mod_global(mod, name, address, bytes));
}

// ---- the source

const cj_source *cj__mod_source(cj_mod *mod, unsigned line) {
    if (!mod->map && cj_source_map_create(mod->ptx, mod->length, &mod->map, NULL)) return NULL;
    return cj_source_map_find(mod->map, line);
}
