// SPDX-License-Identifier: Apache-2.0
// sample: a token of each row of logits, drawn by its probability after temperature, penalties, a mask, top-k, top-p and min-p.
//
// Algorithm. A block, or the blocks of a cluster, have a row; its warps have parts of it in the row's order. A first pass finds the
// greatest logit. From it every logit has a mass, a whole number of units of 2^-40 (number.c): sums of masses are the same in any
// order, so the token depends on logits, values and the random number alone, not on the plan.
//
// A thread that has few vectors keeps them in registers from the first pass on: after a cluster barrier L1 is empty.
// Where top-k asks for few, the greatest elements of groups of lanes give a threshold that k logits are not less than, and hardly more.
// What passes it goes to a list of rank 0, which filters and draws there (list.c). Else the last kept key of each filter is found digit by
// digit (search.c), and a last pass sums what is kept of each warp (draw.c). Of long rows of bf16 the first pass counts the keys (count.c): then
// the last kept key of top-p is found without a pass, and where a block has much of the row, the draw goes through a part of it (part.c).
//
//   x: | warp 0's vectors | warp 1's | …   global; read once from memory, then from L1 or L2
//        greatest of groups --push--> maxima[], every block
//        list:    elements not less than a threshold --push--> rank 0's list[]
//        search:  bins of weights, a digit at a time, shared; summed over the blocks
//        or:      bins of counts of keys, of each part of the block's vectors, in the first pass
//        draw:    kept mass of every warp --push--> records[], every block
//   tokens[row]                             global
//
// Barriers S1 to S21: docs/maintaining/sample.md says for each what it orders, and why that is enough.
#include "sample.h"

static const cj_param_info params[] = {
#define PARAM(id, ...) [SAMPLE_##id] = {__VA_ARGS__},
#include "params.def"
};

static void write_head(const sample_kernel *k, cj_builder *b) {
    const sample_shape *s = &k->s;
    cj_head(b, "clusterjit: sample  dtype=%s%s%s%s%s%s%s%s%s\n", CJ_PARAM_WORD(k->plan, "dtype"), s->top_k ? " top-k" : "",
            s->top_p ? " top-p" : "", s->min_p ? " min-p" : "", s->mask ? " mask" : "", s->penalties ? " penalties" : "",
            s->log_probability ? " log-probability" : "", s->distribution ? " distribution" : "", s->draft ? " draft" : "");
    cj_head(b, "  row of logits  --loads of %u, %u a thread in flight-->  greatest  --%s-->  a token", s->width,
            s->flight,
            s->lists   ? "threshold, list; or search"
            : s->top_p ? "search, masses"
                       : "masses");
    cj_head(b, "Launch: block %u threads%s; grid: %s a row.", s->block, s->cluster ? ", as a cluster launch" : "",
            s->cluster ? "a cluster" : "a block");
}

// What else is told, and the draft.
static void declare_told(sample_kernel *k) {
    cj_func *f = k->f;
    if (k->s.log_probability) k->log_at = cj_param(f, "u64", "log_probability", "float log_probability[rows]");
    if (k->s.top) k->top_tokens_at = cj_param(f, "u64", "top_tokens", "int32_t top_tokens[rows][top]");
    if (k->s.top) k->top_logs_at = cj_param(f, "u64", "top_log_probabilities", "float top_log_probabilities[rows][top]");
    if (k->s.distribution) k->distribution_at = cj_param(f, "u64", "probabilities", "float probabilities[rows][columns]");
    if (!k->s.draft) return;
    k->draft_tokens_at = cj_param(f, "u64", "draft_tokens", "int32_t draft_tokens[rows]; -1: none");
    k->draft_p_at = cj_param(f, "u64", "draft_probabilities", "float draft_probabilities[rows][columns]");
    k->accepted_at = cj_param(f, "u64", "accepted", "uint32_t accepted[rows]: 1 where the draft's token is taken");
}

