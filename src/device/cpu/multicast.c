// SPDX-License-Identifier: Apache-2.0
// Multicast objects. Their addresses are reserved at the host and have no memory, so that no allocation is there.
#define _GNU_SOURCE  // MAP_ANONYMOUS, MAP_NORESERVE
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "allocate.h"
#include "cpu_device.h"
#include "error.h"
#include "team.h"

struct cj_cpu_multicast {
    cj_ptr       begin;
    uint64_t     bytes;
    bool         reserved;  // its addresses are its own, not the caller's
    cj_cpu_team *team;
};

// ---- begin, end

static cj_status check_devices(cj_device *const *device, uint32_t count, cj_error *error) {
    REFUSE_IF(!count || count > CJ_TEAM_MAX, "count: a multicast object of %" PRIu32 " devices, but it has 1 to %d",
              count, CJ_TEAM_MAX);
    for (uint32_t i = 0; i < count; i++) {
        REQUIRE(device[i]);
        if (!cj__cpu_of(device[i])) return cj__cpu_refuse_device(device[i], error);
        for (uint32_t k = 0; k < i; k++)
            REFUSE_IF(device[k] == device[i], "device: members %" PRIu32 " and %" PRIu32 " are one device", k, i);
    }
    return CJ_OK;
}

static cj_status check_grain(const char *what, uint64_t value, cj_error *error) {
    REFUSE_IF(value % CJ_TEAM_GRAIN, "%s: 0x%" PRIx64 " is no multiple of %d bytes", what, value, CJ_TEAM_GRAIN);
    return CJ_OK;
}

