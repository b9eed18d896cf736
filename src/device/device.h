// SPDX-License-Identifier: Apache-2.0
// What a device implements. device.c, module.c and launch.c own the public calls: they check arguments, parse the PTX,
// hold each launch against its contract, then dispatch.
// cuda/ and cpu/ each embed these structs as their first member.
#ifndef CJ_DEVICE_DEVICE_H
#define CJ_DEVICE_DEVICE_H

#include <clusterjit/device.h>
#include <clusterjit/tensormap.h>
#include <pthread.h>

#include "contract.h"
#include "error.h"
#include "ir.h"

// The arguments of cj_tensormap_encode_tiled, checked.
typedef struct cj_tensor_tile {
    cj_tensormap_type       type;
    uint32_t                rank;
    cj_ptr                  address;
    const uint64_t         *dims, *strides;
    const uint32_t         *box, *element_strides;
    cj_tensormap_interleave interleave;
    cj_tensormap_swizzle    swizzle;
    cj_tensormap_l2         l2;
    cj_tensormap_fill       fill;
} cj_tensor_tile;

typedef struct cj_device_ops {
    const char *kind;  // "gpu", "cpu"
    void (*close)(cj_device *device);
    cj_status (*alloc)(cj_device *device, size_t bytes, cj_ptr *memory, cj_error *error);
    void (*free)(cj_device *device, cj_ptr memory);
    cj_status (*write)(cj_device *device, cj_ptr to, const void *from, size_t bytes, cj_stream stream, cj_error *error);
    cj_status (*read)(cj_device *device, void *to, cj_ptr from, size_t bytes, cj_stream stream, cj_error *error);
    cj_status (*fill)(cj_device *device, cj_ptr to, uint8_t byte, size_t bytes, cj_stream stream, cj_error *error);
    // Makes a module; `ir` may be read until unload. device.c fills the common fields of modules and functions, and
    // frees `ir`, also when this fails.
    cj_status (*load)(cj_device *device, const char *ptx, size_t length, cj_ir_module *ir, cj_module **module,
                      cj_error *error);
    void (*unload)(cj_module *module);
    // Allocates a function for an entry of the module's IR; unload frees those in module->functions.
    cj_status (*function)(cj_module *module, const cj_ir_func *entry, cj_function **function, cj_error *error);
    cj_status (*launch)(cj_device *device, const cj_launch_config *config, cj_error *error);
    cj_status (*synchronize)(cj_device *device, cj_stream stream, cj_error *error);
    cj_status (*time)(cj_device *device, cj_stream stream, cj_status (*work)(void *user, cj_error *error), void *user,
                      double *milliseconds, cj_error *error);
    cj_status (*encode_tensor)(cj_device *device, const cj_tensor_tile *tile, cj_tensormap *map, cj_error *error);
} cj_device_ops;

struct cj_device {
    const cj_device_ops *ops;
    cj_limits            limits;
    char                 reason[256];
};

struct cj_module {
    cj_device      *device;
    cj_ir_module   *ir;
    pthread_mutex_t lock;       // guards the list of functions
    cj_function    *functions;  // found so far
};

struct cj_function {
    cj_module        *module;
    cj_function      *next;
    const cj_ir_func *entry;
    cj_contract       contract;  // what the entry's directives promise about its launches
};

// Refuses a public call's argument that is 0. For functions that return cj_status and have `error`.
#define REQUIRE(pointer)                                                                               \
    do {                                                                                               \
        if (!(pointer)) return cj__fail(error, CJ_INVALID_ARGUMENT, "%s: " #pointer " is 0", __func__); \
    } while (0)

// Opens each kind. cj__cuda_open exists only where CUDA headers were found (CJ_HAVE_CUDA).
cj_status cj__cuda_open(const cj_device_options *options, unsigned ordinal, cj_device **device, cj_error *error);
cj_status cj__cpu_open(const cj_device_options *options, cj_device **device, cj_error *error);

#endif
