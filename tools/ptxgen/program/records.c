// SPDX-License-Identifier: Apache-2.0
#include "records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "origin.h"
#include "output.h"

static const char *text_of(const json_t *record, const char *name) {
    const char *text = json_string_value(json_object_get(record, name));
    return text ? text : "";
}

static unsigned number_of(const json_t *record, const char *name) {
    const json_int_t number = json_integer_value(json_object_get(record, name));
    return number > 0 && number <= 1 << 30 ? (unsigned)number : 0;
}

static bool is_kind(const json_t *record, const char *kind) { return !strcmp(text_of(record, "kind"), kind); }

// ---- the PTX of modules

// A kernel's own name: of "ns::scale<float>(int)" and of "_ZN2ns5scaleIfEEvi" it is "scale".
static void bare_name(const char *kernel, char *name, size_t size) {
    const char *at = kernel;
    if (!strncmp(at, "_Z", 2)) {
        size_t length = 0;
        for (at += 2 + (at[2] == 'N'); *at >= '0' && *at <= '9'; at += length) {
            char *end;
            length = strtoul(at, &end, 10);
            at = end;
            if (length > strlen(at)) break;
            snprintf(name, size, "%.*s", (int)length, at);
        }
        if (length) return;
        at = kernel;
    }
    for (const char *c = strstr(at, "::"); c && c < at + strcspn(at, "<("); c = strstr(at, "::")) at = c + 2;
    snprintf(name, size, "%.*s", (int)strcspn(at, "<("), at);
}

// Gives the document the sources that were in memory alone. Of several with one name, the last one that has the kernel counts.
static void give_sources(records *r, document *d, const char *kernel) {
    char    name[256];
    json_t *record;
    size_t  i;
    bare_name(kernel, name, sizeof name);
    for (int pass = 0; pass < 2; pass++) json_array_foreach(r->lines, i, record) {
            if (!is_kind(record, "source") || !strstr(d->text, text_of(record, "file"))) continue;
            if (!pass || strstr(text_of(record, "text"), name))
                origin_give(d, text_of(record, "file"), text_of(record, "text"));
        }
}

// The document of a finding: its module's PTX; else an empty one.
static document *text_for(records *r, const json_t *record) {
    const json_t *module = json_object_get(record, "module");
    const char   *kernel = text_of(record, "kernel");
    document     *d = &r->texts[r->text_count];
    for (size_t i = 0; i < r->text_count; i++)
        if (module && json_equal(r->modules[i], module)) d = &r->texts[i];
    if (d->own_name) return d;
    const size_t size = strlen(kernel) + sizeof "PTX of ";
    if (d != &r->texts[r->text_count] && *kernel && (d->own_name = malloc(size)) != NULL) {
        snprintf(d->own_name, size, "PTX of %s", kernel);
        d->name = d->own_name;
        give_sources(r, d, kernel);
    }
    return d;
}

static int read_texts(records *r) {
    json_t *record;
    size_t  i, most = json_array_size(r->lines);
    r->texts = calloc(most + 1, sizeof *r->texts);
    r->modules = calloc(most + 1, sizeof *r->modules);
    if (!r->texts || !r->modules) return message_error(CJ_OUT_OF_MEMORY, "no memory for the report");
    json_array_foreach(r->lines, i, record) {
        if (!is_kind(record, "ptx")) continue;
        document *d = &r->texts[r->text_count];
        d->name = r->program;
        if (document_copy(d, text_of(record, "text"))) return CODE_DEVICE;
        r->modules[r->text_count++] = json_object_get(record, "module");
    }
    r->texts[r->text_count].name = r->program;
    return document_copy(&r->texts[r->text_count], "");
}

// ---- findings

static bool is_same(const told *a, const finding *what, const document *text) {
    return a->text == text && !strcmp(a->what.what.rule, what->what.rule) && a->what.what.line == what->what.line &&
           a->what.other == what->other && (what->what.line || !strcmp(a->what.what.message, what->what.message));
}

