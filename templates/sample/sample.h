// SPDX-License-Identifier: Apache-2.0
// The parts of sample. Each file calls only those before it: plan.c; number.c; pass.c; count.c; greatest.c; kept.c; part.c; tell.c; list.c;
// search.c; draw.c; sample.c, which has the algorithm.
#ifndef CJ_TEMPLATES_SAMPLE_H
#define CJ_TEMPLATES_SAMPLE_H

#include "kit.h"

// Parameters.
enum {
#define PARAM(id, ...) SAMPLE_##id,
#include "params.def"
};

// What was fitted to a GPU or to ptxas.
#include "constants.def"

// Values of a row, in the order of the kernel's arguments: of each an array with one a row, or 0, and one for all rows.
enum {
    SAMPLE_SET_TEMPERATURE,
    SAMPLE_SET_TOP_P,
    SAMPLE_SET_MIN_P,
    SAMPLE_SET_REPETITION,
    SAMPLE_SET_FREQUENCY,
    SAMPLE_SET_PRESENCE,
    SAMPLE_SET_TOP_K,
    SAMPLE_SET_SEED,
    SAMPLE_SET_OFFSET,
    SAMPLE_SETTINGS
};

// Lanes; elements of a load, groups of lanes whose greatest elements are compared, at most. A mass of 1 is 2^UNIT. told[]: a digit or the first threshold, the number of candidates, and what is left or the mass of k.
enum { SAMPLE_WARP = 32, SAMPLE_WIDTH = 8, SAMPLE_GROUPS = 128, SAMPLE_UNIT = 40 };

// A record of a warp in the draw, and a candidate in the list: 16 bytes.
enum { SAMPLE_RECORD = 16, SAMPLE_ENTRY = 16 };

// Counts of keys: bins of positive logits, the same of negative ones; bins of a thread, at most; what is told of them.
enum { SAMPLE_KEYS = 4096, SAMPLE_BINS = 16, SAMPLE_BINS_BYTES = 2 * 4 * SAMPLE_KEYS, SAMPLE_AT_FAILS = 16, SAMPLE_PARTS_MOST = 4 };

enum { SAMPLE_SHARE = 8, SAMPLE_EXPECTED = 64 };  // lanes that compare one candidate or group with all, at most; candidates that are expected
enum { SAMPLE_AT_COUNT = 4, SAMPLE_AT_TOTAL = 8 };

typedef struct sample_shape {
    cj_dtype dtype;
    unsigned bytes, width;            // of an element; elements of a load
    unsigned block, cluster, blocks;  // cluster 0: without; blocks: of a row
    unsigned warps, records;          // of a block; of a row
    unsigned share, group_share;      // lanes that compare one candidate, or one group, with all: so many that the block compares all at once
    unsigned lanes, groups;           // of a group whose greatest element is published; groups of the row
    unsigned flight;                  // loads of a thread at once
    bool     keeps;                   // these are all, and stay in registers
    unsigned digit;                   // bits of a digit in the search
    bool     counts;                  // top-p is found by counts of keys
    bool     pushes;                  // the masses of warps, by st.async: no launch of the kernel ends without them
    unsigned parts;                   // of a block's logits, of which each is counted for itself; 1: all are drawn from
    bool     top_k, top_p, min_p, mask, penalties;
    bool     lists, log_probability, distribution, draft;  // lists: top-k may end in the list
    bool     many;                    // values live at once, so threads need many registers
    unsigned top;                     // so many most probable tokens are told
} sample_shape;

// Vectors of each lane that are loaded at once: their words, and the greatest element of each.
typedef struct sample_batch {
    unsigned count;
    cj_reg   word[SAMPLE_FLIGHT][4], vector[SAMPLE_FLIGHT], column[SAMPLE_FLIGHT], best[SAMPLE_FLIGHT];
} sample_batch;

