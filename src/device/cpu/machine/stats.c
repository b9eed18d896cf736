// SPDX-License-Identifier: Apache-2.0
#include "stats.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "element.h"
#include "lanes.h"

enum { BANKS = 32, BANK_BYTES = 4, SECTOR_BYTES = 32, WARPGROUP = 4 * CJ_LANES };

cj_cpu_counts *cj__stats_new(const cj_cpu_program *program) {
    cj_cpu_counts *made = cj__calloc(1, sizeof *made + program->op_count * sizeof *made->op);
    if (made) made->count = program->op_count;
    return made;
}

// Every figure of an op is a number of 64 bits.
void cj__stats_add(cj_cpu_counts *into, const cj_cpu_counts *from) {
    uint64_t       *to = (uint64_t *)(void *)into->op;
    const uint64_t *add = (const uint64_t *)(const void *)from->op;
    for (size_t i = 0; i < into->count * (sizeof *into->op / sizeof *to); i++) to[i] += add[i];
}

// ---- classes

// By opcode; instructions with other opcodes by their type.
static const struct {
    cj_cpu_class class;
    const char *opcodes;  // with a blank around each
} classes[] = {
    {CJ_CPU_MOVE, " mov cvt cvta selp prmt "},
    {CJ_CPU_MEMORY,
     " ld ldu st atom red multimem mapa getctarank isspacep prefetch prefetchu discard applypriority createpolicy "},
    {CJ_CPU_CONTROL, " bra brx call ret exit trap brkpt nanosleep pmevent setmaxnreg griddepcontrol "},
    {CJ_CPU_WARP, " shfl vote match activemask redux elect "},
    {CJ_CPU_BARRIER, " bar barrier fence membar mbarrier "},
    {CJ_CPU_ASYNC, " cp tensormap "},
    {CJ_CPU_MATRIX, " wmma mma wgmma ldmatrix stmatrix movmatrix "},
};

static bool is_opcode(const cj_cpu_op *op, const char *opcode) {
    const char  *text = op->inst->mnemonic->text;
    const size_t length = strlen(opcode);
    return !strncmp(text, opcode, length) && (!text[length] || text[length] == '.');
}

static cj_cpu_class class_of(const cj_cpu_op *op) {
    if (op->inst->row->effects & CJ_ASYNC) return CJ_CPU_ASYNC;
    char opcode[32];
    snprintf(opcode, sizeof opcode, " %.*s ", (int)strcspn(op->inst->mnemonic->text, "."), op->inst->mnemonic->text);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (strstr(classes[i].opcodes, opcode)) return classes[i].class;
    }
    return cj__words[op->inst->mnemonic->type[0]].class == CJ_CLASS_FLOAT ? CJ_CPU_FLOAT : CJ_CPU_INTEGER;
}

// ---- matrices

static bool is_sparse(const cj_mnemonic *m) {
    return cj__mnemonic_has(m, CJ_W_SPARSE) || cj__mnemonic_has(m, CJ_W_SPARSE_ORDERED);
}

// m8n8k4 of f16 is four products side by side (PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16").
static uint64_t multiply_adds(const cj_mnemonic *m, cj_shape shape) {
    const uint64_t dense = (uint64_t)shape.m * shape.n * shape.k;
    if (is_sparse(m)) return dense / 2;
    return shape.k == 4 && m->type[1] == CJ_W_F16 ? 4 * dense : dense;
}

// A is in shared memory if its operand is a descriptor; a sparse A stores half of its elements.
static uint64_t wgmma_bytes(const cj_cpu_op *op, cj_shape shape) {
    const cj_mnemonic *m = op->inst->mnemonic;
    const uint64_t     a = (uint64_t)shape.m * shape.k * cj__words[m->type[1]].bits / 8;
    const uint64_t     b = (uint64_t)shape.n * shape.k * cj__words[m->type[2]].bits / 8;
    if (op->inst->operand[1].kind == CJ_OPERAND_VECTOR) return b;
    return b + (is_sparse(m) ? a / 2 : a);
}

static void add_matrix(const cj_cpu_op *op, uint64_t threads, cj_cpu_stats *stats) {
    const cj_mnemonic *m = op->inst->mnemonic;
    const bool         is_wgmma = cj__mnemonic_has(m, CJ_W_MMA_ASYNC), is_wmma = cj__mnemonic_has(m, CJ_W_MMA);
    if (!is_wgmma && !is_wmma && !is_opcode(op, "mma")) return;
    const cj_cpu_matrix kind = is_wgmma ? CJ_CPU_MATRIX_WGMMA : is_wmma ? CJ_CPU_MATRIX_WMMA : CJ_CPU_MATRIX_MMA;
    const cj_shape      shape = cj__shape_of(m);
    const uint64_t      count = threads / (is_wgmma ? WARPGROUP : CJ_LANES);
    stats->matrix_instructions[kind] += count;
    stats->multiply_adds[kind] += count * multiply_adds(m, shape);
    if (is_wgmma) stats->wgmma_shared_read += count * wgmma_bytes(op, shape);
}

