// SPDX-License-Identifier: Apache-2.0
// The warps that work on a row exchange their partials: every warp combines all of them by itself.
//
//   a warp's row       the lanes' partials alone
//   a block's row      slots in its shared memory:                 D1
//   a cluster's row    pushed to the slots of every block, once:   D2, D3
//   a spread row       slots, and then mailboxes of the group:     P1, P2
//
// The blocks of a spread row exchange their partials in mailboxes of global memory (mailbox.h), in several copies if many
// blocks read them:
//
//   workspace:  | work counter | message[2][blocks], [taken row[groups]] | last tag[blocks] |, and so on for each copy
//
//   warps            --st.shared-------->  slots[warps]                            their partials
//   warp 0           --mailbox---------->  message[tag & 1][block], every copy     the block's; rank 0: the next row
//   a lane a block   <--polls------------  messages of the group, in one copy
//   its warps        --st.shared-------->  row_partial, from where every warp takes the row's
//
//   P1  bar.sync: all slots of the block are written before warp 0 reads them. They are written again after P2, to
//       which warp 0 comes after its reading.
//   P2  bar.sync: what the warps that polled have of the row is written before any warp reads it. It is written again
//       after the next row's P1, to which every warp comes after its reading.
//   P3  one warp alone: all lanes have read the block's last tag before it is written.
#include "engine.h"

// Where messages begin, after the work counter; room for a taken row, so that messages stay aligned.
enum { MESSAGES_AT = 16, TAKEN_BYTES = 16 };

static cj_mailbox box_of(const row_shape *s) {
    return (cj_mailbox){.words = s->slot_words, .paired = s->slot_words > 1};
}
static unsigned message_bytes(const row_shape *s) { return CJ_MAIL_BYTES * s->slot_words; }

// What each block has of a turn.
static unsigned turn_bytes(const row_shape *s) { return message_bytes(s) + (s->counted ? (unsigned)TAKEN_BYTES : 0); }

// Of what there is once but for copies: the counter, messages of both turns, and last tags.
static size_t once_bytes(const row_shape *s, uint32_t blocks) {
    return MESSAGES_AT + blocks * (2 * (size_t)turn_bytes(s) + sizeof(uint32_t));
}

size_t cj__row_mail_copy_bytes(const row_shape *s, uint32_t blocks) {
    return cj__mail_copy_bytes(once_bytes(s, blocks));
}

size_t cj__row_mail_bytes(const row_shape *s, uint32_t blocks) {
    return once_bytes(s, blocks) + (cj__mail_copies(s->blocks) - 1) * cj__row_mail_copy_bytes(s, blocks);
}

// ---- addresses: made where they are used, for there are registers to spare only before the row has come in

static cj_reg block_number(row_kernel *k) { return cj_mov(k->f, "u32", "block", "%ctaid.x"); }
static cj_reg grid_blocks(row_kernel *k) { return cj_mov(k->f, "u32", "blocks", "%nctaid.x"); }
static cj_reg group_number(row_kernel *k) { return cj_sub(k->f, "group", block_number(k), k->rank); }

static cj_reg messages_at(row_kernel *k) {
    return cj_add(k->f, "messages", cj__load_pointer(k->f, k->workspace, "workspace"), MESSAGES_AT);
}

// at + so many turns' messages: a number or a register.
static cj_reg after_turns(row_kernel *k, cj_reg at, cj_arg turns) {
    cj_reg bytes = cj_mul(k->f, "turn_bytes", grid_blocks(k), turn_bytes(k->s));
    return cj_mad_wide(k->f, "turn_at", bytes, turns, at);
}

static cj_reg turn_at(row_kernel *k) {
    cj_reg at = messages_at(k);
    return after_turns(k, at, CJ_ARG(cj_and(k->f, "odd", k->x.tag, 1)));
}

static void add_copies(row_kernel *k, cj_reg at, cj_reg copies) {
    cj_ptx(k->f, "mad.wide.u32 $1, $2, $3, $1;", at, copies, cj__row_mail_copy_bytes(k->s, k->plan->grid.x));
}

// Where the group's next row is sent, after the messages of all blocks.
static cj_reg taken_at(row_kernel *k, cj_reg turn) {
    cj_reg at = cj_mad_wide(k->f, "all_blocks", grid_blocks(k), message_bytes(k->s), turn);
    return cj_mad_wide(k->f, "taken_at", group_number(k), TAKEN_BYTES, at);
}

// Where the block's last tag is, after all messages.
static cj_reg last_tag_at(row_kernel *k) {
    cj_reg at = after_turns(k, messages_at(k), CJ_ARG(2));
    return cj_mad_wide(k->f, "last_tag_at", block_number(k), 4, at);
}

