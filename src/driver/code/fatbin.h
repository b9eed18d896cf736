// SPDX-License-Identifier: Apache-2.0
// PTX out of fat binaries: the containers in which nvcc puts device code into a program. Their layout is not documented: it is
// what nvcc 13.0 and fatbinary write (nvcc 12 the same, with LZ4), and docs/maintaining/programs.md describes it.
#ifndef CJ_DRIVER_FATBIN_H
#define CJ_DRIVER_FATBIN_H

#include <clusterjit/device.h>

// One PTX text of a container.
typedef struct cj__fatbin_text {
    char    *ptx;         // NUL-terminated; the caller frees it
    size_t   length;      // without the NUL
    uint32_t capability;  // 90 for compute_90
    char     variant;     // 'a' for compute_90a, 'f' for compute_100f, 0 for compute_90
} cj__fatbin_text;

// Whether the image begins as a fat binary does: a program's wrapper around one, or the container itself. `size` in bytes; 0
// where the caller does not know it, and 4 bytes are then read.
bool cj__fatbin_is(const void *image, size_t size);

// The best PTX in a wrapper or container for a device of these limits: first what a GPU of that compute capability runs, the
// highest capability before others, and there `a` before `f` before neither; then, on a device that runs every target, the
// lowest of the others. The translation units of -rdc=true are linked to one text. `size` in bytes bounds every read of a container; 0: the container's header is believed, as it is
// for the container that a wrapper points to. *found is written on success only. Errors, by rule:
//   FILE         fatbin-form (no fat binary), fatbin-cut (an entry ends after the container), fatbin-compressed (damaged
//                LZ4 or zstd data, or another method), all of them CUDA_ERROR_INVALID_IMAGE to a program
//   UNSUPPORTED  fatbin-no-ptx (machine code or NVVM IR alone: CUDA_ERROR_NO_BINARY_FOR_GPU), fatbin-link (the translation
//                units of -rdc=true do not fit each other)
//   OUT_OF_MEMORY
// If the environment's CLUSTERJIT_PTX names a file, its text is given in place of the PTX in any fat binary (its capability is
// the device's); FILE, fatbin-replacement, where it cannot be read.
cj_status cj__fatbin_ptx(const void *image, size_t size, const cj_limits *limits, cj__fatbin_text *found,
                         cj_error *error);

// Links PTX texts to one, in malloc'ed memory, as a linker would; `names` of them for messages. UNSUPPORTED, fatbin-link: they do
// not fit each other.
cj_status cj__fatbin_link(const char *const *texts, const char *const *names, size_t count, char **ptx,
                          cj_error *error);

#endif
