// SPDX-License-Identifier: Apache-2.0
// Matrices and warp groups: calls that write PTX into a kernel under construction (clusterjit/ptx.h). A warp group is
// four warps, 128 threads, the first of which is a multiple of four; kernels that use wgmma or setmaxnreg are for
// sm_90a and state a block (cj_block) that is a multiple of 128 wide. Sources: PTX ISA 9.7.14 (ldmatrix, stmatrix),
// 9.7.15 (wgmma), 9.7.19 (setmaxnreg).
#ifndef CLUSTERJIT_WARPGROUP_H
#define CLUSTERJIT_WARPGROUP_H

#include <clusterjit/cluster.h>

#ifdef __cplusplus
extern "C" {
#endif

// The warp group gives registers back, or waits until it has them: `registers` a thread, a multiple of 8 from 24 to
// 256. The kernel states what each thread begins with (cj_registers_max). All warps of the group execute it.
CJ_API void cj_setmaxnreg_dec(cj_func *f, uint32_t registers, const char *why);
CJ_API void cj_setmaxnreg_inc(cj_func *f, uint32_t registers, const char *why);

// ---- wgmma: D (64 x N, in registers) = A B + D, asynchronously, A and B in shared memory

// How an operand's elements lie in shared memory. Lines are rows of A and columns of B.
//   CJ_BY_K     a line's elements of K follow each other
//   CJ_BY_LINE  the lines of one k follow each other (16-bit types alone): the "transposed" forms
typedef enum cj_matrix_order { CJ_BY_K, CJ_BY_LINE } cj_matrix_order;

// An operand's place, as boxes of a tensor map with 128-byte swizzle leave it, each at a multiple of 1024 bytes:
//   CJ_BY_K     boxes of 128 bytes of K by any number of lines
//   CJ_BY_LINE  boxes of 128 bytes of lines by any number of k; `next` is how far it is, in bytes, from a box to the
//               one with the lines that follow
typedef struct cj_matrix_place {
    cj_matrix_order order;
    uint32_t        next;
} cj_matrix_place;

// A new 64-bit register: the descriptor of what begins at `own`, for wgmma. The address of a step of K is that of the
// first one plus cj_matrix_step bytes for each step before; descriptors count in units of 16 bytes.
CJ_API cj_reg   cj_matrix_descriptor(cj_func *f, cj_reg own, const cj_matrix_place *place);
CJ_API uint32_t cj_matrix_step(const cj_matrix_place *place);

// What a product is: N, a multiple of 8 from 8 to 256, of integers 8, 24 or a multiple of 16; the PTX type of A and B ("bf16", "f16", "tf32",
// "e4m3", "e5m2", "s8", "u8"); that of B where it is another: e4m3 and e5m2 go together, and s8 and u8. D is f32, of integers s32.
typedef struct cj_wgmma_form {
    uint32_t        n;
    const char     *type;
    cj_matrix_order a, b;
    const char     *b_type;  // NULL: as A's
} cj_wgmma_form;

// K of one product: bytes of it, of all types, and elements of 16 bits.
enum { CJ_WGMMA_BYTES = 32, CJ_WGMMA_K = CJ_WGMMA_BYTES / 2 };

// D = A B + D, or D = A B where the predicate `adds`, a register, is false. `d` are N / 2 registers of f32 or s32: of row 16 w + l / 4 (+ 8
// for i & 2), w the warp and l the lane, register i holds column 8 (i / 4) + 2 (l % 4) + i % 2. No thread touches
// them until cj_wgmma_wait has said that it is done.
CJ_API void cj_wgmma(cj_func *f, const cj_wgmma_form *form, const cj_reg *d, cj_reg a, cj_reg b, cj_reg adds);

// Before the first product and wherever other instructions have touched its registers; what has been started so far is
// a group; waits until at most `pending` groups are in flight. All warps of the group execute them.
CJ_API void cj_wgmma_fence(cj_func *f);
CJ_API void cj_wgmma_commit(cj_func *f);
CJ_API void cj_wgmma_wait(cj_func *f, uint32_t pending, const char *why);

// ---- fragments of 16 rows by 16 columns of 16-bit elements, between a warp's registers and shared memory

// Where lane `lane` (a u32 register) reads and writes its rows of the first fragment of a box of 16 rows of 128 bytes
// with 128-byte swizzle that begins at `own`, a multiple of 1024: a new u32 register. The fragment `index` (0 to 3),
// 32 bytes on, has the address xor 32 index.
CJ_API cj_reg cj_fragment_address(cj_func *f, cj_reg own, cj_reg lane);
CJ_API cj_reg cj_fragment_at(cj_func *f, cj_reg address, uint32_t index);

// Four registers of two elements each, rows l / 4 and l / 4 + 8 of the left half, then of the right half. All lanes
// execute it.
CJ_API void cj_fragment_load(cj_func *f, const cj_reg *fragment, cj_reg address);
CJ_API void cj_fragment_store(cj_func *f, cj_reg address, const cj_reg *fragment);

#ifdef __cplusplus
}
#endif
#endif
