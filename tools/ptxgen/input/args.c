// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "args.h"

#include <clusterjit/contract.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "functions.h"
#include "message.h"
#include "output.h"

enum {
    KEY_HELP = 'h',
    KEY_VERSION = 'V',
    KEY_COLOUR = 0x2000,
    KEY_PARAM = 0x1000,  // parameter i of the family has the key KEY_PARAM + i
    GROUP_PARAMS = 1,
    GROUP_OPTIONS = 2,
    OPTION_MAX = CJ_PARAM_MAX + 32,
    DOC_SIZE = 384,
    ARG_SIZE = 64,
    CHOICES_SIZE = 256,
};

typedef struct parse {
    const args_spec   *spec;
    void              *user;
    args_family       *family;
    const struct argp *argp;
    char               name[96];  // "ptxgen run reduce"
    struct argp_option options[OPTION_MAX];
    size_t             count;
    char               header[ARG_SIZE];
    char               docs[CJ_PARAM_MAX][DOC_SIZE];
    char               args[CJ_PARAM_MAX][ARG_SIZE];
} parse;

// Large powers of two, and one less, are easier to read in this form.
static const char *limit_text(uint64_t value, char *buffer, size_t size) {
    uint64_t odd = value & 1;  // 2^31-1 is compared with 2^31
    int      power = 20;
    while (power < 63 && UINT64_C(1) << power < value + odd) power++;
    if (UINT64_C(1) << power == value + odd)
        snprintf(buffer, size, "2^%d%s", power, odd ? "-1" : "");
    else
        snprintf(buffer, size, "%" PRIu64, value);
    return buffer;
}

static void join_words(const char *words, const char *separator, char *buffer, size_t size) {
    size_t used = 0;
    buffer[0] = '\0';
    for (const char *word = words; *word && used < size;) {
        size_t length = strcspn(word, " ");
        int    wrote = snprintf(buffer + used, size - used, "%s%.*s", used ? separator : "", (int)length, word);
        used += (size_t)wrote;
        word += length + strspn(word + length, " ");
    }
}

const char *args_values(const cj_param_info *info, char *buffer, size_t size) {
    if (info->choices) {
        join_words(info->choices, ", ", buffer, size);
        return buffer;
    }
    if (info->function) {
        char names[ARG_SIZE];
        join_words(info->function, ", ", names, sizeof names);
        snprintf(buffer, size, *names ? "CUDA C of %s" : "CUDA C, a constant%s", names);
        return buffer;
    }
    if (info->real || info->reals) {
        snprintf(buffer, size, info->real ? "any number" : "numbers with commas");
        return buffer;
    }
    char low[24], high[24], multiple[48] = "";
    if (info->multiple > 1) snprintf(multiple, sizeof multiple, ", a multiple of %" PRIu64, info->multiple);
    snprintf(buffer, size, "%s%s..%s%s", info->automatic ? "auto or " : "", limit_text(info->minimum, low, sizeof low),
             limit_text(info->maximum, high, sizeof high), multiple);
    return buffer;
}

static void add_option(parse *p, struct argp_option option) {
    if (p->count + 1 < OPTION_MAX) p->options[p->count++] = option;
}

static void add_params(parse *p, const cj_family *family) {
    snprintf(p->header, sizeof p->header, "Parameters of %s:", cj_family_name(family));
    add_option(p, (struct argp_option){.doc = p->header, .group = GROUP_PARAMS});
    for (size_t i = 0; i < cj_family_param_count(family); i++) {
        const cj_param_info *info = cj_family_param(family, i);
        char                 values[CHOICES_SIZE];
        args_values(info, values, sizeof values);
        if (info->choices) {
            join_words(info->choices, "|", p->args[i], ARG_SIZE);
            const bool fits = strlen(p->args[i]) + 1 < ARG_SIZE;
            if (!fits) snprintf(p->args[i], ARG_SIZE, "WORD");
            snprintf(p->docs[i], DOC_SIZE, "%s (%s%sdefault %s)", info->help, fits ? "" : values, fits ? "" : "; ",
                     info->initial);
        } else if (info->function) {
            snprintf(p->args[i], ARG_SIZE, "EXPRESSION");
            snprintf(p->docs[i], DOC_SIZE, "%s (%s)", info->help, values);
        } else {
            snprintf(p->args[i], ARG_SIZE, "NUMBER");
            snprintf(p->docs[i], DOC_SIZE, "%s (%s; default %s)", info->help, values, info->initial);
        }
        add_option(p, (struct argp_option){.name = info->name,
                                           .key = KEY_PARAM + (int)i,
                                           .arg = p->args[i],
                                           .doc = p->docs[i],
                                           .group = GROUP_PARAMS});
    }
}

static const struct argp_option common_options[] = {
    {.name = "color",
     .key = KEY_COLOUR,
     .arg = "auto|always|never",
     .doc = "Colours; auto: on a terminal, unless NO_COLOR is set (default auto)",
     .group = GROUP_OPTIONS},
    {.name = "help", .key = KEY_HELP, .doc = "Show this help", .group = GROUP_OPTIONS},
    {.name = "version", .key = KEY_VERSION, .doc = "Show the version", .group = GROUP_OPTIONS},
    {0},
};

static void add_options(parse *p) {
    add_option(p, (struct argp_option){.doc = "Options:", .group = GROUP_OPTIONS});
    for (const struct argp_option *option = p->spec->options; option->name; option++) {
        struct argp_option copy = *option;
        copy.group = GROUP_OPTIONS;
        add_option(p, copy);
    }
    for (const struct argp_option *option = common_options; option->name; option++) add_option(p, *option);
}

