// SPDX-License-Identifier: Apache-2.0
#include "mbarrier.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "hazard.h"

enum { CAPACITY_FIRST = 64, DESCRIBED_MAX = 4 };

static cj_cpu_mbarriers *mbarriers_of(const cj_cpu_block *block) { return block->cluster->mbarriers; }

// ---- the table

void cj__cpu_mbarriers_clear(cj_cpu_mbarriers *mbarriers) {
    for (size_t i = 0; i < mbarriers->capacity; i++) cj__sync_free(&mbarriers->slot[i].sync);
    if (mbarriers->count) memset(mbarriers->slot, 0, mbarriers->capacity * sizeof *mbarriers->slot);
    mbarriers->count = 0;
}

void cj__cpu_mbarriers_free(cj_cpu_mbarriers *mbarriers) {
    cj__cpu_mbarriers_clear(mbarriers);
    cj__free(mbarriers->slot);
}

// The slot of the mbarrier at a place, or the empty slot where it would be added. Blocks mostly have theirs at the same
// offsets, side by side: the multiplication (by 2^32 over the golden ratio) keeps them apart.
static cj_cpu_mbarrier *slot_of(const cj_cpu_mbarriers *mbarriers, const cj_cpu_block *block, uint32_t offset) {
    const uint32_t place = offset / CJ_MBARRIER_BYTES * CJ_CLUSTER_MAX + block->rank;
    for (size_t i = (place * UINT32_C(2654435769)) >> 8;; i++) {
        cj_cpu_mbarrier *m = &mbarriers->slot[i & (mbarriers->capacity - 1)];
        if (!m->block || (m->block == block && m->offset == offset)) return m;
    }
}

static bool enlarge(cj_cpu_mbarriers *mbarriers) {
    const cj_cpu_mbarriers old = *mbarriers;
    mbarriers->capacity = old.capacity ? 2 * old.capacity : CAPACITY_FIRST;
    mbarriers->slot = cj__calloc(mbarriers->capacity, sizeof *mbarriers->slot);
    if (!mbarriers->slot) {
        *mbarriers = old;
        return false;
    }
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.slot[i].block) *slot_of(mbarriers, old.slot[i].block, old.slot[i].offset) = old.slot[i];
    }
    cj__free(old.slot);
    mbarriers->inits++;
    return true;
}

// The slot for a place, which is added if there is none; NULL when out of memory.
static cj_cpu_mbarrier *make_slot(cj_cpu_mbarriers *mbarriers, const cj_cpu_block *block, uint32_t offset) {
    if (2 * mbarriers->count >= mbarriers->capacity && !enlarge(mbarriers)) return NULL;
    cj_cpu_mbarrier *m = slot_of(mbarriers, block, offset);
    mbarriers->count += !m->block;
    m->block = block;
    m->offset = offset;
    return m;
}

cj_cpu_flight *cj__cpu_mbarrier_flight(const cj_cpu_block *block, uint32_t offset) {
    cj_cpu_mbarrier *m = make_slot(mbarriers_of(block), block, offset);
    return m ? &m->flight : NULL;
}

// ---- init and inval

static void show(const cj_cpu_mbarrier *m) {
    const uint64_t state = cj__cpu_mbarrier_state(m);
    memcpy(m->block->shared + m->offset, &state, sizeof state);
    mbarriers_of(m->block)->changes++;
}

// Whether only mbarrier instructions have written its memory.
static bool is_intact(const cj_cpu_mbarrier *m) {
    const uint64_t state = cj__cpu_mbarrier_state(m);
    return !memcmp(m->block->shared + m->offset, &state, sizeof state);
}

static bool hazard(cj_cpu_actor actor, cj_cpu_rule rule, const cj_cpu_spot *at, const char *what, uint32_t line) {
    const cj_cpu_launch *launch = actor.w->block->cluster->launch;
    char                 where[sizeof(cj_hazard_line) + 2] = "";
    if (line) snprintf(where, sizeof where, ", %s", cj__hazard_line(launch, line).text);
    cj__cpu_hazard(actor.w, actor.op, actor.lane, rule, "the mbarrier at shared address 0x%" PRIx64 " of rank %u %s%s",
                   at->address, at->block->rank, what, where);
    return false;
}

