// SPDX-License-Identifier: Apache-2.0
// The device's own limits: two kernels that only read, and read and write, a few vectors of 16 bytes a thread and turn.
// The launch determines the order in which blocks take the vectors, and the number of blocks: the fastest combination
// is found by trying.
#include <clusterjit/kernel.h>
#include <clusterjit/ptx.h>
#include <math.h>
#include <stdbool.h>

#include "measure.h"

enum { VECTOR = 16, UNROLL_MAX = 4, L2_TIMES = 64, MEMORY_SHARE = 16, ROUNDS = 5 };

typedef struct ceiling_kernel {
    const char *name;
    bool        writes;
    int         unroll;  // vectors a thread and turn: copies are fastest when reads and writes alternate
} ceiling_kernel;

enum { READ, COPY };
static const ceiling_kernel kernels[] = {[READ] = {"read", false, 4}, [COPY] = {"copy", true, 1}};

// Threads a block; blocks an SM, 0: as many as give each block one turn; whether a block's vectors of a turn are
// contiguous, else the first vectors of the whole grid are, then its second ones, and so on.
static const struct {
    uint32_t threads, blocks;
    bool     together;
} shapes[] = {{1024, 2, false}, {512, 4, false}, {256, 8, false}, {512, 4, true},
              {1024, 0, true},  {512, 0, true},  {256, 0, true},  {128, 0, true}};

typedef struct registers {
    cj_reg from, to, step, turn, turns, fold, v[UNROLL_MAX][4];
} registers;

static void write_start(cj_func *f, const ceiling_kernel *k, registers *r) {
    cj_var p_from = cj_param(f, "u64", "from", "16-byte vectors");
    cj_var p_to = cj_param(f, "u64", "to", k->writes ? "as many" : "one word, which is all but never written");
    cj_var p_block = cj_param(f, "u64", "block_bytes", "from a block's first vector to the next block's");
    cj_var p_step = cj_param(f, "u64", "step", "from a thread's vector to its next, in bytes");
    cj_var p_turn = cj_param(f, "u64", "turn", "from a turn's first vector to the next one's");
    cj_var p_turns = cj_param(f, "u32", "turns", NULL);
    cj_reg first = cj_u64(f, "first"), block = cj_u64(f, "block"), id = cj_u32(f, "id");
    *r = (registers){.from = cj_u64(f, "from"),
                     .to = cj_u64(f, "to"),
                     .step = cj_u64(f, "step"),
                     .turn = cj_u64(f, "turn"),
                     .turns = cj_u32(f, "turns"),
                     .fold = cj_b32(f, "fold")};
    for (int i = 0; i < k->unroll * 4; i++) r->v[i / 4][i % 4] = cj_b32(f, "v");

    cj_step(f, "this thread's first vector");
    cj_ptx(f, "ld.param.u64 $1, [$2];", r->from, p_from);
    cj_ptx(f, "ld.param.u64 $1, [$2];", r->to, p_to);
    cj_ptx(f, "ld.param.u64 $1, [$2];", block, p_block);
    cj_ptx(f, "ld.param.u64 $1, [$2];", r->step, p_step);
    cj_ptx(f, "ld.param.u64 $1, [$2];", r->turn, p_turn);
    cj_ptx(f, "ld.param.u32 $1, [$2];", r->turns, p_turns);
    cj_ptx(f, "mov.u32 $1, %ctaid.x;", id);
    cj_ptx(f, "cvt.u64.u32 $1, $2;", first, id);
    cj_ptx(f, "mul.lo.u64 $1, $1, $2;", first, block);
    cj_ptx(f, "mov.u32 $1, %tid.x;", id);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", first, id, VECTOR);
    cj_ptx(f, "add.u64 $1, $1, $2;", r->from, first);
    if (k->writes) cj_ptx(f, "add.u64 $1, $1, $2;", r->to, first);
    cj_ptx(f, "mov.b32 $1, 0;", r->fold);
}

// Writes a thread's accesses of one turn, all reads or all writes; `base` advances to the next turn.
static void write_vectors(cj_func *f, const ceiling_kernel *k, const registers *r, cj_reg at, cj_reg base, bool store) {
    cj_ptx(f, "mov.u64 $1, $2;", at, base);
    for (int i = 0; i < k->unroll; i++) {
        const cj_reg *v = r->v[i];
        if (store)
            cj_ptx(f, "st.global.v4.b32 [$1], {$2, $3, $4, $5};", at, v[0], v[1], v[2], v[3]);
        else
            cj_ptx(f, "ld.global.nc.v4.b32 {$1, $2, $3, $4}, [$5];", v[0], v[1], v[2], v[3], at);
        cj_ptx(f, "add.u64 $1, $1, $2;", at, r->step);
    }
    cj_ptx(f, "add.u64 $1, $1, $2;", base, r->turn);
}

