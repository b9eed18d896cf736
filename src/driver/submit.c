// SPDX-License-Identifier: Apache-2.0
#include "submit.h"

CUresult cj__submit(CUstream given, cj_work *work) {
    cj_stream_object *stream = NULL;
    CUresult          code = cj__stream_of(given, &stream);
    if (code) return code;
    work->context = stream->base.owner;
    code = cj__work_check(work);
    return code ? code : cj__work_run(work);
}

CUresult cj__submit_record(CUstream given, cj_event *event, bool external) {
    (void)external;
    return cj__submit(given, &(cj_work){.kind = CJ_WORK_RECORD, .as.event = event});
}

CUresult cj__submit_wait(CUstream given, cj_event *event, bool external) {
    (void)event, (void)external;
    return cj__submit(given, &(cj_work){.kind = CJ_WORK_EMPTY});
}

CUresult cj__capture_forbids(cj_stream_object *stream) {
    (void)stream;
    return CUDA_SUCCESS;
}
