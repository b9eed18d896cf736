// SPDX-License-Identifier: Apache-2.0
// reduce: op over x[0..n) in one kernel.
//
// Algorithm. The grid splits x into equal slices, one a block (whole cache lines, so that each begins as aligned as x does;
// exactly ceil(n / grid) elements where each block has a result of its own). Each thread combines its share of the slice, 16 bytes a
// load; then partial results meet at four levels: warp (redux.sync or shuffles), block (shared memory), cluster
// (distributed shared memory), grid (a workspace in global memory, finished by the cluster that comes last).
//
//   x: | slice of block 0 | slice of block 1 | …                       global
//        threads -> warps
//   warp_part[warps]       of each block                               shared
//        warp 0 -> one value, pushed through mapa + st.shared::cluster
//   block_part[cluster]    of rank 0 of each cluster                   distributed shared
//        warp 0 of rank 0 -> one value a cluster
//   workspace: | ticket | part of cluster 0 | part of cluster 1 | …    global
//        warp 0 of rank 0 of the last cluster -> out[0]
//
// Within a slice the bytes are | head | body | tail |: the body begins and ends at multiples of 16 bytes and is read with
// vector loads; head and tail are each shorter than 16 bytes, and one scalar load by the first threads covers each.
//
// Barriers, and why each is needed and enough:
//   B1  bar.sync, or nothing with one warp: orders the writes of warp_part before warp 0 reads them.
//   B2  barrier.cluster, arrived at first of all (relaxed: there is nothing to publish) and waited for just before the push:
//       a block's shared memory may be touched only once that block has started. The loads hide it.
//   B3  barrier.cluster, release and acquire: publishes block_part to rank 0. No block but rank 0 is written to, and rank 0
//       waits here for the last push, so every block may exit behind it; a barrier before the exit would order nothing.
//   The ticket (atom.acq_rel.gpu) publishes the cluster's part and acquires all the others'; bar.warp.sync hands what lane 0
//       acquired to its warp. It counts modulo the number of clusters, so the last one leaves it at 0 for the next launch.
//
// With result=block nothing meets above the cluster: rank 0 writes its cluster's block_part to out. Generated without
// clusters (cluster=0, or a target that has none), a block's value goes to the workspace directly; B2 and B3 are gone.
//
// With dependent=yes (programmatic dependent launch) nothing global is touched before griddepcontrol.wait, behind which all that
// the kernels before have written is visible: also the workspace, when that is this very kernel. Once a block has its loads,
// griddepcontrol.launch_dependents lets the next kernel's blocks into the room that is left. x is then not read through
// ld.global.nc, which asks that nobody writes it while the kernel runs.
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "family.h"
#include "user_function.h"

enum { N, BLOCK, CLUSTER, OP, DTYPE, GRID, RESULT, WEIGHT, DEPENDENT, MAP, OP_EXPR, IDENTITY };

static const cj_param_info params[] = {
    [N] = {"n", NULL, 1, UINT64_C(1) << 40, 0, "1024", "elements of x", NULL},
    [BLOCK] = {"block", NULL, 32, 1024, 32, "256", "threads a block", NULL},
    [CLUSTER] = {"cluster", NULL, 0, 16, 0, "4", "blocks a cluster; 0: generate without clusters", NULL},
    [OP] = {"op", "sum min max", 0, 0, 0, "sum", "how two values become one", NULL},
    [DTYPE] = {"dtype", "f32 f64 i32 u32 i64 u64", 0, 0, 0, "f32", "type of x and of the result", NULL},
    [GRID] = {"grid", NULL, 0, INT32_MAX, 0, "0", "blocks in the grid, a multiple of cluster; 0: chosen for the device",
              NULL},
    [RESULT] = {"result", "total block", 0, 0, 0, "total", "one value for all of x, or one for each block's slice",
                NULL},
    [WEIGHT] = {"weight", "none block", 0, 0, 0, "none", "block: the elements of block b's slice count b + 1 times",
                NULL},
    [DEPENDENT] = {.name = "dependent", .choices = "no yes", .initial = "no",
                   .help = "yes: may start while the kernel before it on the stream still runs, and lets the next one (sm_90)"},
    [MAP] = {.name = "map", .function = "x", .initial = "", .help = "what each element becomes first"},
    [OP_EXPR] = {.name = "op-expr", .function = "a b", .initial = "",
                 .help = "how two values become one, in place of op: associative and commutative"},
    [IDENTITY] = {.name = "identity", .function = "", .initial = "",
                  .help = "with op-expr: the constant e for which op-expr of e and any x is x"},
};

