// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

cj_driver               cj__driver = {.lock = PTHREAD_MUTEX_INITIALIZER};
_Thread_local cj_thread cj__thread;
