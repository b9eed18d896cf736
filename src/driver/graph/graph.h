// SPDX-License-Identifier: Apache-2.0
// Graphs: lists of nodes, each with its work and the nodes that it comes after.
#ifndef CJ_DRIVER_GRAPH_H
#define CJ_DRIVER_GRAPH_H

#include "work.h"

typedef struct cj_node {
    cj_object        base;
    struct cj_graph *graph;
    cj_work          work;   // its own copy
    struct cj_node **after;  // in the same graph
    size_t           count;
    uint64_t         origin;  // handle of the node that it is a clone of; 0: none
    size_t           mark;    // scratch of walks over a graph
} cj_node;

typedef struct cj_graph {
    cj_object        base;
    cj_node        **node;
    size_t           count, room;
    bool             is_child;  // a node's own
    bool             captured;  // a capture adds to it
    struct cj_user **user;      // objects that end with it
    size_t           users;
} cj_graph;

cj_graph *cj__graph_new(void);
CUresult  cj__graph_clone(const cj_graph *graph, cj_graph **made);
void      cj__graph_destroy(cj_graph *graph);

// Adds a node with a copy of the work, after the nodes of these handles.
CUresult cj__graph_add(cj_graph *graph, const CUgraphNode *after, size_t count, const cj_work *work, cj_node **made);
CUresult cj__node_link(cj_node *from, cj_node *to);  // `to` comes after `from`
void     cj__node_unlink(const cj_node *from, cj_node *to);
void     cj__node_destroy(cj_node *node);

// The nodes in an order of their edges, as an array of graph->count; NULL: a circle, or no memory.
cj_node **cj__graph_order(const cj_graph *graph);

// Takes work over with what it points to; a child's graph is cloned.
CUresult cj__work_copy(const cj_work *from, cj_work *to);
void     cj__work_drop(cj_work *work);

// Work of a node's parameters, which it points into; what cj__arguments_of allocated is in *scratch, to be freed.
CUresult        cj__work_of_params(const CUgraphNodeParams *params, cj_work *work, void ***scratch);
void            cj__params_of_work(const cj_work *work, CUgraphNodeParams *params);
CUgraphNodeType cj__work_type(const cj_work *work);

// Adds a node that does what the parameters say.
CUresult cj__node_new(cj_graph *graph, const CUgraphNode *after, size_t count, const CUgraphNodeParams *params,
                      cj_node **made);

// Whether the work of a node with these parameters can be done; the node's work in its place.
CUresult cj__node_replace(cj_work *held, const CUgraphNodeParams *params);

// Adds a node that allocates; the memory exists from now on.
CUresult cj__graph_add_memory(cj_graph *graph, const CUgraphNode *after, size_t count, size_t bytes,
                              cj_context *context, cj_node **made);

// ---- user objects

typedef struct cj_user {
    cj_object base;
    void     *pointer;
    CUhostFn  destroy;
    unsigned  references;
} cj_user;

void cj__user_release(cj_user *user, unsigned count);

// ---- executable graphs (exec.c)

typedef struct cj_step {
    cj_work  work;
    uint64_t node, parent;  // handles: of the node, and of the node whose child graph has it (0: none)
    bool     enabled;
} cj_step;

typedef struct cj_exec {
    cj_object base;
    cj_step  *step;  // in an order of the edges, children's among them
    size_t    count;
    uint64_t  flags;
    unsigned  running;  // launches in threads
} cj_exec;

CUresult cj__exec_new(const cj_graph *graph, uint64_t flags, cj_exec **made);
CUresult cj__exec_run(cj_exec *exec);

// Gives `count` steps from `first` on the work of a graph, if its steps are as many and of the same kinds: *result says so.
CUresult cj__exec_take(cj_exec *exec, size_t first, size_t count, const cj_graph *graph,
                       CUgraphExecUpdateResult *result);

#endif
