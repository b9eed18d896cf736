// SPDX-License-Identifier: Apache-2.0
// Arguments of a subcommand, which all commands parse in one way. A family's parameters become options from its own table, at run time.
#ifndef PTXGEN_ARGS_H
#define PTXGEN_ARGS_H

#include <clusterjit/kernel.h>
#include <stdbool.h>
#include <stddef.h>

// The keys of options without a short form begin here.
enum { ARGS_LONG_ONLY = 0x100 };

// What an option is about. The help and the manual pages have the groups in this order, each with its heading.
typedef enum args_group {
    ARGS_PROBLEM = -2,  // a family's parameters
    ARGS_PLAN,          // those that its plan chooses by default
    ARGS_GENERAL,       // 0: a row that names none
    ARGS_LAUNCH,
    ARGS_CPU,
    ARGS_CUDA,
    ARGS_EVERY,         // of every command
} args_group;

// An option, a row of a command's table, which {0} ends. Users write --name=VALUE, --name VALUE, -nVALUE or -n VALUE; the
// beginning of a name is enough if no other option begins so.
typedef struct args_option {
    const char *name;  // of the long form, without its dashes
    int         key;   // what `set` is given; below ARGS_LONG_ONLY it is the letter of the short form, too
    const char *arg;   // the value, as the help names it: "N", "on|off", "FILE.svg"; NULL: the option takes none
    const char *doc;
    bool        alias;  // another name of the option before it
    args_group  group;
} args_option;

// --arch and its synonym --target.
#define ARGS_ARCH(option, text)                                         \
    {.name = "arch", .key = option, .arg = "TARGET", .doc = text}, {    \
        .name = "target", .key = option, .arg = "TARGET", .alias = true \
    }

typedef struct args_spec {
    const char        *doc;                        // one paragraph
    const args_option *options;                    // of the subcommand itself, ended by {0}
    int (*set)(void *user, int key, char *value);  // takes one of `options`; returns an exit code after its message
    const char *words;                    // the words that the command accepts besides options: "FILE..."; NULL: none
    int (*take)(void *user, char *word);  // accepts one of those words
    // In place of `take`: gets the first word and all after it, which are another program's, options too. NULL: there is none.
    void (*rest)(void *user, int count, char **words);
    const char *examples;                 // command lines, with '\n' between them
    const char *files;                    // the suffixes of files that "FILE" in `words` means: "ptx cu"; NULL: any
    bool params;                          // a family may come first, whose parameters are options, too
} args_spec;

// A family with its parameters, and which of them the command line set. Functions are compiled from their expressions.
typedef struct args_family {
    cj_params         params;
    bool              given[CJ_PARAM_MAX];
    const char       *expression[CJ_PARAM_MAX];  // of functions; NULL: not given
    cj_user_function *function[CJ_PARAM_MAX];    // released by args_family_free
    bool              ranks;                     // --gpus env: a launcher has started the ranks, of which this process is one
    uint32_t          local_rank;                // of this process, on its node
} args_family;

// Parses argv[1..); argv[0] is the subcommand's name. If `family` is not NULL, argv[1] names a family. It
// exits after --help and after a mistake, with CODE_USAGE for a mistake.
void args_parse(const args_spec *spec, int argc, char **argv, void *user, args_family *family);

// The first word that is the name of a kernel family; NULL if there is none.
const char *args_family_among(int argc, char **argv);

void args_print_version(void);

// Takes `word` as the only file of the command line; returns the exit code.
int args_take_file(const char **path, const char *word);

// Refuses a word after the options that names no family; returns the exit code.
int args_late_family(const char *word);

void args_family_free(args_family *family);

// A whole number from `text`, at least `minimum`; exits with a message that names `option` otherwise.
unsigned args_number(const char *option, const char *text, unsigned minimum, unsigned maximum);

// One to three whole numbers, "X[,Y,Z]"; a number that is left out is 1; exits with a message that names `option` otherwise.
cj_dim3 args_dim3(const char *option, const char *text);

// The target for --arch or --target: for a part ("h200") the family's target there, or, if `family` is NULL, the newest
// target that the part runs; else the name itself, which may be NULL.
const char *args_target(const char *name, const cj_family *family);

// "32..1024, a multiple of 32", "sum, min, max" or "CUDA C of a, b"; returns `buffer`.
const char *args_values(const cj_param_info *info, char *buffer, size_t size);

#endif