static bool lacks_family(const parse *p) { return p->family && !p->family->params.family; }

const char *args_family_among(int argc, char **argv) {
    const cj_family *family;
    for (int i = 0; i < argc; i++)
        if (!cj_family_find(argv[i], &family, NULL)) return argv[i];
    return NULL;
}

// A family's parameters are options only once the family is known.
static int before_family(const parse *p, const struct argp_state *state, const char *word, int length) {
    const char *family = args_family_among(state->argc - 1, state->argv + 1);
    if (!family)
        return message_error(
            CJ_INVALID_ARGUMENT,
            "'%.*s' is no option before a kernel family\nthe family's name comes first: %s FAMILY %.*s", length, word,
            p->name, length, word);
    return message_error(CJ_INVALID_ARGUMENT,
                         "'%.*s' stands before the kernel family '%s'\nthe family comes first: %s %s %.*s", length,
                         word, family, p->name, family, length, word);
}

static bool is_option(const struct argp_option *option, const char *word, size_t length) {
    if (!option->name || length < 2) return false;
    if (word[1] != '-') return length == 2 && word[1] == option->key;
    return strlen(option->name) == length - 2 && strncmp(word + 2, option->name, length - 2) == 0;
}

// getopt does not name the bad option: either one of ours lacks its value, or the option is unknown.
static int bad_option(const parse *p, const struct argp_state *state) {
    const char *word = state->argv[state->next - 1];
    if (word[0] != '-' && state->next < state->argc) word = state->argv[state->next];  // inside a bundle, -xyz
    int length = (int)strcspn(word, "=");
    for (size_t i = 0; i < p->count; i++) {
        const struct argp_option *option = &p->options[i];
        if (!is_option(option, word, (size_t)length)) continue;
        if (option->arg) return message_error(CJ_INVALID_ARGUMENT, "option '%s' needs a value: %s", word, option->arg);
        return message_error(CJ_INVALID_ARGUMENT, "option '%.*s' takes no value", length, word);
    }
    if (lacks_family(p)) return before_family(p, state, word, length);
    return message_error(CJ_INVALID_ARGUMENT, "unknown option '%.*s'\n'%s --help' lists the options", length, word,
                         p->name);
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

static int set_param(parse *p, size_t index, const char *value) {
    cj_params *params = &p->family->params;
    cj_error   error;
    p->family->given[index] = true;
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

// Sets the environment variable from which argp reads the width of its help.
static void set_help_width(void) {
    char format[40];
    snprintf(format, sizeof format, "rmargin=%zu", output_width() - 1);
    setenv("ARGP_HELP_FMT", format, 0);
}

void args_print_version(void) { printf("ptxgen %s\n", cj_version()); }

static error_t parse_option(int key, char *value, struct argp_state *state) {
    parse *p = state->input;
    int    code = CODE_OK;
    if (key == KEY_HELP) {
        set_help_width();
        argp_help(p->argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, p->name);
        exit(output_finish(CODE_OK));
    } else if (key == KEY_VERSION) {
        args_print_version();
        exit(output_finish(CODE_OK));
    } else if (key == KEY_COLOUR) {
        code = set_colour(value);
    } else if (key == ARGP_KEY_ARG) {
        code = p->spec->take ? p->spec->take(p->user, value) : bad_word(p, value);
    } else if (key == ARGP_KEY_ERROR) {
        code = bad_option(p, state);
    } else if (key >= KEY_PARAM && key < KEY_PARAM + CJ_PARAM_MAX) {
        code = set_param(p, (size_t)(key - KEY_PARAM), value);
    } else if (key > 0 && key < KEY_PARAM) {
        code = p->spec->set(p->user, key, value);
    } else {
        return ARGP_ERR_UNKNOWN;
    }
    if (code) exit(code);
    return 0;
}

// Removes the family's name from argv[1], if there is one.
static void parse_family(parse *p, int *argc, char ***argv) {
    if (*argc < 2 || (*argv)[1][0] == '-') return;
    const cj_family *family;
    cj_error         error;
    if (cj_family_find((*argv)[1], &family, &error)) exit(message_failure(&error));
    cj_params_init(&p->family->params, family);
    add_params(p, family);
    size_t used = strlen(p->name);
    snprintf(p->name + used, sizeof p->name - used, " %s", cj_family_name(family));
    (*argc)--;
    (*argv)++;
}

void args_parse(const args_spec *spec, int argc, char **argv, void *user, args_family *family) {
    parse p = {.spec = spec, .user = user, .family = family};
    if (family) *family = (args_family){0};
    snprintf(p.name, sizeof p.name, "ptxgen %s", argv[0]);
    if (family) parse_family(&p, &argc, &argv);
    add_options(&p);
    struct argp argp = {.options = p.options, .parser = parse_option, .args_doc = spec->words, .doc = spec->doc};
    if (lacks_family(&p)) argp.args_doc = "FAMILY [--PARAMETER=VALUE...]";
    p.argp = &argp;
    argp_parse(&argp, argc, argv, ARGP_NO_HELP | ARGP_NO_ERRS, NULL, &p);
    if (lacks_family(&p))
        exit(message_error(CJ_INVALID_ARGUMENT, "which kernel family? Its name comes first\n'ptxgen list' shows them"));
    int code = family ? functions_compile(family) : CODE_OK;
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
