// SPDX-License-Identifier: Apache-2.0
// cub::DeviceSelect, cub::DevicePartition and cub::DeviceHistogram.
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_partition.cuh>
#include <cub/device/device_select.cuh>

#include "cases.cuh"

struct Below {
    int                      most;
    __host__ __device__ bool operator()(int x) const { return x < most; }
};

template <class T>
static void expect_first(const Buffer<T> &out, const Buffer<int> &count, const std::vector<T> &wanted) {
    expect(count.first(), (int)wanted.size(), "count");
    expect(out.host(wanted.size()), wanted);
}

CASE("DeviceSelect::Flagged") {
    const auto       x = random.items<uint64_t>(random.size(), UINT64_MAX);
    const auto       flags = random.items<char>(x.size(), 2);
    Buffer<uint64_t> in(x), out(x.size());
    Buffer<char>     flag(flags);
    Buffer<int>      count(1);
    with_storage([&](void *at, size_t &bytes) {
        return cub::DeviceSelect::Flagged(at, bytes, in.at, flag.at, out.at, count.at, (int)x.size());
    });
    std::vector<uint64_t> wanted;
    for (size_t i = 0; i < x.size(); i++) {
        if (flags[i]) wanted.push_back(x[i]);
    }
    expect_first(out, count, wanted);
}

CASE("DeviceSelect::If") {
    const auto  x = random.items<int>(random.size(), 1000);
    Buffer<int> in(x), out(x.size()), count(1);
    const Below below = {(int)random.below(1000)};
    with_storage([&](void *at, size_t &bytes) {
        return cub::DeviceSelect::If(at, bytes, in.at, out.at, count.at, (int)x.size(), below);
    });
    std::vector<int> wanted;
    std::copy_if(x.begin(), x.end(), std::back_inserter(wanted), below);
    expect_first(out, count, wanted);
}

CASE("DeviceSelect::FlaggedIf") {
    const auto  x = random.items<int>(random.size(), 1000), flags = random.items<int>(x.size(), 100);
    Buffer<int> in(x), flag(flags), out(x.size()), count(1);
    const Below below = {(int)random.below(100)};
    with_storage([&](void *at, size_t &bytes) {
        return cub::DeviceSelect::FlaggedIf(at, bytes, in.at, flag.at, out.at, count.at, (int)x.size(), below);
    });
    std::vector<int> wanted;
    for (size_t i = 0; i < x.size(); i++) {
        if (below(flags[i])) wanted.push_back(x[i]);
    }
    expect_first(out, count, wanted);
}

CASE("DeviceSelect::Unique") {
    const auto  x = random.runs<int>(random.size());
    Buffer<int> in(x), out(x.size()), count(1);
    with_storage([&](void *at, size_t &bytes) {
        return cub::DeviceSelect::Unique(at, bytes, in.at, out.at, count.at, (int)x.size());
    });
    std::vector<int> wanted;
    std::unique_copy(x.begin(), x.end(), std::back_inserter(wanted));
    expect_first(out, count, wanted);
}

CASE("DeviceSelect::UniqueByKey") {
    const auto       keys = random.runs<int>(random.size());
    const auto       values = random.items<uint64_t>(keys.size(), UINT64_MAX);
    Buffer<int>      in(keys), out(keys.size()), count(1);
    Buffer<uint64_t> of(values), kept(keys.size());
    with_storage([&](void *at, size_t &bytes) {
        return cub::DeviceSelect::UniqueByKey(at, bytes, in.at, of.at, out.at, kept.at, count.at, (int)keys.size());
    });
    std::vector<int>      key;
    std::vector<uint64_t> value;
    for (size_t i = 0; i < keys.size(); i++) {
        if (!i || keys[i] != keys[i - 1]) key.push_back(keys[i]), value.push_back(values[i]);
    }
    expect_first(out, count, key);
    expect_first(kept, count, value);
}

// ---- partitions: what is selected in order, the rest from the end backwards

static void expect_partition(const std::vector<int> &x, const std::vector<bool> &chosen, const Buffer<int> &out,
                             const Buffer<int> &count) {
    std::vector<int> wanted, rest;
    for (size_t i = 0; i < x.size(); i++) (chosen[i] ? wanted : rest).push_back(x[i]);
    expect(count.first(), (int)wanted.size(), "count");
    wanted.insert(wanted.end(), rest.rbegin(), rest.rend());
    expect(out.host(), wanted);
}

CASE("DevicePartition::Flagged") {
    const auto   x = random.items<int>(random.size(), 1000);
    const auto   flags = random.items<char>(x.size(), 2);
    Buffer<int>  in(x), out(x.size()), count(1);
    Buffer<char> flag(flags);
    with_storage([&](void *at, size_t &bytes) {
        return cub::DevicePartition::Flagged(at, bytes, in.at, flag.at, out.at, count.at, (int)x.size());
    });
    expect_partition(x, std::vector<bool>(flags.begin(), flags.end()), out, count);
}

