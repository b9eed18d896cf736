// SPDX-License-Identifier: Apache-2.0
// Copies and fills: of every kind, in one to three dimensions, and to and from variables.
#include "check.cuh"

__device__ int   table[8] = {1, 2, 3};
__constant__ int scale;

__global__ void scaled(int *to) { to[threadIdx.x] = table[threadIdx.x] * scale; }

static std::vector<int> counted(int count) {
    std::vector<int> values;
    for (int i = 0; i < count; i++) values.push_back(i);
    return values;
}

static void linear() {
    std::vector<int> values = counted(100), back(100);
    int             *a = to_device(values), *b = nullptr;
    OK(cudaMalloc(&b, 400));
    OK(cudaMemcpy(b, a, 400, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(back.data(), b, 400, cudaMemcpyDefault));
    IS(back == values);
    OK(cudaMemcpy(back.data(), values.data() + 50, 200, cudaMemcpyHostToHost));
    IS(back[0] == 50 && back[49] == 99);
    OK(cudaMemset(b, 0xff, 400));
    IS(to_host(b, 100)[99] == -1);
    OK(cudaMemcpyAsync(b, values.data(), 400, cudaMemcpyHostToDevice, 0));
    OK(cudaMemcpyAsync(back.data(), b, 400, cudaMemcpyDeviceToHost, 0));
    OK(cudaMemsetAsync(b, 0, 4, 0));
    OK(cudaStreamSynchronize(0));
    IS(back == values && to_host(b, 2)[0] == 0 && to_host(b, 2)[1] == 1);
    OK(cudaMemcpy(b, a, 0, cudaMemcpyDeviceToDevice));
    EXPECT(cudaErrorInvalidMemcpyDirection, cudaMemcpy(b, a, 4, (cudaMemcpyKind)5));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(b, values.data(), 404, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(nullptr, a, 4, cudaMemcpyDeviceToDevice));
    EXPECT(cudaErrorInvalidValue, cudaMemset(b, 0, 401));
    EXPECT(cudaErrorInvalidValue, cudaMemset(&back, 0, 4));
    OK(cudaFree(a));
    OK(cudaFree(b));
}

static void in_two_dimensions() {
    std::vector<int> values = counted(40), back(24, -1);
    char            *p = nullptr;
    size_t           pitch = 0;
    OK(cudaMallocPitch(&p, &pitch, 24, 5));
    OK(cudaMemcpy2D(p, pitch, values.data(), 32, 24, 5, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DAsync(back.data(), 16, p + 8, pitch, 16, 5, cudaMemcpyDeviceToHost, 0));
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 4; x++) IS(back[y * 4 + x] == y * 8 + x + 2);
    IS(back[20] == -1);
    EXPECT(cudaErrorInvalidPitchValue, cudaMemcpy2D(p, 16, values.data(), 32, 24, 5, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidPitchValue, cudaMemcpy2D(p, pitch, values.data(), 16, 24, 5, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidMemcpyDirection, cudaMemcpy2D(p, pitch, p, pitch, 4, 5, (cudaMemcpyKind)-1));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy2D(p, pitch, values.data(), 32, 24, 6, cudaMemcpyHostToDevice));
    OK(cudaFree(p));
}

static void in_three_dimensions() {
    std::vector<int> values = counted(4 * 3 * 2), back(8, -1);
    cudaPitchedPtr   block;
    OK(cudaMalloc3D(&block, make_cudaExtent(16, 3, 2)));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(values.data(), 16, 4, 3);
    copy.dstPtr = block;
    copy.extent = make_cudaExtent(16, 3, 2);
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    copy = {};
    copy.srcPtr = block;
    copy.srcPos = make_cudaPos(8, 1, 0);
    copy.dstPtr = make_cudaPitchedPtr(back.data(), 8, 2, 2);
    copy.extent = make_cudaExtent(8, 2, 2);
    copy.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3DAsync(&copy, 0));
    OK(cudaStreamSynchronize(0));
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 2; y++)
            for (int x = 0; x < 2; x++) IS(back[(z * 2 + y) * 2 + x] == (z * 3 + y + 1) * 4 + x + 2);
    copy.dstPtr.ptr = nullptr;
    EXPECT(cudaErrorInvalidValue, cudaMemcpy3D(&copy));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy3D(nullptr));
    OK(cudaFree(block.ptr));
}

