// SPDX-License-Identifier: Apache-2.0
#include "peers.h"

#define CUB_DISABLE_TOPK_UNSUPPORTED_ARCH_ASSERT  // what a device cannot do it says at run time
#include <cub/cub.cuh>
#include <cuda_bf16.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/transform_output_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/tuple.h>

namespace {

cudaStream_t as_stream(void *stream) { return static_cast<cudaStream_t>(stream); }

// ---- inputs

__device__ uint32_t hash(uint64_t i) {
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return static_cast<uint32_t>(x >> 32);
}

__device__ uint32_t bin_of(const peer_problem &p, uint64_t i) {
    double u = hash(i) * 0x1p-32;
    switch (p.fill) {
    case PEER_SKEWED: return static_cast<uint32_t>(u * u * u * u * p.bins);
    case PEER_EQUAL: return p.bins / 3;
    case PEER_SORTED: return static_cast<uint32_t>(i * p.bins / p.n);
    default: return static_cast<uint32_t>(u * p.bins);
    }
}

__host__ __device__ uint8_t *flags_of(const peer_problem &p, void *in) { return static_cast<uint8_t *>(in) + p.n * 4; }

__global__ void fill(peer_problem p, void *in) {
    for (uint64_t i = blockIdx.x * static_cast<uint64_t>(blockDim.x) + threadIdx.x; i < p.n; i += gridDim.x * blockDim.x) {
        float unit = (hash(i) >> 8) * 0x1p-24f;
        switch (p.type) {
        case PEER_F32: static_cast<float *>(in)[i] = unit; break;
        case PEER_F64: static_cast<double *>(in)[i] = hash(i) * 0x1p-32; break;
        case PEER_BF16: static_cast<__nv_bfloat16 *>(in)[i] = __float2bfloat16(unit); break;
        case PEER_I32: static_cast<int32_t *>(in)[i] = static_cast<int32_t>(hash(i)); break;
        case PEER_U32: static_cast<uint32_t *>(in)[i] = p.bins ? bin_of(p, i) : hash(i); break;
        }
        if (p.work == PEER_SCAN_FLAGS) flags_of(p, in)[i] = hash(~i) % p.columns == 0;
    }
}

// ---- CUB

template <typename T>
cudaError_t sum(const peer_problem &p, void *temporary, size_t *bytes, const void *in, void *out, cudaStream_t stream) {
    return cub::DeviceReduce::Sum(temporary, *bytes, static_cast<const T *>(in), static_cast<T *>(out),
                                  static_cast<int64_t>(p.n), stream);
}

// In f32, as ours is.
struct widen {
    __device__ float operator()(__nv_bfloat16 x) const { return __bfloat162float(x); }
};

cudaError_t bf16_sum(const peer_problem &p, void *temporary, size_t *bytes, const void *in, void *out, cudaStream_t stream) {
    return cub::DeviceReduce::TransformReduce(temporary, *bytes, static_cast<const __nv_bfloat16 *>(in),
                                              static_cast<float *>(out), static_cast<int64_t>(p.n), cuda::std::plus<>{}, widen{},
                                              0.0f, stream);
}

cudaError_t any_sum(const peer_problem &p, void *temporary, size_t *bytes, const void *in, void *out, cudaStream_t stream) {
    switch (p.type) {
    case PEER_F32: return sum<float>(p, temporary, bytes, in, out, stream);
    case PEER_F64: return sum<double>(p, temporary, bytes, in, out, stream);
    case PEER_BF16: return bf16_sum(p, temporary, bytes, in, out, stream);
    case PEER_I32: return sum<int32_t>(p, temporary, bytes, in, out, stream);
    default: return cudaErrorInvalidValue;
    }
}

cudaError_t argmax(const peer_problem &p, void *temporary, size_t *bytes, const void *in, void *out, cudaStream_t stream) {
    return cub::DeviceReduce::ArgMax(temporary, *bytes, static_cast<const float *>(in), static_cast<float *>(out),
                                     reinterpret_cast<int64_t *>(static_cast<char *>(out) + 8), static_cast<int64_t>(p.n), stream);
}

// The first pass has left the sum in device memory.
struct squared_deviation {
    const float *sum;
    float        share;
    __device__ float operator()(float x) const {
        float d = x - *sum * share;
        return d * d;
    }
};

cudaError_t mean_variance(const peer_problem &p, void *temporary, size_t *bytes, const void *in, void *out,
                          cudaStream_t stream) {
    const float      *x = static_cast<const float *>(in);
    float            *to = static_cast<float *>(out);
    int64_t           n = static_cast<int64_t>(p.n);
    squared_deviation of_mean = {to, 1.0f / static_cast<float>(n)};
    size_t            first = *bytes, second = *bytes;
    cudaError_t       error = cub::DeviceReduce::Sum(temporary, first, x, to, n, stream);
    if (!error)
        error = cub::DeviceReduce::TransformReduce(temporary, second, x, to + 1, n, cuda::std::plus<>{}, of_mean, 0.0f, stream);
    if (!temporary) *bytes = first > second ? first : second;
    return error;
}

cudaError_t histogram(const peer_problem &p, void *temporary, size_t *bytes, const void *in, void *out, cudaStream_t stream) {
    return cub::DeviceHistogram::HistogramEven(temporary, *bytes, static_cast<const uint32_t *>(in), static_cast<uint32_t *>(out),
                                               static_cast<int>(p.bins) + 1, 0u, p.bins, static_cast<int64_t>(p.n), stream);
}

// ---- CUB's scans

cudaError_t scan(const peer_problem &p, void *temporary, size_t *bytes, const void *in, void *out,
                 cudaStream_t stream) {
    return cub::DeviceScan::InclusiveSum(temporary, *bytes, static_cast<const float *>(in), static_cast<float *>(out),
                                         static_cast<int64_t>(p.n), stream);
}

struct row_of {
    uint32_t                columns;
    __host__ __device__ int operator()(int64_t i) const { return static_cast<int>(i / columns); }
};

cudaError_t scan_rows(const peer_problem &p, void *temporary, size_t *bytes, const void *in, void *out,
                      cudaStream_t stream) {
    auto rows = thrust::make_transform_iterator(thrust::make_counting_iterator<int64_t>(0), row_of{p.columns});
    return cub::DeviceScan::InclusiveSumByKey(temporary, *bytes, rows, static_cast<const float *>(in),
                                              static_cast<float *>(out), static_cast<int64_t>(p.n),
                                              cuda::std::equal_to<>{}, stream);
}

// A value, and whether a segment begins in it.
struct part {
    float value;
    bool  begins;
};

struct make_part {
    __host__ __device__ part operator()(const thrust::tuple<float, uint8_t> &x) const {
        return {thrust::get<0>(x), thrust::get<1>(x) != 0};
    }
};

struct join {
    __host__ __device__ part operator()(const part &a, const part &b) const {
        return {b.begins ? b.value : a.value + b.value, a.begins || b.begins};
    }
};

struct value_of {
    __host__ __device__ float operator()(const part &x) const { return x.value; }
};

cudaError_t scan_flags(const peer_problem &p, void *temporary, size_t *bytes, const void *in, void *out,
                       cudaStream_t stream) {
    const uint8_t *flags = flags_of(p, const_cast<void *>(in));
    auto           both = thrust::make_zip_iterator(thrust::make_tuple(static_cast<const float *>(in), flags));
    return cub::DeviceScan::InclusiveScan(temporary, *bytes, thrust::make_transform_iterator(both, make_part{}),
                                          thrust::make_transform_output_iterator(static_cast<float *>(out), value_of{}),
                                          join{}, static_cast<int64_t>(p.n), stream);
}

// ---- CUB's top-k of rows, with the promise that ours makes: of equal elements those in front

#if __has_include(<cub/device/device_batched_topk.cuh>)
constexpr bool has_topk = true;

template <int64_t columns, int64_t k>
cudaError_t topk_of(const peer_problem &p, void *temporary, size_t *bytes, const void *in, void *out, cudaStream_t stream) {
    namespace execution = cuda::execution;
    const int64_t rows = static_cast<int64_t>(p.n) / columns;
    float        *values = static_cast<float *>(out);
    auto starts = [](auto *first, int64_t length) { return cuda::make_strided_iterator(cuda::make_counting_iterator(first), length); };
    auto promise = execution::require(execution::determinism::gpu_to_gpu, execution::tie_break::prefer_smaller_index,
                                      execution::output_ordering::unsorted);
    return cub::DeviceBatchedTopK::MaxPairs(
        temporary, *bytes, starts(static_cast<const float *>(in), columns), starts(values, k),
        cuda::make_constant_iterator(cuda::make_counting_iterator(0u)), starts(reinterpret_cast<uint32_t *>(values + rows * k), k),
        cuda::args::constant<columns>{}, cuda::args::constant<k>{}, cuda::args::immediate{rows},
        cuda::std::execution::env{promise, cuda::stream_ref{stream}});
}

cudaError_t topk(const peer_problem &p, void *temporary, size_t *bytes, const void *in, void *out, cudaStream_t stream) {
    if (p.columns == 65536 && p.k == 64) return topk_of<65536, 64>(p, temporary, bytes, in, out, stream);
    if (p.columns == 131072 && p.k == 50) return topk_of<131072, 50>(p, temporary, bytes, in, out, stream);
    return cudaErrorInvalidValue;
}
#else
constexpr bool has_topk = false;

cudaError_t topk(const peer_problem &, void *, size_t *, const void *, void *, cudaStream_t) { return cudaErrorNotSupported; }
#endif

// ---- CUB's sorts of pairs: an element and its index, which lies in front of CUB's own temporary memory

bool is_sort(const peer_problem &p) { return p.work >= PEER_SORT && p.work <= PEER_SORT_RADIX; }

__global__ void number(peer_problem p, uint32_t *indices) {
    for (uint64_t i = blockIdx.x * static_cast<uint64_t>(blockDim.x) + threadIdx.x; i < p.n; i += gridDim.x * blockDim.x)
        indices[i] = static_cast<uint32_t>(i % p.columns);
}

struct row_start {
    uint32_t                    columns;
    __host__ __device__ int64_t operator()(int64_t row) const { return row * columns; }
};

struct pairs {
    const float    *x;
    float          *values;
    const uint32_t *indices;
    uint32_t       *where;
};

cudaError_t sort_pairs(const peer_problem &p, void *temporary, size_t *bytes, const pairs &a, cudaStream_t stream) {
    const int64_t n = static_cast<int64_t>(p.n), rows = n / p.columns;
    if (p.work == PEER_SORT)
        return cub::DeviceRadixSort::SortPairs(temporary, *bytes, a.x, a.values, a.indices, a.where, n, 0, 32, stream);
    auto starts = thrust::make_transform_iterator(thrust::make_counting_iterator<int64_t>(0), row_start{p.columns});
    if (p.work == PEER_SORT_ROWS)
        return cub::DeviceSegmentedSort::StableSortPairs(temporary, *bytes, a.x, a.values, a.indices, a.where, n, rows, starts,
                                                         starts + 1, stream);
    return cub::DeviceSegmentedRadixSort::SortPairs(temporary, *bytes, a.x, a.values, a.indices, a.where, static_cast<int>(n),
                                                    static_cast<int>(rows), starts, starts + 1, 0, 32, stream);
}

cudaError_t sort(const peer_problem &p, void *temporary, size_t *bytes, const void *in, void *out, cudaStream_t stream) {
    const size_t indices = (p.n * sizeof(uint32_t) + 255) / 256 * 256;
    float       *values = static_cast<float *>(out);
    size_t       own = temporary ? *bytes - indices : 0;
    const pairs  a = {static_cast<const float *>(in), values, static_cast<const uint32_t *>(temporary),
                      reinterpret_cast<uint32_t *>(values + p.n)};
    if (p.type != PEER_F32 || (p.work == PEER_SORT_RADIX && p.n > INT32_MAX)) return cudaErrorInvalidValue;
    cudaError_t error = sort_pairs(p, temporary ? static_cast<char *>(temporary) + indices : nullptr, &own, a, stream);
    if (!temporary) *bytes = indices + own;
    return error;
}

// ---- a stencil, one kernel a step: 4 points a thread, all problems in it

__global__ void stencil_step(const float *in, float *out, int height, int width, int rows) {
    int x = 4 * static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), row = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || row >= rows) return;
    const float  *at = in + static_cast<size_t>(row) * width + x;
    const float4  zero = make_float4(0, 0, 0, 0), c = *reinterpret_cast<const float4 *>(at);
    const float4  u = row % height ? *reinterpret_cast<const float4 *>(at - width) : zero;
    const float4  d = row % height + 1 < height ? *reinterpret_cast<const float4 *>(at + width) : zero;
    const float   l = x ? at[-1] : 0, r = x + 4 < width ? at[4] : 0, side = 0.125f, middle = 0.5f;
    float4        n;
    n.x = fmaf(side, u.x + d.x, fmaf(side, l + c.y, middle * c.x));
    n.y = fmaf(side, u.y + d.y, fmaf(side, c.x + c.z, middle * c.y));
    n.z = fmaf(side, u.z + d.z, fmaf(side, c.y + c.w, middle * c.z));
    n.w = fmaf(side, u.w + d.w, fmaf(side, c.z + r, middle * c.w));
    *reinterpret_cast<float4 *>(out + static_cast<size_t>(row) * width + x) = n;
}

