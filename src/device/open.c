// SPDX-License-Identifier: Apache-2.0
// Opens the device that a spec names; chooses one for "auto".
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "error.h"
#include "log.h"
#include "sized.h"

typedef cj_status (*opener)(const cj_device_options *options, unsigned ordinal, cj_device **device, cj_error *error);

static cj_status open_gpu(const cj_device_options *options, unsigned ordinal, cj_device **device, cj_error *error) {
#ifdef CJ_HAVE_CUDA
    cj_status status = cj__cuda_open(options, ordinal, device, error);
    if (!status) snprintf((*device)->reason, sizeof(*device)->reason, "the GPU was asked for");
    return status;
#else
    (void)options, (void)ordinal, (void)device;
    cj__fail(error, CJ_NO_DEVICE, "this build has no gpu device: the CUDA headers were not found");
    cj__hint(error, "build clusterjit where a CUDA toolkit is installed, or use the cpu device");
    return CJ_NO_DEVICE;
#endif
}

static cj_status open_cpu(const cj_device_options *options, unsigned ordinal, cj_device **device, cj_error *error) {
    (void)ordinal;
    cj_status status = cj__cpu_open(options, device, error);
    if (!status) snprintf((*device)->reason, sizeof(*device)->reason, "the CPU device was asked for");
    return status;
}

// Opens the first GPU that has clusters. On failure `error` says what was wrong with the first GPU.
static cj_status open_cluster_gpu(const cj_device_options *options, cj_device **device, cj_error *error) {
    cj_error first = {0}, next = {0};
    for (unsigned ordinal = 0; !open_gpu(options, ordinal, device, &next); ordinal++) {
        const cj_limits *limits = &(*device)->limits;
        if (limits->max_cluster_portable || options->context) {
            snprintf((*device)->reason, sizeof(*device)->reason, "%s %s",
                     options->context ? "the caller's context is on" : "the first GPU with thread block clusters is",
                     limits->name);
            return CJ_OK;
        }
        if (!first.status) {
            cj__fail(&first, CJ_UNSUPPORTED, "%s has compute capability %u.%u, and thread block clusters need 9.0",
                     limits->name, limits->compute_capability / 10, limits->compute_capability % 10);
        }
        cj_device_close(*device);
    }
    *error = first.status ? first : next;
    return error->status;
}

// "auto" takes the CPU device also if the driver is broken; the reason says so.
static cj_status open_auto(const cj_device_options *options, unsigned ordinal, cj_device **device, cj_error *error) {
    cj_error why = {0};
    if (!open_cluster_gpu(options, device, &why)) return CJ_OK;
    cj_status status = open_cpu(options, ordinal, device, error);
    if (status) return status;
    snprintf((*device)->reason, sizeof(*device)->reason, "no %s: %.180s; running on the CPU device",
             why.status == CJ_NO_DEVICE ? "GPU" : "usable GPU", why.message);
    return CJ_OK;
}

static const struct {
    const char *spec;
    opener      open;
} kinds[] = {{"auto", open_auto}, {"gpu", open_gpu}, {"cpu", open_cpu}};

enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

static const char *kind_name(const void *user, size_t i) {
    (void)user;
    return i < KIND_COUNT ? kinds[i].spec : NULL;
}

static cj_status unknown_spec(const char *spec, cj_error *error) {
    cj__fail(error, CJ_INVALID_ARGUMENT, "device '%.64s' is none of auto, gpu, gpu:N, cpu", spec);
    const char *nearest = cj__nearest(spec, kind_name, NULL);
    if (nearest) cj__hint(error, "did you mean %s?", nearest);
    return CJ_INVALID_ARGUMENT;
}

// "gpu:N" with up to three digits.
static bool read_ordinal(const char *spec, unsigned *ordinal) {
    if (strncmp(spec, "gpu:", 4)) return false;
    const char *digits = spec + 4;
    size_t      count = strspn(digits, "0123456789");
    if (count < 1 || count > 3 || digits[count]) return false;
    *ordinal = 0;
    for (size_t i = 0; i < count; i++) *ordinal = *ordinal * 10 + (unsigned)(digits[i] - '0');
    return true;
}

cj_status cj_device_open(const cj_device_options *options, cj_device **device, cj_error *error) {
    if (!device) return cj__fail(error, CJ_INVALID_ARGUMENT, "%s: device is NULL", __func__);
    SIZED_OR_NULL(cj_device_options, options);
    cj__environment_check();
    const cj_device_options defaults = {CJ_INIT(defaults)};
    if (!options) options = &defaults;
    const char *spec = options->spec ? options->spec : kinds[0].spec;
    cj_device  *opened = NULL;
    cj_status   status = CJ_OK;
    unsigned    ordinal = 0;
    opener      open = NULL;

    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (!strcmp(spec, kinds[i].spec)) open = kinds[i].open;
    }
    if (!open && read_ordinal(spec, &ordinal)) {
        if (options->context) {
            cj__fail(error, CJ_INVALID_ARGUMENT, "both '%s' and a context choose the GPU", spec);
            cj__hint(error, "with a context of your own, open 'gpu'");
            return CJ_INVALID_ARGUMENT;
        }
        open = open_gpu;
    }
    if (!open) return unknown_spec(spec, error);
    status = open(options, ordinal, &opened, error);
    if (!status) *device = opened;
    return status;
}
