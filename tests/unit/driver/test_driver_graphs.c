// SPDX-License-Identifier: Apache-2.0
// Graphs: nodes, edges, clones, executable graphs and their updates.
#include "driver_test.h"

static CUgraph     graph;
static CUdeviceptr p;

static int begin_graph(void **state) {
    begin(state);
    OK(cuGraphCreate(&graph, 0));
    p = allocate(64);
    OK(cuMemsetD8(p, 0, 64));
    return 0;
}

static int finish_graph(void **state) {
    cuGraphDestroy(graph);
    return finish(state);
}

static unsigned added;
static void    *more_argument[] = {&p, &added};

static CUDA_KERNEL_NODE_PARAMS more(unsigned n) {
    added = n;
    return (CUDA_KERNEL_NODE_PARAMS){.func = function("more"), 1, 1, 1, 1, 1, 1, 0, more_argument};
}

static CUgraphNode add_more(CUgraph to, const CUgraphNode *after, size_t count, unsigned n) {
    const CUDA_KERNEL_NODE_PARAMS params = more(n);
    CUgraphNode                   node = NULL;
    OK(cuGraphAddKernelNode(&node, to, after, count, &params));
    return node;
}

static unsigned run(CUgraphExec exec) {
    OK(cuMemsetD32(p, 0, 1));
    OK(cuGraphLaunch(exec, NULL));
    return word_at(p);
}

static void nodes_of_every_kind_run_in_order(void **state) {
    const CUDA_MEMSET_NODE_PARAMS set = {.dst = p, .value = 40, .elementSize = 4, .width = 1, .height = 1};
    unsigned                      host = 0;
    const CUDA_MEMCPY3D           copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                          .srcDevice = p,
                                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                                          .dstHost = &host,
                                          .WidthInBytes = 4,
                                          .Height = 1,
                                          .Depth = 1};
    CUgraphNode                   first = NULL, second = NULL, third = NULL, fourth = NULL, list[2];
    CUgraphNodeType               type;
    CUgraphExec                   exec = NULL;
    CUgraph                       child = NULL;
    CUevent                       event = NULL;
    size_t                        count = 2;
    (void)state;
    OK(cuGraphCreate(&child, 0));
    add_more(child, NULL, 0, 2);
    OK(cuEventCreate(&event, 0));
    OK(cuGraphAddMemcpyNode(&fourth, graph, NULL, 0, &copy, context));  // the last one is made first
    OK(cuGraphAddMemsetNode(&first, graph, NULL, 0, &set, context));
    OK(cuGraphAddChildGraphNode(&second, graph, &first, 1, child));
    OK(cuGraphAddEventRecordNode(&third, graph, &second, 1, event));
    OK(cuGraphAddDependencies(graph, &third, &fourth, NULL, 1));
    OK(cuGraphDestroy(child));  // the node has a copy
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, NULL));
    assert_int_equal(host, 42);
    OK(cuEventQuery(event));
    OK(cuGraphNodeGetType(second, &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_GRAPH);
    OK(cuGraphNodeGetDependencies(fourth, list, NULL, &count));
    assert_int_equal(count, 1);
    assert_ptr_equal(list[0], third);
    assert_null(list[1]);
    OK(cuGraphExecDestroy(exec));
}

static void graphs_are_asked(void **state) {
    const CUgraphNode a = add_more(graph, NULL, 0, 1), b = add_more(graph, &a, 1, 2);
    CUgraphNode       list[4], roots[4], from[1], to[1];
    size_t            count = 4, root_count = 4, edges = 1;
    (void)state;
    OK(cuGraphGetNodes(graph, list, &count));
    assert_int_equal(count, 2);
    assert_null(list[3]);
    OK(cuGraphGetRootNodes(graph, roots, &root_count));
    assert_int_equal(root_count, 1);
    assert_ptr_equal(roots[0], a);
    OK(cuGraphGetEdges(graph, from, to, NULL, &edges));
    assert_ptr_equal(to[0], b);
    OK(cuGraphRemoveDependencies(graph, &a, &b, NULL, 1));
    OK(cuGraphGetRootNodes(graph, NULL, &root_count));
    assert_int_equal(root_count, 2);
    OK(cuGraphDestroyNode(a));
    OK(cuGraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 1);
    IS(CUDA_ERROR_INVALID_HANDLE, cuGraphDestroyNode(a));
}

