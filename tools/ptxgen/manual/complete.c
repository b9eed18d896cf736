// SPDX-License-Identifier: Apache-2.0
// complete: what the last word of a command line may become. The scripts in tools/ptxgen/completion ask it, one for each
// shell, so that there is one place that knows commands, options and their values.
#include "complete.h"

#include <clusterjit/contract.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args_help.h"
#include "explain.h"
#include "fill.h"
#include "message.h"

typedef struct words_taken {
    char **word;
    int    count;
} words_taken;

static int take(void *user, char *word) {
    words_taken *w = user;
    w->word[w->count++] = word;  // the array has room for every word of the command line
    return CODE_OK;
}

const args_spec complete_spec = {
    .doc =
        "For the completion of shells: prints what the last WORD may become, each candidate with a tab and what it "
        "means "
        "after it. A line ':files SUFFIX...' or ':directories' asks the shell for names of files. The words are those "
        "after 'ptxgen'; '--' comes before them.",
    .words = "-- WORD...",
    .take = take,
    .examples = "ptxgen complete -- run red",
};

enum { TOKEN = 64, MEANING = 72, FIRST_TARGET = 50, END_TARGET = 150 };

// One completion: `current` is to be completed; `before` is what stands before it in its word: "--dtype=".
typedef struct completion {
    const command   *commands;
    const args_spec *spec;
    const char      *before, *current;
    int              before_length;
    char             last[TOKEN];  // the last candidate: the same is not offered again
    size_t           count;
    bool             first;  // word after the command
    bool             files;  // have been asked for
} completion;

// ---- candidates

// The text up to where the details begin.
static int meaning_length(const char *text) {
    static const char *const ends[] = {" (", ". ", "; "};
    size_t                   length = strlen(text);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *end = strstr(text, ends[i]);
        if (end && (size_t)(end - text) < length) length = (size_t)(end - text);
    }
    if (length <= MEANING) return (int)length;
    for (length = MEANING; length && text[length] != ' '; length--) continue;
    while (length && strchr(",:", text[length - 1])) length--;
    return (int)length;
}

static void offer(completion *c, const char *word, const char *meaning) {
    if (strncmp(word, c->current, strlen(c->current)) || !strcmp(word, c->last)) return;
    snprintf(c->last, sizeof c->last, "%s", word);
    printf("%.*s%s\t%.*s\n", c->before_length, c->before, word, meaning_length(meaning), meaning);
    c->count++;
}

// A family whose parameters become options is the first word.
static void offer_families(completion *c) {
    if (c->spec->params && !c->first) return;
    for (size_t i = 0; i < cj_family_count(); i++)
        offer(c, cj_family_name(cj_family_at(i)), cj_family_summary(cj_family_at(i)));
}

static void offer_commands(completion *c) {
    for (const command *each = c->commands; each->name; each++) offer(c, each->name, each->summary);
}

static void offer_explained(completion *c) {
    char        id[TOKEN], sentence[256];
    explanation e;
    for (size_t i = 0; explain_at(i, &e); i++) {
        snprintf(id, sizeof id, "%.*s", e.id_length, e.id);
        snprintf(sentence, sizeof sentence, "%.*s", (int)strcspn(e.text, "\n"), e.text);
        offer(c, id, sentence);
    }
}

static void offer_rules(completion *c) {
    if (c->spec == &explain_spec) {
        offer_explained(c);
        return;
    }
    for (size_t i = 0; i < cj_rule_count(); i++) offer(c, cj_rule_at(i)->id, cj_rule_at(i)->sentence);
}

static void offer_targets(completion *c) {
    static const char *const suffixes[] = {"", "a", "f"};
    cj_limits                limits;
    char                     name[16];
    for (size_t i = 0; cj_limits_part(i); i++)
        offer(c, cj_limits_part(i), cj_limits_named(cj_limits_part(i), &limits, NULL) ? "" : limits.name);
    for (unsigned number = FIRST_TARGET; number < END_TARGET; number++)
        for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
            snprintf(name, sizeof name, "sm_%u%s", number, suffixes[i]);
            if (!cj_limits_named(name, &limits, NULL)) offer(c, name, "target");
        }
}

