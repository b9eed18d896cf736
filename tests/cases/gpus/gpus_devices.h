// SPDX-License-Identifier: Apache-2.0
// CPU devices that play several GPUs and watch every access, for a group of tests.
#ifndef CJ_TESTS_GPUS_DEVICES_H
#define CJ_TESTS_GPUS_DEVICES_H

#include <clusterjit/clusterjit.h>

extern cj_device *cj_test_gpus_device[CJ_GPUS_MAX];

// The group's setup, which watches with schedule 0, and its teardown.
int cj_test_gpus_open(void **state);
int cj_test_gpus_close(void **state);

// What follows runs by the fixed schedule (0) or by that of the seed.
void cj_test_gpus_watch(uint64_t seed);

#endif
