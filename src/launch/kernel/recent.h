// SPDX-License-Identifier: Apache-2.0
// What was last computed from a kernel's arguments, for the next launch with the same ones: such as tensor maps from
// pointers. Any thread may read and replace it at any time, without a lock or an allocation: a thread that finds
// another one at work computes its own.
//
// A sequence lock: `turn` is odd while a thread replaces. Words are stored with release and loaded with acquire, so a
// thread that reads a word of a replacement also sees the odd turn before it, and discards what it has read.
#ifndef CJ_LAUNCH_RECENT_H
#define CJ_LAUNCH_RECENT_H

#include <clusterjit/kernel.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { CJ_RECENT_KEY = 16, CJ_RECENT_VALUE = 64 };  // words of 8 bytes

typedef struct cj_recent {
    atomic_uint      turn;  // 0: nothing was stored yet
    _Atomic uint64_t key[CJ_RECENT_KEY], value[CJ_RECENT_VALUE];
} cj_recent;

// Copies the value if it was computed from this key; else false, and the value is undefined.
bool cj__recent_get(const cj_recent *recent, const uint64_t key[CJ_RECENT_KEY], uint64_t value[CJ_RECENT_VALUE]);

// Replaces both, unless another thread is doing so.
void cj__recent_put(cj_recent *recent, const uint64_t key[CJ_RECENT_KEY], const uint64_t value[CJ_RECENT_VALUE]);

cj_recent *cj__kernel_recent(cj_kernel *kernel);  // for the typed call that launches it

#endif