// After the input the steps go to and fro in the temporary memory; the last one writes the output.
cudaError_t stencil(const peer_problem &p, void *temporary, size_t *bytes, const void *in, void *out, cudaStream_t stream) {
    size_t points = static_cast<size_t>(p.height) * p.width * p.problems;
    if (!temporary) return *bytes = 2 * points * sizeof(float), cudaSuccess;
    int          rows = static_cast<int>(p.height * p.problems), lanes = static_cast<int>(p.width / 4);
    dim3         block(lanes < 64 ? lanes : 64, 4);
    dim3         grid((lanes + block.x - 1) / block.x, (rows + block.y - 1) / block.y);
    const float *from = static_cast<const float *>(in);
    for (uint32_t step = 0; step < p.steps; step++) {
        float *to = step + 1 == p.steps ? static_cast<float *>(out) : static_cast<float *>(temporary) + step % 2 * points;
        stencil_step<<<grid, block, 0, stream>>>(from, to, static_cast<int>(p.height), static_cast<int>(p.width), rows);
        from = to;
    }
    return cudaGetLastError();
}

// ---- all-to-all through global memory with flags

__device__ void raise(unsigned *flag, unsigned value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

__device__ unsigned read_flag(const unsigned *flag) {
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
}

// Data begins and ends in shared memory. Two mailboxes a block in turns: a thread that raises a flag for a round has read the round
// before, so what lies in that round's mailboxes is free in the next but one.
__global__ void all_to_all(const uint4 *in, uint4 *out, uint4 *mail, unsigned *flags, unsigned cluster, unsigned vectors,
                           unsigned rounds) {
    extern __shared__ uint4 tile[];
    unsigned group = blockIdx.x / cluster * cluster, rank = blockIdx.x % cluster, part = vectors / cluster;
    for (unsigned i = threadIdx.x; i < vectors; i += blockDim.x) tile[i] = in[static_cast<size_t>(blockIdx.x) * vectors + i];
    __syncthreads();
    for (unsigned round = 0; round < rounds; round++) {
        uint4 *box = mail + static_cast<size_t>(round % 2) * gridDim.x * vectors;
        for (unsigned i = threadIdx.x; i < vectors; i += blockDim.x)
            box[static_cast<size_t>(group + i / part) * vectors + rank * part + i % part] = tile[i];
        __syncthreads();
        if (threadIdx.x < cluster) {
            __threadfence();
            raise(&flags[(group + threadIdx.x) * cluster + rank], round + 1);
            while (read_flag(&flags[blockIdx.x * cluster + threadIdx.x]) <= round) {}
        }
        __syncthreads();
        for (unsigned i = threadIdx.x; i < vectors; i += blockDim.x)
            tile[i] = __ldcg(&box[static_cast<size_t>(blockIdx.x) * vectors + i]);
        __syncthreads();
    }
    for (unsigned i = threadIdx.x; i < vectors; i += blockDim.x) out[static_cast<size_t>(blockIdx.x) * vectors + i] = tile[i];
}

cudaError_t exchange(const peer_problem &p, void *temporary, size_t *bytes, const void *in, void *out, cudaStream_t stream) {
    size_t mail = 2ul * p.blocks * p.bytes, flags = sizeof(unsigned) * p.blocks * p.cluster;
    if (!temporary) return *bytes = mail + flags, cudaSuccess;
    unsigned   *flag = reinterpret_cast<unsigned *>(static_cast<char *>(temporary) + mail);
    cudaError_t error = cudaFuncSetAttribute(all_to_all, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(p.bytes));
    if (!error) error = cudaMemsetAsync(flag, 0, flags, stream);
    if (error) return error;
    all_to_all<<<p.blocks, 1024, p.bytes, stream>>>(static_cast<const uint4 *>(in), static_cast<uint4 *>(out),
                                                    static_cast<uint4 *>(temporary), flag, p.cluster, p.bytes / 16, p.rounds);
    return cudaGetLastError();
}

const char *words(cudaError_t error) { return error ? cudaGetErrorString(error) : nullptr; }

}  // namespace

const char *peers_run(const peer_problem *p, void *temporary, size_t *bytes, const void *in, void *out, void *stream) {
    static decltype(&any_sum) const works[] = {any_sum, argmax, mean_variance, histogram, stencil, exchange,
                                               scan, scan_rows, scan_flags, topk, sort, sort, sort};
    return words(works[p->work](*p, temporary, bytes, in, out, as_stream(stream)));
}

const char *peers_prepare(const peer_problem *p, void *temporary) {
    if (!is_sort(*p)) return nullptr;
    number<<<1056, 256>>>(*p, static_cast<uint32_t *>(temporary));
    cudaError_t error = cudaGetLastError();
    return words(error ? error : cudaDeviceSynchronize());
}

int peers_have(const peer_problem *p) { return has_topk || p->work != PEER_TOPK; }

const char *peers_fill(const peer_problem *p, void *in) {
    fill<<<1056, 256>>>(*p, in);
    cudaError_t error = cudaGetLastError();
    return words(error ? error : cudaDeviceSynchronize());
}
