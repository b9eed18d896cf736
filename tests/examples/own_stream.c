// SPDX-License-Identifier: Apache-2.0
// A reduction on a stream of your own: the library works in your context and on your stream, waits for nothing, and the
// result stays on the device until you ask for it. The CPU device has no streams: there it is NULL.
#include <dlfcn.h>
#include <string.h>

#include "example.h"

enum { N = 1 << 20 };

// cuStreamCreate and cuStreamDestroy, as a program that links libcuda would call them.
typedef struct streams {
    int (*create)(void **stream, unsigned flags);
    int (*destroy)(void *stream);
} streams;

static void *symbol(void *library, const char *name) {
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "libcuda.so.1 has no %s\n", name);
        exit(1);
    }
    return found;
}

static streams load_streams(void) {
    streams s;
    void   *library = dlopen("libcuda.so.1", RTLD_NOW);
    memcpy(&s.create, &(void *){symbol(library, "cuStreamCreate")}, sizeof s.create);
    memcpy(&s.destroy, &(void *){symbol(library, "cuStreamDestroy_v2")}, sizeof s.destroy);
    return s;
}

// The primary context of GPU 0 becomes current, as cudaSetDevice would make it.
static void *make_context_current(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
    int (*init)(unsigned), (*retain)(void **, int), (*set)(void *);
    memcpy(&init, &(void *){symbol(library, "cuInit")}, sizeof init);
    memcpy(&retain, &(void *){symbol(library, "cuDevicePrimaryCtxRetain")}, sizeof retain);
    memcpy(&set, &(void *){symbol(library, "cuCtxSetCurrent")}, sizeof set);
    return init(0) || retain(&context, 0) || set(context) ? NULL : context;
}

int main(int argc, char **argv) {
    static float x[N];
    float        sum = 0;
    cj_error     error;
    cj_ptr       in, out;
    cj_stream    stream = NULL;
    streams      cuda = {0};
    cj_device   *device = open_device(argc, argv);
    const int    gpu = strcmp(cj_device_kind(device), "gpu") == 0;
    if (gpu) {
        cuda = load_streams();
        if (!make_context_current() || cuda.create(&stream, 1)) return 1;  // 1: it does not wait for the default stream
    }

    for (int i = 0; i < N; i++) x[i] = 0.25f;
    must(cj_mem_alloc(device, sizeof x, &in, &error), &error);
    must(cj_mem_alloc(device, sizeof sum, &out, &error), &error);
    must(cj_mem_write(device, in, x, sizeof x, stream, &error), &error);

    // One call: the first makes the kernel, later ones find it. Each stream has a workspace of its own.
    const cj_reduce_desc desc = {CJ_INIT(desc), .n = N};
    for (int i = 0; i < 3; i++) must(cj_reduce_launch(device, &desc, in, out, stream, &error), &error);
    must(cj_mem_read(device, &sum, out, sizeof sum, stream, &error), &error);  // waits for the stream

    printf("sum of %d times 0.25: %.1f\n", N, (double)sum);
    cj_mem_free(device, out);
    cj_mem_free(device, in);
    if (gpu) cuda.destroy(stream);
    cj_device_close(device);
    return verdict(sum == N * 0.25f);
}
