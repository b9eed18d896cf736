// SPDX-License-Identifier: Apache-2.0
// Matrix products with a collective after or before them, chunk by chunk, so that exchange and product overlap without a step of the host:
//
//   gemm_reduce_scatter   stream:  product 0 | product 1 | product 2 | …
//                         side:               scatter 0 | scatter 1 | scatter 2 …      -> stream
//   all_gather_gemm       side:    gather 0  | gather 1  | gather 2  | …
//                         stream:             product 0 | product 1 | product 2 …
//
// A chunk is the same few rows of each rank's part: one product of a batch of as many as there are ranks, and one collective of parts that lie
// a whole part apart. The side is a stream of the library's own, which waits for the caller's at each arrow, by an event; so a graph captures
// both. At the end the caller's stream waits for the side: what comes after the call comes after all of it, and the launches of a cj_gpus stay
// in one order.
//
// What lies between product and collective (the whole product, or all ranks' rows) is memory of the call's own, registered when the
// description is used first. Where it cannot be, there is one chunk, and the collective goes as cj_gpus_run sends it.
#include <clusterjit/gemm.h>
#include <inttypes.h>
#include <string.h>

#include "allocate.h"
#include "call.h"
#include "device.h"
#include "error.h"
#include "gpus_state.h"
#include "log.h"
#include "sized.h"

static size_t element_bytes(const cj_gpus_gemm_desc *desc) { return desc->dtype == CJ_TF32 ? 4 : 2; }

static cj_gpus_product_key key_of(bool gathers, const cj_gpus_gemm_desc *desc) {
    return (cj_gpus_product_key){{gathers, desc->m, desc->n, desc->k, (uint64_t)desc->dtype, (uint64_t)desc->b, desc->chunks, (uint64_t)desc->form}};
}

// ---- what is refused

static cj_status check_desc(const cj_gpus *gpus, const cj_gpus_gemm_desc *desc, cj_error *error) {
    const bool is_known = desc->dtype == CJ_F16 || desc->dtype == CJ_BF16 || desc->dtype == CJ_TF32;
    const char *name = cj_dtype_name(desc->dtype);
    REFUSE_IF(!is_known, "dtype: %s is none of f16, bf16, tf32" CJ_HINT "multiply parts of it by cj_gemm_run, and move the results by cj_gpus_run",
              name ? name : "no type");
    const uint64_t per_16 = 16 / element_bytes(desc), rows = desc->m / gpus->count;
    REFUSE_IF(!desc->m || desc->m % gpus->count, "m: %" PRIu64 " rows are no multiple of the %" PRIu32 " ranks" CJ_HINT "pad A with rows of 0",
              desc->m, gpus->count);
    REFUSE_IF(!desc->n || desc->n % per_16, "n: %" PRIu64 " is no multiple of %" PRIu64 CJ_HINT "rows are multiples of 16 bytes", desc->n, per_16);
    REFUSE_IF(!desc->k || desc->k % per_16, "k: %" PRIu64 " is no multiple of %" PRIu64 CJ_HINT "rows are multiples of 16 bytes", desc->k, per_16);
    REFUSE_IF(desc->chunks && rows % desc->chunks, "chunks: %" PRIu32 " do not divide the %" PRIu64 " rows of a rank" CJ_HINT
              "leave it 0: the plan chooses", desc->chunks, rows);
    REFUSE_IF(rows * (desc->n > desc->k ? desc->n : desc->k) > 1 << 28,
              "m: %" PRIu64 " rows of a rank, of %" PRIu64 " elements, are more than 2^28 elements" CJ_HINT "do it in several calls", rows,
              desc->n > desc->k ? desc->n : desc->k);
    return CJ_OK;
}

static cj_status check_array(const cj_gpus *gpus, const char *name, const cj_ptr *array, cj_error *error) {
    REFUSE_IF(!array, "%s is NULL" CJ_HINT "give one pointer for each of the %" PRIu32 " GPUs", name, gpus->local);
    for (uint32_t i = 0; i < gpus->local; i++) TRY(cj__call_array(name, array[i], 16, NULL, error));
    return CJ_OK;
}

// ---- what the first call makes