static void wrong_graphs_are_refused(void **state) {
    const CUgraphNode a = add_more(graph, NULL, 0, 1), b = add_more(graph, &a, 1, 2);
    CUgraph           other = NULL;
    CUgraphExec       exec = NULL;
    CUgraphNode       node = NULL, far = NULL;
    size_t            count = 0;
    (void)state;
    OK(cuGraphCreate(&other, 0));
    far = add_more(other, NULL, 0, 1);
    IS(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies(graph, &a, &far, NULL, 1));
    IS(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies(graph, &a, &a, NULL, 1));
    IS(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&node, graph, &far, 1));
    IS(CUDA_ERROR_INVALID_HANDLE, cuGraphAddEmptyNode(&node, graph, &(CUgraphNode){NOWHERE(CUgraphNode)}, 1));
    IS(CUDA_ERROR_INVALID_HANDLE, cuGraphAddEmptyNode(&node, NOWHERE(CUgraph), NULL, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&node, graph, NULL, 1));
    IS(CUDA_ERROR_INVALID_VALUE, cuGraphAddChildGraphNode(&node, graph, NULL, 0, graph));
    OK(cuGraphAddDependencies(graph, &b, &a, NULL, 1));  // a circle
    IS(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&exec, graph, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuGraphGetNodes(graph, NULL, NULL));
    IS(CUDA_ERROR_INVALID_HANDLE, cuGraphGetNodes(NOWHERE(CUgraph), NULL, &count));
    IS(CUDA_ERROR_INVALID_VALUE, cuGraphCreate(&other, 1));
    CUgraphNodeParams condition = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    IS(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddNode(&node, graph, NULL, NULL, 0, &condition));
    OK(cuGraphDestroy(other));
    IS(CUDA_ERROR_INVALID_HANDLE, cuGraphDestroy(other));
}

static void a_clone_is_its_own(void **state) {
    const CUgraphNode a = add_more(graph, NULL, 0, 5);
    CUgraph           clone = NULL;
    CUgraphNode       found = NULL;
    CUgraphExec       exec = NULL;
    (void)state;
    OK(cuGraphClone(&clone, graph));
    OK(cuGraphNodeFindInClone(&found, a, clone));
    const CUDA_KERNEL_NODE_PARAMS params = more(6);
    OK(cuGraphKernelNodeSetParams(found, &params));
    OK(cuGraphInstantiate(&exec, clone, 0));
    assert_int_equal(run(exec), 6);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphInstantiate(&exec, graph, 0));
    assert_int_equal(run(exec), 5);
    OK(cuGraphExecDestroy(exec));
    IS(CUDA_ERROR_INVALID_VALUE, cuGraphNodeFindInClone(&found, found, graph));
    OK(cuGraphDestroy(clone));
}

