// SPDX-License-Identifier: Apache-2.0
// Tensor maps: what cp.async.bulk.tensor needs to know of a tensor in global memory (the Tensor Memory Accelerator,
// TMA).
//
// A map is 128 opaque bytes that only the device for which they were encoded can read. A kernel takes it as a parameter
// (.param .align 64 .b8 map[128]; the launch's argument points to the cj_tensormap) or from global memory.
// Dimension 0 is the innermost one, whose elements follow each other. PTX ISA, "Tensors"; CUDA driver API,
// "Tensor Map Object Management", whose enumerators have these values too.
#ifndef CLUSTERJIT_TENSORMAP_H
#define CLUSTERJIT_TENSORMAP_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_tensormap {
#ifdef __cplusplus
    alignas(64) uint64_t opaque[16];
#else
    _Alignas(64) uint64_t opaque[16];
#endif
} cj_tensormap;

// Element types: name, value, the name in PTX, bytes.
#define CJ_TENSORMAP_TYPE_LIST(X)    \
    X(U8, 0, "u8", 1)                \
    X(U16, 1, "u16", 2)              \
    X(U32, 2, "u32", 4)              \
    X(S32, 3, "s32", 4)              \
    X(U64, 4, "u64", 8)              \
    X(S64, 5, "s64", 8)              \
    X(F16, 6, "f16", 2)              \
    X(F32, 7, "f32", 4)              \
    X(F64, 8, "f64", 8)              \
    X(BF16, 9, "bf16", 2)            \
    X(F32_FTZ, 10, "f32.ftz", 4)     \
    X(TF32, 11, "tf32", 4)           \
    X(TF32_FTZ, 12, "tf32.ftz", 4)

typedef enum cj_tensormap_type {
#define CJ_X(name, value, text, bytes) CJ_TENSORMAP_##name = (value),
    CJ_TENSORMAP_TYPE_LIST(CJ_X)
#undef CJ_X
} cj_tensormap_type;

// How groups of channels lie: NHWC, NC/8HWC8, NC/16HWC16.
typedef enum cj_tensormap_interleave {
    CJ_TENSORMAP_INTERLEAVE_NONE = 0,
    CJ_TENSORMAP_INTERLEAVE_16B = 1,
    CJ_TENSORMAP_INTERLEAVE_32B = 2
} cj_tensormap_interleave;

// How 16-byte pieces change places in shared memory, so that columns have no bank conflicts.
typedef enum cj_tensormap_swizzle {
    CJ_TENSORMAP_SWIZZLE_NONE = 0,
    CJ_TENSORMAP_SWIZZLE_32B = 1,
    CJ_TENSORMAP_SWIZZLE_64B = 2,
    CJ_TENSORMAP_SWIZZLE_128B = 3
} cj_tensormap_swizzle;

// How much the L2 cache fetches at once.
typedef enum cj_tensormap_l2 {
    CJ_TENSORMAP_L2_NONE = 0,
    CJ_TENSORMAP_L2_64B = 1,
    CJ_TENSORMAP_L2_128B = 2,
    CJ_TENSORMAP_L2_256B = 3
} cj_tensormap_l2;

// What is read outside of the tensor: zeros, or NaNs (floating point types only). Nothing is written there, but where a
// row's length is no multiple of 16 bytes: the last 16 bytes of a row are written whole (seen on an H200; the PTX ISA
// does not say so).
typedef enum cj_tensormap_fill { CJ_TENSORMAP_FILL_ZEROS = 0, CJ_TENSORMAP_FILL_NAN = 1 } cj_tensormap_fill;

// Encodes the map of a tensor that is copied in boxes (tile mode), as cuTensorMapEncodeTiled does. Arrays have one
// element a dimension, `strides` one less:
//   rank             1 to 5
//   address          of element (0, …, 0), a multiple of 16
//   dims             elements; 1 to 2^32
//   strides          bytes from one index of dimension i + 1 to the next; multiples of 16 below 2^40
//   box              elements of a box, 1 to 256; the bytes of dimension 0 are a multiple of 16, and at most the
//                    swizzle's
//   element_strides  1 to 8: of so many elements of the box one is taken; [0] counts for nothing without interleave
// The tensor's memory need not exist yet. INVALID_ARGUMENT names the argument and its limit, UNSUPPORTED what the
// device cannot do (interleaved layouts on the cpu device), DRIVER what the driver refuses besides.
// Thread safety: any number of threads at once.
CJ_API cj_status cj_tensormap_encode_tiled(cj_device *device, cj_tensormap *map, cj_tensormap_type type, uint32_t rank,
                                           cj_ptr address, const uint64_t *dims, const uint64_t *strides,
                                           const uint32_t *box, const uint32_t *element_strides,
                                           cj_tensormap_interleave interleave, cj_tensormap_swizzle swizzle,
                                           cj_tensormap_l2 l2, cj_tensormap_fill fill, cj_error *error);

// Encodes the map of a tensor of pixels that is copied in columns, as convolutions need them (im2col mode), as
// cuTensorMapEncodeIm2col does. Dimension 0 are the channels, the last one the images, those between them W, H, D. A
// copy takes `pixels` pixels, the first one at its coordinates, and of each `channels` channels from its channel on.
// They follow each other in W, then H, then D, by their element strides, from one end of a bounding box to the other;
// after its last pixel comes the first one of the next image. The copy's offsets then move each of them, also out of
// the box. Arguments that are not named here are those of cj_tensormap_encode_tiled:
//   rank             3 to 5
//   lower, upper     rank - 2 values, [0] for W: the box goes from lower to dims - 1 + upper, and is not empty.
//                    -32768 to 32767 for rank 3, -128 to 127 for rank 4, -16 to 15 for rank 5
//   channels         1 to 256; their bytes are a multiple of 16, and at most the swizzle's
//   pixels           1 to 1024
//   element_strides  1 to 8: how far it is from one pixel to the next; [0] counts for nothing without interleave
CJ_API cj_status cj_tensormap_encode_im2col(cj_device *device, cj_tensormap *map, cj_tensormap_type type, uint32_t rank,
                                            cj_ptr address, const uint64_t *dims, const uint64_t *strides,
                                            const int32_t *lower, const int32_t *upper, uint32_t channels,
                                            uint32_t pixels, const uint32_t *element_strides,
                                            cj_tensormap_interleave interleave, cj_tensormap_swizzle swizzle,
                                            cj_tensormap_l2 l2, cj_tensormap_fill fill, cj_error *error);

#ifdef __cplusplus
}
#endif
#endif