static void offer_instructions(completion *c) {
    char name[TOKEN];
    for (size_t i = 0; i < cj_isa_count(); i++) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(cj_isa_at(i)->syntax, ".{ "), cj_isa_at(i)->syntax);
        offer(c, name, "instruction");
    }
}

static void offer_fills(completion *c) {
    for (size_t i = 0; fill_form(i); i++) offer(c, fill_form(i), "");
}

static void ask_files(completion *c, const char *suffixes) {
    if (c->files) return;
    c->files = true;
    printf(":files %s\n", suffixes);
    c->count++;
}

static void offer_files(completion *c) { ask_files(c, c->spec->files ? c->spec->files : ""); }

static void offer_directories(completion *c) {
    puts(":directories");
    c->count++;
}

// ---- what the words of the tables stand for

static const struct {
    const char *name;
    void (*offer)(completion *c);
} placeholders[] = {
    {"FAMILY", offer_families},     {"COMMAND", offer_commands}, {"RULE", offer_rules}, {"TARGET", offer_targets},
    {"PREFIX", offer_instructions}, {"SPEC", offer_fills},       {"FILE", offer_files}, {"DIR", offer_directories},
    {"PROGRAM", offer_files},       {"ARGUMENT", offer_files},
};

static bool stands_for(completion *c, const char *token) {
    for (size_t i = 0; i < sizeof placeholders / sizeof *placeholders; i++)
        if (!strcmp(token, placeholders[i].name)) return placeholders[i].offer(c), true;
    return false;
}

// Of "gpu:N" the part that is typed as it stands: "gpu:".
static void offer_word(completion *c, char *token) {
    char *at = token;
    while (*at && !isupper((unsigned char)*at)) at++;
    *at = '\0';
    if (islower((unsigned char)*token)) offer(c, token, "");
}

// "cpu|gpu|gpu:N", "FILE.svg", "[ls|verify|clear]": every alternative. A value that only numbers can be has none.
static void offer_alternatives(completion *c, const char *text) {
    char token[TOKEN], suffixes[TOKEN] = "";
    while (*text) {
        const size_t length = strcspn(text, "|[] \n"), used = strlen(suffixes);
        snprintf(token, sizeof token, "%.*s", (int)length, text);
        char *dots = strstr(token, "...");
        if (dots) *dots = '\0';
        if (!strncmp(token, "FILE.", 5))
            snprintf(suffixes + used, sizeof suffixes - used, "%s%s", used ? " " : "", token + 5);
        else if (!stands_for(c, token))
            offer_word(c, token);
        text += length + (text[length] != '\0');
    }
    if (*suffixes) ask_files(c, suffixes);
}

static void offer_list(completion *c, const char *words) {
    char token[TOKEN];
    while (words && *words) {
        const size_t length = strcspn(words, " ");
        snprintf(token, sizeof token, "%.*s", (int)length, words);
        offer(c, token, "");
        words += length + strspn(words + length, " ");
    }
}

static void offer_values(completion *c, const args_option *option, const cj_family *family) {
    const size_t param = (size_t)option->key - ARGS_PARAM;
    if (!family || option->key < ARGS_PARAM || param >= cj_family_param_count(family)) {
        offer_alternatives(c, option->arg);
        return;
    }
    const cj_param_info *info = cj_family_param(family, param);
    if (info->automatic) offer(c, "auto", "the plan chooses");
    offer_list(c, info->choices ? info->choices : info->tune);
}

static void offer_options(completion *c, const args_table *t) {
    char        word[TOKEN];
    const char *doc = "";
    for (const args_option *option = t->option; option->name; option++) {
        if (!option->alias) doc = option->doc;
        snprintf(word, sizeof word, "--%s%s", option->name, option->arg ? "=" : "");
        offer(c, word, doc);
    }
}

// ---- the command line

