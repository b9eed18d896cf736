// SPDX-License-Identifier: Apache-2.0
// Where items go. A warp takes its items in their order, a load of 32 at a time: lanes with the same digit find each other, and
// the last of them adds their number to the warp's count of the digit. What was there before, and the lanes before, are the
// item's place among the warp's. Then the counts are summed up: over digits and warps, and in a cluster over ranks.
//
//   counts[warp][digit]   at first numbers of items, then what comes before the warp's first item of the digit
//   table[rank][digit]    in a cluster: where the digit's items start in the tile of each block, and how many it has
//   offsets[digit]        in a cluster and in a grid: from a place in the tile to the place in the row
#include "sort.h"

enum { BATCH = 8 };  // counts that a thread reads at once

void cj__sort_sync(const sort_kernel *k, const char *why) {
    cj_ptx(k->f, k->s.form == SORT_BY_WARP ? "bar.warp.sync 0xffffffff; // $1" : "bar.sync 0; // $1", why);
}

static void warp_sync(const sort_kernel *k, const char *why) { cj_ptx(k->f, "bar.warp.sync 0xffffffff; // $1", why); }

// ---- a warp

static void clear_own_counts(const sort_kernel *k) {
    cj_reg         zero = cj_mov(k->f, "u32", "zero", 0);
    const cj_reg   zeros[] = {zero, zero, zero, zero};
    const unsigned words = sort_warp_bytes(&k->s) / 4, width = words < 4 * SORT_WARP ? 1 : 4;
    cj_reg         at = cj_mad(k->f, "clear_at", k->lane, 4 * width, k->own_counts);
    for (unsigned i = 0; i < words; i += width * SORT_WARP) {
        cj__store(k->f, cj_always(), "st.shared", "u32", zeros, width, at, 4 * i);
    }
    warp_sync(k, "W1: the warp's counts are clear");
}

// A digit that is a byte of the key is taken by one prmt; bfe with a shift in a register is four instructions of sm_90, a shift
// and a mask are two.
static bool is_byte(const sort_shape *s) { return s->digit == 8 && s->bits <= 32; }

void cj__sort_take_digit(sort_kernel *k, cj_reg shift) {
    k->shift = shift;
    if (is_byte(&k->s)) k->byte = cj_let(k->f, "u32", "byte", "shr.u32 $1, $2, 3;\nor.b32 $1, $1, 0x4440; // and zeros", shift);
}

cj_reg cj__sort_digit(const sort_kernel *k, unsigned item) {
    cj_func *f = k->f;
    if (is_byte(&k->s)) return cj_let(f, "u32", "digit", "prmt.b32 $1, $2, 0, $3;", k->key[item], k->byte);
    cj_reg rest = cj_shr(f, "rest", k->key[item], k->shift);
    if (strcmp(k->s.type, "u32")) rest = cj_cvt(f, "u32", "rest", rest);
    return cj_and(f, "digit", rest, k->s.bins - 1);
}

cj_reg cj__sort_count(const sort_kernel *k, const char *name, cj_reg at) {
    return cj_let(k->f, "u32", name, "ld.shared.$2 $1, [$3];", sort_type(k->s.count_bytes), at);
}

// The lanes that agree in a bit of the digit. The complement is -1 * lanes - 1, with a -1 that ptxas does not know: a multiply-add has
// a pipe of its own, and the logic's pipe limits a pass (docs/maintaining/sort.md).
static cj_reg agree(const sort_kernel *k, cj_reg digit, unsigned bit) {
    cj_func *f = k->f;
    cj_reg   is_set = cj_ne(f, "is_set", cj_and(f, "bit", digit, 1 << bit), 0);
    cj_reg   lanes = cj_let(f, "u32", "lanes", "vote.sync.ballot.b32 $1, $2, 0xffffffff;", is_set);
    cj_ptx(f, "@!$1 mad.lo.u32 $2, $2, $3, $3; // not", is_set, lanes, k->all);
    return lanes;
}

// The lanes that have the same digit. 0x80 of lop3 is the and of three.
static cj_reg match(const sort_kernel *k, cj_reg digit) {
    if (!k->s.ballots) return cj_let(k->f, "b32", "same", "match.any.sync.b32 $1, $2, 0xffffffff;", digit);
    cj_reg   same = agree(k, digit, 0);
    unsigned bit = 1;
    for (; bit + 1 < k->s.digit; bit += 2) {
        cj_reg one = agree(k, digit, bit), other = agree(k, digit, bit + 1);
        cj_ptx(k->f, "lop3.b32 $1, $1, $2, $3, 0x80;", same, one, other);
    }
    if (bit < k->s.digit) cj_ptx(k->f, "and.b32 $1, $1, $2;", same, agree(k, digit, bit));
    return same;
}

