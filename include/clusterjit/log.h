// SPDX-License-Identifier: Apache-2.0
// What the library has to say beside errors: that a cache could not be used, that a damaged entry was rebuilt, and
// such. It says nothing by itself: messages go to the program's callback or, where none is set and the environment
// variable CLUSTERJIT_LOG is, to standard error.
//
// CLUSTERJIT_LOG is off, error, warn, info or debug: the least that is let through, for the callback too. Where it is
// not set, the callback gets errors and warnings. Thread safety: every call may run in any thread.
#ifndef CLUSTERJIT_LOG_H
#define CLUSTERJIT_LOG_H

#include <clusterjit/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cj_log_level {
    CJ_LOG_OFF,
    CJ_LOG_ERROR,    // something asked for could not be done
    CJ_LOG_WARNING,  // it was done in a lesser way
    CJ_LOG_INFO,     // it was done, and something on the way was mended
    CJ_LOG_DEBUG
} cj_log_level;

// One message: a sentence without a newline, valid during the call. Calls come one at a time, from any thread; what the
// library would say during such a call is dropped. The callback may call the library, except cj_log_set.
typedef void (*cj_log_callback)(void *user, cj_log_level level, const char *message);

// Sets the callback of this process; NULL for none. Once it returns, the callback of before is no longer called.
CJ_API void cj_log_set(cj_log_callback callback, void *user);

// "error", "warning", "info", "debug"; "off" for any other value. Static storage.
CJ_API const char *cj_log_level_name(cj_log_level level);

#ifdef __cplusplus
}
#endif
#endif
