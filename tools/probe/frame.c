// SPDX-License-Identifier: Apache-2.0
#include "frame.h"

#include <stdlib.h>

// Iterations of a wait: some seconds on a GPU, where a wait for an mbarrier sleeps; a wait that takes so long would
// never end.
enum { SPINS = 1 << 22 };

void frame_barrier(probe_frame *k, const char *why) {
    if (k->shape->cluster) {
        cj_cluster_arrive(k->f, CJ_ARRIVE_RELEASE, why);
        cj_cluster_wait(k->f, NULL);
    } else {
        cj_ptx(k->f, "bar.sync 0; // $1", why);
    }
}

void frame_start(probe_frame *k) {
    cj_step(k->f, "the clock starts");
    frame_barrier(k, "every block is ready");
    cj_ptx(k->f, "mov.u64 $1, %globaltimer;", k->start_time);
    cj_ptx(k->f, "mov.u64 $1, %clock64;", k->start_clock);
}

void frame_stop(probe_frame *k, bool settled) {
    cj_step(k->f, "the clock stops");
    if (settled) frame_barrier(k, "all has arrived");
    cj_ptx(k->f, "mov.u64 $1, %clock64;", k->cycles);
    cj_ptx(k->f, "mov.u64 $1, %globaltimer;", k->end_time);
    cj_ptx(k->f, "sub.u64 $1, $1, $2;", k->cycles, k->start_clock);
}

void frame_loop(probe_frame *k) {
    cj_reg none = cj_pred(k->f, "none");
    k->again = cj_label_new(k->f, "next_round");
    k->skip = cj_label_new(k->f, "last_round");
    cj_ptx(k->f, "mov.u32 $1, 0;", k->round);
    cj_ptx(k->f, "setp.eq.u32 $1, $2, 0;", none, k->rounds);
    cj_ptx(k->f, "@$1 bra $2;", none, k->skip);
    cj_label_here(k->f, k->again);
}

void frame_again(probe_frame *k) {
    cj_reg more = cj_pred(k->f, "more");
    cj_ptx(k->f, "add.u32 $1, $1, 1;", k->round);
    cj_ptx(k->f, "setp.lt.u32 $1, $2, $3;", more, k->round, k->rounds);
    cj_ptx(k->f, "@$1 bra $2;", more, k->again);
    cj_label_here(k->f, k->skip);
}

// The end of a wait's loop: branches back to `again` until `done`, at most SPINS times.
static void bounded(probe_frame *k, cj_label again, cj_reg done, cj_reg left) {
    cj_reg   over = cj_pred(k->f, "over");
    cj_label out = cj_label_new(k->f, "waited");
    cj_ptx(k->f, "@$1 bra $2;", done, out);
    cj_ptx(k->f, "sub.u32 $1, $1, 1;", left);
    cj_ptx(k->f, "setp.eq.u32 $1, $2, 0;", over, left);
    cj_ptx(k->f, "@!$1 bra $2;", over, again);
    cj_ptx(k->f, "trap; // it will never come");
    cj_label_here(k->f, out);
}

void frame_wait(probe_frame *k, cj_reg address, cj_reg parity) {
    cj_reg   done = cj_pred(k->f, "done"), left = frame_u32(k, "left", SPINS);
    cj_label again = cj_label_new(k->f, "wait");
    cj_label_here(k->f, again);
    cj_ptx(k->f, "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 $1, [$2], $3;", done, address, parity);
    bounded(k, again, done, left);
}

void frame_poll(probe_frame *k, const char *load, cj_reg value, cj_reg address, cj_reg least) {
    cj_reg   done = cj_pred(k->f, "done"), left = frame_u32(k, "left", SPINS);
    cj_label again = cj_label_new(k->f, "poll");
    cj_label_here(k->f, again);
    cj_ptx(k->f, "$1 $2, [$3];", load, value, address);
    cj_ptx(k->f, "setp.ge.u32 $1, $2, $3;", done, value, least);
    bounded(k, again, done, left);
}

