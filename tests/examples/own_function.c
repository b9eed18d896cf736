// SPDX-License-Identifier: Apache-2.0
// A reduction with a function of your own in CUDA C: the largest score of an array, of which the function becomes part of the kernel.
#include "example.h"

enum { N = 1 << 16 };

static cj_user_function *compile_score(void) {
    static const char text[] = "__device__ float square(float x) { return x * x; }\n"
                               "__device__ float score(float x) { return 9.0f - square(x - 3.0f); }\n";
    cj_error          error;
    cj_user_function *score = NULL;
    cj_cuda_desc      desc = {CJ_INIT(desc), .function = "score", .source = text, .signature = {CJ_F32, 1, {CJ_F32}}};
    const cj_status   status = cj_function_from_cuda(&desc, &score, &error);  // or cj_function_from_ptx
    if (status == CJ_UNSUPPORTED) {
        printf("skipped: %s\n", error.message);  // there is no NVRTC
        exit(77);
    }
    must(status, &error);
    return score;
}

int main(int argc, char **argv) {
    static float      x[N];
    float             best = 0;
    cj_error          error;
    cj_ptr            in, out;
    cj_reduce        *reduce;
    cj_device        *device = open_device(argc, argv);
    cj_user_function *score = compile_score();
    for (int i = 0; i < N; i++) x[i] = (float)(i % 100) / 10;
    must(cj_mem_alloc(device, sizeof x, &in, &error), &error);
    must(cj_mem_alloc(device, sizeof best, &out, &error), &error);
    must(cj_mem_write(device, in, x, sizeof x, NULL, &error), &error);

    const cj_reduce_desc desc = {CJ_INIT(desc), .n = N, .op = CJ_REDUCE_MAX, .map = score};  // each element becomes its score first
    must(cj_reduce_create(device, &desc, &reduce, &error), &error);
    cj_user_function_destroy(score);  // the kernel has it
    must(cj_reduce_run(reduce, in, out, NULL, &error), &error);
    must(cj_mem_read(device, &best, out, sizeof best, NULL, &error), &error);

    printf("the best score is %g\n", (double)best);
    cj_reduce_destroy(reduce);
    cj_mem_free(device, out);
    cj_mem_free(device, in);
    cj_device_close(device);
    return verdict(best == 9.0f);
}
