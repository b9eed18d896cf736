// SPDX-License-Identifier: Apache-2.0
#include "stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "lanes.h"

enum { BANKS = 32, BANK_BYTES = 4, WARPGROUP = 4 * CJ_LANES };

cj_cpu_counts *cj__stats_new(const cj_cpu_program *program) {
    const cj_cpu_counts *none = NULL;
    return calloc(1, sizeof *none + 2 * program->op_count * sizeof *none->op);
}

void cj__stats_add(const cj_cpu_program *program, cj_cpu_counts *into, const cj_cpu_counts *from) {
    for (unsigned i = 0; i < 2; i++) {
        into->global[i] += from->global[i];
        into->shared[i] += from->shared[i];
        into->dsmem[i] += from->dsmem[i];
    }
    into->local += from->local;
    into->bank_conflicts += from->bank_conflicts;
    into->async += from->async;
    into->copy += from->copy;
    into->bulk += from->bulk;
    into->tensor += from->tensor;
    into->multicast += from->multicast;
    for (size_t i = 0; i < 2 * program->op_count; i++) into->op[i] += from->op[i];
}

// ---- classes

// By opcode; instructions with other opcodes by their type.
static const struct {
    cj_cpu_class class;
    const char *opcodes;  // with a blank around each
} classes[] = {
    {CJ_CPU_MOVE, " mov cvt cvta selp prmt "},
    {CJ_CPU_MEMORY,
     " ld ldu st atom red mapa getctarank isspacep prefetch prefetchu discard applypriority createpolicy "},
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

static void add_op(const cj_cpu_op *op, uint64_t threads, uint64_t warps, cj_cpu_stats *stats) {
    const cj_mnemonic *m = op->inst->mnemonic;
    stats->thread_instructions += threads;
    stats->warp_instructions += warps;
    stats->by_class[class_of(op)] += threads;
    if (is_opcode(op, "atom") || is_opcode(op, "red")) stats->atomics += threads;
    if (is_opcode(op, "bar") && !cj__mnemonic_has(m, CJ_W_WARP)) stats->block_barriers += threads;
    if (is_opcode(op, "barrier")) {
        const bool is_cluster = cj__mnemonic_has(m, CJ_W_CLUSTER);
        if (is_cluster && cj__mnemonic_has(m, CJ_W_WAIT)) stats->cluster_barriers += threads;
        if (!is_cluster) stats->block_barriers += threads;
    }
    if (is_opcode(op, "mbarrier") && strstr(m->text, "_wait")) stats->mbarrier_waits += threads;
    add_matrix(op, threads, stats);
}

void cj__stats_sum(const cj_cpu_program *program, const cj_cpu_counts *counts, cj_cpu_stats *stats) {
    for (size_t i = 0; i < program->op_count; i++) {
        const cj_cpu_op *op = &program->op[i];
        if (!op->inst || (i && op->inst == program->op[i - 1].inst)) continue;  // one instruction with several ops
        add_op(op, counts->op[2 * i], counts->op[2 * i + 1], stats);
    }
    stats->global_read += counts->global[0];
    stats->global_written += counts->global[1];
    stats->shared_read += counts->shared[0];
    stats->shared_written += counts->shared[1];
    stats->dsmem_read += counts->dsmem[0];
    stats->dsmem_written += counts->dsmem[1];
    stats->local_bytes += counts->local;
    stats->async_bytes += counts->async;
    stats->copy_bytes += counts->copy;
    stats->bulk_bytes += counts->bulk;
    stats->tensor_bytes += counts->tensor;
    stats->multicast_bytes += counts->multicast;
    stats->bank_conflicts += counts->bank_conflicts;
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

void cj__stats_access(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, const cj_cpu_block *owner, bool is_global,
                      const uint64_t *address) {
    cj_cpu_counts *counts = w->block->cluster->counts;
    const unsigned each = (unsigned)op->bytes * op->count;
    const uint64_t bytes = (uint64_t)cj__cpu_count(mask) * each;
    const uint32_t effects = op->inst->row->effects;
    uint64_t      *space = !owner ? counts->global : owner == w->block ? counts->shared : counts->dsmem;
    if (!owner && !is_global) {
        counts->local += bytes;
        return;
    }
    if (effects & CJ_READS) space[0] += bytes;
    if (effects & CJ_WRITES) space[1] += bytes;
    if (owner) counts->bank_conflicts += conflicts(mask, each, address);
}

void cj__stats_transfer(cj_cpu_counts *counts, const cj_cpu_op *op, uint32_t bytes, bool from_peer, bool to_peer) {
    const cj_mnemonic *m = op->inst->mnemonic;
    const bool         is_multicast = cj__mnemonic_has(m, CJ_W_MULTICAST_CLUSTER);  // copies from global memory to all
    counts->async += bytes;
    if (from_peer) counts->dsmem[0] += bytes;
    if (to_peer && !is_multicast) counts->dsmem[1] += bytes;
    if (cj__mnemonic_has(m, CJ_W_TENSOR))
        counts->tensor += bytes;
    else if (cj__mnemonic_has(m, CJ_W_BULK))
        counts->bulk += bytes;
    else if (is_opcode(op, "cp"))
        counts->copy += bytes;
    if (is_multicast) counts->multicast += bytes;
}
