// SPDX-License-Identifier: Apache-2.0
// The device's textures and surfaces: a table of descriptions under handles.
//
//   handle:  | tag, 16 bits: texture or surface | generation, 16 bits | place in the table, 32 bits |
//
// The generation counts how often a place was used, so that a handle that was destroyed is known as such. Entries do not move: a
// launch looks them up without a lock.
#ifndef CJ_CPU_IMAGE_H
#define CJ_CPU_IMAGE_H

#include <clusterjit/texture.h>
#include <pthread.h>

typedef enum cj_image_use { CJ_IMAGE_TEXTURE, CJ_IMAGE_SURFACE } cj_image_use;

typedef struct cj_cpu_image {
    cj_image   is;  // with pitches; height, depth and layers at least 1
    cj_sampler sampler;
    unsigned   dims;  // 1 to 3
    bool       layered;
    uint32_t   texel;   // bytes
    uint64_t   handle;  // 0: not in use
    uint16_t   generation;
} cj_cpu_image;

typedef struct cj_cpu_images {
    pthread_mutex_t lock;
    uint32_t        count;   // places that are or were in use
    cj_cpu_image  **chunk;   // NULL until the first one is made
    uint32_t       *vacant;  // places that can be used again
    uint32_t        vacant_count;
} cj_cpu_images;

void cj__images_init(cj_cpu_images *images);
void cj__images_free(cj_cpu_images *images);

// Checks an image, and completes it: pitches, and at least 1 for what does not count.
cj_status cj__image_describe(const cj_image *given, cj_cpu_image *made, cj_error *error);

// Adds a description under a new handle. OUT_OF_MEMORY.
cj_status cj__images_add(cj_cpu_images *images, cj_image_use use, const cj_cpu_image *image, uint64_t *handle,
                         cj_error *error);
void      cj__images_remove(cj_cpu_images *images, cj_image_use use, uint64_t handle);

// The description under a handle. NULL: there is none.
const cj_cpu_image *cj__images_find(const cj_cpu_images *images, cj_image_use use, uint64_t handle);

#endif
