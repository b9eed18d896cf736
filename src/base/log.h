// SPDX-License-Identifier: Apache-2.0
// Log messages about what is not an error of the running call. Never called on the launch path.
#ifndef CJ_BASE_LOG_H
#define CJ_BASE_LOG_H

#include <clusterjit/log.h>

// Passes a message to the callback or prints it to standard error, as clusterjit/log.h says. Keeps errno.
void cj__log(cj_log_level level, const char *format, ...) CJ_PRINTF(2, 3);

// Sets the callback and nothing else: what cj_log_set does first.
void cj__log_hear(cj_log_callback callback, void *user);

// Warns, once in a process, of environment variables whose value is none of the words that they take.
void cj__environment_check(void);

#endif
