// SPDX-License-Identifier: Apache-2.0
// The spread form: a group of blocks that stay has a row, and then every n-th one; groups are so large that few rows
// keep the whole GPU busy. Loads go straight to registers, as in the direct form. Parts meet in two steps: those of
// a block's warps in its shared memory, those of the group's blocks in global memory, where each block posts its own
// and every block reads all; in several copies where blocks are many, for they all wait at once, and readers of the
// same words wait for each other. row.c tells why the barriers are needed and enough.
#include "constants.h"
#include "row.h"
#include "whole.h"

// A value and its tag; where posts begin, behind the counter of claims; room for a claim, so that posts stay aligned.
enum { POST_BYTES = 8, POSTS_AT = 16, CLAIM_BYTES = 16 };

static unsigned post_words(const row_kernel *k) { return cj__row_slot_words(k->op); }

// How often a post is written: a lane of a warp writes each, and so many blocks as share one read it.
unsigned cj__row_post_copies(const row_shape *s) {
    unsigned copies = 1;
    while (copies < MAILBOX_COPIES && s->blocks > MAILBOX_READERS * copies) copies *= 2;
    return copies;
}

// Of what there is once but for copies: the counter, both turns of posts, and last tags.
static size_t once_bytes(const row_op *op, const row_shape *s, uint32_t blocks) {
    const size_t turn = POST_BYTES * (size_t)cj__row_slot_words(op) + (s->claims ? CLAIM_BYTES : 0);
    return POSTS_AT + blocks * (2 * turn + sizeof(uint32_t));
}

// From one copy to the next: far enough for other parts of the L2 cache to have it.
size_t cj__row_copy_bytes(const row_op *op, const row_shape *s, uint32_t blocks) {
    return round_up(once_bytes(op, s, blocks), MAILBOX_APART);
}

size_t cj__row_posts_bytes(const row_op *op, const row_shape *s, uint32_t blocks) {
    return once_bytes(op, s, blocks) + (cj__row_post_copies(s) - 1) * cj__row_copy_bytes(op, s, blocks);
}

// How many warps wait for posts, each for those of every so-many-th 32 blocks.
static unsigned waiting_warps(const row_kernel *k) {
    const unsigned groups = (k->s->blocks + ROW_WARP - 1) / ROW_WARP;
    return groups < k->s->warps ? groups : k->s->warps;
}

static unsigned post_bytes(const row_kernel *k) { return post_words(k) * POST_BYTES; }

// Where the posts of even tags begin, in the workspace: a new register. Addresses are made where they are used, for
// there are registers to spare only when the row has not come in yet.
static cj_reg posts_at(row_kernel *k) {
    cj_reg at = cj__load_pointer(k->f, k->workspace, "posts");
    cj_ptx(k->f, "add.u64 $1, $1, $2;", at, POSTS_AT);
    return at;
}

// += what is between those of even tags and those of odd ones, `times`: a number or a register.
static void add_turns(row_kernel *k, cj_reg at, cj_arg times) {
    cj_reg bytes = cj_u32(k->f, "turn_bytes");
    cj_ptx(k->f, "mov.u32 $1, %nctaid.x;", bytes);
    cj_ptx(k->f, "mul.lo.u32 $1, $1, $2;", bytes, post_bytes(k) + (k->s->claims ? CLAIM_BYTES : 0));
    cj_ptx(k->f, "mad.wide.u32 $1, $2, $3, $1;", at, bytes, times);
}

static cj_reg turn_at(row_kernel *k, const row_posts *p) {
    cj_reg at = posts_at(k), odd = cj_u32(k->f, "odd");
    cj_ptx(k->f, "and.b32 $1, $2, 1;", odd, p->tag);
    add_turns(k, at, CJ_ARG(odd));
    return at;
}

// The block's number, and that of its group's first one.
static cj_reg block_of(row_kernel *k) {
    cj_reg block = cj_u32(k->f, "block");
    cj_ptx(k->f, "mov.u32 $1, %ctaid.x;", block);
    return block;
}