// Bytes a load, loads in flight a thread, bytes of a cache line, and where the workspace's parts begin.
enum { LOAD_BYTES = 16, UNROLL = 4, LINE_BYTES = 128, WORKSPACE_PARTS = 16 };

// ptx: the type of arithmetic; digits: of the significand of a float, 0 for an integer.
static const struct dtype {
    const char *ptx;
    unsigned    bytes, digits;
} dtypes[] = {{"f32", 4, FLT_MANT_DIG}, {"f64", 8, DBL_MANT_DIG}, {"s32", 4, 0}, {"u32", 4, 0}, {"s64", 8, 0}, {"u64", 8, 0}};

static uint64_t ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

static const struct dtype *dtype_of(const cj_plan *plan) { return &dtypes[plan->params.value[DTYPE]]; }

// Blocks that a grid of clusters takes: enough to give each thread a load, and at most half of the threads that the SMs
// hold. Half keeps enough loads in flight to saturate the memory, and leaves room for every cluster to be resident at once
// although clusters cannot use every SM: a second wave of clusters would make the others wait.
static uint64_t choose_grid(const cj_plan *plan, const cj_limits *limits, uint64_t group) {
    uint64_t block = plan->params.value[BLOCK], elements = LOAD_BYTES / dtype_of(plan)->bytes;
    uint64_t per_sm = limits->max_threads_per_sm / 2 / block;
    if (per_sm > limits->max_blocks_per_sm / 2) per_sm = limits->max_blocks_per_sm / 2;
    if (!per_sm) per_sm = 1;
    uint64_t most = limits->sm_count * per_sm / group;  // groups
    uint64_t wanted = ceil_div(plan->params.value[N], block * elements * group);
    if (wanted > most) wanted = most;
    return (wanted ? wanted : 1) * group;
}

// How many roundings lie on the longest way from an element to the result.
static double roundings(const cj_plan *plan, uint64_t slice, uint64_t groups) {
    double loads = ceil((double)slice * dtype_of(plan)->bytes / LOAD_BYTES / plan->block.x);
    double thread = loads / UNROLL + UNROLL + 4, tree = 5 + 5 + 4;
    return thread + tree + ceil((double)groups / 32) + 5 + 1;
}

// The user's functions: each of the right signature, and an operation with its identity.
static cj_status check_functions(const cj_plan *plan, cj_error *error) {
    const cj_user_function *const *function = plan->params.function;
    const cj_dtype type = (cj_dtype)plan->params.value[DTYPE];
    for (int i = MAP; i <= IDENTITY; i++) {
        static const uint32_t counts[] = {[MAP] = 1, [OP_EXPR] = 2, [IDENTITY] = 0};
        if (!function[i]) continue;
        cj_status status = cj__user_function_check(function[i], params[i].name, type, counts[i], error);
        if (status) return status;
    }
    if (!function[OP_EXPR] != !function[IDENTITY]) {
        cj__fail(error, CJ_INVALID_ARGUMENT, function[OP_EXPR] ? "identity is missing: op-expr needs one"
                                                               : "identity goes with op-expr only");
        cj__hint(error, "identity is the value e for which op-expr of e and any x is x: 0 for a + b, INT_MIN for the larger"
                        " int");
        return CJ_INVALID_ARGUMENT;
    }
    if (function[IDENTITY] && !function[IDENTITY]->is_constant)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "identity: '%.200s' is not a constant", function[IDENTITY]->text);
    if (!function[OP_EXPR] || plan->params.value[OP] == CJ_COMBINE_SUM) return CJ_OK;
    cj__fail(error, CJ_INVALID_ARGUMENT, "op and op-expr exclude each other");
    cj__hint(error, "leave op at its default");
    return CJ_INVALID_ARGUMENT;
}

static cj_status refuse_weight(const cj_plan *plan, cj_error *error) {
    bool sums = plan->params.value[OP] == CJ_COMBINE_SUM && !plan->params.function[OP_EXPR];
    if (!plan->params.value[WEIGHT] || sums) return CJ_OK;
    cj__fail(error, CJ_INVALID_ARGUMENT, "weight=block goes with op=sum only");
    cj__hint(error, "choose op=sum or weight=none");
    return CJ_INVALID_ARGUMENT;
}

