// SPDX-License-Identifier: Apache-2.0
// The public calls on a device and its memory: the part that all devices share.
#include "device.h"

#include "dump.h"
#include "log.h"

const char      *cj_device_kind(const cj_device *device) { return device ? device->ops->kind : NULL; }
const char      *cj_device_name(const cj_device *device) { return device ? device->limits.name : NULL; }
const char      *cj_device_reason(const cj_device *device) { return device ? device->reason : NULL; }
const cj_limits *cj_device_limits(const cj_device *device) { return device ? &device->limits : NULL; }

void cj_device_close(cj_device *device) {
    if (!device) return;
    cj_attachment *attachment = atomic_load(&device->attachment);
    if (attachment) attachment->retire(attachment);
    const long modules = atomic_load(&device->modules);
    if (modules > 0) {
        cj__log(CJ_LOG_WARNING, "%s was closed while %ld of its modules are loaded; it closes with the last of them",
                device->limits.name, modules);
    }
    cj__device_drop(device);
}

void cj__device_drop(cj_device *device) {
    if (atomic_fetch_sub(&device->modules, 1) > 0) return;
    cj_attachment *attachment = atomic_load(&device->attachment);
    device->ops->close(device);
    if (attachment) attachment->free(attachment);
}

cj_status cj_mem_alloc(cj_device *device, size_t bytes, cj_ptr *memory, cj_error *error) {
    REQUIRE(device);
    REQUIRE(bytes);
    REQUIRE(memory);
    return device->ops->alloc(device, bytes, memory, error);
}

cj_status cj_mem_wrap(cj_device *device, void *host, size_t bytes, cj_ptr *memory, cj_error *error) {
    REQUIRE(device);
    REQUIRE(host);
    REQUIRE(bytes);
    REQUIRE(memory);
    if (device->ops->wrap) return device->ops->wrap(device, host, bytes, memory, error);
    cj__fail(error, CJ_UNSUPPORTED, "cj_mem_wrap: %s is a %s device, whose kernels work in memory of its own",
             device->limits.name, device->ops->kind);
    cj__hint(error, "allocate with cj_mem_alloc and copy with cj_mem_write and cj_mem_read");
    return CJ_UNSUPPORTED;
}

void cj_mem_free(cj_device *device, cj_ptr memory) {
    if (device && memory) device->ops->free(device, memory);
}

cj_status cj_mem_write(cj_device *device, cj_ptr to, const void *from, size_t bytes, cj_stream stream,
                       cj_error *error) {
    REQUIRE(device);
    REQUIRE(to);
    REQUIRE(from);
    REQUIRE(bytes);
    return device->ops->write(device, to, from, bytes, stream, error);
}

cj_status cj_mem_read(cj_device *device, void *to, cj_ptr from, size_t bytes, cj_stream stream, cj_error *error) {
    REQUIRE(device);
    REQUIRE(to);
    REQUIRE(from);
    REQUIRE(bytes);
    cj_status status = device->ops->read(device, to, from, bytes, stream, error);
    if (status == CJ_DRIVER) cj__dump_last(device, error);
    return status;
}

cj_status cj_mem_fill(cj_device *device, cj_ptr to, uint8_t byte, size_t bytes, cj_stream stream, cj_error *error) {
    REQUIRE(device);
    REQUIRE(to);
    REQUIRE(bytes);
    return device->ops->fill(device, to, byte, bytes, stream, error);
}

cj_status cj_synchronize(cj_device *device, cj_stream stream, cj_error *error) {
    REQUIRE(device);
    cj_status status = device->ops->synchronize(device, stream, error);
    if (status) cj__dump_last(device, error);
    return status;
}

cj_status cj_time(cj_device *device, cj_stream stream, cj_status (*work)(void *user, cj_error *error), void *user,
                  double *milliseconds, cj_error *error) {
    REQUIRE(device);
    REQUIRE(work);
    REQUIRE(milliseconds);
    return device->ops->time(device, stream, work, user, milliseconds, error);
}

cj_status cj_time_graph(cj_device *device, cj_status (*work)(void *user, cj_stream stream, cj_error *error), void *user,
                        uint32_t repeat, double *milliseconds, cj_error *error) {
    REQUIRE(device);
    REQUIRE(work);
    REQUIRE(repeat);
    REQUIRE(milliseconds);
    return device->ops->time_graph(device, work, user, repeat, milliseconds, error);
}