static cj_reg group_of(row_kernel *k) {
    cj_reg group = block_of(k);
    cj_ptx(k->f, "sub.u32 $1, $1, $2;", group, k->rank);
    return group;
}

// += as many copies.
static void add_copies(row_kernel *k, cj_reg at, cj_reg copies) {
    cj_ptx(k->f, "mad.wide.u32 $1, $2, $3, $1;", at, copies, cj__row_copy_bytes(k->op, k->s, k->plan->grid.x));
}

// Where the group's claim of its next row is posted, behind the parts of all blocks.
static cj_reg claim_at(row_kernel *k, cj_reg turn) {
    cj_reg at = cj_u64(k->f, "claim_at"), blocks = cj_u32(k->f, "blocks");
    cj_ptx(k->f, "mov.u32 $1, %nctaid.x;", blocks);
    cj_ptx(k->f, "mad.wide.u32 $1, $2, $3, $4;", at, blocks, post_bytes(k), turn);
    cj_ptx(k->f, "mad.wide.u32 $1, $2, $3, $1;", at, group_of(k), CLAIM_BYTES);
    return at;
}

// Where the block's last tag is, behind all posts.
static cj_reg last_at(row_kernel *k) {
    cj_reg at = posts_at(k);
    add_turns(k, at, CJ_ARG(2));
    cj_ptx(k->f, "mad.wide.u32 $1, $2, 4, $1;", at, block_of(k));
    return at;
}

// += groups.
static void add_groups(row_kernel *k, cj_reg row, cj_reg from) {
    cj_reg groups = cj_u32(k->f, "groups");
    cj_ptx(k->f, "mov.u32 $1, %nctaid.x;", groups);
    cj_ptx(k->f, "div.u32 $1, $1, $2;", groups, k->s->blocks);
    cj_ptx(k->f, "add.u32 $1, $2, $3;", row, from, groups);
}

static cj_reg leads_of(row_kernel *k) {
    cj_reg leads = cj_pred(k->f, "leads");
    cj_ptx(k->f, "setp.eq.u32 $1, $2, 0;", leads, k->thread);
    return leads;
}

// What columns have comes behind a group's one row, which is wanted first; and a little of it, where no sweep needs it,
// when the row is here: it then comes while the blocks' parts meet.
void cj__row_keep_behind(row_kernel *k, bool row) {
    const uint64_t bytes = k->s->piece * k->s->elements * k->s->in_bytes * k->op->columns;
    const bool     later = k->op->columns_given && bytes <= LATE_COLUMN_BYTES;
    if (k->op->columns && !k->s->claims && k->s->pieces == 1 && later != row) cj__row_keep_columns(k);
}

// So much of a row a block that the next launch's blocks have hardly room beside it, nor time to fetch theirs.
static bool is_long(const row_kernel *k) { return k->s->pieces > 1 || k->s->held > LONG_SHARE_HELD; }

// Before the next launch's blocks start and have their rows fetched into the L2 cache, this one's row is to be here; but
// a long one takes so long to come that they start at once.
static bool starts_next_late(const row_kernel *k) { return k->plan->programmatic && !is_long(k); }

// Not what is read twice; and of long rows, what is fetched while the launch before ends costs more than it brings where
// these are several, or columns have something: 4 % on an H200, which a long row by itself gains.
static bool is_prefetched(const row_kernel *k) {
    const row_shape *s = k->s;
    const bool       whole = s->pieces == 1 && s->elements * s->in_bytes == 16;
    return k->plan->programmatic && whole && !(is_long(k) && (k->op->columns || s->blocks <= PREFETCH_BLOCKS));
}

row_posts cj__row_posts(row_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "the rows, and the tag of this block's last post");
    row_posts p = {.tag = cj_u32(f, "tag"), .rows = cj__row_load_rows(k), .leads = leads_of(k)};
    cj_ptx(f, "ld.global.u32 $1, [$2];", p.tag, last_at(k));
    if (k->s->claims) {
        p.claimed = cj_u32(f, "claimed");
        p.next = cj_u32(f, "next");
    }
    if (k->s->warps == 1) return p;
    p.row = cj_shared_address(f, cj_shared(f, "f32", "row_part", waiting_warps(k) * post_words(k), 16));
    if (k->s->claims) p.next_at = cj_shared_address(f, cj_shared(f, "u32", "row_behind", 1, 0));
    return p;
}

