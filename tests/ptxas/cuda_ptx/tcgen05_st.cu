// SPDX-License-Identifier: Apache-2.0
// Every function of cuda::ptx in tcgen05_st.h, with every value of its tags. generate.py wrote it.
#include <cuda/ptx>
using namespace cuda::ptx;
namespace ptx = cuda::ptx;

__device__ void *volatile kept;

template <typename F>
__device__ void form(F *function) {
    kept = reinterpret_cast<void *>(function);
}

__global__ void forms() {
    // tcgen05_st.h
    form<void(uint32_t, const uint32_t (&)[1])>(ptx::tcgen05_st_16x64b);
    form<void(uint32_t, const uint32_t (&)[1])>(ptx::tcgen05_st_16x64b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[2])>(ptx::tcgen05_st_16x64b);
    form<void(uint32_t, const uint32_t (&)[2])>(ptx::tcgen05_st_16x64b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[4])>(ptx::tcgen05_st_16x64b);
    form<void(uint32_t, const uint32_t (&)[4])>(ptx::tcgen05_st_16x64b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[8])>(ptx::tcgen05_st_16x64b);
    form<void(uint32_t, const uint32_t (&)[8])>(ptx::tcgen05_st_16x64b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[16])>(ptx::tcgen05_st_16x64b);
    form<void(uint32_t, const uint32_t (&)[16])>(ptx::tcgen05_st_16x64b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[32])>(ptx::tcgen05_st_16x64b);
    form<void(uint32_t, const uint32_t (&)[32])>(ptx::tcgen05_st_16x64b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[64])>(ptx::tcgen05_st_16x64b);
    form<void(uint32_t, const uint32_t (&)[64])>(ptx::tcgen05_st_16x64b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[128])>(ptx::tcgen05_st_16x64b);
    form<void(uint32_t, const uint32_t (&)[128])>(ptx::tcgen05_st_16x64b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[2])>(ptx::tcgen05_st_16x128b);
    form<void(uint32_t, const uint32_t (&)[2])>(ptx::tcgen05_st_16x128b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[4])>(ptx::tcgen05_st_16x128b);
    form<void(uint32_t, const uint32_t (&)[4])>(ptx::tcgen05_st_16x128b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[8])>(ptx::tcgen05_st_16x128b);
    form<void(uint32_t, const uint32_t (&)[8])>(ptx::tcgen05_st_16x128b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[16])>(ptx::tcgen05_st_16x128b);
    form<void(uint32_t, const uint32_t (&)[16])>(ptx::tcgen05_st_16x128b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[32])>(ptx::tcgen05_st_16x128b);
    form<void(uint32_t, const uint32_t (&)[32])>(ptx::tcgen05_st_16x128b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[64])>(ptx::tcgen05_st_16x128b);
    form<void(uint32_t, const uint32_t (&)[64])>(ptx::tcgen05_st_16x128b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[128])>(ptx::tcgen05_st_16x128b);
    form<void(uint32_t, const uint32_t (&)[128])>(ptx::tcgen05_st_16x128b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[4])>(ptx::tcgen05_st_16x256b);
    form<void(uint32_t, const uint32_t (&)[4])>(ptx::tcgen05_st_16x256b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[8])>(ptx::tcgen05_st_16x256b);
    form<void(uint32_t, const uint32_t (&)[8])>(ptx::tcgen05_st_16x256b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[16])>(ptx::tcgen05_st_16x256b);
    form<void(uint32_t, const uint32_t (&)[16])>(ptx::tcgen05_st_16x256b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[32])>(ptx::tcgen05_st_16x256b);
    form<void(uint32_t, const uint32_t (&)[32])>(ptx::tcgen05_st_16x256b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[64])>(ptx::tcgen05_st_16x256b);
    form<void(uint32_t, const uint32_t (&)[64])>(ptx::tcgen05_st_16x256b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[128])>(ptx::tcgen05_st_16x256b);
    form<void(uint32_t, const uint32_t (&)[128])>(ptx::tcgen05_st_16x256b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[1])>(ptx::tcgen05_st_32x32b);
    form<void(uint32_t, const uint32_t (&)[1])>(ptx::tcgen05_st_32x32b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[2])>(ptx::tcgen05_st_32x32b);
    form<void(uint32_t, const uint32_t (&)[2])>(ptx::tcgen05_st_32x32b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[4])>(ptx::tcgen05_st_32x32b);
    form<void(uint32_t, const uint32_t (&)[4])>(ptx::tcgen05_st_32x32b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[8])>(ptx::tcgen05_st_32x32b);
    form<void(uint32_t, const uint32_t (&)[8])>(ptx::tcgen05_st_32x32b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[16])>(ptx::tcgen05_st_32x32b);
    form<void(uint32_t, const uint32_t (&)[16])>(ptx::tcgen05_st_32x32b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[32])>(ptx::tcgen05_st_32x32b);
    form<void(uint32_t, const uint32_t (&)[32])>(ptx::tcgen05_st_32x32b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[64])>(ptx::tcgen05_st_32x32b);
    form<void(uint32_t, const uint32_t (&)[64])>(ptx::tcgen05_st_32x32b_unpack_16b);
    form<void(uint32_t, const uint32_t (&)[128])>(ptx::tcgen05_st_32x32b);
    form<void(uint32_t, const uint32_t (&)[128])>(ptx::tcgen05_st_32x32b_unpack_16b);
    form<void(uint32_t, n32_t<1>, const uint32_t (&)[1])>(ptx::tcgen05_st_16x32bx2);
    form<void(uint32_t, n32_t<1>, const uint32_t (&)[1])>(ptx::tcgen05_st_16x32bx2_unpack_16b);
    form<void(uint32_t, n32_t<1>, const uint32_t (&)[2])>(ptx::tcgen05_st_16x32bx2);
    form<void(uint32_t, n32_t<1>, const uint32_t (&)[2])>(ptx::tcgen05_st_16x32bx2_unpack_16b);
    form<void(uint32_t, n32_t<1>, const uint32_t (&)[4])>(ptx::tcgen05_st_16x32bx2);
    form<void(uint32_t, n32_t<1>, const uint32_t (&)[4])>(ptx::tcgen05_st_16x32bx2_unpack_16b);
    form<void(uint32_t, n32_t<1>, const uint32_t (&)[8])>(ptx::tcgen05_st_16x32bx2);
    form<void(uint32_t, n32_t<1>, const uint32_t (&)[8])>(ptx::tcgen05_st_16x32bx2_unpack_16b);
    form<void(uint32_t, n32_t<1>, const uint32_t (&)[16])>(ptx::tcgen05_st_16x32bx2);
    form<void(uint32_t, n32_t<1>, const uint32_t (&)[16])>(ptx::tcgen05_st_16x32bx2_unpack_16b);
    form<void(uint32_t, n32_t<1>, const uint32_t (&)[32])>(ptx::tcgen05_st_16x32bx2);
    form<void(uint32_t, n32_t<1>, const uint32_t (&)[32])>(ptx::tcgen05_st_16x32bx2_unpack_16b);
    form<void(uint32_t, n32_t<1>, const uint32_t (&)[64])>(ptx::tcgen05_st_16x32bx2);
    form<void(uint32_t, n32_t<1>, const uint32_t (&)[64])>(ptx::tcgen05_st_16x32bx2_unpack_16b);
    form<void(uint32_t, n32_t<1>, const uint32_t (&)[128])>(ptx::tcgen05_st_16x32bx2);
    form<void(uint32_t, n32_t<1>, const uint32_t (&)[128])>(ptx::tcgen05_st_16x32bx2_unpack_16b);
}
