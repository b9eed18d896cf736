// SPDX-License-Identifier: Apache-2.0
// run-program where it is not built: it reads ELF files, and the loader of Linux puts the CPU device in the place of CUDA.
#include "command.h"
#include "message.h"

const args_spec run_program_spec = {
    .doc = "Runs a CUDA program as it is on the CPU device. This build has no such command: it needs Linux.",
    .words = "PROGRAM [ARGUMENT...]",
};

int cmd_run_program(int argc, char **argv) {
    (void)argc, (void)argv;
    return message_error(
        CJ_UNSUPPORTED,
        "run-program needs Linux, and this ptxgen was not built for it\n"
        "'ptxgen check --run' and 'ptxgen exec' run the program's kernels one by one, from .cu or .ptx files");
}