static cj_reg tag_value(row_kernel *k, const row_posts *p, cj_reg value) {
    cj_reg word = cj_u32(k->f, "word"), tagged = cj_b64(k->f, "tagged");
    cj_ptx(k->f, "mov.b32 $1, $2;", word, value);
    cj_ptx(k->f, "mov.b64 $1, {$2, $3};", tagged, word, p->tag);
    return tagged;
}

// Rank 0 has claimed a row while this one came in. The last claim of all leaves the counter ready for the next
// launch.
static void post_claim(row_kernel *k, const row_posts *p, cj_reg turn) {
    cj_func *f = k->f;
    cj_reg   is_last = cj_pred(f, "is_last"), last = cj_u32(f, "last_claim"), tagged = cj_b64(f, "tagged");
    cj_note(f, "and so is rank 0's claim of the group's next row");
    cj_ptx(f, "sub.u32 $1, $2, 1;", last, p->rows);
    cj_ptx(f, "setp.eq.and.u32 $1, $2, $3, $4;", is_last, p->claimed, last, k->first);
    cj_ptx(f, "@$1 st.relaxed.gpu.global.u32 [$2], 0; // the last claim of all: ready for the next launch", is_last,
           cj__load_pointer(f, k->workspace, "counter"));
    add_groups(k, p->next, p->claimed);
    cj_ptx(f, "mov.b64 $1, {$2, $3};", tagged, p->next, p->tag);
    cj_ptx(f, "@$1 st.relaxed.gpu.global.b64 [$2], $3;", k->first, claim_at(k, turn), tagged);
}

// A value and the tag are written as one, so whoever reads the tag has the value. A lane writes each copy.
static void post(row_kernel *k, const row_posts *p, cj_reg turn) {
    cj_func       *f = k->f;
    const unsigned words = post_words(k);
    const unsigned copies = cj__row_post_copies(k->s);
    cj_reg         posts = p->leads, at = cj_u64(f, "post_at"), tagged[ROW_VALUES];
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", at, block_of(k), post_bytes(k), turn);
    if (copies > 1) {
        posts = cj_pred(f, "posts");
        add_copies(k, at, k->thread);
        cj_ptx(f, "setp.lt.u32 $1, $2, $3;", posts, k->thread, copies);
    }
    for (unsigned w = 0; w < words; w++) tagged[w] = tag_value(k, p, k->part.value[w < k->op->values ? w : 0]);
    if (words == 1) cj_ptx(f, "@$1 st.relaxed.gpu.global.b64 [$2], $3;", posts, at, tagged[0]);
    for (unsigned w = 0; w + 1 < words; w += 2)
        cj_ptx(f, "@$1 st.relaxed.gpu.global.v2.b64 [$2 + $3], {$4, $5};", posts, at, w * POST_BYTES, tagged[w],
               tagged[w + 1]);
    if (k->s->claims) post_claim(k, p, turn);
}

// The part that the block `offset` bytes behind has posted. It is late, if the tag of some value is not the row's. A
// lane that none is for keeps what its part was.
static void look(row_kernel *k, const row_posts *p, const row_part *part, cj_reg at, unsigned offset, cj_reg has,
                 cj_reg late, bool first) {
    cj_func       *f = k->f;
    const unsigned words = post_words(k);
    cj_reg         tagged[ROW_VALUES], found = cj_u32(f, "found"), word = cj_u32(f, "word");
    for (unsigned w = 0; w < words; w++)
        tagged[w] = has.id ? tag_value(k, p, part->value[w < k->op->values ? w : 0]) : cj_b64(f, "tagged");
    if (words == 1)
        cj_ptx(f, has.id ? "@$4 ld.relaxed.gpu.global.b64 $1, [$2 + $3];" : "ld.relaxed.gpu.global.b64 $1, [$2 + $3];",
               tagged[0], at, offset, has);
    for (unsigned w = 0; w + 1 < words; w += 2)
        cj_ptx(f,
               has.id ? "@$5 ld.relaxed.gpu.global.v2.b64 {$1, $2}, [$3 + $4];"
                      : "ld.relaxed.gpu.global.v2.b64 {$1, $2}, [$3 + $4];",
               tagged[w], tagged[w + 1], at, offset + w * POST_BYTES, has);
    for (unsigned w = 0; w < words; w++) {
        cj_ptx(f, "mov.b64 {$1, $2}, $3;", word, found, tagged[w]);
        if (w < k->op->values) cj_ptx(f, "mov.b32 $1, $2;", part->value[w], word);
        cj_ptx(f, w || !first ? "setp.ne.or.u32 $1, $2, $3, $1;" : "setp.ne.u32 $1, $2, $3;", late, found, p->tag);
    }
}

