// SPDX-License-Identifier: Apache-2.0
// The typed call of the stencil: converts a description to the family's parameters.
#include <clusterjit/stencil.h>
#include <string.h>

#include "call.h"
#include "error.h"
#include "hash.h"

static const char *const shapes[] = {[CJ_STENCIL_STAR] = "star", [CJ_STENCIL_BOX] = "box"};
static const char *const boundaries[] = {
    [CJ_STENCIL_ZERO] = "zero", [CJ_STENCIL_CLAMP] = "clamp", [CJ_STENCIL_PERIODIC] = "periodic"};
static const char *const strategies[] = {[CJ_STENCIL_AUTO] = "auto",
                                         [CJ_STENCIL_RESIDENT] = "resident",
                                         [CJ_STENCIL_BLOCKED] = "blocked",
                                         [CJ_STENCIL_STEP] = "step"};

static cj_status set_extents(const cj_stencil_desc *desc, cj_params *params, cj_error *error) {
    static const char *const names[] = {"nx", "ny", "nz"};
    const uint32_t           dim = desc->dim ? desc->dim : 2;
    cj_status                status = cj__call_number(params, "dim", desc->dim, error);
    for (uint32_t a = 0; !status && a < dim; a++) {
        if (!desc->extent[a])
            return cj__fail(error, CJ_INVALID_ARGUMENT, "extent[%u]: 0 is below 1: the grid has no points", a);
        status = cj__call_number(params, names[a], desc->extent[a], error);
    }
    return status;
}

static cj_status describe(const void *from, cj_params *params, cj_error *error) {
    const cj_stencil_desc *desc = from;
    cj_status              status = cj__call_family(params, "stencil", error);
    if (!status) status = set_extents(desc, params, error);
    if (!status) status = cj__call_number(params, "batch", desc->batch, error);
    if (!status) status = cj__call_number_or(params, "steps", desc->steps, 1, error);
    if (!status) status = cj__call_number(params, "radius", desc->radius, error);
    if (!status) status = cj__call_word(params, "shape", WORDS(shapes), desc->shape, error);
    if (!status) status = cj__call_word(params, "boundary", WORDS(boundaries), desc->boundary, error);
    if (!status)
        status = cj_params_set_reals(params, "weights", desc->weights, desc->weights ? desc->weight_count : 0, error);
    if (!status) status = cj__call_dtype(params, "dtype", desc->dtype, error);
    if (!status) status = cj__call_word(params, "strategy", WORDS(strategies), desc->strategy, error);
    if (!status) status = cj__call_number(params, "cluster", desc->cluster, error);
    if (!status) status = cj__call_number(params, "block", desc->block, error);
    if (!status) status = cj__call_number(params, "tile", desc->tile, error);
    if (!status) status = cj__call_number(params, "depth", desc->depth, error);
    return status;
}

CALL_HANDLE(cj_stencil)

static cj_status run(cj_kernel *kernel, cj_ptr in, cj_ptr out, cj_stream stream, cj_error *error) {
    static const char hint[] = "grids are read 16 bytes at a time; memory of cj_mem_alloc is aligned to 256";
    cj_status         status = cj__call_array("in", in, 16, hint, error);
    if (!status) status = cj__call_array("out", out, 16, hint, error);
    if (status) return status;
    void *arguments[] = {&in, &out};
    return cj_kernel_launch(kernel, stream, arguments, 2, error);
}

cj_status cj_stencil_run(cj_stencil *stencil, cj_ptr in, cj_ptr out, cj_stream stream, cj_error *error) {
    REQUIRE(stencil);
    return run(stencil->call.kernel, in, out, stream, error);
}

// The key holds a hash of the weights, which are too long for it; `attempt` distinguishes lists with the same hash.
typedef struct CALL_KEY call_key {
    uint64_t batch, steps;
    uint32_t extent[3], weights_hash, attempt;
    uint8_t  dim, radius, shape, boundary, weight_count, dtype, strategy, cluster;
    uint32_t block, tile, depth;
} call_key;

_Static_assert(sizeof(call_key) <= CALL_KEY_BYTES, "the key fits");

static call_key key_of(const cj_stencil_desc *d, uint32_t attempt) {
    const uint32_t count = d->weights ? d->weight_count : 0;
    return (call_key){.batch = d->batch,
                      .steps = d->steps,
                      .extent = {d->extent[0], d->extent[1], d->extent[2]},
                      .weights_hash = count ? cj__hash((const char *)d->weights, count * sizeof *d->weights) : 0,
                      .attempt = attempt,
                      .dim = cj__call_u8(d->dim),
                      .radius = cj__call_u8(d->radius),
                      .shape = cj__call_u8(d->shape),
                      .boundary = cj__call_u8(d->boundary),
                      .weight_count = cj__call_u8(count),
                      .dtype = cj__call_u8(d->dtype),
                      .strategy = cj__call_u8(d->strategy),
                      .cluster = cj__call_u8(d->cluster),
                      .block = d->block,
                      .tile = d->tile,
                      .depth = d->depth};
}

static bool has_weights(const cj_kernel *kernel, const cj_stencil_desc *desc) {
    const double *own = cj_kernel_plan(kernel)->params.reals;
    return !desc->weights || !memcmp(own, desc->weights, desc->weight_count * sizeof *own);
}

cj_status cj_stencil_launch(cj_device *device, const cj_stencil_desc *desc, cj_ptr in, cj_ptr out, cj_stream stream,
                            cj_error *error) {
    REQUIRE(device);
    SIZED(cj_stencil_desc, desc);
    cj_kernel *kernel = NULL;
    cj_status  status = CJ_OK;
    for (uint32_t attempt = 0; !status && (!kernel || !has_weights(kernel, desc)); attempt++) {
        const call_key key = key_of(desc, attempt);
        status = cj__call_kernel(device, describe, desc, &key, sizeof key, stream, &kernel, error);
    }
    return status ? status : run(kernel, in, out, stream, error);
}