typedef struct sample_kernel {
    const cj_plan *plan;
    cj_func       *f;
    sample_shape   s;
    cj_var         x, tokens, array[SAMPLE_SETTINGS], all[SAMPLE_SETTINGS], mask_at, counts_at, columns_at, stride_at;
    cj_reg         thread, lane, warp, row, rank, record;  // record: the warp's number in its row
    cj_push        push;                                   // of the masses of warps
    cj_reg         vectors, each;                          // of the row; of a warp
    cj_reg         bins_at, counted;                       // counted: a predicate, the counts have said the last kept key
    cj_reg         base, columns, first, end;              // the row's address; the warp's vectors, in order
    cj_reg         mask, counts;                           // addresses of the row's
    cj_reg         given[SAMPLE_SETTINGS], repetition, frequency, presence;
    cj_reg         scale, most;  // log2 e / temperature; the greatest logit
    cj_reg         greedy;       // a predicate: the greatest is taken
    cj_reg         k;            // u32: 0 is none
    cj_reg         p, p_active;  // u32: p * 2^32; a predicate
    cj_reg         least_mass;   // u64, of min-p
    cj_reg         random;       // u64
    cj_reg least, ties, tie;     // kept: keys above `least`, and the first `ties` of those that equal it, of mass `tie`
    cj_reg guess, guessed;       // f32: at least k elements are not less; a predicate
    cj_var log_at, top_tokens_at, top_logs_at, distribution_at, draft_tokens_at, draft_p_at, accepted_at;
    cj_reg second, draft_row, residual;  // u64, random too; the draft's row; a predicate: the goal is of what the draft leaves
    sample_batch kept;           // if the shape says so
    cj_reg dropped, tied;        // f32: logits above `dropped` are kept, others that are not less than `tied` are ties
    cj_var maxima, codes, told, list, sums, bins, slices, records, upto, parts;  // shared memory
} sample_kernel;

// ---- plan.c
void      cj__sample_shape(const cj_plan *plan, sample_shape *s);
cj_status cj__sample_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);

// ---- number.c

// value / by. ptxas 13.0 divides by a power of two as by any number.
cj_reg cj__sample_quotient(const sample_kernel *k, const char *name, cj_reg value, unsigned by);

// Bits of a key that follow from the others: 16-bit logits do not have them, unless penalties change them.
unsigned cj__sample_low_bits(const sample_kernel *k);

// v, or the greatest number if that is less.
void cj__sample_cap(const sample_kernel *k, cj_reg v);
// v, or infinity if it is the greatest number.
void cj__sample_cap_up(const sample_kernel *k, cj_reg v);
// The row's values, on their way while the row is read.
void cj__sample_load_settings(sample_kernel *k);
void cj__sample_settings(sample_kernel *k);
// 64 bits of Philox.
void cj__sample_random(sample_kernel *k);
// f32: log2 of the mass's share of 2^40, from -64 to 0.
cj_reg cj__sample_exponent(const sample_kernel *k, cj_reg v);
// u64, of an exponent.
cj_reg cj__sample_mass(const sample_kernel *k, cj_reg exponent);
// u32, in the order of the logits.
cj_reg cj__sample_key(const sample_kernel *k, cj_reg v);
// The way back.
cj_reg cj__sample_value(const sample_kernel *k, cj_reg key);
// The least u64 that is not less than p times mass.
cj_reg cj__sample_share(const sample_kernel *k, cj_reg mass);
// From 0 to mass - 1, by the random number.
cj_reg cj__sample_goal(const sample_kernel *k, cj_reg mass);

// ---- pass.c

// Visits the warp's elements, a vector a lane, in the row's order; `v` are f32, -infinity beyond the row's end.
typedef void sample_visit(sample_kernel *k, const cj_reg *v, cj_reg column, void *own);
void         cj__sample_pass(sample_kernel *k, unsigned flight, sample_visit *visit, void *own);

// The same by batches of `flight` vectors a lane; values of one of its vectors; the greatest of each of its vectors.
typedef void sample_visit_batch(sample_kernel *k, sample_batch *b, void *own);
void         cj__sample_batches(sample_kernel *k, unsigned flight, sample_visit_batch *visit, void *own);
void         cj__sample_values(sample_kernel *k, const sample_batch *b, unsigned i, cj_reg *v);
void         cj__sample_best(sample_kernel *k, sample_batch *b);
// Loads those that stay in registers.
void cj__sample_keep(sample_kernel *k);

// One vector of each lane: `vector` is its number.
void cj__sample_load(sample_kernel *k, cj_reg vector, cj_reg *v, cj_reg *column);

// Over the lanes that compare one candidate, in each of them.
void cj__sample_add_up(const sample_kernel *k, unsigned lanes, const char *type, cj_reg value);

// Of the blocks of a row.
void cj__sample_sync(const sample_kernel *k, const char *why);
void   cj__sample_push(const sample_kernel *k, cj_reg when, const char *type, const cj_reg *value, unsigned count,
                       cj_reg at);  // to all blocks of the row
cj_reg cj__sample_peer(const sample_kernel *k, cj_reg at, unsigned rank);

