// SPDX-License-Identifier: Apache-2.0
// Saying something that is no error of the running call. Never on the launch path.
#ifndef CJ_BASE_LOG_H
#define CJ_BASE_LOG_H

#include <clusterjit/log.h>

// To the callback or to standard error, as clusterjit/log.h says. Leaves errno alone.
void cj__log(cj_log_level level, const char *format, ...) CJ_PRINTF(2, 3);

// Sets the callback and nothing else: what cj_log_set does first.
void cj__log_hear(cj_log_callback callback, void *user);

// Warns, once in a process, of variables of the environment that want a word and have one that means nothing.
void cj__environment_check(void);

#endif
