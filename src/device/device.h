// SPDX-License-Identifier: Apache-2.0
// The interface of a device. device.c, module.c and launch.c own the public calls: they check arguments, parse the PTX,
// check each launch against the contract, then dispatch. cuda/ and cpu/ each embed these structs as their first member.
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
#include "operations.h"

enum { CJ_TOGETHER_MAX = 16 };  // devices of such a launch

// Which launch attributes a device supports.
typedef struct cj_launch_support {
    bool     in_order;        // launches run one by one, each to its end: hints have no effect, and all are accepted
    int      priority_least;  // the most urgent one, at most 0
    uint32_t sync_domains;    // physical ones
} cj_launch_support;

// The data that src/launch/keep attaches to a device.
typedef struct cj_attachment {
    void (*retire)(struct cj_attachment *attachment);  // the user closes the device: release the cached modules
    void (*free)(struct cj_attachment *attachment);    // the device is gone
} cj_attachment;

struct cj_device {
    const cj_device_ops     *ops;
    cj_limits                limits;
    cj_launch_support        support;
    char                     reason[256];
    atomic_long              modules;     // loaded modules, minus one once the user has closed the device
    _Atomic(cj_attachment *) attachment;  // made at the first use
    _Atomic(cj_function *)   last;        // the function that was launched last, while its module is loaded
};

struct cj_module {
    cj_device      *device;
    cj_ir_module   *ir;
    pthread_mutex_t lock;       // guards the list of functions
    cj_function    *functions;  // found so far
    void           *shared;     // of src/launch/keep: its entry in the table of shared modules, or NULL
    char           *text;       // the loaded text, if failures are to be kept (dump.h), else NULL
};

struct cj_function {
    // The fields that a launch of a known shape reads, side by side: between two launches the driver's work evicts most
    // of them from the processor's caches.
    cj_device      *device;
    const uint16_t *param_bytes;  // of each of the entry's parameters; lives as long as the module
    uint32_t        param_count;
    cj_dim3         cluster;      // the cluster in force if a launch gives none: the directives', or {0, 0, 0}
    cj_accepted     accepted;     // the last shape that was launched

    cj_module        *module;
    cj_function      *next;
    const cj_ir_func *entry;
    cj_contract       contract;  // what the entry's directives promise about its launches
};

// Refuses attributes that the device does not support (CONTRACT), or that no device supports (INVALID_ARGUMENT).
cj_status cj__attributes_check(const cj_device *device, const cj_launch_attributes *attributes, cj_error *error);

// For functions that most launches do not call: they are not inlined into the launch path.
#define CJ_COLD __attribute__((cold, noinline))

// A device is freed when its user has closed it and its last module is unloaded; both of these call this function.
void cj__device_drop(cj_device *device);

// cj_module_from_ptx for modules that may also come from a cache: after the text is parsed and checked, `other` may
// make the module from an image (cj__module_make). If it returns NULL, or is NULL, the text itself is loaded.
typedef cj_module *cj_module_source(void *user, cj_ir_module *ir);
cj_status cj__module_load(cj_device *device, const char *ptx, size_t length, cj_module_source *other, void *user,
                          cj_module **module, cj_error *error);

// Makes a module from the text, or from what `compile` made from it; unless it fails the module owns `ir`.
cj_status cj__module_make(cj_device *device, const char *image, size_t length, cj_ir_module *ir, cj_module **module,
                          cj_error *error);

// cj_launch on `count` devices, config[i] on that of its function, beside each other: so kernels may wait for each other. They
// reach the memory of `device[0 … devices)`, CJ_TOGETHER_MAX at most.
cj_status cj__launch_together(const cj_launch_config *config, uint32_t count, cj_device *const *device,
                              uint32_t devices, cj_error *error);

// Opens each kind. cj__cuda_open exists only where CUDA headers were found (CJ_HAVE_CUDA).
cj_status cj__cuda_open(const cj_device_options *options, unsigned ordinal, cj_device **device, cj_error *error);
cj_status cj__cpu_open(const cj_device_options *options, cj_device **device, cj_error *error);

#endif
