// SPDX-License-Identifier: Apache-2.0
// Every register-to-register row of the instruction table, executed by two devices on the same operands: edge values paired
// with each other, then random ones. What the hardware computes exactly must agree bit by bit; approximate functions must
// lie within their documented bound of each other.
#ifndef CJ_TESTS_SEMANTICS_H
#define CJ_TESTS_SEMANTICS_H

#include <clusterjit/device.h>

typedef struct cj_semantics {
    unsigned forms;      // instructions compared
    unsigned different;  // of those, with a wrong lane
    unsigned refused;    // that the second device does not execute
    unsigned failed;     // that a device could not load or run, for another reason
} cj_semantics;

// Compares `device` (the truth) with `twin` for all rows; prints a line for each form that differs, fails or is refused.
cj_semantics cj_test_semantics(cj_device *device, cj_device *twin, uint64_t seed);

#endif
