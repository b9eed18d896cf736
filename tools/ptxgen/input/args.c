// SPDX-License-Identifier: Apache-2.0
#include "args.h"

#include <clusterjit/contract.h>
#include <clusterjit/gpus.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args_help.h"
#include "functions.h"
#include "message.h"
#include "near.h"
#include "output.h"

typedef struct parse {
    const args_spec *spec;
    void            *user;
    args_family     *family;
    char             name[96];    // "ptxgen run reduce"
    int              argc, next;  // argv[next] is read next
    char           **argv;
    args_table       table;
} parse;

static bool lacks_family(const parse *p) { return p->family && !p->family->params.family; }

const char *args_family_among(int argc, char **argv) {
    const cj_family *family;
    for (int i = 0; i < argc; i++)
        if (!cj_family_find(argv[i], &family, NULL)) return argv[i];
    return NULL;
}

// A family's parameters are options only once the family is known.
static int before_family(const parse *p, const char *word, int length) {
    const char *family = args_family_among(p->argc - 1, p->argv + 1);
    if (!family)
        return message_error(
            CJ_INVALID_ARGUMENT,
            "'%.*s' is no option before a kernel family\nthe family's name comes first: %s FAMILY %.*s", length, word,
            p->name, length, word);
    return message_error(CJ_INVALID_ARGUMENT,
                         "'%.*s' stands before the kernel family '%s'\nthe family comes first: %s %s %.*s", length,
                         word, family, p->name, family, length, word);
}

static int unknown_option(const parse *p, const char *word, int length) {
    char    typed[64];
    nearest near = {.word = typed};
    if (lacks_family(p)) return before_family(p, word, length);
    const int dashes = word[1] == '-' ? 2 : 1;  // -json is meant to be --json
    snprintf(typed, sizeof typed, "%.*s", length - dashes, word + dashes);
    for (const args_option *option = p->table.option; strlen(typed) > 1 && option->name; option++)
        near_offer(&near, option->name);
    if (near.name)
        return message_error(CJ_INVALID_ARGUMENT,
                             "unknown option '%.*s'\ndid you mean '--%s'? '%s --help' lists the options", length, word,
                             near.name, p->name);
    return message_error(CJ_INVALID_ARGUMENT, "unknown option '%.*s'\n'%s --help' lists the options", length, word,
                         p->name);
}

static int ambiguous_option(const char *word, int length, const args_option *one, const args_option *other) {
    return message_error(CJ_INVALID_ARGUMENT, "'%.*s' begins several options\nwrite more of it: --%s or --%s", length,
                         word, one->name, other->name);
}

int args_take_file(const char **path, const char *word) {
    if (*path) return message_error(CJ_INVALID_ARGUMENT, "'%s' is one file too many", word);
    *path = word;
    return CODE_OK;
}

int args_late_family(const char *word) {
    return message_error(CJ_INVALID_ARGUMENT, "'%s' stands after the options; a kernel family comes before them", word);
}

static int bad_word(const parse *p, const char *word) {
    if (lacks_family(p)) return args_late_family(word);
    return message_error(CJ_INVALID_ARGUMENT, "unexpected argument '%s'\n'%s --help' lists the options", word, p->name);
}

// --gpus env: as many as a launcher has started, of which this process is one.
static int set_ranks(args_family *family) {
    cj_error error;
    uint32_t rank, size;
    char     text[16];
    if (cj_gpus_env(&rank, &size, &family->local_rank, &error)) return message_failure(&error);
    family->ranks = true;
    snprintf(text, sizeof text, "%" PRIu32, size);
    return cj_params_set(&family->params, "gpus", text, &error) ? message_failure(&error) : CODE_OK;
}

static int set_param(parse *p, size_t index, const char *value) {
    cj_params *params = &p->family->params;
    cj_error   error;
    p->family->given[index] = true;
    if (!strcmp(value, "env") && !strcmp(cj_family_param(params->family, index)->name, "gpus")) return set_ranks(p->family);
    if (cj_family_param(params->family, index)->function) {
        p->family->expression[index] = value;
        return CODE_OK;
    }
    if (cj_params_set(params, cj_family_param(params->family, index)->name, value, &error))
        return message_failure(&error);
    return CODE_OK;
}

static int set_colour(const char *when) {
    if (message_set_colours(when)) return CODE_OK;
    return message_error(CJ_INVALID_ARGUMENT, "--color is '%s'; it is auto, always or never", when);
}

void args_print_version(void) { printf("ptxgen %s\n", cj_version()); }

static void print_help(const parse *p) {
    args_print_help(p->spec, &p->table, p->name, p->family ? p->family->params.family : NULL);
    exit(output_finish(CODE_OK));
}

static int use_option(parse *p, const args_option *option, char *value) {
    const int key = option->key;
    if (key == ARGS_HELP) print_help(p);
    if (key == ARGS_VERSION) {
        args_print_version();
        exit(output_finish(CODE_OK));
    }
    if (key == ARGS_COLOUR) return set_colour(value);
    if (key >= ARGS_PARAM && key < ARGS_PARAM + CJ_PARAM_MAX) return set_param(p, (size_t)(key - ARGS_PARAM), value);
    return p->spec->set(p->user, key, value);
}

