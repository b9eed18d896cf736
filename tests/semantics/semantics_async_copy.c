// SPDX-License-Identifier: Apache-2.0
// cp.async and cp.async.bulk: sizes, directions, masks, and every way to wait for them.
#include <stdio.h>
#include <string.h>

#include "semantics_async.h"
#include "test.h"

// ---- cp.async: neighbouring threads' pieces are STEP bytes apart

enum { STEP = 16, HALF = CJ_ASYNC_TILE / 2, WAYS = 5, SOURCES = 3 };

static const struct {
    const char *cache;
    unsigned    bytes;
} sizes[] = {{"ca", 4}, {"ca", 8}, {"ca", 16}, {"cg", 16}};

typedef enum source { WHOLE, PART, IGNORED } source;

// How the thread waits for the copies.
typedef enum way { ALL, GROUP, GROUPS, ARRIVE_NOINC, ARRIVE } way;

typedef struct copy {
    unsigned    bytes;
    source      source;
    way         way;
    const char *hint;
    char        mnemonic[80];
} copy;

static copy copy_of(unsigned index) {
    static const char *const hints[] = {"",          ".L2::cache_hint", ".L2::64B",
                                        ".L2::128B", ".L2::256B",       ".L2::cache_hint.L2::128B"};
    const unsigned           size = index % CJ_TEST_COUNT(sizes), rest = index / CJ_TEST_COUNT(sizes);
    copy                     c = {sizes[size].bytes, (source)(rest % SOURCES), (way)(rest / SOURCES % WAYS),
                                  hints[(index + rest) % CJ_TEST_COUNT(hints)], ""};
    snprintf(c.mnemonic, sizeof c.mnemonic, "cp.async.%s.shared%s.global%s", sizes[size].cache, rest % 2 ? "::cta" : "",
             c.hint);
    return c;
}

static unsigned copies_count(void) { return CJ_TEST_COUNT(sizes) * SOURCES * WAYS; }

static void copies_make(unsigned index, cj_async_case *c) {
    static const char *const ways[] = {"wait_all", "wait_group 0", "wait_group 1 of two groups",
                                       "mbarrier.arrive.noinc", "mbarrier.arrive"};
    static const char *const sources[] = {"", ", less source", ", ignored source"};
    const copy               it = copy_of(index);
    snprintf(c->name, sizeof c->name, "%s of %u bytes%s, %s", it.mnemonic, it.bytes, sources[it.source], ways[it.way]);
}

static void write_copy(const copy *it, unsigned offset, cj_text *text) {
    static const char *const sources[] = {"", ", %r2", ", %p1"};
    cj__text_printf(text, "    %s [%%r1 + %u], [%%l1 + %u], %u%s%s;\n", it->mnemonic, offset, offset, it->bytes,
                    sources[it->source], strstr(it->hint, "cache_hint") ? ", %policy" : "");
}

static void copies_write(const cj_async_case *c, cj_text *text) {
    const copy it = copy_of(c->index);
    cj__text_puts(text, "    @%first mbarrier.init.shared::cta.b64 [bar], 32;\n    bar.sync 0;\n");
    cj__text_printf(text,
                    "    mov.u32 %%r1, tile;\n    mad.lo.u32 %%r1, %%thread, %d, %%r1;\n"
                    "    mad.wide.u32 %%l1, %%thread, %d, %%in;\n    rem.u32 %%r2, %%thread, %u;\n"
                    "    and.b32 %%r3, %%thread, 1;\n    setp.ne.u32 %%p1, %%r3, 0;\n",
                    STEP, STEP, it.bytes + 1);
    write_copy(&it, 0, text);
    switch (it.way) {
    case ALL: cj__text_puts(text, "    cp.async.wait_all;\n"); break;
    case GROUP: cj__text_puts(text, "    cp.async.commit_group;\n    cp.async.wait_group 0;\n"); break;
    case GROUPS:  // reads the first group's bytes before it waits for the second group
        cj__text_puts(text, "    cp.async.commit_group;\n");
        write_copy(&it, HALF, text);
        cj__text_puts(text,
                      "    cp.async.commit_group;\n    cp.async.wait_group 1;\n    mul.wide.u32 %l2, %thread, 8;\n"
                      "    add.u64 %l2, %note, %l2;\n    ld.shared.u32 %l3, [%r1];\n    st.global.u64 [%l2], %l3;\n"
                      "    cp.async.wait_group 0;\n");
        break;
    case ARRIVE_NOINC:
        cj__text_puts(text, "    cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];\n");
        cj_async_wait(text, "wait", "bar", 0);
        break;
    case ARRIVE:
        cj__text_puts(text, "    cp.async.mbarrier.arrive.shared.b64 [bar];\n"
                            "    mbarrier.arrive.shared::cta.b64 %l2, [bar];\n");
        cj_async_wait(text, "wait", "bar", 0);
        break;
    }
}