// A warp has fewer than 2^16 items: where registers are few, two places share one.
void cj__sort_keep_place(const sort_kernel *k, unsigned item, cj_reg place) {
    if (!k->s.paired)
        cj_set(k->f, k->place[item], place);
    else if (item % 2)
        cj_ptx(k->f, "mad.lo.u32 $1, $2, 0x10000, $1;", k->place[item / 2], place);
    else
        cj_set(k->f, k->place[item / 2], place);
}

cj_reg cj__sort_place(const sort_kernel *k, unsigned item) {
    if (!k->s.paired) return k->place[item];
    return item % 2 ? cj_shr(k->f, "in_warp", k->place[item / 2], 16)
                    : cj_and(k->f, "in_warp", k->place[item / 2], 0xffff);
}

static void rank_item(const sort_kernel *k, unsigned i) {
    cj_func *f = k->f;
    cj_reg   digit = cj__sort_digit(k, i), at = cj_mad(f, "count_at", digit, k->s.count_bytes, k->own_counts), same = match(k, digit);
    cj_reg   place = cj__sort_count(k, "place", at);
    cj_reg   before = cj_let(f, "u32", "before", "popc.b32 $1, $2;", cj_let(f, "b32", "earlier", "and.b32 $1, $2, $3;", same, k->below));
    cj_update(f, place, "add", before);
    cj_reg is_last = cj_eq(f, "is_last", cj_let(f, "u32", "later", "and.b32 $1, $2, $3;", same, k->above), 0);
    cj_reg count = cj_add(f, "count", place, 1);
    cj__sort_keep_place(k, i, place);
    warp_sync(k, "W2: all lanes have read the counts");
    cj_ptx(f, "@$1 st.shared.$2 [$3], $4;", is_last, sort_type(k->s.count_bytes), at, count);
    if (i + 1 < k->s.items) warp_sync(k, "W3: the counts have this load's items");  // S1 follows the last
}

void cj__sort_rank(const sort_kernel *k) {
    cj_step(k->f, "places among the warp's items of the same digit");
    clear_own_counts(k);
    cj__sort_each_load(k, rank_item);
}

// The lanes of a load have places side by side, so all of a warp leave where the row ends.
void cj__sort_each_load(const sort_kernel *k, void (*body)(const sort_kernel *k, unsigned item)) {
    cj_func *f = k->f;
    if (!k->s.skips) {
        for (unsigned i = 0; i < k->s.items; i++) body(k, i);
        return;
    }
    cj_reg left = cj_sub(f, "left", cj_add(f, "upto", k->columns, k->lane), k->first);
    CJ_ONCE_UNI(f, loads, "row_ends") {
        for (unsigned i = 0; i < k->s.items; i++) {
            cj_leave(&loads, cj_let(f, "pred", "is_after", "setp.le.s32 $1, $2, $3;", left, (int)(SORT_WARP * i)));
            body(k, i);
        }
    }
}

// ---- bins

// A word of counts has one count, or two of 16 bits, which are added up side by side: no sum of a tile has more bits.
typedef struct bins {
    cj_reg   searches, at, wide_at;          // the thread has bins; addresses: the first's count of warp 0; the same where bins have 4 bytes
    cj_reg   total[SORT_ITEMS_MAX], before;  // items of each bin; of bins before the first one
    unsigned each, width, words;             // bins; of an access with 4 bytes a bin; words of counts
} bins;

static unsigned at_once(const bins *b) { return b->words > BATCH ? 1 : BATCH / b->words; }

// Words of counts of `warps` warps from `warp` on, of the thread's bins.
static void read_counts(const sort_kernel *k, const bins *b, unsigned warp, unsigned warps, cj_reg *count) {
    const unsigned width = b->words < 4 ? b->words : 4;
    for (unsigned w = 0; w < warps; w++)
        for (unsigned i = 0; i < b->words; i += width)
            cj__load(k->f, cj_always(), "ld.shared", "u32", &count[w * b->words + i], width, b->at,
                     (warp + w) * sort_warp_bytes(&k->s) + 4 * i);
}

