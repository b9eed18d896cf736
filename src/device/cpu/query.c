// SPDX-License-Identifier: Apache-2.0
// The calls that only the CPU device has: its options, what the last launch found, what was counted, the heap of kernels.
#include "cpu_device.h"
#include "error.h"
#include "hazard.h"
#include "heap.h"
#include "sized.h"

enum { STACK_BYTES_MAX = 512 << 10 };

cj_cpu_device *cj__cpu_of(const cj_device *device) {
    return device && device->ops == &cj__cpu_operations ? (cj_cpu_device *)(uintptr_t)device : NULL;
}

cj_status cj__cpu_refuse_device(const cj_device *device, cj_error *error) {
    return cj__fail(error, CJ_UNSUPPORTED, "%s is no CPU device", device ? device->limits.name : "NULL");
}

// A heap of another size takes the place of one without blocks; a launch makes it.
static cj_status resize_heap(cj_cpu_device *cpu, uint64_t bytes, cj_error *error) {
    cj_cpu_heap_state state = {CJ_INIT(state)};
    if (bytes > CJ_HEAP_MOST)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "cj_cpu_configure: heap_bytes is %llu; the most is %llu",
                        (unsigned long long)bytes, (unsigned long long)CJ_HEAP_MOST);
    if (!cpu->heap) return CJ_OK;
    cj__heap_read(cpu->heap, &state);
    if (state.limit == bytes) return CJ_OK;
    if (state.blocks) {
        cj__fail(error, CJ_INVALID_ARGUMENT,
                 "cj_cpu_configure: the heap of %llu bytes holds %llu blocks that no kernel has freed",
                 (unsigned long long)state.limit, (unsigned long long)state.blocks);
        cj__hint(error, "set heap_bytes before the first kernel that calls malloc");
        return CJ_INVALID_ARGUMENT;
    }
    cj__heap_free(&cpu->memory, cpu->heap);
    cpu->heap = NULL;
    return CJ_OK;
}

cj_status cj_cpu_configure(cj_device *device, const cj_cpu_options *options, cj_error *error) {
    REQUIRE(device);
    cj_cpu_device *cpu = cj__cpu_of(device);
    if (!cpu) return cj__cpu_refuse_device(device, error);
    SIZED(cj_cpu_options, options);
    if (options->stack_bytes > STACK_BYTES_MAX) {
        return cj__fail(error, CJ_INVALID_ARGUMENT, "%s: stack_bytes is %u; the most is %d", __func__,
                        options->stack_bytes, STACK_BYTES_MAX);
    }
    if (options->random_schedule && options->late_schedule) {
        cj__fail(error, CJ_INVALID_ARGUMENT, "%s: both random_schedule and late_schedule are true; one may be", __func__);
        cj__hint(error, "a random schedule is late for some kinds of asynchronous work by itself: its seed draws them");
        return CJ_INVALID_ARGUMENT;
    }
    cj_cpu_options complete = *options;
    cj__cpu_complete(&complete);
    cj_status status = resize_heap(cpu, complete.heap_bytes, error);
    if (!status) cpu->options = complete;
    return status;
}

cj_status cj_cpu_heap_read(const cj_device *device, cj_cpu_heap_state *state, cj_error *error) {
    REQUIRE(device);
    const cj_cpu_device *cpu = cj__cpu_of(device);
    if (!cpu) return cj__cpu_refuse_device(device, error);
    TRY(cj__sized_check(state, "cj_cpu_heap_state", error));
    cj_cpu_heap_state now = {CJ_INIT(now), .limit = cpu->options.heap_bytes};
    if (cpu->heap) cj__heap_read(cpu->heap, &now);
    cj__sized_write(state, &now, sizeof now);
    return CJ_OK;
}

const cj_cpu_heap_block *cj_cpu_heap_at(const cj_device *device, size_t index) {
    cj_cpu_device *cpu = cj__cpu_of(device);
    cj_heap_block  found;
    if (!cpu || !cpu->heap || !cj__heap_at(cpu->heap, index, &found)) return NULL;
    cpu->heap_block = (cj_cpu_heap_block){found.begin, found.bytes, found.line, found.thread, found.block};
    return &cpu->heap_block;
}

size_t cj_cpu_hazard_count(const cj_device *device) {
    const cj_cpu_device *cpu = cj__cpu_of(device);
    return cpu && cpu->findings ? cpu->findings->hazards.count : 0;
}

const cj_hazard *cj_cpu_hazard_at(const cj_device *device, size_t index) {
    return index < cj_cpu_hazard_count(device) ? &cj__cpu_of(device)->findings->hazards.hazard[index] : NULL;
}

size_t cj_cpu_note_count(const cj_device *device) {
    const cj_cpu_device *cpu = cj__cpu_of(device);
    return cpu && cpu->findings ? cpu->findings->notes.count : 0;
}

const cj_hazard *cj_cpu_note_at(const cj_device *device, size_t index) {
    return index < cj_cpu_note_count(device) ? &cj__cpu_of(device)->findings->notes.hazard[index] : NULL;
}

cj_status cj_cpu_stats_read(const cj_device *device, cj_cpu_stats *stats, cj_error *error) {
    REQUIRE(device);
    const cj_cpu_device *cpu = cj__cpu_of(device);
    if (!cpu) return cj__cpu_refuse_device(device, error);
    TRY(cj__sized_check(stats, "cj_cpu_stats", error));
    cj__sized_write(stats, &cpu->stats, sizeof cpu->stats);
    return CJ_OK;
}

cj_status cj_cpu_stats_clear(cj_device *device, cj_error *error) {
    REQUIRE(device);
    cj_cpu_device *cpu = cj__cpu_of(device);
    if (!cpu) return cj__cpu_refuse_device(device, error);
    cpu->stats = (cj_cpu_stats){CJ_INIT(cj_cpu_stats)};
    return CJ_OK;
}

size_t cj_cpu_line_count(const cj_device *device) {
    const cj_cpu_device *cpu = cj__cpu_of(device);
    return cpu ? cpu->line_count : 0;
}

const cj_cpu_line_stats *cj_cpu_line_at(const cj_device *device, size_t index) {
    return index < cj_cpu_line_count(device) ? &cj__cpu_of(device)->line[index] : NULL;
}