static cj_status plan_reduce(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    const uint64_t *value = plan->params.value;
    cj_status status = check_functions(plan, error);
    if (!status) status = refuse_weight(plan, error);
    if (status) return status;
    uint32_t cluster = (uint32_t)value[CLUSTER];
    if (cluster && !clusters) {
        snprintf(plan->note, sizeof plan->note, "%s has no thread block clusters (they need sm_90): generated without,"
                 " cluster=%" PRIu32 " is not used", plan->arch, cluster);
        cluster = 0;
    }
    if (value[DEPENDENT] && !clusters) {
        const size_t used = strlen(plan->note);
        snprintf(plan->note + used, sizeof plan->note - used, "%s%s has no dependent launches (they need sm_90):"
                 " dependent=yes is not used", used ? "; " : "", plan->arch);
    }
    uint32_t group = cluster ? cluster : 1;
    plan->block = (cj_dim3){(uint32_t)value[BLOCK], 1, 1};
    if (cluster) plan->cluster = (cj_dim3){cluster, 1, 1};
    uint64_t grid = value[GRID] ? value[GRID] : choose_grid(plan, limits, group);
    uint64_t groups = ceil_div(grid, group), slice = ceil_div(value[N], grid);
    const struct dtype *dtype = dtype_of(plan);
    if (!value[RESULT]) slice = ceil_div(slice * dtype->bytes, LINE_BYTES) * (LINE_BYTES / dtype->bytes);
    plan->grid = (cj_dim3){(uint32_t)grid, 1, 1};
    plan->derived[plan->derived_count++] = slice;
    plan->programmatic = value[DEPENDENT] && clusters;
    plan->workspace_bytes = value[RESULT] ? 0 : WORKSPACE_PARTS + groups * 8;
    if (dtype->digits && plan->params.function[OP_EXPR]) {
        plan->error_bound = NAN;
    } else if (dtype->digits && value[OP] == CJ_COMBINE_SUM) {
        double relative = roundings(plan, slice, groups) * ldexp(1, -(int)dtype->digits);
        plan->error_bound = relative / (1 - relative);
    }
    char op[8], type[8];
    snprintf(plan->entry, sizeof plan->entry, "reduce_%s_%s",
             plan->params.function[OP_EXPR] ? "user" : cj_params_word(&plan->params, "op", op, sizeof op),
             cj_params_word(&plan->params, "dtype", type, sizeof type));
    return CJ_OK;
}

// ---- the kernel

// What the steps share.
typedef struct kernel {
    const cj_plan *plan;
    cj_func       *f;
    cj_combine     combine;
    bool           maps;
    cj_callee      map;
    const char    *type, *load;                    // of x
    unsigned       bytes, vector, warps, cluster;  // cluster 0: without
    bool           per_block;                      // result=block
    cj_var         x, out, n, slice, workspace, warp_part, block_part;
    cj_reg         thread, lane, block;
    cj_reg         first, body, tail, last;        // addresses: the slice is [first, last), its vectors [body, tail)
    cj_reg         part;                           // the partial result, level by level
    cj_reg         leader;                         // lane 0 of warp 0
    cj_label       done;
} kernel;

static void write_head(const kernel *k, cj_builder *b, const char *op, const char *dtype) {
    const cj_plan *plan = k->plan;
    cj_head(b, "clusterjit: reduce  op=%s dtype=%s block=%u cluster=%u result=%s weight=%s%s",
            plan->params.function[OP_EXPR] ? "op-expr" : op, dtype, plan->block.x, k->cluster,
            k->per_block ? "block" : "total", plan->params.value[WEIGHT] ? "block" : "none",
            plan->programmatic ? " dependent=yes" : "");
    for (int i = MAP; i <= IDENTITY; i++)
        if (plan->params.function[i]) cj_head(b, "  %s: %.200s", params[i].name, plan->params.function[i]->text);
    cj_head(b, "%s", "");
    cj_head(b, "  slice of x     --16-byte loads------->  threads --warp--> warp_part[%u]   (each block)", k->warps);
    if (k->cluster)
        cj_head(b, "  block's value  --mapa + st.cluster--->  block_part[%u]                    (rank 0)", k->cluster);
    if (k->per_block)
        cj_head(b, "  each block's value  ---------------->  out[block]");
    else
        cj_head(b, "  %s's value  --ticket-------->  workspace --last %s--> out[0]", k->cluster ? "cluster" : "block  ",
                k->cluster ? "cluster" : "block");
    cj_head(b, "%s", "");
    cj_head(b, "Launch: block %u threads%s; grid any%s; slice * grid >= n.", plan->block.x,
            k->cluster ? ", as a cluster launch" : "", k->cluster > 1 ? " multiple of the cluster" : "");
    if (!k->per_block)
        cj_head(b, "The workspace holds a u32 ticket, zero before the first launch and left zero, then 8 bytes for each %s.",
                k->cluster ? "cluster" : "block");
}

