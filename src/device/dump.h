// SPDX-License-Identifier: Apache-2.0
// CLUSTERJIT_DUMP_DIR: what failed, kept for whoever looks into it. In that directory, which must exist, NAME-HASH.ptx
// is the text and NAME-HASH.sh a command line that loads and launches it in the same way. Without the variable nothing
// is kept; a file that cannot be written is a warning in the log, and the failure stays the one that it was.
#ifndef CJ_DEVICE_DUMP_H
#define CJ_DEVICE_DUMP_H

#include "device.h"

// Text that does not parse (`ir` NULL), or that the device does not load.
void cj__dump_load(const cj_device *device, const cj_ir_module *ir, const char *ptx, size_t length,
                   const cj_error *error);

// A launch that was refused or that failed. The arguments are those of the entry.
void cj__dump_launch(const cj_launch_config *config, const cj_error *error);

// The device's last launch: a fault is reported when somebody waits for it.
void cj__dump_last(cj_device *device, const cj_error *error);

// A module was loaded: where failures are kept, its text stays at hand. It is about to go.
void cj__dump_remember(cj_module *module, const char *ptx, size_t length);
void cj__dump_forget(cj_module *module);

#endif
