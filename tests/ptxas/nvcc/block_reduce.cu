// SPDX-License-Identifier: Apache-2.0
// CUB's block reduction, over several types and operators.
// run: reduce_float --grid 2 --block 128 --arg f32[256]=iota --arg f32[2]=zeros --print 1
// prints: 8128.0 24512.0
// run: reduce_double --grid 1 --block 96 --arg f64[96]=const:0.1 --arg f64[1]=zeros --print 1
// prints: 9.6
// run: reduce_long --grid 1 --block 1024 --arg s64[1024]=const:4000000000000 --arg s64[1]=zeros --print 1
// prints: 4096000000000000
// run: reduce_byte --grid 2 --block 33 --arg u8[66]=iota --arg u8[2]=zeros --print 1
// prints: 16 81
#include <cub/block/block_reduce.cuh>

template <typename T, int N> __device__ void block_reduce(const T *in, T *out) {
    using Reduce = cub::BlockReduce<T, N>;
    __shared__ typename Reduce::TempStorage storage;
    T sum = Reduce(storage).Sum(in[blockIdx.x * N + threadIdx.x]);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
extern "C" __global__ void reduce_float(const float *in, float *out) { block_reduce<float, 128>(in, out); }
extern "C" __global__ void reduce_double(const double *in, double *out) { block_reduce<double, 96>(in, out); }
extern "C" __global__ void reduce_long(const long long *in, long long *out) { block_reduce<long long, 1024>(in, out); }
using byte = unsigned char;
extern "C" __global__ void reduce_byte(const byte *in, byte *out) { block_reduce<byte, 33>(in, out); }
