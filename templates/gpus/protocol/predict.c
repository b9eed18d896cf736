// SPDX-License-Identifier: Apache-2.0
// Formulas: docs/maintaining/gpus.md, "The model". A time is a base, the one-way waits, and the bytes that leave a GPU over its
// link's rate. Mail doubles the bytes: each word has its epoch beside it.
#include "predict.h"

#define CJ_CONSTANT(name, value, unit, gpu, date, command) enum { name = (value) };
#include "constants.def"

enum { MAIL_FACTOR = 2 };

// Bytes that leave a GPU, of the one that sends most.
static double bytes_out(cj_gpus_by by, cj_gpus_traffic traffic, double gpus, double bytes) {
    const double peers = gpus - 1;
    if (traffic == CJ_TRAFFIC_PART_EACH) return peers * bytes;
    if (by == CJ_BY_ONE_SHOT) return peers * bytes;
    if (traffic == CJ_TRAFFIC_BROADCAST && by == CJ_BY_NCCL_CALL) return bytes;
    return 2 * peers / gpus * bytes;  // the parts, and their results
}

double cj__gpus_predict(cj_gpus_by by, cj_gpus_traffic traffic, uint32_t gpus, double bytes) {
    const double out = bytes_out(by, traffic, gpus, bytes);
    switch (by) {
    case CJ_BY_ONE_SHOT: return GPUS_BASE_NS + MAIL_FACTOR * out / GPUS_LINK_GBS;
    case CJ_BY_TWO_SHOTS: return GPUS_BASE_NS + GPUS_WAY_NS + MAIL_FACTOR * out / GPUS_LINK_GBS;
    case CJ_BY_BLOCKS: return GPUS_BASE_NS + GPUS_WAY_NS + 2 * GPUS_FENCES_NS + out / BLOCKS_LINK_GBS;
    case CJ_BY_ARRAYS: return ARRAYS_BASE_NS + out / (traffic == CJ_TRAFFIC_PART_EACH ? PARTS_LINK_GBS : ARRAYS_LINK_GBS);
    case CJ_BY_NCCL_CALL: break;
    }
    const double small = NCCL_SMALL_NS + out / NCCL_SMALL_GBS, large = NCCL_LARGE_NS + out / NCCL_LARGE_GBS;
    return small < large ? small : large;
}

cj_gpus_by cj__gpus_by_mail(uint32_t gpus, double bytes) {
    cj_gpus_by best = CJ_BY_ONE_SHOT;
    for (cj_gpus_by by = CJ_BY_TWO_SHOTS; by <= CJ_BY_BLOCKS; by++)
        if (cj__gpus_predict(by, CJ_TRAFFIC_ALLREDUCE, gpus, bytes) < cj__gpus_predict(best, CJ_TRAFFIC_ALLREDUCE, gpus, bytes)) best = by;
    return best;
}

// ---- products with a collective

static double up(double a, double b) { return (double)(uint64_t)((a + b - 1) / b); }

// Whole waves of tiles, as gemm's own model has them, at one rate of an SM.
static double product(uint32_t gpus, uint32_t sms, double rows, double n, double k) {
    const double tiles = gpus * up(rows, PRODUCT_TILE_ROWS) * up(n, PRODUCT_TILE_COLUMNS);
    return PRODUCT_BASE_NS + up(tiles, sms) * 2.0 * PRODUCT_TILE_ROWS * PRODUCT_TILE_COLUMNS * k / PRODUCT_SM_FLOP;
}

// How much longer a product takes beside an exchange, in chunks of so many rows of a rank.
static double slower(double rows) { return (rows <= PRODUCT_TILE_ROWS ? ONE_TILE_PERCENT : BESIDE_PERCENT) / 100.0; }

// The first product or exchange is alone, and so is the last one; between them the longer one counts.
static double overlapped(uint32_t gpus, uint32_t sms, double rows, double n, double k, double row_bytes, double chunks) {
    const uint32_t side = chunks > 1 ? SIDE_BLOCKS : 0;  // SMs that the exchange has
    const double alone = product(gpus, side < sms ? sms - side : 1, rows / chunks, n, k);
    const double one = chunks > 1 ? alone * slower(rows / chunks) : alone;
    const double other = cj__gpus_predict(CJ_BY_ARRAYS, CJ_TRAFFIC_PART_EACH, gpus, rows / chunks * row_bytes);
    return one + other + (chunks - 1) * (one > other ? one : other);
}

uint32_t cj__gpus_chunks(uint32_t gpus, uint32_t sms, uint64_t rows, uint64_t n, uint64_t k, double width, double element) {
    uint32_t best = 1;
    double   least = overlapped(gpus, sms, (double)rows, (double)n, (double)k, width * element, 1);
    for (uint32_t chunks = 2; chunks <= CHUNKS_MOST && rows % chunks == 0; chunks *= 2) {
        const double takes = overlapped(gpus, sms, (double)rows, (double)n, (double)k, width * element, chunks);
        if (takes < least) least = takes, best = chunks;
    }
    return best;
}

uint32_t cj__gpus_side_blocks(void) { return SIDE_BLOCKS; }
