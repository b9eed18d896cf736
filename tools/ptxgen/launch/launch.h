// SPDX-License-Identifier: Apache-2.0
// One launch as the command line describes it: its options, which all commands that run PTX share, and how it is made.
#ifndef PTXGEN_LAUNCH_H
#define PTXGEN_LAUNCH_H

#include <jansson.h>
#include <stdio.h>

#include "args.h"
#include "argument.h"
#include "tile.h"

typedef struct launch_options {
    const char *entry;
    cj_dim3     grid, block, cluster;  // {0, 0, 0}: not given
    uint32_t    shared;
    bool        shared_given, cooperative;
    arguments   arguments;
} launch_options;

enum { LAUNCH_ENTRY = 0x240, LAUNCH_GRID, LAUNCH_BLOCK, LAUNCH_CLUSTER, LAUNCH_SMEM, LAUNCH_COOPERATIVE, LAUNCH_ARG };

// The command passes the texts of the defaults.
#define LAUNCH_OPTIONS(which, grid_size, block_size, bytes)                                                                                 \
    {.name = "entry", .key = LAUNCH_ENTRY, .group = ARGS_LAUNCH, .arg = "NAME", .doc = "The kernel (default: " which ")"},                  \
        {.name = "grid",                                                                                                                    \
         .key = LAUNCH_GRID, .group = ARGS_LAUNCH,                                                                                          \
         .arg = "X[,Y,Z]",                                                                                                                  \
         .doc = "Blocks in the grid, clusters of a kernel with .blocksareclusters (default: " grid_size ")"},                               \
        {.name = "block", .key = LAUNCH_BLOCK, .group = ARGS_LAUNCH, .arg = "X[,Y,Z]", .doc = "Threads a block (default: " block_size ")"}, \
        {.name = "cluster",                                                                                                                 \
         .key = LAUNCH_CLUSTER, .group = ARGS_LAUNCH,                                                                                       \
         .arg = "X[,Y,Z]",                                                                                                                  \
         .doc = "Blocks a cluster (default: as the kernel says)"},                                                                          \
        {.name = "smem",                                                                                                                    \
         .key = LAUNCH_SMEM, .group = ARGS_LAUNCH,                                                                                          \
         .arg = "BYTES",                                                                                                                    \
         .doc = "Dynamic shared memory a block (default: " bytes ")"},                                                                      \
        {.name = "cooperative",                                                                                                             \
         .key = LAUNCH_COOPERATIVE, .group = ARGS_LAUNCH,                                                                                   \
         .doc = "A cooperative launch: all blocks are resident, so they can synchronize (this_grid().sync())"},                             \
    {                                                                                                                                       \
        .name = "arg", .key = LAUNCH_ARG, .group = ARGS_LAUNCH, .arg = "ARGUMENT",                                                          \
        .doc = "The next argument: " ARGUMENT_HELP ". " TILE_HELP ". " TEXELS_HELP                                                          \
    }

// Takes one of LAUNCH_OPTIONS; true if `key` is one. Exits with a message if the value is invalid.
bool launch_set(launch_options *l, int key, const char *value);

// Finds the entry by name; if NULL, the only entry of the module, which `path` names in messages. Returns an exit code.
int launch_find(const char *entry, const char *path, cj_module *module, cj_function **function);

// Fills in what was not given, from what the entry says: one cluster of the largest blocks it allows, buffers of 8 MiB
// of zeros, 1024 for integers, 1 for floats. Refuses, by name, what the entry does not say. *made: something was filled
// in. Returns an exit code.
int launch_derive(launch_options *l, const char *path, const cj_function *function, bool *made);

// Checks the arguments against the entry's parameters: their number and sizes. Returns an exit code.
int launch_check(const launch_options *l, const cj_function *function);

// Launches and waits; the arguments have been uploaded.
cj_status launch_run(const launch_options *l, cj_device *device, cj_function *function, cj_error *error);

// Writes --grid, --block and --cluster, as far as they are given, each after a blank.
void launch_put_shape(FILE *to, const launch_options *l);

// The launch as shell options, each after a blank, freed by the caller (NULL: no memory); and as JSON.
char   *launch_text(const launch_options *l);
json_t *launch_json(const launch_options *l, const char *path, const char *entry);

#endif
