// SPDX-License-Identifier: Apache-2.0
// form=radix: the k-th candidate, digit by digit, and then all that are not less than it.
//
// A candidate is a key above a place, the complement of the element's column, so that all differ. Digits of 11 bits are searched from
// the key's highest one on. Of a digit the candidates that agree in all higher ones are counted in bins; from the greatest bin
// down the counts are summed, and the bin that has the k-th candidate is its digit. The search ends as soon as all of this bin
// are among the first k. Only where keys are equal it goes on with digits of the place.
//
//   held[]   keys of the block's part of the row        shared; places of 16-byte accesses, a warp's in a line
//   bins[]   counts of a digit's 2048 values            shared; later the pool, of the k selected candidates
//   words[]  digit, needed, in the bin, selected; the warps' sums
//
// In a cluster each block holds a part of the row. Each sums the bins of all blocks, so that all find the same digit. In the
// end every block copies its selected candidates to rank 0's pool, after those of the ranks before it.
//
// Barriers; docs/maintaining/topk.md says why each is needed and enough:
//   R1  bar.sync           the bins are clear before anything is counted
//   R2  bar.sync           all have counted; in a cluster barrier.cluster, in all blocks
//   R3  bar.sync           the warps' sums are written
//   R4  bar.sync           the digit is found, and bins are clear again; in a cluster barrier.cluster: all blocks have read them
//   R5  bar.sync           in a cluster: the bins are clear again
//   R6  barrier.cluster    all blocks have selected
//   R7  barrier.cluster    rank 0's pool has all; the others may exit
#include "topk.h"

enum { AT_SELECTED = 12, AT_SUMS = 16, WORDS = 4 + TOPK_WARP, KEYS_MAX = 8, DIGITS = 1 << TOPK_DIGIT };

enum { LOADS = 8, LOAD_WORDS = 4 };  // in flight a thread; 32-bit words of a load, at most

typedef struct topk_radix {
    const topk_kernel *k;
    cj_func           *f;
    cj_reg             bins, held;  // addresses: of the bins, which are the pool, too; of the block's keys
    cj_reg             span;        // keys that the block holds, in whole lines
    cj_reg             from;        // the column of its first one
    cj_reg             words;       // address of what threads tell each other

    // The search: what is known of the k-th candidate. A value agrees with what is known if value ^ known <= open.
    cj_reg key;   // its key: the digits that are known, then zeros
    cj_reg flip;  // a column ^ flip is its place ^ what is known of the k-th's; no place is less up to column `flip`
    cj_reg shift, open;  // below the digit; mask of the digits that are not known
    cj_reg needed;       // candidates from those that agree
    cj_reg by_key;       // digits of the key are searched, not of the place
} topk_radix;

// Bytes of a key that is held: of 16-bit elements the upper half of what the others have.
static unsigned key_bytes(const topk_radix *r) { return r->k->s.bytes; }
static unsigned key_bits(const topk_radix *r) { return 8 * key_bytes(r); }

// ---- what the block has

static void clear_all_bins(const topk_radix *r) {
    cj_func *f = r->f;
    cj_reg   end = cj_add(f, "bins_end", r->bins, TOPK_BINS);
    CJ_STRIDE(f, at, cj_mad(f, "bins_at", r->k->thread, TOPK_HELD, r->bins), r->k->s.block * TOPK_HELD, end)
    cj_ptx(f, "st.shared.v4.u32 [$1], {0, 0, 0, 0};", at);
}

static void begin_words(topk_radix *r) {
    cj_func *f = r->f;
    cj_step(f, "the bins are clear, and nothing is selected");
    r->words = cj_shared_address(f, cj_shared(f, "u32", "words", WORDS, TOPK_HELD));
    r->bins = cj_mov(f, "u32", "bins", "pool");
    clear_all_bins(r);
    cj_reg first = cj_eq(f, "first_thread", r->k->thread, 0);
    cj_ptx(f, "@$1 st.shared.u32 [$2 + $3], 0;", first, r->words, (int)AT_SELECTED);
}