// The side that was seen to break the rule comes first, then the other party, if there is one.
static finding finding_from(const json_t *record, document *d) {
    const json_t  *sides = json_object_get(record, "sides");
    const json_t  *second = json_array_get(sides, 0), *first = json_array_get(sides, 1);
    const char    *rule = text_of(record, "rule"), *code = text_of(record, "code");
    size_t         length = 0, blanks = 0;
    const unsigned number = number_of(second, "ptx_line");
    const char    *line = document_line(d, number, &length);
    while (line && blanks < length && (line[blanks] == ' ' || line[blanks] == '\t')) blanks++;
    return (finding){.what = {.severity = CJ_SEVERITY_ERROR,
                              .rule = *rule   ? rule
                                      : *code ? code
                                              : text_of(record, "kind"),
                              .line = line ? number : 0,
                              .column = line ? (unsigned)blanks + 1 : 0,
                              .message = text_of(record, "message"),
                              .hint = text_of(record, "hint")},
                     .other = first ? number_of(first, "ptx_line") : 0,
                     .other_what = first ? text_of(first, "what") : NULL};
}

static int add_finding(records *r, json_t *record) {
    document     *d = text_for(r, record);
    const finding what = finding_from(record, d);
    for (size_t i = 0; i < r->count; i++) {
        if (!is_same(&r->item[i], &what, d)) continue;
        r->item[i].count++;
        return CODE_OK;
    }
    if (r->count == r->capacity) {
        const size_t capacity = r->capacity ? 2 * r->capacity : 16;
        told        *grown = realloc(r->item, capacity * sizeof *grown);
        if (!grown) return message_error(CJ_OUT_OF_MEMORY, "no memory for %zu findings", capacity);
        r->item = grown;
        r->capacity = capacity;
    }
    r->item[r->count++] = (told){.text = d, .what = what, .record = record, .count = 1};
    r->hazards += is_kind(record, "hazard");
    r->faults += is_kind(record, "fault");
    r->leaks += is_kind(record, "leak");
    r->sourceless |= what.what.line && !origin_of(d, what.what.line);
    return CODE_OK;
}

// ---- warnings

// Adds a call that was refused, or a function that is missing, unless it was told before.
static void add_warning(records *r, json_t *record) {
    json_t *known;
    size_t  i;
    json_array_foreach(r->warnings, i, known) {
        if (strcmp(text_of(known, "call"), text_of(record, "call")) != 0 ||
            strcmp(text_of(known, "message"), text_of(record, "message")) != 0)
            continue;
        json_object_set_new(known, "count", json_integer(number_of(known, "count") + 1));
        return;
    }
    json_t *copy = json_copy(record);
    json_object_set_new(copy, "count", json_integer(1));
    json_array_append_new(r->warnings, copy);
}

static void print_warning(const json_t *warning) {
    const char *call = text_of(warning, "call"), *kernel = text_of(warning, "kernel"), *hint = text_of(warning, "hint");
    char        text[4096];
    snprintf(text, sizeof text, "%.200s%s%.300s%s%.2000s%s%.1000s", call, *call ? ": " : "", kernel,
             *kernel ? ": " : "", text_of(warning, "message"), *hint ? "\nhint: " : "", hint);
    message_log(NULL, CJ_LOG_WARNING, text);
}

// ---- the report

// A line that was cut off is left out: the program died while it wrote.
static int read_lines(records *r, const char *path) {
    document report;
    int      code = document_read(&report, path);
    if (code) return code;
    for (const char *at = report.text; *at;) {
        const size_t length = strcspn(at, "\n");
        json_t      *line = json_loadb(at, length, 0, NULL);
        if (json_is_object(line))
            json_array_append_new(r->lines, line);
        else
            json_decref(line);
        at += length + (at[length] == '\n');
    }
    document_free(&report);
    message_document(NULL);
    return CODE_OK;
}

// Processes that a program starts write an end of their own: their numbers are added up.
static void add_end(records *r, json_t *record) {
    const char *name;
    json_t     *value;
    if (!r->end) r->end = json_object();
    json_object_foreach(record, name, value) {
        const json_t *before = json_object_get(r->end, name);
        if (json_is_integer(value))
            json_object_set_new(r->end, name, json_integer(json_integer_value(before) + json_integer_value(value)));
        else if (json_is_real(value))
            json_object_set_new(r->end, name, json_real(json_real_value(before) + json_real_value(value)));
    }
}