static void destroy(cj_gpus *gpus, cj_gpus_product *made) {
    if (made->registered) cj_gpus_unregister(gpus, made->whole, NULL);
    for (uint32_t i = 0; i < gpus->local; i++) {
        cj_kernel_destroy(made->kernel[i]);
        if (gpus->device[i]->ops->free_side) gpus->device[i]->ops->free_side(gpus->device[i], &made->side[i]);
        if (made->whole[i]) cj_mem_free(gpus->device[i], made->whole[i]);
    }
}

void cj__gpus_destroy_products(cj_gpus *gpus) {
    for (size_t i = 0; i < gpus->product_count; i++) destroy(gpus, &gpus->product[i]);
    cj__free(gpus->product);
    gpus->product = NULL;
    gpus->product_count = 0;
}

// A rank without memory registers none, so that the others hear of it.
static cj_status make_whole(cj_gpus *gpus, cj_gpus_product *made, size_t bytes, cj_error *error) {
    cj_error        why = {0};
    const cj_status status = cj_gpus_alloc(gpus, bytes, made->whole, error);
    if (!gpus->mail) return status;
    const cj_status told = cj_gpus_register(gpus, made->whole, bytes, &why);
    made->registered = !told;
    if (status || !told) return status;
    if (told != CJ_UNSUPPORTED) {
        if (error) *error = why;
        return told;
    }
    cj__log(CJ_LOG_INFO, "the memory between product and collective is not registered, so they do not overlap: %s", why.message);
    return CJ_OK;
}

static cj_gemm_desc product_of(const cj_gpus *gpus, const cj_gpus_gemm_desc *desc, uint32_t chunks) {
    const uint64_t rows = desc->m / gpus->count;
    cj_gemm_desc   one = {CJ_INIT(one), .m = desc->m, .n = desc->n, .k = desc->k, .dtype = desc->dtype, .b = desc->b, .form = desc->form};
    if (chunks == 1) return one;
    one.m = rows / chunks;
    one.batch = gpus->count;
    one.stride_a = rows * desc->k;
    one.stride_d = rows * desc->n;
    return one;
}

// The part's SMs but those that the exchange has: products are persistent, and the blocks that find none would begin when others end.
static cj_limits limits_beside(const cj_device *device, uint32_t blocks) {
    enum { PAIR = 2 };  // SMs that lie together
    cj_limits      limits = device->limits;
    const uint32_t some = blocks < limits.sm_count / 2 ? blocks : limits.sm_count / 2;
    uint32_t       gpcs = 0;
    while (gpcs < sizeof limits.gpc_sms / sizeof *limits.gpc_sms && limits.gpc_sms[gpcs]) gpcs++;
    limits.sm_count -= some;
    for (uint32_t left = some, i = 0; left && gpcs && i < limits.sm_count; i++) {
        uint8_t       *gpc = &limits.gpc_sms[i % gpcs];
        const uint32_t wanted = left < PAIR ? left : PAIR, take = wanted < *gpc ? wanted : *gpc;
        *gpc = (uint8_t)(*gpc - take);
        left -= take;
    }
    return limits;
}

static cj_status make_kernel(const cj_gpus_product *made, uint32_t side, cj_device *device, cj_kernel **kernel,
                             cj_error *error) {
    cj_gemm *whole;
    cj_plan  plan;
    TRY(cj_gemm_create(device, &made->one, &whole, error));
    const cj_plan  *chosen = cj_kernel_plan(cj_gemm_kernel(whole));
    const cj_limits limits = limits_beside(device, made->chunks > 1 ? side : 0);
    cj_status       status = cj_plan_make(&chosen->params, &limits, chosen->arch, &plan, error);
    if (!status) status = cj_kernel_load(device, &plan, kernel, error);
    cj_gemm_destroy(whole);
    return status;
}

static uint32_t choose_chunks(const cj_gpus *gpus, const cj_gpus_gemm_desc *desc, bool gathers) {
    const uint64_t rows = desc->m / gpus->count;
    if (desc->chunks) return desc->chunks;
    return cj__gpus_chunks(gpus->count, gpus->device[0]->limits.sm_count, rows, desc->n, desc->k, (double)(gathers ? desc->k : desc->n),
                           (double)element_bytes(desc));
}