// Each block has as many lines of the row as the others.
static void begin_part(topk_radix *r) {
    const topk_shape *s = &r->k->s;
    cj_func          *f = r->f;
    const unsigned    line = TOPK_LINE / key_bytes(r), lines = line * (s->cluster ? s->cluster : 1);
    cj_step(f, "the block's part of the row: whole lines of %u keys", line);
    cj_reg above = cj_add(f, "above", r->k->columns, lines - 1);
    r->span = cj_mul(f, "span", cj_div(f, "lines", above, lines), line);
    r->from = s->cluster ? cj_mul(f, "from", r->k->rank, r->span) : cj_mov(f, "u32", "from", 0);
    r->held = cj_add(f, "held", r->bins, s->region);
}

static void begin_search(topk_radix *r) {
    cj_func *f = r->f;
    r->key = cj_mov(f, "u32", "least_key", 0);
    r->shift = cj_mov(f, "u32", "shift", key_bits(r) - TOPK_DIGIT);
    r->open = cj_mov(f, "u32", "open", key_bits(r) == 32 ? UINT32_MAX : UINT16_MAX);
    r->needed = cj_mov(f, "u32", "needed", r->k->s.k);
    r->by_key = cj_let(f, "pred", "by_key", "setp.eq.u32 $1, 0, 0;");
    const unsigned parts = r->k->s.cluster ? r->k->s.cluster : 1;
    cj_reg         last = cj_sub(f, "last", cj_mul(f, "places", r->span, parts), 1);
    cj_reg         bits = cj_sub(f, "no_bits", 31, cj_let(f, "u32", "last_bit", "bfind.u32 $1, $2;", last));
    r->flip = cj_let(f, "u32", "flip", "shr.u32 $1, 0xffffffff, $2; // of all columns", bits);
}

// ---- the row becomes keys in shared memory. Places after it have the least key, and columns after all others: they are counted, but no
// element comes after one of them.

// One more in the bin of `digit`.
static void count_digit(const topk_radix *r, cj_reg when, cj_reg digit) {
    cj_ptx(r->f, "@$1 red.shared.add.u32 [$2], 1;", when, cj_mad(r->f, "bin_at", digit, 4, r->bins));
}

// What a load leaves: words of two elements or one, each in the upper half if it is a single one of 16 bits.
static unsigned words_of(const topk_shape *s) { return s->width * s->bytes > 4 ? s->width * s->bytes / 4 : 1; }

typedef struct held_load {
    cj_reg position, inside;  // of the first element, in the block's part of the row; the row has it
    cj_reg word[LOAD_WORDS];
} held_load;

static held_load load(const topk_radix *r, cj_reg base, unsigned l) {
    const topk_shape *s = &r->k->s;
    cj_func          *f = r->f;
    held_load         v;
    v.position = cj_add(f, "position", base, l * s->block * s->width);
    cj_reg column = cj_add(f, "column", v.position, r->from);
    v.inside = cj_lt(f, "inside", column, r->k->columns);
    cj_reg at = cj_mad_wide(f, "at", column, s->bytes, r->k->base);
    for (unsigned w = 0; w < words_of(s); w++) v.word[w] = cj_mov(f, "b32", "word", 0);
    if (s->width * s->bytes >= 4) {
        cj__load(f, v.inside, cj__load_given_once(r->k->plan), "b32", v.word, words_of(s), at, 0);
        return v;
    }
    cj_reg half = cj_let(f, "b16", "half", "mov.b16 $1, 0;");
    cj__load(f, v.inside, cj__load_given_once(r->k->plan), "b16", &half, 1, at, 0);
    cj_ptx(f, "mov.b32 $1, {0, $2};", v.word[0], half);
    return v;
}

// The key of the element in the upper bits of `bits`, or the least one; its first digit is counted.
static cj_reg make_key(const topk_radix *r, const held_load *v, cj_reg there, cj_reg bits) {
    cj_reg key = cj_select(r->f, "u32", "held_key", v->inside, cj__topk_key_of_bits(r->k, bits), 0);
    count_digit(r, there, cj_shr(r->f, "digit", key, 32 - TOPK_DIGIT));
    return key;
}

