// SPDX-License-Identifier: Apache-2.0
// The directives of a kernel: against each other, against what any launch can give, and against what its body needs.
// ptxas lets much of this pass; the launch then fails, or the directive is ignored.
#include <limits.h>
#include <string.h>

#include "checks.h"

enum { BLOCK_MAX = 1024, BLOCK_MAX_Z = 64, CLUSTER_MAX = 16, WARPGROUP = 128 };

// Registers of a block, and what a thread's are a multiple of. Beside the accumulators of wgmma ptxas 13.0 wants 26 registers
// for every shape ("(C7602) Insufficient registers", m64n64k16 to m64n256k16).
enum { BLOCK_REGISTERS = 65536, REGISTER_UNIT = 8, BESIDE_ACCUMULATORS = 26 };

static const cj_ir_directive *given(const cj_ir_func *func, cj_directive which) {
    return func->directive[which].given ? &func->directive[which] : NULL;
}

static uint64_t volume(const cj_ir_directive *d) { return (uint64_t)d->value[0] * d->value[1] * d->value[2]; }

// A finding at a directive; the message begins with its word.
#define ADD(report, rule, func, which, format, ...)                                                          \
    cj__report_add((report), (rule), (func)->directive[which].line, (func)->directive[which].column,          \
                   "%s " format, cj__directive_word(which), __VA_ARGS__)

// ---- pairs

static const struct {
    cj_directive first, second;
    const char  *hint;
} conflicts[] = {
    {CJ_DIR_MAXNTID, CJ_DIR_REQNTID, "keep .reqntid where the kernel relies on its block, .maxntid where it does not"},
    {CJ_DIR_REQNCTAPERCLUSTER, CJ_DIR_MAXCLUSTERRANK,
     "keep .reqnctapercluster, which says more (in CUDA C++: __cluster_dims__ without the third __launch_bounds__ "
     "value)"},
};

static void check_conflicts(const cj_ir_func *func, cj_report *report) {
    for (size_t i = 0; i < sizeof conflicts / sizeof *conflicts; i++) {
        cj_directive a = conflicts[i].first, b = conflicts[i].second;
        if (!given(func, a) || !given(func, b)) continue;
        cj_directive later = func->directive[a].line > func->directive[b].line ? a : b;
        ADD(report, "directive-conflict", func, later, "cannot stand with %s: ptxas refuses the two together",
            cj__directive_word(later == a ? b : a));
        cj__report_hint(report, "%s", conflicts[i].hint);
    }
}

static void check_missing(const cj_ir_func *func, cj_report *report) {
    static const cj_directive needed[] = {CJ_DIR_REQNTID, CJ_DIR_REQNCTAPERCLUSTER};
    for (size_t i = 0; given(func, CJ_DIR_BLOCKSARECLUSTERS) && i < sizeof needed / sizeof *needed; i++)
        if (!given(func, needed[i]))
            ADD(report, "directive-missing", func, CJ_DIR_BLOCKSARECLUSTERS, "needs %s, which '%s' does not give",
                cj__directive_word(needed[i]), func->name);
    if (given(func, CJ_DIR_MINNCTAPERSM) && !given(func, CJ_DIR_MAXNTID) && !given(func, CJ_DIR_REQNTID)) {
        ADD(report, "directive-ignored", func, CJ_DIR_MINNCTAPERSM, "has no effect without %s or %s",
            cj__directive_word(CJ_DIR_MAXNTID), cj__directive_word(CJ_DIR_REQNTID));
        cj__report_hint(report, "state the block that the kernel is launched with");
    }
}

// ---- values

static void check_shapes(const cj_ir_func *func, cj_report *report) {
    const cj_ir_directive *block = given(func, CJ_DIR_REQNTID), *most = given(func, CJ_DIR_MAXNTID);
    const cj_ir_directive *cluster = given(func, CJ_DIR_REQNCTAPERCLUSTER);
    if (block && (!volume(block) || volume(block) > BLOCK_MAX || block->value[2] > BLOCK_MAX_Z))
        ADD(report, "block-shape", func, CJ_DIR_REQNTID,
            "%u, %u, %u is %llu threads; a block has 1 to %d, at most %d of them in z", block->value[0],
            block->value[1], block->value[2], (unsigned long long)volume(block), BLOCK_MAX, BLOCK_MAX_Z);
    if (most && !volume(most))
        ADD(report, "block-shape", func, CJ_DIR_MAXNTID, "%u, %u, %u allows no block at all", most->value[0],
            most->value[1], most->value[2]);
    if (cluster && (!volume(cluster) || volume(cluster) > CLUSTER_MAX))
        ADD(report, "cluster-shape", func, CJ_DIR_REQNCTAPERCLUSTER,
            "%u, %u, %u is %llu blocks; a cluster has 1 to %d", cluster->value[0], cluster->value[1], cluster->value[2],
            (unsigned long long)volume(cluster), CLUSTER_MAX);
    static const struct {
        cj_directive which;
        const char  *what;
    } positive[] = {
        {CJ_DIR_MAXNREG, "registers"}, {CJ_DIR_MINNCTAPERSM, "blocks an SM"}, {CJ_DIR_MAXCLUSTERRANK, "blocks"}};
    for (size_t i = 0; i < sizeof positive / sizeof *positive; i++)
        if (given(func, positive[i].which) && !func->directive[positive[i].which].value[0])
            ADD(report, "directive-value", func, positive[i].which, "0 is out of range: at least 1 of the %s",
                positive[i].what);
}

