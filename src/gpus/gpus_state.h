// SPDX-License-Identifier: Apache-2.0
// What a cj_gpus holds.
#ifndef CJ_GPUS_STATE_H
#define CJ_GPUS_STATE_H

#include <clusterjit/gemm.h>
#include <clusterjit/gpus.h>
#include <stdbool.h>

#include "nccl.h"
#include "operations.h"
#include "arrays.h"
#include "predict.h"
#include "socket.h"

// The kernels of a description, one a device of this process.
typedef struct cj_gpus_loaded {
    cj_params  params;
    cj_kernel *kernel[CJ_GPUS_MAX];
} cj_gpus_loaded;

// A description that the ranks have compared, as NCCL does not.
typedef struct cj_gpus_agreed {
    uint64_t what[5];  // operation, type, count, combination, root
} cj_gpus_agreed;

// Registered memory.
typedef struct cj_gpus_region {
    size_t   bytes;
    uint64_t number;               // of its registration: the same on all ranks
    cj_ptr   own[CJ_GPUS_MAX];     // of the i-th rank of this process
    cj_ptr   at[CJ_GPUS_MAX];      // of each rank, where kernels of this process reach it
    cj_ptr   opened[CJ_GPUS_MAX];  // of other processes, until close_shared; 0: none
    void    *window;               // of NCCL; NULL: none
} cj_gpus_region;

// Memory with a multicast address.
typedef struct cj_gpus_cast {
    cj_ptr                   own[CJ_GPUS_MAX];  // of the i-th rank of this process
    uint64_t                 bytes, number;     // number: never used again
    cj_ptr                   address;
    struct cj_cpu_multicast *object;
    bool                     registered;        // by cj_gpus_register, which ends it; else by cj_gpus_alloc
} cj_gpus_cast;

// A matrix product with a collective.
typedef struct cj_gpus_product_key {
    uint64_t what[8];  // which of the two, m, n, k, type, order of B, chunks, form
} cj_gpus_product_key;

typedef struct cj_gpus_product {
    cj_gpus_product_key key;
    uint32_t            chunks;
    bool                registered;          // `whole` is: the collective goes straight, chunk by chunk
    cj_gemm_desc        one;                 // the product of a chunk
    cj_kernel          *kernel[CJ_GPUS_MAX]; // as all that follows of the i-th rank of this process
    cj_ptr              whole[CJ_GPUS_MAX];  // the product before the collective, or the rows after it
    cj_side             side[CJ_GPUS_MAX];   // of more than one chunk
} cj_gpus_product;

struct cj_gpus {
    uint32_t        count;                // ranks
    uint32_t        first, local;         // the ranks of this process
    cj_device      *device[CJ_GPUS_MAX];  // of the ranks of this process
    cj_ptr          box[CJ_GPUS_MAX];     // of each rank, where kernels of this process reach it; 0: they do not
    cj_gpus_reach   reach[CJ_GPUS_MAX];   // how the first rank of this process does
    bool            mail;                 // all ranks reach all boxes
    char            unreached[256];       // which do not, and why
    uint64_t        mail_bytes, limit;
    uint32_t        timeout_ms;
    bool            failed;  // a rank did not come, or came with something else: epochs are out of step
    cj_gpus_loaded *loaded;
    size_t          loaded_count, loaded_room;
    cj_nccl_ranks   nccl;  // nccl.library.version 0: none
    cj_gpus_agreed *agreed;
    size_t          agreed_count, agreed_room;
    cj_gpus_exchange exchange;  // of processes; all_gather NULL: there is one process
    uint64_t        process;   // a number that no other rank's process has
    cj_gpus_region *region;
    size_t          region_count, region_room;
    uint64_t        registrations;  // ever
    cj_gpus_product *product;
    size_t          product_count, product_room;
    bool            multicast;  // CPU devices, whose memory gets multicast addresses
    cj_gpus_cast   *cast;
    size_t          cast_count, cast_room;
    uint64_t        casts;      // ever
    cj_bootstrap   *bootstrap;  // of cj_gpus_create_env, to part when all ranks do
};

// ---- gpus.c

// A cj_gpus without devices, with the options that are given or the defaults for devices of this kind.
cj_status cj__gpus_make(const cj_device *device, const cj_gpus_options *options, cj_gpus **made, cj_error *error);
cj_status cj__gpus_make_box(cj_gpus *gpus, uint32_t index, cj_error *error);  // of the device with that index
size_t    cj__gpus_box_bytes(const cj_gpus *gpus);

// ---- list.c

// Room for one more in a list of things of `bytes`.
cj_status cj__gpus_grow(void **list, size_t count, size_t *room, size_t bytes, cj_error *error);

// ---- route.c

typedef struct cj_gpus_route {
    cj_gpus_way way;
    uint64_t    piece;  // elements of a launch, of a part where there are parts; the last may have fewer
    uint64_t    launches;
    uint32_t    shots;  // of an all-reduce; 0: the plan chooses
} cj_gpus_route;

// INVALID_ARGUMENT for what is wrong whatever the arrays.
cj_status cj__gpus_check_desc(const cj_gpus *gpus, const cj_gpus_desc *desc, cj_error *error);

