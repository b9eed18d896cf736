// SPDX-License-Identifier: Apache-2.0
// What a launch prints. Each cluster collects its own text, so threads of the host need no order: the launch's text is that of
// cluster 0, then of cluster 1, and so on, whatever ran when. Within a cluster it is the order of execution.
#ifndef CJ_CPU_PRINTOUT_H
#define CJ_CPU_PRINTOUT_H

#include "machine.h"

enum { CJ_PRINT_MOST = 64 << 20 };  // bytes of a launch's text that are kept

typedef struct cj_cpu_printed {
    uint64_t cluster;
    cj_text  text;
} cj_cpu_printed;

typedef struct cj_cpu_prints {
    pthread_mutex_t lock;
    size_t          count, capacity;
    cj_cpu_printed *printed;
    uint64_t        bytes, lost;  // kept; not kept, because there were too many, or no memory
} cj_cpu_prints;

cj_cpu_prints *cj__prints_new(void);  // NULL when out of memory

// Adds a thread's text to its cluster's.
void cj__print(cj_cpu_cluster *cluster, const cj_text *text);
// The cluster ends, or will not go on: hands its text over to the launch.
void cj__print_end(cj_cpu_cluster *cluster);
// Passes the launch's text to the function of its options, or writes it to standard output, with a last line that says what is lost;
// frees the prints. NULL is allowed.
void cj__prints_show(cj_cpu_prints *prints, const cj_cpu_options *options);

#endif
