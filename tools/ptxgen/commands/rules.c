// SPDX-License-Identifier: Apache-2.0
#include <clusterjit/check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "command.h"
#include "explain.h"
#include "message.h"
#include "near.h"
#include "output.h"

typedef struct rules_options {
    const cj_rule **rule;
    size_t          count;
    bool            json;
} rules_options;

enum { KEY_JSON = ARGS_LONG_ONLY };

static const args_option options[] = {
    {.name = "json", .key = KEY_JSON, .doc = "Print JSON"},
    {0},
};

static int set(void *user, int key, char *value) {
    rules_options *o = user;
    (void)value;
    if (key == KEY_JSON) o->json = true;
    return CODE_OK;
}

static int no_such_rule(const char *word) {
    nearest     near = {.word = word};
    explanation e;
    for (size_t i = 0; i < cj_rule_count(); i++) near_offer(&near, cj_rule_at(i)->id);
    if (explain_find(word, &e))
        return message_error(CJ_INVALID_ARGUMENT,
                             "'%s' is no rule of PTX, but of launches or runs\n'ptxgen explain %s' explains it", word,
                             word);
    if (!near.name)
        return message_error(CJ_INVALID_ARGUMENT, "unknown rule '%s'\n'ptxgen rules' lists the rules", word);
    return message_error(CJ_INVALID_ARGUMENT, "unknown rule '%s'\ndid you mean '%s'?", word, near.name);
}

static int take(void *user, char *word) {
    rules_options *o = user;
    const cj_rule *rule = cj_rule_find(word);
    if (!rule) return no_such_rule(word);
    o->rule[o->count++] = rule;  // the array has room for every word of the command line
    return CODE_OK;
}

const args_spec rules_spec = {
    .doc = "Lists the rules that 'check' holds PTX against, each with an example that breaks it: all, or those named. "
           "'ptxgen explain' "
           "says more of each, and of the rules of launches and runs.",
    .options = options,
    .set = set,
    .words = "[RULE...]",
    .take = take,
    .examples = "ptxgen rules cluster-start",
};

static const char *severity_name(const cj_rule *rule) {
    return rule->severity == CJ_SEVERITY_ERROR ? "error" : "warning";
}

static void print_rule(const cj_rule *rule) {
    printf("%s%s%s (%s)\n", message_colour(stdout, COLOUR_BOLD), rule->id, message_colour(stdout, COLOUR_NONE),
           severity_name(rule));
    fputs("    ", stdout);
    output_wrapped(rule->sentence, 4);
    for (const char *line = rule->example; *line;) {
        size_t length = strcspn(line, "\n");
        printf("        %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static json_t *rule_json(const cj_rule *rule) {
    return json_pack("{s:s, s:s, s:s, s:s}", "id", rule->id, "severity", severity_name(rule), "sentence",
                     rule->sentence, "example", rule->example);
}

static int print_rules(const rules_options *o) {
    size_t  count = o->count ? o->count : cj_rule_count();
    json_t *array = o->json ? json_array() : NULL;
    for (size_t i = 0; i < count; i++) {
        const cj_rule *rule = o->count ? o->rule[i] : cj_rule_at(i);
        if (array) {
            json_array_append_new(array, rule_json(rule));
            continue;
        }
        if (i) putchar('\n');
        print_rule(rule);
    }
    return o->json ? output_json(json_pack("{s:o}", "rules", array)) : CODE_OK;
}

int cmd_rules(int argc, char **argv) {
    rules_options o = {.rule = calloc((size_t)argc, sizeof *o.rule)};
    if (!o.rule) return message_error(CJ_OUT_OF_MEMORY, "no memory for the names of the rules");
    args_parse(&rules_spec, argc, argv, &o, NULL);
    int code = print_rules(&o);
    free(o.rule);
    return code;
}
