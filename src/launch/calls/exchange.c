// SPDX-License-Identifier: Apache-2.0
// The typed call of the exchange: converts a description to the family's parameters.
#include <clusterjit/exchange.h>

#include "call.h"
#include "error.h"

enum { SIZE = 2, ALIGN = 16 };  // the defaults

static const char *const patterns[] = {[CJ_EXCHANGE_PAIR] = "pair",
                                       [CJ_EXCHANGE_RING] = "ring",
                                       [CJ_EXCHANGE_HALO] = "halo",
                                       [CJ_EXCHANGE_ALL_TO_ALL] = "all-to-all"};

// Blocks also push through global memory.
static const char *const strategies[] = {
    [CJ_EXCHANGE_PUSH] = "push", [CJ_EXCHANGE_PULL] = "pull", [CJ_EXCHANGE_GLOBAL] = "push"};

static cj_status describe(const void *from, cj_params *params, cj_error *error) {
    const cj_exchange_desc *desc = from;
    const uint32_t          size = desc->size ? desc->size : SIZE;
    const bool              is_global = desc->strategy == CJ_EXCHANGE_GLOBAL;
    cj_status               status = cj__call_family(params, "exchange", error);
    if (!status) status = cj__call_word(params, "pattern", WORDS(patterns), desc->pattern, error);
    if (!status) status = cj__call_word(params, "strategy", WORDS(strategies), desc->strategy, error);
    if (!status) status = cj__call_extent(params, "n", desc->n, "exchange", error);
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

CALL_HANDLE(cj_exchange)

static cj_status run(cj_kernel *kernel, uint32_t align, cj_ptr x, cj_ptr out, cj_stream stream, cj_error *error) {
    static const char hint[] = "describe the exchange with the alignment that its arrays have";
    cj_status         status = cj__call_array("x", x, align, hint, error);
    if (!status) status = cj__call_array("out", out, align, hint, error);
    if (status) return status;
    void *arguments[] = {&x, &out};
    return cj_kernel_launch(kernel, stream, arguments, 2, error);
}

cj_status cj_exchange_run(cj_exchange *exchange, cj_ptr x, cj_ptr out, cj_stream stream, cj_error *error) {
    REQUIRE(exchange);
    return run(exchange->call.kernel, align_of(&exchange->desc), x, out, stream, error);
}

typedef struct CALL_KEY call_key {
    uint32_t pattern, strategy, n, size, groups, dtype, shift, halo, block, grid, align, repeat;
} call_key;

_Static_assert(sizeof(call_key) <= CALL_KEY_BYTES, "the key fits");

static call_key key_of(const cj_exchange_desc *d) {
    return (call_key){.pattern = (uint32_t)d->pattern,
                      .strategy = (uint32_t)d->strategy,
                      .n = d->n,
                      .size = d->size,
                      .groups = d->groups,
                      .dtype = (uint32_t)d->dtype,
                      .shift = d->shift,
                      .halo = d->halo,
                      .block = d->block,
                      .grid = d->grid,
                      .align = d->align,
                      .repeat = d->repeat};
}

cj_status cj_exchange_launch(cj_device *device, const cj_exchange_desc *desc, cj_ptr x, cj_ptr out, cj_stream stream,
                             cj_error *error) {
    REQUIRE(device);
    SIZED(cj_exchange_desc, desc);
    cj_kernel     *kernel;
    const call_key key = key_of(desc);
    cj_status      status = cj__call_kernel(device, describe, desc, &key, sizeof key, stream, &kernel, error);
    return status ? status : run(kernel, align_of(desc), x, out, stream, error);
}
