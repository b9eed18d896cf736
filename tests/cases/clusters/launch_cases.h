// SPDX-License-Identifier: Apache-2.0
// The launch's tests, for either device: attributes, opt-ins, cooperative grids, dependent launches, typed arguments, graphs
// of every family, and many threads. Every result is checked.
#ifndef CJ_TESTS_LAUNCH_CASES_H
#define CJ_TESTS_LAUNCH_CASES_H

#include <clusterjit/device.h>

// Runs them all as a cmocka group on the device, which it closes; `launches` by each of the threads. Returns main's result.
int cj_test_launches(cj_device *device, unsigned launches);

#endif
