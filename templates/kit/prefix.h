// SPDX-License-Identifier: Apache-2.0
// Prefixes: values in an order, combined from the first on, over the lanes of a warp. The operation must be associative, and
// need not be commutative.
//
// With segments a value comes with whether a segment begins in it (a head), and what is before the head is cut off: (a, p) and
// (b, q) become (q ? b : a op b, p or q). The heads of a warp's lanes are one ballot, so that lanes exchange values alone: a
// lane combines the values of as many lanes before it as its segment reaches back.
//
// All 32 lanes of the warp execute each call that exchanges values.
#ifndef CJ_TEMPLATES_PREFIX_H
#define CJ_TEMPLATES_PREFIX_H

#include <clusterjit/collectives.h>

typedef struct cj_prefix {
    cj_func   *f;
    cj_combine combine;  // of values of 4 or 8 bytes
    bool       segmented;
    cj_reg     lane;
    cj_reg     below, upto;  // with segments: masks of the lanes before this one, and with it
} cj_prefix;

void cj__prefix_masks(cj_prefix *p, bool below);  // makes upto and, where asked for, below, if segments need them

// ---- values

cj_reg cj__prefix_value(const cj_prefix *p, const char *name);               // a new register
cj_reg cj__prefix_copy(const cj_prefix *p, const char *name, cj_reg value);  // a new register with that value
cj_reg cj__prefix_identity(const cj_prefix *p, const char *name);            // a new register with the identity
void   cj__prefix_clear_if(const cj_prefix *p, cj_reg when, cj_reg value);     // value = the identity
void   cj__prefix_clear_unless(const cj_prefix *p, cj_reg when, cj_reg value);

// value = earlier op value, under a predicate.
void cj__prefix_before(const cj_prefix *p, cj_reg when, cj_reg value, cj_reg earlier);

// total = total op next; with segments, next alone if any bit of `heads`, a u32, says that one begins in it.
void cj__prefix_append(const cj_prefix *p, cj_reg total, cj_reg next, cj_reg heads);

// A predicate: no bit of `heads`. Without segments it always holds.
cj_reg cj__prefix_no_head(const cj_prefix *p, cj_reg heads);

// ---- lanes: the warp is 32 / `lanes` groups of `lanes` lanes each, a power of two, which exchange among themselves

// The value of lane `source` of the group, in a new register or in `to`; that of the lane before, which the first lane has no
// use for.
void   cj__prefix_pick_into(const cj_prefix *p, cj_reg to, cj_reg value, cj_arg source, unsigned lanes);
cj_reg cj__prefix_pick(const cj_prefix *p, const char *name, cj_reg value, cj_arg source, unsigned lanes);
cj_reg cj__prefix_previous(const cj_prefix *p, const char *name, cj_reg value, unsigned lanes);

// Which lanes have a head: of the warp; of the group; of the lanes of the group before this one; and how many lanes back this
// one's segment reaches. All are u32, and no registers without segments. Which are asked for: warp and reach always.
typedef enum cj_heads_asked { CJ_HEADS_REACH, CJ_HEADS_GROUP, CJ_HEADS_BEFORE } cj_heads_asked;

typedef struct cj_heads {
    cj_reg warp, group, before, reach;
} cj_heads;

cj_heads cj__prefix_heads(const cj_prefix *p, cj_reg begins, unsigned lanes, cj_heads_asked asked);  // before: group, too

// value = the inclusive prefix over the lanes of the group, from the last head on.
void cj__prefix_lanes(const cj_prefix *p, cj_reg value, const cj_heads *heads, unsigned lanes);

#endif