static void sum_warps(const sort_kernel *k, bins *b) {
    cj_func       *f = k->f;
    cj_reg         count[SORT_ITEMS_MAX], sum[SORT_ITEMS_MAX];
    const unsigned warps = sort_warps(&k->s);
    cj_registers(f, "u32", "count", at_once(b) * b->words, count);
    for (unsigned i = 0; i < b->words; i++) sum[i] = b->words == b->each ? b->total[i] : cj_mov(f, "u32", "pair_total", 0);
    for (unsigned first = 0; first < warps; first += at_once(b)) {
        const unsigned some = warps - first < at_once(b) ? warps - first : at_once(b);
        read_counts(k, b, first, some, count);
        for (unsigned i = 0; i < some * b->words; i++) cj_update(f, sum[i % b->words], "add", count[i]);
    }
    if (b->words == b->each) return;
    for (unsigned i = 0; i < b->words; i++)
        cj_ptx(f, "and.b32 $1, $2, 0xffff; shr.u32 $3, $2, 16;", b->total[2 * i], sum[i], b->total[2 * i + 1]);
}

// Over the bins: of the lanes before, and, with the sums of whole warps, of the warps before.
static void sum_lanes(const sort_kernel *k, bins *b) {
    cj_func *f = k->f;
    cj_reg   upto = cj_mov(f, "u32", "upto", b->total[0]);
    for (unsigned i = 1; i < b->each; i++) cj_update(f, upto, "add", b->total[i]);
    cj_set(f, b->before, upto);
    const cj_prefix lanes = {.f = f, .combine = {.op = CJ_COMBINE_SUM, .type = "u32"}, .lane = k->lane};
    cj__prefix_lanes(&lanes, upto, NULL, SORT_WARP);
    cj_ptx(f, "sub.u32 $1, $2, $1;", b->before, upto);
    if (k->s.scanners == SORT_WARP) return;
    cj_reg last = cj_eq(f, "last_lane", k->lane, SORT_WARP - 1);
    cj_ptx(f, "@$1 st.shared.u32 [$2 + $3], $4;", last, cj_mad(f, "sum_at", k->warp, 4, k->counts), k->s.at.sums, upto);
}

static void add_warps(const sort_kernel *k, bins *b) {
    cj_func *f = k->f;
    cj_reg   earlier = cj_lt(f, "earlier", k->lane, k->warp), sum = cj_mov(f, "u32", "warp_sum", 0);
    cj_ptx(f, "@$1 ld.shared.u32 $2, [$3 + $4];", earlier, sum, cj_mad(f, "sum_at", k->lane, 4, k->counts),
           k->s.at.sums);
    cj_warp_reduce(f, (cj_combine){.op = CJ_COMBINE_SUM, .type = "u32"}, sum, SORT_WARP);
    cj_update(f, b->before, "add", sum);
}

// Counts become what comes before: bin by bin, and in it warp by warp.
static void write_starts(const sort_kernel *k, const bins *b, const cj_reg *first_start) {
    cj_func       *f = k->f;
    cj_reg         count[SORT_ITEMS_MAX], start[SORT_ITEMS_MAX];
    const unsigned warps = sort_warps(&k->s), width = b->words < 4 ? b->words : 4;
    for (unsigned i = 0; i < b->words; i++)
        start[i] = b->words == b->each ? cj_mov(f, "u32", "start", first_start[i])
                                       : cj_mad(f, "starts", first_start[2 * i + 1], 1 << 16, first_start[2 * i]);
    cj_registers(f, "u32", "count", at_once(b) * b->words, count);
    for (unsigned first = 0; first < warps; first += at_once(b)) {
        const unsigned some = warps - first < at_once(b) ? warps - first : at_once(b);
        read_counts(k, b, first, some, count);
        for (unsigned w = 0; w < some; w++)
            for (unsigned i = 0; i < b->words; i += width) {
                cj__store(f, cj_always(), "st.shared", "u32", &start[i], width, b->at,
                          (first + w) * sort_warp_bytes(&k->s) + 4 * i);
                for (unsigned j = i; j < i + width; j++) cj_update(f, start[j], "add", count[w * b->words + j]);
            }
    }
}

// The first place of each bin in the tile.
static void bin_starts(const sort_kernel *k, const bins *b, cj_reg *start) {
    for (unsigned i = 0; i < b->each; i++)
        start[i] = i ? cj_add(k->f, "bin_start", start[i - 1], b->total[i - 1])
                     : cj_mov(k->f, "u32", "bin_start", b->before);
}

