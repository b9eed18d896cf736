// SPDX-License-Identifier: Apache-2.0
// Streams, events, functions of the host on streams.
#include "check.cuh"

__global__ void add(int *to, int value) { *to += value; }

static void made_and_asked() {
    cudaStream_t       stream = nullptr;
    unsigned           flags = 9;
    int                priority = 9, least = 0, greatest = 0, device = 9;
    unsigned long long id = 0, other = 0;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamGetFlags(stream, &flags));
    IS(flags == cudaStreamNonBlocking);
    OK(cudaStreamGetId(stream, &id));
    OK(cudaStreamGetId(0, &other));
    IS(id != other);
    OK(cudaStreamGetDevice(stream, &device));
    IS(device == 0);
    OK(cudaStreamQuery(stream));
    OK(cudaStreamDestroy(stream));
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamDestroy(stream));
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(stream));
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    OK(cudaStreamCreateWithPriority(&stream, cudaStreamDefault, greatest));
    OK(cudaStreamGetPriority(stream, &priority));
    IS(priority == greatest);
    OK(cudaStreamDestroy(stream));
    EXPECT(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&stream, 77));
    EXPECT(cudaErrorInvalidValue, cudaStreamCreate(nullptr));
}

static void events() {
    cudaStream_t a = nullptr, b = nullptr;
    cudaEvent_t  start = nullptr, end = nullptr, untimed = nullptr;
    float        milliseconds = -1;
    int         *p = to_device<int>({0});
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreate(&b));
    OK(cudaEventCreate(&start));
    OK(cudaEventCreateWithFlags(&end, cudaEventBlockingSync));
    OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, start, end));
    OK(cudaEventRecord(start, a));
    add<<<1, 1, 0, a>>>(p, 1);
    OK(cudaEventRecord(end, a));
    OK(cudaStreamWaitEvent(b, end, 0));
    add<<<1, 1, 0, b>>>(p, 2);
    OK(cudaEventSynchronize(end));
    OK(cudaEventQuery(end));
    OK(cudaEventElapsedTime(&milliseconds, start, end));
    IS(milliseconds >= 0 && milliseconds < 60000);
    OK(cudaEventRecordWithFlags(untimed, b, cudaEventRecordDefault));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, start, untimed));
    OK(cudaStreamSynchronize(b));
    IS(to_host(p, 1)[0] == 3);
    OK(cudaEventDestroy(start));
    OK(cudaEventDestroy(end));
    OK(cudaEventDestroy(untimed));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventDestroy(start));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventRecord(start, a));
    EXPECT(cudaErrorInvalidValue, cudaEventCreateWithFlags(&start, 0x100));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
    OK(cudaFree(p));
}

static void count_up(void *user) { ++*(int *)user; }
static void CUDART_CB called_back(cudaStream_t, cudaError_t status, void *user) { *(int *)user += 10 + (int)status; }

static void functions_of_the_host() {
    int called = 0;
    OK(cudaLaunchHostFunc(0, count_up, &called));
    OK(cudaStreamAddCallback(0, called_back, &called, 0));
    OK(cudaStreamSynchronize(0));
    IS(called == 11);
    EXPECT(cudaErrorInvalidValue, cudaLaunchHostFunc(0, nullptr, &called));
}

static void attributes_of_streams() {
    cudaStream_t           a = nullptr, b = nullptr;
    cudaStreamAttrValue value = {};
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreate(&b));
    value.syncPolicy = cudaSyncPolicySpin;
    OK(cudaStreamSetAttribute(a, cudaStreamAttributeSynchronizationPolicy, &value));
    OK(cudaStreamCopyAttributes(b, a));
    value = {};
    OK(cudaStreamGetAttribute(b, cudaStreamAttributeSynchronizationPolicy, &value));
    IS(value.syncPolicy == cudaSyncPolicySpin);
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

int main() {
    made_and_asked();
    events();
    functions_of_the_host();
    attributes_of_streams();
    return report();
}
