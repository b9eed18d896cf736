// SPDX-License-Identifier: Apache-2.0
// Blocks count together with atomics of a block's scope. On a GPU counts of blocks on different SMs may be lost.
extern "C" __global__ void __launch_bounds__(32) kernel(unsigned *out) {
#ifdef FIXED
    atomicAdd(out, 1);
#else
    atomicAdd_block(out, 1);  // !found
#endif
}