// ---- what the body needs

static const cj_ir_stmt *first_warpgroup(const cj_ir_func *func) {
    for (size_t i = 0; i < func->stmt_count; i++)
        if (func->stmt[i].kind == CJ_STMT_INST && func->stmt[i].inst->shape->is_warpgroup) return &func->stmt[i];
    return NULL;
}

// A thread's registers, as ptxas gives them out: .maxnreg, else what a block of the stated threads leaves to each.
static unsigned register_limit(const cj_ir_func *func, cj_directive *by) {
    *by = CJ_DIR_MAXNREG;
    if (given(func, CJ_DIR_MAXNREG)) return func->directive[CJ_DIR_MAXNREG].value[0];
    *by = given(func, CJ_DIR_REQNTID) ? CJ_DIR_REQNTID : CJ_DIR_MAXNTID;
    const uint64_t threads = given(func, *by) ? volume(&func->directive[*by]) : 0;
    return threads ? (unsigned)(BLOCK_REGISTERS / threads / REGISTER_UNIT * REGISTER_UNIT) : UINT_MAX;
}

// The wgmma with the most accumulators; NULL: none, or setmaxnreg changes what a thread has.
static const cj_ir_stmt *largest_wgmma(const cj_ir_func *func) {
    const cj_ir_stmt *largest = NULL;
    for (size_t i = 0; i < func->stmt_count; i++) {
        if (func->stmt[i].kind != CJ_STMT_INST) continue;
        const cj_ir_inst *inst = func->stmt[i].inst;
        if (!inst->shape->is_warpgroup) continue;
        if (!strcmp(cj__row_opcode(inst->row), "setmaxnreg")) return NULL;
        if (strcmp(cj__row_opcode(inst->row), "wgmma") != 0 || !inst->operand_count) continue;
        if (inst->operand[0].kind != CJ_OPERAND_VECTOR) continue;
        if (!largest || inst->operand[0].count > largest->inst->operand[0].count) largest = &func->stmt[i];
    }
    return largest;
}

static void check_accumulators(const cj_ir_func *func, cj_report *report) {
    cj_directive      by;
    const cj_ir_stmt *stmt = largest_wgmma(func);
    const unsigned    limit = stmt ? register_limit(func, &by) : UINT_MAX;
    const unsigned    needs = stmt ? stmt->inst->operand[0].count + BESIDE_ACCUMULATORS : 0;
    if (limit >= needs) return;
    ADD(report, "accumulator-registers", func, by,
        "leaves a thread %u registers, but '%s' on line %u needs %u: %u accumulators and %d beside them", limit,
        stmt->inst->mnemonic->text, stmt->line, needs, stmt->inst->operand[0].count, BESIDE_ACCUMULATORS);
    cj__report_hint(report, "allow %u registers, or use a narrower product", needs);
}

static void check_warpgroups(const cj_ir_func *func, cj_report *report) {
    const cj_ir_stmt *stmt = first_warpgroup(func);
    if (!stmt) return;
    const char        *text = stmt->inst->mnemonic->text;
    const cj_directive by = given(func, CJ_DIR_REQNTID) ? CJ_DIR_REQNTID : CJ_DIR_MAXNTID;
    if (!given(func, by)) {
        cj__report_add(report, "warpgroup-unstated", stmt->line, stmt->column,
                       "'%s' works on warp groups of %d threads, but '%s' states no block", text, WARPGROUP, func->name);
        cj__report_hint(report, "add .reqntid with a multiple of %d threads", WARPGROUP);
        return;
    }
    const uint64_t threads = volume(&func->directive[by]);
    if (threads % WARPGROUP == 0) return;
    ADD(report, "warpgroup-block", func, by, "%s %llu threads, but '%s' on line %u works on warp groups of %d",
        by == CJ_DIR_REQNTID ? "asks for" : "allows", (unsigned long long)threads, text, stmt->line, WARPGROUP);
    cj__report_hint(report, "make it a multiple of %d threads, or use mma.sync, which a warp executes", WARPGROUP);
}

void cj__check_directives(const cj_ir_func *func, cj_report *report) {
    if (!func->is_entry) return;
    check_conflicts(func, report);
    check_missing(func, report);
    check_shapes(func, report);
    check_warpgroups(func, report);
    check_accumulators(func, report);
}
