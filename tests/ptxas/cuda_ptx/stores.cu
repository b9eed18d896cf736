// SPDX-License-Identifier: Apache-2.0
// Every function of cuda::ptx in st.h, with every value of its tags. generate.py wrote it.
#include <cuda/ptx>
using namespace cuda::ptx;
namespace ptx = cuda::ptx;

__device__ void *volatile kept;

template <typename F>
__device__ void form(F *function) {
    kept = reinterpret_cast<void *>(function);
}

__global__ void forms() {
    // st.h
    form<void(space_global_t, uint8_t*, uint8_t)>(ptx::st);
    form<void(space_global_t, uint16_t*, uint16_t)>(ptx::st);
    form<void(space_global_t, uint32_t*, uint32_t)>(ptx::st);
    form<void(space_global_t, uint64_t*, uint64_t)>(ptx::st);
    form<void(space_global_t, longlong2*, longlong2)>(ptx::st);
    form<void(space_global_t, uint8_t*, uint8_t, uint64_t)>(ptx::st_L2_cache_hint);
    form<void(space_global_t, uint16_t*, uint16_t, uint64_t)>(ptx::st_L2_cache_hint);
    form<void(space_global_t, uint32_t*, uint32_t, uint64_t)>(ptx::st_L2_cache_hint);
    form<void(space_global_t, uint64_t*, uint64_t, uint64_t)>(ptx::st_L2_cache_hint);
    form<void(space_global_t, longlong2*, longlong2, uint64_t)>(ptx::st_L2_cache_hint);
    form<void(space_global_t, uint8_t*, uint8_t)>(ptx::st_L1_evict_normal);
    form<void(space_global_t, uint16_t*, uint16_t)>(ptx::st_L1_evict_normal);
    form<void(space_global_t, uint32_t*, uint32_t)>(ptx::st_L1_evict_normal);
    form<void(space_global_t, uint64_t*, uint64_t)>(ptx::st_L1_evict_normal);
    form<void(space_global_t, longlong2*, longlong2)>(ptx::st_L1_evict_normal);
    form<void(space_global_t, uint8_t*, uint8_t, uint64_t)>(ptx::st_L1_evict_normal_L2_cache_hint);
    form<void(space_global_t, uint16_t*, uint16_t, uint64_t)>(ptx::st_L1_evict_normal_L2_cache_hint);
    form<void(space_global_t, uint32_t*, uint32_t, uint64_t)>(ptx::st_L1_evict_normal_L2_cache_hint);
    form<void(space_global_t, uint64_t*, uint64_t, uint64_t)>(ptx::st_L1_evict_normal_L2_cache_hint);
    form<void(space_global_t, longlong2*, longlong2, uint64_t)>(ptx::st_L1_evict_normal_L2_cache_hint);
    form<void(space_global_t, uint8_t*, uint8_t)>(ptx::st_L1_evict_unchanged);
    form<void(space_global_t, uint16_t*, uint16_t)>(ptx::st_L1_evict_unchanged);
    form<void(space_global_t, uint32_t*, uint32_t)>(ptx::st_L1_evict_unchanged);
    form<void(space_global_t, uint64_t*, uint64_t)>(ptx::st_L1_evict_unchanged);
    form<void(space_global_t, longlong2*, longlong2)>(ptx::st_L1_evict_unchanged);
    form<void(space_global_t, uint8_t*, uint8_t, uint64_t)>(ptx::st_L1_evict_unchanged_L2_cache_hint);
    form<void(space_global_t, uint16_t*, uint16_t, uint64_t)>(ptx::st_L1_evict_unchanged_L2_cache_hint);
    form<void(space_global_t, uint32_t*, uint32_t, uint64_t)>(ptx::st_L1_evict_unchanged_L2_cache_hint);
    form<void(space_global_t, uint64_t*, uint64_t, uint64_t)>(ptx::st_L1_evict_unchanged_L2_cache_hint);
    form<void(space_global_t, longlong2*, longlong2, uint64_t)>(ptx::st_L1_evict_unchanged_L2_cache_hint);
    form<void(space_global_t, uint8_t*, uint8_t)>(ptx::st_L1_evict_first);
    form<void(space_global_t, uint16_t*, uint16_t)>(ptx::st_L1_evict_first);
    form<void(space_global_t, uint32_t*, uint32_t)>(ptx::st_L1_evict_first);
    form<void(space_global_t, uint64_t*, uint64_t)>(ptx::st_L1_evict_first);
    form<void(space_global_t, longlong2*, longlong2)>(ptx::st_L1_evict_first);
    form<void(space_global_t, uint8_t*, uint8_t, uint64_t)>(ptx::st_L1_evict_first_L2_cache_hint);
    form<void(space_global_t, uint16_t*, uint16_t, uint64_t)>(ptx::st_L1_evict_first_L2_cache_hint);
    form<void(space_global_t, uint32_t*, uint32_t, uint64_t)>(ptx::st_L1_evict_first_L2_cache_hint);
    form<void(space_global_t, uint64_t*, uint64_t, uint64_t)>(ptx::st_L1_evict_first_L2_cache_hint);
    form<void(space_global_t, longlong2*, longlong2, uint64_t)>(ptx::st_L1_evict_first_L2_cache_hint);
    form<void(space_global_t, uint8_t*, uint8_t)>(ptx::st_L1_evict_last);
    form<void(space_global_t, uint16_t*, uint16_t)>(ptx::st_L1_evict_last);
    form<void(space_global_t, uint32_t*, uint32_t)>(ptx::st_L1_evict_last);
    form<void(space_global_t, uint64_t*, uint64_t)>(ptx::st_L1_evict_last);
    form<void(space_global_t, longlong2*, longlong2)>(ptx::st_L1_evict_last);
    form<void(space_global_t, uint8_t*, uint8_t, uint64_t)>(ptx::st_L1_evict_last_L2_cache_hint);
    form<void(space_global_t, uint16_t*, uint16_t, uint64_t)>(ptx::st_L1_evict_last_L2_cache_hint);
    form<void(space_global_t, uint32_t*, uint32_t, uint64_t)>(ptx::st_L1_evict_last_L2_cache_hint);
    form<void(space_global_t, uint64_t*, uint64_t, uint64_t)>(ptx::st_L1_evict_last_L2_cache_hint);
    form<void(space_global_t, longlong2*, longlong2, uint64_t)>(ptx::st_L1_evict_last_L2_cache_hint);
    form<void(space_global_t, uint8_t*, uint8_t)>(ptx::st_L1_no_allocate);
    form<void(space_global_t, uint16_t*, uint16_t)>(ptx::st_L1_no_allocate);
    form<void(space_global_t, uint32_t*, uint32_t)>(ptx::st_L1_no_allocate);
    form<void(space_global_t, uint64_t*, uint64_t)>(ptx::st_L1_no_allocate);
    form<void(space_global_t, longlong2*, longlong2)>(ptx::st_L1_no_allocate);
    form<void(space_global_t, uint8_t*, uint8_t, uint64_t)>(ptx::st_L1_no_allocate_L2_cache_hint);
    form<void(space_global_t, uint16_t*, uint16_t, uint64_t)>(ptx::st_L1_no_allocate_L2_cache_hint);
    form<void(space_global_t, uint32_t*, uint32_t, uint64_t)>(ptx::st_L1_no_allocate_L2_cache_hint);
    form<void(space_global_t, uint64_t*, uint64_t, uint64_t)>(ptx::st_L1_no_allocate_L2_cache_hint);
    form<void(space_global_t, longlong2*, longlong2, uint64_t)>(ptx::st_L1_no_allocate_L2_cache_hint);
}
