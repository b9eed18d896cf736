// SPDX-License-Identifier: Apache-2.0
// The last of several: warps or blocks store partials in global memory, and the one that comes last reads those of all.
//
//   each       stores its partials  ->  barrier of its threads  ->  one thread increments a counter (atom.acq_rel)
//   the last   barrier of its threads  ->  loads the partials of all
//
// Contract. The counter is a u32, 0 before the first launch. It wraps at the last of `count`, so it is 0 for the next launch. Nobody
// waits, so warps and blocks may run one after the other. docs/maintaining/kit.md, "The last of several", has the proof.
#ifndef CJ_TEMPLATES_LAST_H
#define CJ_TEMPLATES_LAST_H

#include <clusterjit/ptx.h>

// By a warp that has stored its partials, one of `count`: a predicate, the same for all lanes, that holds in the warp that comes last.
// `leader` holds in lane 0. Its lanes load the partials of all after cj__last_warp_sees.
cj_reg cj__last_warp(cj_func *f, cj_reg leader, cj_reg counter, unsigned count);
void   cj__last_warp_sees(cj_func *f);

// By a block of `count`, all of whose threads have stored partials: a predicate, the same for all threads, that holds in the block that
// comes last, whose threads may load the partials of all. `stored` and `counted` are the comments of its two barriers.
cj_reg cj__last_block(cj_func *f, cj_reg thread, cj_reg counter, unsigned count, const char *stored,
                      const char *counted);

#endif
