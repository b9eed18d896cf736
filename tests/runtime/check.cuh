// SPDX-License-Identifier: Apache-2.0
// What the programs of this directory share. Each calls one group of the runtime's functions, with arguments that are right and
// arguments that are wrong, says what is not as CUDA documents it, and ends with code 1 if anything is.
#ifndef CJ_TESTS_RUNTIME_CHECK_CUH
#define CJ_TESTS_RUNTIME_CHECK_CUH

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static int failures;

// The call returns that error, which is then the thread's last one; it is cleared.
#define EXPECT(code, call) expect(code, call, #call, __LINE__)
#define OK(call) EXPECT(cudaSuccess, call)
#define IS(condition) is(condition, #condition, __LINE__)

static void is(bool holds, const char *what, int line) {
    if (holds) return;
    failures++;
    printf("line %d: not so: %s\n", line, what);
}

static void expect(cudaError_t wanted, cudaError_t got, const char *call, int line) {
    const cudaError_t last = cudaGetLastError();
    if (got != wanted) {
        failures++;
        printf("line %d: %s returns %s, not %s\n", line, call, cudaGetErrorName(got), cudaGetErrorName(wanted));
    } else if (last != wanted) {
        failures++;
        printf("line %d: after %s the last error is %s\n", line, call, cudaGetErrorName(last));
    }
}

// Device memory with the values, and its values; both end the program where they fail.
template <class T> static T *to_device(const std::vector<T> &values) {
    T *memory = nullptr;
    if (cudaMalloc(&memory, values.size() * sizeof(T)) ||
        cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice))
        exit(2);
    return memory;
}

template <class T> static std::vector<T> to_host(const T *memory, size_t count) {
    std::vector<T> values(count);
    if (cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost)) exit(2);
    return values;
}

static int report() {
    if (!failures) puts("as documented");
    return failures != 0;
}

#endif
