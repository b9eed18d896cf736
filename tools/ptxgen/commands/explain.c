// SPDX-License-Identifier: Apache-2.0
// explain: cause, example and cure of a rule.
#include "explain.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "message.h"
#include "near.h"
#include "output.h"

typedef struct explain_options {
    explanation *rule;
    size_t       count;
    bool         json, markdown;
} explain_options;

enum { KEY_JSON = ARGS_LONG_ONLY, KEY_MARKDOWN };

static const args_option options[] = {
    {.name = "json", .key = KEY_JSON, .doc = "Print JSON"},
    {.name = "markdown", .key = KEY_MARKDOWN, .doc = "Print all of them as docs/rules.md has them"},
    {0},
};

static int set(void *user, int key, char *value) {
    explain_options *o = user;
    (void)value;
    if (key == KEY_JSON) o->json = true;
    if (key == KEY_MARKDOWN) o->markdown = true;
    return CODE_OK;
}

static int no_such_rule(const char *word) {
    nearest     near = {.word = word};
    explanation e;
    char        ids[256][32];
    for (size_t i = 0; i < sizeof ids / sizeof *ids && explain_at(i, &e); i++) {
        snprintf(ids[i], sizeof ids[i], "%.*s", e.id_length, e.id);
        near_offer(&near, ids[i]);
    }
    if (near.name) return message_error(CJ_INVALID_ARGUMENT, "unknown rule '%s'\ndid you mean '%s'?", word, near.name);
    return message_error(CJ_INVALID_ARGUMENT, "unknown rule '%s'\n'ptxgen explain' lists the rules", word);
}

// "[race-block]", as messages have it, is taken, too.
static int take(void *user, char *word) {
    explain_options *o = user;
    const size_t     length = strlen(word);
    if (length > 2 && word[0] == '[' && word[length - 1] == ']') {
        word[length - 1] = '\0';
        word++;
    }
    if (!explain_find(word, &o->rule[o->count])) return no_such_rule(word);
    o->count++;  // the array has room for every word of the command line
    return CODE_OK;
}

const args_spec explain_spec = {
    .doc =
        "Explains rules: the name in brackets at the end of a message of check, contract, exec, or of the library. Of "
        "each "
        "RULE the cause, an example with its mistake (-) and what cures it (+), and the cure; without one, lists all.",
    .options = options,
    .set = set,
    .words = "[RULE...]",
    .take = take,
    .examples = "ptxgen explain race-block",
};

// The first sentence in one line, as far as it fits.
static void list_rule(const explanation *e, int column) {
    char text[400];
    snprintf(text, sizeof text, "%.*s", explain_sentence(e), e->text);
    for (char *at = text; *at; at++)
        if (*at == '\n') *at = ' ';
    printf("  %-*.*s  ", column, e->id_length, e->id);
    output_wrapped(text, (size_t)column + 4);
}

static void list_rules(void) {
    const char *group = NULL;
    explanation e;
    int         column = 0;
    for (size_t i = 0; explain_at(i, &e); i++)
        if (e.id_length > column) column = e.id_length;
    for (size_t i = 0; explain_at(i, &e); i++) {
        if (group != e.group)
            printf("%s%s%.*s%s\n", group ? "\n" : "", message_colour(stdout, COLOUR_BOLD), e.group_length, e.group,
                   message_colour(stdout, COLOUR_NONE));
        group = e.group;
        list_rule(&e, column);
    }
}

static int print_json(const explain_options *o) {
    json_t     *array = json_array();
    explanation e;
    for (size_t i = 0; o->count ? i < o->count : explain_at(i, &e); i++)
        json_array_append_new(array, explain_json(o->count ? &o->rule[i] : &e));
    return output_json(json_pack("{s:o}", "rules", array));
}

static int print_rules(const explain_options *o) {
    if (o->json) return print_json(o);
    if (o->markdown) return explain_markdown(stdout), CODE_OK;
    if (!o->count) return list_rules(), CODE_OK;
    for (size_t i = 0; i < o->count; i++) {
        if (i) fputs("\n\n", stdout);
        explain_print(&o->rule[i]);
    }
    return CODE_OK;
}

int cmd_explain(int argc, char **argv) {
    explain_options o = {.rule = calloc((size_t)argc, sizeof *o.rule)};
    if (!o.rule) return message_error(CJ_OUT_OF_MEMORY, "no memory for the names of the rules");
    args_parse(&explain_spec, argc, argv, &o, NULL);
    const int code = print_rules(&o);
    free(o.rule);
    return code;
}
