// SPDX-License-Identifier: Apache-2.0
// CLUSTERJIT_DUMP_DIR: keeps the text and the launch of a failure in that directory, which must exist. NAME-HASH.ptx is
// the text, NAME-HASH.sh a command that loads and launches it in the same way. Without the variable nothing is kept. A
// file that cannot be written is logged as a warning, and the error returned stays the original one.
#ifndef CJ_DEVICE_DUMP_H
#define CJ_DEVICE_DUMP_H

#include "device.h"

// A text that does not parse (`ir` NULL), or that the device does not load.
void cj__dump_load(const cj_device *device, const cj_ir_module *ir, const char *ptx, size_t length,
                   const cj_error *error);

// A launch that was refused or that failed. The arguments are those of the entry.
void cj__dump_launch(const cj_launch_config *config, const cj_error *error);

// The device's last launch: a fault is reported when the caller waits for it.
void cj__dump_last(cj_device *device, const cj_error *error);

// After a load: if failures are kept, remembers the module's text. Before an unload: forgets it.
void cj__dump_remember(cj_module *module, const char *ptx, size_t length);
void cj__dump_forget(cj_module *module);

#endif
