// SPDX-License-Identifier: Apache-2.0
// What depends on the target: registers and blocks an SM, conversions to 16 bits, programmatic dependent launch.
#include <float.h>
#include <stdarg.h>

#include "check.h"
#include "kit.h"

// What was fitted to a GPU.
#include "constants.def"

cj_func *cj__entry(const cj_plan *plan, cj_builder *builder) {
    cj_func *f = cj_entry(builder, plan->entry);
    cj_block(f, plan->block.x, plan->block.y, plan->block.z);
    if (plan->cluster.x) cj_cluster(f, plan->cluster.x, plan->cluster.y, plan->cluster.z);
    return f;
}

// At most what an SM of the plan's target holds.
static uint32_t fit_sm(const cj_plan *plan, uint64_t wanted) {
    const cj_limits *limits;
    if (cj_limits_builtin(plan->arch, &limits, NULL)) return 1;
    const uint32_t fit = limits->max_threads_per_sm / (plan->block.x * plan->block.y * plan->block.z);
    if (wanted > fit) wanted = fit;
    return wanted < limits->max_blocks_per_sm ? (uint32_t)wanted : limits->max_blocks_per_sm;
}

void cj__blocks_per_sm(const cj_plan *plan, cj_func *f, uint64_t wanted) {
    const uint32_t blocks = fit_sm(plan, wanted);
    if (blocks > 1) cj_blocks_per_sm(f, blocks);
}

uint64_t cj__clusters_at_once(const cj_limits *limits, uint64_t threads, uint64_t shared, uint64_t cluster) {
    cj_occupancy o;
    cj__occupancy(&(cj_kernel_use){.threads = threads, .shared = shared, .cluster = cluster}, limits, &o);
    return o.active_clusters ? o.active_clusters : 1;
}

// Of an SM, and of each of its schedulers; registers are allocated in units. On all targets.
enum { SCHEDULERS = 4, REGISTERS = 16384, WARP = 32, UNIT = 8 };

uint32_t cj__registers_per_thread(uint64_t threads) {
    return (uint32_t)(REGISTERS / WARP / cj__ceil_div(threads, SCHEDULERS * WARP) / UNIT * UNIT);
}

void cj__registers(const cj_plan *plan, cj_func *f, uint32_t registers, bool spills) {
    const uint32_t unit = (registers + UNIT - 1) / UNIT * UNIT, warps = (plan->block.x + WARP - 1) / WARP;
    const uint32_t blocks = SCHEDULERS * (REGISTERS / (unit * WARP)) / warps;
    if (spills || cj__target_number(plan) != CJ_TARGET_MEASURED) cj_blocks_per_sm(f, fit_sm(plan, blocks ? blocks : 1));
}

void cj__derive(cj_plan *plan, const uint64_t *values, size_t count) {
    for (size_t i = 0; i < count; i++) plan->derived[plan->derived_count++] = values[i];
}

void cj__name_entry(cj_plan *plan, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(plan->entry, sizeof plan->entry, format, list);
    va_end(list);
    for (char *at = plan->entry; *at; at++)
        if (*at == '-') *at = '_';
}

void cj__note_no_clusters(cj_plan *plan, uint64_t cluster) {
    snprintf(plan->note, sizeof plan->note,
             "%s has no thread block clusters (they need sm_90): generated without, cluster=%" PRIu64 " is not used",
             plan->arch, cluster);
}

uint64_t cj__cluster_asked(cj_plan *plan, unsigned param, bool clusters) {
    if (clusters) return plan->params.value[param];
    if (cj__asked_or(plan, param, 0)) cj__note_no_clusters(plan, plan->params.value[param]);
    return 0;
}

unsigned cj__target_number(const cj_plan *plan) { return cj__target_find(plan->arch)->number; }

enum { ROUNDS_PAIRS = 80 };  // the first target with cvt.rn.f16x2.f32, and with bf16

