// SPDX-License-Identifier: Apache-2.0
// Stencils: every point of a grid becomes a weighted sum of its neighbours, for many time steps in few launches.
//
//     const double     weights[] = {0.25, 0.5, 0.25};
//     cj_stencil_desc  desc = {CJ_INIT(desc), .dim = 1, .extent = {n}, .steps = 100, .weights = weights, .weight_count = 3};
//     cj_stencil_launch(device, &desc, in, out, stream, &error);
#ifndef CLUSTERJIT_STENCIL_H
#define CLUSTERJIT_STENCIL_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>
#include <clusterjit/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

// Which neighbours: those along the axes, or all around.
typedef enum cj_stencil_shape { CJ_STENCIL_STAR, CJ_STENCIL_BOX } cj_stencil_shape;

// What stands outside the grid: 0, the nearest point of the grid, the grid's other end.
typedef enum cj_stencil_boundary { CJ_STENCIL_ZERO, CJ_STENCIL_CLAMP, CJ_STENCIL_PERIODIC } cj_stencil_boundary;

// What is fastest; all steps in one launch, with the grid in one cluster; several steps a launch; one step a launch.
typedef enum cj_stencil_strategy {
    CJ_STENCIL_AUTO,
    CJ_STENCIL_RESIDENT,
    CJ_STENCIL_BLOCKED,
    CJ_STENCIL_STEP
} cj_stencil_strategy;

// What to do. Begin with CJ_INIT, then set what matters: a zero field takes the default in brackets.
typedef struct cj_stencil_desc {
    CJ_STRUCT_SIZE(cj_stencil_desc);
    uint32_t            dim;        // dimensions of the grid, 1 to 3 [2]
    uint32_t            extent[3];  // points along x, y and z, 1 to 2^30; the first `dim` must be set
    uint64_t            batch;      // independent problems, one grid after the other [1]
    uint64_t            steps;      // time steps [1]
    uint32_t            radius;     // how far neighbours are, 1 to 4 [1]
    cj_stencil_shape    shape;      // [star]
    cj_stencil_boundary boundary;   // [zero]
    const double *weights;  // one for each neighbour and the point itself, ordered as they lie in memory: z before y
                            // before x, ascending. Finite. NULL: 1/2 for the point, the rest shared equally
    uint32_t            weight_count;        // star: 2 dim radius + 1; box: (2 radius + 1)^dim, at most 32
    cj_dtype            dtype;               // f32 or f64 [f32]
    cj_stencil_strategy strategy;            // [auto]
    uint32_t            cluster;             // blocks a cluster, 1 to 16; 1: without clusters [chosen]
    uint32_t            block, tile, depth;  // as the family's parameters [chosen]
} cj_stencil_desc;

typedef struct cj_stencil cj_stencil;

// Plans, generates, checks and loads the kernel, in which the weights stand as constants, and allocates a second grid
// where there is more than one launch. *stencil is owned by the caller. INVALID_ARGUMENT and CONTRACT name field, value
// and limit.
CJ_API cj_status cj_stencil_create(cj_device *device, const cj_stencil_desc *desc, cj_stencil **stencil,
                                   cj_error *error);
CJ_API void      cj_stencil_destroy(cj_stencil *stencil);  // NULL is allowed; its launches must have ended

// out = in after `steps` steps. Both are device pointers to batch * extents elements, x fastest, aligned to 16 bytes;
// they do not overlap, and `in` stays as it is. Asynchronous on `stream`; allocates nothing. Runs of one cj_stencil
// must be ordered with each other.
// A new value is the weights' sum in their order: the first product, then a fused multiply-add for each that follows,
// in the grid's type. Every strategy and device gives the same bits.
CJ_API cj_status cj_stencil_run(cj_stencil *stencil, cj_ptr in, cj_ptr out, cj_stream stream, cj_error *error);

// The same in one call, without a handle: the first call with a description on a stream makes the kernel (as
// cj_stencil_create does, so not while the stream is captured), later ones find it and launch, without a lock, an
// allocation or a wait. Streams share nothing. Kernels are kept until cj_device_trim (clusterjit/cache.h) or
// cj_device_close. Work on a stream must have ended before it is destroyed.
CJ_API cj_status cj_stencil_launch(cj_device *device, const cj_stencil_desc *desc, cj_ptr in, cj_ptr out,
                                   cj_stream stream, cj_error *error);

// The kernel beneath, for its plan and its PTX; owned by `stencil`.
CJ_API const cj_kernel *cj_stencil_kernel(const cj_stencil *stencil);

#ifdef __cplusplus
}
#endif
#endif