// A word of keys, of the word of elements.
static cj_reg make_keys(const topk_radix *r, const held_load *v, cj_reg there, cj_reg word) {
    cj_func *f = r->f;
    if (r->k->s.bytes == 4) return make_key(r, v, there, word);
    if (r->k->s.width == 1) return cj_shr(f, "held_key", make_key(r, v, there, word), 16);
    cj_reg low = cj_shr(f, "low", make_key(r, v, there, cj_shl(f, "low_bits", word, 16)), 16);
    cj_reg high = make_key(r, v, there, cj_and(f, "high_bits", word, 0xffff0000));
    return cj_or(f, "keys", low, cj_and(f, "high", high, 0xffff0000));
}

static void hold(const topk_radix *r, const held_load *v) {
    const topk_shape *s = &r->k->s;
    cj_func          *f = r->f;
    cj_reg            there = cj_lt(f, "there", v->position, r->span), keys[LOAD_WORDS];
    for (unsigned w = 0; w < words_of(s); w++) keys[w] = make_keys(r, v, there, v->word[w]);
    cj_reg     at = cj_mad(f, "held_at", v->position, key_bytes(r), r->held);
    const bool half = s->width * s->bytes < 4;
    cj__store(f, there, "st.shared", half ? "u16" : "u32", keys, words_of(s), at, 0);
}

static void hold_row(const topk_radix *r) {
    const topk_shape *s = &r->k->s;
    cj_func          *f = r->f;
    held_load         v[LOADS];
    cj_step(f, "the row as keys, %u loads of %u elements a thread at once; the first digit of each is counted",
            s->loads, s->width);
    cj_reg base = cj_mov(f, "u32", "base", 0), own = cj_mul(f, "own_first", r->k->thread, s->width);
    CJ_COUNT_UNI(f, "next_keys", base, s->loads * s->block * s->width, r->span) {
        cj_reg first = cj_add(f, "first_position", base, own);
        for (unsigned l = 0; l < s->loads; l++) v[l] = load(r, first, l);
        cj_note(f, "all loads are on their way before the first is held");
        for (unsigned l = 0; l < s->loads; l++) hold(r, &v[l]);
    }
    cj_ptx(f, "bar.warp.sync 0xffffffff; // B11: lanes whose elements are out of bounds are with the others again");
}

// ---- the bin that has the k-th

typedef struct bins_of_thread {
    cj_reg   count[DIGITS / TOPK_WARP], sum, before;  // before: candidates in greater bins
    cj_reg   searches;                                // the thread has bins
    unsigned each, width;                             // of an access
} bins_of_thread;

// Adds the thread's bins of a block.
static void add_bins(const topk_radix *r, const bins_of_thread *b, cj_reg at, cj_reg rank) {
    cj_func *f = r->f;
    cj_reg   peer = cj_cluster_map_address(f, at, rank), part[4];
    for (unsigned i = 0; i < b->each; i += b->width) {
        for (unsigned j = 0; j < b->width; j++) part[j] = cj_mov(f, "u32", "part", 0);
        cj_dsmem_load(f, b->searches, "u32", part, b->width, peer, (int32_t)(4 * i));
        for (unsigned j = 0; j < b->width; j++) cj_update(f, b->count[i + j], "add", part[j]);
    }
}

// Of all blocks, in a loop that ptxas does not unroll.
static void add_bins_in_turn(const topk_radix *r, const bins_of_thread *b, cj_reg at) {
    cj_reg rank = cj_mov(r->f, "u32", "peer_rank", 0);
    cj_ptx(r->f, ".pragma \"nounroll\";");
    CJ_COUNT_UNI(r->f, "next_block", rank, 1, r->k->s.cluster) add_bins(r, b, at, rank);
}

