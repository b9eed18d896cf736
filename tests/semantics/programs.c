// SPDX-License-Identifier: Apache-2.0
#include "programs.h"

#include <clusterjit/kernel.h>
#include <inttypes.h>
#include <string.h>

#include "test.h"

enum { THREADS_MAX = 1024 };

static cj_status run(const cj_program *program, cj_device *device, cj_ptr out, uint64_t *results, cj_error *error) {
    const size_t bytes = program->threads * sizeof *results;
    cj_module   *module = NULL;
    cj_function *function = NULL;
    cj_status    status = cj_module_from_ptx(device, program->ptx, strlen(program->ptx), &module, error);
    if (!status) status = cj_module_function(module, "kernel", &function, error);
    if (!status) {
        const cj_launch_config config = {CJ_INIT(config),
                                         .function = function,
                                         .grid = {1, 1, 1},
                                         .block = {program->threads, 1, 1},
                                         .arguments = (void *[]){&out},
                                         .argument_count = 1};
        status = cj_launch(device, &config, error);
    }
    if (!status) status = cj_mem_read(device, results, out, bytes, NULL, error);
    cj_module_unload(module);
    return status;
}

static bool succeeds(const cj_program *program, cj_device *device, cj_ptr out) {
    static uint64_t results[THREADS_MAX];
    cj_error        error = {0};
    if (run(program, device, out, results, &error)) {
        print_error("%s: %s %s\n", program->name, error.message, error.hint);
        return false;
    }
    for (unsigned i = 0; i < program->threads; i++) {
        if (results[i] == program->expected(i)) continue;
        print_error("%s: thread %u gave 0x%" PRIx64 ", not 0x%" PRIx64 "\n", program->name, i, results[i],
                    program->expected(i));
        return false;
    }
    return true;
}

unsigned cj_programs_run(const cj_programs *programs, cj_device *device) {
    cj_ptr   out = 0;
    cj_error error = {0};
    unsigned failed = 0;
    cj_test_ok(cj_mem_alloc(device, THREADS_MAX * sizeof(uint64_t), &out, &error), &error);
    for (size_t i = 0; i < programs->count; i++) failed += !succeeds(&programs->program[i], device, out);
    cj_mem_free(device, out);
    return failed;
}