// Posts that a lane of those warps waits for.
static unsigned posts_a_lane(const row_kernel *k) {
    const unsigned lanes = waiting_warps(k) * ROW_WARP;
    return (k->s->blocks + lanes - 1) / lanes;
}

// Rank 0's claim of the group's next row.
static void look_claim(row_kernel *k, const row_posts *p, cj_reg at, cj_reg late) {
    cj_func *f = k->f;
    cj_reg   tagged = cj_b64(f, "tagged"), found = cj_u32(f, "found");
    cj_ptx(f, "ld.relaxed.gpu.global.b64 $1, [$2];", tagged, at);
    cj_ptx(f, "mov.b64 {$1, $2}, $3;", p->next, found, tagged);
    cj_ptx(f, "setp.ne.or.u32 $1, $2, $3, $1;", late, found, p->tag);
}

// Posts of which a lane has the values in registers at once, while the row is there, too.
static unsigned posts_at_once(const row_kernel *k) { return ROW_VALUES / post_words(k); }

// at = where a lane's first post is, in its copy of the posts; `from`, the group's first block, becomes the one it is of.
static void find_posts(row_kernel *k, cj_reg at, cj_reg from, cj_reg turn) {
    cj_func       *f = k->f;
    const unsigned copies = cj__row_post_copies(k->s);
    cj_ptx(f, "add.u32 $1, $1, $2;", from, k->thread);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", at, from, post_bytes(k), turn);
    if (copies > 1) {
        cj_reg copy = cj_u32(f, "copy");
        cj_ptx(f, "and.b32 $1, $2, $3; // blocks share the copies", copy, k->rank, copies - 1);
        add_copies(k, at, copy);
    }
}

// The lane's posts from number `first` on, folded into k->part with those before; in every lane, behind the last.
static void gather_some(row_kernel *k, const row_posts *p, cj_reg at, unsigned first, unsigned end, cj_reg claim) {
    cj_func       *f = k->f;
    const unsigned lanes = waiting_warps(k) * ROW_WARP, posts = posts_a_lane(k), last = end == posts;
    const bool     whole = !last || k->s->blocks % lanes == 0;
    row_part       part[ROW_VALUES + 1];  // those before are the first part
    unsigned       parts = 0;
    cj_reg         late = cj_pred(f, "late"), has = cj_pred(f, "has_post");
    cj_label       again = cj_label_new(f, "not_posted");
    if (first) part[parts++] = k->part;
    const row_part *new = &part[parts];
    for (unsigned i = first; i < end; i++) part[parts++] = cj__row_part_new(k, "posted");
    if (!whole) {
        cj_ptx(f, "setp.lt.u32 $1, $2, $3;", has, k->thread, k->s->blocks % lanes);
        cj__row_part_clear(k, &part[parts - 1]);
    }
    cj_label_here(f, again);
    for (unsigned i = first; i < end; i++)
        look(k, p, &new[i - first], at, i * lanes * post_bytes(k), i + 1 == posts && !whole ? has : cj_always(), late,
             i == first);
    if (claim.id && last) look_claim(k, p, claim, late);
    cj_ptx(f, "vote.sync.any.pred $1, $1, 0xffffffff;", late);
    cj_ptx(f, "@$1 bra $2;", late, again);
    cj__row_fold(k, &k->part, part, parts, last);
}

