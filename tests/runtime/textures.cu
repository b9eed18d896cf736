// SPDX-License-Identifier: Apache-2.0
// Arrays, textures and surfaces.
#include "check.cuh"

__global__ void fetch(cudaTextureObject_t texture, const float2 *at, float *to) {
    to[threadIdx.x] = tex2D<float>(texture, at[threadIdx.x].x, at[threadIdx.x].y);
}
__global__ void fetch_linear(cudaTextureObject_t texture, int *to) { to[threadIdx.x] = tex1Dfetch<int>(texture, threadIdx.x); }
__global__ void store(cudaSurfaceObject_t surface) {
    surf2Dwrite((float)(threadIdx.y * 10 + threadIdx.x), surface, threadIdx.x * 4, threadIdx.y);
}

static const int width = 8, height = 4;

static std::vector<float> ramp() {
    std::vector<float> values;
    for (int i = 0; i < width * height; i++) values.push_back((float)i);
    return values;
}

static void arrays() {
    cudaArray_t           array = nullptr, other = nullptr;
    cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>(), found;
    cudaExtent            extent;
    unsigned              flags = 9;
    std::vector<float>    values = ramp(), back(width * height);
    OK(cudaMallocArray(&array, &channels, width, height));
    OK(cudaArrayGetInfo(&found, &extent, &flags, array));
    IS(found.x == 32 && found.y == 0 && found.f == cudaChannelFormatKindFloat && extent.width == width && flags == 0);
    OK(cudaMemcpy2DToArray(array, 0, 0, values.data(), 32, 32, height, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DFromArray(back.data(), 32, array, 0, 0, 32, height, cudaMemcpyDeviceToHost));
    IS(back == values);
    OK(cudaMemcpy2DFromArray(back.data(), 8, array, 16, 1, 8, 2, cudaMemcpyDeviceToHost));
    IS(back[0] == 12 && back[1] == 13 && back[2] == 20);
    OK(cudaMallocArray(&other, &channels, width, height));
    OK(cudaMemcpy2DArrayToArray(other, 0, 0, array, 0, 0, 32, height, cudaMemcpyDeviceToDevice));
    cudaMemcpy3DParms copy = {};
    copy.srcArray = other;
    copy.srcPos = make_cudaPos(4, 2, 0);
    copy.dstPtr = make_cudaPitchedPtr(back.data(), 16, 4, 2);
    copy.extent = make_cudaExtent(4, 2, 1);
    copy.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&copy));
    IS(back[0] == 20 && back[7] == 31);
    EXPECT(cudaErrorInvalidValue, cudaMemcpy2DToArray(array, 0, 1, values.data(), 32, 32, height, cudaMemcpyHostToDevice));
    OK(cudaFreeArray(array));
    OK(cudaFreeArray(other));
    OK(cudaFreeArray(nullptr));
    channels.x = 7;
    EXPECT(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&array, &channels, width, height));
    EXPECT(cudaErrorInvalidValue, cudaMallocArray(&array, nullptr, width, height));
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void arrays_by_bytes() {
    cudaArray_t           array = nullptr, other = nullptr;
    cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
    std::vector<float>    values = ramp(), back(width * height);
    OK(cudaMallocArray(&array, &channels, width, height));
    OK(cudaMallocArray(&other, &channels, width, height));
    OK(cudaMemcpyToArray(array, 0, 0, values.data(), 128, cudaMemcpyHostToDevice));
    OK(cudaMemcpyToArray(array, 24, 1, values.data(), 48, cudaMemcpyHostToDevice));  // 2 + 8 + 2 elements of 3 rows
    OK(cudaMemcpyArrayToArray(other, 4, 0, array, 0, 0, 124, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpyFromArrayAsync(back.data(), other, 4, 0, 124, cudaMemcpyDeviceToHost, 0));
    for (int i = 0; i < 31; i++) IS(back[i] == (i >= 14 && i < 26 ? i - 14 : i));
    EXPECT(cudaErrorInvalidValue, cudaMemcpyToArray(array, 0, 1, values.data(), 128, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue, cudaMemcpyToArray(array, 32, 0, values.data(), 4, cudaMemcpyHostToDevice));
    OK(cudaFreeArray(array));
    OK(cudaFreeArray(other));
}
#pragma GCC diagnostic pop

static void textures() {
    cudaArray_t           array = nullptr;
    cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
    std::vector<float>    values = ramp();
    cudaTextureObject_t   texture = 0;
    cudaResourceDesc      resource = {}, resource_back = {};
    cudaTextureDesc       sampler = {}, sampler_back = {};
    OK(cudaMallocArray(&array, &channels, width, height));
    OK(cudaMemcpy2DToArray(array, 0, 0, values.data(), 32, 32, height, cudaMemcpyHostToDevice));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    sampler.addressMode[0] = sampler.addressMode[1] = cudaAddressModeClamp;
    sampler.filterMode = cudaFilterModeLinear;
    sampler.readMode = cudaReadModeElementType;
    OK(cudaCreateTextureObject(&texture, &resource, &sampler, nullptr));
    OK(cudaGetTextureObjectResourceDesc(&resource_back, texture));
    OK(cudaGetTextureObjectTextureDesc(&sampler_back, texture));
    IS(resource_back.res.array.array == array && sampler_back.filterMode == cudaFilterModeLinear);
    IS(sampler_back.readMode == cudaReadModeElementType && !sampler_back.normalizedCoords);
    float2 *at = to_device<float2>({{0.5f, 0.5f}, {2.0f, 1.5f}, {-3.0f, 0.5f}, {100.0f, 100.0f}});
    float  *to = nullptr;
    OK(cudaMalloc(&to, 16));
    fetch<<<1, 4>>>(texture, at, to);
    IS(to_host(to, 4) == (std::vector<float>{0.0f, 9.5f, 0.0f, 31.0f}));
    OK(cudaDestroyTextureObject(texture));
    int *numbers = to_device<int>({4, 5, 6, 7});
    resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = numbers;
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    resource.res.linear.sizeInBytes = 16;
    sampler = {};
    OK(cudaCreateTextureObject(&texture, &resource, &sampler, nullptr));
    fetch_linear<<<1, 4>>>(texture, (int *)to);
    IS(to_host((int *)to, 4) == (std::vector<int>{4, 5, 6, 7}));
    OK(cudaDestroyTextureObject(texture));
    EXPECT(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, nullptr, &sampler, nullptr));
    EXPECT(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &resource, nullptr, nullptr));
    resource.res.linear.desc.x = 5;
    EXPECT(cudaErrorInvalidChannelDescriptor, cudaCreateTextureObject(&texture, &resource, &sampler, nullptr));
    OK(cudaFree(numbers));
    OK(cudaFree(at));
    OK(cudaFree(to));
    OK(cudaFreeArray(array));
}

static void surfaces() {
    cudaArray_t           array = nullptr;
    cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
    cudaSurfaceObject_t   surface = 0;
    cudaResourceDesc      resource = {};
    std::vector<float>    back(width * height);
    OK(cudaMallocArray(&array, &channels, width, height, cudaArraySurfaceLoadStore));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    OK(cudaCreateSurfaceObject(&surface, &resource));
    store<<<1, dim3(width, height)>>>(surface);
    OK(cudaMemcpy2DFromArray(back.data(), 32, array, 0, 0, 32, height, cudaMemcpyDeviceToHost));
    IS(back[0] == 0 && back[width + 1] == 11 && back[3 * width + 7] == 37);
    OK(cudaDestroySurfaceObject(surface));
    OK(cudaFreeArray(array));
}

int main() {
    arrays();
    arrays_by_bytes();
    textures();
    surfaces();
    return report();
}