static void declare(kernel *k) {
    cj_func *f = k->f;
    k->x = cj_param(f, "u64", "x", "x[n], aligned to the element");
    k->out = cj_param(f, "u64", "out", k->per_block ? "out[blocks]" : "out[1]");
    k->n = cj_param(f, "u64", "n", "elements");
    k->slice = cj_param(f, "u64", "slice", "elements a block");
    k->workspace = cj_param(f, "u64", "workspace", k->per_block ? "not used" : "ticket and parts");
    cj_block(f, k->plan->block.x, 1, 1);
    if (k->cluster) cj_cluster(f, k->cluster, 1, 1);
    if (k->warps > 1) k->warp_part = cj_shared(f, k->type, "warp_part", k->warps, 0);
    if (k->cluster) k->block_part = cj_shared(f, k->type, "block_part", k->cluster, 0);
}

static void emit_identity(kernel *k) {
    cj_func *f = k->f;
    k->thread = cj_u32(f, "thread");
    k->lane = cj_u32(f, "lane");
    k->block = cj_u32(f, "block");
    k->leader = cj_pred(f, "leader");
    if (k->cluster) cj_cluster_arrive(f, CJ_ARRIVE_RELAXED, "B2: this block has started");
    cj_ptx(f, "mov.u32 $1, %tid.x;", k->thread);
    cj_ptx(f, "and.b32 $1, $2, 31;", k->lane, k->thread);
    cj_ptx(f, "mov.u32 $1, %ctaid.x;", k->block);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", k->leader, k->thread);
}

static void emit_slice(kernel *k) {
    cj_func *f = k->f;
    cj_reg x = cj_u64(f, "x"), n = cj_u64(f, "n"), slice = cj_u64(f, "slice"), begin = cj_u64(f, "begin"), end = cj_u64(f, "end");
    k->first = cj_u64(f, "first");
    k->body = cj_u64(f, "body");
    k->tail = cj_u64(f, "tail");
    k->last = cj_u64(f, "last");
    cj_step(f, "the block's slice, [begin, end) in elements, [first, last) in bytes; its aligned part is [body, tail)");
    cj_ptx(f, "ld.param.u64 $1, [$2];", x, k->x);
    cj_ptx(f, "ld.param.u64 $1, [$2];", n, k->n);
    cj_ptx(f, "ld.param.u64 $1, [$2];", slice, k->slice);
    cj_ptx(f, "cvta.to.global.u64 $1, $1;", x);
    cj_ptx(f, "cvt.u64.u32 $1, $2;", begin, k->block);
    cj_ptx(f, "mul.lo.u64 $1, $1, $2;", begin, slice);
    cj_ptx(f, "min.u64 $1, $1, $2;", begin, n);
    cj_ptx(f, "add.u64 $1, $2, $3;", end, begin, slice);
    cj_ptx(f, "min.u64 $1, $1, $2;", end, n);
    cj_ptx(f, "mad.lo.u64 $1, $2, $3, $4;", k->first, begin, k->bytes, x);
    cj_ptx(f, "mad.lo.u64 $1, $2, $3, $4;", k->last, end, k->bytes, x);
    cj_ptx(f, "add.u64 $1, $2, $3;", k->body, k->first, LOAD_BYTES - 1);
    cj_ptx(f, "and.b64 $1, $1, $2;", k->body, -LOAD_BYTES);
    cj_ptx(f, "min.u64 $1, $1, $2;", k->body, k->last);
    cj_ptx(f, "and.b64 $1, $2, $3;", k->tail, k->last, -LOAD_BYTES);
    cj_ptx(f, "max.u64 $1, $1, $2;", k->tail, k->body);
}

