// SPDX-License-Identifier: Apache-2.0
#include "keep.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "error.h"
#include "ir.h"
#include "log.h"
#include "text.h"

// ---- a device's keep

static void retire(cj_attachment *attachment) {
    cj_keep *keep = (cj_keep *)(void *)attachment;
    cj__warm_clear(&keep->warm);
}

static void free_keep(cj_attachment *attachment) {
    cj_keep *keep = (cj_keep *)(void *)attachment;
    cj__disk_close(keep->disk);
    pthread_mutex_destroy(&keep->disk_lock);
    pthread_mutex_destroy(&keep->workspaces_lock);
    cj__warm_free(&keep->warm);
    cj__registry_free(&keep->kernels);
    cj__registry_free(&keep->modules);
    cj__free(keep);
}

cj_status cj__keep_of(cj_device *device, cj_keep **keep, cj_error *error) {
    *keep = cj__keep(device);
    if (*keep) return CJ_OK;
    cj_keep *made = cj__calloc(1, sizeof *made);
    if (!made) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for what a device keeps");
    made->base = (cj_attachment){retire, free_keep};
    pthread_mutex_init(&made->disk_lock, NULL);
    pthread_mutex_init(&made->workspaces_lock, NULL);
    cj__registry_init(&made->modules);
    cj__registry_init(&made->kernels);
    cj__warm_init(&made->warm);

    cj_attachment *other = NULL;
    if (!atomic_compare_exchange_strong(&device->attachment, &other, &made->base)) {  // another thread was first
        free_keep(&made->base);
        made = (cj_keep *)(void *)other;
    }
    *keep = made;
    return CJ_OK;
}

void cj_device_trim(cj_device *device) {
    cj_keep *keep = device ? cj__keep(device) : NULL;
    if (keep) cj__warm_clear(&keep->warm);
}

cj_stream_id cj__stream_id(cj_stream stream) {
    enum { PER_THREAD = 2 };  // CU_STREAM_PER_THREAD
    static _Thread_local char here;
    const uint64_t            handle = (uint64_t)(uintptr_t)stream;
    return (cj_stream_id){handle, handle == PER_THREAD ? (uint64_t)(uintptr_t)&here : 0};
}

static cj_disk *disk_of(cj_keep *keep) {
    pthread_mutex_lock(&keep->disk_lock);
    if (!keep->disk_known) {
        cj_error error;
        if (cj__cache_open(true, &cj__files, &keep->disk, &error)) {
            cj__log(CJ_LOG_WARNING, "kernels are compiled anew in every process: %s; %s", error.message, error.hint);
        }
        keep->disk_known = true;
    }
    pthread_mutex_unlock(&keep->disk_lock);
    return keep->disk;
}

// ---- modules

typedef struct source {
    cj_device  *device;
    cj_keep    *keep;
    const char *ptx;
    size_t      length;
} source;

static const char *first_entry(const cj_ir_module *ir) {
    for (size_t i = 0; i < ir->item_count; i++) {
        if (ir->item[i].kind == CJ_ITEM_FUNC && ir->item[i].func->is_entry) return ir->item[i].func->name;
    }
    return "";
}

// Everything that the image depends on: readable lines, an empty line, the text.
static void write_key(const source *from, const cj_ir_module *ir, cj_text *key) {
    char compiler[256];
    from->device->ops->compiler(from->device, compiler, sizeof compiler);
    cj__text_printf(key, "clusterjit %s\ncompiler %s\ntarget sm_%u\nentry %s\n\n", cj_version(), compiler,
                    from->device->limits.compute_capability, first_entry(ir));
    cj__text_add(key, from->ptx, from->length);
}

static cj_module *module_from_disk(const source *from, cj_disk *disk, const cj_text *key, cj_ir_module *ir) {
    char      *image;
    size_t     bytes;
    cj_module *module = NULL;
    cj_error   error;
    if (!cj__disk_get(disk, key->data, key->length, &image, &bytes)) return NULL;
    // COMPILER means that these bytes are bad; a lost context says nothing about them.
    if (cj__module_make(from->device, image, bytes, ir, &module, &error) == CJ_COMPILER) {
        cj__log(CJ_LOG_INFO, "the driver refuses a kept image, which is removed and made anew: %s", error.message);
        cj__disk_remove(disk, key->data, key->length);
    }
    cj__free(image);
    return module;
}

static cj_module *module_for_disk(const source *from, cj_disk *disk, const cj_text *key, cj_ir_module *ir) {
    char      *image = NULL;
    size_t     bytes = 0;
    cj_module *module = NULL;
    cj_error   error;
    cj_status  status = from->device->ops->compile(from->device, from->ptx, from->length, &image, &bytes, &error);
    if (!status) status = cj__module_make(from->device, image, bytes, ir, &module, &error);
    if (!status) cj__disk_put(disk, key->data, key->length, image, bytes);
    else cj__log(CJ_LOG_DEBUG, "the driver gives no image to keep, and loads the text: %s", error.message);
    cj__free(image);
    return module;
}

static bool is_far_aligned(const cj_ir_var *var) {
    enum { KEPT = 16 };
    return var->space == CJ_SPACE_SHARED && var->unsized && var->align > KEPT;
}

// An image comes from the driver's linker, which puts dynamic shared memory directly after the sized variables,
// ignoring its .align (seen with driver 580.159); the driver keeps .align when it loads text, as ptxas does.
static bool is_changed_by_linking(const cj_ir_module *ir) {
    for (size_t i = 0; i < ir->item_count; i++) {
        const cj_ir_item *item = &ir->item[i];
        if (item->kind == CJ_ITEM_VAR && is_far_aligned(item->var)) return true;
        for (size_t k = 0; item->kind == CJ_ITEM_FUNC && k < item->func->var_count; k++)
            if (is_far_aligned(item->func->var[k])) return true;
    }
    return false;
}

// NULL if there is no image. The text is then loaded as without a cache, or fails with the error of that load.
static cj_module *module_of_image(void *user, cj_ir_module *ir) {
    const source *from = user;
    cj_disk      *disk = from->device->ops->compile ? disk_of(from->keep) : NULL;
    cj_module    *module = NULL;
    cj_text       key = {0};
    if (!disk || is_changed_by_linking(ir)) return NULL;
    write_key(from, ir, &key);
    if (!key.failed) module = module_from_disk(from, disk, &key, ir);
    if (!key.failed && !module) module = module_for_disk(from, disk, &key, ir);
    cj__text_free(&key);
    return module;
}

static cj_status make_module(void *user, cj_share *share, void **value, cj_error *error) {
    const source *from = user;
    cj_module    *module;
    cj_status     status = cj__module_load(from->device, from->ptx, from->length, module_of_image, user, &module,
                                           error);
    if (status) return status;
    module->shared = share;
    *value = module;
    return CJ_OK;
}

cj_status cj_module_get(cj_device *device, const char *ptx, size_t length, cj_module **module, cj_error *error) {
    REQUIRE(device);
    REQUIRE(ptx);
    REQUIRE(length);
    REQUIRE(module);
    cj_keep  *keep;
    void     *found = NULL;
    cj_status status = cj__keep_of(device, &keep, error);
    if (status) return status;
    source from = {.device = device, .keep = keep, .ptx = ptx, .length = length};
    status = cj__registry_get(&keep->modules, ptx, length, make_module, &from, &found, error);
    if (!status) *module = found;
    return status;
}

void cj_module_release(cj_module *module) {
    if (module) cj_module_unload(cj__registry_drop(&cj__keep(module->device)->modules, module->shared));
}