static void variables() {
    int    three = 3, values[8] = {0}, *out = nullptr, *address = nullptr;
    size_t size = 0;
    OK(cudaMalloc(&out, 32));
    OK(cudaMemcpyToSymbol(scale, &three, sizeof three));
    OK(cudaMemcpyToSymbol(table, &three, sizeof three, 12));
    scaled<<<1, 8>>>(out);
    OK(cudaMemcpy(values, out, 32, cudaMemcpyDeviceToHost));
    IS(values[0] == 3 && values[1] == 6 && values[2] == 9 && values[3] == 9 && values[4] == 0);
    OK(cudaMemcpyFromSymbolAsync(values, table, 8, 4, cudaMemcpyDeviceToHost, 0));
    IS(values[0] == 2 && values[1] == 3);
    OK(cudaGetSymbolAddress((void **)&address, table));
    OK(cudaGetSymbolSize(&size, table));
    IS(size == 32 && to_host(address, 4)[3] == 3);
    OK(cudaMemcpyToSymbol(table, address, 4, 28, cudaMemcpyDeviceToDevice));
    IS(to_host(address, 8)[7] == 1);
    EXPECT(cudaErrorInvalidSymbol, cudaMemcpyToSymbol(&three, &three, 4));
    EXPECT(cudaErrorInvalidSymbol, cudaGetSymbolAddress((void **)&address, (const void *)nullptr));
    EXPECT(cudaErrorInvalidSymbol, cudaGetSymbolSize(&size, (const void *)scaled));
    EXPECT(cudaErrorInvalidValue, cudaMemcpyToSymbol(table, values, 32, 4));
    EXPECT(cudaErrorInvalidMemcpyDirection, cudaMemcpyToSymbol(table, values, 4, 0, cudaMemcpyDeviceToHost));
    EXPECT(cudaErrorInvalidMemcpyDirection, cudaMemcpyFromSymbol(values, table, 4, 0, cudaMemcpyHostToDevice));
    OK(cudaFree(out));
}

static void many_at_once() {
    std::vector<int>     values = counted(8), back(8);
    int                 *a = to_device(std::vector<int>(8)), *b = to_device(values);
    void                *to[] = {a, a + 4, back.data()}, *from[] = {values.data() + 4, b, b + 2};
    size_t               sizes[] = {16, 16, 8}, first = 0;
    cudaMemcpyAttributes attributes = {};
    cudaStream_t         stream = nullptr;
    OK(cudaStreamCreate(&stream));
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    OK(cudaMemcpyBatchAsync(to, from, sizes, 3, &attributes, &first, 1, stream));
    OK(cudaStreamSynchronize(stream));
    IS(to_host(a, 8) == (std::vector<int>{4, 5, 6, 7, 0, 1, 2, 3}) && back[0] == 2 && back[1] == 3);
    EXPECT(cudaErrorInvalidValue, cudaMemcpyBatchAsync(to, from, sizes, 0, &attributes, &first, 1, stream));
    cudaMemcpy3DBatchOp one = {};
    one.src.type = one.dst.type = cudaMemcpyOperandTypePointer;
    one.src.op.ptr.ptr = b;
    one.dst.op.ptr.ptr = a;
    one.extent = make_cudaExtent(16, 2, 1);
    one.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    OK(cudaMemcpy3DBatchAsync(1, &one, 0, stream));
    OK(cudaStreamSynchronize(stream));
    IS(to_host(a, 8) == values);
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(a));
    OK(cudaFree(b));
}

int main() {
    linear();
    in_two_dimensions();
    in_three_dimensions();
    variables();
    many_at_once();
    return report();
}
