// SPDX-License-Identifier: Apache-2.0
// malloc, free, new and delete in kernels.
// run: lists --grid 2 --block 5 --arg u32[10]=iota --print 0
// prints: 0 1 5 12 22 0 6 15 27 42
// run: handed_on --grid 2 --block 8 --arg u32[16]=zeros --print 0
// prints: 104 105 106 107 100 101 102 103 104 105 106 107 100 101 102 103
// run: exhausted --arg u32[4]=zeros --print 0
// prints: 1 1 1 1
#include <cstdlib>

struct node {
    node      *next;
    unsigned   value;
    __device__ node(node *n, unsigned v) : next(n), value(v) {}
};

// Each thread's list of i % 5 nodes with the values i, i + 1, …, summed while it is taken down.
extern "C" __global__ void lists(unsigned *x) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    node          *list = nullptr;
    unsigned       sum = 0;
    for (unsigned k = 0; k < i % 5; k++) list = new node(list, x[i] + k);
    while (list) {
        node *gone = list;
        sum += gone->value;
        list = gone->next;
        delete gone;
    }
    x[i] = sum;
}

// Every thread writes a block that another thread reads and frees; the barrier orders them. Freed memory serves others at once.
extern "C" __global__ void handed_on(unsigned *x) {
    __shared__ unsigned *block[8];
    const unsigned       t = threadIdx.x;
    unsigned            *own = (unsigned *)malloc(sizeof *own * (1 + t));
    for (unsigned k = 0; k <= t; k++) own[k] = t + 100;
    block[t] = own;
    __syncthreads();
    unsigned *other = block[(t + 4) % 8];
    x[blockIdx.x * 8 + t] = other[0];
    free(other);
}

// The heap has 8 MiB; what does not fit gives a null pointer, and freeing that one is nothing.
extern "C" __global__ void exhausted(unsigned *x) {
    void *whole = malloc(9 << 20), *most = malloc(7 << 20), *more = malloc(2 << 20);
    x[0] = !whole && most && !more;
    free(more);
    free(most);
    more = malloc(2 << 20);
    x[1] = more != nullptr;
    x[2] = ((unsigned long long)more & 15) == 0;
    free(more);
    void *aligned = __nv_aligned_device_malloc(100, 512);
    x[3] = aligned && ((unsigned long long)aligned & 511) == 0;
    free(aligned);
}
