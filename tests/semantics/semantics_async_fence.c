// SPDX-License-Identifier: Apache-2.0
// Fences and cluster barriers: one thread sends a message - a word in memory, then a flag - to another one; the case's
// instruction orders the two. The reader waits for the flag at most TRIES times.
#include <stdio.h>
#include <string.h>

#include "semantics_async.h"
#include "test.h"

enum { TRIES = 1000000, MESSAGE = 1234567 };

// Sender and reader: a warp and the next one, or a block and its peer.
typedef enum span { WARPS, BLOCKS } span;

typedef struct fence {
    span        span;
    const char *scope;  // of the flag's accesses; "": a cluster barrier instead of the flag
    const char *release, *acquire;
} fence;

#define SAME(span, scope, text) \
    { span, scope, text, text }
#define EVERY_FENCE(span, scope)                                                  \
    SAME(span, scope, "fence." scope), SAME(span, scope, "fence.acq_rel." scope), \
        SAME(span, scope, "fence.sc." scope), {                                   \
        span, scope, "fence.release." scope, "fence.acquire." scope               \
    }
#define BARRIER(arrive, wait) \
    { BLOCKS, "", "barrier.cluster.arrive" arrive, "barrier.cluster.wait" wait }

static const fence fences[] = {
    EVERY_FENCE(WARPS, "cta"),
    EVERY_FENCE(WARPS, "gpu"),
    EVERY_FENCE(BLOCKS, "cluster"),
    EVERY_FENCE(BLOCKS, "gpu"),
    EVERY_FENCE(BLOCKS, "sys"),
    SAME(WARPS, "cta", "membar.cta"),
    SAME(BLOCKS, "gpu", "membar.gl"),
    SAME(BLOCKS, "sys", "membar.sys"),
    BARRIER("", ""),
    BARRIER("", ".acquire"),
    BARRIER(".aligned", ".aligned"),
    BARRIER(".release", ".acquire"),
    BARRIER(".release.aligned", ".acquire.aligned"),
    BARRIER(".release", ".acquire.aligned"),
    {BLOCKS, "", "fence.acq_rel.cluster;\n    barrier.cluster.arrive.relaxed", "barrier.cluster.wait"},
    {BLOCKS, "", "fence.acq_rel.cluster;\n    barrier.cluster.arrive.relaxed.aligned",
     "barrier.cluster.wait.acquire.aligned"},
};

// Instructions without a visible effect here: they come before the message is sent.
static const char *const silent[] = {
    "fence.proxy.alias",
    "fence.proxy.async",
    "fence.proxy.async.global",
    "fence.proxy.async.shared::cta",
    "fence.proxy.async.shared::cluster",
    "fence.mbarrier_init.release.cluster",
    "fence.acquire.sync_restrict::shared::cluster.cluster",
    "fence.release.sync_restrict::shared::cta.cluster",
    "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
    "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
    "fence.proxy.tensormap::generic.release.cta",
    "fence.proxy.tensormap::generic.release.cluster",
    "fence.proxy.tensormap::generic.release.gpu",
    "fence.proxy.tensormap::generic.release.sys",
    "fence.proxy.tensormap::generic.acquire.cta [%out], 128",
    "fence.proxy.tensormap::generic.acquire.cluster [%out], 128",
    "fence.proxy.tensormap::generic.acquire.gpu [%out], 128",
    "fence.proxy.tensormap::generic.acquire.sys [%out], 128",
    "griddepcontrol.wait",
    "griddepcontrol.launch_dependents",
};

enum { FENCES = CJ_TEST_COUNT(fences), PLACES = 2 };  // the message is in global or in shared memory

static unsigned     fences_count(void) { return FENCES * PLACES + CJ_TEST_COUNT(silent); }
static bool         is_shared(const cj_async_case *c) { return c->index < FENCES * PLACES && c->index % PLACES; }
static const fence *fence_of(const cj_async_case *c) {
    static const fence any = SAME(BLOCKS, "gpu", "fence.acq_rel.gpu");
    return c->index < FENCES * PLACES ? &fences[c->index / PLACES] : &any;
}

