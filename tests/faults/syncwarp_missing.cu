// SPDX-License-Identifier: Apache-2.0
// A lane reads what another lane of its warp has written, without __syncwarp. On a GPU it reads the old value where the
// compiler or the scheduler separates the lanes.
extern "C" __global__ void __launch_bounds__(32) kernel(unsigned *out) {
    __shared__ unsigned tile[32];
    tile[threadIdx.x] = threadIdx.x;  // !found
#ifdef FIXED
    __syncwarp();
#endif
    out[threadIdx.x] = tile[threadIdx.x ^ 1];  // !found
}