static void declare(sample_kernel *k) {
    static const char *const names[SAMPLE_SETTINGS] = {"temperature", "top_p", "min_p", "repetition", "frequency",
                                                       "presence",    "top_k", "seed",  "offset"};
    cj_func                 *f = k->f;
    k->x = cj_param(f, "u64", "x", "logits[rows][stride]");
    k->tokens = cj_param(f, "u64", "tokens", "int32_t tokens[rows]");
    k->mask_at = cj_param(f, "u64", "mask", "uint32_t mask[rows][columns / 32, rounded up]: a bit a token");
    k->counts_at = cj_param(f, "u64", "counts", "uint32_t counts[rows][columns]");
    for (unsigned i = 0; i < SAMPLE_SETTINGS; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s_rows", names[i]);
        k->array[i] = cj_param(f, "u64", name, "one value a row, or 0");
        k->all[i] = cj_param(f, "u64", names[i], "for all rows");
    }
    declare_told(k);
    k->columns_at = cj_param(f, "u64", "columns", "logits of a row");
    k->stride_at = cj_param(f, "u64", "stride", "elements from row to row");
    cj_param(f, "u64", "workspace", "not used");
    const bool wide = k->s.flight > SAMPLE_FLIGHT / 2, spills = k->s.many || wide || (k->s.keeps && k->s.flight > SAMPLE_FLIGHT / 4);
    cj__registers(k->plan, f, k->s.many ? SAMPLE_REGISTERS_MANY : wide ? SAMPLE_REGISTERS_KEPT : SAMPLE_REGISTERS, spills);
}

static void declare_shared(sample_kernel *k) {
    enum { WORDS = 8, VECTOR = 16 };
    cj_func       *f = k->f;
    k->maxima = cj_shared(f, "f32", "maxima", k->s.groups, VECTOR);
    k->records = cj_shared(f, "u64", "records", 2 * k->s.records, VECTOR);
    if (!k->s.top_k && !k->s.top_p && !k->s.counts) return;
    k->told = cj_shared(f, "u32", "told", WORDS, VECTOR);
    if (k->s.parts > 1) k->upto = cj_shared(f, "u64", "upto", 2 * SAMPLE_WARP * k->s.parts, VECTOR);
    if (k->s.parts > 1) k->parts = cj_shared(f, "u64", "parts", 2 * k->s.parts * k->s.blocks, VECTOR);
    if (!k->s.top_k && !k->s.top_p) return;
    k->sums = cj_shared(f, "u64", "sums", k->s.top_k ? SAMPLE_LIST : SAMPLE_WARP, VECTOR);
    if (k->s.top_k) k->list = cj_shared(f, "u64", "list", 2 * SAMPLE_LIST, VECTOR);
    if (k->s.lists) k->codes = cj_shared(f, "u32", "codes", SAMPLE_GROUPS, VECTOR);
    if (!k->s.counts) k->bins = cj_shared(f, "u32", "bins", 2u << k->s.digit, VECTOR);  // two words each
    if (k->s.blocks > 1) k->slices = cj_shared(f, "u64", "slices", k->s.blocks, VECTOR);
}

static void begin_row(sample_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "the row, and the warp's part of it");
    cj_reg wide_row = cj_cvt(f, "u64", "row_number", k->row);
    cj_reg x = cj__load_pointer(f, k->x, "x"), stride = cj__load_param(f, "u64", k->stride_at, "stride");
    cj_reg wide = cj__load_param(f, "u64", k->columns_at, "wide_columns");
    k->columns = cj_cvt(f, "u32", "columns", wide);
    k->base = cj_mad(f, "row_at", cj_mul(f, "row_first", wide_row, stride), k->s.bytes, x);
    if (k->s.mask) {
        cj_reg words = cj_let(f, "u64", "words", "add.u64 $1, $2, 31;\nshr.u64 $1, $1, 5;", wide);
        cj_reg mask = cj__load_pointer(f, k->mask_at, "mask");
        k->mask = cj_mad(f, "mask_row", cj_mul(f, "mask_first", wide_row, words), 4, mask);
    }
    if (k->s.penalties) {
        cj_reg counts = cj__load_pointer(f, k->counts_at, "counts");
        k->counts = cj_mad(f, "counts_row", cj_mul(f, "counts_first", wide_row, wide), 4, counts);
    }
    k->vectors = cj__sample_quotient(k, "vectors", k->columns, k->s.width);
    k->each = cj__sample_quotient(k, "each", cj_add(f, "rounded", k->vectors, k->s.records - 1), k->s.records);
    cj_ptx(f, "add.u32 $1, $1, 7;\nand.b32 $1, $1, -8; // whole lines of 128 bytes", k->each);
    k->first = cj_min(f, "first", cj_mul(f, "first", k->record, k->each), k->vectors);
    k->end = cj_min(f, "end", cj_add(f, "end", k->first, k->each), k->vectors);
}