void cj__row_next_group(row_kernel *k, cj_reg row, cj_reg from) {
    cj_reg groups = grid_blocks(k);
    cj_update(k->f, groups, "div", k->s->blocks);
    cj_ptx(k->f, "add.u32 $1, $2, $3;", row, from, groups);
}

// ---- warps that wait for messages, each for those of every so-many-th 32 blocks

static unsigned waiting_warps(const row_kernel *k) {
    return (unsigned)cj__least(cj__ceil_div(k->s->blocks, ROW_WARP), k->s->warps);
}

static unsigned messages_a_lane(const row_kernel *k) {
    return (unsigned)cj__ceil_div(k->s->blocks, waiting_warps(k) * ROW_WARP);
}

static void open_mail(row_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "the rows, and the tag of this block's last message");
    k->x.rows = cj__row_load_rows(k);
    k->x.leads = cj_eq(f, "leads", k->thread, 0);
    k->x.tag = cj_let(f, "u32", "tag", "ld.global.u32 $1, [$2];", last_tag_at(k));
    if (k->s->counted) k->x.next = cj_u32(f, "next");
    if (k->s->warps == 1) return;
    const unsigned words = waiting_warps(k) * k->s->slot_words;
    k->x.row_at = cj_shared_address(f, cj_shared(f, "f32", "row_partial", words, 16));
    if (k->s->counted) k->x.next_at = cj_shared_address(f, cj_shared(f, "u32", "taken_row", 1, 0));
}

void cj__row_mail_close(row_kernel *k) {
    cj_step(k->f, "the tag stays, for the next launch");
    if (k->s->warps == 1) cj_ptx(k->f, "bar.warp.sync 0xffffffff; // P3: all lanes have read the last one");
    cj_ptx(k->f, "@$1 st.global.u32 [$2], $3;", k->x.leads, last_tag_at(k), k->x.tag);
}

// ---- sending

// Rank 0 has taken a row while this one came in. The one that takes the last row leaves the counter ready for the next launch.
static void send_taken(row_kernel *k, cj_reg turn) {
    cj_func *f = k->f;
    cj_note(f, "and so is the group's next row, by rank 0");
    cj_reg last = cj_sub(f, "last_taken", k->x.rows, 1);
    cj_reg is_last = cj__work_is_last(f, k->first, k->x.taken, last);
    cj__work_reset(f, is_last, cj__load_pointer(f, k->workspace, "counter"));
    cj__row_next_group(k, k->x.next, k->x.taken);
    cj__mail_send(f, &(cj_mailbox){.words = 1}, k->first, taken_at(k, turn), 0, &k->x.next, 1, k->x.tag);
}

// A lane writes each copy.
static void send(row_kernel *k, cj_reg turn) {
    const cj_mailbox box = box_of(k->s);
    const unsigned   copies = cj__mail_copies(k->s->blocks);
    cj_reg sends = k->x.leads, at = cj_mad_wide(k->f, "message_at", block_number(k), message_bytes(k->s), turn),
           value[ROW_VALUES];
    if (copies > 1) {
        add_copies(k, at, k->thread);
        sends = cj_lt(k->f, "sends", k->thread, copies);
    }
    cj__row_slot_values(k, value);
    cj__mail_send(k->f, &box, sends, at, 0, value, box.words, k->x.tag);
    if (k->s->counted) send_taken(k, turn);
}

// ---- waiting

// Where a lane's first message is, in its copy.
static cj_reg find_messages(row_kernel *k, cj_reg group, cj_reg turn) {
    const unsigned copies = cj__mail_copies(k->s->blocks);
    cj_reg         from = cj_add(k->f, "from", group, k->thread);
    cj_reg         at = cj_mad_wide(k->f, "messages_at", from, message_bytes(k->s), turn);
    if (copies > 1)
        add_copies(k, at,
                   cj_let(k->f, "u32", "copy", "and.b32 $1, $2, $3; // blocks share the copies", k->rank, copies - 1));
    return at;
}

// The lane's message, and its words; a lane that has none gets the identity.
typedef struct lane_message {
    cj_reg word[ROW_VALUES], absent[ROW_VALUES];
} lane_message;

static cj_message message_of(const row_kernel *k, lane_message *l, cj_reg at, unsigned number) {
    const unsigned offset = number * waiting_warps(k) * ROW_WARP * message_bytes(k->s);
    return (cj_message){box_of(k->s), at, offset, cj_always(), l->absent, l->word};
}

static void make_identity(row_kernel *k, lane_message *l) {
    const row_part identity = cj__row_part_new(k, "identity");
    cj__row_part_clear(k, &identity);
    for (unsigned w = 0; w < k->s->slot_words; w++) {
        cj_reg word[2];
        cj__mail_words(k->f, identity.value[w < k->op->values ? w : 0], word);
        l->absent[w] = word[0];
    }
}