bool cj__cpu_mbarrier_init(cj_cpu_actor actor, const cj_cpu_spot *at, uint32_t count) {
    cj_cpu_mbarriers *mbarriers = mbarriers_of(at->block);
    if (!count || count > CJ_MBARRIER_COUNT_MAX) {
        cj__cpu_hazard(actor.w, actor.op, actor.lane, CJ_HAZARD_MBARRIER_COUNT,
                       "an mbarrier for %u arrivals; 1 to %d it takes", count, CJ_MBARRIER_COUNT_MAX);
        return false;
    }
    cj_cpu_mbarrier *m = make_slot(mbarriers, at->block, (uint32_t)at->address);
    if (!m) {
        at->block->cluster->status = CJ_OUT_OF_MEMORY;
        return false;
    }
    if (m->life == CJ_MBARRIER_LIVES && is_intact(m))
        return hazard(actor, CJ_HAZARD_MBARRIER_TWICE, at, "is initialized and in use since", m->line);
    cj__sync_free(&m->sync);
    *m = (cj_cpu_mbarrier){.block = at->block,
                           .offset = (uint32_t)at->address,
                           .life = CJ_MBARRIER_LIVES,
                           .expected = count,
                           .pending = count,
                           .line = actor.op->line,
                           .flight = m->flight};
    mbarriers->flips++;
    mbarriers->inits++;
    show(m);
    return true;
}

cj_cpu_mbarrier *cj__cpu_mbarrier_at(cj_cpu_actor actor, const cj_cpu_spot *at) {
    static const char *const missing[] = {
        [CJ_MBARRIER_NEVER] = "has not been initialized",
        [CJ_MBARRIER_INVALID] = "has been invalidated",
    };
    const cj_cpu_mbarriers    *mbarriers = mbarriers_of(at->block);
    cj_cpu_mbarrier           *m = mbarriers->capacity ? slot_of(mbarriers, at->block, (uint32_t)at->address) : NULL;
    const cj_cpu_mbarrier_life life = m ? m->life : CJ_MBARRIER_NEVER;
    if (life == CJ_MBARRIER_LIVES && is_intact(m)) return m;
    if (life == CJ_MBARRIER_LIVES)
        hazard(actor, CJ_HAZARD_MBARRIER_OVERWRITTEN, at, "has been overwritten since it was initialized", m->line);
    else
        hazard(actor, CJ_HAZARD_NO_MBARRIER, at, missing[life], m ? m->line : 0);
    return NULL;
}

const cj_cpu_mbarrier *cj__cpu_mbarrier_find(const cj_cpu_block *block, uint32_t offset) {
    const cj_cpu_mbarriers *mbarriers = mbarriers_of(block);
    const cj_cpu_mbarrier  *m = mbarriers->capacity ? slot_of(mbarriers, block, offset) : NULL;
    return m && m->life == CJ_MBARRIER_LIVES ? m : NULL;
}

bool cj__cpu_mbarrier_inval(cj_cpu_actor actor, const cj_cpu_spot *at) {
    cj_cpu_mbarrier *m = cj__cpu_mbarrier_at(actor, at);
    if (!m) return false;
    cj__sync_free(&m->sync);
    m->life = CJ_MBARRIER_INVALID;
    mbarriers_of(at->block)->flips++;
    mbarriers_of(at->block)->inits++;
    m->line = actor.op->line;
    return true;
}

// ---- counting

static void complete_if_full(cj_cpu_mbarrier *m) {
    if (!m->pending && !m->bytes) {
        m->phase = (m->phase + 1) & ((1u << CJ_MBARRIER_PHASE_BITS) - 1);
        m->pending = m->expected;
        m->asked = 0;
        cj__sync_flip(&m->sync);
        mbarriers_of(m->block)->flips++;
    }
    show(m);
}

bool cj__cpu_mbarrier_arrive(cj_cpu_actor actor, cj_cpu_mbarrier *m, uint32_t count, bool leaves) {
    if (!count || count > m->pending) {
        cj__cpu_hazard(actor.w, actor.op, actor.lane, CJ_HAZARD_MBARRIER_COUNT,
                       "%u arrivals at once, where the phase waits for %u of %u", count, m->pending, m->expected);
        return false;
    }
    m->pending -= count;
    if (leaves) m->expected -= count;
    complete_if_full(m);
    return true;
}

