// SPDX-License-Identifier: Apache-2.0
// Exchange: groups of up to 16 thread blocks trade their chunks of an array through distributed shared memory, or parts
// of them. To use it inside kernels of your own, see clusterjit/cluster.h and clusterjit/collectives.h.
#ifndef CLUSTERJIT_EXCHANGE_H
#define CLUSTERJIT_EXCHANGE_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>
#include <clusterjit/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

// What block b of a group gets. x[b] is its chunk of n elements.
//   PAIR        out[b] = x[b xor 1]; the last of an odd number of blocks keeps its own
//   RING        out[b] = x[(b + shift) mod size]
//   HALO        out[b] = the last `halo` elements of x[(b - 1) mod size], x[b], the first `halo` of x[(b + 1) mod
//               size]: n + 2 halo elements
//   ALL_TO_ALL  each chunk is `size` equal parts: part j of out[b] = part b of x[j]
typedef enum cj_exchange_pattern {
    CJ_EXCHANGE_PAIR,
    CJ_EXCHANGE_RING,
    CJ_EXCHANGE_HALO,
    CJ_EXCHANGE_ALL_TO_ALL
} cj_exchange_pattern;

// How: each block stores into its peers (st.async, mbarriers); each loads from its peers (cluster barriers); through
// global memory with a flag for each block, without clusters. All give the same.
typedef enum cj_exchange_strategy { CJ_EXCHANGE_PUSH, CJ_EXCHANGE_PULL, CJ_EXCHANGE_GLOBAL } cj_exchange_strategy;

// What to exchange. Begin with CJ_INIT, then set what matters: a zero field takes the default in brackets.
typedef struct cj_exchange_desc {
    CJ_STRUCT_SIZE(cj_exchange_desc);
    cj_exchange_pattern  pattern;   // [pair]
    cj_exchange_strategy strategy;  // [push]
    uint32_t             n;         // elements of a chunk; at least 1; with the halos less than 4 GiB
    uint32_t             size;      // blocks of a group, 1 to 16 [2]; of ALL_TO_ALL n is a multiple of it
    uint32_t             groups;    // x is groups * size chunks, group after group; 1 to 2^24 [1]
    cj_dtype             dtype;     // [f32]
    uint32_t             shift;     // of RING, 1 to 15 [1]
    uint32_t             halo;      // of HALO, elements of an edge, 1 to n [1]
    uint32_t             block;     // threads a block, a multiple of 32, 32 to 1024 [as many as have something to hold]
    uint32_t             grid;      // blocks at most, a multiple of size: groups take turns [chosen for the device]
    uint32_t             align;     // of x and out, in bytes: a power of two from the element's size to 16 [16]
    // Rounds in one launch, for measuring [1]. Each trades what the one before has brought: PAIR, RING and ALL_TO_ALL
    // as often as this; HALO sends back to each neighbour what came from it, so the edges are the own ones after an
    // even number.
    uint32_t             repeat;
} cj_exchange_desc;

typedef struct cj_exchange cj_exchange;

// Plans, generates, checks and loads the kernel; GLOBAL has a workspace. *exchange is owned by the caller.
// INVALID_ARGUMENT, UNSUPPORTED and CONTRACT name field, value and limit. A device without clusters goes through global
// memory, and the plan notes it.
CJ_API cj_status cj_exchange_create(cj_device *device, const cj_exchange_desc *desc, cj_exchange **exchange,
                                    cj_error *error);
CJ_API void      cj_exchange_destroy(cj_exchange *exchange);  // NULL is allowed; its launches must have ended

// out = x exchanged, for every group. Device pointers; INVALID_ARGUMENT for one that is not aligned as described. `out`
// may be `x` but for HALO, and must not overlap it otherwise. Asynchronous on `stream`; allocates nothing. Launches of
// one GLOBAL exchange must be ordered with each other: they share its workspace.
CJ_API cj_status cj_exchange_run(cj_exchange *exchange, cj_ptr x, cj_ptr out, cj_stream stream, cj_error *error);

// The same in one call, without a handle: the first call with a description on a stream makes the kernel (not while the
// stream is captured), later ones find it and launch, without a lock, an allocation or a wait, from any threads.
// Kernels are kept until cj_device_trim (clusterjit/cache.h) or cj_device_close.
CJ_API cj_status cj_exchange_launch(cj_device *device, const cj_exchange_desc *desc, cj_ptr x, cj_ptr out,
                                    cj_stream stream, cj_error *error);

// The kernel beneath, for its plan and its PTX; owned by `exchange`.
CJ_API const cj_kernel *cj_exchange_kernel(const cj_exchange *exchange);

#ifdef __cplusplus
}
#endif
#endif