static row_part received(row_kernel *k, const lane_message *l) {
    row_part part = {0};
    for (unsigned i = 0; i < k->op->values; i++) part.value[i] = cj__mail_value(k->f, "f32", "received", &l->word[i]);
    return part;
}

// The lane's messages from number `first` to `end`, folded into k->part with those before; in every lane, after the last,
// which comes with the group's next row.
static void gather_some(row_kernel *k, cj_reg at, unsigned first, unsigned end, cj_reg taken) {
    const bool     last = end == messages_a_lane(k);
    const unsigned remainder = k->s->blocks % (waiting_warps(k) * ROW_WARP), count = end - first;
    lane_message   lane[ROW_VALUES];
    cj_message     message[ROW_VALUES + 1];
    row_part       part[ROW_VALUES + 1];  // those before are the first part
    unsigned       messages = count, parts = 0;
    cj_reg         next;
    for (unsigned i = 0; i < count; i++) message[i] = message_of(k, &lane[i], at, first + i);
    if (last && remainder) {
        message[count - 1].there = cj_lt(k->f, "has_message", k->thread, remainder);
        make_identity(k, &lane[count - 1]);
    }
    if (k->s->counted && last)
        message[messages++] = (cj_message){.box = {.words = 1}, .at = taken, .there = cj_always(), .word = &next};
    cj__mail_receive(k->f, message, messages, k->x.tag, true);
    if (messages > count) cj_set(k->f, k->x.next, next);
    if (first) part[parts++] = k->part;
    for (unsigned i = 0; i < count; i++) part[parts++] = received(k, &lane[i]);
    cj__row_fold(k, &k->part, part, parts, last);
}

// k->part = the partials that the warp waits for, in every lane. Registers have few of them at once, while they have the
// row, too.
static void gather(row_kernel *k, cj_reg turn) {
    const unsigned all = messages_a_lane(k), at_once = ROW_VALUES / k->s->slot_words;
    cj_reg         group = group_number(k), taken = k->s->counted ? taken_at(k, turn) : cj_none();
    cj_step(k->f, "a lane waits for each message");
    cj_reg at = find_messages(k, group, turn);
    for (unsigned i = 0; i < all; i += at_once) gather_some(k, at, i, (unsigned)cj__least(i + at_once, all), taken);
}

// ---- the next launch

// So much of a row a block that the next launch's blocks have hardly room beside it, nor time to prefetch theirs.
bool cj__row_share_is_long(const row_kernel *k) { return k->s->pieces > 1 || k->s->held > LONG_SHARE_HELD; }

// Before the next launch's blocks start and prefetch their rows, this one's row is to be here; but a long one takes so
// long to come that they start at once.
bool cj__row_starts_next_late(const row_kernel *k) { return k->plan->programmatic && !cj__row_share_is_long(k); }

// ---- the block

// k->part = that of the row, for every warp of the block.
static void share(row_kernel *k, cj_label others) {
    cj_func       *f = k->f;
    const unsigned words = k->s->slot_words, warps = waiting_warps(k);
    const unsigned at_once = words * warps > MAIL_WORDS ? MAIL_WORDS_FEW / words : warps;
    row_part       part[ROW_WARP + 1];
    cj_step(f, "the row's values, for every warp of the block");
    cj_reg slot = cj_mad(f, "row_slot", k->warp, 4 * words, k->x.row_at);
    cj__row_store_slot(k, cj_eq(f, "writes", k->lane, 0), slot);
    if (k->s->counted) cj_ptx(f, "@$1 st.shared.u32 [$2], $3;", k->x.leads, k->x.next_at, k->x.next);
    cj_label_here(f, others);
    cj_ptx(f, "bar.sync 0; // P2: they are written");
    for (unsigned first = 0; first < warps; first += at_once) {
        unsigned parts = 0;
        if (first) part[parts++] = k->part;
        for (unsigned w = first; w < warps && w < first + at_once; w++) {
            part[parts] = warps > 1 ? cj__row_part_new(k, "shared") : k->part;
            cj__row_load_slot(k, &part[parts++], k->x.row_at, w * 4 * words, cj_always());
        }
        if (warps > 1) cj__row_fold(k, &k->part, part, parts, false);
    }
    if (k->s->counted) cj_ptx(f, "ld.shared.u32 $1, [$2];", k->x.next, k->x.next_at);
}

// Warp 0 combines the slots of the block; the other warps that wait for messages do not wait for that.
static void combine_slots(row_kernel *k, cj_reg slots, cj_label others, cj_label waits) {
    if (waiting_warps(k) < k->s->warps) {
        cj_reg idle = cj_ge(k->f, "idle", k->warp, waiting_warps(k));
        if (cj__row_starts_next_late(k)) cj_ptx(k->f, "@$1 griddepcontrol.launch_dependents;", idle);
        cj_ptx(k->f, "@$1 bra $2;", idle, others);
    }
    if (waiting_warps(k) > 1) cj_ptx(k->f, "@$1 bra $2;", cj_ne(k->f, "other_warp", k->warp, 0), waits);
    cj_step(k->f, "warp 0 combines them");
    cj__row_fold_slots(k, slots, k->s->warps);
}

