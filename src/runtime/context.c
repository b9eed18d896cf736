// SPDX-License-Identifier: Apache-2.0
// The driver, and the contexts in which the runtime works: the primary context of each device, retained by the first call that
// needs it and kept; cudaDeviceReset makes it as new.
#include <pthread.h>

#include "runtime.h"

enum { DEVICES = 64 };

static pthread_once_t    once = PTHREAD_ONCE_INIT;
static CUresult          initialized;
static pthread_mutex_t   lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext         primary[DEVICES];  // NULL: not retained
static _Thread_local int chosen;            // by cudaSetDevice

static void initialize(void) { initialized = cuInit(0); }

// A driver that was forked says so at each call; cuInit is therefore asked again where it failed.
CUresult cj__init(void) {
    pthread_once(&once, initialize);
    return initialized ? cuInit(0) : CUDA_SUCCESS;
}

CUresult cj__primary(int device, CUcontext *context) {
    int            count = 0;
    const CUresult counted = cuDeviceGetCount(&count);
    if (counted) return counted;
    if (device < 0 || device >= count || device >= DEVICES) return CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&lock);
    CUresult result = CUDA_SUCCESS;
    if (!primary[device]) result = cuDevicePrimaryCtxRetain(&primary[device], device);
    *context = primary[device];
    pthread_mutex_unlock(&lock);
    return result;
}

static CUresult enter(int device) {
    CUcontext      context = NULL;
    const CUresult result = cj__primary(device, &context);
    return result ? result : cuCtxSetCurrent(context);
}

CUresult cj__begin(void) {
    CUcontext current = NULL;
    CUresult  result = cj__init();
    if (!result) result = cuCtxGetCurrent(&current);
    if (result) return result;
    return current ? CUDA_SUCCESS : enter(chosen);
}

CUresult cj__device(CUdevice *device) {
    CUcontext current = NULL;
    CUresult  result = cj__init();
    if (!result) result = cuCtxGetCurrent(&current);
    if (result) return result;
    if (current && !cuCtxGetDevice(device)) return CUDA_SUCCESS;
    *device = chosen;
    return CUDA_SUCCESS;
}

// ---- the thread's device

cudaError_t cudaGetDevice(int *device) {
    REQUIRE(device);
    return cj__result(cj__device(device));
}

static cudaError_t choose(const char *call, int device) {
    SPEAK_FOR(call);
    TRY(cj__init());
    TRY(enter(device));
    chosen = device;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) { return choose(__func__, device); }

cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags) {
    CUcontext context = NULL;
    BEGIN_WITHOUT_CONTEXT();
    if (flags & cudaInitDeviceFlagsAreValid) TRY(cuDevicePrimaryCtxSetFlags(device, device_flags));
    return cj__result(cj__primary(device, &context));
}

// The devices are tried in order; each of them works here.
cudaError_t cudaSetValidDevices(int *devices, int count) {
    if (!devices || count <= 0) return cj__refuse(__func__, cudaErrorInvalidValue, "the list of devices is empty");
    return choose(__func__, devices[0]);
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
    BEGIN_WITHOUT_CONTEXT();
    CUdevice device = 0;
    TRY(cj__device(&device));
    return cj__result(cuDevicePrimaryCtxSetFlags(device, flags));
}

cudaError_t cudaGetDeviceFlags(unsigned *flags) {
    REQUIRE(flags);
    CUdevice device = 0;
    int      active = 0;
    TRY(cj__device(&device));
    return cj__result(cuDevicePrimaryCtxGetState(device, flags, &active));
}

cudaError_t cudaDeviceReset(void) {
    BEGIN_WITHOUT_CONTEXT();
    CUdevice device = 0;
    TRY(cj__device(&device));
    return cj__result(cuDevicePrimaryCtxReset(device));
}