// The same bytes in elements of a type that kernels have: of what only moves the widest that all addresses (multiples of `align`) and the
// size of a part are multiples of.
cj_gpus_desc cj__gpus_as_words(const cj_gpus_desc *desc, uint32_t align);

// Of a description that was checked, as words. `why` may be NULL: nothing is written then.
// `registered`: the arrays are, at the same place on this process's ranks.
cj_status cj__gpus_route(const cj_gpus *gpus, const cj_gpus_desc *desc, bool registered, cj_gpus_route *route, char *why, size_t size,
                         cj_error *error);

// ---- run.c

// The kernels of these parameters, one a device of this process, which the first call loads.
cj_gpus_loaded *cj__gpus_known(const cj_gpus *gpus, const cj_params *params);  // NULL: none yet
cj_status cj__gpus_load(cj_gpus *gpus, const cj_params *key, const cj_params *params, cj_gpus_loaded **found, cj_error *error);  // kept by `key`
cj_status cj__gpus_find(cj_gpus *gpus, const cj_params *params, cj_gpus_loaded **found, cj_error *error);

// A call of cj_gpus_run: nothing of it is refused after cj__gpus_prepare, unless a driver or NCCL does.
typedef struct cj_gpus_collective {
    const cj_gpus_desc *given;
    cj_gpus_desc        desc;  // as words
    cj_gpus_route       route;
    bool                registered;
    size_t              known;                   // kernels and descriptions before it
    cj_kernel          *kernel[2][CJ_GPUS_MAX];  // of its launches, and of the last one if there are several
} cj_gpus_collective;

cj_status cj__gpus_prepare(cj_gpus *gpus, const cj_gpus_desc *desc, const cj_ptr *x, const cj_ptr *out, cj_gpus_collective *call, cj_error *error);
cj_status cj__gpus_go(cj_gpus *gpus, const cj_gpus_collective *call, const cj_ptr *x, const cj_ptr *out, const cj_stream *stream, cj_error *error);

// Whether kernels of this description have a plan.
cj_status cj__gpus_plan_check(const cj_gpus *gpus, const cj_gpus_desc *desc, const cj_gpus_route *route, cj_error *error);

// `count` elements, `at` elements into each part, straight between registered arrays. The first call with these sizes loads kernels.
cj_status cj__gpus_run_straight(cj_gpus *gpus, const cj_gpus_desc *desc, uint64_t at, uint64_t count, const cj_ptr *x, const cj_ptr *out,
                                const cj_stream *stream, cj_error *error);

// ---- launch.c

cj_status cj__gpus_check_failed(const cj_gpus *gpus, cj_error *error);  // DRIVER: an earlier call failed
cj_status cj__gpus_check_ranks(const cj_gpus *gpus, cj_error *error);   // the same, and UNSUPPORTED: not all ranks reach each other

// ---- spans.c

// INVALID_ARGUMENT names an array that is missing, not aligned, or overlaps another one, but for the forms in place.
cj_status cj__gpus_check_arrays(const cj_gpus *gpus, const cj_gpus_desc *desc, const cj_ptr *x, const cj_ptr *out, cj_error *error);
cj_status cj__gpus_check_spans(const cj_gpus *gpus, const cj_gpus_desc *desc, const cj_ptr *x, const cj_ptr *out, cj_error *error);

// ---- product.c

void cj__gpus_destroy_products(cj_gpus *gpus);

// ---- process.c

// The ranks of several processes exchange their boxes: all are where `box` says, or go unreached with a reason.
cj_status cj__gpus_join(cj_gpus *gpus, cj_device *device, const cj_gpus_exchange *exchange, cj_error *error);

// ---- memory.c

bool cj__gpus_is_registered(const cj_gpus *gpus, const cj_ptr *array, uint64_t bytes);
void cj__gpus_close_regions(cj_gpus *gpus);
cj_status cj__gpus_check_multicast(const cj_gpus *gpus, cj_error *error);  // INVALID_ARGUMENT: two ranks are one device
void cj__gpus_uncast_all(cj_gpus *gpus);  // ends all multicast addresses

// The arguments of a kernel of registered arrays. INVALID_ARGUMENT names an array that is not registered.
typedef struct cj_gpus_addresses {
    bool     of_all_x, of_all_out;
    cj_ptr   x[CJ_GPUS_MAX], out[CJ_GPUS_MAX];  // of each rank
    uint32_t what;                              // a checksum of where they lie
} cj_gpus_addresses;

cj_status cj__gpus_addresses(const cj_gpus *gpus, const cj_gpus_arrays *arrays, const cj_ptr *x, const cj_ptr *out, cj_gpus_addresses *found,
                             cj_error *error);

// ---- by_nccl.c

cj_status cj__gpus_by_nccl(cj_gpus *gpus, const cj_gpus_desc *desc, cj_ptr x, cj_ptr out, cj_stream stream,
                           cj_error *error);
cj_status cj__gpus_check_nccl(const cj_gpus *gpus, cj_error *error);  // what went wrong since the last call

#endif
