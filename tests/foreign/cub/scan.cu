// SPDX-License-Identifier: Apache-2.0
// cub::DeviceScan, cub::DeviceRunLengthEncode and cub::DeviceAdjacentDifference.
#include <cub/device/device_adjacent_difference.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda/functional>

#include "cases.cuh"

// Associative, but not commutative: a map x -> m x + b.
struct Affine {
    uint64_t m, b;
    bool     operator==(const Affine &other) const { return m == other.m && b == other.b; }
};
template <> std::string text_of(const Affine &value) {
    return std::to_string(value.m) + " x + " + std::to_string(value.b);
}
struct Compose {
    __host__ __device__ Affine operator()(const Affine &f, const Affine &g) const {
        return {f.m * g.m, g.m * f.b + g.b};
    }
};

// Of the elements before, or up to, each; `keys` begins again where they change.
template <class T, class F>
static std::vector<T> scanned(const std::vector<T> &x, bool inclusive, T first, F f,
                              const std::vector<int> *keys = nullptr, bool has_first = true) {
    std::vector<T> made(x.size());
    T              sum = first;
    bool           has = has_first;
    for (size_t i = 0; i < x.size(); i++) {
        if (keys && i && (*keys)[i] != (*keys)[i - 1]) sum = first, has = has_first;
        if (!inclusive) made[i] = sum;
        sum = has ? f(sum, x[i]) : x[i];
        has = true;
        if (inclusive) made[i] = sum;
    }
    return made;
}

static std::vector<Affine> maps(Random &random) {
    std::vector<Affine> made(random.size());
    for (Affine &one : made) one = {random.next(), random.next()};
    return made;
}

template <class T, class F> static void scan(const std::vector<T> &x, const std::vector<T> &wanted, F call) {
    Buffer<T> in(x), out(x.size());
    with_storage([&](void *at, size_t &bytes) { return call(at, bytes, in.at, out.at, (int)x.size()); });
    expect(out.host(), wanted);
}

#define SCAN(x, wanted, expression) \
    scan(x, wanted, [&](void *at, size_t &bytes, auto in, auto out, int n) { return expression; })

CASE("DeviceScan::ExclusiveSum") {
    const auto x = random.items<int>(random.size(), 1000);
    SCAN(x, scanned(x, false, 0, std::plus<int>()), cub::DeviceScan::ExclusiveSum(at, bytes, in, out, n));
}

CASE("DeviceScan::InclusiveSum") {
    const auto x = random.items<uint64_t>(random.size(), UINT64_MAX);
    SCAN(x, scanned(x, true, (uint64_t)0, std::plus<uint64_t>()), cub::DeviceScan::InclusiveSum(at, bytes, in, out, n));
}

CASE("DeviceScan::InclusiveSum of bytes") {
    const auto x = random.items<uint8_t>(random.size(), 256);
    SCAN(x, scanned(x, true, (uint8_t)0, [](uint8_t a, uint8_t b) { return (uint8_t)(a + b); }),
         cub::DeviceScan::InclusiveSum(at, bytes, in, out, n));
}

CASE("DeviceScan::ExclusiveScan") {
    const auto   x = maps(random);
    const Affine first = {3, 4};
    SCAN(x, scanned(x, false, first, Compose{}),
         cub::DeviceScan::ExclusiveScan(at, bytes, in, out, Compose{}, first, n));
}

CASE("DeviceScan::InclusiveScan") {
    const auto x = maps(random);
    SCAN(x, scanned(x, true, Affine{1, 0}, Compose{}),
         cub::DeviceScan::InclusiveScan(at, bytes, in, out, Compose{}, n));
}

CASE("DeviceScan::InclusiveScanInit") {
    const auto x = random.items<int>(random.size(), 1 << 30);
    SCAN(x, scanned(x, true, 1 << 28, [](int a, int b) { return std::max(a, b); }),
         cub::DeviceScan::InclusiveScanInit(at, bytes, in, out, cuda::maximum<>{}, 1 << 28, n));
}

// ---- by key

template <class T, class F>
static void by_key(const std::vector<int> &keys, const std::vector<T> &x, const std::vector<T> &wanted, F call) {
    Buffer<int> of(keys);
    Buffer<T>   in(x), out(x.size());
    with_storage([&](void *at, size_t &bytes) { return call(at, bytes, of.at, in.at, out.at, (int)x.size()); });
    expect(out.host(), wanted);
}

#define BY_KEY(keys, x, wanted, expression) \
    by_key(keys, x, wanted, [&](void *at, size_t &bytes, int *key, auto in, auto out, int n) { return expression; })

CASE("DeviceScan::ExclusiveSumByKey") {
    const auto keys = random.runs<int>(random.size());
    const auto x = random.items<uint64_t>(keys.size(), UINT64_MAX);
    BY_KEY(keys, x, scanned(x, false, (uint64_t)0, std::plus<uint64_t>(), &keys),
           cub::DeviceScan::ExclusiveSumByKey(at, bytes, key, in, out, n));
}

