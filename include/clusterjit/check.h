// SPDX-License-Identifier: Apache-2.0
// Reading any PTX: hold it against the rules, print it in our layout, list what is known of the instruction set.
// Thread safety: every call may run in any thread; a report belongs to the caller and is immutable.
#ifndef CLUSTERJIT_CHECK_H
#define CLUSTERJIT_CHECK_H

#include <clusterjit/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cj_severity { CJ_SEVERITY_ERROR, CJ_SEVERITY_WARNING } cj_severity;

// One finding; the strings live as long as the report. Lines and columns count from 1 (bytes); 0: the whole file.
typedef struct cj_diagnostic {
    cj_severity severity;
    const char *rule;     // id of the broken rule: cj_rule_find explains it
    unsigned    line, column;
    const char *message;  // what, which value, which limit
    const char *hint;     // what to do, or ""
} cj_diagnostic;

typedef struct cj_report cj_report;

typedef struct cj_check_options {
    CJ_STRUCT_SIZE(cj_check_options);
    const char *arch;  // hold the file against this target instead of its own .target; NULL: its own
} cj_check_options;

// Parses and checks a PTX file. *report holds every finding, in the order of the text, and is owned by the caller also when
// there are none. OK whether or not rules are broken; OUT_OF_MEMORY, INVALID_ARGUMENT (unknown arch). `options` may be NULL.
CJ_API cj_status cj_check_ptx(const char *ptx, size_t length, const cj_check_options *options, cj_report **report,
                              cj_error *error);
CJ_API void                 cj_report_destroy(cj_report *report);  // NULL is allowed
CJ_API size_t               cj_report_count(const cj_report *report);
CJ_API size_t               cj_report_errors(const cj_report *report);
CJ_API const cj_diagnostic *cj_report_at(const cj_report *report, size_t index);  // NULL after the last

// The rules. `example` is a line or two of PTX that break it.
typedef struct cj_rule {
    const char *id;
    cj_severity severity;
    const char *sentence;
    const char *example;
} cj_rule;

CJ_API size_t         cj_rule_count(void);
CJ_API const cj_rule *cj_rule_at(size_t index);           // NULL after the last
CJ_API const cj_rule *cj_rule_find(const char *id);       // NULL for no such rule

// A place of the source that a compiler made PTX of, as the PTX's .loc and .file name it. Lines and columns count from 1;
// column 0: unknown.
typedef struct cj_source {
    const char             *file;
    unsigned                line, column;
    const char             *function;    // that was inlined, and holds this line; "": none, or its name is not known
    const struct cj_source *inlined_at;  // where it was inlined; NULL: it was not
} cj_source;

// Tells the place of the source for lines of a PTX text of any compiler: nvcc, NVRTC, Triton, Numba, rustc. A text that
// breaks rules, or has no .loc, gives what can be told. Of what a header of the CUDA toolkit inlined (cuda::ptx, cooperative
// groups), the place is the one that called it. Thread safety: one thread at a time a map. OUT_OF_MEMORY.
typedef struct cj_source_map cj_source_map;

CJ_API cj_status cj_source_map_create(const char *ptx, size_t length, cj_source_map **map, cj_error *error);
CJ_API void      cj_source_map_destroy(cj_source_map *map);  // NULL is allowed
// NULL: the text does not say it. What is returned lives as long as the map.
CJ_API const cj_source *cj_source_map_find(cj_source_map *map, unsigned line);

// Prints a PTX file in our layout: same instructions, same order, comments kept; text owned by the caller (cj_text_free in
// clusterjit/ptx.h). INVALID_KERNEL with line and column when it cannot be parsed.
CJ_API cj_status cj_format_ptx(const char *ptx, size_t length, char **text, size_t *text_length, cj_error *error);

// The instruction table, one row a form.
typedef struct cj_isa_row {
    const char *syntax, *operands, *sample;  // the languages are explained in ptxgen/table.h
    unsigned    ptx_version;                 // least .version, 10 * major + minor
    unsigned    target;                      // least target, 90 for sm_90; 0: any
    char        suffix;                      // 'a' or 'f' where an architecture-specific target is needed, else 0
    const char *effects;                     // blank-separated words
} cj_isa_row;

CJ_API size_t            cj_isa_count(void);
CJ_API const cj_isa_row *cj_isa_at(size_t index);  // NULL after the last

// The sets of words that forms name with $: SHARED is "shared|shared::cta|shared::cluster". A set may name others.
typedef struct cj_isa_set {
    const char *name, *words;
} cj_isa_set;

CJ_API const cj_isa_set *cj_isa_set_at(size_t index);  // NULL after the last

#ifdef __cplusplus
}
#endif
#endif