int records_read(records *r, const char *path, const char *program, bool leaks) {
    json_t *record;
    size_t  i;
    *r = (records){.program = program, .lines = json_array(), .warnings = json_array()};
    int code = read_lines(r, path);
    if (!code) code = read_texts(r);
    if (code) return code;
    json_array_foreach(r->lines, i, record) {
        const bool leak = is_kind(record, "leak"), found = is_kind(record, "hazard") || is_kind(record, "fault");
        r->any |= !is_kind(record, "source");
        if ((found || (leak && leaks)) && (code = add_finding(r, record))) break;
        if (is_kind(record, "refused") || is_kind(record, "unsupported")) add_warning(r, record);
        if (is_kind(record, "end")) add_end(r, record);
    }
    return code;
}

void records_free(records *r) {
    for (size_t i = 0; r->texts && i <= r->text_count; i++) document_free(&r->texts[i]);
    free(r->texts);
    free(r->modules);
    free(r->item);
    json_decref(r->lines);
    json_decref(r->warnings);
    json_decref(r->end);
    *r = (records){0};
}

// ---- what is shown

// Programs look at the results of other calls: kernel<<<...>>>() has none, and loads the kernel's module, too.
static bool is_often_unchecked(const char *call) { return strstr(call, "Launch") || strstr(call, "Load"); }

// A program that launched kernels has our runtime: another one in it, as in cuda.bindings, is not why it failed.
static bool is_beside_the_point(const records *r, const char *call) {
    return !strcmp(call, "cuGetExportTable") && records_count(r, "launches") > 0;
}

static bool is_worth_a_warning(const records *r, const json_t *warning, bool all) {
    const char *call = text_of(warning, "call");
    if (is_kind(warning, "unsupported") || is_often_unchecked(call)) return true;
    return all && !is_beside_the_point(r, call);
}

size_t records_print(const records *r, bool all) {
    const json_t *warning;
    size_t        k, left = 0;
    for (size_t i = 0; i <= r->text_count; i++) {
        findings found = {0};
        for (size_t n = 0; n < r->count; n++)
            if (r->item[n].text == &r->texts[i] && findings_add(&found, &r->item[n].what)) break;
        findings_merge(&found, &r->texts[i]);
        for (size_t n = 0; n < found.count; n++) finding_print(stderr, &r->texts[i], &found.item[n]);
        findings_free(&found);
    }
    json_array_foreach(r->warnings, k, warning) {
        if (is_worth_a_warning(r, warning, all))
            print_warning(warning);
        else
            left++;
    }
    if (r->sourceless) message_note("with -lineinfo (nvcc, NVRTC), findings name lines of the source");
    return left;
}

void records_sarif(const records *r, sarif *s) {
    for (size_t i = 0; i < r->count; i++) sarif_add(s, r->item[i].text, &r->item[i].what);
}

static json_t *findings_json(const records *r) {
    json_t *list = json_array();
    for (size_t i = 0; i < r->count; i++) {
        const told *t = &r->item[i];
        json_t     *one = finding_json(t->text, &t->what);
        json_object_set_new(one, "kind", output_json_text(text_of(t->record, "kind")));
        json_object_set_new(one, "kernel", output_json_text(text_of(t->record, "kernel")));
        json_object_set_new(one, "call", output_json_text(text_of(t->record, "call")));
        json_object_set_new(one, "count", json_integer((json_int_t)t->count));
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *warnings_json(const records *r, const char *kind) {
    json_t *list = json_array(), *warning;
    size_t  i;
    json_array_foreach(r->warnings, i, warning) {
        if (!is_kind(warning, kind)) continue;
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:s, s:O}", "call", text_of(warning, "call"), "kernel",
                                        text_of(warning, "kernel"), "message", text_of(warning, "message"), "hint",
                                        text_of(warning, "hint"), "count", json_object_get(warning, "count")));
    }
    return list;
}

json_t *records_json(const records *r) {
    return json_pack("{s:o, s:o, s:o, s:O?}", "findings", findings_json(r), "refused", warnings_json(r, "refused"),
                     "unsupported", warnings_json(r, "unsupported"), "counts", r->end);
}

double records_count(const records *r, const char *name) { return json_number_value(json_object_get(r->end, name)); }
