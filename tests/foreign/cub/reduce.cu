// SPDX-License-Identifier: Apache-2.0
// cub::DeviceReduce and cub::DeviceSegmentedReduce.
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cuda/functional>

#include "cases.cuh"

using Keys = std::vector<uint64_t>;

struct Xor {
    __host__ __device__ uint64_t operator()(uint64_t a, uint64_t b) const { return a ^ b; }
};
struct Square {
    __host__ __device__ uint64_t operator()(uint32_t a) const { return (uint64_t)a * a; }
};

CASE("DeviceReduce::Reduce") {
    const auto       x = random.items<uint64_t>(random.size(), UINT64_MAX);
    Buffer<uint64_t> in(x), out(1);
    with_storage([&](void *at, size_t &bytes) {
        return cub::DeviceReduce::Reduce(at, bytes, in.at, out.at, (int)x.size(), Xor{}, (uint64_t)77);
    });
    expect(out.first(), std::accumulate(x.begin(), x.end(), (uint64_t)77, Xor{}));
}

CASE("DeviceReduce::Sum") {
    const auto  x = random.items<int>(random.size(), 1000);
    Buffer<int> in(x), out(1);
    with_storage(
        [&](void *at, size_t &bytes) { return cub::DeviceReduce::Sum(at, bytes, in.at, out.at, (int)x.size()); });
    expect(out.first(), std::accumulate(x.begin(), x.end(), 0));
}

CASE("DeviceReduce::Sum of bytes") {
    const auto      x = random.items<uint8_t>(random.size(), 256);
    Buffer<uint8_t> in(x), out(1);
    with_storage(
        [&](void *at, size_t &bytes) { return cub::DeviceReduce::Sum(at, bytes, in.at, out.at, (int)x.size()); });
    expect(out.first(), (uint8_t)std::accumulate(x.begin(), x.end(), 0));
}

CASE("DeviceReduce::Min") {
    const auto    x = random.items<float>(random.size(), 1 << 24);
    Buffer<float> in(x), out(1);
    with_storage(
        [&](void *at, size_t &bytes) { return cub::DeviceReduce::Min(at, bytes, in.at, out.at, (int)x.size()); });
    expect(out.first(), *std::min_element(x.begin(), x.end()));
}

CASE("DeviceReduce::Max") {
    const auto     x = random.items<double>(random.size(), 1 << 30);
    Buffer<double> in(x), out(1);
    with_storage(
        [&](void *at, size_t &bytes) { return cub::DeviceReduce::Max(at, bytes, in.at, out.at, (int)x.size()); });
    expect(out.first(), *std::max_element(x.begin(), x.end()));
}

CASE("DeviceReduce::ArgMin") {
    const auto      x = random.items<int>(random.size(), 5000);
    Buffer<int>     in(x), least(1);
    Buffer<int64_t> index(1);
    with_storage([&](void *at, size_t &bytes) {
        return cub::DeviceReduce::ArgMin(at, bytes, in.at, least.at, index.at, (int64_t)x.size());
    });
    const auto first = std::min_element(x.begin(), x.end());
    expect(least.first(), *first);
    expect(index.first(), (int64_t)(first - x.begin()), "index");
}

CASE("DeviceReduce::ArgMax") {
    const auto      x = random.items<float>(random.size(), 5000);
    Buffer<float>   in(x), most(1);
    Buffer<int64_t> index(1);
    with_storage([&](void *at, size_t &bytes) {
        return cub::DeviceReduce::ArgMax(at, bytes, in.at, most.at, index.at, (int64_t)x.size());
    });
    const auto first = std::max_element(x.begin(), x.end());
    expect(most.first(), *first);
    expect(index.first(), (int64_t)(first - x.begin()), "index");
}

CASE("DeviceReduce::TransformReduce") {
    const auto       x = random.items<uint32_t>(random.size(), UINT32_MAX);
    Buffer<uint32_t> in(x);
    Buffer<uint64_t> out(1);
    with_storage([&](void *at, size_t &bytes) {
        return cub::DeviceReduce::TransformReduce(at, bytes, in.at, out.at, (int)x.size(), cuda::std::plus<>{},
                                                  Square{}, (uint64_t)5);
    });
    uint64_t sum = 5;
    for (uint32_t one : x) sum += Square{}(one);
    expect(out.first(), sum);
}

template <class K, class V> static void reduce_by_key(Random &random) {
    const auto  keys = random.runs<K>(random.size());
    const auto  values = random.items<V>(keys.size(), 1000);
    Buffer<K>   in(keys), unique(keys.size());
    Buffer<V>   of(values), sums(keys.size());
    Buffer<int> count(1);
    with_storage([&](void *at, size_t &bytes) {
        return cub::DeviceReduce::ReduceByKey(at, bytes, in.at, unique.at, of.at, sums.at, count.at,
                                              cuda::std::plus<>{}, (int)keys.size());
    });
    std::vector<K> key;
    std::vector<V> sum;
    for (size_t i = 0; i < keys.size(); i++) {
        if (!i || keys[i] != keys[i - 1]) key.push_back(keys[i]), sum.push_back(0);
        sum.back() += values[i];
    }
    expect(count.first(), (int)key.size(), "count");
    expect(unique.host(key.size()), key, "key");
    expect(sums.host(sum.size()), sum, "sum");
}