static void write_kernel(cj_builder *b, const ceiling_kernel *k) {
    cj_func  *f = cj_entry(b, k->name);
    registers r;
    cj_reg    at = cj_u64(f, "at"), more = cj_pred(f, "more");
    cj_label  again = cj_label_new(f, "again");
    write_start(f, k, &r);
    cj_step(f, "a turn: all loads, then what is done with them");
    cj_label_here(f, again);
    write_vectors(f, k, &r, at, r.from, false);
    if (k->writes) write_vectors(f, k, &r, at, r.to, true);
    for (int i = 0; i < k->unroll * 4 && !k->writes; i++) cj_ptx(f, "xor.b32 $1, $1, $2;", r.fold, r.v[i / 4][i % 4]);
    cj_ptx(f, "sub.u32 $1, $1, 1;", r.turns);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", more, r.turns);
    cj_ptx(f, "@$1 bra $2;", more, again);
    if (!k->writes) {
        cj_step(f, "a use of what was read, so that nothing is left out");
        cj_ptx(f, "setp.eq.u32 $1, $2, 0x9e3779b9;", more, r.fold);
        cj_ptx(f, "@$1 st.global.b32 [$2], $3;", more, r.to, r.fold);
    }
    cj_ptx(f, "ret;");
}

typedef struct ceiling {
    cj_device *device;
    cj_module *module;
    cj_ptr     from, to;
    uint64_t   bytes;  // of each
} ceiling;

// A kernel with one of the shapes.
typedef struct trial {
    const ceiling *c;
    cj_function   *function;
    uint32_t       grid, block, turns;
    uint64_t       block_bytes, step, turn;
} trial;

enum { KERNELS = sizeof kernels / sizeof *kernels, SHAPES = sizeof shapes / sizeof *shapes };

static cj_status load(ceiling *c, cj_error *error) {
    char       *text = NULL;
    size_t      length;
    cj_builder *b = cj_builder_create(cj_limits_arch(cj_device_limits(c->device)));
    for (size_t i = 0; i < KERNELS; i++) write_kernel(b, &kernels[i]);
    cj_status status = cj_builder_finish(b, &text, &length, error);
    if (!status) status = cj_module_from_ptx(c->device, text, length, &c->module, error);
    cj_text_free(text);
    cj_builder_destroy(b);
    return status;
}

static cj_status launch(void *user, unsigned copy, cj_stream stream, cj_error *error) {
    const trial     *t = user;
    cj_launch_config config = {
        CJ_INIT(config),         .function = t->function,
        .grid = {t->grid, 1, 1}, .block = {t->block, 1, 1},
        .stream = stream,        CJ_ARGS(t->c->from, t->c->to, t->block_bytes, t->step, t->turn, t->turns)};
    (void)copy;  // there is one set of buffers, much larger than the cache
    return cj_launch(t->c->device, &config, error);
}

static cj_status choose_shape(trial *t, const ceiling *c, size_t kernel, size_t shape, cj_error *error) {
    const uint64_t row = (uint64_t)shapes[shape].threads * VECTOR;
    const uint64_t share = row * (uint64_t)kernels[kernel].unroll;  // bytes of a block in a turn
    *t = (trial){.c = c, .block = shapes[shape].threads};
    t->grid = shapes[shape].blocks ? shapes[shape].blocks * cj_device_limits(c->device)->sm_count
                                   : (uint32_t)(c->bytes / share);
    t->block_bytes = shapes[shape].together ? share : row;
    t->step = shapes[shape].together ? row : row * t->grid;
    t->turn = share * t->grid;
    t->turns = (uint32_t)(c->bytes / t->turn);
    return cj_module_function(c->module, kernels[kernel].name, &t->function, error);
}

// Measures each kernel's fastest shape: its median, in bytes a second.
static cj_status measure_kernels(const ceiling *c, double rate[KERNELS], cj_error *error) {
    trial     trials[KERNELS][SHAPES];
    contender contenders[KERNELS * SHAPES] = {0};
    cj_status status = CJ_OK;
    for (size_t i = 0; !status && i < KERNELS * SHAPES; i++) {
        trial *t = &trials[i / SHAPES][i % SHAPES];
        status = choose_shape(t, c, i / SHAPES, i % SHAPES, error);
        contenders[i] = (contender){.launch = launch, .user = t, .copies = 1};
    }
    if (!status) status = measure(c->device, contenders, KERNELS * SHAPES, ROUNDS, error);
    for (size_t i = 0; !status && i < KERNELS * SHAPES; i++) {
        const trial *t = contenders[i].user;
        const double bytes = (double)(t->turns * t->turn) * (kernels[i / SHAPES].writes ? 2 : 1);
        rate[i / SHAPES] = fmax(rate[i / SHAPES], bytes / (contenders[i].time.median * 1e-3));
    }
    return status;
}

cj_status measure_ceilings(cj_device *device, double *read, double *copy, cj_error *error) {
    const cj_limits *limits = cj_device_limits(device);
    double           rate[KERNELS] = {0};
    *read = *copy = 0;
    if (!measure_is_real(device)) return CJ_OK;
    ceiling c = {.device = device, .bytes = limits->l2_bytes * L2_TIMES};
    if (c.bytes > limits->global_bytes / MEMORY_SHARE) c.bytes = limits->global_bytes / MEMORY_SHARE;
    cj_status status = load(&c, error);
    if (!status) status = cj_mem_alloc(device, (size_t)c.bytes, &c.from, error);
    if (!status) status = cj_mem_alloc(device, (size_t)c.bytes, &c.to, error);
    if (!status) status = cj_mem_fill(device, c.from, 0x3c, (size_t)c.bytes, NULL, error);
    if (!status) status = measure_kernels(&c, rate, error);
    *read = rate[READ];
    *copy = rate[COPY];
    cj_mem_free(device, c.from);
    cj_mem_free(device, c.to);
    cj_module_unload(c.module);
    return status;
}
