// SPDX-License-Identifier: Apache-2.0
// Another library for the same problem (workload_peer), measured beside ours: opened, checked by the same reference,
// the fastest of its ways found.
#ifndef PTXGEN_PEER_H
#define PTXGEN_PEER_H

#include "measure.h"
#include "workload.h"

typedef struct peer {
    workload        *w;  // NULL: no peer was asked for
    peer_facts       facts;
    unsigned         way;      // the fastest; the others are not looked at again
    contender       *race;     // its times; NULL where there is no peer
    workload_verdict verdict;  // on its results, by our bounds: beyond them they are told, not refused
} peer;

// On a GPU, where the workload has a peer: opens it, runs each of its ways once, measures them, and makes *race launch the
// fastest. `kernel` is ours, whose bounds hold. Returns an exit code; what is not there is no failure. peer_close follows.
int  peer_open(peer *p, workload *w, const cj_kernel *kernel, contender *race);
int  peer_check(peer *p, const cj_kernel *kernel);
void peer_close(peer *p);

#endif
