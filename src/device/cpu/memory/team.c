// SPDX-License-Identifier: Apache-2.0
#include "team.h"

#include <string.h>

#include "allocate.h"
#include "error.h"

cj_cpu_team *cj__team_copy(const cj_cpu_team *team) {
    const size_t used = sizeof *team + team->count * sizeof *team->part;
    cj_cpu_team *copy = cj__malloc(used + sizeof *team->part);
    if (copy) memcpy(copy, team, used);
    return copy;
}

const cj_cpu_part *cj__team_part(const cj_cpu_team *team, uint32_t member, uint64_t begin, uint64_t end) {
    for (size_t i = 0; i < team->count; i++) {
        const cj_cpu_part *part = &team->part[i];
        if (part->member == member && part->begin < end && begin < part->end) return part;
    }
    return NULL;
}

// What a list knows of a range's bytes: a multicast range has none, so all of it counts as written. NULL: out of memory.
static cj_cpu_written *written_of(const cj_cpu_team *team) {
    cj_cpu_written *written = cj__calloc(1, sizeof *written);
    if (!written) return NULL;
    written->all = true;
    written->team = cj__team_copy(team);
    if (written->team) return written;
    cj__free(written);
    return NULL;
}

static cj_status refuse_memory(cj_error *error) {
    return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for the members of a multicast object");
}

cj_status cj__team_add(cj_cpu_memory *memory, cj_ptr begin, uint64_t bytes, const cj_cpu_team *team, cj_error *error) {
    cj_cpu_written *written = written_of(team);
    if (!written) return refuse_memory(error);
    return cj__cpu_ranges_add(memory, &(cj_cpu_range){begin, begin + bytes, "a multicast object", written, true, NULL},
                              error);
}

cj_status cj__team_replace(cj_cpu_memory *memory, cj_ptr begin, const cj_cpu_team *team, cj_error *error) {
    if (!cj__team_is_at(memory, begin)) return CJ_OK;
    cj_cpu_written *written = written_of(team);
    if (!written || !cj__cpu_ranges_renew(memory, begin, written)) {
        cj__cpu_written_free(written);
        return refuse_memory(error);
    }
    return CJ_OK;
}

bool cj__team_is_at(cj_cpu_memory *memory, cj_ptr begin) {
    cj_cpu_ranges      *ranges = cj__cpu_ranges_hold(memory);
    const cj_cpu_range *range = cj__cpu_ranges_find(ranges, begin, 1, NULL);
    const bool          is_team = range && range->begin == begin && range->written->team;
    cj__cpu_ranges_drop(memory, ranges);
    return is_team;
}

// ---- what a launch reaches

static bool hold_one(cj_cpu_hold *hold, cj_cpu_memory *memory) {
    for (uint32_t i = 0; i < hold->count; i++) {
        if (hold->memory[i] == memory) return true;
    }
    const size_t    before = hold->count * sizeof memory, after = before + sizeof memory;  // of pointers
    cj_cpu_memory **memories = cj__realloc(hold->memory, before, after);
    if (memories) hold->memory = memories;
    cj_cpu_ranges **lists = memories ? cj__realloc(hold->list, before, after) : NULL;
    if (!lists) return false;
    hold->list = lists;
    hold->memory[hold->count] = memory;
    hold->list[hold->count++] = cj__cpu_ranges_hold(memory);
    return true;
}

// Holds the lists of the members of all teams in a list.
static bool hold_members(cj_cpu_hold *hold, const cj_cpu_ranges *list) {
    bool held = true;
    for (size_t i = 0; i < list->count && list->teams && held; i++) {
        const cj_cpu_team *team = list->range[i].written->team;
        for (uint32_t k = 0; team && k < team->members && held; k++) held = hold_one(hold, team->memory[k]);
    }
    return held;
}

cj_status cj__team_hold(cj_cpu_memory *const *memory, uint32_t count, cj_cpu_hold *hold, cj_error *error) {
    bool held = true;
    *hold = (cj_cpu_hold){0};
    for (uint32_t i = 0; i < count && held; i++) held = hold_one(hold, memory[i]);
    for (uint32_t i = 0; i < count && i < hold->count && held; i++) held = hold_members(hold, hold->list[i]);
    if (held) hold->all = hold->count > 1 ? cj__cpu_ranges_union(hold->list, hold->count) : hold->list[0];
    if (hold->all) return CJ_OK;
    cj__team_drop(hold);
    return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for the list of the devices' allocations");
}

void cj__team_drop(cj_cpu_hold *hold) {
    if (hold->count > 1) cj__free(hold->all);
    for (uint32_t i = 0; i < hold->count; i++) cj__cpu_ranges_drop(hold->memory[i], hold->list[i]);
    cj__free(hold->memory);
    cj__free(hold->list);
    *hold = (cj_cpu_hold){0};
}