// The thread's bins, `each` from `at` on, of all blocks: all at once, where registers have them.
static void read_bins(const topk_radix *r, bins_of_thread *b, cj_reg at) {
    enum { AT_ONCE = 8 };
    cj_func       *f = r->f;
    const unsigned blocks = r->k->s.cluster;
    for (unsigned i = 0; i < b->each; i++) b->count[i] = cj_mov(f, "u32", "count", 0);
    if (!blocks)
        for (unsigned i = 0; i < b->each; i += b->width)
            cj__load(f, b->searches, "ld.shared", "u32", &b->count[i], b->width, at, 4 * i);
    else if (b->each == 1 || blocks * b->each <= AT_ONCE)
        for (unsigned rank = 0; rank < blocks; rank++) add_bins(r, b, at, cj_mov(f, "u32", "peer_rank", rank));
    else
        add_bins_in_turn(r, b, at);
    b->sum = cj_mov(f, "u32", "sum", b->count[0]);
    for (unsigned i = 1; i < b->each; i++) cj_update(f, b->sum, "add", b->count[i]);
}

static void clear_bins(const topk_radix *r, const bins_of_thread *b, cj_reg at) {
    cj_reg       zero = cj_mov(r->f, "u32", "zero", 0);
    const cj_reg zeros[] = {zero, zero, zero, zero};
    for (unsigned i = 0; i < b->each; i += b->width)
        cj__store(r->f, b->searches, "st.shared", "u32", zeros, b->width, at, 4 * i);
}

// Sums over lanes, then over warps.
static void sum_before(const topk_radix *r, bins_of_thread *b) {
    cj_func        *f = r->f;
    const cj_prefix lanes = {.f = f, .combine = {.op = CJ_COMBINE_SUM, .type = "u32"}, .lane = r->k->lane};
    cj_reg          upto = cj_mov(f, "u32", "upto", b->sum), warp = cj_shr(f, "warp", r->k->thread, 5);
    cj__prefix_lanes(&lanes, upto, NULL, TOPK_WARP);
    cj_reg last = cj_eq(f, "last_lane", r->k->lane, TOPK_WARP - 1);
    cj_ptx(f, "@$1 st.shared.u32 [$2 + $3], $4;", last, cj_mad(f, "sum_at", warp, 4, r->words), (int)AT_SUMS, upto);
    cj_ptx(f, "bar.sync 0; // R3: the warps' sums are written");
    cj_reg earlier = cj_lt(f, "earlier", r->k->lane, warp), sum = cj_mov(f, "u32", "warp_sum", 0);
    cj_ptx(f, "@$1 ld.shared.u32 $2, [$3 + $4];", earlier, sum, cj_mad(f, "sum_at", r->k->lane, 4, r->words),
           (int)AT_SUMS);
    cj_warp_reduce(f, lanes.combine, sum, TOPK_WARP);
    b->before = cj_sub(f, "before", cj_add(f, "before", sum, upto), b->sum);
}

// The thread that has the k-th in one of its bins says which digit that is, how many are needed of it, and how many it has.
static void tell_digit(const topk_radix *r, const bins_of_thread *b, cj_reg first) {
    cj_func *f = r->f;
    cj_reg   finds = cj_lt(f, "finds", b->before, r->needed);
    cj_reg   reach = cj_add(f, "reach", b->before, b->sum);
    cj_ptx(f, "setp.ge.and.u32 $1, $2, $3, $1;", finds, reach, r->needed);
    CJ_IF(f, finds, "found_by_another") {
        cj_reg digit = cj_u32(f, "digit"), all = cj_u32(f, "in_bin");
        CJ_ONCE(f, walk, "bin_is_found") for (unsigned i = b->each; i--;) {
            cj_ptx(f, "add.u32 $1, $2, $3;", digit, first, i);
            cj_set(f, all, b->count[i]);
            if (!i) break;
            cj_reg upto = cj_add(f, "upto", b->before, all);
            cj_leave(&walk, cj_ge(f, "reaches", upto, r->needed));
            cj_set(f, b->before, upto);
        }
        cj_reg left = cj_sub(f, "left", r->needed, b->before);
        cj_ptx(f, "st.shared.v2.u32 [$1], {$2, $3};", r->words, digit, left);
        cj_ptx(f, "st.shared.u32 [$1 + 8], $2;", r->words, all);
    }
}

