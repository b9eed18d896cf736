// SPDX-License-Identifier: Apache-2.0
// What a CUresult means for the caller.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "error.h"

// A fault in a kernel destroys the context: every later call in it repeats the code.
#define STICKY                                                                                                         \
    "; the context is lost: close the device, and end the process if it fails again. Run next: ptxgen exec FILE.ptx "  \
    "--hazards on, which names the faulty line on the CPU device, or compute-sanitizer on the GPU; with "              \
    "CLUSTERJIT_DUMP_DIR set, the file and the command line are kept"

// clang-format off
// Codes that need a status or a remedy of their own. Every other code is DRIVER, with the driver's words.
#define CODES(X)                                                                                                       \
    X(CUDA_ERROR_INVALID_VALUE, CJ_DRIVER,                                                                             \
      "the driver refuses an argument: for a launch, compare block, grid and shared memory with the device's limits")  \
    X(CUDA_ERROR_OUT_OF_MEMORY, CJ_OUT_OF_MEMORY, "free device memory, or split the problem")                          \
    X(CUDA_ERROR_NOT_INITIALIZED, CJ_DRIVER,                                                                           \
      "a process forked after CUDA was initialized cannot use it: open the device in the child, before any other use") \
    X(CUDA_ERROR_DEINITIALIZED, CJ_DRIVER, "the driver is shutting down: close devices before the process exits")      \
    X(CUDA_ERROR_STUB_LIBRARY, CJ_NO_DEVICE,                                                                           \
      "libcuda.so.1 is the toolkit's stub, made for linking only: remove its directory (lib/stubs) from "              \
      "LD_LIBRARY_PATH, or install the driver")                                                                        \
    X(CUDA_ERROR_DEVICE_UNAVAILABLE, CJ_DRIVER,                                                                        \
      "another process holds the GPU, or its compute mode prohibits contexts: see nvidia-smi -q -d COMPUTE")           \
    X(CUDA_ERROR_NO_DEVICE, CJ_NO_DEVICE,                                                                              \
      "see that nvidia-smi lists the GPU and that CUDA_VISIBLE_DEVICES does not hide it")                              \
    X(CUDA_ERROR_INVALID_IMAGE, CJ_COMPILER, "the driver does not take the text for PTX")                              \
    X(CUDA_ERROR_INVALID_CONTEXT, CJ_DRIVER, "the context was destroyed, or belongs to another process")               \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, CJ_COMPILER,                                                                       \
      "this binary was built for another architecture: load PTX, or build it for this GPU")                            \
    X(CUDA_ERROR_ECC_UNCORRECTABLE, CJ_DRIVER, "the GPU's memory failed: see nvidia-smi -q -d ECC, and reset the GPU") \
    X(CUDA_ERROR_INVALID_PTX, CJ_COMPILER,                                                                             \
      "the JIT compiler refuses the PTX: see its log in the message; a .target that the GPU cannot run (an a-suffixed "\
      "one runs on its own architecture alone) ends here too")                                                         \
    X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, CJ_COMPILER,                                                                  \
      "libnvidia-ptxjitcompiler.so.1 belongs to the driver: reinstall it")                                             \
    X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, CJ_COMPILER,                                                                 \
      "the PTX's .version is newer than the driver: lower .version if the instructions allow it, or update the driver")\
    X(CUDA_ERROR_NOT_FOUND, CJ_DRIVER, "the driver knows no symbol of that name")                                      \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, CJ_DRIVER,                                                                           \
      "a kernel touched memory out of bounds, its own or a peer block's" STICKY)                                       \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CJ_DRIVER,                                                                   \
      "the block needs more registers than an SM has: use fewer threads, or lower .maxnreg")                           \
    X(CUDA_ERROR_LAUNCH_TIMEOUT, CJ_DRIVER,                                                                            \
      "the display watchdog ended the kernel: give each launch less work" STICKY)                                      \
    X(CUDA_ERROR_HARDWARE_STACK_ERROR, CJ_DRIVER, "a kernel's call stack is damaged or overflowed" STICKY)             \
    X(CUDA_ERROR_ILLEGAL_INSTRUCTION, CJ_DRIVER,                                                                       \
      "a kernel executed what it may not, such as a peer block's rank in a launch without clusters" STICKY)            \
    X(CUDA_ERROR_MISALIGNED_ADDRESS, CJ_DRIVER, "a kernel's address is not a multiple of the access size" STICKY)      \
    X(CUDA_ERROR_INVALID_ADDRESS_SPACE, CJ_DRIVER,                                                                     \
      "a kernel's address is not in the space that its instruction names" STICKY)                                      \
    X(CUDA_ERROR_INVALID_PC, CJ_DRIVER, "a kernel jumped out of its code" STICKY)                                      \
    X(CUDA_ERROR_LAUNCH_FAILED, CJ_DRIVER,                                                                             \
      "a kernel faulted: often a peer block that had exited, or a rank out of the cluster's range" STICKY)             \
    X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, CJ_DRIVER,                                                              \
      "a cooperative grid must be resident at once: use fewer or smaller blocks")                                      \
    X(CUDA_ERROR_NOT_SUPPORTED, CJ_UNSUPPORTED, "the GPU or its driver cannot do this")                                \
    X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, CJ_DRIVER,                                                                    \
      "libcuda.so.1 and the kernel module differ: restart after a driver update")                                      \
    X(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, CJ_DRIVER,                                                            \
      "the CUDA compatibility package does not support this GPU: remove it from LD_LIBRARY_PATH")                      \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CJ_DRIVER,                                                                \
      "this call cannot be captured into a graph: make it outside the capture")                                        \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CJ_DRIVER,                                                                \
      "an earlier call broke the capture: find the first that failed")                                                 \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, CJ_DRIVER,                                                                   \
      "the default stream cannot be used while another captures: give every launch the captured stream")               \
    X(CUDA_ERROR_INVALID_CLUSTER_SIZE, CJ_DRIVER,                                                                      \
      "this GPU cannot place the cluster: use a smaller one, less shared memory or fewer threads a block")
// clang-format on

static const struct code {
    CUresult    result;
    cj_status   status;
    const char *name, *remedy;
} codes[] = {
#define CJ_X(code, status, remedy) {code, status, #code, remedy},
    CODES(CJ_X)
#undef CJ_X
};

static const struct code *find_code(CUresult result) {
    static const struct code other = {CUDA_ERROR_UNKNOWN, CJ_DRIVER, "an unnamed code",
                                      "see the CUDA driver API's documentation of CUresult"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i].result == result) return &codes[i];
    }
    return &other;
}

cj_status cj__driver_fail(const cj_driver *driver, CUresult result, const char *call, cj_error *error) {
    const struct code *code = find_code(result);
    const char        *name = NULL, *text = NULL;
    // The stub answers with NULL. Before the table is filled there is no driver to ask.
    if (driver->GetErrorName) driver->GetErrorName(result, &name);
    if (driver->GetErrorString) driver->GetErrorString(result, &text);
    cj__fail(error, code->status, "%s: %s (%d)%s%s", call, name ? name : code->name, (int)result, text ? ", " : "",
             text ? text : "");
    cj__hint(error, "%s", code->remedy);
    if (error) error->driver_code = (int)result;
    return code->status;
}

void cj__driver_note(cj_error *error, const char *format, ...) {
    if (!error) return;
    size_t  length = strlen(error->message);
    va_list args;
    va_start(args, format);
    vsnprintf(error->message + length, sizeof error->message - length, format, args);
    va_end(args);
}
