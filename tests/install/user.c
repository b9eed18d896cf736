// SPDX-License-Identifier: Apache-2.0
// The least a user does: one sum, on the CPU device. Compiled as C and as C++.
#include <clusterjit/clusterjit.h>
#include <stdio.h>

int main(void) {
    float             x[1024], sum = 0;
    cj_error          error;
    cj_device        *device = NULL;
    cj_reduce        *reduce = NULL;
    cj_ptr            in = 0, out = 0;
    cj_device_options options = {CJ_INIT(options)};
    cj_reduce_desc    desc = {CJ_INIT(desc)};

    for (int i = 0; i < 1024; i++) x[i] = (float)i;
    options.spec = "cpu";
    desc.n = 1024;
    if (cj_device_open(&options, &device, &error) ||
        cj_mem_alloc(device, sizeof x, &in, &error) ||
        cj_mem_alloc(device, sizeof sum, &out, &error) ||
        cj_mem_write(device, in, x, sizeof x, NULL, &error) ||
        cj_reduce_create(device, &desc, &reduce, &error) ||
        cj_reduce_run(reduce, in, out, NULL, &error) ||
        cj_mem_read(device, &sum, out, sizeof sum, NULL, &error)) {
        printf("%s: %s %s\n", cj_status_name(error.status), error.message, error.hint);
        return 1;
    }
    printf("clusterjit %s on the %s: %.1f\n", cj_version(), cj_device_name(device), sum);
    cj_reduce_destroy(reduce);
    cj_mem_free(device, in);
    cj_mem_free(device, out);
    cj_device_close(device);
    return sum == 523776.0f ? 0 : 1;
}
