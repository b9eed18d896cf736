// SPDX-License-Identifier: Apache-2.0
// The reference kernels in CUDA C++, on either device.
#ifndef CJ_TESTS_REFERENCE_CASES_H
#define CJ_TESTS_REFERENCE_CASES_H

#include <clusterjit/device.h>

// Compiles the reduction's references for sm_90 in several types, operations and cluster sizes, runs them, and compares
// their results with our kernels', which must be the same: the sums are exact. Ends the process as skipped if NVRTC or
// CUDA's headers are missing.
void cj_test_references(cj_device *device);

#endif
