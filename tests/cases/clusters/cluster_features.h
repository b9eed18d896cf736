// SPDX-License-Identifier: Apache-2.0
// The features of clusters (FEATURES), as small kernels written with clusterjit/cluster.h: one table, for both devices.
#ifndef CJ_TESTS_CLUSTER_FEATURES_H
#define CJ_TESTS_CLUSTER_FEATURES_H

#include <clusterjit/clusterjit.h>

typedef struct cj_feature cj_feature;

// What the function that writes a kernel gets: registers of every thread.
typedef struct cj_feature_scene {
    const cj_feature *feature;
    cj_func          *f;
    cj_reg            thread, block;  // in the block and in the grid, x fastest
    cj_reg            out;            // u64: the address of the thread's words
    cj_reg            map;  // u64: a tensor map of 64 x 64 u32, whose element (row, column) is row * 64 + column
} cj_feature_scene;

struct cj_feature {
    const char *name;  // the feature, which is the test's name
    cj_dim3     grid, block, cluster;
    uint32_t    words;   // u32 that each thread writes
    uint32_t    number;  // distinguishes features that share a function
    void (*write)(const cj_feature_scene *s);
    // Word `i` of thread `thread` (x fastest) of block `block` of the grid (x fastest).
    uint32_t (*expected)(const cj_feature *feature, uint32_t block, uint32_t thread, uint32_t i);
};

typedef struct cj_features {
    const cj_feature *feature;
    size_t            count;
} cj_features;

extern const cj_features cj_features_identity, cj_features_memory, cj_features_barrier, cj_features_copy,
    cj_features_stage;

// The kernel's text, whose entry is CJ_FEATURE_ENTRY; cj_text_free releases it.
#define CJ_FEATURE_ENTRY "feature"
cj_status cj_feature_write(const cj_feature *feature, char **text, cj_error *error);

// Launches the loaded kernel on poisoned memory and reads the words of all threads, cj_feature_bytes of them.
size_t    cj_feature_bytes(const cj_feature *feature);
cj_status cj_feature_launch(cj_device *device, const cj_feature *feature, cj_function *function, uint32_t *words,
                            cj_error *error);

// Writes, checks, loads and launches the kernel, and fails the running test at the first wrong word.
void cj_feature_run(cj_device *device, const cj_feature *feature);

// Runs all of them as cmocka tests of a group whose state is the device. Returns the number of failures.
int cj_features_test(cj_device *device, const cj_features *features, const char *group);

// ---- for functions that write kernels

// Word i = value, a u32 register.
void cj_feature_put(const cj_feature_scene *s, uint32_t i, cj_reg value);

// A new u32 register: (rank + distance) modulo the cluster's size, which is a power of two.
cj_reg cj_feature_peer(const cj_feature_scene *s, uint32_t distance);

// The expected position of a block in its cluster, and of the cluster in the grid, for a block's number in the grid.
cj_dim3  cj_feature_place(cj_dim3 shape, uint32_t number);
uint32_t cj_feature_number(cj_dim3 shape, cj_dim3 at);
uint32_t cj_feature_size(cj_dim3 shape);
uint32_t cj_feature_rank(const cj_feature *feature, uint32_t block);

#endif
