// SPDX-License-Identifier: Apache-2.0
// The text of the tuning file: a line a choice, fields with bars between them, the last one a checksum of all before
// it. The file's name contains the version of the format, so that different versions of the library use different
// files.
//     # what ptxgen tune has measured: family | device | problem | choice | time | untuned | day | checksum
//     gemm | NVIDIA H200, sm_90, 132 SMs | m=4096 n=4096 | tile=64x256 | 0.018 ms | 0.02 ms | 2026-11-21 | 0c17d3a9
#ifndef CJ_LAUNCH_TUNING_FILE_H
#define CJ_LAUNCH_TUNING_FILE_H

#include <clusterjit/tuning.h>

#include "text.h"

#define CJ_TUNING_FILE "tuning-1.txt"

enum { CJ_TUNING_LINE = 4096 };  // bytes at most

typedef struct cj_tuning_reader {
    const char *at, *end;              // what is left
    size_t      damaged;               // lines that were skipped
    char        line[CJ_TUNING_LINE];  // holds the strings of the last choice
} cj_tuning_reader;

void cj__tuning_reader_init(cj_tuning_reader *reader, const char *text, size_t bytes);
bool cj__tuning_next(cj_tuning_reader *reader, cj_tuning *tuning);  // false after the last one

void cj__tuning_write_head(cj_text *text);
void cj__tuning_write(const cj_tuning *tuning, cj_text *text);

#endif
