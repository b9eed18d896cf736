// SPDX-License-Identifier: Apache-2.0
// cub::DeviceRadixSort, cub::DeviceMergeSort, cub::DeviceSegmentedSort, cub::DeviceSegmentedRadixSort, cub::DeviceMerge.
#include <cub/device/device_merge.cuh>
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>
#include <cub/device/device_segmented_sort.cuh>

#include "cases.cuh"

struct Less {
    template <class T> __host__ __device__ bool operator()(const T &a, const T &b) const { return a < b; }
};

// Keys and where they were, sorted with equal keys in their order.
template <class K> struct Sorted {
    std::vector<K>   key;
    std::vector<int> from;
    Sorted(const std::vector<K> &keys, const std::vector<int> &offset, bool descending) : key(keys), from(keys.size()) {
        std::iota(from.begin(), from.end(), 0);
        for (size_t i = 0; i + 1 < offset.size(); i++) {
            std::stable_sort(from.begin() + offset[i], from.begin() + offset[i + 1],
                             [&](int a, int b) { return descending ? keys[b] < keys[a] : keys[a] < keys[b]; });
        }
        for (size_t i = 0; i < keys.size(); i++) key[i] = keys[from[i]];
    }
};

// Sorts keys, or pairs of keys and where they were. `call` takes storage, keys in and out, values in and out, the number
// of items, of segments, and their offsets.
template <class K, class F>
static void sort(Random &random, uint64_t values, bool has_segments, bool descending, bool has_values, bool in_place,
                 F call) {
    const auto       keys = random.items<K>(random.size(), values);
    const int        n = (int)keys.size();
    const auto       offset = has_segments ? random.offsets(n) : std::vector<int>{0, n};
    std::vector<int> index(n);
    std::iota(index.begin(), index.end(), 0);
    Buffer<K>   in(keys), out(keys);
    Buffer<int> from(index), to(index), at_offset(offset);
    with_storage([&](void *at, size_t &bytes) {
        return call(at, bytes, in.at, out.at, from.at, to.at, n, (int)offset.size() - 1, at_offset.at);
    });
    const Sorted<K> wanted(keys, offset, descending);
    expect((in_place ? in : out).host(), wanted.key, "key");
    if (has_values) expect((in_place ? from : to).host(), wanted.from, "value");
}

#define SORT(K, values, has_segments, descending, has_values, in_place, expression)                            \
    sort<K>(random, values, has_segments, descending, has_values, in_place,                                    \
            [](void *at, size_t &bytes, K *in, K *out, int *from, int *to, int n, int segments, int *offset) { \
                (void)out, (void)from, (void)to, (void)segments, (void)offset;                                 \
                return expression;                                                                             \
            })
enum { IN_PLACE = true, COPY = false };

#define RADIX(name, K, values, descending)                                                           \
    CASE("DeviceRadixSort::SortKeys" name " of " #K) {                                               \
        SORT(K, values, false, descending, false, COPY,                                              \
             descending ? cub::DeviceRadixSort::SortKeysDescending(at, bytes, in, out, n)            \
                        : cub::DeviceRadixSort::SortKeys(at, bytes, in, out, n));                    \
    }                                                                                                \
    CASE_AT("DeviceRadixSort::SortPairs" name " of " #K, pairs_##K##_##descending) {                 \
        SORT(K, values, false, descending, true, COPY,                                               \
             descending ? cub::DeviceRadixSort::SortPairsDescending(at, bytes, in, out, from, to, n) \
                        : cub::DeviceRadixSort::SortPairs(at, bytes, in, out, from, to, n));         \
    }

RADIX("", uint32_t, 1 << 20, false)
RADIX("", uint8_t, 256, false)
RADIX("Descending", uint64_t, 1 << 30, true)
RADIX("Descending", float, 1 << 20, true)

