// SPDX-License-Identifier: Apache-2.0
// Encoding tensor maps: checks the requirements that every device has (CUDA driver API, cuTensorMapEncodeTiled,
// cuTensorMapEncodeIm2col), and names the argument that breaks one.
#include <clusterjit/tensormap.h>
#include <inttypes.h>
#include <stdbool.h>

#include "device.h"
#include "error.h"

enum { RANK_MAX = 5, BOX_MAX = 256, PIXELS_MAX = 1024, ELEMENT_STRIDE_MAX = 8, INTERLEAVED_RANK = 3, IM2COL_RANK = 3 };

#define DIM_MAX ((uint64_t)1 << 32)
#define STRIDE_END ((uint64_t)1 << 40)

static const struct {
    const char *name;
    uint32_t    bytes;
    bool        is_float;
} types[] = {
#define CJ_X(name, value, text, bytes) [value] = {text, bytes, (value) >= CJ_TENSORMAP_F16},
    CJ_TENSORMAP_TYPE_LIST(CJ_X)
#undef CJ_X
};

static bool is_range(uint64_t value, uint64_t least, uint64_t most) { return value >= least && value <= most; }

// Refuses one value of an array, or a scalar (index below 0), that breaks its limits.
static cj_status refuse(cj_error *error, const char *name, int index, uint64_t value, const char *limits) {
    if (index < 0) return cj__fail(error, CJ_INVALID_ARGUMENT, "%s is %" PRIu64 "; it must be %s", name, value, limits);
    return cj__fail(error, CJ_INVALID_ARGUMENT, "%s[%d] is %" PRIu64 "; it must be %s", name, index, value, limits);
}

static cj_status check_scalars(const cj_tensor_tile *t, cj_error *error) {
    const bool     interleaved = t->interleave != CJ_TENSORMAP_INTERLEAVE_NONE;
    const uint32_t align = t->interleave == CJ_TENSORMAP_INTERLEAVE_32B ? 32 : 16;
    if ((uint32_t)t->type >= sizeof types / sizeof *types)
        return refuse(error, "type", -1, (uint32_t)t->type, "one of cj_tensormap_type");
    if (!t->box && !is_range(t->rank, IM2COL_RANK, RANK_MAX))
        return refuse(error, "rank", -1, t->rank, "3 to 5 for columns of pixels");
    if (!is_range(t->rank, interleaved ? INTERLEAVED_RANK : 1, RANK_MAX))
        return refuse(error, "rank", -1, t->rank, interleaved ? "3 to 5 with an interleaved layout" : "1 to 5");
    if (!t->address || t->address % align)
        return refuse(error, "address", -1, t->address,
                      align == 32 ? "a multiple of 32" : "a multiple of 16, and not 0");
    if ((uint32_t)t->interleave > CJ_TENSORMAP_INTERLEAVE_32B)
        return refuse(error, "interleave", -1, (uint32_t)t->interleave, "none, 16B or 32B (0 to 2)");
    if ((uint32_t)t->swizzle > CJ_TENSORMAP_SWIZZLE_128B)
        return refuse(error, "swizzle", -1, (uint32_t)t->swizzle, "none, 32B, 64B or 128B (0 to 3)");
    if (t->interleave == CJ_TENSORMAP_INTERLEAVE_32B && t->swizzle != CJ_TENSORMAP_SWIZZLE_32B)
        return refuse(error, "swizzle", -1, (uint32_t)t->swizzle, "32B (1) with interleave 32B");
    if ((uint32_t)t->l2 > CJ_TENSORMAP_L2_256B)
        return refuse(error, "l2", -1, (uint32_t)t->l2, "none, 64B, 128B or 256B (0 to 3)");
    if ((uint32_t)t->fill > CJ_TENSORMAP_FILL_NAN)
        return refuse(error, "fill", -1, (uint32_t)t->fill, "zeros or NaN (0 or 1)");
    if (t->fill == CJ_TENSORMAP_FILL_NAN && !types[t->type].is_float) {
        return cj__fail(error, CJ_INVALID_ARGUMENT, "fill is NaN, which elements of type %s cannot be",
                        types[t->type].name);
    }
    return CJ_OK;
}