CASE("DevicePartition::If, two parts") {
    const auto  x = random.items<int>(random.size(), 1000);
    Buffer<int> in(x), out(x.size()), count(1);
    const Below below = {(int)random.below(1000)};
    with_storage([&](void *at, size_t &bytes) {
        return cub::DevicePartition::If(at, bytes, in.at, out.at, count.at, (int)x.size(), below);
    });
    std::vector<bool> chosen;
    for (int one : x) chosen.push_back(below(one));
    expect_partition(x, chosen, out, count);
}

CASE("DevicePartition::If, three parts") {
    const auto  x = random.items<int>(random.size(), 1000);
    Buffer<int> in(x), low(x.size()), middle(x.size()), high(x.size()), counts(2);
    const Below first = {(int)random.below(500)}, second = {500 + (int)random.below(500)};
    with_storage([&](void *at, size_t &bytes) {
        return cub::DevicePartition::If(at, bytes, in.at, low.at, middle.at, high.at, counts.at, (int)x.size(), first,
                                        second);
    });
    std::vector<int> part[3];
    for (int one : x) part[first(one) ? 0 : second(one) ? 1 : 2].push_back(one);
    expect(counts.host(), {(int)part[0].size(), (int)part[1].size()}, "counts");
    expect(low.host(part[0].size()), part[0], "low");
    expect(middle.host(part[1].size()), part[1], "middle");
    expect(high.host(part[2].size()), part[2], "high");
}

// ---- histograms

// Of pixels of `channels` samples, of which the first `active` are counted in so many equal bins of 0 to 256.
template <int channels, int active, class F> static void even(Random &random, F call) {
    const int             pixels = random.size(), bins = 1 + (int)random.below(300);
    const auto            x = random.items<uint8_t>((size_t)pixels * channels, 256);
    Buffer<uint8_t>       in(x);
    Buffer<unsigned>      counts((size_t)bins * active);
    std::vector<unsigned> wanted((size_t)bins * active);
    with_storage([&](void *at, size_t &bytes) { return call(at, bytes, in.at, counts.at, bins, pixels); });
    for (int i = 0; i < pixels; i++) {
        for (int k = 0; k < active; k++) wanted[k * bins + x[i * channels + k] * bins / 256]++;
    }
    expect(counts.host(), wanted);
}

CASE("DeviceHistogram::HistogramEven") {
    even<1, 1>(random, [](void *at, size_t &bytes, uint8_t *in, unsigned *counts, int bins, int pixels) {
        return cub::DeviceHistogram::HistogramEven(at, bytes, in, counts, bins + 1, 0, 256, pixels);
    });
}

CASE("DeviceHistogram::MultiHistogramEven") {
    even<4, 3>(random, [](void *at, size_t &bytes, uint8_t *in, unsigned *counts, int bins, int pixels) {
        const cuda::std::array<unsigned *, 3> out = {counts, counts + bins, counts + 2 * bins};
        const cuda::std::array<int, 3> levels = {bins + 1, bins + 1, bins + 1}, low = {0, 0, 0}, high = {256, 256, 256};
        return cub::DeviceHistogram::MultiHistogramEven<4, 3>(at, bytes, in, out, levels, low, high, pixels);
    });
}

template <int channels, int active, class F> static void ranges(Random &random, F call) {
    const int          pixels = random.size();
    const auto         x = random.items<float>((size_t)pixels * channels, 1000);
    std::vector<float> level(3 + random.below(200));
    for (float &one : level) one = (float)random.below(1000);
    std::sort(level.begin(), level.end());
    level.erase(std::unique(level.begin(), level.end()), level.end());
    const int             bins = (int)level.size() - 1;
    Buffer<float>         in(x), levels(level);
    Buffer<unsigned>      counts((size_t)std::max(bins, 1) * active);
    std::vector<unsigned> wanted((size_t)std::max(bins, 1) * active);
    if (bins < 1) return;
    with_storage([&](void *at, size_t &bytes) { return call(at, bytes, in.at, counts.at, levels.at, bins, pixels); });
    for (int i = 0; i < pixels; i++) {
        for (int k = 0; k < active; k++) {
            const auto bin = std::upper_bound(level.begin(), level.end(), x[i * channels + k]) - level.begin() - 1;
            if (bin >= 0 && bin < bins) wanted[k * bins + bin]++;
        }
    }
    expect(counts.host(), wanted);
}

CASE("DeviceHistogram::HistogramRange") {
    ranges<1, 1>(random, [](void *at, size_t &bytes, float *in, unsigned *counts, float *levels, int bins, int pixels) {
        return cub::DeviceHistogram::HistogramRange(at, bytes, in, counts, bins + 1, levels, pixels);
    });
}

CASE("DeviceHistogram::MultiHistogramRange") {
    ranges<2, 2>(random, [](void *at, size_t &bytes, float *in, unsigned *counts, float *levels, int bins, int pixels) {
        const cuda::std::array<unsigned *, 2>    out = {counts, counts + bins};
        const cuda::std::array<int, 2>           count = {bins + 1, bins + 1};
        const cuda::std::array<const float *, 2> level = {levels, levels};
        return cub::DeviceHistogram::MultiHistogramRange<2, 2>(at, bytes, in, out, count, level, pixels);
    });
}