static void load_vector(const kernel *k, const cj_reg *v, cj_reg at, const char *where) {
    if (k->vector == 4)
        cj_ptx(k->f, "$1.v4.$2 {$3, $4, $5, $6}, [$7$8];", k->load, k->type, v[0], v[1], v[2], v[3], at, where);
    else
        cj_ptx(k->f, "$1.v2.$2 {$3, $4}, [$5$6];", k->load, k->type, v[0], v[1], at, where);
}

// What is loaded becomes what the user's map makes of it.
static void map_vector(const kernel *k, const cj_reg *v) {
    for (unsigned i = 0; k->maps && i < k->vector; i++) cj_call(k->f, k->map, v[i], v[i]);
}

// into[i] = into[i] op from[i] for a vector.
static void combine_vectors(const kernel *k, const cj_reg *into, const cj_reg *from) {
    for (unsigned i = 0; i < k->vector; i++) cj_combine_into(k->f, k->combine, into[i], from[i]);
}

// The body: UNROLL loads in flight, combined pairwise, while that many are left; then one at a time.
static void emit_body(kernel *k, const cj_reg *sum, cj_reg at) {
    cj_func *f = k->f;
    const unsigned stride = k->plan->block.x * LOAD_BYTES;
    cj_reg more = cj_pred(f, "more"), ahead = cj_u64(f, "ahead"), v[UNROLL][4];
    for (unsigned u = 0; u < UNROLL; u++)
        for (unsigned i = 0; i < k->vector; i++) {
            char name[8];
            snprintf(name, sizeof name, "v%u%c", u, "xyzw"[i]);
            v[u][i] = cj_register(f, k->type, name);
        }
    cj_label four = cj_label_new(f, "next_four"), one = cj_label_new(f, "next_one"), end = cj_label_new(f, "body_done");
    cj_label last_ones = cj_label_new(f, "last_ones");

    cj_step(f, "body: four loads in flight a thread, while four are left");
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", at, k->thread, LOAD_BYTES, k->body);
    cj_ptx(f, "add.u64 $1, $2, $3;", ahead, at, (UNROLL - 1) * stride);
    cj_ptx(f, "setp.lt.u64 $1, $2, $3;", more, ahead, k->tail);
    cj_ptx(f, "@!$1 bra $2;", more, last_ones);
    cj_label_here(f, four);
    for (unsigned u = 0; u < UNROLL; u++) {
        char offset[24] = "";
        if (u) snprintf(offset, sizeof offset, " + %u", u * stride);
        load_vector(k, v[u], at, offset);
    }
    for (unsigned u = 0; u < UNROLL; u++) map_vector(k, v[u]);
    for (unsigned distance = 1; distance < UNROLL; distance *= 2)
        for (unsigned u = 0; u < UNROLL; u += 2 * distance) combine_vectors(k, v[u], v[u + distance]);
    combine_vectors(k, sum, v[0]);
    cj_ptx(f, "add.u64 $1, $1, $2;", at, UNROLL * stride);
    cj_ptx(f, "add.u64 $1, $1, $2;", ahead, UNROLL * stride);
    cj_ptx(f, "setp.lt.u64 $1, $2, $3;", more, ahead, k->tail);
    cj_ptx(f, "@$1 bra $2;", more, four);

    cj_step(f, "the last ones, one by one");
    cj_label_here(f, last_ones);
    cj_ptx(f, "setp.lt.u64 $1, $2, $3;", more, at, k->tail);
    cj_ptx(f, "@!$1 bra $2;", more, end);
    cj_label_here(f, one);
    load_vector(k, v[0], at, "");
    map_vector(k, v[0]);
    combine_vectors(k, sum, v[0]);
    cj_ptx(f, "add.u64 $1, $1, $2;", at, stride);
    cj_ptx(f, "setp.lt.u64 $1, $2, $3;", more, at, k->tail);
    cj_ptx(f, "@$1 bra $2;", more, one);
    cj_label_here(f, end);
}

// One element by each of the first threads, while they lie in [from, to). A user's map sees elements alone, so the other
// threads go around it.
static void emit_edge(const kernel *k, cj_reg into, cj_reg at, cj_reg from, cj_reg to, cj_reg inside) {
    cj_func *f = k->f;
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", at, k->thread, k->bytes, from);
    cj_ptx(f, "setp.lt.u64 $1, $2, $3;", inside, at, to);
    if (!k->maps) {
        cj_ptx(f, "@$1 $2.$3 $4, [$5];", inside, k->load, k->type, into, at);
        return;
    }
    cj_label none = cj_label_new(f, "no_element");
    cj_ptx(f, "@!$1 bra $2;", inside, none);
    cj_ptx(f, "$1.$2 $3, [$4];", k->load, k->type, into, at);
    cj_call(f, k->map, into, into);
    cj_label_here(f, none);
}

