// SPDX-License-Identifier: Apache-2.0
// What the files of the runtime share: how a call begins and ends. The CUDA runtime over the CUDA driver API, and over nothing
// else: handles of streams, events, graphs, pools, arrays, textures, kernels and libraries are the driver's own.
//
// Every function of the API is reentrant. A thread has its own last error, its own device and its own launch configurations.
#ifndef CJ_RUNTIME_RUNTIME_H
#define CJ_RUNTIME_RUNTIME_H

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#define CJ_PRINTF(format_at, first_at) __attribute__((__format__(__printf__, format_at, first_at)))

// ---- errors (error.c)

// The runtime's error of a driver's result. A failure becomes the thread's last error.
cudaError_t cj__result(CUresult result);

// Makes the code the thread's last error; the driver has told why.
cudaError_t cj__fail(cudaError_t code);

// The same, and tells why: what the driver was never asked.
cudaError_t cj__refuse(const char *call, cudaError_t code, const char *format, ...) CJ_PRINTF(3, 4);

// ---- the driver and the thread's context (context.c)

// Initializes the driver and makes the primary context of the thread's device current, unless a context is: one that the program
// made with the driver API stays.
CUresult cj__begin(void);

// The same without a context.
CUresult cj__init(void);

// The device whose context is current, or that the thread chose; and the primary context of a device, retained once.
CUresult cj__device(CUdevice *device);
CUresult cj__primary(int device, CUcontext *context);

// From here to the end of the scope the report names `call` for what the driver finds. cj__speak_for returns the name before.
const char *cj__speak_for(const char *call);
void        cj__speak_again(const char *const *before);
#define SPEAK_FOR(call) \
    __attribute__((cleanup(cj__speak_again), unused)) const char *const spoken_before = cj__speak_for(call)

// Begins a function of the API that calls the driver; BEGIN_FOR a function that the API's function `call` leaves it to.
#define BEGIN_FOR(call) \
    SPEAK_FOR(call);    \
    TRY(cj__begin())
#define BEGIN() BEGIN_FOR(__func__)

// The same for what needs no context.
#define BEGIN_WITHOUT_CONTEXT() \
    SPEAK_FOR(__func__);        \
    TRY(cj__init())

// Leaves a function of the API if that fails.
#define TRY(expression)                      \
    do {                                     \
        const CUresult tried = (expression); \
        if (tried) return cj__result(tried); \
    } while (0)

#define REQUIRE(pointer)                                                                         \
    do {                                                                                         \
        if (!(pointer)) return cj__refuse(__func__, cudaErrorInvalidValue, #pointer " is NULL"); \
    } while (0)

// A function that one of the driver's does: PASS(cudaEventQuery, (cudaEvent_t event), cuEventQuery(event)).
#define PASS(name, parameters, call) \
    cudaError_t name parameters {    \
        BEGIN();                     \
        return cj__result(call);     \
    }

// The same with a parameter `stream`. The second function is what a program calls that was compiled with
// --default-stream per-thread: stream 0 is the thread's own there.
#define PASS_STREAM(name, parameters, call) \
    PASS(name, parameters, call)            \
    cudaError_t name##_ptsz parameters {    \
        BEGIN();                            \
        stream = cj__own_stream(stream);    \
        return cj__result(call);            \
    }

static inline cudaStream_t cj__own_stream(cudaStream_t stream) { return stream ? stream : CU_STREAM_PER_THREAD; }

static inline CUdeviceptr cj__address(const void *pointer) { return (uintptr_t)pointer; }

// ---- kernels and variables of the program (register.c)

// The driver's kernel for what programs name kernels by: the host function that nvcc made for it, a cudaKernel_t or a
// cudaFunction_t. Loads the module that has it. cudaErrorInvalidDeviceFunction where it is none of these.
cudaError_t cj__kernel_of(const char *call, const void *named, CUkernel *kernel);

// The same for the current context.
cudaError_t cj__function_of(const char *call, const void *named, CUfunction *function);

// The host function that stands for a function of the driver's; the function itself where none does.
void *cj__host_of(CUfunction function);

// Where a variable of the program is on the current device, and its bytes. cudaErrorInvalidSymbol.
cudaError_t cj__symbol_of(const char *call, const void *symbol, CUdeviceptr *address, size_t *bytes);

// ---- copies (copy_shaped.c)

// The driver's description of a copy between arrays, pitched and linear memory.
cudaError_t cj__describe_copy(const char *call, const struct cudaMemcpy3DParms *given, CUDA_MEMCPY3D *copy);

// The same back, for what a graph's node says of itself.
cudaError_t cj__copy_back(const CUDA_MEMCPY3D *copy, struct cudaMemcpy3DParms *made);

// A description of a copy of `bytes` bytes of linear memory.
cudaError_t cj__describe_linear(const char *call, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                CUDA_MEMCPY3D *copy);

// ---- arrays (array.c)

// A channel descriptor as the driver has it, and back. false: there is no such format.
bool cj__format_of(const struct cudaChannelFormatDesc *channels, CUarray_format *format, unsigned *count);
bool cj__channels_of(CUarray_format format, unsigned count, struct cudaChannelFormatDesc *channels);

// ---- launches (launch.c)

// A launch's configuration as the driver has it, on that stream; it points to the same attributes.
CUlaunchConfig cj__launch_config(const cudaLaunchConfig_t *given, cudaStream_t stream);

// The error of a launch that the driver refused: CUDA's runtime distinguishes a wrong grid or block.
cudaError_t cj__launch_result(CUresult result, dim3 grid, dim3 block);

#endif