void frame_mbarriers(probe_frame *k, cj_var first, uint32_t count, uint32_t arrivals) {
    for (uint32_t i = 0; i < count; i++)
        cj_ptx(k->f, "@$1 mbarrier.init.shared::cta.b64 [$2 + $3], $4;", k->first, first, 8 * i, arrivals);
    cj_ptx(k->f, "@$1 fence.mbarrier_init.release.cluster;", k->first);
}

cj_reg frame_u32(probe_frame *k, const char *name, uint32_t value) {
    cj_reg reg = cj_u32(k->f, name);
    cj_ptx(k->f, "mov.u32 $1, $2;", reg, value);
    return reg;
}

cj_reg frame_address(probe_frame *k, const char *name, cj_var variable) {
    cj_reg reg = cj_u32(k->f, name);
    cj_ptx(k->f, "mov.u32 $1, $2;", reg, variable);
    return reg;
}

cj_reg frame_data(probe_frame *k) {
    cj_reg reg = cj_u64(k->f, "at");
    cj_ptx(k->f, "ld.param.u64 $1, [$2];", reg, k->data);
    cj_ptx(k->f, "cvta.to.global.u64 $1, $1;", reg);
    return reg;
}

cj_reg frame_rank(probe_frame *k, const char *name, uint32_t by) {
    cj_reg reg = cj_u32(k->f, name);
    cj_ptx(k->f, "add.u32 $1, $2, $3;", reg, k->rank, by);
    cj_ptx(k->f, "and.b32 $1, $1, $2;", reg, k->size - 1);
    return reg;
}

void frame_element(probe_frame *k, cj_reg to, cj_var variable, cj_reg index, uint64_t bytes) {
    cj_ptx(k->f, "mov.u32 $1, $2;", to, variable);
    cj_ptx(k->f, "mad.lo.u32 $1, $2, $3, $1;", to, index, bytes);
}

void frame_map(probe_frame *k, cj_reg to, cj_reg address, cj_reg rank) {
    cj_ptx(k->f, "mapa.shared::cluster.u32 $1, $2, $3;", to, address, rank);
}

// Opens a loop in which `at` goes from memory + 16 * thread to the end of memory, in steps of all threads' 16 bytes.
typedef struct walk {
    cj_reg   at, end, more;
    cj_label again, over;
} walk;

static walk walk_open(probe_frame *k, cj_var memory, uint64_t bytes) {
    cj_func *f = k->f;
    walk     w = {.at = frame_address(k, "at", memory),
                  .end = cj_u32(f, "end"),
                  .more = cj_pred(f, "more"),
                  .again = cj_label_new(f, "next_words"),
                  .over = cj_label_new(f, "last_words")};
    cj_ptx(f, "add.u32 $1, $2, $3;", w.end, w.at, bytes);
    cj_ptx(f, "mad.lo.u32 $1, $2, 16, $1;", w.at, k->thread);
    cj_label_here(f, w.again);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", w.more, w.at, w.end);
    cj_ptx(f, "@!$1 bra $2;", w.more, w.over);
    return w;
}

static void walk_close(probe_frame *k, const walk *w) {
    cj_ptx(k->f, "add.u32 $1, $1, $2;", w->at, 16 * k->shape->threads);
    cj_ptx(k->f, "bra $1;", w->again);
    cj_label_here(k->f, w->over);
}

void frame_fill(probe_frame *k, cj_var memory, uint64_t bytes, cj_reg base, uint32_t scale) {
    cj_func *f = k->f;
    cj_reg   word[4];
    for (int i = 0; i < 4; i++) word[i] = cj_u32(f, "word");
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", word[0], k->thread, 4 * scale, base);
    walk w = walk_open(k, memory, bytes);
    for (int i = 1; i < 4; i++) cj_ptx(f, "add.u32 $1, $2, $3;", word[i], word[i - 1], scale);
    cj_ptx(f, "st.shared.v4.u32 [$1], {$2, $3, $4, $5};", w.at, word[0], word[1], word[2], word[3]);
    cj_ptx(f, "add.u32 $1, $1, $2;", word[0], 4 * scale * k->shape->threads);
    walk_close(k, &w);
}