static void emit_dependency(const kernel *k, const char *step, const char *line) {
    if (!k->plan->programmatic) return;
    cj_step(k->f, "%s", step);
    cj_ptx(k->f, line);
}

static void emit_thread(kernel *k) {
    cj_func *f = k->f;
    static const char *const names[] = {"part", "part_y", "part_z", "part_w"};
    cj_reg sum[4] = {{0}}, at = cj_u64(f, "at"), inside = cj_pred(f, "inside");
    const char *identity = cj_combine_identity(k->combine);
    for (unsigned i = 0; i < k->vector; i++) sum[i] = cj_register(f, k->type, names[i]);
    k->part = sum[0];
    emit_dependency(k, "what the kernels before have written can be read", "griddepcontrol.wait;");
    cj_step(f, "each thread's part starts as the identity; the first threads take head and tail");
    for (unsigned i = 0; i < k->vector; i++) cj_ptx(f, "mov.$1 $2, $3;", k->type, sum[i], identity);
    emit_edge(k, sum[0], at, k->first, k->body, inside);
    emit_edge(k, sum[1], at, k->tail, k->last, inside);
    emit_body(k, sum, at);
    emit_dependency(k, "the next kernel's blocks may start where there is room", "griddepcontrol.launch_dependents;");
    for (unsigned distance = k->vector / 2; distance; distance /= 2)
        for (unsigned i = 0; i < distance; i++) cj_combine_into(f, k->combine, sum[i], sum[i + distance]);
}

static void emit_warp_and_block(kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "warp: all lanes get the warp's part");
    cj_warp_reduce(f, k->combine, k->part, 32);
    if (k->warps == 1) return;
    cj_reg warp_leader = cj_pred(f, "warp_leader"), reads = cj_pred(f, "reads"), slot = cj_u32(f, "slot"), warp = cj_u32(f, "warp");
    cj_step(f, "block: a slot a warp, combined by every warp alike (only warp 0's result is used)");
    cj_ptx(f, "mov.u32 $1, $2;", slot, k->warp_part);
    cj_ptx(f, "shr.u32 $1, $2, 5;", warp, k->thread);
    cj_ptx(f, "mad.lo.u32 $1, $1, $2, $3;", warp, k->bytes, slot);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", warp_leader, k->lane);
    cj_ptx(f, "@$1 st.shared.$2 [$3], $4;", warp_leader, k->type, warp, k->part);
    cj_ptx(f, "bar.sync 0; // B1: warp_part is written");
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", slot, k->lane, k->bytes);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", reads, k->lane, k->warps);
    cj_ptx(f, "mov.$1 $2, $3;", k->type, k->part, cj_combine_identity(k->combine));
    cj_ptx(f, "@$1 ld.shared.$2 $3, [$4];", reads, k->type, k->part, slot);
    cj_warp_reduce(f, k->combine, k->part, k->warps);
}

static void emit_weight(kernel *k) {
    if (!k->plan->params.value[WEIGHT]) return;
    cj_func *f = k->f;
    bool is_float = *k->type == 'f';
    cj_reg number = cj_u32(f, "number"), weight = cj_register(f, k->type, "weight");
    cj_step(f, "weight: block b counts b + 1 times");
    cj_ptx(f, "add.u32 $1, $2, 1;", number, k->block);
    if (is_float) cj_ptx(f, "cvt.rn.$1.u32 $2, $3;", k->type, weight, number);
    else if (k->bytes == 8) cj_ptx(f, "cvt.$1.u32 $2, $3;", k->type, weight, number);
    else cj_ptx(f, "mov.b32 $1, $2;", weight, number);
    cj_ptx(f, "mul$1.$2 $3, $3, $4;", is_float ? ".rn" : ".lo", k->type, k->part, weight);
}