static void copies_model(const cj_async_case *c, const cj_async_state *in, cj_async_state *out) {
    const copy it = copy_of(c->index);
    for (unsigned thread = 0; thread < c->threads; thread++) {
        const unsigned given = it.source == WHOLE  ? it.bytes
                               : it.source == PART ? thread % (it.bytes + 1)
                               : thread % 2        ? 0
                                                   : it.bytes;
        for (unsigned at = thread * STEP; at < CJ_ASYNC_TILE; at += HALF) {
            unsigned char *to = out->block[0].tile + at;
            memset(to, 0, it.bytes);
            memcpy(to, in->global + at, given);
            if (it.way != GROUPS) break;
        }
        if (it.way != GROUPS) continue;
        out->block[0].note[thread] = 0;
        memcpy(&out->block[0].note[thread], out->block[0].tile + thread * STEP, 4);
    }
}

const cj_async_family cj_async_copies = {"cp.async", copies_count, copies_make, copies_write, NULL, copies_model};

// ---- cp.async.bulk

typedef enum direction {
    LOAD,          // global to the block's own shared memory
    LOAD_CTA,      // the same, .shared::cta
    LOAD_PEER,     // to the next rank's shared memory
    MULTICAST,     // from rank 1 to the ranks of the mask
    PUSH,          // from shared memory to the next rank's
    PUSH_OWN,      // from shared memory to the block's own
    STORE,         // shared memory to global
    STORE_READ,    // the same; the source is overwritten as soon as it has been read
    STORE_GROUPS,  // two groups, with a wait after each
    PREFETCH,      // to L2, then LOAD
    DIRECTIONS
} direction;

static const char *const mnemonics[DIRECTIONS] = {
    [LOAD] = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
    [LOAD_CTA] = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes",
    [LOAD_PEER] = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
    [MULTICAST] = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster",
    [PUSH] = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
    [PUSH_OWN] = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
    [STORE] = "cp.async.bulk.global.shared::cta.bulk_group",
    [STORE_READ] = "cp.async.bulk.global.shared::cta.bulk_group",
    [STORE_GROUPS] = "cp.async.bulk.global.shared::cta.bulk_group",
    [PREFETCH] = "cp.async.bulk.prefetch.L2.global",
};

static const struct {
    unsigned bytes, from, to;
} extents[] = {{16, 0, 0}, {16, 16, 112}, {48, 32, 16}, {256, 144, 0}, {496, 0, 16}, {1024, 0, 0}};
static const unsigned masks[CJ_TEST_COUNT(extents)] = {0x2, 0xf, 0x1, 0x5, 0xa, 0xe};

enum { HINTED = 2, EXTENTS = CJ_TEST_COUNT(extents), REGION = CJ_ASYNC_GLOBAL / CJ_ASYNC_BLOCKS };

static unsigned    bulk_count(void) { return DIRECTIONS * EXTENTS * HINTED; }
static direction   direction_of(const cj_async_case *c) { return (direction)(c->index / HINTED / EXTENTS); }
static unsigned    extent_of(const cj_async_case *c) { return c->index / HINTED % EXTENTS; }
static bool        stores(direction d) { return d >= STORE && d <= STORE_GROUPS; }
static bool        pushes(direction d) { return d == PUSH || d == PUSH_OWN; }
static const char *hint(const cj_async_case *c, const char *text) {
    return c->index % HINTED && !pushes(direction_of(c)) ? text : "";
}

static void bulk_make(unsigned index, cj_async_case *c) {
    static const char *const targets[DIRECTIONS] = {
        "own", "own", "peer", "mask", "peer", "own", "to global", "read only first", "two groups", "then a load"};
    c->index = index;
    c->blocks = CJ_ASYNC_BLOCKS;
    const direction d = direction_of(c);
    const unsigned  e = extent_of(c);
    snprintf(c->name, sizeof c->name, "%s%s, %s", mnemonics[d], hint(c, ".L2::cache_hint"), targets[d]);
    const size_t length = strlen(c->name);
    snprintf(c->name + length, sizeof c->name - length, ", %u bytes from %u to %u, mask 0x%x", extents[e].bytes,
             extents[e].from, extents[e].to, d == MULTICAST ? masks[e] : 0);
}

// The rank whose copy goes to `rank` is the one before it; for a mask it is 1.
static bool receives(direction d, unsigned e, unsigned rank) {
    return !stores(d) && (d != MULTICAST || masks[e] >> rank & 1);
}

static void write_store(const cj_async_case *c, unsigned e, unsigned offset, cj_text *text) {
    cj__text_printf(text,
                    "    @%%first %s%s [%%l2 + %u], [from + %u], %u%s;\n    @%%first cp.async.bulk.commit_group;\n",
                    mnemonics[STORE], hint(c, ".L2::cache_hint"), extents[e].to + offset, extents[e].from,
                    extents[e].bytes, hint(c, ", %policy"));
}