static cj_status make_sides(cj_gpus *gpus, cj_gpus_product *made, cj_error *error) {
    for (uint32_t i = 0; i < gpus->local; i++) {
        const cj_device_ops *ops = gpus->device[i]->ops;
        if (ops->make_side) TRY(ops->make_side(gpus->device[i], &made->side[i], error));
    }
    return CJ_OK;
}

static cj_status make(cj_gpus *gpus, const cj_gpus_gemm_desc *desc, bool gathers, cj_gpus_product *made, cj_error *error) {
    const size_t bytes = (size_t)(desc->m * (gathers ? desc->k : desc->n)) * element_bytes(desc);
    made->key = key_of(gathers, desc);
    TRY(make_whole(gpus, made, bytes, error));
    made->chunks = made->registered ? choose_chunks(gpus, desc, gathers) : 1;
    made->one = product_of(gpus, desc, made->chunks);
    for (uint32_t i = 0; i < gpus->local; i++)
        TRY(make_kernel(made, cj__gpus_side_blocks(), gpus->device[i], &made->kernel[i], error));
    if (made->chunks > 1) TRY(make_sides(gpus, made, error));
    cj__log(CJ_LOG_INFO, "%s of %" PRIu64 " x %" PRIu64 " x %" PRIu64 " on rank %" PRIu32 " of %" PRIu32 " GPUs goes in %" PRIu32 " chunks%s",
            gathers ? "all_gather_gemm" : "gemm_reduce_scatter", desc->m, desc->n, desc->k, gpus->first, gpus->count, made->chunks,
            made->registered ? ", straight into registered memory" : "");
    return CJ_OK;
}

static cj_status find(cj_gpus *gpus, const cj_gpus_gemm_desc *desc, bool gathers, cj_gpus_product **found, cj_error *error) {
    const cj_gpus_product_key key = key_of(gathers, desc);
    for (size_t i = 0; i < gpus->product_count; i++) {
        *found = &gpus->product[i];
        if (!memcmp(&(*found)->key, &key, sizeof key)) return CJ_OK;
    }
    void *list = gpus->product;
    TRY(cj__gpus_grow(&list, gpus->product_count, &gpus->product_room, sizeof **found, error));
    gpus->product = list;
    *found = &gpus->product[gpus->product_count];
    memset(*found, 0, sizeof **found);
    const cj_status status = make(gpus, desc, gathers, *found, error);
    if (status)
        destroy(gpus, *found);
    else
        gpus->product_count++;
    return status;
}

// ---- a call

typedef struct call {
    cj_gpus                 *gpus;
    const cj_gpus_gemm_desc *desc;
    cj_gpus_product         *product;
    cj_gpus_desc             exchange;
    cj_stream                own[CJ_GPUS_MAX], side[CJ_GPUS_MAX];  // the same where launches run in order
    uint64_t                 rows;                                 // of a chunk, of a rank
} call;

static cj_status follow(const call *c, const cj_stream *later, const cj_stream *earlier, cj_error *error) {
    for (uint32_t i = 0; i < c->gpus->local; i++) {
        cj_device *device = c->gpus->device[i];
        if (later[i] != earlier[i]) TRY(device->ops->follow(device, &c->product->side[i], later[i], earlier[i], error));
    }
    return CJ_OK;
}

static cj_status multiply(const call *c, uint32_t chunk, const cj_ptr *a, const cj_ptr *b, const cj_ptr *d, cj_error *error) {
    const size_t bytes = element_bytes(c->desc);
    for (uint32_t i = 0; i < c->gpus->local; i++) {
        const cj_gemm_operands operands = {CJ_INIT(operands), .a = a[i] + chunk * c->rows * c->desc->k * bytes, .b = b[i],
                                           .d = d[i] + chunk * c->rows * c->desc->n * bytes, .alpha = 1};
        TRY(cj_gemm_kernel_launch(c->gpus->device[i], c->product->kernel[i], &c->product->one, &operands, c->own[i], error));
    }
    return CJ_OK;
}

