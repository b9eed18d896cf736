// SPDX-License-Identifier: Apache-2.0
// Two devices as one: an all-reduce in registered memory, a matrix product with its reduce-scatter, and the way by NCCL. docs/gpus.md
// quotes these functions. Arguments: two devices ("gpu:0" "gpu:1"); else there are two CPU devices.
#include <string.h>

#include "example.h"

enum { RANKS = 2, COUNT = 4096, M = 64, N = 32, K = 16 };

// One process a GPU: `communicator` is an ncclComm_t of this device. out = the sum of x[n] of all ranks, and `sum` a copy of it.
static cj_status sum_by_nccl(cj_device *device, void *communicator, cj_ptr x, cj_ptr out, uint64_t n, cj_stream stream,
                             uint16_t *sum, cj_error *error) {
    cj_gpus           *gpus = NULL;
    const cj_gpus_desc desc = {CJ_INIT(desc), .op = CJ_GPUS_ALLREDUCE, .dtype = CJ_BF16, .count = n};
    cj_status          status = cj_gpus_create_nccl(device, communicator, NULL, &gpus, error);
    if (!status) status = cj_gpus_run(gpus, &desc, &x, &out, &stream, error);  // this rank's arrays and stream
    if (!status) status = cj_mem_read(device, sum, out, n * sizeof *sum, stream, error);  // waits for the stream
    if (!status) status = cj_gpus_check(gpus, error);  // after that: did all ranks come, and with the same description?
    cj_gpus_destroy(gpus);
    return status;
}

// x[r], `bytes` on each device, becomes the sum of all, without mail.
static cj_status sum_in_place(cj_gpus *gpus, const cj_ptr *x, size_t bytes, cj_error *error) {
    const cj_gpus_desc sum = {CJ_INIT(sum), .dtype = CJ_F32, .count = bytes / sizeof(float)};
    cj_status          status = cj_gpus_register(gpus, x, bytes, error);  // all ranks, in the same order, the same size
    if (!status) status = cj_gpus_run(gpus, &sum, x, x, NULL, error);     // straight, where that is predicted faster
    if (!status) status = cj_gpus_unregister(gpus, x, error);  // waits for these GPUs' work, and for all ranks
    return status ? status : cj_gpus_check(gpus, error);
}

// out[r] = the rows r m / ranks … of the sum of a[q] b[q] of all ranks q: rows of the weights b are sharded.
static cj_status layer(cj_gpus *gpus, const cj_ptr *a, const cj_ptr *b, const cj_ptr *out, const cj_stream *stream,
                       cj_error *error) {
    const cj_gpus_gemm_desc desc = {CJ_INIT(desc), .m = M, .n = N, .k = K, .dtype = CJ_BF16};
    return cj_gpus_gemm_reduce_scatter(gpus, &desc, a, b, out, stream,
                                       error);  // a[r], b[r], out[r], stream[r]: of device r
}

// An array of `count` elements on each device, each of them `value`.
static void fill(cj_gpus *gpus, cj_ptr *array, size_t count, size_t size, const void *value) {
    static char bytes[COUNT * sizeof(float)];
    cj_error    error;
    for (size_t i = 0; i < count; i++) memcpy(bytes + i * size, value, size);
    must(cj_gpus_alloc(gpus, count * size, array, &error), &error);
    for (uint32_t r = 0; r < RANKS; r++)
        must(cj_mem_write(cj_gpus_device(gpus, r), array[r], bytes, count * size, NULL, &error), &error);
}

// The first element of each device's array is what is wanted.
static int is(cj_gpus *gpus, const cj_ptr *array, const void *want, size_t size) {
    int      right = 1;
    cj_error error;
    for (uint32_t r = 0; r < RANKS; r++) {
        char got[sizeof(float)];
        must(cj_mem_read(cj_gpus_device(gpus, r), got, array[r], size, NULL, &error), &error);
        right &= !memcmp(got, want, size);
    }
    return right;
}

int main(int argc, char **argv) {
    const uint16_t one = 0x3f80, product = 0x4200;  // 1 and 32 in bf16
    uint16_t       sum[COUNT];
    const float    half = 0.5f, whole = 1;
    char           cpu[] = "cpu";
    cj_error       error;
    cj_device     *device[RANKS];
    cj_gpus       *gpus = NULL;
    cj_ptr         x[RANKS], a[RANKS], b[RANKS], out[RANKS];
    for (int r = 0; r < RANKS; r++) device[r] = open_device(2, (char *[]){argv[0], argc > RANKS ? argv[1 + r] : cpu});
    must(cj_gpus_create(device, RANKS, NULL, &gpus, &error), &error);

    fill(gpus, x, COUNT, sizeof half, &half);
    must(sum_in_place(gpus, x, COUNT * sizeof half, &error), &error);
    int right = is(gpus, x, &whole, sizeof whole);

    fill(gpus, a, M * K, sizeof one, &one);
    fill(gpus, b, K * N, sizeof one, &one);
    fill(gpus, out, M / RANKS * N, sizeof one, &one);
    must(layer(gpus, a, b, out, NULL, &error), &error);
    must(cj_gpus_check(gpus, &error), &error);
    right &= is(gpus, out, &product, sizeof product);

    // Without a communicator the library says what it needs.
    right &= sum_by_nccl(device[0], NULL, x[0], x[0], COUNT, NULL, sum, &error) != CJ_OK;
    printf("by NCCL: %s\n", error.message);

    for (cj_ptr *const *array = (cj_ptr *[]){x, a, b, out, NULL}; *array; array++) cj_gpus_free(gpus, *array);
    cj_gpus_destroy(gpus);
    for (int r = 0; r < RANKS; r++) cj_device_close(device[r]);
    return verdict(right);
}
