// SPDX-License-Identifier: Apache-2.0
// The library's memory from the program: host memory that is counted, and workspaces of kernels out of a pool that the program
// has allocated on the device before.
#include "example.h"

// ---- host memory: each block counts until it is given back

static int blocks;  // several threads allocate: changed by atomic additions alone

static void *take(void *user, size_t bytes, size_t alignment) {
    void *memory = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory) __atomic_add_fetch((int *)user, 1, __ATOMIC_RELAXED);
    return memory;
}

static void give_back(void *user, void *memory) {
    __atomic_sub_fetch((int *)user, 1, __ATOMIC_RELAXED);
    free(memory);
}

// ---- workspaces: pieces of one allocation, one after the other; all are free again with the pool

typedef struct pool {
    cj_ptr memory;
    size_t bytes, used;
} pool;

static cj_ptr take_piece(void *user, size_t bytes, cj_stream stream) {
    pool        *p = user;
    const size_t room = (bytes + 255) / 256 * 256;
    (void)stream;  // a pool that reuses pieces orders them by their streams
    if (room > p->bytes - p->used) return 0;
    p->used += room;
    return p->memory + p->used - room;
}

static void give_piece(void *user, cj_ptr memory, size_t bytes, cj_stream stream) {
    (void)user, (void)memory, (void)bytes, (void)stream;
}

int main(int argc, char **argv) {
    enum { N = 1 << 16 };
    static float       x[N];
    cj_error           error;
    float              sum = 0;
    cj_ptr             in, out;
    pool               own = {.bytes = 1 << 20};
    const cj_allocator host = {CJ_INIT(host), .allocate = take, .free = give_back, .user = &blocks};
    must(cj_allocator_set(&host, &error), &error);  // before any other call

    cj_device *device = open_device(argc, argv);
    must(cj_mem_alloc(device, own.bytes, &own.memory, &error), &error);
    const cj_workspaces workspaces = {CJ_INIT(workspaces), .allocate = take_piece, .free = give_piece, .user = &own};
    must(cj_workspaces_set(device, &workspaces, &error), &error);

    for (int i = 0; i < N; i++) x[i] = (float)(i % 8);
    must(cj_mem_alloc(device, sizeof x, &in, &error), &error);
    must(cj_mem_alloc(device, sizeof sum, &out, &error), &error);
    must(cj_mem_write(device, in, x, sizeof x, NULL, &error), &error);
    const cj_reduce_desc desc = {CJ_INIT(desc), .n = N, .cluster = 4, .grid = 16};  // blocks combine in a workspace
    must(cj_reduce_launch(device, &desc, in, out, NULL, &error), &error);
    must(cj_mem_read(device, &sum, out, sizeof sum, NULL, &error), &error);
    printf("the sum is %g; workspaces took %zu bytes of the pool; %d blocks of host memory\n", (double)sum, own.used,
           blocks);
    const int worked = sum == N / 8 * 28.0f && own.used > 0 && blocks > 0;

    cj_mem_free(device, in);
    cj_mem_free(device, out);
    cj_device_trim(device);  // its kernels end before the pool does
    cj_mem_free(device, own.memory);
    cj_device_close(device);
    return verdict(worked && blocks == 0);
}