// The chunk's rows of each part; of one chunk that is not registered as cj_gpus_run does it.
static cj_status exchange(const call *c, uint32_t chunk, const cj_ptr *x, const cj_ptr *out, cj_error *error) {
    const uint64_t each = c->exchange.count / c->product->chunks;
    if (!c->product->registered) return cj_gpus_run(c->gpus, &c->exchange, x, out, c->own, error);
    return cj__gpus_run_straight(c->gpus, &c->exchange, chunk * each, each, x, out, c->side, error);
}

static cj_status scatter_all(const call *c, const cj_ptr *a, const cj_ptr *b, const cj_ptr *out, cj_error *error) {
    for (uint32_t chunk = 0; chunk < c->product->chunks; chunk++) {
        TRY(multiply(c, chunk, a, b, c->product->whole, error));
        TRY(follow(c, c->side, c->own, error));
        TRY(exchange(c, chunk, c->product->whole, out, error));
    }
    return follow(c, c->own, c->side, error);
}

static cj_status gather_all(const call *c, const cj_ptr *x, const cj_ptr *b, const cj_ptr *out, cj_error *error) {
    TRY(follow(c, c->side, c->own, error));
    for (uint32_t chunk = 0; chunk < c->product->chunks; chunk++) {
        TRY(exchange(c, chunk, x, c->product->whole, error));
        TRY(follow(c, c->own, c->side, error));
        TRY(multiply(c, chunk, c->product->whole, b, out, error));
    }
    return CJ_OK;
}

// The side's launches have few blocks, as products run beside them.
static cj_status open_call(cj_gpus *gpus, const cj_gpus_gemm_desc *desc, bool gathers, const cj_stream *stream, call *c, cj_error *error) {
    *c = (call){.gpus = gpus, .desc = desc};
    TRY(check_desc(gpus, desc, error));
    TRY(find(gpus, desc, gathers, &c->product, error));
    const uint64_t part = desc->m / gpus->count;
    const bool     overlaps = c->product->chunks > 1;
    c->rows = part / c->product->chunks;
    c->exchange = (cj_gpus_desc){CJ_INIT(c->exchange), .op = gathers ? CJ_GPUS_ALL_GATHER : CJ_GPUS_REDUCE_SCATTER,
                                 .dtype = desc->dtype == CJ_TF32 ? CJ_F32 : desc->dtype, .count = part * (gathers ? desc->k : desc->n),
                                 .grid = overlaps ? cj__gpus_side_blocks() : 0};
    for (uint32_t i = 0; i < gpus->local; i++) {
        c->own[i] = stream ? stream[i] : NULL;
        c->side[i] = overlaps && c->product->side[i].stream ? c->product->side[i].stream : c->own[i];
    }
    return CJ_OK;
}

static cj_status run(cj_gpus *gpus, const cj_gpus_gemm_desc *desc, bool gathers, const cj_ptr *a, const cj_ptr *b, const cj_ptr *out,
                     const cj_stream *stream, cj_error *error) {
    call c;
    TRY(check_array(gpus, "a", a, error));
    TRY(check_array(gpus, "b", b, error));
    TRY(check_array(gpus, "out", out, error));
    TRY(open_call(gpus, desc, gathers, stream, &c, error));
    return gathers ? gather_all(&c, a, b, out, error) : scatter_all(&c, a, b, out, error);
}

cj_status cj_gpus_gemm_reduce_scatter(cj_gpus *gpus, const cj_gpus_gemm_desc *desc, const cj_ptr *a, const cj_ptr *b, const cj_ptr *out,
                                      const cj_stream *stream, cj_error *error) {
    REQUIRE(gpus);
    SIZED(cj_gpus_gemm_desc, desc);
    return run(gpus, desc, false, a, b, out, stream, error);
}

cj_status cj_gpus_all_gather_gemm(cj_gpus *gpus, const cj_gpus_gemm_desc *desc, const cj_ptr *a, const cj_ptr *b, const cj_ptr *out,
                                  const cj_stream *stream, cj_error *error) {
    REQUIRE(gpus);
    SIZED(cj_gpus_gemm_desc, desc);
    return run(gpus, desc, true, a, b, out, stream, error);
}