// The digit, above zeros; `needed` becomes how many are needed of those that have it. Returns how many do.
static cj_reg find_digit(const topk_radix *r, cj_reg digit) {
    cj_func       *f = r->f;
    const unsigned threads = 1u << cj__log2(r->k->s.block), each = DIGITS / threads;  // threads that have bins
    bins_of_thread b = {.each = each, .width = each < 4 ? each : 4, .searches = cj_always()};
    cj_step(f, "the bin that has the k-th candidate, from the greatest down");
    cj__sync(f, r->k->s.cluster, "R2: all blocks have counted", "R2: all threads have counted");
    if (threads < r->k->s.block) b.searches = cj_lt(f, "searches", r->k->thread, threads);
    cj_reg first = cj_mad(f, "first_digit", r->k->thread, -(int)b.each, cj_mov(f, "u32", "last", DIGITS - b.each));
    cj_reg at = cj_mad(f, "bins_at", first, 4, r->bins), all = cj_u32(f, "in_bin");
    read_bins(r, &b, at);
    if (!r->k->s.cluster) clear_bins(r, &b, at);
    sum_before(r, &b);
    tell_digit(r, &b, first);
    cj__sync(f, r->k->s.cluster, "R4: the digit is found, and all blocks have read the bins",
             "R4: the digit is found, the bins are clear");
    cj_ptx(f, "ld.shared.v2.u32 {$1, $2}, [$3];", digit, r->needed, r->words);
    cj_ptx(f, "ld.shared.u32 $1, [$2 + 8];", all, r->words);
    cj_update(f, digit, "shl", r->shift);
    return all;
}

// ---- what is held

static unsigned keys_of_load(const topk_radix *r) { return TOPK_HELD / key_bytes(r); }

static void load_keys(const topk_radix *r, cj_reg at, cj_reg *key) {
    cj_reg word[4];
    cj_registers(r->f, "u32", "held_word", 4, word);
    cj__load(r->f, cj_always(), "ld.shared", "u32", word, 4, at, 0);
    for (unsigned i = 0; i < keys_of_load(r); i++)
        key[i] = key_bytes(r) == 4 ? word[i]
                 : i % 2                ? cj_shr(r->f, "key", word[i / 2], 16)
                                        : cj_and(r->f, "key", word[i / 2], 0xffff);
}

// The column of the first key of a load.
static cj_reg column_of(const topk_radix *r, cj_reg at) {
    cj_reg offset = cj_sub(r->f, "held_offset", at, r->held);
    return cj_add(r->f, "column", cj_div(r->f, "held_number", offset, key_bytes(r)), r->from);
}

static cj_reg held_end(const topk_radix *r) { return cj_mad(r->f, "held_end", r->span, key_bytes(r), r->held); }

#define EACH_LOAD(r, at, end)                                                                                          \
    CJ_STRIDE((r)->f, at, cj_mad((r)->f, "held_at", (r)->k->thread, TOPK_HELD, (r)->held), (r)->k->s.block *TOPK_HELD, \
              end)

// Counts the digits of keys that agree with what is known of the k-th.
static void count_keys(const topk_radix *r) {
    cj_func *f = r->f;
    cj_reg   end = held_end(r);
    EACH_LOAD(r, at, end) {
        cj_reg key[KEYS_MAX];
        load_keys(r, at, key);
        for (unsigned i = 0; i < keys_of_load(r); i++) {
            cj_reg differs = cj_xor(f, "differs", key[i], r->key), agrees = cj_le(f, "agrees", differs, r->open);
            count_digit(r, agrees, cj_shr(f, "digit", differs, r->shift));
        }
    }
}

// Counts those of places, where the key is the k-th's.
static void count_places(const topk_radix *r) {
    cj_func *f = r->f;
    cj_reg   end = held_end(r);
    EACH_LOAD(r, at, end) {
        cj_reg key[KEYS_MAX], column = column_of(r, at);
        load_keys(r, at, key);
        for (unsigned i = 0; i < keys_of_load(r); i++) {
            cj_reg differs = cj_xor(f, "differs", i ? cj_add(f, "column", column, i) : column, r->flip);
            cj_reg agrees = cj_eq(f, "same_key", key[i], r->key);
            cj_ptx(f, "setp.le.and.u32 $1, $2, $3, $1;", agrees, differs, r->open);
            count_digit(r, agrees, cj_shr(f, "digit", differs, r->shift));
        }
    }
}

