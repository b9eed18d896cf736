// SPDX-License-Identifier: Apache-2.0
// Memory: of the device, pitched, managed, of the host, of pools; what is known of pointers.
#include "check.cuh"

__global__ void twice(int *values, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] *= 2;
}

static void device_memory() {
    int   *p = nullptr;
    size_t available = 0, total = 0;
    OK(cudaMalloc(&p, 1000));
    IS(p && (uintptr_t)p % 256 == 0);
    OK(cudaMemGetInfo(&available, &total));
    IS(available < total);
    OK(cudaFree(p));
    OK(cudaFree(nullptr));
    EXPECT(cudaErrorInvalidValue, cudaFree(p));
    EXPECT(cudaErrorInvalidValue, cudaFree(&available));
    EXPECT(cudaErrorMemoryAllocation, cudaMalloc(&p, (size_t)1 << 60));
    EXPECT(cudaErrorInvalidValue, cudaMalloc((void **)nullptr, 4));
    OK(cudaMalloc(&p, 0));
    IS(!p);
}

static void pitched_memory() {
    char  *p = nullptr;
    size_t pitch = 0;
    OK(cudaMallocPitch(&p, &pitch, 100, 7));
    IS(pitch >= 100 && pitch % 32 == 0);
    OK(cudaMemset2D(p, pitch, 5, 100, 7));
    const std::vector<char> rows = to_host(p, pitch * 6 + 100);
    IS(rows[0] == 5 && rows[6 * pitch + 99] == 5);
    OK(cudaFree(p));
    cudaPitchedPtr block;
    OK(cudaMalloc3D(&block, make_cudaExtent(30, 4, 3)));
    IS(block.ptr && block.pitch >= 30 && block.xsize == 30 && block.ysize == 4);
    OK(cudaMemset3D(block, 9, make_cudaExtent(30, 4, 3)));
    const std::vector<char> bytes = to_host((char *)block.ptr, block.pitch * 11 + 30);
    IS(bytes[0] == 9 && bytes[block.pitch * 11 + 29] == 9);
    OK(cudaFree(block.ptr));
    EXPECT(cudaErrorInvalidValue, cudaMallocPitch((void **)nullptr, &pitch, 4, 4));
}

static void host_memory() {
    int      *p = nullptr, *device = nullptr;
    unsigned  flags = 0;
    static int own[1024];
    OK(cudaMallocHost(&p, 4096));
    for (int i = 0; i < 1024; i++) p[i] = i;
    OK(cudaHostGetDevicePointer(&device, p, 0));
    twice<<<4, 256>>>(device, 1024);
    OK(cudaDeviceSynchronize());
    IS(p[7] == 14 && p[1023] == 2046);
    OK(cudaFreeHost(p));
    EXPECT(cudaErrorInvalidValue, cudaFreeHost(p));
    OK(cudaHostAlloc(&p, 64, cudaHostAllocMapped | cudaHostAllocPortable));
    OK(cudaHostGetFlags(&flags, p));
    IS((flags & cudaHostAllocMapped) && (flags & cudaHostAllocPortable));
    OK(cudaFreeHost(p));
    OK(cudaFreeHost(nullptr));
    OK(cudaHostRegister(own, sizeof own, cudaHostRegisterMapped));
    EXPECT(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(own, sizeof own, cudaHostRegisterMapped));
    OK(cudaHostGetDevicePointer(&device, own, 0));
    own[3] = 21;
    twice<<<1, 32>>>(device, 4);
    OK(cudaDeviceSynchronize());
    IS(own[3] == 42);
    OK(cudaHostUnregister(own));
    EXPECT(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(own));
    EXPECT(cudaErrorInvalidValue, cudaHostRegister(nullptr, 4, 0));
}

__managed__ int shared_value = 20;
__managed__ int shared_array[4];

__global__ void use_managed(int *other) {
    shared_array[threadIdx.x] = shared_value + other[threadIdx.x];
}