static cj_status check_dimension(const cj_tensor_tile *t, int i, cj_error *error) {
    const uint64_t align = t->interleave == CJ_TENSORMAP_INTERLEAVE_32B ? 32 : 16;
    const bool     counts = i || t->interleave != CJ_TENSORMAP_INTERLEAVE_NONE;
    if (!is_range(t->dims[i], 1, DIM_MAX)) return refuse(error, "dims", i, t->dims[i], "1 to 2^32 elements");
    if (t->box && !is_range(t->box[i], 1, BOX_MAX)) return refuse(error, "box", i, t->box[i], "1 to 256 elements");
    if (counts && !is_range(t->element_strides[i], 1, ELEMENT_STRIDE_MAX))
        return refuse(error, "element_strides", i, t->element_strides[i], "1 to 8");
    if (i && (t->strides[i - 1] % align || t->strides[i - 1] >= STRIDE_END))
        return refuse(error, "strides", i - 1, t->strides[i - 1],
                      align == 32 ? "a multiple of 32 bytes below 2^40" : "a multiple of 16 bytes below 2^40");
    return CJ_OK;
}

// Checks the bytes that are contiguous in shared memory: a row of the box, or the channels of a pixel.
static cj_status check_row(const cj_tensor_tile *t, cj_error *error) {
    const uint32_t elements = t->box ? t->box[0] : t->channels, row = elements * types[t->type].bytes;
    const uint32_t span = 16u << t->swizzle;
    const char    *what = t->box ? "box[0] is" : "channels are";
    if (t->interleave != CJ_TENSORMAP_INTERLEAVE_NONE) return CJ_OK;
    if (row % 16) {
        return cj__fail(error, CJ_INVALID_ARGUMENT, "%s %u elements of %s, %u bytes; they must be a multiple of 16",
                        what, elements, types[t->type].name, row);
    }
    if (t->swizzle == CJ_TENSORMAP_SWIZZLE_NONE || row <= span) return CJ_OK;
    cj__fail(error, CJ_INVALID_ARGUMENT, "%s %u elements of %s, %u bytes, more than the swizzle's %u", what, elements,
             types[t->type].name, row, span);
    cj__hint(error, "take a wider swizzle, or copy the tile in columns of %u bytes", span);
    return CJ_INVALID_ARGUMENT;
}

// Checks the bounding box in dimension i + 1.
static cj_status check_corner(const cj_tensor_tile *t, int i, cj_error *error) {
    static const struct {
        int32_t     least, most;
        const char *limits;
    } of_rank[] = {{-32768, 32767, "-32768 to 32767 for rank 3"},
                   {-128, 127, "-128 to 127 for rank 4"},
                   {-16, 15, "-16 to 15 for rank 5"}};
    const int32_t least = of_rank[t->rank - IM2COL_RANK].least, most = of_rank[t->rank - IM2COL_RANK].most;
    const int32_t values[] = {t->lower[i], t->upper[i]};
    for (int k = 0; k < 2; k++) {
        if (values[k] >= least && values[k] <= most) continue;
        return cj__fail(error, CJ_INVALID_ARGUMENT, "%s[%d] is %d; it must be %s", k ? "upper" : "lower", i, values[k],
                        of_rank[t->rank - IM2COL_RANK].limits);
    }
    const int64_t size = (int64_t)t->dims[i + 1] + t->upper[i] - t->lower[i];
    if (size > 0) return CJ_OK;
    return cj__fail(error, CJ_INVALID_ARGUMENT,
                    "lower[%d] is %d and upper[%d] %d: of %" PRIu64 " pixels the bounding box has none", i, t->lower[i],
                    i, t->upper[i], t->dims[i + 1]);
}

