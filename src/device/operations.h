// SPDX-License-Identifier: Apache-2.0
// What a kind of device does: the table that cuda/ and cpu/ fill in. A header of its own, as tools that compare the library's binary
// interface take the types of every device.h for public ones.
#ifndef CJ_DEVICE_OPERATIONS_H
#define CJ_DEVICE_OPERATIONS_H

#include <clusterjit/device.h>
#include <clusterjit/occupancy.h>
#include <clusterjit/tensormap.h>

#include "contract.h"
#include "ir.h"

// The arguments of cj_tensormap_encode_tiled or, if `box` is NULL, of cj_tensormap_encode_im2col, checked.
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

// What another process needs to reach memory of this one: a CUipcMemHandle.
typedef struct cj_ipc {
    unsigned char handle[64];
} cj_ipc;

// A stream of the library's own beside the caller's, and the event by which one waits for the other.
typedef struct cj_side {
    cj_stream stream;  // NULL: none
    void     *event;
} cj_side;

typedef struct cj_device_ops {
    const char *kind;  // "gpu", "cpu"
    void (*close)(cj_device *device);
    cj_status (*alloc)(cj_device *device, size_t bytes, cj_ptr *memory, cj_error *error);
    void (*free)(cj_device *device, cj_ptr memory);
    // Makes the caller's memory usable as the device's own, until `free`; NULL if the device's kernels cannot use it.
    cj_status (*wrap)(cj_device *device, void *host, size_t bytes, cj_ptr *memory, cj_error *error);
    cj_status (*write)(cj_device *device, cj_ptr to, const void *from, size_t bytes, cj_stream stream, cj_error *error);
    cj_status (*read)(cj_device *device, void *to, cj_ptr from, size_t bytes, cj_stream stream, cj_error *error);
    cj_status (*fill)(cj_device *device, cj_ptr to, uint8_t byte, size_t bytes, cj_stream stream, cj_error *error);
    // Makes a module from PTX text, or from an image that `compile` made from it; `ir` may be read until unload.
    // module.c fills the common fields of modules and functions, and frees `ir`, also when this fails.
    cj_status (*load)(cj_device *device, const char *image, size_t length, cj_ir_module *ir, cj_module **module,
                      cj_error *error);
    // For a device whose images can be cached; NULL for others. `compile` makes an image from PTX text, to be freed
    // with free; `compiler` writes one line that names everything besides the text that the image depends on.
    cj_status (*compile)(cj_device *device, const char *ptx, size_t length, char **image, size_t *bytes,
                         cj_error *error);
    void (*compiler)(const cj_device *device, char *line, size_t size);
    void (*unload)(cj_module *module);
    // Allocates a function for an entry of the module's IR, and sets contract.registers if the device knows them;
    // unload frees the functions in module->functions.
    cj_status (*function)(cj_module *module, const cj_ir_func *entry, cj_function **function, cj_error *error);
    // The address of a variable of the module's IR, in global or constant memory.
    cj_status (*global)(cj_module *module, const cj_ir_var *var, cj_ptr *address, cj_error *error);
    // Prepares the first launch of a shape: sets the function's opt-ins, and asks the driver how many blocks or
    // clusters it can place, which sets shape->active_clusters or refuses the launch. NULL if a device needs nothing.
    cj_status (*admit)(cj_function *function, cj_launch_shape *shape, cj_error *error);
    // `cluster` is the one in force; {0, 0, 0}: none.
    cj_status (*launch)(cj_device *device, const cj_launch_config *config, cj_dim3 cluster, cj_error *error);
    cj_status (*synchronize)(cj_device *device, cj_stream stream, cj_error *error);
    cj_status (*time)(cj_device *device, cj_stream stream, cj_status (*work)(void *user, cj_error *error), void *user,
                      double *milliseconds, cj_error *error);
    cj_status (*time_graph)(cj_device *device, cj_status (*work)(void *user, cj_stream stream, cj_error *error),
                            void *user, uint32_t repeat, double *milliseconds, cj_error *error);
    // The driver's own count; NULL if there is no driver. shape->cluster {0, 0, 0}: without clusters.
    cj_status (*occupancy)(cj_function *function, const cj_launch_shape *shape, cj_placement *placement, cj_error *error);
    cj_status (*encode_tensor)(cj_device *device, const cj_tensor_tile *tile, cj_tensormap *map, cj_error *error);
    // Launches on several devices of this kind, one each, beside each other, on which kernels may wait for each other.
    // NULL: one after the other by `launch`, which does not wait for their end.
    // They reach the memory of `device`, of the first `devices` ranks, also where those do not launch.
    cj_status (*launch_together)(const cj_launch_config *config, uint32_t count, cj_device *const *device,
                                 uint32_t devices, cj_dim3 cluster, cj_error *error);
    // Lets a device's kernels reach a peer's memory; UNSUPPORTED if they cannot. NULL: no device of this kind can.
    cj_status (*reach)(cj_device *device, cj_device *peer, cj_error *error);
    // Memory between processes: what to hand out for memory of `alloc`; its address here, for what another process handed out, until
    // `close_shared`. NULL: no device of this kind can.
    cj_status (*share)(cj_device *device, cj_ptr memory, cj_ipc *shared, cj_error *error);
    cj_status (*open_shared)(cj_device *device, const cj_ipc *shared, cj_ptr *memory, cj_error *error);
    void (*close_shared)(cj_device *device, cj_ptr memory);
    // Whether work on the stream has not ended; the CUDA device's number. NULL: as those above.
    cj_status (*busy)(cj_device *device, cj_stream stream, bool *busy, cj_error *error);
    int (*number)(const cj_device *device);
    // The beginning of the allocation of this device that holds [memory, memory + bytes); INVALID_ARGUMENT where it is another
    // device's, or no whole one's.
    cj_status (*locate)(cj_device *device, cj_ptr memory, size_t bytes, cj_ptr *base, cj_error *error);
    // Waits for all work on the device, of all streams.
    cj_status (*settle)(cj_device *device, cj_error *error);
    // What `later` does from now on comes after all that `earlier` was given so far; both may be captured. NULL: all launches run
    // in order, and no stream is needed. A side that was not made whole may be freed.
    cj_status (*make_side)(cj_device *device, cj_side *side, cj_error *error);
    void (*free_side)(cj_device *device, const cj_side *side);
    cj_status (*follow)(cj_device *device, const cj_side *side, cj_stream later, cj_stream earlier, cj_error *error);
} cj_device_ops;

#endif
