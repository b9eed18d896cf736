// SPDX-License-Identifier: Apache-2.0
// What programs ask of devices.
#include <stdio.h>
#include <string.h>

#include "driver.h"

// Begins a call on a device.
#define ENTER_DEVICE(ordinal)          \
    ENTER(CJ_NEED_INIT);               \
    cj_gpu *gpu = cj__gpu_of(ordinal); \
    if (!gpu) LEAVE(cj__refuse_device(ordinal))

CUresult cuDeviceGetCount(int *count) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(count);
    *count = cj__driver.gpu_count;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    ENTER_DEVICE(ordinal);
    REQUIRE(device);
    *device = gpu->ordinal;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
    ENTER_DEVICE(device);
    REQUIRE(name);
    if (length < 1) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "a name of %d bytes", length));
    snprintf(name, (size_t)length, "clusterjit %s", gpu->limits->name);
    LEAVE(CUDA_SUCCESS);
}

static void uuid_of(const cj_gpu *gpu, CUuuid *uuid) {
    memcpy(uuid->bytes, "clusterjit CPU \0", sizeof uuid->bytes);
    uuid->bytes[15] = (char)gpu->ordinal;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
    ENTER_DEVICE(device);
    REQUIRE(uuid);
    uuid_of(gpu, uuid);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
    ENTER_DEVICE(device);
    REQUIRE(uuid);
    uuid_of(gpu, uuid);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuDeviceGetLuid(char *luid, unsigned *mask, CUdevice device) {
    ENTER_DEVICE(device);
    (void)luid, (void)mask, (void)gpu;
    LEAVE(cj__refuse(CUDA_ERROR_NOT_SUPPORTED, "only Windows has LUIDs"));
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    ENTER_DEVICE(device);
    REQUIRE(bytes);
    *bytes = gpu->limits->global_bytes;
    LEAVE(CUDA_SUCCESS);
}

static int attribute_of(const cj_gpu *gpu, CUdevice_attribute attribute) {
    const cj_limits *l = gpu->limits;
    const int        ordinal = gpu->ordinal;
    switch ((int)attribute) {
#define X(name, value)               \
    case CU_DEVICE_ATTRIBUTE_##name: \
        return (int)(value);
#include "attributes.def"
#undef X
    default: return 0;
    }
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    ENTER_DEVICE(device);
    REQUIRE(value);
    if (attribute < 1 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "device attribute %d is not known", (int)attribute));
    *value = attribute_of(gpu, attribute);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
    ENTER_DEVICE(device);
    REQUIRE(major);
    REQUIRE(minor);
    *major = (int)gpu->limits->compute_capability / 10;
    *minor = (int)gpu->limits->compute_capability % 10;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuDeviceGetProperties(CUdevprop *properties, CUdevice device) {
    ENTER_DEVICE(device);
    REQUIRE(properties);
    const cj_limits *l = gpu->limits;
    *properties = (CUdevprop){.maxThreadsPerBlock = (int)l->max_threads_per_block,
                              .maxThreadsDim = {(int)l->max_block.x, (int)l->max_block.y, (int)l->max_block.z},
                              .maxGridSize = {(int)l->max_grid.x, (int)l->max_grid.y, (int)l->max_grid.z},
                              .sharedMemPerBlock = (int)l->shared_per_block,
                              .totalConstantMemory = attribute_of(gpu, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
                              .SIMDWidth = (int)l->warp_size,
                              .memPitch = attribute_of(gpu, CU_DEVICE_ATTRIBUTE_MAX_PITCH),
                              .regsPerBlock = (int)l->registers_per_block,
                              .clockRate = attribute_of(gpu, CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
                              .textureAlign = attribute_of(gpu, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT)};
    LEAVE(CUDA_SUCCESS);
}

CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device) {
    ENTER_DEVICE(device);
    REQUIRE(id);
    if (length < 13) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "an id of %d bytes; it has 13", length));
    snprintf(id, (size_t)length, "0000:%02x:00.0", (unsigned)gpu->ordinal + 1);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *id) {
    ENTER(CJ_NEED_INIT);
    unsigned domain = 0, bus = 0, slot = 0;
    REQUIRE(device);
    REQUIRE(id);
    const bool read = sscanf(id, "%x:%x:%x", &domain, &bus, &slot) == 3 || sscanf(id, "%x:%x", &bus, &slot) == 2;
    if (!read || domain || slot || !bus || !cj__gpu_of((int)bus - 1))
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_DEVICE, "no device has the PCI bus id %.40s", id));
    *device = (int)bus - 1;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t *elements, CUarray_format format, unsigned channels,
                                            CUdevice device) {
    ENTER_DEVICE(device);
    (void)format, (void)channels;
    REQUIRE(elements);
    *elements = (size_t)attribute_of(gpu, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuDeviceGetExecAffinitySupport(int *supported, CUexecAffinityType type, CUdevice device) {
    ENTER_DEVICE(device);
    (void)type, (void)gpu;
    REQUIRE(supported);
    *supported = 0;
    LEAVE(CUDA_SUCCESS);
}

// ---- pairs of devices

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice other) {
    ENTER_DEVICE(device);
    REQUIRE(can);
    if (!cj__gpu_of(other)) LEAVE(cj__refuse_device(other));
    *can = gpu->ordinal != other;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice device, CUdevice other) {
    ENTER_DEVICE(device);
    REQUIRE(value);
    if (!cj__gpu_of(other)) LEAVE(cj__refuse_device(other));
    if (gpu->ordinal == other) LEAVE(cj__refuse(CUDA_ERROR_INVALID_DEVICE, "device %d is no peer of itself", other));
    switch ((int)attribute) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK: *value = 0; break;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED: *value = 1; break;
    default: LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "attribute %d of a pair of devices", (int)attribute));
    }
    LEAVE(CUDA_SUCCESS);
}
