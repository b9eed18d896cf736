// SPDX-License-Identifier: Apache-2.0
// The stream form: persistent clusters, or blocks without clusters, work on row after row. One warp a block is the
// producer: by bulk copies into stages of shared memory, ahead of the consumer warps.
//
//   rank 0's producer  --counter, st.async-->  taken_row[stages + 1] of every rank   the row's number
//   each producer      --bulk copy----------->  stage[stages]        (its block)      the block's piece of the row
//   consumers          --ld.shared----------->  registers, and the stage is free for the next row
//   each warp          --st.async------------>  slots[2][ranks * warps] of every rank its partial
//   consumers          --st.global----------->  what is written
//   each producer      --bulk copy, once----->  resident                              the block's weight, bias or mask
//
// A block that is a cluster by itself has no peers: its warps store their partials, and the consumers have a barrier.
// With cluster=0 there are no clusters at all: the blocks take rows from the work counter. With sums over rows (sums.c)
// rows are dealt: there is no counter, and registers have the sums. If the block's share is more than one piece, the first
// is held in registers and the others stay in their stages until they have been written from; without anything to be
// written they just pass. docs/maintaining/rows.md has the proofs of the barriers:
//
//   S1  barrier.cluster (bar.sync without): a block's memory may be written once it has started, and its mbarriers are there
//   S2  the barrier of a stage's number: consumers arrive when they have read it; the producer waits before the next copy
//   S3  row_full[]: the row's number is there
//   S4  full[stage]: the bytes of the piece have arrived
//   S5  partials_full[turn]: every partial of the row has arrived (bar.sync of the consumers without peers)
//   S6  resident: weight, bias or mask has arrived; it is never written again
#ifndef CJ_TEMPLATES_ROW_STREAM_H
#define CJ_TEMPLATES_ROW_STREAM_H

#include "engine.h"

typedef struct row_stream {
    row_kernel *k;
    cj_stages   stages;
    cj_reg      row_full, taken_row, partials_full, slots, resident;  // addresses in shared memory
    cj_reg      rows, leads;                                          // leads: lane 0 of each warp
    cj_reg      piece;                                                // the block's first, in the row
    unsigned    taken;  // rows whose numbers shared memory has; 0: rows are dealt
    uint64_t    vector_bytes;

    // Of the role that is being written.
    cj_ring            stage, next;  // next: of taken rows
    cj_static_schedule dealt;
    cj_reg             counter, share[ROW_INPUTS], policy[ROW_INPUTS], bytes[ROW_PIECES_MAX];  // the producer's
    cj_ring            turn;                // consumers': of exchanges
    cj_reg             slot, gate, pushes;  // where the warp's partial goes: lane r's to rank r
    cj_reg             expects;             // the block's thread that expects the partials of a row
} row_stream;

// One block to a cluster, or no clusters: partials stay in its own shared memory, and no peer's address is needed.
static inline bool cj__row_is_alone(const row_stream *t) { return t->k->s->cluster <= 1; }

// Where the next row's number is, and the mbarrier that says so.
static inline cj_reg cj__row_taken_at(const row_stream *t) {
    return cj__ring_at(t->k->f, "taken_row_at", t->taken_row, &t->next, 4);
}

static inline cj_reg cj__row_full_at(const row_stream *t) {
    return cj__ring_at(t->k->f, "row_full_at", t->row_full, &t->next, 8);
}

// Each warp counts dealt rows by itself.
static inline cj_static_schedule cj__row_deal(row_kernel *k) {
    const cj_static_schedule dealt = cj__static_begin(k->f, k->s->cluster);
    k->row = dealt.next;
    return dealt;
}

// The block's share of weight, bias and mask stays after the stages.
static inline uint64_t cj__row_resident_offset(const row_stream *t, unsigned number) {
    const row_shape *s = t->k->s;
    return s->stages * t->stages.bytes + number * s->piece * s->pieces * t->vector_bytes;
}

void cj__row_produce(row_stream *t, cj_label done);
void cj__row_consume(row_stream *t, cj_label done);

#endif
