// SPDX-License-Identifier: Apache-2.0
// How the calls of clusterjit/cluster.h write a line: under a predicate, which may be cj_always(), with a comment or without.
#ifndef CJ_CLUSTER_LINE_H
#define CJ_CLUSTER_LINE_H

#include <clusterjit/cluster.h>

// cj_ptx by a public call whose caller passed the operands: what is wrong with one is said under the call's name.
#define CALL_LINE(f, ...) cj_ptx_args((f), __func__, 0, CJ_OPERANDS(__VA_ARGS__), CJ__COUNT(__VA_ARGS__))

// Two operands at the line's end, "…;$3$4": the comment that says why.
#define WHY(why) ((why) ? " // " : ""), ((why) ? (why) : "")

#endif
