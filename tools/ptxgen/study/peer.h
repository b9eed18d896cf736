// SPDX-License-Identifier: Apache-2.0
// Another library for the same problem (workload_peer), measured in turns with our kernel: opens it, checks it by the
// same reference, and finds its fastest way.
#ifndef PTXGEN_PEER_H
#define PTXGEN_PEER_H

#include "measure.h"
#include "workload.h"

typedef struct peer {
    workload        *w;  // NULL: no peer was asked for
    peer_facts       facts;
    unsigned         way;      // the fastest; the others are not used
    contender       *race;     // its times; NULL if there is no peer
    workload_verdict verdict;  // on its results, by our bounds: results beyond them are reported, not refused
} peer;

// On a GPU, if the workload has a peer: opens it, runs each of its ways once, measures them, and makes *race launch the
// fastest. `kernel` is ours, whose bounds are used. Returns an exit code; a peer that is missing is no failure. Call
// peer_close afterwards.
int  peer_open(peer *p, workload *w, const cj_kernel *kernel, contender *race);
int  peer_check(peer *p, const cj_kernel *kernel);
void peer_close(peer *p);

#endif
