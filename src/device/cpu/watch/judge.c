// SPDX-License-Identifier: Apache-2.0
#include "judge.h"

#include <string.h>

#include "lanes.h"
#include "report.h"
#include "state.h"
#include "undefined.h"

enum { STORED_BYTES = 32 };  // by one lane's store, at most

// Bytes between neighbouring lanes of the k-th register that a store stores.
static unsigned register_stride(const cj_watch_subject *s, unsigned k) {
    const cj_ir_inst    *inst = s->op->inst;
    const cj_ir_operand *value = &inst->operand[1];
    const cj_ir_operand *part = value->kind == CJ_OPERAND_VECTOR ? &value->list[k] : value;
    const unsigned       bits = part->kind == CJ_OPERAND_REG ? cj__words[part->reg->type].bits : s->op->bytes * 8u;
    return bits <= 16 ? 2 : bits / 8;
}

// Whether a store's lane writes the same bits as another lane.
static bool writes_the_same(const cj_watch_subject *s, unsigned other) {
    for (unsigned k = 0; k < s->op->count; k++) {
        const unsigned       stride = register_stride(s, k);
        const unsigned char *lanes = s->w->file + s->op->slot[k];
        if (memcmp(lanes + s->lane * stride, lanes + other * stride, stride)) return false;
    }
    return true;
}

// Whether two lanes of one execution of a store write the same value to the same place, which PTX allows.
static bool is_one_store(const cj_watch_subject *s, const cj_accessor *a, const cj_access *earlier) {
    if (!s->address || a->access.use.flags != CJ_USE_WRITE || a->access.use.scope) return false;
    if (earlier->block != a->access.block || earlier->group != a->access.group || earlier->op != a->access.op)
        return false;
    if (earlier->time != a->access.time || earlier->mask & (earlier->mask - 1)) return false;
    const unsigned other = cj__cpu_first(earlier->mask);
    return other < s->lane && s->mask >> other & 1 && s->address[other] == s->address[s->lane] &&
           writes_the_same(s, other);
}

// Whether the earlier access is by another lane of the same execution of the op, to bytes that this lane accesses,
// too: its value is not in memory yet.
static bool is_under_way(const cj_watch_subject *s, const cj_accessor *a, const cj_access *earlier) {
    if (!s->address || earlier->block != a->access.block || earlier->group != a->access.group) return false;
    if (earlier->op != a->access.op || earlier->time != a->access.time) return false;
    const uint64_t bytes = (uint64_t)s->op->bytes * s->op->count, own = s->address[s->lane];
    CJ_SOME_LANES(i, earlier->mask & s->mask & ((1u << s->lane) - 1)) {
        if (s->address[i] < own + bytes && own < s->address[i] + bytes) return true;
    }
    return false;
}

// The bytes that a store's lane is about to write.
static void stored_bytes(const cj_watch_subject *s, unsigned char *to) {
    for (unsigned k = 0; k < s->op->count; k++, to += s->op->bytes) {
        const unsigned stride = register_stride(s, k);
        memcpy(to, s->w->file + s->op->slot[k] + s->lane * stride, s->op->bytes);
    }
}

// Whether a write that conflicts with an earlier one writes the value that is already there.
static bool is_same_value(const cj_watch_subject *s, const cj_accessor *a, const cj_access *earlier, uint64_t offset,
                          uint64_t bytes) {
    unsigned char        stored[STORED_BYTES];
    const unsigned       both = a->access.use.flags | earlier->use.flags;
    const unsigned char *there = s->owner ? s->owner->shared + offset : (unsigned char *)(uintptr_t)(s->begin + offset);
    if (both & (CJ_USE_READ | CJ_USE_INIT) || is_under_way(s, a, earlier)) return false;
    if ((a->access.use.flags ^ earlier->use.flags) & CJ_USE_ASYNC_PROXY) return false;
    if (!(a->access.use.flags & earlier->use.flags & CJ_USE_WRITE)) return false;
    if (s->written) return offset >= s->from && !memcmp(s->written + (offset - s->from), there, bytes);
    if (!s->address || (size_t)s->op->bytes * s->op->count > sizeof stored) return false;
    const uint64_t from = s->address[s->lane] - s->begin;
    stored_bytes(s, stored);
    return offset >= from && offset + bytes <= from + (uint64_t)s->op->bytes * s->op->count &&
           !memcmp(stored + (offset - from), there, bytes);
}

// Whether one access is the first load of a compare-and-swap loop, and the other an atomic access whose scope includes
// both threads.
static bool is_guess(const cj_watch_subject *s, const cj_accessor *a, const cj_access *earlier) {
    const cj_cpu_launch *launch = s->cluster->launch;
    const bool           is_late = launch->watch->order[a->access.op].is_guess;
    const cj_access     *load = is_late ? &a->access : earlier, *other = is_late ? earlier : &a->access;
    if (!launch->watch->order[load->op].is_guess || load->use.flags & CJ_USE_WRITE ||
        other->use.flags & CJ_USE_ASYNC_PROXY)
        return false;
    switch (other->use.scope) {
    case CJ_SCOPE_WEAK: return false;
    case CJ_SCOPE_CTA: return load->block == other->block;
    case CJ_SCOPE_CLUSTER: return load->block / a->ranks == other->block / a->ranks;
    case CJ_SCOPE_GPU: return cj__is_same_gpu(a, load->block, other->block);
    default: return true;
    }
}

cj_verdict cj__watch_judge(void *user, const cj_accessor *a, const cj_access *earlier, uint64_t offset,
                           uint64_t bytes) {
    const cj_watch_subject *s = user;
    const cj_watch_place    place = {s->owner, s->owner ? offset : s->begin + offset, bytes};
    if (!earlier && s->address && s->w) {
        const uint64_t at = offset - (s->address[s->lane] - s->begin);
        if (cj__undefined_read(s->w, s->op, s->lane, (unsigned)at, bytes, place)) return CJ_VERDICT_HARMLESS;
    }
    if (earlier && is_one_store(s, a, earlier)) return CJ_VERDICT_SAME;
    if (earlier && (is_guess(s, a, earlier) || is_same_value(s, a, earlier, offset, bytes))) {
        const bool guessed = is_guess(s, a, earlier);
        cj__cpu_note(s->cluster, guessed ? CJ_HAZARD_CAS_GUESS : CJ_HAZARD_SAME_VALUE, a, earlier, place);
        return CJ_VERDICT_HARMLESS;
    }
    cj__cpu_conflict(s->cluster, a, earlier, place);
    return CJ_VERDICT_REPORTED;
}
