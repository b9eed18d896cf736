// SPDX-License-Identifier: Apache-2.0
#include "lane.h"

#include <stdlib.h>

#include "message.h"

static int load(lane *l, const document *ptx, const char *entry) {
    const cj_device_options where = {CJ_INIT(where), .spec = "cpu"};
    cj_error                error;
    if (cj_device_open(&where, &l->device, &error) ||
        cj_module_from_ptx(l->device, ptx->text, ptx->length, &l->module, &error))
        return message_failure(&error);
    return launch_find(entry, ptx->name, l->module, &l->function);
}

lane *lane_open(const launch_options *launch, const document *ptx, const char *entry) {
    lane *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    l->launch = *launch;
    for (unsigned i = 0; i < l->launch.arguments.count; i++) l->launch.arguments.item[i].memory = 0;
    if (!load(l, ptx, entry)) return l;
    lane_close(l);
    return NULL;
}

cj_status lane_launch(lane *l, const machine_options *machine, cj_error *error) {
    *error = (cj_error){0};
    cj_status status = machine_configure(machine, l->device, error);
    if (!status && arguments_upload(&l->launch.arguments, l->device)) status = CJ_OUT_OF_MEMORY;
    return status ? status : launch_run(&l->launch, l->device, l->function, error);
}

void lane_close(lane *l) {
    if (!l) return;
    if (l->device) arguments_release(&l->launch.arguments, l->device);
    cj_module_unload(l->module);
    if (l->device) cj_device_close(l->device);
    free(l);
}
