// SPDX-License-Identifier: Apache-2.0
// A tile of C for each block; tiles of A and B go through shared memory.
template <int TILE>
__device__ void multiply(float *c, const float *a, const float *b, int width_a, int width_b) {
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    const int        x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    float            sum = 0;
    for (int k = 0; k < width_a; k += TILE) {
        tile_a[y][x] = a[row * width_a + k + x];  // found here
        tile_b[y][x] = b[(k + y) * width_b + column];  // found here
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += tile_a[y][i] * tile_b[i][x];  // found here
#ifndef FAULT
        __syncthreads();
#endif
    }
    c[row * width_b + column] = sum;
}

extern "C" __global__ void multiply_16(float *c, const float *a, const float *b, int width_a, int width_b) {
    multiply<16>(c, a, b, width_a, width_b);
}
