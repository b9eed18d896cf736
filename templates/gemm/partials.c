// SPDX-License-Identifier: Apache-2.0
// How the sums of those that share a tile's K meet in global memory: each posts its own, as registers lie, and counts
// itself at a counter; the one that comes last takes those of all. gemm_split.c and gemm_rest.c say where posts and
// counters lie, and whose they are.
#include "split.h"

void cj__gemm_sums_load(const gemm_kernel *k, const char *space, const cj_reg *to, uint32_t count, cj_reg at,
                        uint32_t offset) {
    for (uint32_t i = 0; i < count / GEMM_VECTOR; i++, to += GEMM_VECTOR)
        cj_ptx(k->f, "ld.$1.v4.f32 {$2, $3, $4, $5}, [$6 + $7];", space, to[0], to[1], to[2], to[3], at,
               offset + i * GEMM_VECTOR_BYTES);
}

void cj__gemm_sums_store(const gemm_kernel *k, const cj_reg *sum, uint32_t count, cj_reg at) {
    for (uint32_t i = 0; i < count / GEMM_VECTOR; i++, sum += GEMM_VECTOR)
        cj_ptx(k->f, "st.global.v4.f32 [$1 + $2], {$3, $4, $5, $6};", at, i * GEMM_VECTOR_BYTES, sum[0], sum[1], sum[2],
               sum[3]);
}

void cj__gemm_come_last(const gemm_kernel *k, cj_reg counter, cj_arg others, cj_reg before, cj_reg last,
                        cj_label not_last) {
    cj_func *f = k->f;
    cj_ptx(f, "bar.warp.sync -1; // all lanes' sums are there,");
    cj_ptx(f, "@$1 atom.acq_rel.gpu.global.inc.u32 $2, [$3], $4; // which lane 0 says", k->leader, before, counter,
           others);
    cj_ptx(f, "shfl.sync.idx.b32 $1, $1, 0, 31, -1;", before);
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", last, before, others);
    cj_ptx(f, "@!$1 bra $2;", last, not_last);
    cj_ptx(f, "bar.warp.sync -1; // what lane 0 has acquired, all lanes see");
}
