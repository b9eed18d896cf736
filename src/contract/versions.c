// SPDX-License-Identifier: Apache-2.0
// The PTX versions that drivers read: PTX ISA, "Release Notes".
#include "contract.h"

// driver (CUDA 13.0 is 13000), newest .version (9.0 is 90)
#define DRIVERS(X)                                                                                               \
    X(11000, 70) X(11010, 71) X(11020, 72) X(11030, 73) X(11040, 74) X(11050, 75) X(11060, 76) X(11070, 77)      \
    X(11080, 78) X(12000, 80) X(12010, 81) X(12020, 82) X(12030, 83) X(12040, 84) X(12050, 85) X(12060, 85)      \
    X(12070, 86) X(12080, 87) X(12090, 88) X(13000, 90)

static const struct {
    uint32_t driver;
    uint16_t ptx;
} drivers[] = {
#define CJ_X(driver, ptx) {driver, ptx},
    DRIVERS(CJ_X)
#undef CJ_X
};

enum { DRIVER_COUNT = sizeof drivers / sizeof *drivers };

uint16_t cj__ptx_of_driver(uint32_t driver_version) {
    if (!driver_version || driver_version > drivers[DRIVER_COUNT - 1].driver) return UINT16_MAX;
    uint16_t ptx = drivers[0].ptx;
    for (size_t i = 0; i < DRIVER_COUNT && drivers[i].driver <= driver_version; i++) ptx = drivers[i].ptx;
    return ptx;
}
