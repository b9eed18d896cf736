// SPDX-License-Identifier: Apache-2.0
// The properties have the names and the places of SARIF 2.1.0. A result's place is that of the source where that is known; the line
// of the PTX, where the line was inlined, and a hazard's first party are related locations.
#include "sarif.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "message.h"
#include "origin.h"
#include "output.h"

int sarif_begin(sarif *s, const char *path, bool other) {
    *s = (sarif){.path = path};
    if (!path) return CODE_OK;
    if (sarif_is_output(s) && other)
        return message_error(CJ_INVALID_ARGUMENT,
                             "--sarif - takes standard output alone\nname a file, or leave out the other option");
    const int code = sarif_is_output(s) ? CODE_OK : output_check(path);
    if (code) return code;
    s->results = json_array();
    s->rules = json_array();
    return CODE_OK;
}

bool sarif_is_output(const sarif *s) { return s->path && !strcmp(s->path, "-"); }

// ---- rules

static const char *const levels[] = {[CJ_SEVERITY_ERROR] = "error", [CJ_SEVERITY_WARNING] = "warning"};

static json_t *text_json(const char *text) { return json_pack("{s:o}", "text", output_json_text(text)); }

// What `ptxgen explain` says of a rule; of what is no rule of ours, the hint.
static json_t *help_json(const cj_diagnostic *what, const char *fallback) {
    explanation e;
    if (!explain_find(what->rule, &e)) return text_json(*what->hint ? what->hint : fallback);
    return json_pack("{s:s%, s:s%}", "text", e.text, (size_t)e.length, "markdown", e.text, (size_t)e.length);
}

static json_t *description_json(const cj_diagnostic *what, const char *fallback) {
    const cj_rule *rule = cj_rule_find(what->rule);
    explanation    e;
    if (rule) return text_json(rule->sentence);
    if (!explain_find(what->rule, &e)) return text_json(fallback);
    return json_pack("{s:s%}", "text", e.text, (size_t)explain_sentence(&e));
}

static json_t *rule_json(const cj_diagnostic *what) {
    char text[128];
    snprintf(text, sizeof text, "%s: %s", what->rule,
             strcmp(what->rule, "ptxas") ? "found by running the kernel on the CPU device" : "what ptxas says");
    return json_pack("{s:s, s:o, s:{s:s}, s:o}", "id", what->rule, "shortDescription", description_json(what, text),
                     "defaultConfiguration", "level", levels[what->severity], "help", help_json(what, text));
}

static size_t rule_index(sarif *s, const cj_diagnostic *what) {
    const size_t count = json_array_size(s->rules);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(json_string_value(json_object_get(json_array_get(s->rules, i), "id")), what->rule)) return i;
    json_array_append_new(s->rules, rule_json(what));
    return count;
}

// ---- places

// A path as a URI: relative ones are of the working directory.
static json_t *uri_json(const char *path) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    const char       *name = origin_name(path);
    char             *uri = malloc(3 * strlen(name) + sizeof "file://"), *at = uri;
    if (!uri) return NULL;
    if (*name == '/') at += sprintf(at, "file://");
    for (const char *c = name; *c; c++) at += sprintf(at, strchr(plain, *c) ? "%c" : "%%%02X", (unsigned char)*c);
    *at = '\0';
    json_t *value = json_string(uri);
    free(uri);
    return value;
}

static json_t *region_json(unsigned line, unsigned column) {
    json_t *region = line ? json_pack("{s:i}", "startLine", (int)line) : NULL;
    if (region && column) json_object_set_new(region, "startColumn", json_integer(column));
    return region;
}

// A location; `text` may be NULL.
static json_t *place_json(const char *path, unsigned line, unsigned column, const char *text) {
    return json_pack("{s:{s:{s:o}, s:o*}, s:o*}", "physicalLocation", "artifactLocation", "uri", uri_json(path),
                     "region", region_json(line, column), "message", text ? text_json(text) : NULL);
}