void cj__pack_halves(const cj_plan *plan, cj_func *f, const char *type, cj_reg word, cj_reg high, cj_reg low) {
    if (cj__target_number(plan) >= ROUNDS_PAIRS) {
        cj_ptx(f, "cvt.rn.$1x2.f32 $2, $3, $4;", type, word, high, low);
        return;
    }
    cj_reg upper = cj_register(f, "b16", "upper"), lower = cj_register(f, "b16", "lower");
    cj_ptx(f, "cvt.rn.$1.f32 $2, $3;", type, upper, high);
    cj_ptx(f, "cvt.rn.$1.f32 $2, $3;", type, lower, low);
    cj_ptx(f, "mov.b32 $1, {$2, $3};", word, lower, upper);
}

void cj__unpack_halves(cj_func *f, const char *type, cj_reg word, cj_reg low, cj_reg high) {
    if (*type == 'b') {
        cj_ptx(f, "shl.b32 $1, $2, 16;", low, word);
        cj_ptx(f, "and.b32 $1, $2, 0xffff0000;", high, word);
        return;
    }
    cj_reg half[2];
    cj_registers(f, "b16", "half", 2, half);
    cj_ptx(f, "mov.b32 {$1, $2}, $3;", half[0], half[1], word);
    cj_ptx(f, "cvt.f32.f16 $1, $2;", low, half[0]);
    cj_ptx(f, "cvt.f32.f16 $1, $2;", high, half[1]);
}

void cj__widen_half(cj_func *f, const char *type, cj_reg wide, cj_reg half) {
    const bool bf16 = *type == 'b';
    cj_ptx(f, bf16 ? "mov.b32 $1, {$2, $2}; and.b32 $1, $1, 0xffff0000;" : "cvt.f32.f16 $1, $2;", wide, half);
}

cj_status cj__refuse_bf16(const cj_plan *plan, const char *name, const char *type, cj_error *error) {
    FAIL_IF(*type == 'b' && cj__target_number(plan) < ROUNDS_PAIRS, CJ_UNSUPPORTED,
            "%s: bf16 is rounded to by instructions of sm_%d and later; the target is %s" CJ_HINT
            "f16 and f32 are written on every target",
            name, ROUNDS_PAIRS, plan->arch);
    return CJ_OK;
}

void cj__inverse_root(cj_func *f, cj_reg x, double least) {
    cj_ptx(f, "rsqrt.approx$2.f32 $1, $1;", x, least < FLT_MIN ? "" : ".ftz");
}

void cj__sync(cj_func *f, bool clustered, const char *cluster_why, const char *block_why) {
    if (clustered)
        cj_cluster_sync(f, cluster_why);
    else
        cj_ptx(f, "bar.sync 0; // $1", block_why);
}

// Each block that lets them start costs the GPU some 20 ns, which many blocks of 2 us feel. In a grid of so many none does: the next kernel's blocks
// start when all of these have ended.
static bool lets_dependents_start(const cj_plan *plan) {
    return (uint64_t)plan->grid.x * plan->grid.y * plan->grid.z <= DEPENDENT_BLOCKS;
}

void cj__launch_dependents(const cj_plan *plan, cj_func *f) {
    if (!plan->programmatic || !lets_dependents_start(plan)) return;
    cj_step(f, "the next kernel's blocks may start where there is room");
    cj_ptx(f, "griddepcontrol.launch_dependents;");
}

const char *cj__load_given(const cj_plan *plan) { return plan->programmatic ? "ld.global" : "ld.global.nc"; }

const char *cj__load_given_once(const cj_plan *plan) {
    return plan->programmatic ? "ld.global.L1::no_allocate" : "ld.global.nc.L1::no_allocate";
}

void cj__wait_for_launches(const cj_plan *plan, cj_func *f) {
    if (!plan->programmatic) return;
    cj_step(f, "what the kernels before have written can be read");
    cj_ptx(f, "griddepcontrol.wait;");
}

void cj__follow_launches(const cj_plan *plan, cj_func *f) {
    const bool lets = lets_dependents_start(plan);
    if (!plan->programmatic) return;
    cj_step(f, "what the kernels before have written can be read%s", lets ? "; the next kernel's blocks may start where there is room" : "");
    cj_ptx(f, "griddepcontrol.wait;");
    if (lets) cj_ptx(f, "griddepcontrol.launch_dependents;");
}
