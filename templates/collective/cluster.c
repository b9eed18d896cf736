// SPDX-License-Identifier: Apache-2.0
// A collective of a cluster. With count=1 a block's parts are single values, which travel from registers to registers
// (cj_collective_value); else they are arrays in shared memory (cj_collective_array):
//
//   x[block]  --loads-->  pool: | from: parts in | to: parts out | scratch |  --stores-->  out[block]
//                               --- collective, `rounds` times --->
//
// Barriers, beside those of the collectives (ptxgen/cluster/collectives_*.c):
//   B1  bar.sync: the pool is zero before elements overwrite it.
//   B2  `to` has been read for the next round's input before it is overwritten. The collective's own barriers order that: with
//       PULL the cluster barriers, with PUSH the barrier at its head, which also orders the stores to `from` before it reads.
#include "collective.h"

typedef struct kernel {
    cj_func         *f;
    collective_shape s;
    uint32_t         threads, rounds;
    cj_var           x, out, cycles;
    cj_collectives   c;
    cj_reg           block;              // its number, cluster after cluster
    cj_reg           from, to, scratch;  // of arrays
    cj_reg           value, result;      // of values
} kernel;

static void write_head(const kernel *k, const cj_plan *plan, cj_builder *b) {
    cj_head(b, "clusterjit: collective  op=%s strategy=%s dtype=%s count=%u combine=%s cluster=%ux%ux%u rounds=%u\n",
            CJ_PARAM_WORD(plan, "op"), CJ_PARAM_WORD(plan, "strategy"), CJ_PARAM_WORD(plan, "dtype"), k->s.count,
            CJ_PARAM_WORD(plan, "combine"), plan->cluster.x, plan->cluster.y, plan->cluster.z, k->rounds);
    cj_head(b, "  x[block]: %u part%s of %u  -->  out[block]: %u part%s of %u\n", k->s.gives, k->s.gives > 1 ? "s" : "",
            k->s.count, k->s.gets, k->s.gets > 1 ? "s" : "", k->s.count);
    cj_head(b, "Launch: block %u threads, as a cluster launch; grid any multiple of the cluster along x.", k->threads);
}

static void declare(kernel *k, const cj_plan *plan) {
    k->x = cj_param(k->f, "u64", "x", "x[blocks][parts in][count]");
    k->out = cj_param(k->f, "u64", "out", "out[blocks][parts out][count]");
    k->cycles = cj_param(k->f, "u64", "cycles", "u64 cycles[blocks]");
    cj_param(k->f, "u64", "workspace", "not used");
    cj__registers(plan, k->f, COLLECTIVE_REGISTERS, k->s.count > 1);
}

// Where this block's `bytes` begin in a global array.
static cj_reg block_part(const kernel *k, cj_var param, const char *name, uint32_t bytes) {
    return cj_mad_wide(k->f, name, k->block, bytes, cj__load_pointer(k->f, param, name));
}

// ---- values

static void load_values(kernel *k) {
    const collective_dtype *type = k->s.dtype;
    cj_reg                  x = block_part(k, k->x, "x", k->s.gives * type->bytes), own = cj_always();
    cj_step(k->f, k->s.gives > 1 ? "lane r's value is for rank r" : "the block's value, in all lanes");
    k->value = cj_register(k->f, type->reg, "value");
    k->result = cj_let(k->f, type->reg, "result", "mov.$2 $1, 0;", type->bits);
    if (k->s.gives > 1) {
        cj_ptx(k->f, "mov.$1 $2, 0;", type->bits, k->value);
        x = cj_mad_wide(k->f, "x", k->c.lane, type->bytes, x);
        own = k->c.sends;
    }
    cj__load(k->f, own, "ld.global", type->memory, &k->value, 1, x, 0);
}

static void store_values(const kernel *k) {
    const uint32_t bytes = k->s.dtype->bytes;
    const bool     by_lane = k->s.gets > 1;
    cj_reg         out = block_part(k, k->out, "out", k->s.gets * bytes);
    cj_step(k->f, by_lane ? "lane r of warp 0 has rank r's value" : "one thread stores the result");
    if (by_lane) out = cj_mad_wide(k->f, "out", k->c.lane, bytes, out);
    cj__store(k->f, by_lane ? k->c.sends : k->c.first, "st.global", k->s.dtype->memory, &k->result, 1, out, 0);
}

// to = `from` of another lane.
static void shuffle(const kernel *k, cj_reg to, cj_reg from, cj_reg lane) {
    cj_func   *f = k->f;
    const bool is_half = k->s.dtype->reg[1] == '1', is_wide = k->s.dtype->bytes == 8;
    cj_reg     low = cj_b32(f, "low"), high = is_wide ? cj_b32(f, "high") : low;
    cj_ptx(f, is_wide ? "mov.b64 {$1, $3}, $2;" : is_half ? "cvt.u32.u16 $1, $2;" : "mov.b32 $1, $2;", low, from, high);
    if (is_wide) cj_ptx(f, "shfl.sync.idx.b32 $1, $1, $2, 31, 0xffffffff;", high, lane);
    cj_ptx(f, "shfl.sync.idx.b32 $1, $1, $2, 31, 0xffffffff;", low, lane);
    cj_ptx(f, is_wide ? "mov.b64 $1, {$2, $3};" : is_half ? "cvt.u16.u32 $1, $2;" : "mov.b32 $1, $2;", to, low, high);
}

static cj_reg next_part(const kernel *k, cj_reg part) { return cj__collective_next_part(k->f, &k->s, "next_part", part, k->c.rank); }