static cj_status reserve(cj_cpu_multicast *multicast, cj_error *error) {
    void *at = mmap(NULL, multicast->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return cj__fail(error, CJ_OUT_OF_MEMORY, "the host has no %" PRIu64 " bytes of addresses", multicast->bytes);
    multicast->begin = (uintptr_t)at;
    multicast->reserved = true;
    return CJ_OK;
}

cj_status cj_cpu_multicast_create(cj_device *const *device, uint32_t count, uint64_t bytes, cj_ptr address,
                                  cj_cpu_multicast **multicast, cj_error *error) {
    REQUIRE(device);
    REQUIRE(bytes);
    REQUIRE(multicast);
    TRY(check_devices(device, count, error));
    TRY(check_grain("bytes", bytes, error));
    TRY(check_grain("address", address, error));
    REFUSE_IF(bytes > UINTPTR_MAX - address,
              "bytes: %" PRIu64 " from 0x%" PRIx64 " on are past the end of all addresses", bytes, address);
    const cj_cpu_team empty = {.members = count};
    cj_cpu_multicast *made = cj__calloc(1, sizeof *made);
    if (made) made->team = cj__team_copy(&empty);
    if (!made || !made->team) {
        cj__free(made);
        return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for a multicast object");
    }
    made->begin = address;
    made->bytes = bytes;
    for (uint32_t i = 0; i < count; i++) made->team->memory[i] = &cj__cpu_of(device[i])->memory;
    const cj_status status = address ? CJ_OK : reserve(made, error);
    if (status)
        cj_cpu_multicast_destroy(made);
    else
        *multicast = made;
    return status;
}

void cj_cpu_multicast_destroy(cj_cpu_multicast *multicast) {
    if (!multicast) return;
    for (uint32_t i = 0; i < multicast->team->members; i++) {
        cj_cpu_memory *memory = multicast->team->memory[i];
        if (cj__team_is_at(memory, multicast->begin)) cj__cpu_release(memory, multicast->begin);
    }
    if (multicast->reserved) munmap((void *)(uintptr_t)multicast->begin, multicast->bytes);
    cj__free(multicast->team);
    cj__free(multicast);
}

// ---- members

static cj_status check_part(const cj_cpu_multicast *multicast, uint32_t member, uint64_t offset, uint64_t bytes,
                            cj_error *error) {
    REFUSE_IF(member >= multicast->team->members, "member: %" PRIu32 ", but the multicast object has %" PRIu32, member,
              multicast->team->members);
    TRY(check_grain("offset", offset, error));
    TRY(check_grain("bytes", bytes, error));
    REFUSE_IF(offset > multicast->bytes || bytes > multicast->bytes - offset,
              "bytes: %" PRIu64 " from byte %" PRIu64 " on leave the multicast object's %" PRIu64, bytes, offset,
              multicast->bytes);
    return CJ_OK;
}

// The memory that is bound is bytes of one allocation.
static cj_status check_memory(cj_cpu_memory *memory, cj_ptr at, uint64_t bytes, cj_error *error) {
    cj_cpu_ranges      *ranges = cj__cpu_ranges_hold(memory);
    const cj_cpu_range *range = cj__cpu_ranges_find(ranges, at, bytes, NULL);
    const bool          is_memory = range && !range->heap && !range->written->team;
    cj__cpu_ranges_drop(memory, ranges);
    REFUSE_IF(!is_memory,
              "memory: %" PRIu64 " bytes at 0x%llx are not in one allocation of the member's device" CJ_HINT
              "bind memory of cj_mem_alloc or cj_mem_wrap on the device of that member",
              bytes, (unsigned long long)at);
    return CJ_OK;
}

// Takes the team in the place of the object's, on all devices that have it mapped.
static cj_status replace(cj_cpu_multicast *multicast, cj_cpu_team *team, cj_error *error) {
    cj_status status = CJ_OK;
    for (uint32_t i = 0; i < team->members && !status; i++)
        status = cj__team_replace(team->memory[i], multicast->begin, team, error);
    cj__free(status ? team : multicast->team);
    if (!status) multicast->team = team;
    return status;
}

static cj_status copy_team(const cj_cpu_multicast *multicast, cj_cpu_team **copy, cj_error *error) {
    *copy = cj__team_copy(multicast->team);
    return *copy ? CJ_OK : cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for the members of a multicast object");
}

cj_status cj_cpu_multicast_bind(cj_cpu_multicast *multicast, uint32_t member, uint64_t offset, cj_ptr memory,
                                uint64_t bytes, cj_error *error) {
    cj_cpu_team *team;
    REQUIRE(multicast);
    REQUIRE(memory);
    REQUIRE(bytes);
    TRY(check_part(multicast, member, offset, bytes, error));
    TRY(check_grain("memory", memory, error));
    const cj_cpu_part *other = cj__team_part(multicast->team, member, offset, offset + bytes);
    REFUSE_IF(other,
              "offset: bytes %" PRIu64 " to %" PRIu64 " of member %" PRIu32 " are bound already, to 0x%llx" CJ_HINT
              "unbind them first",
              other->begin, other->end, member, (unsigned long long)other->memory);
    TRY(check_memory(multicast->team->memory[member], memory, bytes, error));
    TRY(copy_team(multicast, &team, error));
    team->part[team->count++] = (cj_cpu_part){member, offset, offset + bytes, memory};
    return replace(multicast, team, error);
}

cj_status cj_cpu_multicast_unbind(cj_cpu_multicast *multicast, uint32_t member, uint64_t offset, uint64_t bytes,
                                  cj_error *error) {
    cj_cpu_team *team;
    REQUIRE(multicast);
    REQUIRE(bytes);
    TRY(check_part(multicast, member, offset, bytes, error));
    const cj_cpu_part *part = cj__team_part(multicast->team, member, offset, offset + bytes);
    REFUSE_IF(!part || part->begin != offset || part->end != offset + bytes,
              "offset: no bind of member %" PRIu32 " has bytes %" PRIu64 " to %" PRIu64, member, offset,
              offset + bytes);
    const size_t at = (size_t)(part - multicast->team->part);
    TRY(copy_team(multicast, &team, error));
    memmove(&team->part[at], &team->part[at + 1], (--team->count - at) * sizeof *team->part);
    return replace(multicast, team, error);
}

cj_status cj_cpu_multicast_map(cj_cpu_multicast *multicast, uint32_t member, cj_ptr *address, cj_error *error) {
    REQUIRE(multicast);
    REQUIRE(address);
    TRY(check_part(multicast, member, 0, 0, error));
    TRY(cj__team_add(multicast->team->memory[member], multicast->begin, multicast->bytes, multicast->team, error));
    *address = multicast->begin;
    return CJ_OK;
}
