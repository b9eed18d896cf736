// SPDX-License-Identifier: Apache-2.0
// The CUDA driver as a table of functions, resolved at run time, and its results as errors.
#ifndef CJ_CUDA_DRIVER_H
#define CJ_CUDA_DRIVER_H

#include <clusterjit/device.h>
#include <cudaTypedefs.h>

// Every driver function in use: its name without cu (cuda.h defines bare names to versioned ones), the CUDA version of
// its signature (of its PFN typedef in cudaTypedefs.h), and whether a device can be opened without it.
#define CJ_DRIVER_LIST(X)                                      \
    X(DriverGetVersion, 2020, NEEDED)                          \
    X(GetErrorName, 6000, NEEDED)                              \
    X(GetErrorString, 6000, NEEDED)                            \
    X(Init, 2000, NEEDED)                                      \
    X(DeviceGetCount, 2000, NEEDED)                            \
    X(DeviceGet, 2000, NEEDED)                                 \
    X(DeviceGetName, 2000, NEEDED)                             \
    X(DeviceGetAttribute, 2000, NEEDED)                        \
    X(DeviceTotalMem, 3020, NEEDED)                            \
    X(DevicePrimaryCtxRetain, 7000, NEEDED)                    \
    X(DevicePrimaryCtxRelease, 11000, NEEDED)                  \
    X(CtxGetCurrent, 4000, NEEDED)                             \
    X(CtxPushCurrent, 4000, NEEDED)                            \
    X(CtxPopCurrent, 4000, NEEDED)                             \
    X(CtxGetDevice, 2000, NEEDED)                              \
    X(MemAlloc, 3020, NEEDED)                                  \
    X(MemFree, 3020, NEEDED)                                   \
    X(MemcpyHtoDAsync, 3020, NEEDED)                           \
    X(MemcpyDtoHAsync, 3020, NEEDED)                           \
    X(MemsetD8Async, 3020, NEEDED)                             \
    X(CtxGetStreamPriorityRange, 5050, NEEDED)                 \
    X(StreamCreate, 2000, NEEDED)                              \
    X(StreamCreateWithPriority, 5050, NEEDED)                  \
    X(StreamWaitEvent, 3020, NEEDED)                           \
    X(StreamDestroy, 4000, NEEDED)                             \
    X(StreamSynchronize, 2000, NEEDED)                         \
    X(StreamBeginCapture, 10010, NEEDED)                       \
    X(StreamEndCapture, 10000, NEEDED)                         \
    X(GraphInstantiateWithFlags, 11040, NEEDED)                \
    X(GraphLaunch, 10000, NEEDED)                              \
    X(GraphExecDestroy, 10000, NEEDED)                         \
    X(GraphDestroy, 10000, NEEDED)                             \
    X(ModuleLoadDataEx, 2010, NEEDED)                          \
    X(ModuleUnload, 2000, NEEDED)                              \
    X(LinkCreate, 6050, OPTIONAL)                              \
    X(LinkAddData, 6050, OPTIONAL)                             \
    X(LinkComplete, 5050, OPTIONAL)                            \
    X(LinkDestroy, 5050, OPTIONAL)                             \
    X(ModuleGetFunction, 2000, NEEDED)                         \
    X(ModuleGetGlobal, 3020, NEEDED)                           \
    X(FuncLoad, 12040, OPTIONAL)                               \
    X(FuncGetAttribute, 2020, NEEDED)                          \
    X(FuncSetAttribute, 9000, NEEDED)                          \
    X(LaunchKernelEx, 11060, NEEDED)                           \
    X(OccupancyMaxActiveBlocksPerMultiprocessor, 6050, NEEDED) \
    X(OccupancyMaxPotentialClusterSize, 11070, OPTIONAL)       \
    X(OccupancyMaxActiveClusters, 11070, OPTIONAL)             \
    X(EventCreate, 2000, NEEDED)                               \
    X(EventRecord, 2000, NEEDED)                               \
    X(EventSynchronize, 2000, NEEDED)                          \
    X(EventElapsedTime, 2000, NEEDED)                          \
    X(EventDestroy, 4000, NEEDED)                              \
    X(DeviceCanAccessPeer, 4000, OPTIONAL)                     \
    X(CtxEnablePeerAccess, 4000, OPTIONAL)                     \
    X(IpcGetMemHandle, 4010, OPTIONAL)                         \
    X(IpcOpenMemHandle, 11000, OPTIONAL)                       \
    X(IpcCloseMemHandle, 4010, OPTIONAL)                       \
    X(StreamQuery, 2000, OPTIONAL)                             \
    X(CtxSynchronize, 2000, OPTIONAL)                          \
    X(MemGetAddressRange, 3020, OPTIONAL)                      \
    X(PointerGetAttribute, 4000, OPTIONAL)                     \
    X(TensorMapEncodeTiled, 12000, OPTIONAL)             \
    X(TensorMapEncodeIm2col, 12000, OPTIONAL)

typedef struct cj_driver {
#define CJ_X(name, version, need) PFN_cu##name##_v##version name;
    CJ_DRIVER_LIST(CJ_X)
#undef CJ_X
} cj_driver;

// Fills the table from `resolver`, or from libcuda.so.1 where it is NULL. The library stays loaded: the driver keeps
// threads and exit handlers of its own.
// NO_DEVICE without a library, or with the toolkit's stub; UNSUPPORTED when a needed symbol is missing.
cj_status cj__driver_load(cj_driver *driver, cj_resolver resolver, void *user, cj_error *error);

// Turns a failed call into an error: the call, the driver's name and text for the code, and a remedy.
cj_status cj__driver_fail(const cj_driver *driver, CUresult result, const char *call, cj_error *error);

// Appends to the message of an error that was just filled; `error` may be NULL.
void cj__driver_note(cj_error *error, const char *format, ...) CJ_PRINTF(2, 3);

// CJ_CU(driver, error, MemAlloc, &memory, bytes) calls cuMemAlloc and returns a cj_status.
#define CJ_CU(driver, error, name, ...) \
    cj__driver_status((driver), (driver)->name(__VA_ARGS__), "cu" #name, (error))

static inline cj_status cj__driver_status(const cj_driver *driver, CUresult result, const char *call, cj_error *error) {
    return result == CUDA_SUCCESS ? CJ_OK : cj__driver_fail(driver, result, call, error);
}

#endif