// The next digit: the key's, or the place's where the key is known.
static void next_digit(const topk_radix *r) {
    cj_func *f = r->f;
    cj_reg   known = cj_eq(f, "key_is_known", r->shift, 0), one = cj_mov(f, "u32", "one", 1);
    cj_ptx(f, "shl.b32 $1, $2, $3; sub.u32 $1, $1, 1;", r->open, one, r->shift);
    cj_set_if(f, known, r->open, r->flip);
    cj_reg bits = cj_let(f, "u32", "open_bits", "bfind.u32 $1, $2;", r->open);
    cj_ptx(f, "add.u32 $1, $2, 1; max.u32 $1, $1, $3; sub.u32 $1, $1, $3;", r->shift, bits, (int)TOPK_DIGIT);
    cj_ptx(f, "@$1 setp.ne.u32 $2, 0, 0;", known, r->by_key);
}

static void search(const topk_radix *r) {
    cj_func *f = r->f;
    CJ_LOOP_UNI(f, digits, "next_digit", "search_done") {
        cj_reg digit = cj_u32(f, "digit"), all = find_digit(r, digit);
        cj_ptx(f, "@$1 or.b32 $2, $2, $3;", r->by_key, r->key, digit);
        cj_ptx(f, "@!$1 xor.b32 $2, $2, $3;", r->by_key, r->flip, digit);
        cj_leave(&digits, cj_eq(f, "exact", all, r->needed));
        next_digit(r);
        if (r->k->s.cluster) {
            clear_all_bins(r);
            cj_ptx(f, "bar.sync 0; // R5: the bins are clear again");
        }
        CJ_IF_ELSE_UNI(f, r->by_key, "by_place", "digits_counted") { count_keys(r); }
        else { count_places(r); }
    }
}

// ---- what is selected

// Predicates: key i is not less than the k-th; returns whether any is.
static cj_reg compare(const topk_radix *r, const cj_reg *key, cj_reg column, cj_reg *stays) {
    cj_func *f = r->f;
    cj_reg   any = cj_let(f, "pred", "any", "setp.ne.u32 $1, 0, 0;");
    for (unsigned i = 0; i < keys_of_load(r); i++) {
        stays[i] = cj_le(f, "stays", i ? cj_add(f, "column", column, i) : column, r->flip);
        cj_ptx(f, "setp.eq.and.u32 $1, $2, $3, $1;", stays[i], key[i], r->key);
        cj_ptx(f, "setp.gt.or.u32 $1, $2, $3, $1;", stays[i], key[i], r->key);
        cj_update(f, any, "or", stays[i]);
    }
    return cj_let(f, "pred", "any", "vote.sync.any.pred $1, $2, 0xffffffff;", any);
}

// Those of a warp's loads that stay go to the next free places of the pool.
static void put(const topk_radix *r, const cj_reg *key, cj_reg column, const cj_reg *stays) {
    cj_func       *f = r->f;
    const unsigned count = keys_of_load(r);
    cj_reg ballot[KEYS_MAX], found[KEYS_MAX], all = cj_mov(f, "u32", "all", 0), taken = cj_mov(f, "u32", "taken", 0);
    for (unsigned i = 0; i < count; i++) {
        ballot[i] = cj_let(f, "b32", "ballot", "vote.sync.ballot.b32 $1, $2, 0xffffffff;", stays[i]);
        found[i] = cj_let(f, "u32", "found", "popc.b32 $1, $2;", ballot[i]);
        cj_update(f, all, "add", found[i]);
    }
    cj_reg first = cj_eq(f, "first_lane", r->k->lane, 0);
    cj_ptx(f, "@$1 atom.shared.add.u32 $2, [$3 + $4], $5;", first, taken, r->words, (int)AT_SELECTED, all);
    cj_reg begin = cj_let(f, "u32", "begin", "shfl.sync.idx.b32 $1, $2, 0, 31, 0xffffffff;", taken);
    for (unsigned i = 0; i < count; i++) {
        cj_reg before = cj_let(f, "u32", "before", "popc.b32 $1, $2;",
                               cj_and(f, "lanes_before", ballot[i], r->k->below));
        cj_reg at = cj_mad(f, "candidate_at", cj_add(f, "place", begin, before), TOPK_CANDIDATE, r->bins);
        cj_reg low = cj_let(f, "b32", "low", "not.b32 $1, $2;", i ? cj_add(f, "column", column, i) : column);
        cj_reg candidate = cj_let(f, "b64", "candidate", "mov.b64 $1, {$2, $3};", low, key[i]);
        cj_ptx(f, "@$1 st.shared.b64 [$2], $3;", stays[i], at, candidate);
        cj_update(f, begin, "add", found[i]);
    }
}

