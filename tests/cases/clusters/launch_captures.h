// SPDX-License-Identifier: Apache-2.0
// Every family's launch, captured into a graph: replays give the same results as a launch.
#ifndef CJ_TESTS_LAUNCH_CAPTURES_H
#define CJ_TESTS_LAUNCH_CAPTURES_H

#include <clusterjit/device.h>

void cj_test_captures(cj_device *device);

#endif