// k->part = the parts that the warp waits for, in every lane.
static void gather(row_kernel *k, const row_posts *p, cj_reg turn) {
    const unsigned posts = posts_a_lane(k), most = posts_at_once(k);
    cj_reg         at = cj_u64(k->f, "posts_at"), from = group_of(k);
    cj_reg         claim = k->s->claims ? claim_at(k, turn) : cj_always();
    cj_step(k->f, "a lane waits for each post");
    find_posts(k, at, from, turn);
    for (unsigned i = 0; i < posts; i += most) gather_some(k, p, at, i, i + most < posts ? i + most : posts, claim);
}

// k->part = that of the row, for every warp of the block.
static void share(row_kernel *k, const row_posts *p, cj_label others) {
    enum { MANY = 24, WORDS_AT_ONCE = 16 };  // in registers, beside the row
    cj_func       *f = k->f;
    const unsigned bytes = 4 * post_words(k), warps = waiting_warps(k);
    const unsigned most = post_words(k) * warps > MANY ? WORDS_AT_ONCE / post_words(k) : warps;
    row_part       part[ROW_WARP + 1];
    cj_reg         slot = cj_u32(f, "row_slot"), writes = cj_pred(f, "writes");
    cj_step(f, "the row's values, for every warp of the block");
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", slot, k->warp, bytes, p->row);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", writes, k->lane);
    cj__row_store_slot(k, writes, slot);
    if (k->s->claims) cj_ptx(f, "@$1 st.shared.u32 [$2], $3;", p->leads, p->next_at, p->next);
    cj_label_here(f, others);
    cj_ptx(f, "bar.sync 0; // P2: they are written");
    for (unsigned first = 0; first < warps; first += most) {
        unsigned parts = 0;
        if (first) part[parts++] = k->part;
        for (unsigned w = first; w < warps && w < first + most; w++) {
            part[parts] = warps > 1 ? cj__row_part_new(k, "shared") : k->part;
            cj__row_load_slot(k, &part[parts++], p->row, w * bytes, cj_always());
        }
        if (warps > 1) cj__row_fold(k, &k->part, part, parts, false);
    }
    if (k->s->claims) cj_ptx(f, "ld.shared.u32 $1, [$2];", p->next, p->next_at);
}

// Warp 0 has the block's part when all of its warps have theirs in slots; the other warps that wait need not wait
// for that.
static void combine_slots(row_kernel *k, cj_reg slots, cj_label others, cj_label waits) {
    cj_func *f = k->f;
    cj_reg   other = cj_pred(f, "other_warp"), idle = cj_pred(f, "idle");
    if (waiting_warps(k) < k->s->warps) {
        cj_ptx(f, "setp.ge.u32 $1, $2, $3;", idle, k->warp, waiting_warps(k));
        if (starts_next_late(k)) cj_ptx(f, "@$1 griddepcontrol.launch_dependents;", idle);
        cj_ptx(f, "@$1 bra $2;", idle, others);
    }
    if (waits.id) {
        cj_ptx(f, "setp.ne.u32 $1, $2, 0;", other, k->warp);
        cj_ptx(f, "@$1 bra $2;", other, waits);
    }
    cj_step(f, "warp 0 combines them");
    cj__row_fold_slots(k, slots, k->s->warps);
}

void cj__row_meet_posts(row_kernel *k, const row_posts *p, cj_reg slots) {
    cj_func   *f = k->f;
    const bool one = k->s->warps == 1;
    cj_label   others = one ? (cj_label){0} : cj_label_new(f, "others");
    cj_label   waits = waiting_warps(k) == 1 ? (cj_label){0} : cj_label_new(f, "wait_for_posts");
    cj__row_keep_behind(k, false);
    cj_ptx(f, "add.u32 $1, $1, 1;", p->tag);
    cj_reg turn = turn_at(k, p);
    if (!one) combine_slots(k, slots, others, waits);
    cj_step(f, "the block's part is posted, value by value, each with the row's tag");
    post(k, p, turn);
    if (waits.id) cj_label_here(f, waits);
    if (starts_next_late(k)) cj__launch_dependents(k->plan, f);
    gather(k, p, turn);
    if (!one) share(k, p, others);
}

