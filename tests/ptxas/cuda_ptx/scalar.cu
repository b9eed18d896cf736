// SPDX-License-Identifier: Apache-2.0
// Every function of cuda::ptx in the headers named below, with every value of its tags. generate.py wrote it.
#include <cuda/ptx>
using namespace cuda::ptx;
namespace ptx = cuda::ptx;

__device__ void *volatile kept;

template <typename F>
__device__ void form(F *function) {
    kept = reinterpret_cast<void *>(function);
}

__global__ void forms() {
    // bfind.h
    form<uint32_t(uint32_t)>(ptx::bfind);
    form<uint32_t(uint32_t)>(ptx::bfind_shiftamt);
    form<uint32_t(uint64_t)>(ptx::bfind);
    form<uint32_t(uint64_t)>(ptx::bfind_shiftamt);
    form<uint32_t(int32_t)>(ptx::bfind);
    form<uint32_t(int32_t)>(ptx::bfind_shiftamt);
    form<uint32_t(int64_t)>(ptx::bfind);
    form<uint32_t(int64_t)>(ptx::bfind_shiftamt);
    // bmsk.h
    form<uint32_t(uint32_t, uint32_t)>(ptx::bmsk_clamp);
    form<uint32_t(uint32_t, uint32_t)>(ptx::bmsk_wrap);
    // exit.h
    form<void()>(ptx::exit);
    // get_sreg.h
    form<uint32_t()>(ptx::get_sreg_tid_x);
    form<uint32_t()>(ptx::get_sreg_tid_y);
    form<uint32_t()>(ptx::get_sreg_tid_z);
    form<uint32_t()>(ptx::get_sreg_ntid_x);
    form<uint32_t()>(ptx::get_sreg_ntid_y);
    form<uint32_t()>(ptx::get_sreg_ntid_z);
    form<uint32_t()>(ptx::get_sreg_laneid);
    form<uint32_t()>(ptx::get_sreg_warpid);
    form<uint32_t()>(ptx::get_sreg_nwarpid);
    form<uint32_t()>(ptx::get_sreg_ctaid_x);
    form<uint32_t()>(ptx::get_sreg_ctaid_y);
    form<uint32_t()>(ptx::get_sreg_ctaid_z);
    form<uint32_t()>(ptx::get_sreg_nctaid_x);
    form<uint32_t()>(ptx::get_sreg_nctaid_y);
    form<uint32_t()>(ptx::get_sreg_nctaid_z);
    form<uint32_t()>(ptx::get_sreg_smid);
    form<uint32_t()>(ptx::get_sreg_nsmid);
    form<uint64_t()>(ptx::get_sreg_gridid);
    form<bool()>(ptx::get_sreg_is_explicit_cluster);
    form<uint32_t()>(ptx::get_sreg_clusterid_x);
    form<uint32_t()>(ptx::get_sreg_clusterid_y);
    form<uint32_t()>(ptx::get_sreg_clusterid_z);
    form<uint32_t()>(ptx::get_sreg_nclusterid_x);
    form<uint32_t()>(ptx::get_sreg_nclusterid_y);
    form<uint32_t()>(ptx::get_sreg_nclusterid_z);
    form<uint32_t()>(ptx::get_sreg_cluster_ctaid_x);
    form<uint32_t()>(ptx::get_sreg_cluster_ctaid_y);
    form<uint32_t()>(ptx::get_sreg_cluster_ctaid_z);
    form<uint32_t()>(ptx::get_sreg_cluster_nctaid_x);
    form<uint32_t()>(ptx::get_sreg_cluster_nctaid_y);
    form<uint32_t()>(ptx::get_sreg_cluster_nctaid_z);
    form<uint32_t()>(ptx::get_sreg_cluster_ctarank);
    form<uint32_t()>(ptx::get_sreg_cluster_nctarank);
    form<uint32_t()>(ptx::get_sreg_lanemask_eq);
    form<uint32_t()>(ptx::get_sreg_lanemask_le);
    form<uint32_t()>(ptx::get_sreg_lanemask_lt);
    form<uint32_t()>(ptx::get_sreg_lanemask_ge);
    form<uint32_t()>(ptx::get_sreg_lanemask_gt);
    form<uint32_t()>(ptx::get_sreg_clock);
    form<uint32_t()>(ptx::get_sreg_clock_hi);
    form<uint64_t()>(ptx::get_sreg_clock64);
    form<uint64_t()>(ptx::get_sreg_globaltimer);
    form<uint32_t()>(ptx::get_sreg_globaltimer_lo);
    form<uint32_t()>(ptx::get_sreg_globaltimer_hi);
    form<uint32_t()>(ptx::get_sreg_total_smem_size);
    form<uint32_t()>(ptx::get_sreg_aggr_smem_size);
    form<uint32_t()>(ptx::get_sreg_dynamic_smem_size);
    form<uint64_t()>(ptx::get_sreg_current_graph_exec);
    // prmt.h
    form<uint32_t(uint32_t, uint32_t, uint32_t)>(ptx::prmt);
    form<uint32_t(uint32_t, uint32_t, uint32_t)>(ptx::prmt_f4e);
    form<uint32_t(uint32_t, uint32_t, uint32_t)>(ptx::prmt_b4e);
    form<uint32_t(uint32_t, uint32_t, uint32_t)>(ptx::prmt_rc8);
    form<uint32_t(uint32_t, uint32_t, uint32_t)>(ptx::prmt_ecl);
    form<uint32_t(uint32_t, uint32_t, uint32_t)>(ptx::prmt_ecr);
    form<uint32_t(uint32_t, uint32_t, uint32_t)>(ptx::prmt_rc16);
    // shl.h
    form<uint16_t(uint16_t, uint32_t)>(ptx::shl);
    form<uint32_t(uint32_t, uint32_t)>(ptx::shl);
    form<uint64_t(uint64_t, uint32_t)>(ptx::shl);
    // shr.h
    form<uint16_t(uint16_t, uint32_t)>(ptx::shr);
    form<uint32_t(uint32_t, uint32_t)>(ptx::shr);
    form<uint64_t(uint64_t, uint32_t)>(ptx::shr);
    form<int16_t(int16_t, uint32_t)>(ptx::shr);
    form<int32_t(int32_t, uint32_t)>(ptx::shr);
    form<int64_t(int64_t, uint32_t)>(ptx::shr);
    // trap.h
    form<void()>(ptx::trap);
}
