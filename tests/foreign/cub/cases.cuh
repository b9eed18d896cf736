// SPDX-License-Identifier: Apache-2.0
// One case an algorithm of CUB: random input, CUB's result, the host's. Each file of cases adds its own to the list.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include <cuda_runtime.h>

// splitmix64
struct Random {
    uint64_t state;
    uint64_t next() {
        uint64_t x = state += 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return x ^ x >> 31;
    }
    uint64_t below(uint64_t n) { return next() % n; }
    // A number of items: a few, some hundreds, or enough for several tiles.
    int size() {
        static const int most[] = {40, 1500, 1500, 30000};
        return 1 + (int)below(most[below(4)]);
    }
    template <class T> std::vector<T> items(size_t n, uint64_t values) {
        std::vector<T> made(n);
        for (T &one : made) one = (T)below(values);
        return made;
    }
    // Keys in runs: 0 0 0 1 1 2 …
    template <class T> std::vector<T> runs(size_t n) {
        std::vector<T> made(n);
        const uint64_t length = 1 + below(20);
        T              key = 0;
        for (T &one : made) one = key += (T)(below(length) == 0);
        return made;
    }
    // Offsets of segments that cover n items, some of them empty.
    std::vector<int> offsets(int n) {
        std::vector<int> made(1 + below(60));
        for (int &one : made) one = (int)below((uint64_t)n + 1);
        made.push_back(0), made.push_back(n);
        std::sort(made.begin(), made.end());
        return made;
    }
};

struct Wrong {
    std::string what;
};

inline void must(cudaError_t code) {
    if (code) throw Wrong{std::string("CUDA error ") + std::to_string((int)code)};
}

// Device memory that holds a copy of a vector, or room for so many items.
template <class T> struct Buffer {
    T     *at = nullptr;
    size_t count;
    explicit Buffer(size_t n) : count(n) { must(cudaMalloc((void **)&at, n * sizeof(T))); }
    explicit Buffer(const std::vector<T> &from) : Buffer(from.size()) {
        must(cudaMemcpy(at, from.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    }
    Buffer(const Buffer &) = delete;
    ~Buffer() { cudaFree(at); }
    std::vector<T> host(size_t n) const {
        std::vector<T> made(n);
        must(cudaMemcpy(made.data(), at, n * sizeof(T), cudaMemcpyDeviceToHost));
        return made;
    }
    std::vector<T> host() const { return host(count); }
    T              first() const { return host(1)[0]; }
};

// Calls with no storage, then with as much as was asked for.
template <class F> void with_storage(F call) {
    size_t bytes = 0;
    must(call((void *)nullptr, bytes));
    Buffer<char> storage(bytes + 1);
    must(call((void *)storage.at, bytes));
    must(cudaDeviceSynchronize());
}

template <class T> std::string text_of(const T &value) { return std::to_string(value); }

template <class T> void expect(const std::vector<T> &got, const std::vector<T> &wanted, const char *what = "result") {
    if (got.size() != wanted.size())
        throw Wrong{std::string(what) + ": " + std::to_string(got.size()) + " items, not " +
                    std::to_string(wanted.size())};
    for (size_t i = 0; i < got.size(); i++) {
        if (got[i] == wanted[i]) continue;
        throw Wrong{std::string(what) + "[" + std::to_string(i) + "] of " + std::to_string(got.size()) + " is " +
                    text_of(got[i]) + ", not " + text_of(wanted[i])};
    }
}

template <class T> void expect(const T &got, const T &wanted, const char *what = "result") {
    expect(std::vector<T>{got}, std::vector<T>{wanted}, what);
}

struct Case {
    const char *name;
    void (*run)(Random &random);
};

std::vector<Case> &all_cases();

struct Add {
    Add(const char *name, void (*run)(Random &random)) { all_cases().push_back({name, run}); }
};

#define CASE(name) CASE_IN(name, __LINE__)
#define CASE_IN(name, line) CASE_AT(name, line)
#define CASE_AT(name, line) CASE_OF(name, case_##line, added_##line)
#define CASE_OF(name, function, added)         \
    static void      function(Random &random); \
    static const Add added(name, function);    \
    static void      function(Random &random)