bool cj__cpu_mbarrier_join(cj_cpu_actor actor, cj_cpu_mbarrier *m) {
    if (m->pending == CJ_MBARRIER_COUNT_MAX) {
        cj__cpu_hazard(actor.w, actor.op, actor.lane, CJ_HAZARD_MBARRIER_COUNT,
                       "the phase waits for %u arrivals already", m->pending);
        return false;
    }
    m->pending++;
    show(m);
    return true;
}

bool cj__cpu_mbarrier_transact(cj_cpu_actor actor, cj_cpu_mbarrier *m, int64_t bytes) {
    const int64_t total = m->bytes + bytes;
    if (total < -CJ_MBARRIER_COUNT_MAX || total > CJ_MBARRIER_COUNT_MAX) {
        cj__cpu_hazard(actor.w, actor.op, actor.lane, CJ_HAZARD_TRANSACTION_COUNT,
                       "the transaction count of an mbarrier becomes %lld; it goes from -%d to %d", (long long)total,
                       CJ_MBARRIER_COUNT_MAX, CJ_MBARRIER_COUNT_MAX);
        return false;
    }
    m->bytes = (int32_t)total;
    if (bytes >= 0) {
        m->asked += (uint32_t)bytes;
        m->asker = actor;
    } else {
        m->bringer = actor;
    }
    complete_if_full(m);
    return true;
}

// ---- phases whose bytes do not add up

// Some bytes have arrived, and the thread that expects some is known.
static void blame(const cj_cpu_mbarrier *m) {
    const cj_cpu_launch *launch = m->block->cluster->launch;
    const cj_cpu_actor   at = m->asker;
    const cj_hazard_line by = cj__hazard_line(launch, m->bringer.op->line);
    if (m->bytes < 0) {
        cj__cpu_hazard(at.w, at.op, at.lane, CJ_HAZARD_TRANSACTION_COUNT,
                       "%d bytes more than it expects have arrived at the mbarrier at shared address 0x%x of rank %u, "
                       "the last by %s",
                       -m->bytes, m->offset, m->block->rank, by.text);
    } else {
        cj__cpu_hazard(at.w, at.op, at.lane, CJ_HAZARD_TRANSACTION_COUNT,
                       "%d of %u expected bytes never arrive at the mbarrier at shared address 0x%x of rank %u, the "
                       "others by %s",
                       m->bytes, m->asked, m->offset, m->block->rank, by.text);
    }
}

// A phase of which no byte has arrived says nothing: what should send the bytes may itself be stuck.
void cj__cpu_mbarriers_blame(const cj_cpu_block *block) {
    const cj_cpu_mbarriers *mbarriers = mbarriers_of(block);
    for (size_t i = 0; i < mbarriers->capacity; i++) {
        const cj_cpu_mbarrier *m = &mbarriers->slot[i];
        if (m->life != CJ_MBARRIER_LIVES || m->block != block || !m->asker.op || !m->bringer.op) continue;
        if (m->bytes < 0 || (m->bytes > 0 && (uint32_t)m->bytes < m->asked)) blame(m);
    }
}

void cj__cpu_mbarriers_settle(const cj_cpu_block *block) {
    const cj_cpu_mbarriers *mbarriers = mbarriers_of(block);
    for (size_t i = 0; i < mbarriers->capacity; i++) {
        const cj_cpu_mbarrier *m = &mbarriers->slot[i];
        if (m->life == CJ_MBARRIER_LIVES && m->block == block && m->asker.op && m->bringer.op && m->bytes < 0) blame(m);
    }
}

// ---- deadlock

void cj__cpu_mbarriers_describe(cj_text *text, const cj_cpu_block *block) {
    const cj_cpu_mbarriers *mbarriers = mbarriers_of(block);
    unsigned                described = 0;
    for (size_t i = 0; i < mbarriers->capacity; i++) {
        const cj_cpu_mbarrier *m = &mbarriers->slot[i];
        if (m->life != CJ_MBARRIER_LIVES || m->block != block) continue;
        if (m->pending == m->expected && !m->bytes && m->phase) continue;  // no thread has arrived yet: between phases
        if (described++ == DESCRIBED_MAX) break;
        cj__text_printf(text, ", mbarrier at 0x%x (%s) in phase %u lacks %u of %u arrivals and %d bytes", m->offset,
                        cj__hazard_line(block->cluster->launch, m->line).text, m->phase, m->pending, m->expected,
                        m->bytes);
    }
}
