// SPDX-License-Identifier: Apache-2.0
// The exchange as a typed call: a description becomes the family's parameters.
#include <clusterjit/exchange.h>
#include <inttypes.h>
#include <string.h>

#include "call.h"
#include "error.h"

struct cj_exchange {
    cj_kernel *kernel;
    uint32_t   align;
};

enum { SIZE = 2, ALIGN = 16 };  // the defaults

static const char *const patterns[] = {[CJ_EXCHANGE_PAIR] = "pair",
                                       [CJ_EXCHANGE_RING] = "ring",
                                       [CJ_EXCHANGE_HALO] = "halo",
                                       [CJ_EXCHANGE_ALL_TO_ALL] = "all-to-all"};

static cj_status describe(const void *from, cj_params *params, cj_error *error) {
    const cj_exchange_desc *desc = from;
    const uint32_t          size = desc->size ? desc->size : SIZE;
    const bool              is_global = desc->strategy == CJ_EXCHANGE_GLOBAL;
    cj_status               status = cj__call_family(params, "exchange", error);
    if (!status && (unsigned)desc->pattern >= sizeof patterns / sizeof *patterns)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "pattern: %d is not a cj_exchange_pattern", (int)desc->pattern);
    if (!status && (unsigned)desc->strategy > CJ_EXCHANGE_GLOBAL)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "strategy: %d is not a cj_exchange_strategy", (int)desc->strategy);
    if (!status && !desc->n)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "n: 0 is below 1: there is nothing to exchange");
    if (!status) status = cj_params_set(params, "pattern", patterns[desc->pattern], error);
    if (!status)
        status = cj_params_set(params, "strategy", desc->strategy == CJ_EXCHANGE_PULL ? "pull" : "push", error);
    if (!status) status = cj__call_number(params, "n", desc->n, error);
    if (!status) status = cj__call_number(params, "size", size, error);
    if (!status) status = cj__call_cluster(params, is_global ? UINT32_MAX : size, error);
    if (!status) status = cj__call_number(params, "clusters", desc->groups, error);
    if (!status) status = cj__call_dtype(params, "dtype", desc->dtype, error);
    if (!status) status = cj__call_number(params, "shift", desc->shift, error);
    if (!status) status = cj__call_number(params, "halo", desc->halo, error);
    if (!status) status = cj__call_number(params, "block", desc->block, error);
    if (!status) status = cj__call_number(params, "grid", desc->grid, error);
    if (!status) status = cj__call_number(params, "align", desc->align, error);
    if (!status) status = cj__call_number(params, "repeat", desc->repeat, error);
    return status;
}

static uint32_t align_of(const cj_exchange_desc *desc) { return desc->align ? desc->align : ALIGN; }

cj_status cj_exchange_create(cj_device *device, const cj_exchange_desc *desc, cj_exchange **exchange, cj_error *error) {
    void     *made;
    cj_status status = cj__call_create(device, describe, desc, sizeof **exchange, &made, error);
    *exchange = made;
    if (made) (*exchange)->align = align_of(desc);
    return status;
}

void cj_exchange_destroy(cj_exchange *exchange) { cj__call_destroy(exchange); }

static cj_status launch(cj_kernel *kernel, uint32_t align, cj_ptr x, cj_ptr out, cj_stream stream, cj_error *error) {
    if ((x | out) & (align - 1)) {
        cj__fail(error, CJ_INVALID_ARGUMENT, "%s: address 0x%" PRIx64 " is not a multiple of %" PRIu32 " bytes",
                 x & (align - 1) ? "x" : "out", x & (align - 1) ? x : out, align);
        cj__hint(error, "describe the exchange with the alignment that its arrays have");
        return CJ_INVALID_ARGUMENT;
    }
    void *arguments[] = {&x, &out};
    return cj_kernel_launch(kernel, stream, arguments, 2, error);
}

cj_status cj_exchange_run(cj_exchange *exchange, cj_ptr x, cj_ptr out, cj_stream stream, cj_error *error) {
    return launch(exchange->kernel, exchange->align, x, out, stream, error);
}

const cj_kernel *cj_exchange_kernel(const cj_exchange *exchange) { return exchange->kernel; }

// What the kernel of a one-call exchange depends on.
typedef struct call_key {
    const void  *family;
    cj_stream_id on;
    uint32_t     pattern, strategy, n, size, groups, dtype, shift, halo, block, grid, align, repeat;
} call_key;

_Static_assert(sizeof(call_key) <= CJ_WARM_KEY, "the key fits");

static void write_key(const cj_exchange_desc *desc, cj_stream stream, cj_warm_key *to) {
    call_key key;
    memset(&key, 0, sizeof key);
    key.family = patterns;  // no other family's keys begin with this address
    key.on = cj__stream_id(stream);
    key.pattern = (uint32_t)desc->pattern;
    key.strategy = (uint32_t)desc->strategy;
    key.n = desc->n;
    key.size = desc->size;
    key.groups = desc->groups;
    key.dtype = (uint32_t)desc->dtype;
    key.shift = desc->shift;
    key.halo = desc->halo;
    key.block = desc->block;
    key.grid = desc->grid;
    key.align = desc->align;
    key.repeat = desc->repeat;
    cj__call_key(to, &key, sizeof key);
}

cj_status cj_exchange_launch(cj_device *device, const cj_exchange_desc *desc, cj_ptr x, cj_ptr out, cj_stream stream,
                             cj_error *error) {
    REQUIRE(device);
    REQUIRE(desc);
    cj_warm_key key;
    cj_kernel  *kernel;
    write_key(desc, stream, &key);
    cj_status status = cj__call_kernel(device, &key, describe, desc, stream, &kernel, error);
    return status ? status : launch(kernel, align_of(desc), x, out, stream, error);
}