// ---- sums

// Whether threads wait there: for their block, their cluster, or a phase of an mbarrier.
static bool is_block_barrier(const cj_cpu_op *op) {
    const cj_mnemonic *m = op->inst->mnemonic;
    return (is_opcode(op, "bar") && !cj__mnemonic_has(m, CJ_W_WARP)) ||
           (is_opcode(op, "barrier") && !cj__mnemonic_has(m, CJ_W_CLUSTER));
}

static bool is_cluster_wait(const cj_cpu_op *op) {
    const cj_mnemonic *m = op->inst->mnemonic;
    return is_opcode(op, "barrier") && cj__mnemonic_has(m, CJ_W_CLUSTER) && cj__mnemonic_has(m, CJ_W_WAIT);
}

static bool is_mbarrier_wait(const cj_cpu_op *op) {
    return is_opcode(op, "mbarrier") && strstr(op->inst->mnemonic->text, "_wait");
}

static bool is_multimem_red(const cj_cpu_op *op) { return !strncmp(op->inst->mnemonic->text, "multimem.red", 12); }

static void add_executed(const cj_cpu_op *op, const cj_cpu_op_counts *c, cj_cpu_stats *stats) {
    stats->thread_instructions += c->threads;
    stats->warp_instructions += c->warps;
    stats->by_class[class_of(op)] += c->threads;
    if (is_opcode(op, "atom") || is_opcode(op, "red") || is_multimem_red(op)) stats->atomics += c->threads;
    if (is_block_barrier(op)) stats->block_barriers += c->threads;
    if (is_cluster_wait(op)) stats->cluster_barriers += c->threads;
    if (is_mbarrier_wait(op)) stats->mbarrier_waits += c->threads;
    add_matrix(op, c->threads, stats);
}

static void add_accesses(const cj_cpu_op *op, const cj_cpu_op_counts *c, cj_cpu_stats *stats) {
    const uint64_t reads = op->inst->row->effects & CJ_READS ? 1 : 0,
                   writes = op->inst->row->effects & CJ_WRITES ? 1 : 0;
    stats->global_read += reads * c->global;
    stats->global_written += writes * c->global;
    stats->shared_read += reads * c->shared;
    stats->shared_written += writes * c->shared;
    stats->dsmem_read += reads * c->dsmem;
    stats->dsmem_written += writes * c->dsmem;
    stats->local_bytes += c->local;
    stats->global_sectors += c->sectors;
    stats->bank_conflicts += c->bank_conflicts;
}

static void add_transfers(const cj_cpu_op *op, const cj_cpu_op_counts *c, cj_cpu_stats *stats) {
    const cj_mnemonic *m = op->inst->mnemonic;
    const bool         is_multicast = cj__mnemonic_has(m, CJ_W_MULTICAST_CLUSTER);  // comes from global memory to all
    stats->async_bytes += c->async;
    stats->dsmem_read += c->from_peer;
    if (!is_multicast) stats->dsmem_written += c->to_peer;
    if (cj__mnemonic_has(m, CJ_W_TENSOR))
        stats->tensor_bytes += c->async;
    else if (cj__mnemonic_has(m, CJ_W_BULK))
        stats->bulk_bytes += c->async;
    else if (is_opcode(op, "cp"))
        stats->copy_bytes += c->async;
    if (is_multicast) stats->multicast_bytes += c->async;
}

// Of several ops of one instruction the first is executed as the instruction is.
static bool is_first(const cj_cpu_program *program, size_t i) {
    return !i || program->op[i].inst != program->op[i - 1].inst;
}

void cj__stats_sum(const cj_cpu_program *program, const cj_cpu_counts *counts, cj_cpu_stats *stats) {
    for (size_t i = 0; i < program->op_count; i++) {
        const cj_cpu_op *op = &program->op[i];
        if (!op->inst) continue;
        if (is_first(program, i)) add_executed(op, &counts->op[i], stats);
        add_accesses(op, &counts->op[i], stats);
        add_transfers(op, &counts->op[i], stats);
    }
}

// ---- lines

static void add_to_line(cj_cpu_line_stats *line, const cj_cpu_op *op, const cj_cpu_op_counts *c, bool first) {
    const bool waits = is_block_barrier(op) || is_cluster_wait(op) || is_mbarrier_wait(op);
    if (first) {
        line->thread_instructions += c->threads;
        line->warp_instructions += c->warps;
        if (waits) line->barrier_waits += c->threads;
    }
    line->global_bytes += c->global;
    line->shared_bytes += c->shared;
    line->dsmem_bytes += c->dsmem + c->from_peer + c->to_peer;
    line->local_bytes += c->local;
    line->async_bytes += c->async;
    line->global_sectors += c->sectors;
    line->bank_conflicts += c->bank_conflicts;
}