CASE("DeviceMergeSort::SortKeys") {
    SORT(int, 100000, false, false, false, IN_PLACE, cub::DeviceMergeSort::SortKeys(at, bytes, in, n, Less{}));
}
CASE("DeviceMergeSort::SortKeysCopy") {
    SORT(uint64_t, 1 << 30, false, false, false, COPY,
         cub::DeviceMergeSort::SortKeysCopy(at, bytes, in, out, n, Less{}));
}
CASE("DeviceMergeSort::StableSortKeys") {
    SORT(int, 100, false, false, false, IN_PLACE, cub::DeviceMergeSort::StableSortKeys(at, bytes, in, n, Less{}));
}
CASE("DeviceMergeSort::StableSortKeysCopy") {
    SORT(int, 100, false, false, false, COPY, cub::DeviceMergeSort::StableSortKeysCopy(at, bytes, in, out, n, Less{}));
}
CASE("DeviceMergeSort::SortPairs") {
    SORT(int, 100, false, false, true, IN_PLACE, cub::DeviceMergeSort::SortPairs(at, bytes, in, from, n, Less{}));
}
CASE("DeviceMergeSort::SortPairsCopy") {
    SORT(uint64_t, 100, false, false, true, COPY,
         cub::DeviceMergeSort::SortPairsCopy(at, bytes, in, from, out, to, n, Less{}));
}
CASE("DeviceMergeSort::StableSortPairs") {
    SORT(int, 100, false, false, true, IN_PLACE, cub::DeviceMergeSort::StableSortPairs(at, bytes, in, from, n, Less{}));
}

#define KEYS_OF(family, call, descending)                                             \
    CASE_AT(#family "::" #call, family##_##call) {                                    \
        SORT(int, 1000, true, descending, false, COPY,                                \
             cub::family::call(at, bytes, in, out, n, segments, offset, offset + 1)); \
    }
#define PAIRS_OF(family, call, descending)                                                      \
    CASE_AT(#family "::" #call, family##_##call) {                                              \
        SORT(int, 1000, true, descending, true, COPY,                                           \
             cub::family::call(at, bytes, in, out, from, to, n, segments, offset, offset + 1)); \
    }

KEYS_OF(DeviceSegmentedRadixSort, SortKeys, false)
KEYS_OF(DeviceSegmentedRadixSort, SortKeysDescending, true)
PAIRS_OF(DeviceSegmentedRadixSort, SortPairs, false)
PAIRS_OF(DeviceSegmentedRadixSort, SortPairsDescending, true)
KEYS_OF(DeviceSegmentedSort, SortKeys, false)
KEYS_OF(DeviceSegmentedSort, SortKeysDescending, true)
KEYS_OF(DeviceSegmentedSort, StableSortKeys, false)
KEYS_OF(DeviceSegmentedSort, StableSortKeysDescending, true)
PAIRS_OF(DeviceSegmentedSort, SortPairs, false)
PAIRS_OF(DeviceSegmentedSort, SortPairsDescending, true)
PAIRS_OF(DeviceSegmentedSort, StableSortPairs, false)
PAIRS_OF(DeviceSegmentedSort, StableSortPairsDescending, true)

// ---- merges

template <class F> static void merge(Random &random, bool has_values, F call) {
    auto a = random.items<int>(random.size(), 100000), b = random.items<int>(random.size(), 100000);
    std::sort(a.begin(), a.end()), std::sort(b.begin(), b.end());
    const int        n = (int)a.size(), m = (int)b.size();
    std::vector<int> index(n + m);
    std::iota(index.begin(), index.end(), 0);
    Buffer<int> of_a(a), of_b(b), value(index), key(index.size()), from(index.size());
    with_storage([&](void *at, size_t &bytes) {
        return call(at, bytes, of_a.at, value.at, n, of_b.at, value.at + n, m, key.at, from.at);
    });
    std::vector<int> keys = a;
    keys.insert(keys.end(), b.begin(), b.end());
    const Sorted<int> wanted(keys, {0, n + m}, false);
    expect(key.host(), wanted.key, "key");
    if (has_values) expect(from.host(), wanted.from, "value");
}

CASE("DeviceMerge::MergeKeys") {
    merge(random, false, [](void *at, size_t &bytes, int *a, int *, int n, int *b, int *, int m, int *key, int *) {
        return cub::DeviceMerge::MergeKeys(at, bytes, a, n, b, m, key, Less{});
    });
}

CASE("DeviceMerge::MergePairs") {
    merge(random, true, [](void *at, size_t &bytes, int *a, int *x, int n, int *b, int *y, int m, int *key, int *from) {
        return cub::DeviceMerge::MergePairs(at, bytes, a, x, n, b, y, m, key, from, Less{});
    });
}
