// SPDX-License-Identifier: Apache-2.0
#include "kit.h"

enum { WARP = 32, NAME = 48 };

cj_partial cj__partial_new(const cj_partials *kind, const char *name) {
    cj_partial partial = {{{0}}};
    for (unsigned i = 0; i < kind->values; i++) {
        char full[NAME];
        snprintf(full, sizeof full, "%s%s", name, kind->suffix[i] ? kind->suffix[i] : "");
        partial.value[i] = cj_register(kind->f, kind->type[i], full);
    }
    return partial;
}

unsigned cj__partial_bytes(const cj_partials *kind) {
    unsigned bytes = 0;
    for (unsigned i = 0; i < kind->values; i++) bytes += kind->bytes[i];
    return bytes;
}

void cj__partial_clear_value(const cj_partials *kind, const cj_partial *partial) {
    cj_set(kind->f, partial->value[0], cj_combine_identity(kind->value));
}

void cj__partial_combine_value(const cj_partials *kind, const cj_partial *into, const cj_partial *from) {
    cj_combine_into(kind->f, kind->value, into->value[0], from->value[0]);
}

// ---- warp

void cj__warp_combine(const cj_partials *kind, const cj_partial *partial, unsigned lanes) {
    unsigned distance = 1;
    if (kind->values == 1) {
        cj_warp_reduce(kind->f, kind->value, partial->value[0], lanes);
        return;
    }
    if (lanes < 2) return;
    while (distance * 2 < lanes) distance *= 2;
    for (; distance; distance /= 2) {
        const cj_partial other = cj__partial_new(kind, "other");
        for (unsigned i = 0; i < kind->values; i++)
            cj__shuffle(kind->f, "bfly", kind->bytes[i], other.value[i], partial->value[i], CJ_ARG(distance), 31);
        kind->combine(kind, partial, &other);
    }
}

// ---- slots

cj_slots cj__slots_make(const cj_partials *kind, const char *name, unsigned count) {
    cj_slots slots = {.count = count};
    for (unsigned i = 0; i < kind->values; i++) {
        char full[NAME];
        snprintf(full, sizeof full, "%s%.0u", name, i);  // no number after the first
        slots.value[i] = cj_shared(kind->f, kind->type[i], full, count, 0);
    }
    return slots;
}

cj_reg cj__slot_address(const cj_partials *kind, const cj_slots *slots, unsigned value, cj_reg index) {
    return cj_mad(kind->f, "slot", index, kind->bytes[value], cj_mov(kind->f, "u32", "slots", slots->value[value]));
}

void cj__slot_store(const cj_partials *kind, const cj_slots *slots, cj_reg index, cj_reg when,
                    const cj_partial *partial) {
    for (unsigned i = 0; i < kind->values; i++) {
        cj_reg slot = cj__slot_address(kind, slots, i, index);
        cj__store(kind->f, when, "st.shared", kind->type[i], &partial->value[i], 1, slot, 0);
    }
}

void cj__slots_combine(const cj_partials *kind, const cj_slots *slots, cj_reg lane, const cj_partial *partial) {
    cj_reg           slot[CJ_PARTIAL_VALUES];
    const cj_partial more = slots->count > WARP ? cj__partial_new(kind, "more") : *partial;
    for (unsigned i = 0; i < kind->values; i++) slot[i] = cj__slot_address(kind, slots, i, lane);
    for (unsigned from = 0; from < slots->count; from += WARP) {
        const cj_partial *to = from ? &more : partial;
        const unsigned    left = slots->count - from;
        const cj_reg      reads = left < WARP ? cj_lt(kind->f, "reads", lane, left) : cj_always();
        if (left < WARP) kind->clear(kind, to);
        for (unsigned i = 0; i < kind->values; i++)
            cj__load(kind->f, reads, "ld.shared", kind->type[i], &to->value[i], 1, slot[i], from * kind->bytes[i]);
        if (from) kind->combine(kind, partial, &more);
    }
    cj__warp_combine(kind, partial, slots->count < WARP ? slots->count : WARP);
}

// ---- push

cj_push cj__push_new(cj_func *f, const char *name) {
    return (cj_push){.arrived = cj_shared_address(f, cj_shared(f, "b64", name, 1, 0))};
}

void cj__push_open(cj_func *f, const cj_push *push, cj_reg when, const char *publishes, const char *starts) {
    cj_mbarrier_init(f, when, push->arrived, CJ_ARG(1), NULL);
    cj_mbarrier_init_done(f, publishes);
    cj_cluster_arrive(f, CJ_ARRIVE_RELAXED, starts);
}

void cj__push_expect(cj_func *f, const cj_push *push, const char *started, cj_reg when, cj_arg bytes,
                     const char *what) {
    cj_cluster_wait(f, started);
    cj_mbarrier_arrive_expect(f, when, push->arrived, bytes, what);
}

cj_reg cj__push_gate(cj_func *f, const cj_push *push, cj_reg rank) {
    return cj_cluster_map_address(f, push->arrived, rank);
}

void cj__push_wait(cj_func *f, const cj_push *push, const char *why) {
    cj_mbarrier_wait(f, push->arrived, CJ_ARG(0), CJ_SCOPE_CLUSTER, why);
}