// An option's value that does not stand in the option's own word is the next word, whatever that is.
static int use_with_next(parse *p, const args_option *option, const char *word) {
    if (p->next == p->argc)
        return message_error(CJ_INVALID_ARGUMENT, "option '%s' needs a value: %s", word, option->arg);
    return use_option(p, option, p->argv[p->next++]);
}

// --name, --name=VALUE or --name VALUE.
static int parse_long(parse *p, char *word) {
    const int          length = (int)strcspn(word, "=");
    const args_option *other, *option = args_table_find(&p->table, word + 2, (size_t)length - 2, &other);
    if (!option) return unknown_option(p, word, length);
    if (other) return ambiguous_option(word, length, option, other);
    if (word[length] && !option->arg)
        return message_error(CJ_INVALID_ARGUMENT, "option '%.*s' takes no value", length, word);
    if (word[length]) return use_option(p, option, word + length + 1);
    return option->arg ? use_with_next(p, option, word) : use_option(p, option, NULL);
}

// -v, -vV, -oFILE or -o FILE.
static int parse_letters(parse *p, char *word) {
    int code = CODE_OK;
    for (char *at = word + 1; *at && !code; at++) {
        const args_option *option = args_table_letter(&p->table, *at);
        const char         name[] = {'-', *at, '\0'};
        if (!option)
            return unknown_option(p, at == word + 1 ? word : name, at == word + 1 ? (int)strcspn(word, "=") : 2);
        if (option->arg) return at[1] ? use_option(p, option, at + 1) : use_with_next(p, option, name);
        code = use_option(p, option, NULL);
    }
    return code;
}

static int parse_word(parse *p, char *word) {
    if (!p->spec->rest) return p->spec->take ? p->spec->take(p->user, word) : bad_word(p, word);
    p->spec->rest(p->user, p->argc - p->next + 1, &p->argv[p->next - 1]);
    p->next = p->argc;
    return CODE_OK;
}

// Options may stand after other words; after "--" there are only other words.
static int parse_all(parse *p) {
    bool options = true;
    int  code = CODE_OK;
    while (p->next < p->argc && !code) {
        char *word = p->argv[p->next++];
        if (!options || word[0] != '-' || !word[1])
            code = parse_word(p, word);
        else if (!strcmp(word, "--"))
            options = false;
        else
            code = word[1] == '-' ? parse_long(p, word) : parse_letters(p, word);
    }
    return code;
}

// Takes the family's name, argv[1], if there is one.
static void parse_family(parse *p) {
    if (p->argc < 2 || p->argv[1][0] == '-') return;
    const cj_family *family;
    cj_error         error;
    if (cj_family_find(p->argv[1], &family, &error)) exit(message_failure(&error));
    cj_params_init(&p->family->params, family);
    size_t used = strlen(p->name);
    snprintf(p->name + used, sizeof p->name - used, " %s", cj_family_name(family));
    p->next++;
}

void args_parse(const args_spec *spec, int argc, char **argv, void *user, args_family *family) {
    parse p = {.spec = spec, .user = user, .family = family, .argc = argc, .next = 1, .argv = argv};
    if (family) *family = (args_family){0};
    snprintf(p.name, sizeof p.name, "ptxgen %s", argv[0]);
    if (family) parse_family(&p);
    args_table_fill(&p.table, spec, family ? family->params.family : NULL);
    int code = parse_all(&p);
    if (code) exit(code);
    if (lacks_family(&p))
        exit(message_error(CJ_INVALID_ARGUMENT, "which kernel family? Its name comes first\n'ptxgen list' shows them"));
    code = family ? functions_compile(family) : CODE_OK;
    if (code) exit(code);
}

void args_family_free(args_family *family) {
    for (size_t i = 0; i < CJ_PARAM_MAX; i++) cj_user_function_destroy(family->function[i]);
}

unsigned args_number(const char *option, const char *text, unsigned minimum, unsigned maximum) {
    uint64_t    value;
    const char *end = cj_number_read(text, &value);
    if (!end || *end || value < minimum || value > maximum)
        exit(message_error(CJ_INVALID_ARGUMENT,
                           "%s is '%s'; it must be a whole number from %u to %u\nwrite " CJ_NUMBER_FORMS, option, text,
                           minimum, maximum));
    return (unsigned)value;
}

cj_dim3 args_dim3(const char *option, const char *text) {
    uint32_t    value[3] = {1, 1, 1};
    const char *at = text;
    for (int i = 0; i < 3; i++) {
        uint64_t    number;
        const char *end = cj_number_read(at, &number);
        if (!end || number > UINT32_MAX) break;
        value[i] = (uint32_t)number;
        at = end;
        if (*at != ',' || i == 2) break;
        at++;
    }
    if (*at || at == text || at[-1] == ',')
        exit(message_error(CJ_INVALID_ARGUMENT, "%s is '%s'; it is one to three whole numbers, X[,Y,Z]", option, text));
    return (cj_dim3){value[0], value[1], value[2]};
}

const char *args_target(const char *name, const cj_family *family) {
    cj_limits limits;
    for (size_t i = 0; name && cj_limits_part(i); i++)
        if (!strcmp(name, cj_limits_part(i)) && !cj_limits_named(name, &limits, NULL))
            return family ? cj_family_arch(family, &limits) : cj_limits_arch(&limits);
    return name;
}