// What the words before the last one leave to be completed.
typedef struct place {
    const args_option *pending;     // an option that lacks its value; NULL: none
    bool               no_options;  // after "--"
    bool               program;     // the first word is a program, with all after it
    int                others;      // words that are no options
} place;

static void pass_long(place *p, const args_table *t, const char *word) {
    const size_t       length = strcspn(word, "=");
    const args_option *other, *option = args_table_find(t, word + 2, length - 2, &other);
    if (option && !other && option->arg && !word[length]) p->pending = option;
}

static void pass_letters(place *p, const args_table *t, const char *word) {
    for (const char *at = word + 1; *at; at++) {
        const args_option *option = args_table_letter(t, *at);
        if (!option || !option->arg) continue;
        if (!at[1]) p->pending = option;
        return;
    }
}

static void pass_word(place *p, const args_table *t, const char *word) {
    if (p->pending)
        p->pending = NULL;
    else if (!strcmp(word, "--"))
        p->no_options = true;
    else if (!p->no_options && !strncmp(word, "--", 2))
        pass_long(p, t, word);
    else if (!p->no_options && word[0] == '-')
        pass_letters(p, t, word);
    else
        p->no_options |= p->program;  // what follows are the program's own words
}

// A word that is no option, else, if nothing is typed, an option.
static void offer_others(completion *c, const args_table *t, const place *p, const cj_family *family) {
    offer_alternatives(c, args_usage(c->spec, family));
    if (!c->count && !p->no_options && !*c->current) offer_options(c, t);
}

static void complete_option(completion *c, const args_table *t, const cj_family *family) {
    const size_t       length = strcspn(c->current, "=");
    const args_option *other, *option;
    if (!c->current[length] || length < 2) {
        offer_options(c, t);
        return;
    }
    option = args_table_find(t, c->current + 2, length - 2, &other);
    c->before = c->current;
    c->before_length = (int)length + 1;
    c->current += length + 1;
    if (option && !other && option->arg) offer_values(c, option, family);
}

static void complete_words(completion *c, char **words, int count) {
    const cj_family *family = NULL;
    args_table       table;
    place            p = {.program = c->spec->rest};
    if (count > 2 && c->spec->params && cj_family_find(words[1], &family, NULL)) family = NULL;
    c->first = count == 2;
    args_table_fill(&table, c->spec, family);
    for (int i = family ? 2 : 1; i + 1 < count; i++) pass_word(&p, &table, words[i]);
    if (p.pending)
        offer_values(c, p.pending, family);
    else if (c->current[0] == '-' && !p.no_options)
        complete_option(c, &table, family);
    else
        offer_others(c, &table, &p, family);
}

static const command *find(const command *commands, const char *name) {
    for (const command *c = commands; c->name; c++)
        if (!strcmp(c->name, name)) return c;
    return NULL;
}

// `help COMMAND` completes a family as that command does.
static int complete_all(completion *c, char **words, int count) {
    const command *which = count > 1 ? find(c->commands, words[0]) : NULL;
    if (which && !strcmp(which->name, "help") && count == 3) which = find(c->commands, words[1]), words++, count--;
    if (count == 1 && c->current[0] == '-')
        offer(c, "--help", "Show the commands"), offer(c, "--version", "Show the version");
    else if (count == 1)
        offer_commands(c);
    else if (which)
        c->spec = which->spec, complete_words(c, words, count);
    return CODE_OK;
}

int complete_run(const command *commands, int argc, char **argv) {
    words_taken w = {.word = calloc((size_t)argc, sizeof *w.word)};
    if (!w.word) return message_error(CJ_OUT_OF_MEMORY, "no memory for the words of the command line");
    args_parse(&complete_spec, argc, argv, &w, NULL);
    completion c = {.commands = commands, .before = "", .current = w.count ? w.word[w.count - 1] : ""};
    int        code = w.count ? complete_all(&c, w.word, w.count)
                              : message_error(CJ_INVALID_ARGUMENT, "which word? 'ptxgen complete -- run red' completes 'red'");
    free(w.word);
    return code;
}
