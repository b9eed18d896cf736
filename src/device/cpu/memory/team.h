// SPDX-License-Identifier: Apache-2.0
// Multicast: a range of addresses that stands for the same bytes in the memory of several devices, the members of a team.
//
// The range itself has no bytes. It is in the list of allocations of each device whose kernels may use it, and each list
// has a team of its own, which does not change: what is bound later is a new team in the place of the old one.
#ifndef CJ_CPU_TEAM_H
#define CJ_CPU_TEAM_H

#include <clusterjit/cpu.h>

#include "memory.h"

// Members; bytes of the longest access: the bounds of a part are multiples, so that no access crosses one.
enum { CJ_TEAM_MAX = CJ_CPU_MULTICAST_MAX, CJ_TEAM_GRAIN = CJ_CPU_MULTICAST_GRAIN };

// The bytes [begin, end) of the range are those at `memory` of one member.
typedef struct cj_cpu_part {
    uint32_t member;
    uint64_t begin, end;
    cj_ptr   memory;
} cj_cpu_part;

typedef struct cj_cpu_team {
    uint32_t       members;
    cj_cpu_memory *memory[CJ_TEAM_MAX];  // of each member's device
    size_t         count;
    cj_cpu_part    part[];
} cj_cpu_team;

// A copy of a team with room for one more part; NULL: out of memory.
cj_cpu_team *cj__team_copy(const cj_cpu_team *team);
// The part of a member that shares a byte with [begin, end); NULL: none.
const cj_cpu_part *cj__team_part(const cj_cpu_team *team, uint32_t member, uint64_t begin, uint64_t end);

// Adds the range to a device's list, with a copy of the team. INVALID_ARGUMENT if part of it is an allocation already.
cj_status cj__team_add(cj_cpu_memory *memory, cj_ptr begin, uint64_t bytes, const cj_cpu_team *team, cj_error *error);
// Puts a copy of the team in the place of that which begins there. Does nothing if the device's list has no such range.
cj_status cj__team_replace(cj_cpu_memory *memory, cj_ptr begin, const cj_cpu_team *team, cj_error *error);
// Whether a device's list has a multicast range that begins there.
bool cj__team_is_at(cj_cpu_memory *memory, cj_ptr begin);

// What a launch reaches: the allocations of its devices, and those of the members of all teams among them, as one list.
typedef struct cj_cpu_hold {
    uint32_t        count;
    cj_cpu_memory **memory;
    cj_cpu_ranges **list;  // of each, held
    cj_cpu_ranges  *all;
} cj_cpu_hold;

cj_status cj__team_hold(cj_cpu_memory *const *memory, uint32_t count, cj_cpu_hold *hold, cj_error *error);
void      cj__team_drop(cj_cpu_hold *hold);

#endif