void frame_sum(probe_frame *k, cj_var memory, uint64_t bytes) {
    cj_func *f = k->f;
    cj_reg   word[4];
    for (int i = 0; i < 4; i++) word[i] = cj_u32(f, "word");
    walk w = walk_open(k, memory, bytes);
    cj_ptx(f, "ld.shared.v4.u32 {$1, $2, $3, $4}, [$5];", word[0], word[1], word[2], word[3], w.at);
    for (int i = 0; i < 4; i++) cj_ptx(f, "add.u32 $1, $1, $2;", k->check, word[i]);
    walk_close(k, &w);
}

// ---- a whole kernel

static void open_frame(probe_frame *k, cj_builder *b, const probe_kernel *kernel) {
    const probe_shape *s = k->shape;
    cj_func           *f = k->f = cj_entry(b, kernel->name);
    k->out = cj_param(f, "u64", "out", "a record for each block: start and end in ns, cycles, check; zero before");
    k->data = cj_param(f, "u64", "data", "global memory: the data of loads, or of exchanges between blocks");
    cj_var rounds = cj_param(f, "u32", "rounds", "of the timed loop");
    k->step = cj_param(f, "u32", "step", "ranks between reader and owner");
    cj_block(f, s->threads, 1, 1);
    if (s->cluster) cj_cluster(f, s->cluster, 1, 1);
    k->thread = cj_u32(f, "thread");
    k->block = cj_u32(f, "block");
    k->rounds = cj_u32(f, "rounds");
    k->round = cj_u32(f, "round");
    k->first = cj_pred(f, "first");
    k->start_clock = cj_u64(f, "start_clock");
    k->start_time = cj_u64(f, "start");
    k->cycles = cj_u64(f, "cycles");
    k->end_time = cj_u64(f, "end_time");
    cj_ptx(f, "mov.u32 $1, %tid.x;", k->thread);
    cj_ptx(f, "mov.u32 $1, %ctaid.x;", k->block);
    cj_ptx(f, "ld.param.u32 $1, [$2];", k->rounds, rounds);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", k->first, k->thread);
    k->rank = s->cluster ? cj_cluster_rank(f) : frame_u32(k, "rank", 0);
    k->check = frame_u32(k, "check", 0);
}

static void close_frame(probe_frame *k) {
    cj_func *f = k->f;
    cj_reg   out = cj_u64(f, "record"), check = cj_u64(f, "check_wide");
    cj_step(f, "the block's record");
    cj_ptx(f, "ld.param.u64 $1, [$2];", out, k->out);
    cj_ptx(f, "cvta.to.global.u64 $1, $1;", out);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", out, k->block, sizeof(probe_record));
    cj_ptx(f, "@$1 st.global.u64 [$2], $3;", k->first, out, k->start_time);
    cj_ptx(f, "@$1 st.global.u64 [$2 + 8], $3;", k->first, out, k->end_time);
    cj_ptx(f, "@$1 st.global.u64 [$2 + 16], $3;", k->first, out, k->cycles);
    cj_ptx(f, "cvt.u64.u32 $1, $2;", check, k->check);
    cj_ptx(f, "red.relaxed.gpu.global.add.u64 [$1 + 24], $2;", out, check);
    if (k->shape->cluster) frame_barrier(k, "no block exits while a peer accesses its shared memory");
    cj_ptx(f, "ret;");
}

bool probe_fit(const probe_kernel *kernel, probe_shape *shape, uint64_t limit) {
    enum { MBARRIERS = 256, LEAST = 16384 };
    if (!kernel->shared_bytes) return true;
    while (kernel->shared_bytes(shape) + MBARRIERS > limit) {
        if (!kernel->any_size || shape->bytes < 2 * LEAST) return false;
        shape->bytes /= 2;
    }
    return true;
}

cj_status probe_write(const probe_kernel *kernel, const probe_shape *shape, const char *arch, char **text,
                      size_t *length, cj_error *error) {
    cj_builder *b = cj_builder_create(arch);
    probe_frame k = {.shape = shape, .size = shape->cluster ? shape->cluster : 1};
    cj_head(b, "clusterjit probe: %s", kernel->name);
    open_frame(&k, b, kernel);
    kernel->write(&k);
    close_frame(&k);
    cj_status status = cj_builder_finish(b, text, length, error);
    cj_builder_destroy(b);
    return status;
}