static void exchange_mail(row_kernel *k, cj_reg slots) {
    const bool one = k->s->warps == 1;
    cj_label   others = cj_label_new(k->f, "others"), waits = cj_label_new(k->f, "wait_for_messages");
    cj__row_keep_late(k, false);
    cj_update(k->f, k->x.tag, "add", 1);
    cj_reg turn = turn_at(k);
    if (!one) combine_slots(k, slots, others, waits);
    cj_step(k->f, "the block's partial is sent, value by value, each with the row's tag");
    send(k, turn);
    cj_label_here(k->f, waits);
    if (cj__row_starts_next_late(k)) cj__launch_dependents(k->plan, k->f);
    gather(k, turn);
    if (!one) share(k, others);
}

// ---- warps, blocks, clusters and groups


static bool is_pushed(const row_kernel *k) { return k->s->cluster > 1; }

void cj__row_exchange_open(row_kernel *k, bool again) {
    cj_func       *f = k->f;
    const unsigned words = cj__row_slots_bytes(k->s) / 4;
    k->x.slots = k->x.turn = cj_none();
    if (k->s->blocks) open_mail(k);
    if (k->s->rows_per_block > 1 || cj__row_slots(k->s) == 1) return;
    k->x.slots = cj_shared_address(f, cj_shared(f, "f32", "slots", words * (again ? 2 : 1), 16));
    if (again) k->x.turn = cj_mov(f, "u32", "turn", 0);
    if (!is_pushed(k)) return;
    cj_step(f, "each block counts the bytes of the partials that come to it");
    k->x.push = cj__push_new(f, "partials_full");
    k->x.leads = cj_eq(f, "leads", k->thread, 0);
    cj__push_open(f, &k->x.push, k->x.leads, "publishes the mbarrier, at D2",
                  "D2: this block has started, its mbarrier is there");
}

// Where the warp's partial goes; of a cluster's warp, in every block.
static cj_reg own_slot(row_kernel *k, cj_reg slots) {
    cj_reg number = is_pushed(k) ? cj_mad(k->f, "slot_number", k->rank, k->s->warps, k->warp) : k->warp;
    return cj_mad(k->f, "own_slot", number, 4 * k->s->slot_words, slots);
}

static void push(row_kernel *k, cj_reg slots) {
    cj_func *f = k->f;
    cj_reg   value[ROW_VALUES];
    cj__row_slot_values(k, value);
    cj_step(f, "each warp pushes its partial to every block of the cluster, lane r to rank r");
    cj_reg slot = own_slot(k, slots), writes = cj_lt(f, "writes", k->lane, k->s->cluster);
    cj_reg to = cj_min(f, "to", k->lane, k->s->cluster - 1), peer = cj_cluster_map_address(f, slot, to);
    cj_reg gate = cj__push_gate(f, &k->x.push, to);
    cj__push_expect(f, &k->x.push, "D2: all blocks have started, their memory may be written", k->x.leads,
                    CJ_ARG(cj__row_slots_bytes(k->s)), "D3: all partials of the row");
    cj_st_async(f, writes, "f32", value, k->s->slot_words, peer, 0, gate);
    cj__push_wait(f, &k->x.push, "D3: every partial of the row is here");
}

void cj__row_exchange(row_kernel *k) {
    cj_func *f = k->f;
    cj_reg   slots = k->x.slots;
    bool     has_slots = !cj_is_none(slots);
    cj_step(f, "the warp's partial, in every lane");
    cj__row_fold(k, &k->part, &k->part, 1, true);
    if (has_slots && !cj_is_none(k->x.turn)) {
        slots = cj_add(f, "slots_at", k->x.slots, k->x.turn);
        cj_update(f, k->x.turn, "xor", cj__row_slots_bytes(k->s));
    }
    if (has_slots && is_pushed(k)) {
        push(k, slots);
    } else if (has_slots) {
        cj_step(f, "a slot a warp");
        cj_reg slot = own_slot(k, slots);
        cj__row_store_slot(k, cj_eq(f, "writes", k->lane, 0), slot);
        cj_ptx(f, k->s->blocks ? "bar.sync 0; // P1: every partial of the block is written"
                               : "bar.sync 0; // D1: every partial of the row is written");
    }
    if (k->s->blocks) {
        exchange_mail(k, slots);
    } else if (has_slots) {
        cj_step(f, "every warp combines all partials");
        cj__row_fold_slots(k, slots, cj__row_slots(k->s));
    }
}
