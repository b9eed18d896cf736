// SPDX-License-Identifier: Apache-2.0
// What is measured: a row is one problem, done by a kernel of ours and by a peer.
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include <stdbool.h>

#include "peers.h"

typedef struct contest {
    const char  *work, *size;  // as the table shows them
    const char  *peer;         // its name
    const char  *family;       // ours: a kernel family …
    const char  *params;       // … with these parameters, blank-separated
    const char  *peer_params;  // the peer is a kernel of ours, too, with these; NULL: it is one of peers.h
    const char  *reference;    // the peer is the family's reference in CUDA C++ through NVRTC, clusters of this many blocks;
                               // NULL: it is not
    peer_problem problem;
    double       goal;    // so many times faster than the peer; 0: none
    double       share;   // so much of the ceiling; 0: none
    bool         rotate;  // over inputs that do not stay in the L2 cache
    bool         ideal;   // the peer counts as if it ran at the copy ceiling
    bool         waits;   // the peer waits for the device within a call, so that no graph holds it
} contest;

extern const contest  contests[];
extern const unsigned contest_count;

#endif