static cj_status check_columns(const cj_tensor_tile *t, cj_error *error) {
    if (!is_range(t->channels, 1, BOX_MAX)) return refuse(error, "channels", -1, t->channels, "1 to 256");
    if (!is_range(t->pixels, 1, PIXELS_MAX)) return refuse(error, "pixels", -1, t->pixels, "1 to 1024");
    cj_status status = CJ_OK;
    for (uint32_t i = 0; i + 2 < t->rank && !status; i++) status = check_corner(t, (int)i, error);
    return status;
}

typedef struct needed {
    const void *pointer;
    const char *name;
} needed;

static cj_status encode(cj_device *device, const cj_tensor_tile *tile, cj_tensormap *map, const needed *needs,
                        size_t count, const char *function, cj_error *error) {
    for (size_t i = 0; i < count; i++) {
        if (!needs[i].pointer) return cj__fail(error, CJ_INVALID_ARGUMENT, "%s: %s is 0", function, needs[i].name);
    }
    cj_status status = check_scalars(tile, error);
    for (uint32_t i = 0; i < tile->rank && !status; i++) status = check_dimension(tile, (int)i, error);
    if (!status && !tile->box) status = check_columns(tile, error);
    if (!status) status = check_row(tile, error);
    return status ? status : device->ops->encode_tensor(device, tile, map, error);
}

cj_status cj_tensormap_encode_tiled(cj_device *device, cj_tensormap *map, cj_tensormap_type type, uint32_t rank,
                                    cj_ptr address, const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
                                    const uint32_t *element_strides, cj_tensormap_interleave interleave,
                                    cj_tensormap_swizzle swizzle, cj_tensormap_l2 l2, cj_tensormap_fill fill,
                                    cj_error *error) {
    REQUIRE(device);
    REQUIRE(map);
    REQUIRE(dims);
    REQUIRE(box);
    const cj_tensor_tile tile = {.type = type,
                                 .rank = rank,
                                 .address = address,
                                 .dims = dims,
                                 .strides = strides,
                                 .box = box,
                                 .element_strides = element_strides,
                                 .interleave = interleave,
                                 .swizzle = swizzle,
                                 .l2 = l2,
                                 .fill = fill};
    const needed         needs[] = {{device, "device"},
                                    {map, "map"},
                                    {dims, "dims"},
                                    {box, "box"},
                                    {element_strides, "element_strides"},
                                    {rank > 1 ? strides : dims, "strides"}};
    return encode(device, &tile, map, needs, sizeof needs / sizeof *needs, __func__, error);
}

cj_status cj_tensormap_encode_im2col(cj_device *device, cj_tensormap *map, cj_tensormap_type type, uint32_t rank,
                                     cj_ptr address, const uint64_t *dims, const uint64_t *strides,
                                     const int32_t *lower, const int32_t *upper, uint32_t channels, uint32_t pixels,
                                     const uint32_t *element_strides, cj_tensormap_interleave interleave,
                                     cj_tensormap_swizzle swizzle, cj_tensormap_l2 l2, cj_tensormap_fill fill,
                                     cj_error *error) {
    REQUIRE(device);
    REQUIRE(map);
    REQUIRE(dims);
    REQUIRE(lower);
    REQUIRE(upper);
    const cj_tensor_tile tile = {.type = type,
                                 .rank = rank,
                                 .address = address,
                                 .dims = dims,
                                 .strides = strides,
                                 .element_strides = element_strides,
                                 .interleave = interleave,
                                 .swizzle = swizzle,
                                 .l2 = l2,
                                 .fill = fill,
                                 .lower = lower,
                                 .upper = upper,
                                 .channels = channels,
                                 .pixels = pixels};
    const needed         needs[] = {{device, "device"},
                                    {map, "map"},
                                    {dims, "dims"},
                                    {strides, "strides"},
                                    {lower, "lower"},
                                    {upper, "upper"},
                                    {element_strides, "element_strides"}};
    return encode(device, &tile, map, needs, sizeof needs / sizeof *needs, __func__, error);
}
