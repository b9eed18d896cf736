// SPDX-License-Identifier: Apache-2.0
#include "calls.h"
#include "report.h"

int cj__refuse_missing(const char *symbol) {
    const cj_record record = {.kind = "unsupported",
                              .call = symbol,
                              .message = "this function of the driver is missing here",
                              .hint = "run the program on a GPU, or without what calls it",
                              .code = CUDA_ERROR_NOT_SUPPORTED,
                              .count = 1};
    cj__report_once(&record);
    return CUDA_ERROR_NOT_SUPPORTED;
}
