// SPDX-License-Identifier: Apache-2.0
// How each instruction of a program accesses and orders memory, from its mnemonic.
#ifndef CJ_CPU_WATCH_ORDER_H
#define CJ_CPU_WATCH_ORDER_H

#include "watch.h"

typedef struct cj_watch_order {
    cj_watch_use use;
    bool         acquire, release;
    bool         is_guess;  // a weak load whose value a compare-and-swap of the same place then expects
} cj_watch_order;

// For each op of the program, allocated; NULL when out of memory.
cj_watch_order *cj__watch_orders(const cj_cpu_program *program);

#endif