CASE("DeviceReduce::ReduceByKey, 8 bytes") { reduce_by_key<uint64_t, uint64_t>(random); }
CASE("DeviceReduce::ReduceByKey, 4 bytes") { reduce_by_key<int, int>(random); }
CASE("DeviceReduce::ReduceByKey, 8 and 4 bytes") { reduce_by_key<uint64_t, int>(random); }

// ---- of segments

template <class T, class F, class G> static void segments(Random &random, F call, G of_segment) {
    const auto  x = random.items<T>(random.size(), 100000);
    const auto  offset = random.offsets((int)x.size());
    const int   count = (int)offset.size() - 1;
    Buffer<T>   in(x), out(count);
    Buffer<int> at_offset(offset);
    with_storage(
        [&](void *at, size_t &bytes) { return call(at, bytes, in.at, out.at, count, at_offset.at, at_offset.at + 1); });
    std::vector<T> wanted(count);
    for (int i = 0; i < count; i++) wanted[i] = of_segment(x.begin() + offset[i], x.begin() + offset[i + 1]);
    expect(out.host(), wanted);
}

#define SEGMENTS(type, expression, of_segment)                                                                    \
    segments<type>(                                                                                               \
        random,                                                                                                   \
        [](void *at, size_t &bytes, type *in, type *out, int count, int *begin, int *end) { return expression; }, \
        of_segment)

CASE("DeviceSegmentedReduce::Sum") {
    SEGMENTS(int, cub::DeviceSegmentedReduce::Sum(at, bytes, in, out, count, begin, end),
             [](auto from, auto to) { return std::accumulate(from, to, 0); });
}

CASE("DeviceSegmentedReduce::Min") {
    SEGMENTS(int, cub::DeviceSegmentedReduce::Min(at, bytes, in, out, count, begin, end),
             [](auto from, auto to) { return from == to ? INT32_MAX : *std::min_element(from, to); });
}

CASE("DeviceSegmentedReduce::Max") {
    SEGMENTS(uint64_t, cub::DeviceSegmentedReduce::Max(at, bytes, in, out, count, begin, end),
             [](auto from, auto to) { return from == to ? 0 : *std::max_element(from, to); });
}

CASE("DeviceSegmentedReduce::Reduce") {
    SEGMENTS(uint64_t, cub::DeviceSegmentedReduce::Reduce(at, bytes, in, out, count, begin, end, Xor{}, (uint64_t)9),
             [](auto from, auto to) { return std::accumulate(from, to, (uint64_t)9, Xor{}); });
}

template <class F, class G> static void extremes(Random &random, F call, G of_segment) {
    using Pair = cub::KeyValuePair<int, int>;
    const auto   x = random.items<int>(random.size(), 1000);
    const auto   offset = random.offsets((int)x.size());
    const int    count = (int)offset.size() - 1;
    Buffer<int>  in(x), at_offset(offset);
    Buffer<Pair> out(count);
    with_storage(
        [&](void *at, size_t &bytes) { return call(at, bytes, in.at, out.at, count, at_offset.at, at_offset.at + 1); });
    const auto       got = out.host();
    std::vector<int> index, value, wanted_index, wanted_value;
    for (int i = 0; i < count; i++) {
        const auto from = x.begin() + offset[i], to = x.begin() + offset[i + 1], best = of_segment(from, to);
        if (from == to) continue;  // by convention {1, worst}
        index.push_back(got[i].key), value.push_back(got[i].value);
        wanted_index.push_back((int)(best - from)), wanted_value.push_back(*best);
    }
    expect(index, wanted_index, "index");
    expect(value, wanted_value, "value");
}

CASE("DeviceSegmentedReduce::ArgMin") {
    extremes(
        random,
        [](void *at, size_t &bytes, auto in, auto out, int count, int *begin, int *end) {
            return cub::DeviceSegmentedReduce::ArgMin(at, bytes, in, out, count, begin, end);
        },
        [](auto from, auto to) { return std::min_element(from, to); });
}

CASE("DeviceSegmentedReduce::ArgMax") {
    extremes(
        random,
        [](void *at, size_t &bytes, auto in, auto out, int count, int *begin, int *end) {
            return cub::DeviceSegmentedReduce::ArgMax(at, bytes, in, out, count, begin, end);
        },
        [](auto from, auto to) { return std::max_element(from, to); });
}
