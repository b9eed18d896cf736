// SPDX-License-Identifier: Apache-2.0
// Streams of the driver's, which the library takes and does not make.
#ifndef CJ_TESTS_STREAMS_H
#define CJ_TESTS_STREAMS_H

#include <clusterjit/device.h>
#include <stdbool.h>

// Makes `count` streams in the primary context of a device, as a program that links libcuda would. False: there is no driver.
bool cj_test_streams(uint32_t ordinal, cj_stream *const *to, unsigned count);

#endif