// at, unless wide_at is all that is asked for.
static bins begin_bins(const sort_kernel *k, bool wide) {
    const sort_shape *s = &k->s;
    bins              b = {.each = s->each, .width = s->each < 4 ? s->each : 4, .words = s->each * s->count_bytes / 4,
                           .searches = cj_always()};
    if (s->scanners < s->group) b.searches = cj_lt(k->f, "scans", k->thread, s->scanners);
    const bool apart = s->cluster && b.words < b.each;
    if (!wide || !apart) b.at = b.wide_at = cj_mad(k->f, "bins_at", k->thread, 4 * b.words, k->counts);
    if (apart) b.wide_at = cj_mad(k->f, "wide_bins_at", k->thread, 4 * b.each, k->counts);
    return b;
}

// ---- the cluster

// To all ranks: where each bin of this one starts in its tile (upper half), and how many items it has.
static void push_bins(const sort_kernel *k, const bins *b, const cj_reg *start) {
    cj_func *f = k->f;
    cj_reg   row = cj_mad(f, "table_row", k->rank, 4 * k->s.bins, b->wide_at), packed[SORT_ITEMS_MAX];
    for (unsigned i = 0; i < b->each; i++) packed[i] = cj_mad(f, "bin_of_rank", start[i], 1 << 16, b->total[i]);
    for (unsigned rank = 0; rank < k->s.cluster; rank++) {
        cj_reg peer = cj_cluster_map_address(f, row, cj_mov(f, "u32", "peer_rank", rank));
        for (unsigned i = 0; i < b->each; i += b->width)
            cj_dsmem_store(f, cj_always(), "u32", &packed[i], b->width, peer, (int32_t)(k->s.at.table + 4 * i));
    }
}

// What is added to a place in the tile for the place in the row. A bin starts in the row after the bins before it, of all ranks,
// and after its own items of the ranks before.
static void sum_ranks(const sort_kernel *k, const bins *b, cj_reg *offset) {
    cj_func *f = k->f;
    cj_reg   packed[SORT_ITEMS_MAX];
    cj_registers(f, "u32", "bin_of_rank", b->each, packed);
    for (unsigned i = 0; i < b->each; i++) offset[i] = cj_mov(f, "u32", "offset", 0);
    for (unsigned rank = 0; rank < k->s.cluster; rank++) {
        for (unsigned i = 0; i < b->each; i += b->width)
            cj__load(f, cj_always(), "ld.shared", "u32", &packed[i], b->width, b->wide_at,
                     k->s.at.table + 4 * (rank * k->s.bins + i));
        cj_reg is_before = cj_gt(f, "is_before", k->rank, rank), is_other = cj_ne(f, "is_other", k->rank, rank);
        for (unsigned i = 0; i < b->each; i++) {
            cj_ptx(f, "@$1 add.u32 $2, $2, $3;", is_other, offset[i], cj_shr(f, "start_of_rank", packed[i], 16));
            cj_ptx(f, "@$1 add.u32 $2, $2, $3;", is_before, offset[i], cj_and(f, "items_of_rank", packed[i], 0xffff));
        }
    }
}

// ---- the grid: decoupled look-back (kit/lookback.h), a status word for each digit of a tile

// The thread's bin in an array of all bins.
static cj_reg bin_in(const sort_kernel *k, const bins *b, const char *name, cj_reg array) {
    return cj_add(k->f, name, array, cj_cvt(k->f, "u64", "bin_offset", cj_sub(k->f, "bin_offset", b->at, k->counts)));
}

static cj_reg status_at(const sort_kernel *k, const bins *b) {
    return bin_in(k, b, "status_at", cj_mad_wide(k->f, "status_at", k->ticket, 4 * k->s.bins, k->statuses));
}

static void publish_total(sort_kernel *k, const bins *b, cj_reg start) {
    cj_func *f = k->f;
    cj_reg   status = cj__word_total(f, b->total[0]);
    k->bin_total = b->total[0];
    cj_set(f, k->bin_start, start);
    cj_reg at = status_at(k, b), has_before = cj_ne(f, "has_before", k->tile, 0);
    cj__word_publish(f, has_before, at, status, "the tile's total");
}

