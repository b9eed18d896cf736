// SPDX-License-Identifier: Apache-2.0
// A block writes data and then sets a flag by a relaxed store: __threadfence is missing between. On a GPU another block may
// see the flag before the data.
#include <cuda/atomic>

extern "C" __global__ void __launch_bounds__(1) kernel(unsigned *out) {  // data, flag, what was read
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> flag(out[1]);
    if (blockIdx.x == 0) {
        out[0] = 7;  // !found
#ifdef FIXED
        __threadfence();
#endif
        flag.store(1, cuda::memory_order_relaxed);
    } else {
        while (!flag.load(cuda::memory_order_acquire)) {}
        out[2] = out[0];  // !found
    }
}