// A line of the PTX; of a text that was compiled here, which is no file, what stands there.
static json_t *ptx_json(document *d, unsigned number, unsigned column) {
    size_t      length = 0;
    const char *line = document_line(d, number, &length);
    char        text[256];
    while (line && length && (*line == ' ' || *line == '\t')) line++, length--;
    snprintf(text, sizeof text, "PTX line %u: %.*s", number, (int)(length < 200 ? length : 200), line ? line : "");
    if (d->own_name) return json_pack("{s:o}", "message", text_json(text));
    return place_json(d->name, number, column, text);
}

// Appends to `list` where the place was inlined.
static void add_inlined(json_t *list, const cj_source *source) {
    char text[256];
    for (; source->inlined_at; source = source->inlined_at) {
        const cj_source *by = source->inlined_at;
        snprintf(text, sizeof text, "%.200s%sinlined here", source->function, *source->function ? ", " : "");
        json_array_append_new(list, place_json(by->file, by->line, by->column, text));
    }
}

static json_t *related_json(document *d, const finding *f, const cj_source *source) {
    json_t          *list = json_array();
    const cj_source *other = f->other ? origin_of(d, f->other) : NULL;
    char             text[128];
    if (source) {
        add_inlined(list, source);
        json_array_append_new(list, ptx_json(d, f->what.line, f->what.column));
    }
    if (other) {
        snprintf(text, sizeof text, "the other one, %.48s", f->other_what);
        json_array_append_new(list, place_json(other->file, other->line, other->column, text));
        add_inlined(list, other);
    }
    if (f->other) json_array_append_new(list, ptx_json(d, f->other, 0));
    return list;
}

// ---- results

void sarif_add(sarif *s, document *d, const finding *f) {
    const cj_diagnostic *what = &f->what;
    char                 text[4096];
    if (!s->path) return;
    const cj_source *source = origin_of(d, what->line);
    const char      *path = d->own_name ? origin_main(d) : d->name;
    const bool       is_file = !d->own_name;
    snprintf(text, sizeof text, "%s%s%s%s%s", what->message, *what->hint ? "\nhint: " : "", what->hint,
             f->repeat ? "\nrepeat: " : "", f->repeat ? f->repeat : "");
    json_t *place = source ? place_json(source->file, source->line, source->column, NULL)
                           : place_json(path, is_file ? what->line : 1, is_file ? what->column : 0, NULL);
    json_array_append_new(s->results, json_pack("{s:s, s:i, s:s, s:o, s:[o], s:o}", "ruleId", what->rule, "ruleIndex",
                                                (int)rule_index(s, what), "level", levels[what->severity], "message",
                                                text_json(text), "locations", place, "relatedLocations",
                                                related_json(d, f, source)));
}

// A text that is refused is a result.
static json_t *invocation_json(const sarif *s) {
    const cj_error *failure = message_first();
    if (failure && failure->status == CJ_INVALID_KERNEL && json_array_size(s->results)) failure = NULL;
    json_t *invocation = json_pack("{s:b}", "executionSuccessful", !failure);
    if (failure)
        json_object_set_new(invocation, "toolExecutionNotifications",
                            json_pack("[{s:s, s:o}]", "level", "error", "message", text_json(failure->message)));
    return invocation;
}

int sarif_end(sarif *s, int code) {
    if (!s->results) return code;
    json_t *log = json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:o}}, s:[o], s:o}]}", "$schema",
                            "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0", "runs", "tool",
                            "driver", "name", "ptxgen", "version", cj_version(), "rules", s->rules, "invocations",
                            invocation_json(s), "results", s->results);
    char   *text = log ? json_dumps(log, JSON_INDENT(2)) : NULL;
    int     wrote = text ? output_save(s->path, text, strlen(text))
                         : message_error(CJ_OUT_OF_MEMORY, "no memory for the SARIF output");
    json_decref(log);
    free(text);
    *s = (sarif){0};
    return code ? code : wrote;
}
