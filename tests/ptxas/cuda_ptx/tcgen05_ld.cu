// SPDX-License-Identifier: Apache-2.0
// Every function of cuda::ptx in tcgen05_ld.h, with every value of its tags. generate.py wrote it.
#include <cuda/ptx>
using namespace cuda::ptx;
namespace ptx = cuda::ptx;

__device__ void *volatile kept;

template <typename F>
__device__ void form(F *function) {
    kept = reinterpret_cast<void *>(function);
}

__global__ void forms() {
    // tcgen05_ld.h
    form<void(uint32_t (&)[1], uint32_t)>(ptx::tcgen05_ld_16x64b);
    form<void(uint32_t (&)[1], uint32_t)>(ptx::tcgen05_ld_16x64b_pack_16b);
    form<void(uint32_t (&)[2], uint32_t)>(ptx::tcgen05_ld_16x64b);
    form<void(uint32_t (&)[2], uint32_t)>(ptx::tcgen05_ld_16x64b_pack_16b);
    form<void(uint32_t (&)[4], uint32_t)>(ptx::tcgen05_ld_16x64b);
    form<void(uint32_t (&)[4], uint32_t)>(ptx::tcgen05_ld_16x64b_pack_16b);
    form<void(uint32_t (&)[8], uint32_t)>(ptx::tcgen05_ld_16x64b);
    form<void(uint32_t (&)[8], uint32_t)>(ptx::tcgen05_ld_16x64b_pack_16b);
    form<void(uint32_t (&)[16], uint32_t)>(ptx::tcgen05_ld_16x64b);
    form<void(uint32_t (&)[16], uint32_t)>(ptx::tcgen05_ld_16x64b_pack_16b);
    form<void(uint32_t (&)[32], uint32_t)>(ptx::tcgen05_ld_16x64b);
    form<void(uint32_t (&)[32], uint32_t)>(ptx::tcgen05_ld_16x64b_pack_16b);
    form<void(uint32_t (&)[64], uint32_t)>(ptx::tcgen05_ld_16x64b);
    form<void(uint32_t (&)[64], uint32_t)>(ptx::tcgen05_ld_16x64b_pack_16b);
    form<void(uint32_t (&)[128], uint32_t)>(ptx::tcgen05_ld_16x64b);
    form<void(uint32_t (&)[128], uint32_t)>(ptx::tcgen05_ld_16x64b_pack_16b);
    form<void(uint32_t (&)[2], uint32_t)>(ptx::tcgen05_ld_16x128b);
    form<void(uint32_t (&)[2], uint32_t)>(ptx::tcgen05_ld_16x128b_pack_16b);
    form<void(uint32_t (&)[4], uint32_t)>(ptx::tcgen05_ld_16x128b);
    form<void(uint32_t (&)[4], uint32_t)>(ptx::tcgen05_ld_16x128b_pack_16b);
    form<void(uint32_t (&)[8], uint32_t)>(ptx::tcgen05_ld_16x128b);
    form<void(uint32_t (&)[8], uint32_t)>(ptx::tcgen05_ld_16x128b_pack_16b);
    form<void(uint32_t (&)[16], uint32_t)>(ptx::tcgen05_ld_16x128b);
    form<void(uint32_t (&)[16], uint32_t)>(ptx::tcgen05_ld_16x128b_pack_16b);
    form<void(uint32_t (&)[32], uint32_t)>(ptx::tcgen05_ld_16x128b);
    form<void(uint32_t (&)[32], uint32_t)>(ptx::tcgen05_ld_16x128b_pack_16b);
    form<void(uint32_t (&)[64], uint32_t)>(ptx::tcgen05_ld_16x128b);
    form<void(uint32_t (&)[64], uint32_t)>(ptx::tcgen05_ld_16x128b_pack_16b);
    form<void(uint32_t (&)[128], uint32_t)>(ptx::tcgen05_ld_16x128b);
    form<void(uint32_t (&)[128], uint32_t)>(ptx::tcgen05_ld_16x128b_pack_16b);
    form<void(uint32_t (&)[4], uint32_t)>(ptx::tcgen05_ld_16x256b);
    form<void(uint32_t (&)[4], uint32_t)>(ptx::tcgen05_ld_16x256b_pack_16b);
    form<void(uint32_t (&)[8], uint32_t)>(ptx::tcgen05_ld_16x256b);
    form<void(uint32_t (&)[8], uint32_t)>(ptx::tcgen05_ld_16x256b_pack_16b);
    form<void(uint32_t (&)[16], uint32_t)>(ptx::tcgen05_ld_16x256b);
    form<void(uint32_t (&)[16], uint32_t)>(ptx::tcgen05_ld_16x256b_pack_16b);
    form<void(uint32_t (&)[32], uint32_t)>(ptx::tcgen05_ld_16x256b);
    form<void(uint32_t (&)[32], uint32_t)>(ptx::tcgen05_ld_16x256b_pack_16b);
    form<void(uint32_t (&)[64], uint32_t)>(ptx::tcgen05_ld_16x256b);
    form<void(uint32_t (&)[64], uint32_t)>(ptx::tcgen05_ld_16x256b_pack_16b);
    form<void(uint32_t (&)[128], uint32_t)>(ptx::tcgen05_ld_16x256b);
    form<void(uint32_t (&)[128], uint32_t)>(ptx::tcgen05_ld_16x256b_pack_16b);
    form<void(uint32_t (&)[1], uint32_t)>(ptx::tcgen05_ld_32x32b);
    form<void(uint32_t (&)[1], uint32_t)>(ptx::tcgen05_ld_32x32b_pack_16b);
    form<void(uint32_t (&)[2], uint32_t)>(ptx::tcgen05_ld_32x32b);
    form<void(uint32_t (&)[2], uint32_t)>(ptx::tcgen05_ld_32x32b_pack_16b);
    form<void(uint32_t (&)[4], uint32_t)>(ptx::tcgen05_ld_32x32b);
    form<void(uint32_t (&)[4], uint32_t)>(ptx::tcgen05_ld_32x32b_pack_16b);
    form<void(uint32_t (&)[8], uint32_t)>(ptx::tcgen05_ld_32x32b);
    form<void(uint32_t (&)[8], uint32_t)>(ptx::tcgen05_ld_32x32b_pack_16b);
    form<void(uint32_t (&)[16], uint32_t)>(ptx::tcgen05_ld_32x32b);
    form<void(uint32_t (&)[16], uint32_t)>(ptx::tcgen05_ld_32x32b_pack_16b);
    form<void(uint32_t (&)[32], uint32_t)>(ptx::tcgen05_ld_32x32b);
    form<void(uint32_t (&)[32], uint32_t)>(ptx::tcgen05_ld_32x32b_pack_16b);
    form<void(uint32_t (&)[64], uint32_t)>(ptx::tcgen05_ld_32x32b);
    form<void(uint32_t (&)[64], uint32_t)>(ptx::tcgen05_ld_32x32b_pack_16b);
    form<void(uint32_t (&)[128], uint32_t)>(ptx::tcgen05_ld_32x32b);
    form<void(uint32_t (&)[128], uint32_t)>(ptx::tcgen05_ld_32x32b_pack_16b);
    form<void(uint32_t (&)[1], uint32_t, n32_t<1>)>(ptx::tcgen05_ld_16x32bx2);
    form<void(uint32_t (&)[1], uint32_t, n32_t<1>)>(ptx::tcgen05_ld_16x32bx2_pack_16b);
    form<void(uint32_t (&)[2], uint32_t, n32_t<1>)>(ptx::tcgen05_ld_16x32bx2);
    form<void(uint32_t (&)[2], uint32_t, n32_t<1>)>(ptx::tcgen05_ld_16x32bx2_pack_16b);
    form<void(uint32_t (&)[4], uint32_t, n32_t<1>)>(ptx::tcgen05_ld_16x32bx2);
    form<void(uint32_t (&)[4], uint32_t, n32_t<1>)>(ptx::tcgen05_ld_16x32bx2_pack_16b);
    form<void(uint32_t (&)[8], uint32_t, n32_t<1>)>(ptx::tcgen05_ld_16x32bx2);
    form<void(uint32_t (&)[8], uint32_t, n32_t<1>)>(ptx::tcgen05_ld_16x32bx2_pack_16b);
    form<void(uint32_t (&)[16], uint32_t, n32_t<1>)>(ptx::tcgen05_ld_16x32bx2);
    form<void(uint32_t (&)[16], uint32_t, n32_t<1>)>(ptx::tcgen05_ld_16x32bx2_pack_16b);
    form<void(uint32_t (&)[32], uint32_t, n32_t<1>)>(ptx::tcgen05_ld_16x32bx2);
    form<void(uint32_t (&)[32], uint32_t, n32_t<1>)>(ptx::tcgen05_ld_16x32bx2_pack_16b);
    form<void(uint32_t (&)[64], uint32_t, n32_t<1>)>(ptx::tcgen05_ld_16x32bx2);
    form<void(uint32_t (&)[64], uint32_t, n32_t<1>)>(ptx::tcgen05_ld_16x32bx2_pack_16b);
    form<void(uint32_t (&)[128], uint32_t, n32_t<1>)>(ptx::tcgen05_ld_16x32bx2);
    form<void(uint32_t (&)[128], uint32_t, n32_t<1>)>(ptx::tcgen05_ld_16x32bx2_pack_16b);
}
