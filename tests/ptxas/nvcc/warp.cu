// SPDX-License-Identifier: Apache-2.0
// What the threads of a warp and of a block have for each other: votes, matches, redux, shuffles, named barriers.
// run: votes --block 64 --arg u32[9]=zeros --print 0
// prints: 1431655765 0 1 286331153 496 31 42 0 1
// run: relay --block 96 --arg u32[32]=zeros --print 0:4
// prints: 2 4 6 8

extern "C" __global__ void votes(unsigned *out) {
    const unsigned all = 0xffffffff, lane = threadIdx.x % 32;
    const unsigned said[9] = {
        __ballot_sync(all, lane % 2 == 0),
        static_cast<unsigned>(__all_sync(all, lane < 31)),
        static_cast<unsigned>(__any_sync(all, lane == 31)),
        __match_any_sync(all, lane % 4),
        __reduce_add_sync(all, lane),
        __shfl_sync(all, lane, 31),
        static_cast<unsigned>(__syncthreads_count(threadIdx.x % 3)),
        static_cast<unsigned>(__syncthreads_and(threadIdx.x < 63)),
        static_cast<unsigned>(__syncthreads_or(threadIdx.x == 63)),
    };
    for (unsigned i = 0; threadIdx.x == 0 && i < 9; i++) out[i] = said[i];
}

// Warp after warp doubles, adds and hands on, each pair of them at a barrier of its own.
extern "C" __global__ void relay(unsigned *out) {
    __shared__ unsigned box[2][32];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (warp == 0) {
        box[0][lane] = lane + 1;
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else if (warp == 1) {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        box[1][lane] = 2 * box[0][lane];
        asm volatile("bar.arrive 2, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 2, 64;" ::: "memory");
        out[lane] = box[1][lane];
    }
}