// Leaves the cluster's block_part in rank 0, of which only warp 0 stays.
static void emit_cluster(kernel *k) {
    cj_func *f = k->f;
    cj_reg outside = cj_pred(f, "outside"), slot = cj_u32(f, "slot"), reads = cj_pred(f, "reads");
    cj_step(f, "cluster: every block pushes its part to rank 0 (B2 before, B3 behind)");
    cj_reg rank = cj_cluster_rank(f);
    cj_cluster_gather_push(f, k->type, k->block_part, k->part, rank, k->leader);
    cj_step(f, "only warp 0 of rank 0 goes on");
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", outside, rank);
    cj_ptx(f, "@$1 bra $2;", outside, k->done);
    cj_ptx(f, "setp.ge.u32 $1, $2, 32;", outside, k->thread);
    cj_ptx(f, "@$1 bra $2;", outside, k->done);
    cj_ptx(f, "mov.u32 $1, $2;", slot, k->block_part);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", slot, k->lane, k->bytes);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", reads, k->lane, k->cluster);
    cj_ptx(f, "mov.$1 $2, $3;", k->type, k->part, cj_combine_identity(k->combine));
    cj_ptx(f, "@$1 ld.shared.$2 $3, [$4];", reads, k->type, k->part, slot);
}

static cj_reg load_pointer(const kernel *k, cj_var param, const char *name) {
    cj_reg pointer = cj_u64(k->f, name);
    cj_ptx(k->f, "ld.param.u64 $1, [$2];", pointer, param);
    cj_ptx(k->f, "cvta.to.global.u64 $1, $1;", pointer);
    return pointer;
}

// result=block: out[block] by one thread a block, or by the lanes of rank 0, whose block index is the cluster's first.
static void emit_block_results(kernel *k) {
    cj_func *f = k->f;
    cj_reg writes = k->leader;
    cj_step(f, "a result for each block");
    cj_reg out = load_pointer(k, k->out, "out");
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", out, k->block, k->bytes);
    if (k->cluster) {
        writes = cj_pred(f, "writes");
        cj_ptx(f, "setp.lt.u32 $1, $2, $3;", writes, k->lane, k->cluster);
        cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", out, k->lane, k->bytes);
    }
    cj_ptx(f, "@$1 st.global.$2 [$3], $4;", writes, k->type, out, k->part);
}

// The grid's end: each group (cluster, or block without clusters) leaves its part; the last to come combines them all, in
// an order that does not depend on who that is.
static void emit_grid(kernel *k) {
    cj_func *f = k->f;
    const char *what = k->cluster ? "cluster" : "block";
    cj_reg groups = cj_u32(f, k->cluster ? "clusters" : "blocks"), group = cj_u32(f, what), newest = cj_u32(f, "newest");
    cj_reg ticket = cj_u32(f, "ticket"), early = cj_pred(f, "early"), alone = cj_pred(f, "alone"), past = cj_pred(f, "past");
    cj_reg at = cj_u64(f, "at"), value = cj_register(f, k->type, "value");
    cj_label finish = cj_label_new(f, "write_result"), next = cj_label_new(f, "next_part"), all = cj_label_new(f, "all_parts");

    cj_step(f, "grid: a %s alone is done; else it leaves its part and takes a ticket", what);
    cj_ptx(f, "mov.u32 $1, %$2;", groups, k->cluster ? "nclusterid.x" : "nctaid.x");
    cj_ptx(f, "mov.u32 $1, %$2;", group, k->cluster ? "clusterid.x" : "ctaid.x");
    cj_ptx(f, "setp.eq.u32 $1, $2, 1;", alone, groups);
    cj_ptx(f, "@$1 bra $2;", alone, finish);
    cj_reg workspace = load_pointer(k, k->workspace, "workspace");
    cj_ptx(f, "mad.wide.u32 $1, $2, 8, $3;", at, group, workspace);
    cj_ptx(f, "@$1 st.global.$2 [$3 + $4], $5;", k->leader, k->type, at, WORKSPACE_PARTS, k->part);
    cj_ptx(f, "sub.u32 $1, $2, 1;", newest, groups);
    cj_ptx(f, "@$1 atom.acq_rel.gpu.global.inc.u32 $2, [$3], $4; // wraps to 0 behind the last", k->leader, ticket, workspace,
           newest);
    cj_ptx(f, "shfl.sync.idx.b32 $1, $1, 0, 31, 0xffffffff;", ticket);
    cj_ptx(f, "setp.ne.u32 $1, $2, $3;", early, ticket, newest);
    cj_ptx(f, "@$1 bra $2;", early, k->done);
    cj_ptx(f, "bar.warp.sync 0xffffffff; // what lane 0 acquired is visible to the warp");

    cj_step(f, "the last %s combines all parts, always in the same order", what);
    cj_ptx(f, "mov.$1 $2, $3;", k->type, k->part, cj_combine_identity(k->combine));
    cj_ptx(f, "mov.u32 $1, $2;", group, k->lane);
    cj_ptx(f, "mad.wide.u32 $1, $2, 8, $3;", at, k->lane, workspace);
    cj_label_here(f, next);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, group, groups);
    cj_ptx(f, "@$1 bra $2;", past, all);
    cj_ptx(f, "ld.global.$1 $2, [$3 + $4];", k->type, value, at, WORKSPACE_PARTS);
    cj_combine_into(f, k->combine, k->part, value);
    cj_ptx(f, "add.u32 $1, $1, 32;", group);
    cj_ptx(f, "add.u64 $1, $1, 256;", at);
    cj_ptx(f, "bra $1;", next);
    cj_label_here(f, all);
    cj_warp_reduce(f, k->combine, k->part, 32);

    cj_step(f, "one thread writes the result");
    cj_label_here(f, finish);
    cj_reg out = load_pointer(k, k->out, "out");
    cj_ptx(f, "@$1 st.global.$2 [$3], $4;", k->leader, k->type, out, k->part);
}

