// SPDX-License-Identifier: Apache-2.0
// A block waits for a flag by volatile loads, and then reads what the flag announces: nothing acquires. On a GPU it may read
// the old value.
extern "C" __global__ void __launch_bounds__(1) kernel(unsigned *out) {  // data, flag, what was read
    volatile unsigned *flag = out + 1;
    if (blockIdx.x == 0) {
        out[0] = 7;  // !found
        __threadfence();
        *flag = 1;
    } else {
        while (!*flag) {}
#ifdef FIXED
        __threadfence();
#endif
        out[2] = out[0];  // !found
    }
}