static void write_stores(const cj_async_case *c, unsigned e, cj_text *text) {
    const direction d = direction_of(c);
    write_store(c, e, 0, text);
    if (d == STORE_GROUPS) {
        write_store(c, e, CJ_ASYNC_TILE, text);
        cj__text_printf(text,
                        "    @%%first cp.async.bulk.wait_group 1;\n    @%%first ld.global.u64 %%l3, [%%l2 + %u];\n"
                        "    @%%first st.global.u64 [%%note], %%l3;\n",
                        extents[e].to);
    }
    if (d == STORE_READ) {
        cj__text_printf(text,
                        "    @%%first cp.async.bulk.wait_group.read 0;\n    @%%first st.shared.u64 [from + %u], 0;\n",
                        extents[e].from);
    }
    cj__text_puts(text, "    @%first cp.async.bulk.wait_group 0;\n");
}

static void write_loads(const cj_async_case *c, unsigned e, cj_text *text) {
    const direction d = direction_of(c);
    const unsigned  bytes = extents[e].bytes;
    if (d == PREFETCH) {
        cj__text_printf(text, "    @%%first %s%s [%%l1 + %u], %u%s;\n", mnemonics[d], hint(c, ".L2::cache_hint"),
                        extents[e].from, bytes, hint(c, ", %policy"));
    }
    cj__text_printf(text, "    @%%p1 %s%s [%%r2], ", mnemonics[d == PREFETCH ? LOAD : d], hint(c, ".L2::cache_hint"));
    if (pushes(d))
        cj__text_printf(text, "[from + %u], %u, [%%r3];\n", extents[e].from, bytes);
    else
        cj__text_printf(text, "[%%l1 + %u], %u, [%%r3]%s%s;\n", extents[e].from, bytes, d == MULTICAST ? ", %h1" : "",
                        hint(c, ", %policy"));
    cj_async_wait(text, "wait", "bar", 0);
}

static void bulk_write(const cj_async_case *c, cj_text *text) {
    const direction d = direction_of(c);
    const unsigned  e = extent_of(c), mask = d == MULTICAST ? masks[e] : 0xf;
    cj__text_printf(text,
                    "    mad.wide.u32 %%l1, %%rank, %d, %%in;\n    mad.wide.u32 %%l2, %%rank, %d, %%out;\n"
                    "    add.u32 %%r1, %%rank, %d;\n    and.b32 %%r1, %%r1, %d;\n    mov.u16 %%h1, %u;\n",
                    REGION, REGION, d == LOAD_PEER || d == PUSH, CJ_ASYNC_BLOCKS - 1, mask);
    cj__text_printf(text,
                    "    mov.u32 %%r4, %u;\n    shr.u32 %%r4, %%r4, %%rank;\n    and.b32 %%r4, %%r4, 1;\n"
                    "    mul.lo.u32 %%r4, %%r4, %u;\n",
                    mask, extents[e].bytes);
    cj__text_puts(text,
                  "    @%first mbarrier.init.shared::cta.b64 [bar], 1;\n    fence.mbarrier_init.release.cluster;\n"
                  "    @%first mbarrier.arrive.expect_tx.shared::cta.b64 %l3, [bar], %r4;\n");
    if (d == MULTICAST)
        cj__text_puts(text, "    setp.eq.and.u32 %p1, %rank, 1, %first;\n");
    else
        cj__text_puts(text, "    mov.pred %p1, %first;\n");
    if (d == LOAD_CTA || d == MULTICAST) {
        cj__text_printf(text, "    mov.u32 %%r2, tile;\n    add.u32 %%r2, %%r2, %u;\n    mov.u32 %%r3, bar;\n",
                        extents[e].to);
    } else {
        cj_async_map(text, "%r2", "tile", extents[e].to, "%r1");
        cj_async_map(text, "%r3", "bar", 0, "%r1");
    }
    cj_async_barrier(c, text);
    if (stores(d))
        write_stores(c, e, text);
    else
        write_loads(c, e, text);
}

static void bulk_model(const cj_async_case *c, const cj_async_state *in, cj_async_state *out) {
    const direction d = direction_of(c);
    const unsigned  e = extent_of(c), bytes = extents[e].bytes;
    for (unsigned rank = 0; rank < CJ_ASYNC_BLOCKS; rank++) {
        const unsigned giver = d == MULTICAST ? 1 : (rank + (d == LOAD_PEER || d == PUSH ? 3 : 0)) % CJ_ASYNC_BLOCKS;
        const unsigned char *from = stores(d) || pushes(d) ? in->block[giver].from : in->global + giver * REGION;
        unsigned char       *to = stores(d) ? out->global + rank * REGION : out->block[rank].tile;
        if (stores(d) || receives(d, e, rank)) memcpy(to + extents[e].to, from + extents[e].from, bytes);
        if (d != STORE_GROUPS) continue;
        memcpy(to + extents[e].to + CJ_ASYNC_TILE, from + extents[e].from, bytes);
        memcpy(&out->block[rank].note[0], from + extents[e].from, 8);
    }
}

const cj_async_family cj_async_bulk = {"cp.async.bulk", bulk_count, bulk_make, bulk_write, NULL, bulk_model};