static void an_executable_graph_is_changed(void **state) {
    const CUgraphNode             a = add_more(graph, NULL, 0, 1), b = add_more(graph, &a, 1, 10);
    CUDA_KERNEL_NODE_PARAMS       params, told;
    const CUDA_MEMSET_NODE_PARAMS set = {.dst = p, .elementSize = 4, .width = 1, .height = 1};
    CUgraphExec                   exec = NULL;
    CUgraphExecUpdateResultInfo   info;
    unsigned                      enabled = 0;
    (void)state;
    OK(cuGraphInstantiate(&exec, graph, 0));
    assert_int_equal(run(exec), 11);
    params = more(100);
    OK(cuGraphExecKernelNodeSetParams(exec, b, &params));
    assert_int_equal(run(exec), 101);
    OK(cuGraphKernelNodeGetParams(b, &told));  // the graph itself is as it was
    assert_int_equal(*(unsigned *)told.kernelParams[1], 10);
    OK(cuGraphNodeSetEnabled(exec, a, 0));
    OK(cuGraphNodeGetEnabled(exec, a, &enabled));
    assert_int_equal(enabled, 0);
    assert_int_equal(run(exec), 100);
    OK(cuGraphNodeSetEnabled(exec, a, 1));
    params = more(1000);
    OK(cuGraphKernelNodeSetParams(a, &params));
    OK(cuGraphExecUpdate(exec, graph, &info));
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    assert_int_equal(run(exec), 1010);
    add_more(graph, &b, 1, 1);
    IS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(exec, graph, &info));
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    IS(CUDA_ERROR_INVALID_VALUE, cuGraphExecMemsetNodeSetParams(exec, a, &set, context));
    IS(CUDA_ERROR_INVALID_VALUE, cuGraphExecKernelNodeSetParams(exec, NOWHERE(CUgraphNode), &params));
    OK(cuGraphExecDestroy(exec));
    IS(CUDA_ERROR_INVALID_HANDLE, cuGraphLaunch(exec, NULL));
}

static void nodes_outlive_nothing_that_they_use(void **state) {
    CUgraphExec exec = NULL;
    CUmodule    old = module;
    (void)state;
    add_more(graph, NULL, 0, 1);
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuModuleLoadData(&module, ptx));
    OK(cuModuleUnload(old));
    IS(CUDA_ERROR_INVALID_HANDLE, cuGraphLaunch(exec, NULL));
    OK(cuGraphExecDestroy(exec));
}

static void attributes_belong_to_the_node(void **state) {
    const CUgraphNode     a = add_more(graph, NULL, 0, 1), b = add_more(graph, NULL, 0, 1);
    CUkernelNodeAttrValue value = {.priority = -3}, told = {0};
    (void)state;
    OK(cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    OK(cuGraphKernelNodeCopyAttributes(b, a));
    OK(cuGraphKernelNodeGetAttribute(b, CU_LAUNCH_ATTRIBUTE_PRIORITY, &told));
    assert_int_equal(told.priority, -3);
    IS(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeSetAttribute(a, (CUlaunchAttributeID)77, &value));
}

static void destroyed(void *user) { ++*(int *)user; }

static void user_objects_end_with_the_last_reference(void **state) {
    CUuserObject object = NULL;
    CUgraph      other = NULL;
    int          ends = 0;
    (void)state;
    OK(cuUserObjectCreate(&object, &ends, destroyed, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuGraphCreate(&other, 0));
    OK(cuGraphRetainUserObject(other, object, 2, 0));
    OK(cuUserObjectRelease(object, 1));
    assert_int_equal(ends, 0);
    OK(cuGraphReleaseUserObject(other, object, 1));
    assert_int_equal(ends, 0);
    OK(cuGraphDestroy(other));
    assert_int_equal(ends, 1);
    IS(CUDA_ERROR_INVALID_HANDLE, cuUserObjectRelease(object, 1));
}

#define GRAPH(name) cmocka_unit_test_setup_teardown(name, begin_graph, finish_graph)

int main(void) {
    const struct CMUnitTest tests[] = {
        GRAPH(nodes_of_every_kind_run_in_order), GRAPH(graphs_are_asked),
        GRAPH(wrong_graphs_are_refused),         GRAPH(a_clone_is_its_own),
        GRAPH(an_executable_graph_is_changed),   GRAPH(nodes_outlive_nothing_that_they_use),
        GRAPH(attributes_belong_to_the_node),    GRAPH(user_objects_end_with_the_last_reference),
    };
    open_driver(1, false);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(report_path);
    return failed;
}