// The same of a value that so many lanes have: each of them writes it to another block. And to which: `at` there, if the lane writes.
typedef struct sample_target {
    cj_reg writes, rank, at;
} sample_target;
sample_target cj__sample_target(const sample_kernel *k, unsigned lanes, cj_reg at);
void          cj__sample_spread(const sample_kernel *k, unsigned lanes, const char *type, const cj_reg *value, unsigned count, cj_reg at);
// Over the warp, in all lanes.
cj_reg cj__sample_sum(const sample_kernel *k, const char *type, cj_reg value);

// ---- count.c
void cj__sample_count_clear(sample_kernel *k);
// Counts the keys of a vector.
void cj__sample_count(const sample_kernel *k, cj_reg table, const cj_reg *v);
// Where 0 of the warp's part is counted.
cj_reg cj__sample_count_table(const sample_kernel *k);
// f32: the bin's logit, 0 of the middle one.
cj_reg cj__sample_count_value(const sample_kernel *k, cj_reg bin);
// The mass of a logit of the bin; `fails` where the bin does not say it. Threads with `fails` tell all blocks so.
cj_reg cj__sample_count_mass(const sample_kernel *k, cj_reg bin, cj_reg fails);
void   cj__sample_count_fails(const sample_kernel *k, cj_reg fails);

// ---- greatest.c, list.c, search.c, draw.c
void cj__sample_greatest(sample_kernel *k);
void cj__sample_list(sample_kernel *k);
void cj__sample_search(sample_kernel *k);
void cj__sample_draw(sample_kernel *k);

// ---- kept.c

typedef struct sample_sums {
    cj_reg mass, ties;  // u64, u32
} sample_sums;

// The limits of what is kept, as logits.
void cj__sample_limits(sample_kernel *k);

// The mass of an element, and whether it is kept and no tie: `equal` says that it is one, and `ties` counts it.
cj_reg cj__sample_kept(sample_kernel *k, cj_reg v, cj_reg ties, cj_reg *equal, cj_reg *kept);

// The kept masses of a vector a lane, with the first ties of the row; `seen` are the ties before it, and then also its own.
void cj__sample_weigh(sample_kernel *k, const cj_reg *v, cj_reg seen, cj_reg *weight);

// Visits the warp's kept masses, a vector a lane, in the row's order; `ties` are those of the warps before it.
typedef void sample_kept(sample_kernel *k, const cj_reg *v, const cj_reg *weight, cj_reg column, cj_reg inside, void *own);
void         cj__sample_walk(sample_kernel *k, cj_reg ties, sample_kept *visit, void *own);


// The sums of `count` records, and of those before record `own`.
void cj__sample_gather(const sample_kernel *k, cj_reg table, unsigned count, cj_reg own, sample_sums *all, sample_sums *before);

// mass + ties * tie, where of all ties so many are the first that are kept.
cj_reg cj__sample_with_ties(const sample_kernel *k, const char *name, cj_reg mass, cj_reg ties);

// ---- part.c

typedef struct sample_part {
    cj_reg      all, goal;       // the row's mass, the goal
    cj_reg      number, failed;  // u32; a predicate: the counts do not say it
    sample_sums before;          // what is kept before the part, without ties, and all ties before it
} sample_part;

// The part that has the goal. The warps' vectors become those of a part; whether it is one of this block's.
sample_part cj__sample_part(sample_kernel *k);
cj_reg      cj__sample_narrow(sample_kernel *k, const sample_part *part);

// ---- tell.c. `mass` is the row's kept mass.

// The token, and its log-probability if that is asked for; `v` is its logit, or none: there is no token.
void cj__sample_tell(const sample_kernel *k, cj_reg when, cj_reg token, cj_reg v, cj_reg mass);
// The most probable tokens: all by passes over the row; or slot by slot, after all were cleared.
void cj__sample_top(sample_kernel *k, cj_reg mass);
void cj__sample_top_clear(const sample_kernel *k);
void cj__sample_top_put(const sample_kernel *k, cj_reg when, cj_reg slot, cj_reg token, cj_reg v, cj_reg mass);
void cj__sample_distribution(sample_kernel *k, cj_reg mass, cj_reg ties);
// Whether the draft's token is taken; else the goal and the warp's interval become those of what the draft leaves.
cj_reg cj__sample_draft(sample_kernel *k, cj_reg mass, cj_reg ties, cj_reg *goal, cj_reg *begin, cj_reg *end);
// weight -= what the draft has, as far as there is so much; share: NULL, or what the draft has.
void cj__sample_rest(sample_kernel *k, cj_reg *weight, cj_reg column, cj_reg inside, cj_reg mass, cj_reg *share);

#endif