static int by_line(const void *a, const void *b) {
    const cj_cpu_line_stats *left = a, *right = b;
    return left->line < right->line ? -1 : left->line > right->line;
}

// Adds one line's figures to another's: all after `line` are numbers of 64 bits.
static void merge_line(cj_cpu_line_stats *into, const cj_cpu_line_stats *from) {
    uint64_t       *to = &into->thread_instructions;
    const uint64_t *add = &from->thread_instructions;
    const size_t    count = (sizeof *into - offsetof(cj_cpu_line_stats, thread_instructions)) / sizeof *to;
    for (size_t i = 0; i < count; i++) to[i] += add[i];
}

cj_cpu_line_stats *cj__stats_lines(const cj_cpu_program *program, const cj_cpu_counts *counts, size_t *count) {
    static const cj_cpu_op_counts none;
    cj_cpu_line_stats            *line = cj__calloc(program->op_count + 1, sizeof *line);
    size_t                        used = 0, kept = 0;
    *count = 0;
    if (!line) return NULL;
    for (size_t i = 0; i < program->op_count; i++) {
        const cj_cpu_op *op = &program->op[i];
        if (!op->inst || !memcmp(&counts->op[i], &none, sizeof none)) continue;
        line[used].line = op->line;
        add_to_line(&line[used++], op, &counts->op[i], is_first(program, i));
    }
    qsort(line, used, sizeof *line, by_line);
    for (size_t i = 0; i < used; i++) {
        if (kept && line[kept - 1].line == line[i].line)
            merge_line(&line[kept - 1], &line[i]);
        else
            line[kept++] = line[i];
    }
    *count = kept;
    return line;
}

// ---- accesses

// The largest number of different words of one bank that these lanes access.
static unsigned wavefronts(uint32_t mask, unsigned bytes, const uint64_t *address) {
    uint64_t word[BANKS][BANKS];
    unsigned count[BANKS] = {0}, most = 1;
    CJ_SOME_LANES(i, mask) {
        for (unsigned k = 0; k < (bytes + BANK_BYTES - 1) / BANK_BYTES; k++) {
            const uint64_t wanted = address[i] / BANK_BYTES + k;
            const unsigned bank = wanted % BANKS;
            unsigned       at = 0;
            while (at < count[bank] && word[bank][at] != wanted) at++;
            if (at < count[bank]) continue;
            word[bank][count[bank]++] = wanted;
            if (count[bank] > most) most = count[bank];
        }
    }
    return most;
}

// Shared memory serves 32 lanes at once for accesses of up to 4 bytes, 16 lanes for 8 bytes, 8 lanes for 16 bytes.
static uint64_t conflicts(uint32_t mask, unsigned bytes, const uint64_t *address) {
    const unsigned lanes = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8;
    const uint32_t part = UINT32_MAX >> (32 - lanes);
    uint64_t       sum = 0;
    for (unsigned at = 0; at < CJ_LANES; at += lanes) {
        if (mask & part << at) sum += wavefronts(mask & part << at, bytes, address) - 1;
    }
    return sum;
}

// The sectors that these lanes want: those of one access are served together.
static uint64_t sectors(uint32_t mask, unsigned bytes, const uint64_t *address) {
    uint64_t seen[2 * CJ_LANES];
    unsigned count = 0;
    CJ_SOME_LANES(i, mask) {
        for (uint64_t s = address[i] / SECTOR_BYTES; s <= (address[i] + bytes - 1) / SECTOR_BYTES; s++) {
            unsigned at = count;  // mostly the last one
            while (at && seen[at - 1] != s) at--;
            if (!at && count < 2 * CJ_LANES) seen[count++] = s;
        }
    }
    return count;
}

static cj_cpu_op_counts *counts_of(cj_cpu_warp *w, const cj_cpu_op *op) {
    const cj_cpu_cluster *cluster = w->block->cluster;
    return &cluster->counts->op[op - cluster->launch->program->op];
}

void cj__stats_access(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, const cj_cpu_block *owner, bool is_global,
                      const uint64_t *address) {
    cj_cpu_op_counts *counts = counts_of(w, op);
    const unsigned    each = (unsigned)op->bytes * op->count;
    const uint64_t    bytes = (uint64_t)cj__cpu_count(mask) * each;
    if (owner) {
        *(owner == w->block ? &counts->shared : &counts->dsmem) += bytes;
        counts->bank_conflicts += conflicts(mask, each, address);
    } else if (is_global) {
        counts->global += bytes;
        counts->sectors += sectors(mask, each, address);
    } else {
        counts->local += bytes;
    }
}

void cj__stats_transfer(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t bytes, bool from_peer, bool to_peer) {
    cj_cpu_op_counts *counts = counts_of(w, op);
    counts->async += bytes;
    if (from_peer) counts->from_peer += bytes;
    if (to_peer) counts->to_peer += bytes;
}