static const char *silent_of(const cj_async_case *c) {
    return c->index < FENCES * PLACES ? NULL : silent[c->index - FENCES * PLACES];
}

static void fences_make(unsigned index, cj_async_case *c) {
    c->index = index;
    const fence *f = fence_of(c);
    c->threads = 64;
    c->blocks = f->span == BLOCKS ? 2 : 1;
    if (silent_of(c))
        snprintf(c->name, sizeof c->name, "%s", silent_of(c));
    else
        snprintf(c->name, sizeof c->name, "%s, then %s, %s", f->release, f->acquire,
                 is_shared(c) ? "shared" : "global");
}

// %r1: the message's address in shared memory, %l1 in global; %p1, %p2: whether the thread writes, whether it reads.
static void fences_write(const cj_async_case *c, cj_text *text) {
    const fence *f = fence_of(c);
    const char  *message = is_shared(c) ? "[%r1]" : "[%l1]", *space = is_shared(c) ? "shared::cluster" : "global";
    cj_async_map(text, "%r1", "tile", 0, "0");
    cj__text_puts(text, "    mov.u64 %l1, %out;\n    add.u64 %l2, %out, 4096;\n");
    if (f->span == BLOCKS)
        cj__text_puts(text, "    setp.eq.and.u32 %p1, %rank, 0, %first;\n    setp.eq.and.u32 %p2, %rank, 1, %first;\n");
    else
        cj__text_puts(text, "    mov.pred %p1, %first;\n    setp.eq.u32 %p2, %thread, 32;\n");
    if (f->span == WARPS && is_shared(c)) cj__text_puts(text, "    mov.u32 %r1, tile;\n");
    cj_async_barrier(c, text);
    if (silent_of(c)) cj__text_printf(text, "    %s;\n", silent_of(c));
    cj__text_printf(text, "    @%%p1 st.%s.u32 %s, %d;\n", space, message, MESSAGE);
    if (!*f->scope) {
        cj__text_printf(text, "    %s;\n    %s;\n", f->release, f->acquire);
    } else {
        cj__text_printf(text,
                        "    @!%%p1 bra written;\n    %s;\n    st.relaxed.%s.global.u32 [%%l2], 1;\nwritten:\n"
                        "    @!%%p2 bra read;\n    mov.u32 %%tries, 0;\nagain:\n"
                        "    ld.relaxed.%s.global.u32 %%r2, [%%l2];\n    add.u32 %%tries, %%tries, 1;\n"
                        "    setp.ne.u32 %%p3, %%r2, 1;\n    setp.lt.and.u32 %%p3, %%tries, %d, %%p3;\n"
                        "    @%%p3 bra again;\n    %s;\nread:\n",
                        f->release, f->scope, f->scope, TRIES, f->acquire);
    }
    cj__text_printf(
        text, "    @%%p2 ld.%s.u32 %%r3, %s;\n    cvt.u64.u32 %%l3, %%r3;\n    @%%p2 st.global.u64 [%%note], %%l3;\n",
        space, message);
}

static void fences_fill(const cj_async_case *c, cj_async_state *in, uint64_t *random) {
    (void)c;
    (void)random;
    memset(in->global + 4096, 0, 4);  // the flag
}

static void fences_model(const cj_async_case *c, const cj_async_state *in, cj_async_state *out) {
    const fence   *f = fence_of(c);
    const uint32_t message = MESSAGE, flag = *f->scope ? 1 : 0;
    (void)in;
    memcpy(is_shared(c) ? out->block[0].tile : out->global, &message, sizeof message);
    memcpy(out->global + 4096, &flag, sizeof flag);
    out->block[f->span == BLOCKS].note[0] = message;
}

const cj_async_family cj_async_fences = {"fences", fences_count, fences_make, fences_write, fences_fill, fences_model};