// Items before the tile's first of the thread's digit: those of lower digits in the row, and those of the digit in the tiles before.
// The prefix that the first tile publishes includes the former.
static cj_reg look_back(const sort_kernel *k, const bins *b, cj_reg at) {
    cj_func *f = k->f;
    cj_reg   bin = bin_in(k, b, "bin_at", k->bins);
    cj_reg   before = cj_let(f, "u32", "before", "ld.global.u32 $1, [$2]; // what the row has before the digit", bin);
    CJ_IF(f, cj_ne(f, "has_before", k->tile, 0), "is_first") cj__lookback_words(f, at, 4 * k->s.bins, before);
    cj__word_publish(f, cj_always(), at, cj__word_prefix(f, before, k->bin_total), "the prefix after the tile");
    return before;
}

// ---- offsets

void cj__sort_offsets(const sort_kernel *k) {
    const bool in_grid = k->s.form == SORT_BY_GRID;
    cj_func   *f = k->f;
    cj_step(f, "from places in the tile to places in the row");
    bins b = begin_bins(k, !in_grid);
    if (!in_grid) cj_cluster_wait(f, "C1: the bins of all ranks are known");
    CJ_IF_UNI(f, b.searches, "offsets_written") {
        cj_reg offset[SORT_ITEMS_MAX];
        if (in_grid)
            offset[0] = cj_sub(f, "offset", look_back(k, &b, status_at(k, &b)), k->bin_start);
        else
            sum_ranks(k, &b, offset);
        for (unsigned i = 0; i < b.each; i += b.width)
            cj__store(f, cj_always(), "st.shared", "u32", &offset[i], b.width, b.wide_at, k->s.at.offsets + 4 * i);
    }
    cj__sort_sync(k, "S4: all items are in order of their digits, and the offsets are written");
}

cj_reg cj__sort_offset(const sort_kernel *k, unsigned item) {
    cj_reg at = cj_mad(k->f, "offset_at", cj__sort_digit(k, item), 4, k->counts);
    return cj_let(k->f, "u32", "offset", "ld.shared.u32 $1, [$2 + $3];", at, k->s.at.offsets);
}

// ---- the group

void cj__sort_scan(sort_kernel *k) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_step(f, "where each warp's items of each digit begin");
    bins b = begin_bins(k, false);
    b.before = cj_mov(f, "u32", "before", 0);
    for (unsigned i = 0; i < b.each; i++) b.total[i] = cj_mov(f, "u32", "total", 0);
    if (s->form == SORT_BY_GRID) k->bin_start = cj_mov(f, "u32", "start_in_tile", 0);
    cj__sort_sync(k, "S1: all warps have counted");
    CJ_IF_UNI(f, b.searches, "summed") {
        sum_warps(k, &b);
        sum_lanes(k, &b);
    }
    if (s->scanners > SORT_WARP) cj__sort_sync(k, "S2: the warps' sums are written");
    CJ_IF_UNI(f, b.searches, "started") {
        cj_reg start[SORT_ITEMS_MAX];
        if (s->scanners > SORT_WARP) add_warps(k, &b);
        bin_starts(k, &b, start);
        if (s->cluster) push_bins(k, &b, start);
        if (s->form == SORT_BY_GRID) publish_total(k, &b, start[0]);
        write_starts(k, &b, start);
    }
    if (s->cluster) cj_cluster_arrive(f, CJ_ARRIVE_RELEASE, "C1: this rank's bins are pushed");
    cj__sort_sync(k, "S3: all starts are written");
}

void cj__sort_sum_row(sort_kernel *k) {
    cj_func *f = k->f;
    bins     b = begin_bins(k, false);
    cj_reg   start = cj_none(), at = bin_in(k, &b, "bin_at", k->bins);
    b.before = cj_mov(f, "u32", "before", 0);
    b.total[0] = cj_mov(f, "u32", "total", 0);
    CJ_IF_UNI(f, b.searches, "summed") {
        cj_ptx(f, "ld.global.u32 $1, [$2];", b.total[0], at);
        sum_lanes(k, &b);
    }
    if (k->s.scanners > SORT_WARP) cj__sort_sync(k, "S2: the warps' sums are written");
    CJ_IF_UNI(f, b.searches, "started") {
        if (k->s.scanners > SORT_WARP) add_warps(k, &b);
        bin_starts(k, &b, &start);
        cj_ptx(f, "st.global.u32 [$1], $2;", at, start);
    }
}
