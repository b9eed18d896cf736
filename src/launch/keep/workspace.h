// SPDX-License-Identifier: Apache-2.0
// A kernel's workspace, from where the program says (clusterjit/allocator.h), else from the device.
#ifndef CJ_LAUNCH_WORKSPACE_H
#define CJ_LAUNCH_WORKSPACE_H

#include <clusterjit/allocator.h>

// `from` gets it back; without functions the device does. Zeroed: no workspace.
typedef struct cj_workspace {
    cj_ptr        memory;
    size_t        bytes;
    cj_stream     stream;
    cj_workspaces from;
} cj_workspace;

// Zeroes it, and waits for that, so that launches on any stream may follow.
cj_status cj__workspace_take(cj_device *device, size_t bytes, cj_stream stream, cj_workspace *workspace, cj_error *error);
void      cj__workspace_give(cj_device *device, cj_workspace *workspace);

#endif
