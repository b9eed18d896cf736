// SPDX-License-Identifier: Apache-2.0
#include "image.h"

#include <stdlib.h>

#include "allocate.h"
#include "error.h"

enum { CHUNK = 256, CHUNKS = 4096, CHANNELS_MAX = 4, LAYERS_MAX = 2048 };
enum { WIDTH_MAX = 131072, LINEAR_MAX = 1 << 28, HEIGHT_MAX = 65536, DEPTH_MAX = 16384 };

static const uint64_t tags[] = {[CJ_IMAGE_TEXTURE] = 0x5458, [CJ_IMAGE_SURFACE] = 0x5355};  // "TX", "SU"

void cj__images_init(cj_cpu_images *images) { pthread_mutex_init(&images->lock, NULL); }

void cj__images_free(cj_cpu_images *images) {
    for (uint32_t i = 0; images->chunk && i < CHUNKS; i++) cj__free(images->chunk[i]);
    cj__free(images->chunk);
    cj__free(images->vacant);
    pthread_mutex_destroy(&images->lock);
}

// ---- descriptions

static uint32_t component_bytes(cj_texel format) {
    switch (format) {
#define CJ_X(name, value, bytes) \
    case CJ_TEXEL_##name: return bytes;
        CJ_TEXEL_LIST(CJ_X)
#undef CJ_X
    default: return 0;
    }
}

static cj_status refuse(cj_error *error, const char *field, uint64_t value, const char *limits) {
    return cj__fail(error, CJ_INVALID_ARGUMENT, "image: %s is %llu; it must be %s", field, (unsigned long long)value,
                    limits);
}

static cj_status check_extent(const cj_image *i, cj_error *error) {
    const uint64_t most = i->linear ? LINEAR_MAX : i->depth ? DEPTH_MAX : WIDTH_MAX;
    if (!i->width || i->width > most)
        return refuse(error, "width", i->width,
                      i->linear  ? "1 to 2^28 in linear memory"
                      : i->depth ? "1 to 16384 with a depth"
                                 : "1 to 131072");
    if (i->height > (i->depth ? (size_t)DEPTH_MAX : (size_t)HEIGHT_MAX))
        return refuse(error, "height", i->height, i->depth ? "at most 16384 with a depth" : "at most 65536");
    if (i->depth > DEPTH_MAX) return refuse(error, "depth", i->depth, "at most 16384");
    if (i->depth && !i->height) return refuse(error, "height", 0, "given with a depth");
    if (i->layers > LAYERS_MAX) return refuse(error, "layers", i->layers, "at most 2048");
    if (i->layers && i->depth) return refuse(error, "layers", i->layers, "0 with a depth");
    if (i->linear && (i->height || i->layers))
        return refuse(error, i->height ? "height" : "layers", i->height ? i->height : i->layers, "0 in linear memory");
    return CJ_OK;
}

static cj_status check_pitches(const cj_cpu_image *made, cj_error *error) {
    const cj_image *i = &made->is;
    if (i->row_bytes < i->width * made->texel || i->row_bytes % made->texel || i->row_bytes >> 32)
        return refuse(error, "row_bytes", i->row_bytes, "a multiple of a texel, that holds a row and fits 32 bits");
    if (i->slice_bytes < i->row_bytes * i->height || i->slice_bytes % made->texel || i->slice_bytes >> 48)
        return refuse(error, "slice_bytes", i->slice_bytes, "a multiple of a texel, that holds the rows of a slice");
    return CJ_OK;
}