static void managed_memory() {
    int *p = nullptr;
    IS(shared_value == 20);  // before any call of a kernel
    shared_value = 30;
    OK(cudaMallocManaged(&p, 16));
    for (int i = 0; i < 4; i++) p[i] = i;
    use_managed<<<1, 4>>>(p);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 4; i++) IS(shared_array[i] == 30 + i);
    cudaMemLocation location = {cudaMemLocationTypeDevice, 0};
    OK(cudaMemAdvise(p, 16, cudaMemAdviseSetReadMostly, location));
    OK(cudaMemPrefetchAsync(p, 16, location, 0, 0));
    void  *pieces[] = {p, p + 2};
    size_t sizes[] = {8, 8}, first = 0;
    OK(cudaMemPrefetchBatchAsync(pieces, sizes, 2, &location, &first, 1, 0, 0));
    OK(cudaFree(p));
    EXPECT(cudaErrorInvalidValue, cudaMallocManaged(&p, 0));
    int *address = nullptr;
    OK(cudaGetSymbolAddress((void **)&address, shared_value));
    IS(address == &shared_value);
}

static void pools() {
    cudaMemPool_t pool = nullptr, own = nullptr;
    cudaStream_t  stream = nullptr;
    int          *p = nullptr, *q = nullptr;
    OK(cudaStreamCreate(&stream));
    OK(cudaMallocAsync(&p, 4096, stream));
    OK(cudaMemsetAsync(p, 0, 4096, stream));
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaDeviceGetMemPool(&own, 0));
    IS(pool && pool == own);
    unsigned long long threshold = 1 << 20, read = 0;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &read));
    IS(read == threshold);
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &read));
    IS(read >= 4096);
    cudaMemPoolProps wanted = {};
    wanted.allocType = cudaMemAllocationTypePinned;
    wanted.location = {cudaMemLocationTypeDevice, 0};
    OK(cudaMemPoolCreate(&own, &wanted));
    OK(cudaMallocFromPoolAsync(&q, 256, own, stream));
    OK(cudaFreeAsync(q, stream));
    OK(cudaFreeAsync(p, stream));
    OK(cudaMemPoolTrimTo(pool, 0));
    OK(cudaMemPoolDestroy(own));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolDestroy(nullptr));
    EXPECT(cudaErrorInvalidValue, cudaMallocFromPoolAsync(&q, 256, nullptr, stream));
    EXPECT(cudaErrorInvalidValue, cudaFreeAsync(p, stream));
    OK(cudaStreamDestroy(stream));
}

static void pointers_are_known() {
    cudaPointerAttributes about;
    int                  *device = nullptr, *host = nullptr, *managed = nullptr, plain = 0;
    OK(cudaMalloc(&device, 4));
    OK(cudaMallocHost(&host, 4));
    OK(cudaMallocManaged(&managed, 4));
    OK(cudaPointerGetAttributes(&about, device));
    IS(about.type == cudaMemoryTypeDevice && about.device == 0 && about.devicePointer == device);
    OK(cudaPointerGetAttributes(&about, host));
    IS(about.type == cudaMemoryTypeHost && about.hostPointer == host);
    OK(cudaPointerGetAttributes(&about, managed));
    IS(about.type == cudaMemoryTypeManaged && about.devicePointer == managed && about.hostPointer == managed);
    OK(cudaPointerGetAttributes(&about, &plain));
    IS(about.type == cudaMemoryTypeUnregistered && about.hostPointer == &plain && !about.devicePointer);
    EXPECT(cudaErrorInvalidValue, cudaPointerGetAttributes(nullptr, device));
    OK(cudaFree(device));
    OK(cudaFree(managed));
    OK(cudaFreeHost(host));
}

int main() {
    device_memory();
    pitched_memory();
    host_memory();
    managed_memory();
    pools();
    pointers_are_known();
    return report();
}
