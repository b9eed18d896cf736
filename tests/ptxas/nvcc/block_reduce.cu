// SPDX-License-Identifier: Apache-2.0
// CUB's block reduction, over several types and operators.
#include <cub/block/block_reduce.cuh>

template <typename T, int N> __global__ void block_reduce(const T *in, T *out) {
    using Reduce = cub::BlockReduce<T, N>;
    __shared__ typename Reduce::TempStorage storage;
    T sum = Reduce(storage).Sum(in[blockIdx.x * N + threadIdx.x]);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
template __global__ void block_reduce<float, 128>(const float *, float *);
template __global__ void block_reduce<double, 96>(const double *, double *);
template __global__ void block_reduce<long long, 1024>(const long long *, long long *);
template __global__ void block_reduce<unsigned char, 33>(const unsigned char *, unsigned char *);