static void begin(sample_kernel *k) {
    cj_func *f = k->f;
    k->thread = cj_mov(f, "u32", "thread", "%tid.x");
    k->lane = cj_and(f, "lane", k->thread, SAMPLE_WARP - 1);
    k->warp = cj_shr(f, "warp", k->thread, 5);
    k->row = cj__group_number(f, "row", k->s.cluster);
    k->record = k->warp;
    if (k->s.cluster) {
        k->rank = cj_cluster_rank(f);
        k->record = cj_mad(f, "record", k->rank, k->s.warps, k->warp);
    }
    if (k->s.top_k) {
        cj_reg told = cj_shared_address(f, k->told);
        cj_reg first = cj_eq(f, "first_thread", k->thread, 0);
        cj_ptx(f, "@$1 st.shared.u32 [$2 + $3], 0; // no candidates", first, told, (int)SAMPLE_AT_COUNT);
        cj_ptx(f, "@$1 st.shared.u64 [$2 + $3], 0; // nor a mass of them", first, told, (int)SAMPLE_AT_TOTAL);
    }
    if (k->s.counts) {
        k->bins_at = cj_mov(f, "u32", "bins", "pool");
        k->counted = cj_let(f, "pred", "counted", "setp.eq.u32 $1, 0, 0;");
        cj_reg first = cj_eq(f, "first_thread", k->thread, 0);
        cj_ptx(f, "@$1 st.shared.u32 [$2 + $3], 0; // no bin fails", first, cj_shared_address(f, k->told), (int)SAMPLE_AT_FAILS);
    }
    if (k->s.pushes) {
        k->push = cj__push_new(f, "masses");
        cj_reg first = cj_eq(f, "first_thread", k->thread, 0);
        cj__push_open(f, &k->push, first, "publishes the mbarrier, at S1", "S1: this block has started");
    } else if (k->s.cluster) {
        cj_cluster_arrive(f, CJ_ARRIVE_RELAXED, "S1: this block has started");
    }
    begin_row(k);
    cj__follow_launches(k->plan, f);
}

// A greedy row keeps the first of the greatest.
static void begin_kept(sample_kernel *k) {
    cj_func *f = k->f;
    k->least = cj_mov(f, "u32", "least", 0);
    k->ties = cj_mov(f, "u32", "kept_ties", 0);
    k->tie = cj_mov(f, "u64", "tie", 0);
    CJ_IF_UNI(f, k->greedy, "not_greedy") {
        cj_set(f, k->least, cj__sample_key(k, k->most));
        cj_set(f, k->ties, 1);
        cj_set(f, k->tie, cj__sample_mass(k, cj__sample_exponent(k, k->most)));
    }
}

static void emit_sample(const cj_plan *plan, cj_builder *b) {
    sample_kernel k = {.plan = plan};
    cj__sample_shape(plan, &k.s);
    write_head(&k, b);
    if (k.s.counts) cj_declare(b, ".extern .shared .align 16 .b8 pool[];");
    k.f = cj__entry(plan, b);
    declare(&k);
    declare_shared(&k);
    begin(&k);
    if (k.s.keeps) cj__sample_keep(&k);  // on their way while the settings are read
    cj__sample_load_settings(&k);
    cj__sample_greatest(&k);
    if (k.s.lists) cj__sample_list(&k);
    begin_kept(&k);
    if (k.s.top_k || k.s.top_p) cj__sample_search(&k);
    cj__sample_draw(&k);
    cj_ptx(k.f, "ret;");
}

const cj_family cj__family_sample = {
    CJ_FAMILY("sample", "a token of each row of logits: temperature, penalties, mask, top-k, top-p, min-p, draw",
              params, cj__sample_plan, emit_sample)};