CASE("DeviceScan::InclusiveSumByKey") {
    const auto keys = random.runs<int>(random.size());
    const auto x = random.items<int>(keys.size(), 1000);
    BY_KEY(keys, x, scanned(x, true, 0, std::plus<int>(), &keys),
           cub::DeviceScan::InclusiveSumByKey(at, bytes, key, in, out, n));
}

CASE("DeviceScan::ExclusiveScanByKey") {
    const auto   x = maps(random);
    const auto   keys = random.runs<int>(x.size());
    const Affine first = {5, 6};
    BY_KEY(keys, x, scanned(x, false, first, Compose{}, &keys),
           cub::DeviceScan::ExclusiveScanByKey(at, bytes, key, in, out, Compose{}, first, n));
}

CASE("DeviceScan::InclusiveScanByKey") {
    const auto x = maps(random);
    const auto keys = random.runs<int>(x.size());
    BY_KEY(keys, x, scanned(x, true, Affine{1, 0}, Compose{}, &keys, false),
           cub::DeviceScan::InclusiveScanByKey(at, bytes, key, in, out, Compose{}, n));
}

// ---- runs

template <class T> static void encode(Random &random) {
    const auto  x = random.runs<T>(random.size());
    Buffer<T>   in(x), unique(x.size());
    Buffer<int> length(x.size()), count(1);
    with_storage([&](void *at, size_t &bytes) {
        return cub::DeviceRunLengthEncode::Encode(at, bytes, in.at, unique.at, length.at, count.at, (int)x.size());
    });
    std::vector<T>   value;
    std::vector<int> lengths;
    for (size_t i = 0; i < x.size(); i++) {
        if (!i || x[i] != x[i - 1]) value.push_back(x[i]), lengths.push_back(0);
        lengths.back()++;
    }
    expect(count.first(), (int)value.size(), "count");
    expect(unique.host(value.size()), value, "value");
    expect(length.host(value.size()), lengths, "length");
}

CASE("DeviceRunLengthEncode::Encode") { encode<int>(random); }
CASE("DeviceRunLengthEncode::Encode, 8 bytes") { encode<uint64_t>(random); }

CASE("DeviceRunLengthEncode::NonTrivialRuns") {
    const auto  x = random.runs<int>(random.size());
    Buffer<int> in(x), offset(x.size()), length(x.size()), count(1);
    with_storage([&](void *at, size_t &bytes) {
        return cub::DeviceRunLengthEncode::NonTrivialRuns(at, bytes, in.at, offset.at, length.at, count.at,
                                                          (int)x.size());
    });
    std::vector<int> offsets, lengths;
    for (size_t i = 0, end; i < x.size(); i = end) {
        for (end = i; end < x.size() && x[end] == x[i];) end++;
        if (end > i + 1) offsets.push_back((int)i), lengths.push_back((int)(end - i));
    }
    expect(count.first(), (int)offsets.size(), "count");
    expect(offset.host(offsets.size()), offsets, "offset");
    expect(length.host(lengths.size()), lengths, "length");
}

// ---- differences

template <class F> static void differences(Random &random, bool left, bool in_place, F call) {
    const auto  x = random.items<int>(random.size(), 1 << 30);
    const int   n = (int)x.size();
    Buffer<int> in(x), out(x.size());
    with_storage([&](void *at, size_t &bytes) { return call(at, bytes, in.at, out.at, n); });
    auto wanted = x;
    for (int i = left; i < n - !left; i++) wanted[i] = left ? x[i] - x[i - 1] : x[i] - x[i + 1];
    expect((in_place ? in : out).host(), wanted);
}

#define DIFFERENCES(left, in_place, expression) \
    differences(random, left, in_place,         \
                [](void *at, size_t &bytes, int *in, int *out, int n) { return (void)out, expression; })

CASE("DeviceAdjacentDifference::SubtractLeft") {
    DIFFERENCES(true, true, cub::DeviceAdjacentDifference::SubtractLeft(at, bytes, in, n));
}
CASE("DeviceAdjacentDifference::SubtractLeftCopy") {
    DIFFERENCES(true, false, cub::DeviceAdjacentDifference::SubtractLeftCopy(at, bytes, in, out, n));
}
CASE("DeviceAdjacentDifference::SubtractRight") {
    DIFFERENCES(false, true, cub::DeviceAdjacentDifference::SubtractRight(at, bytes, in, n));
}
CASE("DeviceAdjacentDifference::SubtractRightCopy") {
    DIFFERENCES(false, false, cub::DeviceAdjacentDifference::SubtractRightCopy(at, bytes, in, out, n));
}