// A function's constant value in PTX.
static const char *constant_text(const cj_plan *plan, const cj_user_function *function, char buffer[24]) {
    const struct dtype *dtype = dtype_of(plan);
    uint64_t bits = function->constant;
    if (dtype->bytes == 4) bits &= UINT32_MAX;
    if (dtype->digits) snprintf(buffer, 24, dtype->bytes == 4 ? "0f%08" PRIX64 : "0d%016" PRIX64, bits);
    else if (*dtype->ptx == 'u') snprintf(buffer, 24, "%" PRIu64, bits);
    else snprintf(buffer, 24, "%" PRId64, dtype->bytes == 4 ? (int64_t)(int32_t)bits : (int64_t)bits);
    return buffer;
}

static void add_functions(kernel *k, cj_builder *b, char identity[24]) {
    const cj_user_function *const *function = k->plan->params.function;
    k->maps = function[MAP] != NULL;
    if (k->maps) k->map = cj_builder_function(b, function[MAP], "map");
    if (!function[OP_EXPR]) return;
    k->combine.op = CJ_COMBINE_USER;
    k->combine.function = cj_builder_function(b, function[OP_EXPR], "op");
    k->combine.identity = constant_text(k->plan, function[IDENTITY], identity);
}

static void emit_reduce(const cj_plan *plan, cj_builder *b) {
    const uint64_t *value = plan->params.value;
    const struct dtype *dtype = dtype_of(plan);
    kernel k = {.plan = plan, .type = dtype->ptx, .bytes = dtype->bytes, .vector = LOAD_BYTES / dtype->bytes,
                .load = plan->programmatic ? "ld.global" : "ld.global.nc", .warps = plan->block.x / 32, .cluster = plan->cluster.x, .per_block = value[RESULT] != 0,
                .combine = {.op = (cj_combine_op)value[OP], .type = dtype->ptx}};
    char op[8], type[8], identity[24];
    write_head(&k, b, cj_params_word(&plan->params, "op", op, sizeof op),
               cj_params_word(&plan->params, "dtype", type, sizeof type));
    add_functions(&k, b, identity);
    cj_func *f = k.f = cj_entry(b, plan->entry);
    k.done = cj_label_new(f, "done");
    declare(&k);
    emit_identity(&k);
    emit_slice(&k);
    emit_thread(&k);
    emit_warp_and_block(&k);
    emit_weight(&k);
    if (k.cluster) {
        emit_cluster(&k);
        if (!k.per_block) cj_warp_reduce(f, k.combine, k.part, k.cluster);
    } else {
        cj_reg outside = cj_pred(f, "outside");
        cj_step(f, "only warp 0 goes on");
        cj_ptx(f, "setp.ge.u32 $1, $2, 32;", outside, k.thread);
        cj_ptx(f, "@$1 bra $2;", outside, k.done);
    }
    if (k.per_block) emit_block_results(&k);
    else emit_grid(&k);
    cj_label_here(f, k.done);
    cj_ptx(f, "ret;");
}

const cj_family cj__family_reduce = {
    .name = "reduce",
    .summary = "sum, minimum or maximum of an array, in one kernel",
    .param = params,
    .param_count = sizeof params / sizeof *params,
    .plan = plan_reduce,
    .emit = emit_reduce,
};
