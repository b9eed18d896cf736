// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects as CUDA C++ reads and writes them.
// run: fetches --arg texture:f32[4x2]=iota,address=clamp --arg f32[12]=zeros --print 1
// prints: 6 0 3 7 1 5 0 0 4 0 0 0
// run: filters --arg texture:u8[4]=iota,filter=linear,coordinates=normalized,address=mirror --arg f32[4]=zeros --print 1
// prints: 0.00588235 0.00490196 0.0 0.0117494
// run: volumes --arg texture:u16[3x2x4]=iota,read=integer,address=border --arg u32[4]=zeros --print 1
// prints: 0 23 0 13
// run: layers --arg texture:s16[3]=iota,layers=4,channels=2,read=integer,address=clamp --arg s32[6]=zeros --print 1
// prints: 8 9 22 23 0 1
// run: gathers --arg texture:f32[4x4]=iota,address=clamp --arg f32[4]=zeros --print 1
// prints: 9 10 6 5
// run: linear --arg texture:u32[8]=iota,memory=linear,address=border --block 10 --arg u32[10]=zeros --print 1
// prints: 0 0 1 2 3 4 5 6 7 0
// run: writes --block 4,3 --arg surface:u32[4x3]@1 --arg u32[12]=iota --print 1
// prints: 100 101 102 103 110 111 112 113 120 121 122 123
// run: edges --arg surface:u32[4x3]@1 --arg u32[12]=iota --arg u32[4]=zeros --print 1 --print 2
// prints: 0 1 2 3 4 5 6 7 7 9 10 99
// prints: 11 0 0 0
// run: doubles --block 4 --arg surface:u32[4]@2 --arg surface:u32[4]@3 --arg u32[4]=iota --arg u32[4]=zeros --print 3
// prints: 0 2 4 6
#include <cstdint>

extern "C" __global__ void fetches(cudaTextureObject_t t, float *x) {
    x[0] = tex2D<float>(t, 2.5f, 1.5f);
    x[1] = tex2D<float>(t, -3.0f, 0.0f);
    x[2] = tex2D<float>(t, 3.99f, 0.99f);
    x[3] = tex2D<float>(t, 1e30f, 1e30f);
    x[4] = tex2DLod<float>(t, 1.0f, 0.0f, 3.0f);
    x[5] = tex2DGrad<float>(t, 1.5f, 1.5f, make_float2(1, 2), make_float2(3, 4));
    x[6] = tex2D<float>(t, -INFINITY, 0.0f);
    x[7] = tex2D<float>(t, NAN, NAN);
    x[8] = tex2D<float>(t, 0.0f, INFINITY);
}

// Texels 0, 1, 2 and 3 of 255, mirrored outside of 0 to 1.
extern "C" __global__ void filters(cudaTextureObject_t t, float *x) {
    x[0] = tex1D<float>(t, 0.5f);           // 1.5
    x[1] = tex1D<float>(t, 1.5625f);        // as at 0.4375: 1.25
    x[2] = tex1D<float>(t, -0.03125f);      // as at 0.03125
    x[3] = tex1D<float>(t, 0.8740234375f);  // 2 + 255 / 256
}

extern "C" __global__ void volumes(cudaTextureObject_t t, unsigned *x) {
    x[0] = tex3D<unsigned short>(t, 0, 0, 0);
    x[1] = tex3D<unsigned short>(t, 2.5f, 1.5f, 3.5f);
    x[2] = tex3D<unsigned short>(t, 2.5f, 1.5f, 4.0f);
    x[3] = tex3D<unsigned short>(t, 1, 0, 2);
}

extern "C" __global__ void layers(cudaTextureObject_t t, int *x) {
    const short2 a = tex1DLayered<short2>(t, 1.5f, 1), b = tex1DLayered<short2>(t, 7.0f, 9),
                 c = tex1DLayered<short2>(t, 0.0f, 0);
    x[0] = a.x, x[1] = a.y, x[2] = b.x, x[3] = b.y, x[4] = c.x, x[5] = c.y;
}

extern "C" __global__ void gathers(cudaTextureObject_t t, float *x) {
    const float4 g = tex2Dgather<float4>(t, 2.0f, 2.0f, 0);
    x[0] = g.x, x[1] = g.y, x[2] = g.z, x[3] = g.w;
}

extern "C" __global__ void linear(cudaTextureObject_t t, unsigned *x) {
    x[threadIdx.x] = tex1Dfetch<unsigned>(t, (int)threadIdx.x - 1);
}

extern "C" __global__ void writes(cudaSurfaceObject_t s, unsigned *x) {
    surf2Dwrite<unsigned>(100 + 10 * threadIdx.y + threadIdx.x, s, threadIdx.x * sizeof(unsigned), threadIdx.y);
}

extern "C" __global__ void edges(cudaSurfaceObject_t s, unsigned *x, unsigned *y) {
    y[0] = surf2Dread<unsigned>(s, 40, 90, cudaBoundaryModeClamp);
    y[1] = surf2Dread<unsigned>(s, 40, 0, cudaBoundaryModeZero);
    surf2Dwrite<unsigned>(99, s, 40, 7, cudaBoundaryModeClamp);
    surf2Dwrite<unsigned>(98, s, -4, 0, cudaBoundaryModeZero);
    surf2Dwrite<unsigned char>(7, s, 0, 2);
}

extern "C" __global__ void doubles(cudaSurfaceObject_t from, cudaSurfaceObject_t to, unsigned *x, unsigned *y) {
    surf1Dwrite<unsigned>(2 * surf1Dread<unsigned>(from, threadIdx.x * 4), to, threadIdx.x * 4);
}