static void select_held(const topk_radix *r) {
    cj_step(r->f, "candidates that are not less than the k-th go to the pool");
    cj_reg end = held_end(r);
    EACH_LOAD(r, at, end) {
        cj_reg key[KEYS_MAX], stays[KEYS_MAX], column = column_of(r, at);
        load_keys(r, at, key);
        CJ_IF_UNI(r->f, compare(r, key, column, stays), "none_stays") { put(r, key, column, stays); }
    }
}

// Every rank's candidates go to rank 0, after those of the ranks before it, and the other ranks are done.
static void gather(const topk_radix *r) {
    const topk_shape *s = &r->k->s;
    cj_func          *f = r->f;
    cj_step(f, "cluster: what every rank has selected goes to rank 0");
    cj_cluster_sync(f, "R6: all blocks have selected");
    cj_reg selected = cj_add(f, "selected", r->words, AT_SELECTED), before = cj_mov(f, "u32", "before", 0);
    for (unsigned rank = 0; rank + 1 < s->cluster; rank++) {
        cj_reg peer = cj_cluster_map_address(f, selected, cj_mov(f, "u32", "peer_rank", rank));
        cj_reg part = cj_mov(f, "u32", "part", 0), earlier = cj_gt(f, "earlier", r->k->rank, rank);
        cj_dsmem_load(f, earlier, "u32", &part, 1, peer, 0);
        cj_update(f, before, "add", part);
    }
    cj_reg count = cj_let(f, "u32", "mine", "ld.shared.u32 $1, [$2];", selected);
    cj_reg is_0 = cj_eq(f, "rank_is_0", r->k->rank, 0);
    cj_set_if(f, is_0, count, 0);
    cj_reg pool = cj_cluster_map_address(f, r->bins, cj_mov(f, "u32", "rank_0", 0));
    pool = cj_mad(f, "peer", before, TOPK_CANDIDATE, pool);
    CJ_SHARE(f, i, "i", r->k->thread, 1, s->block, count) {
        cj_reg at = cj_mad(f, "from", i, TOPK_CANDIDATE, r->bins);
        cj_reg candidate = cj_let(f, "b64", "candidate", "ld.shared.b64 $1, [$2];", at);
        cj_dsmem_store(f, cj_always(), "b64", &candidate, 1, cj_mad(f, "to", i, TOPK_CANDIDATE, pool), 0);
    }
    cj_cluster_sync(f, "R7: rank 0's pool has all");
    CJ_UNLESS_UNI(f, is_0, "receive") { cj_ptx(f, "ret;"); }
}

void cj__topk_radix(topk_kernel *k) {
    topk_radix r = {.k = k, .f = k->f};
    begin_words(&r);
    begin_part(&r);
    begin_search(&r);
    cj_ptx(r.f, "bar.sync 0; // R1: the bins are clear");
    hold_row(&r);
    search(&r);
    select_held(&r);
    k->pool = r.bins;
    if (k->s.sorts) k->count = cj_mov(r.f, "u32", "candidates", k->s.k);
    if (k->s.cluster)
        gather(&r);
    else if (!k->s.sorts)  // the sort has B3 before it reads them
        cj_ptx(r.f, "bar.sync 0; // B5: the candidates are selected");
}