static void value_round(const kernel *k) {
    cj_collective_value(k->f, &k->c, &k->s.what, k->value, k->result);
    if (cj__collective_is_to_root(&k->s)) cj__collective_clear_others(k->f, &k->s, k->c.rank, k->result);
    if (k->s.gets == 1) {
        cj_ptx(k->f, "mov.$1 $2, $3;", k->s.dtype->bits, k->value, k->result);
        return;
    }
    cj_reg part = k->s.gives == 1 ? cj_mov(k->f, "u32", "part", 0) : k->c.lane;
    shuffle(k, k->value, k->result, next_part(k, part));
}

// ---- arrays

// Element `index` of parts at `base` in the pool.
static cj_reg element_at(const kernel *k, cj_reg base, cj_reg index) {
    cj_reg part = cj_div(k->f, "part", index, k->s.count), inside = cj_rem(k->f, "inside", index, k->s.count);
    return cj_mad(k->f, "at", inside, k->s.dtype->bytes, cj_mad(k->f, "part_at", part, k->s.part, base));
}

static void clear_pool(kernel *k) {
    cj_func       *f = k->f;
    const uint32_t parts = k->s.gives + k->s.gets;
    cj_step(f, "the pool: | from | to | scratch |; the first two are zero, their parts' last bytes too");
    k->from = cj_mov(f, "u32", "pool_from", "pool");
    cj_reg zero = cj_mov(f, "b32", "zero", 0);
    k->to = cj_add(f, "pool_to", k->from, k->s.gives * k->s.part);
    if (k->s.scratch) k->scratch = cj_add(f, "pool_scratch", k->from, parts * k->s.part);
    CJ_SHARE(f, at, "clear_at", k->c.thread, 16, k->threads, parts * k->s.part) {
        cj__store(f, cj_always(), "st.shared", "b32", (const cj_reg[]){zero, zero, zero, zero}, 4,
                  cj_add(f, "spot", k->from, at), 0);
    }
    cj_ptx(f, "bar.sync 0; // B1: they are there");
}

static void load_arrays(kernel *k) {
    const collective_dtype *type = k->s.dtype;
    const uint32_t          in = k->s.gives * k->s.count;
    cj_reg                  x = block_part(k, k->x, "x", in * type->bytes);
    clear_pool(k);
    cj_step(k->f, "the block's elements");
    CJ_SHARE(k->f, index, "index", k->c.thread, 1, k->threads, in) {
        cj_reg element = cj__load_value(k->f, cj_always(), "ld.global", type->memory, type->reg, "element",
                                        cj_mad_wide(k->f, "from", index, type->bytes, x));
        cj__store(k->f, cj_always(), "st.shared", type->memory, &element, 1, element_at(k, k->from, index), 0);
    }
}

static void store_arrays(const kernel *k) {
    cj_func                *f = k->f;
    const collective_dtype *type = k->s.dtype;
    const uint32_t          count = k->s.gets * k->s.count;
    cj_step(f, "the block's results");
    cj_reg out = block_part(k, k->out, "out", count * type->bytes);
    CJ_SHARE(f, index, "index", k->c.thread, 1, k->threads, count) {
        cj_reg element = cj__load_value(f, cj_always(), "ld.shared", type->memory, type->reg, "element",
                                        element_at(k, k->to, index));
        cj__store(f, cj_always(), "st.global", type->memory, &element, 1, cj_mad_wide(f, "to", index, type->bytes, out),
                  0);
    }
}

static void array_round(const kernel *k) {
    cj_func *f = k->f;
    cj_collective_array(f, &k->c, &k->s.what, k->s.part, k->to, k->from, k->scratch);
    cj_step(f, "the next round's input begins with what this round gave");
    CJ_SHARE(f, part, "part", k->c.thread, 1, k->threads, k->s.gives) {
        cj_reg there = cj_mad(f, "there", next_part(k, part), k->s.part, k->to);
        cj_reg here = cj_mad(f, "here", part, k->s.part, k->from);
        cj_reg w[4];
        cj_registers(f, "b32", "w", 4, w);
        cj__load(f, cj_always(), "ld.shared", "b32", w, 4, there, 0);
        cj__store(f, cj_always(), "st.shared", "b32", w, 4, here, 0);
    }
}

// ---- both

static void emit_rounds(const kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "the rounds");
    cj_collectives_ready(f, &k->c);
    cj_reg left = cj_mov(f, "u32", "rounds", k->rounds), begin = cj_mov(f, "u64", "begin", "%clock64");
    CJ_COUNT_DOWN(f, "round", left, 1) {
        (k->s.count == 1 ? value_round : array_round)(k);
    }
    cj_reg end = cj_mov(f, "u64", "end", "%clock64");
    cj_step(f, "the time they took");
    cj_collectives_close(f, &k->c);
    cj_reg time = cj_sub(f, "time", end, begin);
    cj__store(f, k->c.first, "st.global", "u64", &time, 1, block_part(k, k->cycles, "cycles", 8), 0);
}

void cj__collective_emit_cluster(const cj_plan *plan, cj_builder *b) {
    kernel k = {.s = cj__collective_shape(plan),
                .threads = plan->block.x,
                .rounds = (uint32_t)plan->params.value[COLLECTIVE_ROUNDS]};
    write_head(&k, plan, b);
    if (plan->dynamic_shared) cj_declare(b, ".extern .shared .align 16 .b8 pool[];");
    cj_func *f = k.f = cj__entry(plan, b);
    declare(&k, plan);
    cj_step(f, "what the collectives share");
    k.c = cj_collectives_open(f, &k.s.desc);
    k.block = cj_mad(f, "block", cj_cluster_number(f), k.s.cluster, k.c.rank);
    (k.s.count == 1 ? load_values : load_arrays)(&k);
    emit_rounds(&k);
    (k.s.count == 1 ? store_values : store_arrays)(&k);
    cj_ptx(f, "ret;");
}
