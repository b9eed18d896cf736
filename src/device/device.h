// SPDX-License-Identifier: Apache-2.0
// What a device implements. device.c, module.c and launch.c own the public calls: they check arguments, parse the PTX,
// hold each launch against its contract, then dispatch.
// cuda/ and cpu/ each embed these structs as their first member.
#ifndef CJ_DEVICE_DEVICE_H
#define CJ_DEVICE_DEVICE_H

#include <clusterjit/device.h>
#include <clusterjit/tensormap.h>
#include <pthread.h>
#include <stdatomic.h>

#include "accepted.h"
#include "contract.h"
#include "error.h"
#include "ir.h"

// The arguments of cj_tensormap_encode_tiled or, where `box` is NULL, of cj_tensormap_encode_im2col, checked.
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
    const int32_t          *lower, *upper;
    uint32_t                channels, pixels;
} cj_tensor_tile;

// What the driver reports for a launch shape.
typedef struct cj_placement {
    uint32_t blocks_per_sm;
    uint32_t active_clusters;  // at once on the whole GPU; without clusters: blocks
    uint32_t max_cluster;      // blocks
} cj_placement;

typedef struct cj_device_ops {
    const char *kind;  // "gpu", "cpu"
    void (*close)(cj_device *device);
    cj_status (*alloc)(cj_device *device, size_t bytes, cj_ptr *memory, cj_error *error);
    void (*free)(cj_device *device, cj_ptr memory);
    // Memory of the caller's as the device's own, until `free`; NULL where kernels cannot work in it.
    cj_status (*wrap)(cj_device *device, void *host, size_t bytes, cj_ptr *memory, cj_error *error);
    cj_status (*write)(cj_device *device, cj_ptr to, const void *from, size_t bytes, cj_stream stream, cj_error *error);
    cj_status (*read)(cj_device *device, void *to, cj_ptr from, size_t bytes, cj_stream stream, cj_error *error);
    cj_status (*fill)(cj_device *device, cj_ptr to, uint8_t byte, size_t bytes, cj_stream stream, cj_error *error);
    // Makes a module from PTX text, or from an image that `compile` made of it; `ir` may be read until unload. module.c
    // fills the common fields of modules and functions, and frees `ir`, also when this fails.
    cj_status (*load)(cj_device *device, const char *image, size_t length, cj_ir_module *ir, cj_module **module,
                      cj_error *error);
    // For a device whose images can be kept; NULL elsewhere. `compile` makes one from PTX text, to be freed with free;
    // `compiler` writes down, in one line, all that decides about an image beside the text.
    cj_status (*compile)(cj_device *device, const char *ptx, size_t length, char **image, size_t *bytes,
                         cj_error *error);
    void (*compiler)(const cj_device *device, char *line, size_t size);
    void (*unload)(cj_module *module);
    // Allocates a function for an entry of the module's IR, and fills in contract.registers where it can; unload frees those
    // in module->functions.
    cj_status (*function)(cj_module *module, const cj_ir_func *entry, cj_function **function, cj_error *error);
    // What the first launch of a shape needs: the function's opt-ins, and the driver's word on what it can place, which goes
    // into shape->active_clusters or refuses. NULL where a device needs nothing.
    cj_status (*admit)(cj_function *function, cj_launch_shape *shape, cj_error *error);
    // `cluster` is the one in force; {0, 0, 0}: none.
    cj_status (*launch)(cj_device *device, const cj_launch_config *config, cj_dim3 cluster, cj_error *error);
    cj_status (*synchronize)(cj_device *device, cj_stream stream, cj_error *error);
    cj_status (*time)(cj_device *device, cj_stream stream, cj_status (*work)(void *user, cj_error *error), void *user,
                      double *milliseconds, cj_error *error);
    cj_status (*time_graph)(cj_device *device, cj_status (*work)(void *user, cj_stream stream, cj_error *error),
                            void *user, uint32_t repeat, double *milliseconds, cj_error *error);
    // The driver's own count; NULL where there is no driver to ask. shape->cluster {0, 0, 0}: without clusters.
    cj_status (*occupancy)(cj_function *function, const cj_launch_shape *shape, cj_placement *placement, cj_error *error);
    cj_status (*encode_tensor)(cj_device *device, const cj_tensor_tile *tile, cj_tensormap *map, cj_error *error);
} cj_device_ops;

// Which launch attributes a device takes.
typedef struct cj_launch_support {
    bool     in_order;        // launches run one by one, each to its end: hints have no effect, and need nothing
    int      priority_least;  // the most urgent one, at most 0
    uint32_t sync_domains;    // physical ones
} cj_launch_support;

// What src/launch attaches to a device.
typedef struct cj_attachment {
    void (*retire)(struct cj_attachment *attachment);  // the user closes the device: let go of the modules kept for him
    void (*free)(struct cj_attachment *attachment);    // the device is gone
} cj_attachment;

struct cj_device {
    const cj_device_ops     *ops;
    cj_limits                limits;
    cj_launch_support        support;
    char                     reason[256];
    atomic_long              modules;     // alive; -1: and the user has closed the device
    _Atomic(cj_attachment *) attachment;  // made when it is first needed
    _Atomic(cj_function *)   last;        // the function that was launched last, while its module is loaded
};

struct cj_module {
    cj_device      *device;
    cj_ir_module   *ir;
    pthread_mutex_t lock;       // guards the list of functions
    cj_function    *functions;  // found so far
    void           *shared;     // of src/launch: its place among the shared modules, or NULL
    char           *text;       // as it was loaded, where failures are to be kept (dump.h), else NULL
};

struct cj_function {
    // All that a launch of a known shape reads, side by side: the driver's work between two launches leaves little of ours in
    // the processor's caches.
    cj_device      *device;
    const uint16_t *param_bytes;  // of each of the entry's parameters; lives as long as the module
    uint32_t        param_count;
    cj_dim3         cluster;      // the one in force where a launch gives none: the directives', or {0, 0, 0}
    cj_accepted     accepted;     // the last shape that was launched

    cj_module        *module;
    cj_function      *next;
    const cj_ir_func *entry;
    cj_contract       contract;  // what the entry's directives promise about its launches
};

// Refuses attributes that the device cannot give a launch (CONTRACT), or that no device can (INVALID_ARGUMENT).
cj_status cj__attributes_check(const cj_device *device, const cj_launch_attributes *attributes, cj_error *error);

// For functions that most launches skip: they are not inlined into what every launch executes.
#define CJ_COLD __attribute__((cold, noinline))

// A device is freed when its user has closed it and its last module is unloaded: one of the two calls this.
void cj__device_drop(cj_device *device);

// cj_module_from_ptx, for a device whose modules may come from elsewhere: once the text is parsed and checked, `other`
// may make the module of an image (cj__module_make); where it gives NULL, or is NULL, the text itself is loaded.
typedef cj_module *cj_module_source(void *user, cj_ir_module *ir);
cj_status cj__module_load(cj_device *device, const char *ptx, size_t length, cj_module_source *other, void *user,
                          cj_module **module, cj_error *error);

// A module of the text, or of what `compile` made of it; it owns `ir` from then on unless it fails.
cj_status cj__module_make(cj_device *device, const char *image, size_t length, cj_ir_module *ir, cj_module **module,
                          cj_error *error);

// Opens each kind. cj__cuda_open exists only where CUDA headers were found (CJ_HAVE_CUDA).
cj_status cj__cuda_open(const cj_device_options *options, unsigned ordinal, cj_device **device, cj_error *error);
cj_status cj__cpu_open(const cj_device_options *options, cj_device **device, cj_error *error);

#endif