// Into the L2 cache: the block's share of its first row, and of what columns have. Nothing is read by that, so it
// may be done while the kernels before still run, whatever they write.
static void prefetch(row_kernel *k) {
    const row_shape *s = k->s;
    const unsigned   vector_bytes = s->elements * s->in_bytes;
    cj_func         *f = k->f;
    cj_reg           bytes = cj_s32(f, "share_bytes"), has = cj_pred(f, "has_share"), from = cj_u64(f, "from");
    cj_reg           rows = cj__row_load_rows(k);
    cj_step(f, "the block's share of the first row may come into the L2 cache");
    cj_ptx(f, "mad.lo.s32 $1, $2, $3, $4;", bytes, k->rank, -(int64_t)s->piece, (int64_t)s->vectors);
    cj_ptx(f, "min.s32 $1, $1, $2;", bytes, s->piece);
    cj_ptx(f, "mul.lo.s32 $1, $1, $2;", bytes, vector_bytes);
    cj_ptx(f, "setp.gt.and.s32 $1, $2, 0, $3;", has, bytes, leads_of(k));
    cj_ptx(f, "setp.lt.and.u32 $1, $2, $3, $1;", has, k->row, rows);
    for (unsigned i = 0; i < k->op->operands; i++) {
        const row_role role = k->op->operand[i].role;
        if (role != ROW_INPUT && role != ROW_COLUMN) continue;
        cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", from, k->rank, s->piece * vector_bytes, k->base[i]);
        if (role == ROW_INPUT)
            cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", from, cj__row_of(k, i), s->stride * s->in_bytes);
        cj_ptx(f, "@$1 cp.async.bulk.prefetch.L2.global [$2], $3;", has, from, bytes);
    }
}

void cj__row_emit_spread(row_kernel *k) {
    cj_func *f = k->f;
    cj_reg   past = cj_pred(f, "past"), more = cj_pred(f, "more_rows");
    if (k->plan->programmatic) {
        if (is_prefetched(k)) prefetch(k);
        cj_step(f, "what the kernels before have written can be read");
        cj_ptx(f, "griddepcontrol.wait;");
        if (!starts_next_late(k)) cj__launch_dependents(k->plan, f);
    }
    cj_label          next = cj_label_new(f, "next_row"), done = cj_label_new(f, "done");
    const row_meeting m = cj__row_meeting(k, false);
    const row_posts  *p = &m.posts;
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, k->row, p->rows);
    cj_ptx(f, "@$1 bra $2; // a group too many", past, done);
    if (k->s->pieces == 1) {
        cj_step(f, "the thread's share of each row");
        cj__row_set_share(k);
        if (k->s->claims) cj__row_keep_columns(k);
    }
    cj_label_here(f, next);
    cj_step(f, "the group's next row");
    if (k->s->claims)
        cj_ptx(f, "@$1 atom.relaxed.gpu.global.add.u32 $2, [$3], 1; // the one behind it", k->first, p->claimed,
               cj__load_pointer(f, k->workspace, "counter"));
    if (k->s->pieces > 1)
        cj__row_twice(k, &m);
    else
        cj__row_held(k, &m);
    if (k->s->claims)
        cj_ptx(f, "mov.u32 $1, $2;", k->row, p->next);
    else
        add_groups(k, k->row, k->row);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", more, k->row, p->rows);
    cj_ptx(f, "@$1 bra $2;", more, next);
    cj_step(f, "the tag stays, for the next launch");
    if (k->s->warps == 1) cj_ptx(f, "bar.warp.sync 0xffffffff; // P3: all lanes have read the last one");
    cj_ptx(f, "@$1 st.global.u32 [$2], $3;", p->leads, last_at(k), p->tag);
    cj_label_here(f, done);
    cj_ptx(f, "ret;");
}
