// SPDX-License-Identifier: Apache-2.0
// How the calls of clusterjit/cluster.h write a line: under a predicate or not, with a comment or without.
#ifndef CJ_CLUSTER_LINE_H
#define CJ_CLUSTER_LINE_H

#include <clusterjit/cluster.h>

// The text of a line whose operand $1 is the predicate, where there is one; `text` is a literal.
#define WHEN(when, text) ((when).id ? "@$1 " text : text)

// Two operands at the line's end, "…;$3$4": the comment that says why.
#define WHY(why) ((why) ? " // " : ""), ((why) ? (why) : "")

#endif
