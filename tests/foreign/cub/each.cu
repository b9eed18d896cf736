// SPDX-License-Identifier: Apache-2.0
// cub::DeviceFor, cub::DeviceTransform, cub::DeviceMemcpy and cub::DeviceCopy.
#include <cub/device/device_copy.cuh>
#include <cub/device/device_for.cuh>
#include <cub/device/device_memcpy.cuh>
#include <cub/device/device_transform.cuh>
#include <cuda/std/mdspan>
#include <cuda/std/tuple>

#include "cases.cuh"

struct Triple {
    __host__ __device__ int operator()(int x) const { return 3 * x + 1; }
};
struct TripleAt {
    int            *at;
    __device__ void operator()(int i) const { at[i] = Triple{}(at[i]); }
};
struct TripleThis {
    __device__ void operator()(int &x) const { x = Triple{}(x); }
};
struct Count {
    unsigned long long *sum;
    __device__ void     operator()(int x) const { atomicAdd(sum, (unsigned long long)x); }
};
struct Sum {
    __host__ __device__ uint64_t operator()(int a, uint64_t b) const { return (uint64_t)a + b; }
};

template <class F> static void each(Random &random, F call) {
    const auto  x = random.items<int>(random.size(), 1000);
    Buffer<int> in(x);
    must(call(in.at, (int)x.size()));
    must(cudaDeviceSynchronize());
    auto wanted = x;
    for (int &one : wanted) one = Triple{}(one);
    expect(in.host(), wanted);
}

CASE("DeviceFor::Bulk") {
    each(random, [](int *at, int n) { return cub::DeviceFor::Bulk(n, TripleAt{at}); });
}
CASE("DeviceFor::ForEach") {
    each(random, [](int *at, int n) { return cub::DeviceFor::ForEach(at, at + n, TripleThis{}); });
}
CASE("DeviceFor::ForEachN") {
    each(random, [](int *at, int n) { return cub::DeviceFor::ForEachN(at, n, TripleThis{}); });
}

template <class F> static void counted(Random &random, F call) {
    const auto                 x = random.items<int>(random.size(), 1000);
    Buffer<int>                in(x);
    Buffer<unsigned long long> sum(std::vector<unsigned long long>{0});
    must(call(in.at, (int)x.size(), sum.at));
    must(cudaDeviceSynchronize());
    expect(sum.first(), std::accumulate(x.begin(), x.end(), 0ull), "sum");
}

CASE("DeviceFor::ForEachCopy") {
    counted(random, [](int *at, int n, unsigned long long *sum) {
        return cub::DeviceFor::ForEachCopy(at, at + n, Count{sum});
    });
}
CASE("DeviceFor::ForEachCopyN") {
    counted(random,
            [](int *at, int n, unsigned long long *sum) { return cub::DeviceFor::ForEachCopyN(at, n, Count{sum}); });
}

struct Place {
    int            *at;
    int             columns;
    __device__ void operator()(int i, int row, int column) const { at[i] = 1000 * row + column + 7 * columns; }
};

CASE("DeviceFor::ForEachInExtents") {
    const int                         rows = 1 + (int)random.below(90), columns = 1 + (int)random.below(90);
    const cuda::std::dextents<int, 2> extents(rows, columns);
    std::vector<int>                  wanted;
    Buffer<int>                       out((size_t)rows * columns);
    must(cub::DeviceFor::ForEachInExtents(extents, Place{out.at, columns}));
    must(cudaDeviceSynchronize());
    for (int i = 0; i < rows * columns; i++) wanted.push_back(1000 * (i / columns) + i % columns + 7 * columns);
    expect(out.host(), wanted);
}

// ---- transforms

template <class F> static void transform(Random &random, F call) {
    const auto       x = random.items<int>(random.size(), 1000);
    const auto       y = random.items<uint64_t>(x.size(), UINT64_MAX);
    Buffer<int>      in(x);
    Buffer<uint64_t> with(y), out(x.size());
    must(call(cuda::std::make_tuple(in.at, with.at), out.at, (int)x.size()));
    must(cudaDeviceSynchronize());
    std::vector<uint64_t> wanted(x.size());
    for (size_t i = 0; i < x.size(); i++) wanted[i] = Sum{}(x[i], y[i]);
    expect(out.host(), wanted);
}

CASE("DeviceTransform::Transform") {
    transform(random, [](auto in, auto out, int n) { return cub::DeviceTransform::Transform(in, out, n, Sum{}); });
}
CASE("DeviceTransform::TransformStableArgumentAddresses") {
    transform(random, [](auto in, auto out, int n) {
        return cub::DeviceTransform::TransformStableArgumentAddresses(in, out, n, Sum{});
    });
}
CASE("DeviceTransform::Transform of one") {
    const auto  x = random.items<int>(random.size(), 1000);
    Buffer<int> in(x), out(x.size());
    must(cub::DeviceTransform::Transform(in.at, out.at, (int)x.size(), Triple{}));
    must(cudaDeviceSynchronize());
    auto wanted = x;
    for (int &one : wanted) one = Triple{}(one);
    expect(out.host(), wanted);
}

// ---- batches: pieces of one array go to other places of another

template <class T, class F> static void batch(Random &random, F call) {
    const auto       x = random.items<T>(random.size(), 250);
    const auto       offset = random.offsets((int)x.size());
    const int        pieces = (int)offset.size() - 1;
    std::vector<int> order(pieces), size;
    std::vector<T *> from, to;
    std::vector<T>   wanted(x.size());
    Buffer<T>        in(x), out(x.size());
    std::iota(order.begin(), order.end(), 0);
    for (int i = pieces; i > 1; i--) std::swap(order[i - 1], order[random.below(i)]);
    int at = 0;
    for (int i : order) {
        const int count = offset[i + 1] - offset[i];
        from.push_back(in.at + offset[i]), to.push_back(out.at + at), size.push_back(count);
        std::copy_n(x.begin() + offset[i], count, wanted.begin() + at);
        at += count;
    }
    Buffer<T *> sources(from), places(to);
    Buffer<int> sizes(size);
    with_storage(
        [&](void *storage, size_t &bytes) { return call(storage, bytes, sources.at, places.at, sizes.at, pieces); });
    expect(out.host(), wanted);
}

CASE("DeviceMemcpy::Batched") {
    batch<uint8_t>(random, [](void *at, size_t &bytes, uint8_t **from, uint8_t **to, int *sizes, int pieces) {
        return cub::DeviceMemcpy::Batched(at, bytes, from, to, sizes, pieces);
    });
}
CASE("DeviceCopy::Batched") {
    batch<int>(random, [](void *at, size_t &bytes, int **from, int **to, int *sizes, int pieces) {
        return cub::DeviceCopy::Batched(at, bytes, from, to, sizes, pieces);
    });
}