cj_status cj__image_describe(const cj_image *given, cj_cpu_image *made, cj_error *error) {
    const uint32_t bytes = component_bytes(given->format);
    if (!bytes) return refuse(error, "format", (uint64_t)given->format, "one of cj_texel");
    if (given->channels != 1 && given->channels != 2 && given->channels != CHANNELS_MAX)
        return refuse(error, "channels", given->channels, "1, 2 or 4");
    const uint32_t texel = bytes * given->channels;
    if (!given->address || given->address % texel)
        return refuse(error, "address", given->address, "a multiple of a texel, and not 0");
    cj_status status = check_extent(given, error);
    if (status) return status;
    *made = (cj_cpu_image){.is = *given,
                           .dims = given->depth    ? 3
                                   : given->height ? 2
                                                   : 1,
                           .layered = given->layers != 0,
                           .texel = texel};
    cj_image *i = &made->is;
    if (!i->height) i->height = 1;
    if (!i->depth) i->depth = 1;
    if (!i->layers) i->layers = 1;
    if (!i->row_bytes) i->row_bytes = i->width * texel;
    if (!i->slice_bytes) i->slice_bytes = i->row_bytes * i->height;
    return check_pitches(made, error);
}

// ---- the table

static cj_cpu_image *place_at(const cj_cpu_images *images, uint32_t index) {
    cj_cpu_image **chunk = __atomic_load_n(&images->chunk, __ATOMIC_ACQUIRE);
    cj_cpu_image  *entries = chunk && index < CHUNK * CHUNKS ? __atomic_load_n(&chunk[index / CHUNK], __ATOMIC_ACQUIRE)
                                                             : NULL;
    return entries ? &entries[index % CHUNK] : NULL;
}

// Makes the chunk of the next place, and room to remember that it is vacant; false when out of memory. The caller holds the lock.
static bool extend(cj_cpu_images *images) {
    if (images->count == CHUNK * CHUNKS) return false;
    if (!images->chunk) {
        cj_cpu_image **made = cj__calloc(CHUNKS, sizeof *made);
        if (!made) return false;
        __atomic_store_n(&images->chunk, made, __ATOMIC_RELEASE);
    }
    if (images->count % CHUNK || images->chunk[images->count / CHUNK]) return true;
    uint32_t *vacant = cj__realloc(images->vacant, images->count * sizeof *vacant,
                                   (images->count + CHUNK) * sizeof *vacant);
    if (!vacant) return false;
    images->vacant = vacant;
    cj_cpu_image *made = cj__calloc(CHUNK, sizeof *made);
    if (made) __atomic_store_n(&images->chunk[images->count / CHUNK], made, __ATOMIC_RELEASE);
    return made;
}

cj_status cj__images_add(cj_cpu_images *images, cj_image_use use, const cj_cpu_image *image, uint64_t *handle,
                         cj_error *error) {
    pthread_mutex_lock(&images->lock);
    const bool is_room = images->vacant_count || extend(images);
    if (is_room) {
        const uint32_t index = images->vacant_count ? images->vacant[--images->vacant_count] : images->count++;
        cj_cpu_image  *place = place_at(images, index);
        const uint16_t generation = (uint16_t)(place->generation + 1);
        *place = *image;
        place->generation = generation;
        *handle = tags[use] << 48 | (uint64_t)generation << 32 | index;
        __atomic_store_n(&place->handle, *handle, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&images->lock);
    return is_room ? CJ_OK : cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for a texture or surface");
}

void cj__images_remove(cj_cpu_images *images, cj_image_use use, uint64_t handle) {
    pthread_mutex_lock(&images->lock);
    if (cj__images_find(images, use, handle)) {
        __atomic_store_n(&place_at(images, (uint32_t)handle)->handle, 0, __ATOMIC_RELEASE);
        images->vacant[images->vacant_count++] = (uint32_t)handle;
    }
    pthread_mutex_unlock(&images->lock);
}

const cj_cpu_image *cj__images_find(const cj_cpu_images *images, cj_image_use use, uint64_t handle) {
    const cj_cpu_image *place = handle >> 48 == tags[use] ? place_at(images, (uint32_t)handle) : NULL;
    return place && __atomic_load_n(&place->handle, __ATOMIC_ACQUIRE) == handle ? place : NULL;
}
